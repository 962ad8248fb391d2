"""Ray Data gives the rows that a Filter gives of the whole table, on two workers."""

from __future__ import annotations

import doctest
import pathlib
import sys
from typing import Any

import engine_cases as cases
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastfilter
from fastfilter.integrations import worker
from fastfilter.integrations.ray import filter_dataset

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")


def collected(dataset: Any, schema: pa.Schema) -> pa.Table:
    """All rows of a dataset, whose blocks must have this schema."""
    import ray

    blocks = ray.get(dataset.to_arrow_refs())
    assert all(block.schema.equals(schema) for block in blocks)
    return pa.concat_tables(blocks) if blocks else schema.empty_table()


@pytest.mark.parametrize("layout", cases.LAYOUTS)
def test_the_rows_are_those_of_the_whole_table(ray_data: Any, layout: str) -> None:
    table = cases.memories(layout)
    dataset = ray_data.from_arrow(cases.partitions(table))
    for name, flt in cases.cases(layout):
        rows = collected(filter_dataset(dataset, flt), table.schema)
        assert rows.equals(cases.expected(flt, table, name)), name


def test_encoded_columns_keep_their_types(ray_data: Any) -> None:
    table = cases.memories("json")
    for name in ("memory_type", "metadata"):
        table = table.set_column(table.schema.get_field_index(name), name, table[name].dictionary_encode())
    dataset = ray_data.from_arrow(cases.partitions(table))
    flt = fastfilter.compile({"metadata": {"channel": "support"}})
    rows = collected(filter_dataset(dataset, flt, batch_size=100), table.schema)
    assert rows.to_pylist() == flt.filter(table).to_pylist()


def test_columns_chosen_are_all_that_is_returned_and_the_filter_reads_others(
    ray_data: Any, tmp_path: pathlib.Path
) -> None:
    table = cases.memories("json")
    pq.write_table(table, tmp_path / "memories.parquet")
    flt = fastfilter.compile({"metadata": {"channel": "support"}})
    wanted = flt.filter(table).select(["importance", "id"])
    for dataset in (ray_data.read_parquet(str(tmp_path)), ray_data.from_arrow(cases.partitions(table))):
        assert collected(filter_dataset(dataset, flt, columns=["importance", "id"]), wanted.schema).equals(wanted)


def test_a_filter_that_does_not_fit_speaks_before_anything_runs(ray_data: Any) -> None:
    dataset = ray_data.from_arrow(pa.table({"id": ["a"], "score": [1]}))
    with pytest.raises(fastfilter.BindError, match="'importance' needs a column"):
        filter_dataset(dataset, fastfilter.compile({"field": "importance", "operator": "gte", "value": 0.7}))
    with pytest.raises(ValueError, match="no column 'score_'"):
        filter_dataset(dataset, fastfilter.compile(None), columns=["score_"])
    with pytest.raises(TypeError, match="option batch_format"):
        filter_dataset(dataset, fastfilter.compile(None), batch_format="pandas")
    with pytest.raises(TypeError, match=r"must be a ray\.data\.Dataset"):
        filter_dataset(pa.table({}), fastfilter.compile(None))
    with pytest.raises(TypeError, match="must be a Filter"):
        filter_dataset(dataset, {"metadata": {"channel": "support"}})


def test_a_filter_that_does_not_fit_a_block_speaks_in_the_worker(ray_data: Any) -> None:
    """Of pandas blocks, and behind a step that Ray cannot see through, the schema is known there first."""
    import pandas

    flt = fastfilter.compile({"field": "importance", "operator": "gte", "value": 0.7})
    dataset = ray_data.from_pandas(pandas.DataFrame({"id": ["a"]}))
    with pytest.raises(Exception, match=r"BindError: field 'importance' needs a column.* \(in task 0\)"):
        filter_dataset(dataset, flt).materialize()


def test_an_error_names_its_type_the_task_the_file_and_the_row(ray_data: Any, tmp_path: pathlib.Path) -> None:
    from ray.exceptions import RayTaskError

    table, flt = cases.broken()
    dataset = ray_data.from_arrow([part for part in cases.partitions(table) if part.num_rows])
    with pytest.raises(RayTaskError, match=r"DataError: row 420: the text in column 'metadata'.* \(in task 1\)"):
        filter_dataset(dataset, flt).materialize()
    pq.write_table(table, tmp_path / "memories.parquet")
    dataset = ray_data.read_parquet(str(tmp_path), include_paths=True)
    with pytest.raises(RayTaskError, match=r"DataError: row 421: .* \(in task 0, of .*memories\.parquet\)"):
        filter_dataset(dataset, flt).materialize()


def test_ray_can_be_told_to_raise_the_error_itself(ray_data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ray_data.DataContext.get_current()
    monkeypatch.setattr(context, "raise_original_map_exception", True)
    table, flt = cases.broken()
    with pytest.raises(fastfilter.DataError, match=r"row 421: .* \(in task 0\)"):
        filter_dataset(ray_data.from_arrow(table), flt).materialize()


def test_a_dataset_that_nothing_is_left_of_is_filtered(ray_data: Any) -> None:
    from ray.data.expressions import col

    table = cases.memories("json")
    dataset = ray_data.from_arrow(cases.partitions(table)).filter(expr=col("id") == "nobody")
    flt = fastfilter.compile({"metadata": {"channel": "support"}})
    assert filter_dataset(dataset, flt).count() == 0


MADE_ONCE = {"not": {"field": "subject", "operator": "eq", "value": "made once"}}


def test_a_worker_makes_one_filter_of_a_program(ray_data: Any) -> None:
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    flt = fastfilter.compile(MADE_ONCE)
    dataset = ray_data.from_arrow(cases.partitions(cases.memories("json")))
    counted = filter_dataset(dataset, flt).map_batches(_count_made, batch_format="pyarrow", batch_size=None)
    counted = counted.take_all()
    assert len(counted) == sum(part.num_rows > 0 for part in cases.partitions(cases.memories("json")))
    assert {row["made"] for row in counted} == {1}


def _count_made(block: pa.Table) -> pa.Table:
    sent = worker.WorkerFilter(fastfilter.compile(MADE_ONCE))
    before = worker._build.cache_info().misses
    assert sent.filter is sent.filter
    return pa.table({"made": [1 + worker._build.cache_info().misses - before]})


def test_the_example_in_the_documentation(ray_data: Any) -> None:
    assert doctest.testmod(sys.modules["fastfilter.integrations.ray"]).failed == 0
