"""The bytes of a file, decompressed."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from fastfilter.corpus.sources import STANDARD_INPUT, InputFile
from fastfilter.errors import DataError

__all__ = ["ByteSource"]


class ByteSource:
    """A file, decompressed, as a stream of bytes that knows how much of the file is read.

    Raises:
        DataError: it is standard input and that is closed, or it is compressed and holds not even the beginning.
    """

    def __init__(self, file: InputFile) -> None:
        self._is_stream = file.is_stream
        if not file.is_stream:
            self._file: Any = file.open()
        elif file.path != STANDARD_INPUT:
            self._file = pa.PythonFile(open(file.path, "rb"), "r")  # noqa: SIM115 - closed in close()
        elif sys.stdin is None:
            raise DataError(f"{file.path}: standard input is closed")
        else:
            self._file = pa.PythonFile(sys.stdin.buffer, "r")
        self.arrow: Any = self._file
        if file.compression is not None:
            if not file.is_stream and file.num_bytes == 0:
                raise DataError(f"{file.path}: the file is empty, which no {file.compression} stream is")
            self.arrow = pa.CompressedInputStream(self._file, file.compression)
        self._is_standard_input = file.path == STANDARD_INPUT

    def read(self, num_bytes: int, /) -> bytes:
        """At most so many bytes; none at the end."""
        block: bytes = self.arrow.read(num_bytes)
        return block

    def readinto(self, buffer: memoryview, /) -> int:
        """Fills the buffer as far as there are bytes; how many there were, none at the end."""
        return int(self.arrow.readinto(buffer))

    def position(self) -> int:
        """How many bytes of the file, before decompression, are read."""
        return 0 if self._is_stream else int(self._file.tell())

    def close(self) -> None:
        """Lets go of the file."""
        self.arrow.close()
        if not self._is_standard_input:
            self._file.close()
