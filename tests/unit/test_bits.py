"""Bits as masks, numbers and counts, natively and in Python."""

from __future__ import annotations

import numpy as np
import pytest

from fastfilter.runtime import bits as bits_module
from fastfilter.runtime.bits import bits_to_array, bits_to_indices, count_bits


@pytest.mark.parametrize("num_rows", [0, 1, 7, 8, 9, 63, 64, 65, 127, 1000])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_all_forms_name_the_same_rows(num_rows: int, share: float) -> None:
    rows = np.random.default_rng(num_rows).random(num_rows) < share
    bits = bytearray(np.packbits(rows, bitorder="little").tobytes())
    expected = np.flatnonzero(rows)
    assert bits_to_array(bits, num_rows).to_pylist() == rows.tolist()
    assert count_bits(bits) == bits_module._count_in_python(bits) == len(expected)
    for indices in (bits_to_indices(bits, 5), bits_module._indices_in_python(bits, 5)):
        assert indices.dtype == np.int64
        assert indices.tolist() == (expected + 5).tolist()


def test_indices_are_not_written_where_there_is_no_room() -> None:
    native = pytest.importorskip("fastfilter._native", reason="the native extension is not built")
    with pytest.raises(ValueError, match="no room"):
        native.write_indices(bytearray(b"\xff"), 0, np.empty(7, np.int64))
