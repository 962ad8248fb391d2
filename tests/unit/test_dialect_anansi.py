"""The Anansi dialect: which expression each filter becomes, and what is refused where."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from fastfilter.bytecode.constants import Intervals, Json, Strings
from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler.dialects import parse
from fastfilter.compiler.expr import (
    TRUE,
    And,
    Exists,
    Expression,
    JsonContains,
    Not,
    Or,
    TextEqualsAny,
    TextNumberRange,
)
from fastfilter.errors import FilterError
from fastfilter.values import Interval

DATA = Path(__file__).parent.parent / "data"
A = Field(Role.METADATA, ("a",))


def expression(filter: Any, **arguments: Any) -> Expression:
    return parse(filter, "anansi", **arguments).expression


def fault(filter: Any, **arguments: Any) -> tuple[str, str]:
    with pytest.raises(FilterError) as caught:
        parse(filter, "anansi", **arguments)
    return caught.value.code, caught.value.pointer


def nested(levels: int) -> dict[str, Any]:
    filter: dict[str, Any] = {"metadata": {"a": 1}}
    for level in range(levels):
        filter = {"$and" if level % 2 else "$or": [filter]}
    return filter


def test_conformance() -> None:
    """Every filter of the reference's data is accepted or refused as the reference does; given as JSON text."""
    num_cases = 0
    with gzip.open(DATA / "anansi.jsonl.gz", "rt") as lines:
        for line in lines:
            case = json.loads(line)
            text = json.dumps(case["filter"])
            try:
                parse(text, "anansi")
                valid = True
            except FilterError:
                valid = False
            assert valid == case.get("valid", True), case["id"]
            if valid and case["filter"]:
                assert parse(text).dialect == "anansi", case["id"]
            num_cases += 1
    assert num_cases == 3400


def number(lower: float | None, lower_closed: bool, upper: float | None, upper_closed: bool) -> Expression:
    return TextNumberRange(A, Intervals((Interval(lower, lower_closed, upper, upper_closed),)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x", TextEqualsAny(A, Strings(("x",)))),
        (True, TextEqualsAny(A, Strings(("true",)))),
        (False, TextEqualsAny(A, Strings(("false",)))),
        (None, Not(Exists(A))),
        (5.0, number(5, True, 5, True)),
        (-0.0, number(0, True, 0, True)),
        (0.1, number(0.1, True, 0.1, True)),
        (2**53 + 1, number(2**53, True, 2**53, True)),
        (2**64, number(2.0**64, True, 2.0**64, True)),
        ({"$gt": 1}, number(1, False, None, False)),
        ({"$gte": 1}, number(1, True, None, False)),
        ({"$lt": 1.5}, number(None, False, 1.5, False)),
        ({"$lte": 1}, number(None, False, 1, True)),
        ({"$gte": 3, "$lt": 5}, And((number(3, True, None, False), number(None, False, 5, False)))),
        ({"$contains": None}, JsonContains(A, Json("null"))),
        ({"$contains": "é\ud800\n"}, JsonContains(A, Json('"é\\ud800\\n"'))),
        ({"$contains": {}}, JsonContains(A, Json("{}"))),
        ({"$contains": []}, JsonContains(A, Json("[]"))),
        (
            {"$contains": {"a": [1, 2.5, True, False, None, 1e300], "b/": {"c": "d", "": ()}, "n": 10**30}},
            JsonContains(A, Json('{"a":[1,2.5,true,false,null,1e+300],"b/":{"c":"d","":[]},"n":1' + "0" * 30 + "}")),
        ),
    ],
)
def test_value(value: object, expected: Expression) -> None:
    assert expression({"metadata": {"a": value}}) == expected


def test_contains_is_json_that_reads_back() -> None:
    value = {"x": [{"y": ["\\", '"', "\x00\x1f", "\u2028", "😀"]}, [[[]]], -1.5e-7, 12345678901234567890123]}
    leaf = expression({"metadata": {"a": {"$contains": value}}})
    assert isinstance(leaf, JsonContains)
    assert json.loads(leaf.constant.text) == value


def test_keys_are_literal() -> None:
    assert expression({"metadata": {"": None, "a.b": None}}) == And(
        (Not(Exists(Field(Role.METADATA, ("",)))), Not(Exists(Field(Role.METADATA, ("a.b",)))))
    )


