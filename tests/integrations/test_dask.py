"""Dask gives the rows that a Filter gives of the whole table, on two processes."""

from __future__ import annotations

import doctest
import itertools
import sys
from typing import Any

import engine_cases as cases
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastfilter
from fastfilter.integrations import worker
from fastfilter.integrations.dask import filter_dataframe

pytestmark = pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler:UserWarning")


def pandas_frame(table: pa.Table) -> Any:
    """The table as pandas, every column as Arrow keeps it."""
    import pandas

    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def dataframe(frame: Any, divisions: tuple[int, ...] | None = None) -> Any:
    """A pandas frame with the partitions of the cases."""
    import dask.dataframe

    parts = [frame.iloc[first:last] for first, last in itertools.pairwise(cases.CUTS)]
    return dask.dataframe.from_map(_same, parts, meta=frame.iloc[:0], divisions=divisions)


def _same(part: Any) -> Any:
    return part


@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_the_rows_are_those_of_the_whole_table(dask_client: Any, layout: str) -> None:
    import pandas

    table = cases.memories(layout)
    whole = pandas_frame(table)
    frame = dataframe(whole).persist()
    for name, flt in cases.cases(layout):
        found = filter_dataframe(frame, flt).compute()
        assert found["id"].tolist() == cases.expected(flt, table, name)["id"].to_pylist(), name
        pandas.testing.assert_frame_equal(found, whole[flt.mask(table).to_numpy()])


def test_divisions_partitions_and_types_stay(dask_client: Any) -> None:
    whole = pandas_frame(cases.memories("struct"))
    frame = dataframe(whole, divisions=(0, 0, 0, 1, 900, 900, 1500, 1900)[: len(cases.CUTS)])
    flt = fastfilter.compile({"metadata": {"channel": "support"}})
    found = filter_dataframe(frame, flt)
    assert found.known_divisions
    assert found.divisions == frame.divisions
    assert found.npartitions == frame.npartitions
    assert found.dtypes.equals(frame.dtypes)
    assert found.partitions[0].compute().dtypes.equals(whole.dtypes)  # an empty one


def test_numpy_and_categorical_columns_are_read_like_arrow_ones(dask_client: Any) -> None:
    import dask.dataframe
    import pandas

    table = cases.memories("json")
    whole = table.to_pandas(date_as_object=False).astype({"memory_type": "category", "metadata": "category"})
    frame = dask.dataframe.from_pandas(whole, npartitions=3)
    assert isinstance(frame.dtypes["memory_type"], pandas.CategoricalDtype)
    for name, flt in cases.cases("json"):
        assert filter_dataframe(frame, flt)["id"].compute().tolist() == flt.filter(table)["id"].to_pylist(), name


def test_only_what_is_read_or_wanted_is_read_of_a_file(dask_client: Any, tmp_path: Any) -> None:
    import dask.dataframe

    table = cases.memories("json")
    pq.write_table(table, tmp_path / "memories.parquet")
    flt = fastfilter.compile({"metadata": {"channel": "support"}})
    found = filter_dataframe(dask.dataframe.read_parquet(str(tmp_path)), flt)[["id"]]
    reads = [read for read in found.simplify().expr.walk() if type(read).__name__.startswith("ReadParquet")]
    assert {tuple(read.columns) for read in reads} == {("id", "metadata")}
    assert found["id"].compute().tolist() == flt.filter(table)["id"].to_pylist()


def test_a_named_index_is_a_column(dask_client: Any) -> None:
    import dask.dataframe

    table = cases.memories("json")
    whole = pandas_frame(table).set_index("id")
    frame = dask.dataframe.from_pandas(whole, npartitions=3)
    by_index = {"field": "id", "operator": "contains", "value": "7"}
    for filter in (by_index, {"and": [by_index, {"field": "importance", "operator": "lt", "value": 0.5}]}):
        flt = fastfilter.compile(filter)
        found = filter_dataframe(frame, flt)
        assert found.divisions == frame.divisions
        assert found.compute().index.tolist() == flt.filter(table)["id"].to_pylist()


