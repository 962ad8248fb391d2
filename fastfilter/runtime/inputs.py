"""What may be given as data, brought to what pyarrow has for rows, and the way back to the same kind of object."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from fastfilter.runtime.selection import mask_flags, select_rows, take_rows

__all__ = ["Input", "open_input", "select_like"]

Mask: TypeAlias = "pa.BooleanArray | pa.ChunkedArray"
Input: TypeAlias = "pa.RecordBatch | pa.Table | pa.RecordBatchReader"

_AS_THEY_ARE = (pa.RecordBatch, pa.Table, pa.RecordBatchReader)


def open_input(data: Any) -> Input:
    """Brings data to a record batch, a table, or, if they are a stream, a reader of batches, without copying them.

    Args:
        data: a pyarrow RecordBatch, Table or RecordBatchReader; any object with the Arrow PyCapsule interface that
            holds rows of named columns (Polars, pandas, DuckDB, nanoarrow, …); or a mapping from column name to array.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(data, _AS_THEY_ARE):
        return data
    if isinstance(data, Mapping):
        return _batch_of(data)
    if hasattr(data, "__arrow_c_stream__"):
        return _imported(pa.RecordBatchReader.from_stream, data).read_all()
    if hasattr(data, "__arrow_c_array__"):
        return _imported(pa.record_batch, data)
    raise TypeError(
        f"data of type {type(data).__module__}.{type(data).__qualname__} cannot be filtered: give a pyarrow "
        "RecordBatch, Table or RecordBatchReader, an object with the Arrow PyCapsule interface, or a dict of arrays"
    )


def select_like(data: Any, source: pa.RecordBatch | pa.Table, mask: Mask) -> Any:
    """The rows of a mask as an object of the same kind as the data, which open_input() brought to ``source``."""
    if isinstance(data, Mapping):
        return _select_columns(data, source, mask)
    if isinstance(source, pa.RecordBatch):
        return select_rows(source, mask)
    if not isinstance(data, pa.Table):
        library = type(data).__module__.partition(".")[0]
        if library == "polars":
            import polars

            return data.filter(polars.Series(values=mask, dtype=polars.Boolean))
        if library == "pandas":
            return data[mask.to_numpy()]
    kept = map(select_rows, source.to_batches(), mask.chunks)  # a mask has the chunks of the batches
    return pa.Table.from_batches(kept, source.schema)


def _imported(importer: Callable[[Any], Any], data: Any) -> Any:
    try:
        return importer(data)
    except pa.ArrowInvalid as error:
        if "non-struct" not in str(error):
            raise
        kind = f"{type(data).__module__}.{type(data).__qualname__}"
        raise TypeError(f"data of type {kind} holds no rows of named columns: {error}") from None


def _batch_of(columns: Mapping[str, Any]) -> pa.RecordBatch:
    arrays: dict[str, pa.Array] = {}
    for name, column in columns.items():
        if not isinstance(name, str):
            raise TypeError(f"a column's name must be a string, not {name!r}")
        if column is None or isinstance(column, str | bytes | int | float | Mapping):
            raise TypeError(
                f"column {name!r} is a {type(column).__name__}, not an array: this looks like one record, which "
                "matches() takes"
            )
        if isinstance(column, pa.ChunkedArray):
            array = column.combine_chunks()
        elif isinstance(column, pa.Array):
            array = column
        else:
            array = _array_of(name, column)
        arrays[name] = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns have different lengths: {lengths}")
    return pa.record_batch(arrays)


def _select_columns(columns: Mapping[str, Any], batch: pa.RecordBatch, mask: pa.BooleanArray) -> dict[str, Any]:
    kept = np.flatnonzero(mask_flags(mask)).astype(np.int64)
    arrays = zip(columns.items(), batch.columns, strict=True)
    return {name: _take(column, array, kept) for (name, column), array in arrays}


def _json_value(value: Any) -> Any:
    """What json is to write of a value. Whole floats become integers: the text of 5.0 is ``5``, as in a record or a
    column of doubles. Refuses keys that are no text, which json would turn into text: 1 and "1" would become one."""
    if isinstance(value, float):
        # From 1e16 on Python spells a float with an exponent, and not with ".0".
        return int(value) if abs(value) < 1e16 and value.is_integer() else value
    if isinstance(value, Mapping):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise TypeError(f"the key {wrong!r} is no text")
        return {key: _json_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(each) for each in value]
    return value


def _array_of(name: str, column: Any) -> Any:
    """A column that is no Arrow array yet. Dicts become JSON values: a key that is absent is missing, not null."""
    if isinstance(column, list | tuple) and any(isinstance(value, Mapping) for value in column):
        try:
            texts = [None if value is None else json.dumps(_json_value(value), allow_nan=False) for value in column]
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(
                f"column {name!r} holds dicts that are no JSON ({error}): give JSON text or an Arrow array, or use "
                "select() on records"
            ) from None
        return pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts, pa.string()))
    try:
        return pa.array(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"column {name!r} cannot be read as one Arrow array: {error}") from None


def _take(column: Any, array: pa.Array, kept: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
    """The rows ``kept`` of a column, as the same kind of object where it is an array or a sequence."""
    if isinstance(column, np.ndarray):
        return column[kept]
    if isinstance(column, Sequence) and not isinstance(column, str | bytes):
        rows = [column[int(row)] for row in kept]
        return tuple(rows) if isinstance(column, tuple) else rows
    return take_rows(array, kept)
