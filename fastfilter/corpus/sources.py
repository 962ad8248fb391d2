"""From what the user names to the list of files: files, folders, globs, URLs, and ``-`` for standard input."""

from __future__ import annotations

import glob
import os
import stat
import urllib.parse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from fastfilter.corpus.filesystems import Place, as_filesystem, is_url, local_path, place_of
from fastfilter.corpus.formats import Format, UsageError, detect_format, known_endings
from fastfilter.errors import DataError

__all__ = ["NULL_PARTITION", "STANDARD_INPUT", "InputFile", "find_files"]

STANDARD_INPUT = "-"
_HIDDEN = (".", "_")
"""What names begin with that are no data, as Hive and Spark have it."""
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The name of null where a folder gives a column."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read.

    Attributes:
        path: where it is; ``-`` is standard input.
        format: what it holds.
        compression: pyarrow's name of the compression around it, or None.
        partitions: columns that the names of its folders give (``year=2026``), as text; None is null.
        is_stream: whether it is a pipe or a device, or standard input: read from its start to its end, once.
        filesystem: the pyarrow file system it is in; None is this machine's disks.
        location: where it is in that file system, and ``size`` how large it is.
    """

    path: str
    format: Format
    compression: str | None = None
    partitions: dict[str, str | None] = field(default_factory=dict)
    is_stream: bool = False
    filesystem: Any = None
    location: str = ""
    size: int = 0

    @property
    def num_bytes(self) -> int:
        """The size of the file, 0 where it is not known."""
        if self.filesystem is not None:
            return self.size
        return 0 if self.is_stream else os.path.getsize(self.path)

    def place(self, number: int) -> str:
        """Where a row is, as it is shown to the user: ``file:line`` of JSONL, else the file and the row's number."""
        return f"{self.path}:{number}" if self.format is Format.JSONL else f"{self.path}: row {number}"

    def open(self) -> Any:
        """The file, which is no stream, as one of pyarrow's, to be read anywhere in it."""
        if self.filesystem is not None:
            return self.filesystem.open_input_file(self.location)
        return pa.OSFile(os.fsencode(self.path))


def find_files(sources: Iterable[str], format: Format | None = None, filesystem: Any = None) -> list[InputFile]:
    """The files that the sources name, those of a folder or glob in the order of their names.

    Folders, also those that a glob matches, are read with all folders in them; names that begin with ``.`` or ``_`` are
    passed over there, and where a glob matches them without such a name in it. A file that a glob or a folder holds
    under several names is read once.

    Args:
        sources: files, folders, globs, each a path or a URL (``s3://bucket/chunks/``); or ``-``.
        format: what every file holds whatever its name says, or None.
        filesystem: the pyarrow or fsspec file system that all sources are paths in; None is this machine's disks.

    Raises:
        DataError: a source is not there or names no file, or a file's ending is unknown.
        UsageError: a stream is named twice, or is to be read as a format that only a file can have.
    """
    if filesystem is None:
        files = [file for source in sources for file in _files_of(source, format)]
    else:
        opened = as_filesystem(filesystem)
        files = [file for source in sources for file in _files_at(Place(opened, source), format)]
    streams = [file.path for file in files if file.is_stream]
    for path in streams:
        if streams.count(path) > 1:
            raise UsageError(f"{'standard input' if path == STANDARD_INPUT else path}: can be read once only")
    return files


def _files_of(source: str, format: Format | None) -> Iterator[InputFile]:
    if source == STANDARD_INPUT:
        yield _stream(source, "standard input", format, None)
    elif is_url(source):
        path = local_path(source)
        yield from _files_at(place_of(source), format) if path is None else _files_of(path, format)
    elif os.path.isdir(source):
        paths = _files_in(source)
        if not paths:
            raise DataError(f"{source}: there is no file in this folder")
        yield from _sorted_files(paths, source, format)
    elif os.path.lexists(source):
        yield _input_file(source, {}, format)
    elif glob.has_magic(source):
        root = _fixed_folder(source) or "."
        found = [match for match in glob.glob(source, recursive=True) if not _is_hidden(match, source, root)]
        if not found:
            raise DataError(f"{source}: no file matches this glob")
        paths = [path for match in found for path in (_files_in(match) if os.path.isdir(match) else [match])]
        if not paths:
            raise DataError(f"{source}: there is no file in the folders that match this glob")
        yield from _sorted_files(paths, root, format)
    else:
        raise DataError(f"{source}: no such file or folder")


