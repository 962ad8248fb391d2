"""Dask: partitions of a dask.dataframe are filtered through the Arrow form of the columns that the filter reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pat

from fastfilter.errors import DataError
from fastfilter.filter import Filter
from fastfilter.integrations.worker import WorkerFilter, named, needed_columns

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["filter_dataframe"]


def filter_dataframe(dataframe: DataFrame, flt: Filter) -> DataFrame:
    """The rows of a Dask DataFrame that match, as a DataFrame that is evaluated when it is computed.

    Args:
        dataframe: the DataFrame, with pandas partitions. A named index level counts as a column of that name.
        flt: the filter; its program is sent to the workers, and made a Filter once in each process.

    Returns:
        The rows in their order, with the dtypes, the index, the partitions and the divisions they had. Only the columns
        that the filter reads are turned into Arrow, and of a file only those and the ones you go on with are read.

    Raises:
        BindError: the filter does not fit the DataFrame's columns; it speaks at once, before anything runs. An error in
            a worker reaches the caller as what it is (``BindError``, ``DataError``) and names the partition and row.

    Example:
        >>> import dask.dataframe, pandas, fastfilter
        >>> from fastfilter.integrations.dask import filter_dataframe
        >>> frame = pandas.DataFrame({"id": ["a", "b"], "importance": [0.4, 0.9]})
        >>> flt = fastfilter.compile({"field": "importance", "operator": "gte", "value": 0.7})
        >>> filter_dataframe(dask.dataframe.from_pandas(frame, npartitions=2), flt)["id"].compute().tolist()
        ['b']
    """
    import dask.dataframe

    if not isinstance(dataframe, dask.dataframe.DataFrame):
        raise TypeError(f"dataframe must be a dask.dataframe.DataFrame, not {type(dataframe).__name__}")
    sent = WorkerFilter(flt)
    meta = dataframe._meta
    columns = needed_columns(flt, pa.Schema.from_pandas(meta, preserve_index=True))
    partition_mask = _PartitionMask(sent, columns)
    read = dataframe[[name for name in columns if name in meta.columns]]
    return dataframe[read.map_partitions(partition_mask, meta=(None, "bool"))]


class _PartitionMask:
    """What runs in a worker for each partition."""

    def __init__(self, sent: WorkerFilter, columns: list[str]) -> None:
        self._sent = sent
        self._columns = columns

    def __call__(self, frame: Any, partition_info: Mapping[str, Any] | None = None) -> Any:
        import pandas

        with named("a partition" if partition_info is None else f"partition {partition_info['number']}"):
            mask = self._sent.filter.mask(self._table(frame), threads=1)
        return pandas.Series(mask.to_numpy(), index=frame.index, dtype="bool")

    def _table(self, frame: Any) -> pa.Table:
        # Without columns a table would have no rows: the index then stands for them.
        index = len(frame.columns) < max(1, len(self._columns))
        try:
            table = pa.Table.from_pandas(frame, preserve_index=index)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise DataError(f"the columns {self._columns} cannot be read as Arrow arrays: {error}") from None
        for field in table.schema:
            objects = field.name in frame.columns and str(frame.dtypes[field.name]) == "object"
            if objects and _holds_objects(field.type):
                raise DataError(
                    f"column {field.name!r} holds Python dicts, whose keys would differ from partition to partition: "
                    "make it JSON text or an Arrow struct (pandas.ArrowDtype)"
                )
        return table


def _holds_objects(type: pa.DataType) -> bool:
    return pat.is_struct(type) or any(_holds_objects(type.field(number).type) for number in range(type.num_fields))
