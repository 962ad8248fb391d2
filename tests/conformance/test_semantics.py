"""What docs/semantics.md says in words about types, columns and errors, case by case, on both back ends."""

from __future__ import annotations

import pickle
import uuid
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import running

import fastfilter
from fastfilter.bytecode.constants import Json
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program, Role
from fastfilter.values import Elements, ScalarSet


def condition(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


def answer(filter: Any, batch: Any, backend: str, **options: Any) -> Any:
    return running.outcome(fastfilter.compile(filter, **options), batch, backend)


class PlainExtension(pa.ExtensionType):
    """An extension as pyarrow's own documentation defines one: without a hash."""

    def __init__(self) -> None:
        super().__init__(pa.string(), "fastfilter.tests.plain")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> PlainExtension:
        return cls()


def test_extension_types_that_have_no_hash(backend: str) -> None:
    column = pa.ExtensionArray.from_storage(PlainExtension(), pa.array(["a", None, "b"]))
    batch = pa.record_batch({"id": column, "content": pa.array(["x", "y", "x"])})
    assert answer(condition("content", "eq", "x"), batch, backend) == [True, False, True]
    assert answer(condition("id", "eq", "a"), batch, backend) == [True, False, False]
    flt = fastfilter.compile(condition("id", "ne", "a"))
    assert flt.mask(batch).to_pylist() == [False, False, True]
    assert flt.columns(batch.schema) == ["id"]


@pytest.mark.parametrize("key", ["\ud800", "a\udc00"])
def test_keys_that_are_no_unicode(backend: str, key: str) -> None:
    """JSON's escapes can spell a lone surrogate in a key; no Arrow name can."""
    escaped = key.encode("ascii", "backslashreplace").decode()
    texts = pa.array([f'{{"{escaped}":1}}', '{"a":1}', None])
    for column in (texts, texts.cast(pa.string_view()), pa.ExtensionArray.from_storage(pa.json_(), texts)):
        batch = pa.record_batch({"metadata": column})
        assert answer({"metadata": {key: 1}}, batch, backend) == [True, False, False]
        assert answer({key: 1}, batch, backend, dialect="fishmem") == [True, False, False]
    other: tuple[pa.RecordBatch, ...] = (
        pa.record_batch({"metadata": pa.array([{"a": 1}])}),
        pa.record_batch({"metadata": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))}),
        pa.record_batch({"metadata.a": pa.array([1])}),
        pa.record_batch({"metadata.a": pa.array([{"b": 1}])}),
    )
    for batch in other:
        assert answer({"metadata": {key: 1}}, batch, backend) == [False]
        assert answer({"metadata": {key: None}}, batch, backend) == [True]


@pytest.mark.parametrize("text", ["[1]", "1", "{}", "true", '"soon"', "null"])
def test_programs_that_hide_what_they_compare(backend: str, text: str) -> None:
    """A program from elsewhere may hide that it compares a field with no timestamp: it is answered or refused."""
    program = Program(
        (
            Instruction(Opcode.JSON_CONTAINS, 1, 0, 0, 0, 0),
            Instruction(Opcode.EQUALS_ANY, 2, 0, int(Elements.ALSO), 0, 1),
            Instruction(Opcode.OR, 1, 2),
            Instruction(Opcode.RETURN, 0, 1),
        ),
        (Json(text), ScalarSet(numbers=(1,), strings=("soon",))),
        (FieldUse(Field(Role.METADATA, ("a",)), None),),
        3,
    )
    for type in (pa.timestamp("ms", "UTC"), pa.date32(), pa.list_(pa.timestamp("s"))):
        batch = pa.record_batch({"metadata.a": pa.array([None, None], type)})
        outcome = running.outcome(running.filter_of_program(program), batch, backend)
        assert outcome == [text == "null"] * 2 or outcome[0] == "BindError"


UNSUPPORTED = (
    pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(4), pa.duration("s"), pa.time32("s"), pa.time64("ns"),
    pa.month_day_nano_interval(), pa.sparse_union([pa.field("a", pa.int8())]),
    pa.dense_union([pa.field("a", pa.int8())]),
    pa.list_(pa.binary()), pa.list_(pa.duration("s")), pa.dictionary(pa.int8(), pa.binary()),
    pa.run_end_encoded(pa.int32(), pa.time32("s")),
)  # fmt: skip


