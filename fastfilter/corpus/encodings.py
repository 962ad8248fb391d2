"""How a file is written: its format, its compression, and how many rows a part of it has."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from fastfilter.corpus.formats import COMPRESSIONS, ENDINGS, Format, UsageError
from fastfilter.errors import nearest_name

__all__ = ["Encoding", "encoding_of"]

_INSIDE: Final = {
    Format.PARQUET: ("none", "snappy", "gzip", "brotli", "zstd", "lz4"),
    Format.ARROW: ("none", "lz4", "zstd"),
    Format.ARROW_STREAM: ("none", "lz4", "zstd"),
}
"""The compressions of formats that compress their own parts."""

_AROUND: Final = ("none", *COMPRESSIONS.values())
"""The compressions of the others, whose files are compressed as a whole."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a file is written.

    Attributes:
        format: the format.
        around: the compression around the whole file, which its name says; None is none.
        inside: the compression of its parts, ``"none"`` included; None is what this project writes unasked.
        level: of ``inside``; None is the codec's own.
        group_rows: the most rows of a row group (Parquet) or a record batch (Arrow); None is this project's own.
    """

    format: Format
    around: str | None = None
    inside: str | None = None
    level: int | None = None
    group_rows: int | None = None

    @property
    def compression(self) -> str | None:
        """The compression as it is asked for; None if none is.

        Example:
            >>> Encoding(Format.PARQUET, inside="zstd", level=9).compression
            'zstd:9'
        """
        codec = self.inside or self.around
        return codec if self.level is None else f"{codec}:{self.level}"

    @property
    def ending(self) -> str:
        """The ending of the names of such files.

        Example:
            >>> Encoding(Format.JSONL, "gzip").ending
            '.jsonl.gz'
        """
        ending = next(ending for ending, format in ENDINGS.items() if format is self.format)
        return ending + next((ending for ending, name in COMPRESSIONS.items() if name == self.around), "")


def encoding_of(
    format: Format,
    compression: str | None = None,
    group_rows: int | None = None,
    name: str | None = None,
    around: str | None = None,
) -> Encoding:
    """The encoding that was asked for.

    Args:
        format: the format.
        compression: a codec, or codec and level (``"zstd:9"``).
        group_rows: the most rows of a row group or record batch.
        name: the file's name, and ``around`` the compression that it says; without it the name follows the encoding.

    Raises:
        UsageError: the format has no such compression, the codec no such level, the format no groups of rows, or the
            name says something else.

    Example:
        >>> encoding_of(Format.PARQUET, "zstd:9").level
        9
    """
    if group_rows is not None and format not in _INSIDE:
        having = ", ".join(format.value for format in _INSIDE)
        raise UsageError(f"rows per group: {format.value} has no groups of rows; {having} have")
    if compression is None:
        return Encoding(format, around, group_rows=group_rows)
    codec, level = _codec_and_level(format, compression)
    if format in _INSIDE:
        if around is not None:
            raise UsageError(f"compression {compression!r}: by its name {name} is compressed as a whole ({around})")
        return Encoding(format, None, codec, level, group_rows)
    whole = None if codec == "none" else codec
    if name is not None and whole != around:
        stem = os.path.splitext(name)[0] if around else name
        meant = stem + next((ending for ending, codec in COMPRESSIONS.items() if codec == whole), "")
        raise UsageError(f"compression {compression!r}: the name {name} says {around or 'none'}; name it {meant}")
    return Encoding(format, whole)


def _codec_and_level(format: Format, compression: str) -> tuple[str, int | None]:
    codec, colon, spelled = compression.partition(":")
    allowed = _INSIDE.get(format, _AROUND)
    if codec not in allowed:
        near = nearest_name(codec, allowed)
        raise UsageError(
            f"compression {compression!r}: {format.value} can have {', '.join(allowed)}"
            + (f"; did you mean {near!r}?" if near else "")
        )
    if not colon:
        return codec, None
    levels = _levels(format, codec)
    if levels is None:
        with_level = [name for name in allowed if _levels(format, name) is not None]
        raise UsageError(
            f"compression {compression!r}: {codec} has no levels in {format.value}; "
            f"those that have: {', '.join(with_level) or 'none'}"
        )
    if not spelled.removeprefix("-").isdecimal() or not levels[0] <= int(spelled) <= levels[1]:
        raise UsageError(
            f"compression {compression!r}: the level of {codec} is a whole number from {levels[0]} to {levels[1]}"
        )
    return codec, int(spelled)


def _levels(format: Format, codec: str) -> tuple[int, int] | None:
    """The least and the greatest level of a codec; None where there is nothing to choose."""
    if codec in ("none", "snappy") or format not in _INSIDE:  # pyarrow's compressed streams take no level
        return None
    return pa.Codec.minimum_compression_level(codec), pa.Codec.maximum_compression_level(codec)