def test_logic() -> None:
    leaf = Not(Exists(A))
    one = {"metadata": {"a": None}}
    assert expression({}) == expression(None) == expression({"metadata": {}}) == TRUE
    assert expression({"$or": [one, one, {}], "metadata": {"a": None}, "$and": [one]}) == And(
        (leaf, And((leaf,)), Or((leaf, leaf, TRUE)))
    )
    assert expression({"$or": [one]}) == Or((leaf,))


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"foo": 1}, ("unknown_key", "/foo")),
        ({"$not": []}, ("unknown_key", "/$not")),
        ({"$and": [{"metadata": {}, "$Or": []}]}, ("unknown_key", "/$and/0/$Or")),
        ({"metadata": None}, ("not_an_object", "/metadata")),
        ({"metadata": []}, ("not_an_object", "/metadata")),
        ({"metadata": {"a": [1]}}, ("wrong_type", "/metadata/a")),
        ({"metadata": {"a": {}}}, ("empty_object", "/metadata/a")),
        ({"metadata": {"a/b": {"$ne": 1}}}, ("unknown_operator", "/metadata/a~1b/$ne")),
        ({"metadata": {"a": {"$gte": 1, "$foo": 2}}}, ("unknown_operator", "/metadata/a/$foo")),
        ({"metadata": {"a": {"$gte": "5"}}}, ("wrong_type", "/metadata/a/$gte")),
        ({"metadata": {"a": {"$gte": True}}}, ("wrong_type", "/metadata/a/$gte")),
        ({"metadata": {"a": {"$gte": None}}}, ("wrong_type", "/metadata/a/$gte")),
        ({"metadata": {"a": {"$gte": [1]}}}, ("wrong_type", "/metadata/a/$gte")),
        ({"metadata": {"a": {"$gte": float("inf")}}}, ("number_not_finite", "/metadata/a/$gte")),
        ({"metadata": {"a": 10**400}}, ("number_not_finite", "/metadata/a")),
        ({"metadata": {"a": {"$contains": [{"b": float("nan")}]}}}, ("number_not_finite", "/metadata/a/$contains/0/b")),
        ({"metadata": {"a": {"$contains": [10**400]}}}, ("number_not_finite", "/metadata/a/$contains/0")),
        ({"metadata": {"a": {"$contains": {5: 1}}}}, ("key_not_string", "/metadata/a/$contains")),
        ({"metadata": {"a": {"$contains": [1, {2}]}}}, ("not_json", "/metadata/a/$contains/1")),
        ({"$and": []}, ("empty_array", "/$and")),
        ({"$or": {}}, ("not_an_array", "/$or")),
        ({"$and": [[]]}, ("not_an_object", "/$and/0")),
        ({"$and": [None]}, ("not_an_object", "/$and/0")),
    ],
)
def test_refused(filter: Any, expected: tuple[str, str]) -> None:
    assert fault(filter) == expected


def test_limits_are_reached_and_no_further() -> None:
    expression(nested(5))
    assert fault(nested(6)) == ("too_deep", "/$and/0/$or/0" * 3)
    expression({"$or": [{"metadata": {"a": 1}}] * 50})
    assert fault({"$or": [{"metadata": {"a": 1}}] * 51}) == ("too_many_conditions", "/$or/50/metadata")
    assert fault({"metadata": {str(key): 1 for key in range(51)}}) == ("too_many_conditions", "/metadata")
    expression({"metadata": {"a": {"$gt": 1, "$lt": 2}}}, limits={"max_conditions": 1})


def test_a_raised_depth() -> None:
    assert expression(nested(400), limits={"max_depth": 400}) is not None
    assert fault(nested(100_000), limits={"max_depth": 10**6})[0] == "too_deep"


def test_contains_nests_as_deep_as_rows_may() -> None:
    value: Any = []
    for _ in range(1023):
        value = [value]
    assert expression({"metadata": {"a": {"$contains": value}}}) == JsonContains(A, Json("[" * 1024 + "]" * 1024))
    assert fault({"metadata": {"a": {"$contains": [value]}}})[0] == "too_deep"
    value = {}
    value["again"] = value
    assert fault({"metadata": {"a": {"$contains": value}}})[0] == "too_deep"