@pytest.mark.parametrize("type", UNSUPPORTED, ids=str)
def test_types_that_no_condition_reads(backend: str, type: pa.DataType) -> None:
    """Refused when bound, with the column's name and type, even where the condition need not look at a row."""
    schema = pa.schema(
        [("metadata", pa.struct([("a", type), ("b", pa.int8())])), ("content", type), ("id", pa.string())]
    )
    batch = pa.RecordBatch.from_arrays([empty(field.type) for field in schema], schema=schema)
    for field, column in (("metadata.a", "metadata"), ("content", "content")):
        for operator, value in (("eq", "x"), ("exists", True), ("contains", "x")):
            outcome = answer(condition(field, operator, value), batch, backend)
            assert outcome[:3] == ("BindError", field, column)
            assert outcome[3] == str(schema.field(column).type)
    assert answer({"or": [condition("id", "eq", "x"), condition("metadata.b", "gt", 1)]}, batch, backend) == []
    assert answer({"metadata": {"b": 1}}, batch, backend) == []


def empty(type: pa.DataType) -> pa.Array:
    """An array of no values, of any type."""
    if pa.types.is_struct(type):
        return pa.StructArray.from_arrays([empty(field.type) for field in type.fields], fields=type.fields)
    if pa.types.is_run_end_encoded(type):
        return pa.RunEndEncodedArray.from_arrays(pa.array([], type.run_end_type), pa.array([], type.value_type))
    return pa.nulls(0, type)


def test_objects_are_values_too(backend: str) -> None:
    struct = pa.array([{"b": 1}, None, {"b": None}], pa.struct([("b", pa.int64())]))
    batch = pa.record_batch({"metadata": pa.StructArray.from_arrays([struct], ["a"])})
    assert answer(condition("metadata.a", "exists", True), batch, backend) == [True, False, True]
    assert answer(condition("metadata.a", "eq", "x"), batch, backend) == [False] * 3
    assert answer(condition("metadata.a", "ne", "x"), batch, backend) == [True, False, True]
    assert answer(condition("metadata.a", "in", [1]), batch, backend) == [False] * 3
    assert answer({"metadata": {"a": '{"b": 1}'}}, batch, backend) == [True, False, False]
    assert answer({"metadata": {"a": '{"b": null}'}}, batch, backend) == [False, False, True]
    assert answer({"metadata": {"a": {"$contains": {"b": None}}}}, batch, backend) == [False, False, True]
    assert answer({"metadata": {"a": {"$contains": {}}}}, batch, backend) == [True, False, True]


def test_null_and_missing(backend: str) -> None:
    """A legacy map's null matches NULL and not MISSING."""
    inner = pa.struct([("x", pa.int64())])
    struct = pa.array(
        [{"k": 1, "s": {"x": 1}}, {"k": None, "s": None}, None], pa.struct([("k", pa.int64()), ("s", inner)])
    )
    batch = pa.record_batch({"metadata": struct})
    assert answer({"k": None}, batch, backend) == [False, True, True]
    assert answer({"nope": None}, batch, backend) == [False] * 3
    assert answer({"metadata": {"nope": None}}, batch, backend) == [True] * 3
    mapped = pa.array([[("k", 1)], [("k", None)], [], None], pa.map_(pa.string(), pa.int64()))
    assert answer({"k": None}, pa.record_batch({"metadata": mapped}), backend) == [False, True, False, False]
    texts = pa.array(['{"k":1}', '{"k":null}', "{}", "null", None, "[]"])
    assert answer({"k": None}, pa.record_batch({"metadata": texts}), backend) == [False, True] + [False] * 4
    flat = pa.record_batch({"metadata.k": pa.array([1, None])})
    assert answer({"k": None}, flat, backend) == [False, True]
    nothing = pa.record_batch({"metadata.k": pa.nulls(2)})
    assert answer({"k": None}, nothing, backend) == [True, True]
    assert answer(condition("metadata.k", "ne", 1), nothing, backend) == [False, False]
    assert (
        answer(condition("metadata.k", "exists", True), pa.record_batch({"metadata": pa.nulls(2)}), backend)
        == [False] * 2
    )


def test_maps(backend: str) -> None:
    twice = pa.map_(pa.string(), pa.string())
    column = pa.array([[("k", "first"), ("k", "last")], [("k", "first"), ("k", None)], [("j", "last")], None], twice)
    for keys in (pa.string(), pa.large_string(), pa.string_view()):
        batch = pa.record_batch({"metadata": column.cast(pa.map_(keys, pa.string()))})
        assert answer(condition("metadata.k", "eq", "last"), batch, backend) == [True, False, False, False]
        assert answer(condition("metadata.k", "exists", False), batch, backend) == [False, True, True, True]
        assert answer({"k": None}, batch, backend) == [False, True, False, False]
    numbered = pa.record_batch({"metadata": pa.array([[(1, "a")]], pa.map_(pa.int32(), pa.string()))})
    assert answer(condition("metadata.k", "eq", "a"), numbered, backend)[0] == "BindError"


