"""The bytes of a file, decompressed."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from fastfilter.corpus.sources import STANDARD_INPUT, InputFile

__all__ = ["ByteSource"]


class ByteSource:
    """A file, decompressed, as a stream of bytes that knows how much of the file is read."""

    def __init__(self, file: InputFile) -> None:
        self._file: Any = pa.PythonFile(sys.stdin.buffer, "r") if file.path == STANDARD_INPUT else pa.OSFile(file.path)
        self.arrow: Any = self._file
        if file.compression is not None:
            self.arrow = pa.CompressedInputStream(self._file, file.compression)
        self._seekable = file.path != STANDARD_INPUT

    def read(self, num_bytes: int, /) -> bytes:
        """At most so many bytes; none at the end."""
        block: bytes = self.arrow.read(num_bytes)
        return block

    def position(self) -> int:
        """How many bytes of the file, before decompression, are read."""
        return int(self._file.tell()) if self._seekable else 0

    def close(self) -> None:
        """Lets go of the file."""
        self.arrow.close()
        if self._seekable:
            self._file.close()
