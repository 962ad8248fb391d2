"""Cases at the edges of types and inputs, each the smallest of a kind that once gave a wrong answer or a bad error."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fastfilter
from fastfilter.bytecode.program import FieldUse
from fastfilter.bytecode.verifier import verify

BACKENDS = ("native", "python")


def condition(operator: str, value: Any, field: str = "metadata.a") -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


def answers(filter: Any, data: Any) -> list[bool]:
    flt = fastfilter.compile(filter)
    by_backend = [flt._evaluate(data, backend) for backend in BACKENDS]
    assert by_backend[0] == by_backend[1]
    return by_backend[0]


@pytest.mark.parametrize("literal", [2**64, 2**70, -(2**65), 1e20])
def test_a_whole_literal_beyond_64_bits_is_itself_against_decimals(literal: int | float) -> None:
    values = [Decimal(int(literal)), Decimal(int(literal) + 1), Decimal(repr(float(literal))) + 2]
    data = {"metadata.a": pa.array(values, pa.decimal128(38, 0))}
    assert answers(condition("eq", literal), data) == [True, False, False]
    assert answers(condition("gte", literal), data)[0]
    assert not answers(condition("ne", literal), data)[0]


def test_a_literal_that_is_no_whole_number_is_its_spelling_against_decimals() -> None:
    data = {"metadata.a": pa.array([Decimal("44.4"), Decimal("44.5")], pa.decimal128(18, 1))}
    assert answers(condition("eq", 44.4), data) == [True, False]


@pytest.mark.parametrize("below", [1, 2, 512, 1024])
def test_integers_just_below_int64_are_the_double_they_round_to(below: int) -> None:
    flt = fastfilter.compile(condition("eq", -(2**63) - below))
    verify(flt.program)
    assert pickle.loads(pickle.dumps(flt)).program == flt.program
    data = {"metadata.a": pa.array([Decimal(-(2**63))], pa.decimal128(38, 0))}
    both = [-(2**63), -(2**63) - below]
    assert answers(condition("in", both), data) == answers(condition("in", both[::-1]), data) == [True]


@pytest.mark.parametrize("number", [10**30, 2**64, 2**64 + 1, -(2**63) - 1, -(10**25)])
def test_integers_beyond_64_bits_are_the_same_in_records_and_in_text(number: int) -> None:
    for operator in ("eq", "ne", "gte", "lte"):
        flt = fastfilter.compile(condition(operator, number))
        assert flt.mask({"metadata": [f'{{"a":{number}}}']}).to_pylist() == [flt.matches({"metadata": {"a": number}})]
    text = fastfilter.compile({"metadata": {"a": str(number)}})
    assert text.matches({"metadata": {"a": number}})
    huge = fastfilter.compile(condition("exists", True))
    assert huge.matches({"metadata": {"a": 10**5000}})


def test_strings_that_are_not_utf8_lose_no_row_when_lists_are_read_as_json() -> None:
    strings = pa.array([b"\xff", b"x", b"x", b"\xed\xa0\x80", b"x"], pa.binary()).view(pa.string())
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 3, 5], pa.int32()), strings)
    data = pa.record_batch({"metadata.a": lists})
    assert answers({"metadata": {"a": {"$contains": "x"}}}, data) == [True, True, True]
    assert answers({"metadata": {"a": {"$contains": ["x"]}}}, data) == [True, True, True]
    assert answers({"metadata": {"a": '["x"]'}}, data) == [False, True, False]


def test_dicts_in_a_column_are_read_like_records() -> None:
    rows = [{"a": 1}, {"b": 2}, {"b": None}, None]
    flt = fastfilter.compile({"b": None})
    expected = [flt.matches({"metadata": row}) for row in rows]
    assert flt.mask({"metadata": rows}).to_pylist() == expected == [False, False, True, False]
    texts = fastfilter.compile({"metadata": {"o": '{"x": 1}'}})
    assert texts.mask({"metadata": [{"o": {"x": 1}}, {"o": {"y": 2}}]}).to_pylist() == [True, False]
    assert flt.filter({"metadata": rows}) == {"metadata": [{"b": None}]}
    with pytest.raises(ValueError, match="column 'metadata' holds dicts that are no JSON"):
        flt.mask({"metadata": [{"b": object()}]})
    for odd in ({1: "a"}, {"o": {True: 1}}, {"o": [{"p": {2: 3}}]}):
        with pytest.raises(ValueError, match="is no text"):
            flt.mask({"metadata": [odd, None]})


def test_a_column_that_arrow_cannot_hold_is_named() -> None:
    flt = fastfilter.compile(condition("eq", "a", "id"))
    with pytest.raises(ValueError, match="column 'x' cannot be read"):
        flt.mask({"id": ["a", "b"], "x": [1, "y"]})
    with pytest.raises(pa.ArrowInvalid, match="column x"):
        flt.mask(pd.DataFrame({"id": ["a", "b"], "x": [1, "y"]}))


@pytest.mark.parametrize(
    "filter", [condition("gt", "x"), {"metadata": {"a": {"$contains": 5}}}, {"metadata": {"a": {"$contains": [1]}}}]
)
def test_a_program_that_hides_a_literal_does_not_bind_to_timestamps(filter: Any) -> None:
    program = fastfilter.compile(filter).program
    hiding = type(program)(
        program.instructions, program.constants, (FieldUse(program.fields[0].field, None),), program.num_registers
    )
    flt = fastfilter.Filter.from_program(type(program).from_bytes(hiding.to_bytes()))
    with pytest.raises(fastfilter.BindError, match="ISO 8601"):
        flt.mask({"metadata.a": pa.array([1, None, 3], pa.timestamp("s"))})


def test_types_nested_without_end_are_refused_when_bound() -> None:
    lists = pa.int64()
    for _ in range(150):
        lists = pa.list_(lists)
    structs = pa.int64()
    for _ in range(200):
        structs = pa.struct([("s", structs)])
    flt = fastfilter.compile({"metadata": {"a": {"$contains": []}}})
    for type in (lists, structs):
        with pytest.raises(fastfilter.BindError, match="no condition can read"):
            flt.mask(pa.record_batch({"metadata.a": pa.array([None], type)}))


def test_objects_that_no_json_can_be_made_of_are_refused_when_bound() -> None:
    flt = fastfilter.compile({"metadata": {"a": {"$contains": {}}}})
    for names in (["x", "x"], ["a\0b"]):
        object = pa.StructArray.from_arrays([pa.array([1])] * len(names), names)
        with pytest.raises(fastfilter.BindError, match="no condition can read"):
            flt.mask(pa.record_batch({"metadata.a": object}))


def test_arguments_of_the_wrong_kind_are_named() -> None:
    flt = fastfilter.compile(condition("eq", "a", "id"))
    assert flt.count({"id": ["a"]}, threads=np.int64(2)) == 1  # type: ignore[arg-type]
    for threads in (0, -1, 1.5, "2"):
        with pytest.raises(ValueError, match="threads must be"):
            flt.count({"id": ["a"]}, threads=threads)  # type: ignore[arg-type]
    for fields in (5, ["x"]):
        with pytest.raises(ValueError, match="fields must be"):
            fastfilter.compile({}, fields=fields)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"schema must be a pyarrow\.Schema"):
        flt.explain(5)


def test_a_filter_is_immutable_and_equal_to_its_copies() -> None:
    flt = fastfilter.compile(condition("eq", 1))
    for name in ("program", "dialect", "rest"):
        with pytest.raises(AttributeError):
            setattr(flt, name, None)
    copy = pickle.loads(pickle.dumps(flt))
    assert copy == flt
    assert hash(copy) == hash(flt)
    assert flt != fastfilter.compile(condition("eq", 2))
    assert flt != fastfilter.compile(condition("eq", 1), metadata="meta")
    assert flt != "a"


def test_what_looks_like_something_else_is_told_so() -> None:
    with pytest.raises(TypeError, match="looks like one record, which matches"):
        fastfilter.compile({"a": "b"}).mask({"metadata": {"a": "b"}})
    with pytest.raises(TypeError, match=r"Program\.from_bytes"):
        fastfilter.Filter.from_program(b"program")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="is bytes, not str"):
        fastfilter.Program.from_bytes("program")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"schema must be a pyarrow\.Schema"):
        fastfilter.compile({}).columns(["a"])  # type: ignore[arg-type]
    with pytest.raises(fastfilter.FilterError, match="did you mean \"field\" by 'feild'") as caught:
        fastfilter.compile({"feild": "importance", "operator": "gte", "value": 1})
    assert caught.value.code == "ambiguous_dialect"
    assert fastfilter.compile({"operator": "eq", "value": 2}, "fishmem").matches(
        {"metadata": {"operator": "eq", "value": 2}}
    )


@pytest.mark.parametrize("texts", [["abc\u212a"], ["abc\u212a", ""], ["z" * 100, "abc\u212a"]])
def test_a_letter_whose_lower_case_is_ascii_counts_at_the_very_end_of_a_columns_bytes(texts: list[str]) -> None:
    expected = [text.startswith("abc") for text in texts]
    assert answers(condition("icontains", "abck", "content"), {"content": texts}) == expected
    assert (
        answers(condition("icontains", "abck", "content"), {"content": pa.array(texts, pa.large_string())}) == expected
    )


def test_a_number_has_one_text_in_a_record_in_a_column_of_dicts_and_in_a_typed_column() -> None:
    for number in (5.0, -0.0, 0.0, 2.5, -3.0, 1e15, 9007199254740992.0, 1e16, 1e22, 5e-324, 7):
        typed = pa.record_batch({"metadata": pa.array([{"n": number}])})
        text = str(int(number)) if float(number).is_integer() else None
        for wanted in {text or "0", "5.0", "-0", "5", "1" + "0" * 16, "9007199254740992.0"}:
            flt = fastfilter.compile({"metadata": {"n": wanted}}, dialect="anansi")
            answer = flt.mask(typed).to_pylist()
            assert [flt.matches({"metadata": {"n": number}})] == answer, (number, wanted)
            assert flt.mask({"metadata": [{"n": number}]}).to_pylist() == answer, (number, wanted)
            assert answer == [wanted == text], (number, wanted)