def test_uuids(backend: str) -> None:
    one, two = uuid.UUID(int=2**127 + 255), uuid.UUID(int=10)
    batch = pa.record_batch({"id": pa.array([one.bytes, None, two.bytes], pa.uuid())})
    assert answer(condition("id", "eq", str(one)), batch, backend) == [True, False, False]
    assert answer(condition("id", "eq", str(one).upper()), batch, backend) == [False] * 3
    assert answer(condition("id", "icontains", str(one)[:8].upper()), batch, backend) == [True, False, False]
    assert answer(condition("id", "contains", "-0000-"), batch, backend) == [True, False, True]


@pytest.mark.parametrize(
    ("array", "texts"),
    [
        (pa.array([0.1, 1e20, -0.0, 16777216.0], pa.float32()), ["0.1", "1" + "0" * 20, "0", "16777216"]),
        (pa.array([3e-7, 1e-45], pa.float32()), ["0.0000003", "0." + "0" * 44 + "1"]),
        (pa.array([0.1, 65504.0, 1.5, -0.0], pa.float16()), ["0.1", "65500", "1.5", "0"]),
        (pa.array([0.1, 1e23, 5e-324, 1.0], pa.float64()), ["0.1", "1" + "0" * 23, "0." + "0" * 323 + "5", "1"]),
        (pa.array([float("nan"), float("inf"), float("-inf")]), ["NaN", "Infinity", "-Infinity"]),
        (pa.array([2**64 - 1, 0], pa.uint64()), ["18446744073709551615", "0"]),
        (pa.array([-(2**63), -1], pa.int64()), ["-9223372036854775808", "-1"]),
        (pa.array([True, False]), ["true", "false"]),
    ],
    ids=str,
)  # fmt: skip
def test_texts_of_typed_values(backend: str, array: pa.Array, texts: list[str]) -> None:
    batch = pa.record_batch({"metadata.v": array})
    for row, text in enumerate(texts):
        assert answer({"metadata": {"v": text}}, batch, backend) == [row == other for other in range(len(texts))]


def test_numbers_as_texts(backend: str) -> None:
    """Anansi compares texts as doubles, so float32 0.1 is 0.1 there; FishMem compares values, so it is not."""
    batch = pa.record_batch({"metadata.v": pa.array([0.1, 0.5], pa.float32())})
    assert answer({"metadata": {"v": 0.1}}, batch, backend) == [True, False]
    assert answer({"metadata": {"v": {"$lte": 0.1}}}, batch, backend) == [True, False]
    assert answer(condition("metadata.v", "eq", 0.1), batch, backend) == [False, False]
    assert answer(condition("metadata.v", "gt", 0.1), batch, backend) == [True, True]
    texts = pa.array(["05", " 5", "5 ", "+5", "5.", ".5", "5e0", "5.0", "-5", "５", "5\n", "", "5" * 400, "NaN"])
    batch = pa.record_batch({"metadata.v": texts})
    assert answer({"metadata": {"v": 5}}, batch, backend) == [text in ("05", "5.0") for text in texts.to_pylist()]
    assert answer({"metadata": {"v": {"$gt": -1e300}}}, batch, backend) == [
        text in ("05", "5.0", "-5") for text in texts.to_pylist()
    ]


def test_where_fields_are_found(backend: str) -> None:
    batch = pa.record_batch({"type": pa.array(["fact", "todo"]), "extra": pa.array(['{"a":1}', "{}"])})
    flt = fastfilter.compile(
        {"and": [condition("memory_type", "eq", "fact"), condition("metadata.a", "eq", 1)]},
        fields={"memory_type": "type"}, metadata="extra", scope=None,
    )  # fmt: skip
    assert running.outcome(flt, batch, backend) == [True, False]
    assert flt.columns(batch.schema) == ["type", "extra"]
    assert running.outcome(pickle.loads(pickle.dumps(flt)), batch, backend) == [True, False]
    outcome = answer(condition("memory_type", "eq", "fact"), batch, backend)
    assert outcome[:3] == ("BindError", "memory_type", "memory_type")
    assert answer({"not": condition("memory_type", "eq", "fact")}, batch, backend, missing_fields="null") == [
        True,
        True,
    ]


