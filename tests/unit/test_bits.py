"""Bits as masks, numbers and counts, natively and in Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fastfilter.runtime import bits as bits_module
from fastfilter.runtime.bits import bits_to_array, bits_to_indices, count_bits


@pytest.mark.parametrize("num_rows", [0, 1, 7, 8, 9, 63, 64, 65, 127, 1000])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_all_forms_name_the_same_rows(num_rows: int, share: float) -> None:
    rows = np.random.default_rng(num_rows).random(num_rows) < share
    bits = bytearray(np.packbits(rows, bitorder="little").tobytes())
    expected = np.flatnonzero(rows)
    for array in (bits_to_array(bits, num_rows), bits_module._array_in_python(bits, num_rows)):
        array.validate(full=True)
        assert (array.type, array.null_count, array.to_pylist()) == (pa.bool_(), 0, rows.tolist())
    assert count_bits(bits) == bits_module._count_in_python(bits) == len(expected)
    for indices in (bits_to_indices(bits, 5), bits_module._indices_in_python(bits, 5)):
        assert indices.dtype == np.int64
        assert indices.tolist() == (expected + 5).tolist()


def test_an_array_keeps_its_bits_and_lets_them_go() -> None:
    bits = bytearray(b"\x05")
    array = bits_to_array(bits, 3)
    with pytest.raises(BufferError):
        bits.clear()
    del array
    bits.clear()


def test_an_array_is_not_longer_than_its_bits() -> None:
    native = pytest.importorskip("fastfilter._native", reason="the native extension is not built")
    for num_rows in (-1, 9):
        with pytest.raises(ValueError, match="do not hold"):
            native.bits_to_array(bytearray(1), num_rows)
