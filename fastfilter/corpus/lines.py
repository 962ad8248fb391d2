"""Lines of a stream of bytes as they are, cut into Arrow arrays without looking at them one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["LINE_COLUMN", "LINE_SCHEMA", "ByteStream", "lines_of", "read_lines"]

LINE_COLUMN = "line"
LINE_SCHEMA = pa.schema([pa.field(LINE_COLUMN, pa.large_string(), nullable=False)])
"""The schema of batches of lines."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"

Numbers = npt.NDArray[np.int64]


class ByteStream(Protocol):
    """What lines are read from."""

    def read(self, num_bytes: int, /) -> bytes:
        """At most so many bytes; none at the end."""
        ...


def read_lines(stream: ByteStream, block_bytes: int) -> Iterator[tuple[pa.RecordBatch, Numbers]]:
    """The lines of a stream that are not blank, in batches of about ``block_bytes`` or of one longer line.

    Yields:
        A batch of :data:`LINE_SCHEMA`, each line with the bytes that end it, and the lines' numbers in the file, from
        1. A byte order mark at the start is no part of the first line. The text is not checked to be UTF-8.
    """
    next_line = 1
    for text in _whole_lines(stream, block_bytes):
        batch, numbers, num_lines = _cut(text.removeprefix(_BYTE_ORDER_MARK) if next_line == 1 else text, next_line)
        next_line += num_lines
        if batch.num_rows:
            yield batch, numbers


def _whole_lines(stream: ByteStream, block_bytes: int) -> Iterator[bytes]:
    """The stream in parts that end where a line does."""
    pieces: list[bytes] = []  # of a line whose end is not read yet
    while block := stream.read(block_bytes):
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join((*pieces, block[:end]))
            pieces.clear()
        if end < len(block):
            pieces.append(block[end:])
    if pieces:
        yield b"".join(pieces)


def _cut(text: bytes, first_line: int) -> tuple[pa.RecordBatch, Numbers, int]:
    """Cuts text after every newline: the lines that are not blank, their numbers, and how many lines there are."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n")) + 1
    if text and not text.endswith(b"\n"):
        ends = np.append(ends, len(text))
    offsets = np.zeros(len(ends) + 1, np.int64)
    offsets[1:] = ends
    array = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(text))
    numbers = np.arange(first_line, first_line + len(ends), dtype=np.int64)
    batch = pa.record_batch([array], schema=LINE_SCHEMA)
    kept = ~_blank_lines(text, data, offsets)
    if not kept.all():
        batch, numbers = batch.filter(pa.array(kept)), numbers[kept]
    return batch, numbers, len(ends)


def _blank_lines(text: bytes, data: npt.NDArray[np.uint8], offsets: Numbers) -> npt.NDArray[np.bool_]:
    blank = np.zeros(len(offsets) - 1, np.bool_)
    for line in np.flatnonzero(data[offsets[:-1]] <= ord(" ")):
        blank[line] = not text[offsets[line] : offsets[line + 1]].strip(_BLANK)
    return blank


def lines_of(batch: pa.RecordBatch) -> Any:
    """The bytes of a batch of lines as one buffer, every line ended.

    Example:
        >>> bytes(lines_of(pa.record_batch([pa.array(["{}\\n", "{}"], pa.large_string())], schema=LINE_SCHEMA)))
        b'{}\\n{}\\n'
    """
    array = batch.column(0)
    if not len(array):
        return b""
    _, offset_buffer, data = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    text = data[int(offsets[0]) : int(offsets[-1])]
    # only the last line of a file may have no end, and it is the last of its batch
    return text if text[-1:].to_pybytes() == b"\n" else text.to_pybytes() + b"\n"
