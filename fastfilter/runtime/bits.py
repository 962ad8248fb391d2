"""The bits of matching rows as what callers ask for, natively or in Python.

``bits_to_array(bits, num_rows)`` gives them as a BooleanArray without nulls, without a copy; ``bits_to_indices(bits,
first=0)`` the numbers of the set ones, ascending, counted from ``first``; ``count_bits(bits)`` how many are set.

Bit ``row % 8`` of byte ``row // 8`` stands for a row; bits behind the last row are not set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from fastfilter.runtime.vm import backend

__all__ = ["bits_to_array", "bits_to_indices", "count_bits"]

Indices = np.ndarray[Any, np.dtype[np.int64]]


def _array_in_python(bits: bytearray, num_rows: int) -> pa.BooleanArray:
    return pa.BooleanArray.from_buffers(pa.bool_(), num_rows, [None, pa.py_buffer(bits)], 0)


def _count_in_python(bits: bytearray) -> int:
    return int.from_bytes(bits, "little").bit_count()


def _indices_in_python(bits: bytearray, first: int = 0) -> Indices:
    return np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")).astype(np.int64) + first


if backend == "native":
    from fastfilter._native import bits_to_array, bits_to_indices, count_bits
else:
    bits_to_array = _array_in_python
    bits_to_indices = _indices_in_python
    count_bits = _count_in_python
