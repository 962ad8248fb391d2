"""From what the user names to the list of files: files, folders, globs, and ``-`` for standard input."""

from __future__ import annotations

import glob
import os
import urllib.parse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fastfilter.corpus.formats import Format, detect_format, known_endings
from fastfilter.errors import DataError

__all__ = ["STANDARD_INPUT", "InputFile", "find_files"]

STANDARD_INPUT = "-"
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read.

    Attributes:
        path: where it is; ``-`` is standard input.
        format: what it holds.
        compression: pyarrow's name of the compression around it, or None.
        partitions: columns that the names of its folders give (``year=2026``), as text; None is null.
    """

    path: str
    format: Format
    compression: str | None = None
    partitions: dict[str, str | None] = field(default_factory=dict)

    @property
    def num_bytes(self) -> int:
        """The size of the file, 0 where it is not known."""
        return 0 if self.path == STANDARD_INPUT else os.path.getsize(self.path)


def find_files(sources: Iterable[str], format: Format | None = None) -> list[InputFile]:
    """The files that the sources name, those of a folder or glob in the order of their names.

    Folders are read with all folders in them; names that begin with ``.`` or ``_`` are passed over there.

    Args:
        sources: files, folders, globs, or ``-``.
        format: what every file holds whatever its name says, or None.

    Raises:
        DataError: a source is not there or names no file, or a file's ending is unknown.
    """
    files = [file for source in sources for file in _files_of(source, format)]
    if sum(file.path == STANDARD_INPUT for file in files) > 1:
        raise DataError("standard input can be read once only")
    return files


def _files_of(source: str, format: Format | None) -> Iterator[InputFile]:
    if source == STANDARD_INPUT:
        if format not in (None, Format.JSONL, Format.ARROW_STREAM):
            raise DataError(f"{format.value} cannot be read from standard input; jsonl and arrows can")
        yield InputFile(source, format or Format.JSONL)
    elif os.path.isdir(source):
        yield from _files_in(source, source, format)
    elif os.path.exists(source):
        yield _input_file(source, {}, format)
    elif glob.has_magic(source):
        found = sorted(glob.glob(source, recursive=True))
        if not found:
            raise DataError(f"{source}: no file matches this glob")
        fixed = _fixed_folder(source)
        for path in found:
            if not os.path.isdir(path):
                yield _input_file(path, _partitions(os.path.relpath(path, fixed or "."), path), format)
            elif os.path.basename(source.rstrip(os.sep)) != "**":  # `**` names the files in its folders itself
                yield from _files_in(path, fixed or ".", format)
    else:
        raise DataError(f"{source}: no such file or folder")


def _fixed_folder(pattern: str) -> str:
    """The part of a glob's folders before its first wildcard."""
    folder = os.path.dirname(pattern)
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    return folder


def _files_in(folder: str, root: str, format: Format | None) -> Iterator[InputFile]:
    """The files in a folder and in those below it; partitions are named by the folders below ``root``."""
    found: list[str] = []
    visited: set[str] = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(parent)
        if real in visited:  # a link back up
            folders.clear()
            continue
        visited.add(real)
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        found.extend(os.path.join(parent, name) for name in names if not name.startswith((".", "_")))
    if not found:
        raise DataError(f"{folder}: there is no file in this folder")
    for path in sorted(found, key=lambda path: path.split(os.sep)):
        yield _input_file(path, _partitions(os.path.relpath(path, root), path), format)


def _partitions(relative: str, path: str) -> dict[str, str | None]:
    """The columns that folders named ``column=value`` give to the files in them."""
    columns: dict[str, str | None] = {}
    for part in os.path.dirname(relative).split(os.sep):
        name, equals, text = part.partition("=")
        if equals and name:
            name, value = urllib.parse.unquote(name), urllib.parse.unquote(text)
            if name in columns:
                raise DataError(f"{path}: two of its folders give the column {name!r}")
            columns[name] = None if value == _NULL_PARTITION else value
    return columns


def _input_file(path: str, partitions: dict[str, str | None], format: Format | None) -> InputFile:
    detected = detect_format(path, format)
    if detected is None:
        raise DataError(
            f"{path}: the ending of its name is not one of {known_endings()}; --input-format can say what it holds"
        )
    return InputFile(path, *detected, partitions)