def test_two_columns_for_one_field(backend: str) -> None:
    struct = pa.array([{"b": 1}])
    for columns in (
        {"metadata.a": struct, "metadata.a.b": pa.array([1])},
        {"metadata": pa.array([{"a": {"b": 1}}]), "metadata.a": struct},
        {"metadata": pa.array(["{}"]), "metadata.a.b": pa.array([1])},
    ):
        outcome = answer(condition("metadata.a.b", "eq", 1), pa.record_batch(columns), backend)
        assert outcome[:2] == ("BindError", "metadata.a.b")
    twice = pa.RecordBatch.from_arrays([pa.array(["a"]), pa.array(["b"])], ["id", "id"])
    assert answer(condition("id", "eq", "a"), twice, backend)[0] == "BindError"
    assert answer(condition("metadata.x", "exists", False), twice, backend) == [True]


def test_metadata_that_are_none(backend: str) -> None:
    for column in (pa.array([1]), pa.array([["a"]]), pa.array([True]), pa.array([b"{}"])):
        outcome = answer(condition("metadata.a", "eq", 1), pa.record_batch({"metadata": column}), backend)
        assert outcome[:3] == ("BindError", "metadata.a", "metadata")


@pytest.mark.parametrize("type", [pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.date32(), pa.date64()], ids=str)
def test_typed_timestamps_in_the_metadata(backend: str, type: pa.DataType) -> None:
    days = pa.array([20_454, None, 20_455], pa.int32()).view(pa.date32()).cast(type)
    batch = pa.record_batch(
        {"metadata.t": days, "metadata.l": pa.array([[days[0]], None, [days[2], None]], pa.list_(type))}
    )
    first, second = "2026-01-01T00:00:00Z", "2026-01-02T01:00:00+01:00"
    assert answer(condition("metadata.t", "eq", second), batch, backend) == [False, False, True]
    assert answer(condition("metadata.t", "gt", first), batch, backend) == [False, False, True]
    assert answer(condition("metadata.t", "nin", [first, None]), batch, backend) == [False, False, True]
    assert answer(condition("metadata.t", "contains", first), batch, backend) == [False] * 3
    assert answer(condition("metadata.l", "contains", second), batch, backend) == [False, False, True]
    assert answer(condition("metadata.l", "in", [None, first]), batch, backend) == [True, False, True]
    assert answer({"metadata": {"t": first}}, batch, backend) == [True, False, False]
    assert answer({"metadata": {"l": {"$contains": second}}}, batch, backend) == [False, False, True]
    assert answer({"t": first}, batch, backend) == [True, False, False]
    for value in ("soon", 5, True, "2026-01-01"):
        outcome = answer(condition("metadata.t", "eq", value), batch, backend)
        assert outcome[:3] == ("BindError", "metadata.t", "metadata.t")
        assert answer({"metadata": {"t": value}}, batch, backend)[0] == "BindError"
    assert answer(condition("metadata.t", "gt", 5), batch, backend)[0] == "BindError"


def test_columns_of_another_kind(backend: str) -> None:
    """A built-in field is judged by the kind of its values."""
    batch = pa.record_batch(
        {"importance": pa.array(["5", None]), "created_at": pa.array([5, None]), "content": pa.array([5, None])}
    )
    assert answer(condition("importance", "eq", 5), batch, backend) == [False, False]
    assert answer(condition("importance", "ne", 5), batch, backend) == [True, False]
    assert answer(condition("created_at", "gt", "1960-01-01T00:00:00Z"), batch, backend) == [False, False]
    assert answer(condition("content", "contains", "5"), batch, backend) == [False, False]


def test_scope_cannot_be_widened(backend: str) -> None:
    batch = pa.record_batch(
        {"user_id": pa.array(["ada", "bob", "ada", None]), "content": pa.array(["x", "x", "y", "x"])}
    )
    anything = {"or": [condition("content", "eq", "x"), condition("content", "exists", True)]}
    flt = fastfilter.compile(anything, scope={"user_id": "ada"})
    assert running.outcome(flt, batch, backend) == [True, False, True, False]
    body = {"query": "q", "user_id": "bob", "top_k": 5, "filters": anything}
    flt = fastfilter.compile(body)
    assert running.outcome(flt, batch, backend) == [False, True, False, False]
    assert flt.rest == {"query": "q", "top_k": 5}
    assert running.outcome(fastfilter.compile(None, scope={"user_id": "ada"}), batch, backend) == [
        True,
        False,
        True,
        False,
    ]


def test_numpy_and_pandas_records() -> None:
    flt = fastfilter.compile(condition("importance", "gte", 0.5))
    for value in (0.5, np.float64(0.5), np.float32(0.5), np.float16(0.5), np.int8(1), 1, np.uint64(2**64 - 1)):
        assert flt.matches({"importance": value}) is True
    for nothing in (float("nan"), np.float32("nan"), None, "0.7", True, np.bool_(True), float("inf")):
        assert flt.matches({"importance": nothing}) is False
