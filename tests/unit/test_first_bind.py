"""The first batch of a schema: what binding to it takes, and for which schemas it is done again."""

from __future__ import annotations

from typing import Any

import layouts
import pyarrow as pa
import pytest
from interpreter_steps import steps

import fastfilter
from fastfilter.runtime.vm import BACKENDS, backend, load_machine

AVAILABLE = BACKENDS if backend == "native" else ("python",)


def filter_of(num_fields: int) -> fastfilter.Filter:
    tests = [{"field": f"metadata.f{i}", "operator": "contains", "value": f"v{i}"} for i in range(num_fields)]
    return fastfilter.compile({"or": tests}, limits={"max_children": 10_000, "max_conditions": 10_000})


def schema_of(layout: str, num_fields: int, num_others: int = 0) -> pa.Schema:
    others = [pa.field(f"other{i}", pa.int64()) for i in range(num_others)]
    fields = [pa.field(f"f{i}", pa.string()) for i in range(num_fields)]
    metadata = {
        "text": [pa.field("metadata", pa.string())],
        "struct": [pa.field("metadata", pa.struct(fields))],
        "flattened": [field.with_name(f"metadata.{field.name}") for field in fields],
    }
    return pa.schema([*others, *metadata[layout]])


@pytest.mark.parametrize("layout", ["text", "struct", "flattened"])
@pytest.mark.parametrize("name", AVAILABLE)
def test_work_is_in_proportion_to_fields_and_not_to_columns(name: str, layout: str) -> None:
    def work(num_fields: int, num_others: int = 0) -> int:
        flt, schema = filter_of(num_fields), schema_of(layout, num_fields, num_others)
        return steps(lambda: load_machine(name)(flt.bind(schema)))

    work(9)  # what is made once and kept
    few, some, many = (work(size) / size for size in (10, 100, 400))
    assert some <= 1.2 * few
    assert many <= 1.2 * some
    assert work(10, 1000) <= 1.1 * work(10)


def test_an_equal_schema_is_bound_once() -> None:
    flt = filter_of(3)
    first = flt._machine(schema_of("text", 3))
    other = flt._machine(schema_of("struct", 3))
    assert other is not first
    assert flt._machine(schema_of("text", 3)) is first
    assert flt._machine(schema_of("struct", 3)) is other
    assert flt._machine(schema_of("text", 3).with_metadata({"made": "elsewhere"})) is first


def test_each_back_end_has_its_own_machine() -> None:
    flt, schema = filter_of(3), schema_of("text", 3)
    machines = {name: flt._machine(schema, name) for name in AVAILABLE}
    assert len(set(map(id, machines.values()))) == len(AVAILABLE)
    assert {name: flt._machine(schema, name) for name in AVAILABLE} == machines


def test_schemas_do_not_pile_up() -> None:
    flt = filter_of(1)
    batches: list[Any] = [pa.record_batch({"metadata": ['{"f0": "v0"}'], f"c{i}": [i]}) for i in range(200)]
    assert all(flt.mask(batch).to_pylist() == [True] for batch in batches)
    assert len(flt._machines) <= 64
    assert flt._machine(batches[-2].schema) is flt._machines[-2][2]


@pytest.mark.parametrize("backend", AVAILABLE)
def test_types_that_pyarrow_takes_for_equal_are_bound_each_for_itself(backend: Any) -> None:
    flt = fastfilter.compile({"metadata": {"a": "v"}})
    strings = pa.ExtensionArray.from_storage(layouts.NoteType(), pa.array(["v", "w"]))
    for _ in range(2):
        for index in (pa.int8(), pa.uint64(), pa.int32()):
            column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], index), strings)
            batch = pa.record_batch({"metadata": pa.StructArray.from_arrays([column], ["a"])})
            assert flt._evaluate(batch, backend) == [True, False, False, True]
