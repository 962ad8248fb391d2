"""Folders named ``column=value``: which rows go where, and what the folders are called, as Hive and pyarrow do."""

from __future__ import annotations

import functools
import urllib.parse
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pat

from fastfilter.corpus.formats import UsageError
from fastfilter.corpus.sources import NULL_PARTITION
from fastfilter.errors import DataError, nearest_name
from fastfilter.runtime.selection import take_rows

__all__ = ["Partitioning", "folder_name"]

_LONGEST_NAME = 255


class Partitioning:
    """Rows told apart by the values of some columns, which then stand in the names of folders and not in the files.

    Attributes:
        schema: the columns that stay in the files.

    Args:
        schema: of the rows.
        names: the columns, the outermost folder's first; none leaves all rows together.

    Raises:
        UsageError: there is no such column, its name or type cannot be a folder's, or no column would be left.
    """

    def __init__(self, schema: pa.Schema, names: Sequence[str]) -> None:
        for name in names:
            _check_column(schema, name)
        self._names = tuple(names)
        kept = [field for field in schema if field.name not in names]
        if names and not kept:
            raise UsageError(f"partition by {', '.join(names)}: no column is left for the files")
        self.schema = pa.schema(kept, metadata=schema.metadata)

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[str, npt.NDArray[np.int64], pa.RecordBatch]]:
        """The rows of each folder, in their order: the folder's path, which rows they are, and what is in its files.

        Raises:
            DataError: a value cannot be in a folder's name.
        """
        if not self._names:
            yield "", np.arange(batch.num_rows), batch
            return
        texts = [batch.column(name).cast(pa.string()) for name in self._names]
        codes = np.zeros(batch.num_rows, np.int64)
        for column in texts:
            encoded = column.dictionary_encode()
            places = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy()
            codes = codes * (len(encoded.dictionary) + 1) + places
            _, codes = np.unique(codes, return_inverse=True)  # so that those of many columns do not overflow
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        left = batch.select(self.schema.names)
        ordered = pa.record_batch([take_rows(array, order) for array in left.columns], schema=self.schema)
        for start, end in zip(starts, np.append(starts[1:], len(order)), strict=True):
            values = [column[int(order[start])].as_py() for column in texts]
            path = "/".join(map(folder_name, self._names, values))
            yield path, order[start:end], ordered.slice(start, end - start)


def _check_column(schema: pa.Schema, name: str) -> None:
    if name not in schema.names:
        near = nearest_name(name, schema.names)
        raise UsageError(
            f"partition by {name!r}: there is no such column; the columns are {', '.join(schema.names)}"
            + (f"; did you mean {near!r}?" if near else "")
        )
    if not name or name.startswith(("_", ".")):
        raise UsageError(f"partition by {name!r}: readers pass over folders whose names begin with _ or .")
    type = schema.field(name).type
    if pat.is_dictionary(type):
        type = type.value_type
    is_text = pat.is_string(type) or pat.is_large_string(type) or pat.is_string_view(type)
    if not (is_text or pat.is_integer(type) or pat.is_boolean(type) or pat.is_date32(type)):
        raise UsageError(
            f"partition by {name!r}: values of type {type} cannot name folders; text, integers, booleans and date32 can"
        )


@functools.lru_cache(maxsize=1 << 14)
def folder_name(column: str, value: str | None) -> str:
    """The name of the folder of a value.

    Raises:
        DataError: it would be read as another value, or is too long.

    Example:
        >>> folder_name("tenant", "a/b c"), folder_name("tenant", None)
        ('tenant=a%2Fb%20c', 'tenant=__HIVE_DEFAULT_PARTITION__')
    """
    if value == NULL_PARTITION:
        raise DataError(f"partition by {column!r}: the text {value!r} would be read as null")
    text = NULL_PARTITION if value is None else urllib.parse.quote(value, safe="")
    name = f"{urllib.parse.quote(column, safe='')}={text}"
    if len(name) > _LONGEST_NAME:
        shown = value if value is None or len(value) <= 60 else value[:60] + "…"
        raise DataError(
            f"partition by {column!r}: the value {shown!r} makes a folder's name of {len(name)} bytes; "
            f"{_LONGEST_NAME} are possible"
        )
    return name
