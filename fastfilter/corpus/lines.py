"""Lines of a stream of bytes as they are, cut into Arrow arrays without looking at them one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastfilter.runtime.vm import backend

__all__ = ["LINE_COLUMN", "LINE_SCHEMA", "ByteStream", "Bytes", "cut_lines", "lines_of", "whole_lines"]

LINE_COLUMN = "line"
LINE_SCHEMA = pa.schema([pa.field(LINE_COLUMN, pa.large_string(), nullable=False)])
"""The schema of batches of lines."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"

_SEARCHED_BYTES = 1 << 16

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]


class ByteStream(Protocol):
    """What lines are read from."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fills the buffer as far as there are bytes; how many there were, none at the end."""
        ...


def whole_lines(stream: ByteStream, block_bytes: int) -> Iterator[Bytes]:
    """A stream in parts of about ``block_bytes``, or of one longer line, that end where a line does."""
    begun = np.empty(0, np.uint8)  # of a line whose end is not read yet
    while True:
        block = np.empty(len(begun) + block_bytes, np.uint8)
        block[: len(begun)] = begun
        num_read = stream.readinto(block.data[len(begun) :])
        if not num_read:
            break
        block = block[: len(begun) + num_read]
        end = _last_end(block, len(begun))
        if end:
            yield block[:end]
        begun = block[end:]
    if len(begun):
        yield begun


def _last_end(block: Bytes, start: int) -> int:
    """Behind the last newline of a block, which has none before ``start``; 0 if there is none."""
    stop = len(block)
    while stop > start:
        before = max(start, stop - _SEARCHED_BYTES)
        end = block[before:stop].tobytes().rfind(b"\n")
        if end >= 0:
            return before + end + 1
        stop = before
    return 0


def _offsets_in_python(text: Bytes) -> Numbers:
    """Where each line of a text begins, and where the last one ends."""
    ends = np.flatnonzero(text == ord("\n")) + 1
    if len(text) and text[-1] != ord("\n"):
        ends = np.append(ends, len(text))
    return np.concatenate([np.zeros(1, np.int64), ends])


if backend == "native":
    from fastfilter._native import line_offsets
else:
    line_offsets = _offsets_in_python


def cut_lines(text: Bytes, is_first: bool) -> tuple[pa.RecordBatch, Numbers, int]:
    """Cuts text after every newline.

    Args:
        text: whole lines; it is not checked to be UTF-8.
        is_first: whether the text begins its file: a byte order mark there is no part of the first line.

    Returns:
        A batch of :data:`LINE_SCHEMA` with the lines that are not blank, each with the bytes that end it; the number of
        each among all lines of the text, from 0; and how many lines there are.
    """
    if is_first and text[: len(_BYTE_ORDER_MARK)].tobytes() == _BYTE_ORDER_MARK:
        text = text[len(_BYTE_ORDER_MARK) :]
    offsets = line_offsets(text)
    num_lines = len(offsets) - 1
    array = pa.LargeStringArray.from_buffers(num_lines, pa.py_buffer(offsets), pa.py_buffer(text))
    numbers = np.arange(num_lines, dtype=np.int64)
    batch = pa.record_batch([array], schema=LINE_SCHEMA)
    kept = ~_blank_lines(text, offsets)
    if not kept.all():
        batch, numbers = batch.filter(pa.array(kept)), numbers[kept]
    return batch, numbers, num_lines


def _blank_lines(text: Bytes, offsets: Numbers) -> npt.NDArray[np.bool_]:
    blank = np.zeros(len(offsets) - 1, np.bool_)
    for line in np.flatnonzero(text[offsets[:-1]] <= ord(" ")):
        blank[line] = not text[offsets[line] : offsets[line + 1]].tobytes().strip(_BLANK)
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
