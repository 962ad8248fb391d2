"""Spark: partitions are filtered as the Arrow batches that ``mapInArrow`` hands to Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from fastfilter.filter import Filter
from fastfilter.integrations.worker import WorkerFilter, named, needed_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["filter_dataframe"]


def filter_dataframe(dataframe: DataFrame, flt: Filter, columns: Sequence[str] | None = None) -> DataFrame:
    """The rows of a Spark DataFrame that match, as a DataFrame that is evaluated when an action asks for it.

    Args:
        dataframe: the DataFrame, also one of Spark Connect or a streaming one.
        flt: the filter; its program is sent to the executors, and made a Filter once in each Python worker.
        columns: the columns to keep, by default all. Those that the filter reads need not be among them. Spark then
            reads no others; a ``select`` on the result would not tell it so. Name here what you go on with.

    Returns:
        The rows in their order in each partition, partitioned as before, with the columns and types they had.

    Raises:
        BindError: the filter does not fit the DataFrame's schema; it speaks at once, before anything runs.
        PySparkException: the DataFrame has a column that Spark cannot turn into Arrow. An error in an executor reaches
            the action as Spark's ``PythonException``, whose text has the error's own type, the partition and the row.

    Example:
        >>> import fastfilter
        >>> from pyspark.sql import SparkSession
        >>> from fastfilter.integrations.spark import filter_dataframe
        >>> spark = SparkSession.builder.getOrCreate()
        >>> memories = spark.createDataFrame([("a", 0.4), ("b", 0.9)], ["id", "importance"])
        >>> flt = fastfilter.compile({"field": "importance", "operator": "gte", "value": 0.7})
        >>> [row.id for row in filter_dataframe(memories, flt).collect()]
        ['b']
    """
    if not (hasattr(dataframe, "mapInArrow") and hasattr(dataframe, "sparkSession")):
        raise TypeError(f"dataframe must be a pyspark.sql.DataFrame, not {type(dataframe).__name__}")
    sent = WorkerFilter(flt)
    # An empty DataFrame of the same schema tells the Arrow types, without a look at where the rows come from.
    schema = dataframe.sparkSession.createDataFrame([], dataframe.schema).toArrow().schema
    if columns is None:
        flt.columns(schema)
        read = kept = list(range(len(schema)))
    elif not columns:
        raise ValueError("columns must name one column or more")
    else:
        read = [schema.get_field_index(name) for name in needed_columns(flt, schema, columns)]
        kept = [schema.get_field_index(name) for name in columns]
    # Columns travel under names of ours: mapInArrow takes a dot in a name ("metadata.channel") for a step downwards.
    numbered = dataframe.toDF(*(f"column{number}" for number in range(len(schema))))
    partition_filter = _PartitionFilter(
        sent, [schema.names[number] for number in read], [read.index(number) for number in kept]
    )
    result = type(dataframe.schema)([dataframe.schema[number] for number in kept])
    return numbered.select(*(f"column{number}" for number in read)).mapInArrow(partition_filter.filter_batches, result)


class _PartitionFilter:
    """What runs in a Python worker for each partition: its columns have these names, and those at `kept` stay."""

    def __init__(self, sent: WorkerFilter, names: list[str], kept: list[int]) -> None:
        self._sent = sent
        self._names = names
        self._kept = kept

    def filter_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        part = "a partition" if context is None else f"partition {context.partitionId()}"
        first_row = 0
        for batch in batches:
            with named(part, first_row):
                rows = self._sent.filter.filter(batch.rename_columns(self._names), threads=1)
            first_row += batch.num_rows
            yield rows.select(self._kept)