def test_a_filter_that_does_not_fit_speaks_before_anything_runs(dask_client: Any) -> None:
    import dask.dataframe
    import pandas

    frame = dask.dataframe.from_pandas(pandas.DataFrame({"id": ["a"], "when": pandas.to_datetime(["2026-07-01"])}))
    with pytest.raises(fastfilter.BindError, match="'importance' needs a column"):
        filter_dataframe(frame, fastfilter.compile({"field": "importance", "operator": "gte", "value": 0.7}))
    soon = fastfilter.compile({"field": "subject", "operator": "eq", "value": "soon"}, fields={"subject": "when"})
    with pytest.raises(fastfilter.BindError, match="timestamp"):
        filter_dataframe(frame, soon)
    with pytest.raises(TypeError, match=r"must be a dask\.dataframe\.DataFrame"):
        filter_dataframe(pa.table({}), fastfilter.compile(None))
    with pytest.raises(TypeError, match="must be a Filter"):
        filter_dataframe(frame, {"metadata": {"channel": "support"}})


@pytest.mark.parametrize("scheduler", [None, "processes", "threads"])
def test_an_error_keeps_its_type_and_names_the_partition_and_the_row(dask_client: Any, scheduler: str | None) -> None:
    table, flt = cases.broken()
    frame = filter_dataframe(dataframe(pandas_frame(table)), flt)
    with pytest.raises(fastfilter.DataError, match=r"row 420: .*'metadata'.* \(in partition 2\)") as caught:
        frame.compute(scheduler=scheduler)
    assert caught.value.row == 420


def test_what_the_schema_of_a_partition_has_more_than_the_others_is_read(dask_client: Any) -> None:
    """pandas says nothing of a struct's keys: a first partition without one hides it from nobody."""
    import dask.dataframe
    import pandas

    parts = [
        pandas.DataFrame({"metadata": pandas.array(values, pandas.ArrowDtype(pa.struct([(key, pa.string())])))})
        for key, values in (("a", [{"a": "x"}]), ("channel", [{"channel": "support"}]))
    ]
    frame = dask.dataframe.from_map(_same, parts, meta=parts[0].iloc[:0])
    assert len(filter_dataframe(frame, fastfilter.compile({"metadata": {"channel": "support"}}))) == 1


def test_a_filter_that_reads_no_column_keeps_all_rows_or_none(dask_client: Any) -> None:
    frame = dataframe(pandas_frame(cases.memories("json")))
    assert len(filter_dataframe(frame, fastfilter.compile(None))) == cases.NUM_ROWS
    nothing = fastfilter.compile({"field": "metadata.nowhere", "operator": "eq", "value": 1}, metadata="nowhere")
    assert len(filter_dataframe(frame, nothing)) == 0


def test_dicts_in_a_column_of_objects_are_refused(dask_client: Any) -> None:
    import dask
    import dask.dataframe
    import pandas

    whole = pandas.DataFrame({"id": ["a", "b"], "metadata": [None, {"channel": "support"}]})
    flt = fastfilter.compile({"metadata": {"channel": "support"}})
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dask.dataframe.from_pandas(whole, npartitions=2)
        with pytest.raises(fastfilter.DataError, match=r"'metadata' holds Python dicts.*\(in partition 1\)"):
            filter_dataframe(frame, flt).compute()
        texts = whole.assign(metadata=[None, '{"channel": "support"}']).astype({"metadata": object})
        frame = dask.dataframe.from_pandas(texts, npartitions=2)
        assert filter_dataframe(frame, flt)["id"].compute().tolist() == ["b"]
        mixed = dask.dataframe.from_pandas(whole.assign(metadata=["{}", 5]).astype({"metadata": object}), npartitions=1)
        with pytest.raises(fastfilter.DataError, match=r"cannot be read as Arrow arrays.*\(in partition 0\)"):
            filter_dataframe(mixed, flt).compute()


def test_a_worker_makes_one_filter_of_a_program(dask_client: Any) -> None:
    flt = fastfilter.compile({"metadata": {"channel": "made once"}})
    before = dask_client.run(worker._build.cache_info)
    frame = dataframe(pandas_frame(cases.memories("json")))
    filter_dataframe(frame, flt).compute()
    filter_dataframe(frame, flt)[["id"]].compute()
    made = {name: info.misses - before[name].misses for name, info in dask_client.run(worker._build.cache_info).items()}
    assert max(made.values()) == 1
    assert sum(made.values()) <= 2


def test_the_example_in_the_documentation(dask_client: Any) -> None:
    assert doctest.testmod(sys.modules["fastfilter.integrations.dask"]).failed == 0
