"""Rows picked out of Arrow arrays of every type, also of those that pyarrow's own ``filter`` and ``take`` do not know
(views and run-end encoding, wherever they are nested)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

__all__ = ["mask_flags", "select_rows", "take_rows"]

Rows = npt.NDArray[np.int64]


def mask_flags(mask: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    """A mask without nulls as numpy booleans. (pyarrow's own ``to_numpy`` would import pandas to make them.)

    Example:
        >>> mask_flags(pa.array([True, False, True]).slice(1)).tolist()
        [False, True]
    """
    if not len(mask):
        return np.zeros(0, np.bool_)
    bits = np.frombuffer(mask.buffers()[1], np.uint8)
    flags = np.unpackbits(bits, count=mask.offset + len(mask), bitorder="little")
    return flags[mask.offset :].view(np.bool_)


def select_rows(batch: pa.RecordBatch, mask: pa.BooleanArray) -> pa.RecordBatch:
    """The rows of a batch where the mask, which has no nulls, is true; the schema stays as it is.

    Example:
        >>> batch = pa.record_batch({"a": pa.array(["x", "y"], pa.string_view())})
        >>> select_rows(batch, pa.array([False, True])).to_pylist()
        [{'a': 'y'}]
    """
    if all(map(_is_plain, batch.schema.types)):
        return batch.filter(mask)
    rows = np.flatnonzero(mask_flags(mask)).astype(np.int64)
    return pa.record_batch([take_rows(array, rows) for array in batch.columns], schema=batch.schema)


_SCALARS = frozenset(
    type.id
    for type in (
        pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
        pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.binary(),
        pa.large_binary(), pa.timestamp("s"), pa.date32(), pa.date64(), pa.decimal128(1)
    )
)  # fmt: skip
"""What most columns are: types that need no further look."""


def _is_plain(type: pa.DataType) -> bool:
    """Whether pyarrow can take rows of the type itself."""
    if type.id in _SCALARS:
        return True
    if isinstance(type, pa.BaseExtensionType):
        return _is_plain(type.storage_type)
    if pat.is_string_view(type) or pat.is_binary_view(type) or pat.is_run_end_encoded(type):
        return False
    if pat.is_dictionary(type):
        return _is_plain(type.value_type)
    return all(_is_plain(type.field(number).type) for number in range(type.num_fields))


def take_rows(array: Any, rows: Rows) -> pa.Array:
    """The values at these rows, in their order."""
    type = array.type
    if _is_plain(type):
        return array.take(pa.array(rows))
    if isinstance(type, pa.BaseExtensionType):
        return type.wrap_array(take_rows(array.storage, rows))
    if pat.is_string_view(type):
        return array.cast(pa.large_string()).take(pa.array(rows)).cast(type)
    if pat.is_binary_view(type):
        return array.cast(pa.large_binary()).take(pa.array(rows)).cast(type)
    if pat.is_run_end_encoded(type):
        return _take_runs(array, rows)
    if pat.is_dictionary(type):
        return pa.DictionaryArray.from_arrays(
            array.indices.take(pa.array(rows)), array.dictionary, ordered=type.ordered, safe=False
        )
    missing = pc.invert(array.is_valid().take(pa.array(rows))) if array.null_count else None
    if pat.is_struct(type):
        children = [take_rows(array.field(number), rows) for number in range(type.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(type), mask=missing)
    return _take_lists(array, rows, missing)


def _take_runs(array: pa.RunEndEncodedArray, rows: Rows) -> pa.Array:
    type = array.type
    run_ends = array.run_ends.to_numpy()
    runs = np.searchsorted(run_ends, rows + array.offset, side="right").astype(np.int64)
    first_of_run = np.flatnonzero(np.diff(runs, prepend=-1))
    new_ends = np.append(first_of_run[1:], len(rows)) if len(rows) else first_of_run
    values = take_rows(array.values, runs[first_of_run])
    return pa.RunEndEncodedArray.from_arrays(pa.array(new_ends.astype(run_ends.dtype), type.run_end_type), values, type)


def _take_lists(array: Any, rows: Rows, missing: pa.BooleanArray | None) -> pa.Array:
    type = array.type
    if pat.is_fixed_size_list(type):
        starts = (rows + array.offset) * type.list_size
        lengths = np.full(len(rows), type.list_size, np.int64)
    else:
        offsets = array.offsets.to_numpy().astype(np.int64)
        starts = offsets[rows]
        if pat.is_list_view(type) or pat.is_large_list_view(type):
            lengths = array.sizes.to_numpy().astype(np.int64)[rows]
        else:
            lengths = offsets[rows + 1] - starts
        if missing is not None:
            lengths[mask_flags(missing)] = 0
    ends = np.cumsum(lengths)
    inner = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths) + np.repeat(starts, lengths)
    new_offsets = np.concatenate(([0], ends))
    if pat.is_map(type):
        keys, items = take_rows(array.keys, inner), take_rows(array.items, inner)
        return pa.MapArray.from_arrays(pa.array(new_offsets, pa.int32()), keys, items, type, mask=missing)
    values = take_rows(array.values, inner)
    if pat.is_fixed_size_list(type):
        return pa.FixedSizeListArray.from_arrays(values, type=type, mask=missing)
    if pat.is_list(type):
        return pa.ListArray.from_arrays(pa.array(new_offsets, pa.int32()), values, type, mask=missing)
    if pat.is_large_list(type):
        return pa.LargeListArray.from_arrays(pa.array(new_offsets, pa.int64()), values, type, mask=missing)
    kind, width = (pa.ListViewArray, pa.int32()) if pat.is_list_view(type) else (pa.LargeListViewArray, pa.int64())
    return kind.from_arrays(pa.array(new_offsets[:-1], width), pa.array(lengths, width), values, type, mask=missing)
