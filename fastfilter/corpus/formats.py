"""The file formats, known by the endings of names, and what can be wrong with files."""

from __future__ import annotations

import enum
import os
from typing import Final

from fastfilter.errors import DataError

__all__ = ["COMPRESSIONS", "ENDINGS", "Format", "UsageError", "detect_format", "known_endings"]


class UsageError(ValueError):
    """What was asked for cannot be done: an output of no known format, a column that is not there."""


class Format(enum.Enum):
    """A file format; the value is the name the command line knows it by."""

    PARQUET = "parquet"
    ARROW = "arrow"
    ARROW_STREAM = "arrows"
    JSONL = "jsonl"
    CSV = "csv"


ENDINGS: Final = {
    ".parquet": Format.PARQUET,
    ".arrow": Format.ARROW,
    ".feather": Format.ARROW,
    ".ipc": Format.ARROW,
    ".arrows": Format.ARROW_STREAM,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".csv": Format.CSV,
}
"""The format of a file by the ending of its name, in lower case."""

COMPRESSIONS: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
"""The compression of a file by a further ending, as pyarrow names it; not for Parquet and Arrow files."""


def known_endings() -> str:
    """The endings there are, to be shown to the user."""
    return f"{', '.join(ENDINGS)} (JSONL, CSV and .arrows also with {', '.join(COMPRESSIONS)} after it)"


def detect_format(path: str, format: Format | None = None) -> tuple[Format, str | None] | None:
    """The format of a file and its compression, or None if the name's ending does not say the format.

    Args:
        path: the file's name.
        format: what it holds whatever its name says, or None.

    Raises:
        DataError: a format that is read at several places of the file is compressed as a whole.

    Example:
        >>> detect_format("memories.jsonl.gz")
        (<Format.JSONL: 'jsonl'>, 'gzip')
    """
    stem, ending = os.path.splitext(path.lower())
    compression = COMPRESSIONS.get(ending)
    if compression is not None:
        ending = os.path.splitext(stem)[1]
    format = format or ENDINGS.get(ending)
    if format is None:
        return None
    if compression is not None and format in (Format.PARQUET, Format.ARROW):
        raise DataError(f"{path}: {format.value} inside {compression} is not supported; it compresses its own parts")
    return format, compression