def _files_at(place: Place, format: Format | None) -> Iterator[InputFile]:
    found, root = place.files()
    for file in found:
        detected = detect_format(file.shown, format)
        if detected is None:
            raise _unknown_ending(file.shown, is_found=root is not None)
        inside = "" if root is None else file.location[len(root) :].strip("/")
        partitions = _partitions(inside, file.shown)
        yield InputFile(file.shown, *detected, partitions, False, place.filesystem, file.location, file.num_bytes)


def _unknown_ending(path: str, is_found: bool) -> DataError:
    """What is wrong with a file that is no data by its name; it may have been found in a folder or by a glob."""
    message = f"{path}: the ending of its name is not one of {known_endings()}; --input-format can say what it holds"
    if is_found:
        folder = os.path.dirname(path) or "."
        message += f"; if it is no data, a name that begins with _ or . is passed over, as is what {folder}/*.parquet "
        message += "(or another ending) does not match"
    return DataError(message)


def _fixed_folder(pattern: str) -> str:
    """The part of a glob's folders before its first wildcard."""
    folder = os.path.dirname(pattern)
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    return folder


def _is_hidden(match: str, pattern: str, root: str) -> bool:
    """Whether a match has a name that is passed over, though the glob does not ask for such names."""
    names = [name for name in os.path.relpath(match, root).split(os.sep) if name != "."]  # the root itself
    asked = os.path.relpath(pattern, root).split(os.sep)
    return any(name.startswith(_HIDDEN) for name in names) and not any(name.startswith(_HIDDEN) for name in asked)


def _files_in(folder: str) -> list[str]:
    """The files in a folder and in those below it."""
    found: list[str] = []
    visited: set[str] = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(parent)
        if real in visited:  # a link back up
            folders.clear()
            continue
        visited.add(real)
        folders[:] = [name for name in folders if not name.startswith(_HIDDEN)]
        found.extend(os.path.join(parent, name) for name in names if not name.startswith(_HIDDEN))
    return found


def _sorted_files(paths: list[str], root: str, format: Format | None) -> Iterator[InputFile]:
    """The files in the order of their names, each once; partitions are named by the folders below ``root``."""
    seen: set[str] = set()
    for path in sorted(paths, key=lambda path: path.split(os.sep)):
        real = os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            yield _input_file(path, _partitions(os.path.relpath(path, root), path), format, is_found=True)


def _partitions(relative: str, path: str) -> dict[str, str | None]:
    """The columns that folders named ``column=value`` give to the files in them."""
    columns: dict[str, str | None] = {}
    for part in os.path.dirname(relative).split(os.sep):  # in other file systems it is / as well
        name, equals, text = part.partition("=")
        if equals and name:
            name, value = urllib.parse.unquote(name), urllib.parse.unquote(text)
            if name in columns:
                raise DataError(f"{path}: two of its folders give the column {name!r}")
            columns[name] = None if value == NULL_PARTITION else value
    return columns


def _input_file(
    path: str, partitions: dict[str, str | None], format: Format | None, is_found: bool = False
) -> InputFile:
    try:
        mode = os.stat(path).st_mode
    except OSError as error:  # a link to nothing, or no permission
        what = "is a link to a file that is not there" if os.path.islink(path) else error.strerror
        raise DataError(f"{path}: {what}") from error
    detected = detect_format(path, format)
    if not stat.S_ISREG(mode) or (detected is None and path.startswith("/dev/")):  # as /dev/stdin, whatever it is
        return _stream(path, "a pipe", *(detected or (format, None)))
    if detected is None:
        raise _unknown_ending(path, is_found)
    return InputFile(path, *detected, partitions)


def _stream(path: str, what: str, format: Format | None, compression: str | None) -> InputFile:
    if format not in (None, Format.JSONL, Format.ARROW_STREAM):
        raise UsageError(f"{path}: {format.value} cannot be read from {what}, only from a file; jsonl and arrows can")
    return InputFile(path, format or Format.JSONL, compression, is_stream=True)
