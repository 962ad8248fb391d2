"""What the adapters of all engines share, without an engine."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pyarrow as pa
import pytest

import fastfilter
from fastfilter.integrations import worker
from fastfilter.integrations.worker import WorkerFilter, named, needed_columns

SUPPORT = {"metadata": {"channel": "support"}}


def test_a_process_makes_one_filter_however_often_it_is_sent() -> None:
    sent = pickle.dumps(WorkerFilter(fastfilter.compile(SUPPORT, metadata="info")))
    before = worker._build.cache_info().misses
    filters = [pickle.loads(sent).filter for _ in range(10)]
    assert len({id(flt) for flt in filters}) == 1
    assert worker._build.cache_info().misses <= before + 1


def test_what_is_sent_are_the_bytes_of_the_program_and_how_fields_find_columns() -> None:
    flt = fastfilter.compile(SUPPORT, metadata="info", on_invalid_json="error", fields={"id": "key"})
    assert WorkerFilter(flt).filter == flt
    assert flt.program.to_bytes() in WorkerFilter(flt)._content
    assert WorkerFilter(fastfilter.compile(SUPPORT)).filter != flt


def test_a_program_that_does_not_verify_is_refused_by_the_worker() -> None:
    sent = WorkerFilter(fastfilter.compile(SUPPORT))
    program = fastfilter.compile(SUPPORT).program.to_bytes()
    sent._content = sent._content.replace(program, program[:-1] + bytes([program[-1] ^ 255]))
    with pytest.raises(fastfilter.ProgramError):
        _ = sent.filter


def test_only_a_filter_is_sent() -> None:
    with pytest.raises(TypeError, match=r"must be a Filter, .* not dict"):
        WorkerFilter(SUPPORT)  # type: ignore[arg-type]


def test_an_error_keeps_its_type_and_says_where() -> None:
    with pytest.raises(fastfilter.DataError) as data_error, named("partition 3", 100):
        raise fastfilter.DataError("no JSON", 7)
    assert str(data_error.value) == "row 107: no JSON (in partition 3)"
    assert data_error.value.row == 107
    with pytest.raises(fastfilter.DataError, match=r"^no JSON \(in partition 3\)$"), named("partition 3", 100):
        raise fastfilter.DataError("no JSON")
    with pytest.raises(fastfilter.BindError) as bind_error, named("partition 3"):
        raise fastfilter.BindError("no column", field="id", column="key", type="int64")
    assert str(bind_error.value) == "no column (in partition 3)"
    assert (bind_error.value.field, bind_error.value.column, bind_error.value.type) == ("id", "key", "int64")
    with pytest.raises(KeyError), named("partition 3"):
        raise KeyError("other errors are left alone")


def test_the_needed_columns_are_all_that_a_part_of_the_data_could_hold_a_field_in() -> None:
    flt = fastfilter.compile(
        {
            "and": [
                {"field": "metadata.source.system", "operator": "eq", "value": "crm"},
                {"field": "importance", "operator": "gte", "value": 0.5},
            ]
        }
    )
    names = ["id", "metadata.source", "metadata.other", "importance", "metadata", "metadata.source.system.name"]
    types = {"importance": pa.float64(), "metadata": pa.struct([("other", pa.string())]), "metadata.source": pa.null()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in names])
    assert needed_columns(flt, schema) == ["metadata.source", "importance", "metadata"]
    assert needed_columns(flt, schema, ["id"]) == ["id", "metadata.source", "importance", "metadata"]
    assert needed_columns(fastfilter.compile(None), schema) == []
    with pytest.raises(ValueError, match="no column 'content'"):
        needed_columns(flt, schema, ["content"])
    with pytest.raises(TypeError, match="sequence of names"):
        needed_columns(flt, schema, "id")
    with pytest.raises(fastfilter.BindError, match="'importance' needs a column"):
        needed_columns(flt, schema.remove(names.index("importance")))


MODULES = ["", ".integrations.worker", ".integrations.dask", ".integrations.ray", ".integrations.spark"]


@pytest.mark.parametrize("module", MODULES)
def test_an_engine_is_imported_when_its_adapter_is_called_and_not_before(module: str) -> None:
    engines = ["ray", "pyspark", "dask", "distributed", "pandas"]
    code = f"import sys, fastfilter{module}; print([name for name in {engines} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
