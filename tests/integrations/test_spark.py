"""Spark gives the rows that a Filter gives of the whole table, on two cores."""

from __future__ import annotations

import doctest
import functools
import pathlib
import re
import sys
from typing import Any

import engine_cases as cases
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastfilter
from fastfilter.integrations.spark import filter_dataframe

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


def dataframe(spark: Any, table: pa.Table, folder: pathlib.Path) -> Any:
    """The table as a DataFrame with the partitions of the cases, in their order: a file each."""
    frames = []
    for number, part in enumerate(cases.partitions(table)):
        pq.write_table(part, folder / f"{number}.parquet")
        frames.append(spark.read.parquet(str(folder / f"{number}.parquet")))
    frame = functools.reduce(lambda left, right: left.union(right), frames)
    assert frame.rdd.getNumPartitions() == len(frames)
    return frame


@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_the_rows_are_those_of_the_whole_table(spark: Any, layout: str, tmp_path: pathlib.Path) -> None:
    table = cases.memories(layout)
    frame = dataframe(spark, table, tmp_path).cache()
    for name, flt in cases.cases(layout):
        found = filter_dataframe(frame, flt)
        assert found.schema == frame.schema
        assert found.toArrow().to_pylist() == cases.expected(flt, table, name).to_pylist(), name


def test_columns_chosen_are_all_that_is_returned_and_the_filter_reads_others(
    spark: Any, tmp_path: pathlib.Path
) -> None:
    table = cases.memories("flattened")
    pq.write_table(table, tmp_path / "memories.parquet")
    flt = fastfilter.compile({"metadata": {"channel": "support"}})
    found = filter_dataframe(spark.read.parquet(str(tmp_path)), flt, columns=["importance", "id"])
    assert found.toArrow().to_pylist() == flt.filter(table).select(["importance", "id"]).to_pylist()
    plan = found._jdf.queryExecution().executedPlan().toString()
    read = re.search(r"ReadSchema: struct<(.*?)>", plan)
    assert read
    assert read[1] == "id:string,importance:decimal(10,3),metadata.channel:string"


def test_a_filter_that_does_not_fit_speaks_before_anything_runs(spark: Any) -> None:
    frame = spark.createDataFrame([("a", 1)], "id string, score int")
    with pytest.raises(fastfilter.BindError, match="'importance' needs a column"):
        filter_dataframe(frame, fastfilter.compile({"field": "importance", "operator": "gte", "value": 0.7}))
    with pytest.raises(ValueError, match="no column 'score_'"):
        filter_dataframe(frame, fastfilter.compile(None), columns=["score_"])
    with pytest.raises(TypeError, match=r"must be a pyspark\.sql\.DataFrame"):
        filter_dataframe(pa.table({}), fastfilter.compile(None))
    with pytest.raises(TypeError, match="must be a Filter"):
        filter_dataframe(frame, {"metadata": {"channel": "support"}})


def test_an_error_names_its_type_the_partition_and_the_row(spark: Any, tmp_path: pathlib.Path) -> None:
    from pyspark.errors import PythonException

    table, flt = cases.broken()
    with pytest.raises(PythonException) as caught:
        filter_dataframe(dataframe(spark, table, tmp_path), flt).collect()
    assert "DataError: row 420: the text in column 'metadata'" in str(caught.value)
    assert "(in partition 2)" in str(caught.value)


def test_a_timestamp_is_the_same_instant_in_every_session_time_zone(spark: Any) -> None:
    table = cases.memories("json").select(["id", "created_at"])
    flt = fastfilter.compile({"field": "created_at", "operator": "lt", "value": "2026-06-01T00:00:00-04:00"})
    frame = spark.createDataFrame(table)
    wanted = flt.filter(table)["id"].to_pylist()
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        for zone in ("UTC", "Asia/Kolkata"):
            spark.conf.set("spark.sql.session.timeZone", zone)
            assert [row.id for row in filter_dataframe(frame, flt, columns=["id"]).collect()] == wanted
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_timestamps_without_a_zone_and_columns_of_nothing_but_null_are_read(spark: Any) -> None:
    frame = spark.sql("SELECT 'a' AS id, TIMESTAMP_NTZ '2026-07-01 00:00:00' AS created_at, NULL AS subject")
    flt = fastfilter.compile(
        {
            "and": [
                {"field": "created_at", "operator": "eq", "value": "2026-07-01T00:00:00Z"},
                {"field": "subject", "operator": "exists", "value": False},
            ]
        }
    )
    found = filter_dataframe(frame, flt)
    assert found.schema == frame.schema
    assert found.toArrow().num_rows == 1


def test_names_that_spark_could_misread_are_columns_like_others(spark: Any) -> None:
    frame = spark.createDataFrame([("a", 1, 2), ("b", 3, 4)], ["id", "odd `name`", "metadata.source.n"])
    flt = fastfilter.compile({"field": "metadata.source.n", "operator": "gt", "value": 2})
    rows = [tuple(row) for row in filter_dataframe(frame, flt, columns=["odd `name`", "id"]).collect()]
    assert rows == [(3, "b")]


def test_the_example_in_the_documentation(spark: Any) -> None:
    assert doctest.testmod(sys.modules["fastfilter.integrations.spark"]).failed == 0
