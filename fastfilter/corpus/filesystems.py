"""Files that are not on this machine's disks: named by URLs, or in a file system that the caller has opened.

pyarrow knows S3, Google Cloud Storage, HDFS and Azure itself; for other URLs fsspec is asked, if it is installed.
"""

from __future__ import annotations

import fnmatch
import glob
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.fs

from fastfilter.corpus.formats import UsageError
from fastfilter.errors import DataError

__all__ = ["FoundFile", "Place", "as_filesystem", "is_url", "local_path", "matches_glob", "place_of"]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def is_url(source: str) -> bool:
    """Whether a source is named by a URL rather than a path.

    Example:
        >>> is_url("s3://bucket/chunks/"), is_url("chunks/2026")
        (True, False)
    """
    return _URL.match(source) is not None


def local_path(url: str) -> str | None:
    """The path of a ``file://`` URL, None of any other."""
    if not url.lower().startswith("file://"):
        return None
    _, path = pa.fs.FileSystem.from_uri(url)
    return str(path)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file in a file system: where it is there, its name as it is shown, and its size."""

    location: str
    shown: str
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Place:
    """A path or glob in a file system; ``shown_before`` is put before paths where they are shown."""

    filesystem: Any
    path: str
    shown_before: str = ""

    def files(self) -> tuple[list[FoundFile], str | None]:
        """The files it names: itself, those in the folder that it is, or those that match. Names that begin with ``.``
        or ``_`` are passed over in folders and globs.

        Returns:
            The files in the order of their names, and the folder in which they were looked for; None if it is a file.

        Raises:
            DataError: there is none.
        """
        shown = self._shown(self.path)
        try:
            info = self.filesystem.get_file_info(self.path)
            if info.type == pa.fs.FileType.File:
                return [FoundFile(self.path, shown, info.size or 0)], None
            if info.type == pa.fs.FileType.Directory:
                found, root = list(self._below(self.path)), self.path
            elif glob.has_magic(self.path):
                root = self.path
                while glob.has_magic(root):
                    root = root.rpartition("/")[0]
                found = [file for file in self._below(root) if matches_glob(file.location, self.path)]
            else:
                raise DataError(f"{shown}: no such file or folder")
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"{shown}: {error}") from error
        if not found:
            what = "no file matches this glob" if glob.has_magic(self.path) else "there is no file in this folder"
            raise DataError(f"{shown}: {what}")
        return sorted(found, key=lambda file: file.location.split("/")), root

    def _below(self, folder: str) -> Iterator[FoundFile]:
        for info in self.filesystem.get_file_info(pa.fs.FileSelector(folder, recursive=True, allow_not_found=True)):
            inside = info.path[len(folder) :].strip("/").split("/")
            if info.type == pa.fs.FileType.File and not any(name.startswith((".", "_")) for name in inside):
                yield FoundFile(info.path, self._shown(info.path), info.size or 0)

    def _shown(self, path: str) -> str:
        return self.shown_before + (path.lstrip("/") if self.shown_before else path)


def matches_glob(path: str, pattern: str) -> bool:
    """Whether a path matches a glob, or is in a folder that does; ``**`` stands for any folders.

    Example:
        >>> matches_glob("corpus/2026/07/a.parquet", "corpus/**/*.parquet")
        True
        >>> matches_glob("corpus/2026/a.csv", "corpus/*6")
        True
    """

    def match(names: list[str], patterns: list[str]) -> bool:
        if not patterns:
            return True
        if patterns[0] == "**":
            return any(match(names[skipped:], patterns[1:]) for skipped in range(len(names) + 1))
        return bool(names) and fnmatch.fnmatchcase(names[0], patterns[0]) and match(names[1:], patterns[1:])

    return match(path.strip("/").split("/"), pattern.strip("/").split("/"))


def place_of(url: str) -> Place:
    """Where a URL leads.

    Raises:
        UsageError: no file system is known for it.
        DataError: the file system does not answer.
    """
    match = _URL.match(url)
    assert match is not None
    scheme = match[0]
    fixed = url
    while glob.has_magic(fixed):  # which need not be characters of a URL
        fixed = fixed.rpartition("/")[0]
    rest = url[len(fixed) :]
    try:
        filesystem, path = pa.fs.FileSystem.from_uri(fixed)
        return Place(filesystem, path + rest, scheme)
    except OSError as error:
        raise DataError(f"{url}: {error}") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        try:
            import fsspec
        except ImportError:
            raise UsageError(
                f"{url}: pyarrow knows no such file system ({error}), and fsspec, which may know it, is not installed"
            ) from None
        try:
            opened, path = fsspec.core.url_to_fs(fixed)
        except (ValueError, ImportError) as unknown:
            raise UsageError(f"{url}: {unknown}") from unknown
        return Place(as_filesystem(opened), path + rest, scheme)


def as_filesystem(filesystem: Any) -> Any:
    """A file system as pyarrow's; one of fsspec is wrapped.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(filesystem, pa.fs.FileSystem):
        return filesystem
    if hasattr(filesystem, "_strip_protocol"):  # what all of fsspec's have
        return pa.fs.PyFileSystem(pa.fs.FSSpecHandler(filesystem))
    kind = f"{type(filesystem).__module__}.{type(filesystem).__qualname__}"
    raise TypeError(f"filesystem must be a pyarrow.fs.FileSystem or an fsspec file system, not {kind}")
