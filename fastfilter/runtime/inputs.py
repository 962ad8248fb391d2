"""What may be given as data, brought to one shape: record batches, and the way back to the same kind of object."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from fastfilter.runtime.selection import mask_flags, select_rows, take_rows

__all__ = ["Input", "open_input"]

Mask: TypeAlias = "pa.BooleanArray | pa.ChunkedArray"


@dataclass(frozen=True, slots=True)
class Input:
    """Data as record batches.

    Attributes:
        schema: of every batch.
        batches: the batches in order; of a stream they can be read once.
        one: whether the data are one batch by nature, so that their mask is one array.
        stream: whether the data are a stream, so that nothing is to be read before it is asked for.
        select: makes the object of the same kind as was given that holds the rows of a mask; of a stream, unused.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    one: bool
    stream: bool
    select: Callable[[Mask], Any]


def open_input(data: Any) -> Input:
    """Brings data to record batches without copying them.

    Args:
        data: a pyarrow RecordBatch, Table or RecordBatchReader; any object with the Arrow PyCapsule interface that
            holds rows of named columns (Polars, pandas, DuckDB, nanoarrow, …); or a mapping from column name to array.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(data, pa.RecordBatch):
        return Input(data.schema, iter((data,)), True, False, lambda mask: select_rows(data, mask))
    if isinstance(data, pa.Table):
        return Input(data.schema, iter(data.to_batches()), False, False, lambda mask: _select_table(data, data, mask))
    if isinstance(data, pa.RecordBatchReader):
        return Input(data.schema, iter(data), False, True, _select_nothing)
    if isinstance(data, Mapping):
        return _open_mapping(data)
    library = type(data).__module__.partition(".")[0]
    if hasattr(data, "__arrow_c_stream__"):
        table = _imported(pa.RecordBatchReader.from_stream, data).read_all()
        select = {"polars": _select_polars, "pandas": _select_pandas}.get(library, _select_table)
        return Input(table.schema, iter(table.to_batches()), False, False, lambda mask: select(data, table, mask))
    if hasattr(data, "__arrow_c_array__"):
        batch = _imported(pa.record_batch, data)
        return Input(batch.schema, iter((batch,)), True, False, lambda mask: select_rows(batch, mask))
    raise TypeError(
        f"data of type {type(data).__module__}.{type(data).__qualname__} cannot be filtered: give a pyarrow "
        "RecordBatch, Table or RecordBatchReader, an object with the Arrow PyCapsule interface, or a dict of arrays"
    )


def _imported(importer: Callable[[Any], Any], data: Any) -> Any:
    try:
        return importer(data)
    except pa.ArrowInvalid as error:
        if "non-struct" not in str(error):
            raise
        kind = f"{type(data).__module__}.{type(data).__qualname__}"
        raise TypeError(f"data of type {kind} holds no rows of named columns: {error}") from None


def _select_nothing(mask: Mask) -> Any:
    raise AssertionError("a stream is filtered batch by batch")


def _select_polars(data: Any, table: pa.Table, mask: Mask) -> Any:
    import polars

    return data.filter(polars.Series(values=mask, dtype=polars.Boolean))


def _select_pandas(data: Any, table: pa.Table, mask: Mask) -> Any:
    return data[mask.to_numpy()]


def _select_table(data: Any, table: pa.Table, mask: Mask) -> Any:
    kept = map(select_rows, table.to_batches(), mask.chunks)  # a mask has the chunks of the batches
    return pa.Table.from_batches(kept, table.schema)


def _open_mapping(columns: Mapping[str, Any]) -> Input:
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
    batch = pa.record_batch(arrays)

    def select(mask: Mask) -> dict[str, Any]:
        assert isinstance(mask, pa.BooleanArray)  # of one batch
        kept = np.flatnonzero(mask_flags(mask)).astype(np.int64)
        return {name: _take(column, arrays[name], kept) for name, column in columns.items()}

    return Input(batch.schema, iter((batch,)), True, False, select)


def _check_keys(values: Any) -> None:
    """Refuses keys that are no text, which json would turn into text: 1 and "1" would become one key."""
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, Mapping):
            wrong = next((key for key in value if not isinstance(key, str)), None)
            if wrong is not None:
                raise TypeError(f"the key {wrong!r} is no text")
            pending += value.values()
        elif isinstance(value, list | tuple):
            pending += value


def _array_of(name: str, column: Any) -> Any:
    """A column that is no Arrow array yet. Dicts become JSON values: a key that is absent is missing, not null."""
    if isinstance(column, list | tuple) and any(isinstance(value, Mapping) for value in column):
        try:
            texts = [None if value is None else json.dumps(value, allow_nan=False) for value in column]
            _check_keys(column)  # which json has found to hold no circle
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
