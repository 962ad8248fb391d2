"""The FishMem dialect: which expression each filter becomes, and what is refused where."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from fastfilter.bytecode.constants import Intervals, Text
from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler.dialects import check_built_in_field, parse
from fastfilter.compiler.dialects.fishmem import FishmemLimits
from fastfilter.compiler.expr import (
    FALSE,
    TRUE,
    And,
    Contains,
    ContainsIgnoreCase,
    EqualsAny,
    Exists,
    Expression,
    IsNull,
    Not,
    NumberRange,
    Or,
    StringRange,
    TimestampRange,
)
from fastfilter.errors import FilterError
from fastfilter.values import Elements, Interval, ScalarSet, StringBound

DATA = Path(__file__).parent.parent / "data"
IMPORTANCE = Field(Role.COLUMN, ("importance",))
CREATED_AT = Field(Role.COLUMN, ("created_at",))
CONTENT = Field(Role.COLUMN, ("content",))
SCORE = Field(Role.METADATA, ("score",))


def expression(filter: Any, **arguments: Any) -> Expression:
    return parse(filter, "fishmem", **arguments).expression


def condition(field: str, operator: str, value: object) -> dict[str, object]:
    return {"field": field, "operator": operator, "value": value}


def fault(filter: Any, dialect: str = "fishmem", **arguments: Any) -> tuple[str, str]:
    with pytest.raises(FilterError) as caught:
        parse(filter, dialect, **arguments)
    return caught.value.code, caught.value.pointer


def nested(levels: int, key: str = "not") -> dict[str, Any]:
    filter: dict[str, Any] = condition("importance", "eq", 1)
    for _ in range(levels):
        filter = {key: filter} if key == "not" else {key: [filter]}
    return filter


def test_conformance() -> None:
    """Every filter of the reference's data is accepted or refused as the reference does; given as JSON text."""
    num_cases = 0
    with gzip.open(DATA / "fishmem.jsonl.gz", "rt") as lines:
        for line in lines:
            case = json.loads(line)
            text = json.dumps(case["filter"])
            try:
                parse(text, "fishmem")
                valid = True
            except FilterError:
                valid = False
            assert valid == case.get("valid", True), case["id"]
            if valid:
                assert parse(text).dialect == "fishmem", case["id"]
            num_cases += 1
    assert num_cases == 3800


@pytest.mark.parametrize(
    ("field", "operator", "value", "expected"),
    [
        ("importance", "eq", 1.0, EqualsAny(IMPORTANCE, ScalarSet(numbers=(1,)), Elements.NEVER)),
        ("importance", "eq", -0.0, EqualsAny(IMPORTANCE, ScalarSet(numbers=(0,)), Elements.NEVER)),
        ("importance", "gt", 0.5, NumberRange(IMPORTANCE, Intervals((Interval(0.5, False, None, False),)))),
        ("importance", "gte", 0.5, NumberRange(IMPORTANCE, Intervals((Interval(0.5, True, None, False),)))),
        ("importance", "lt", 0.5, NumberRange(IMPORTANCE, Intervals((Interval(None, False, 0.5, False),)))),
        ("importance", "lte", 0.5, NumberRange(IMPORTANCE, Intervals((Interval(None, False, 0.5, True),)))),
        ("metadata.score", "gt", 2, NumberRange(SCORE, Intervals((Interval(2, False, None, False),)))),
        ("metadata.score", "gt", "b", StringRange(SCORE, StringBound("gt", "b"))),
        ("metadata.score", "gt", True, And((EqualsAny(SCORE, ScalarSet(true=True), Elements.NEVER), FALSE))),
        ("metadata.score", "lte", None, And((EqualsAny(SCORE, ScalarSet(null=True), Elements.NEVER), FALSE))),
        ("metadata.score", "eq", None, EqualsAny(SCORE, ScalarSet(null=True), Elements.NEVER)),
        ("metadata.score", "eq", False, EqualsAny(SCORE, ScalarSet(false=True), Elements.NEVER)),
        (
            "metadata.score",
            "ne",
            "x",
            And((Exists(SCORE), Not(EqualsAny(SCORE, ScalarSet(strings=("x",)), Elements.NEVER)))),
        ),
        (
            "metadata.score",
            "in",
            ["b", 2.0, None, True, "a", 2, 1, False, "b"],
            EqualsAny(SCORE, ScalarSet(True, True, True, (1, 2), ("a", "b")), Elements.ALSO),
        ),
        (
            "metadata.score",
            "nin",
            (1, 0.5),
            And((Exists(SCORE), Not(EqualsAny(SCORE, ScalarSet(numbers=(0.5, 1)), Elements.ALSO)))),
        ),
        ("content", "contains", "", Contains(CONTENT, Text(""))),
        ("content", "icontains", "ÄB", ContainsIgnoreCase(CONTENT, Text("ÄB"))),
        ("content", "eq", 5, EqualsAny(CONTENT, ScalarSet(numbers=(5,)), Elements.NEVER)),
        ("content", "exists", True, Exists(CONTENT)),
        ("created_at", "exists", False, Not(Exists(CREATED_AT))),
        (
            "created_at",
            "eq",
            "1970-01-01T00:00:01Z",
            EqualsAny(CREATED_AT, ScalarSet(instants=(1_000_000_000,)), Elements.NEVER),
        ),
        (
            "created_at",
            "in",
            ["1970-01-01T00:00:01Z", "1970-01-01T01:00:00+01:00", "1970-01-01T00:00:00Z"],
            EqualsAny(CREATED_AT, ScalarSet(instants=(0, 1_000_000_000)), Elements.ALSO),
        ),
        (
            "created_at",
            "lt",
            "1969-12-31T24:00:00Z",
            TimestampRange(CREATED_AT, Intervals((Interval(None, False, 0, False),))),
        ),
        (
            "metadata.a.b-c.0",
            "exists",
            True,
            Exists(Field(Role.METADATA, ("a", "b-c", "0"))),
        ),
        (
            "metadata.user_id",
            "eq",
            "2026-07-01T00:00:00Z",
            EqualsAny(Field(Role.METADATA, ("user_id",)), ScalarSet(strings=("2026-07-01T00:00:00Z",)), Elements.NEVER),
        ),
    ],
)
def test_condition(field: str, operator: str, value: object, expected: Expression) -> None:
    assert expression(condition(field, operator, value)) == expected


def test_logic() -> None:
    leaf = Exists(CONTENT)
    exists = condition("content", "exists", True)
    assert expression({"and": [exists, {"or": [exists, {"not": exists}]}]}) == And((leaf, Or((leaf, Not(leaf)))))


def test_legacy_map() -> None:
    assert expression({}) == TRUE
    assert expression(None) == TRUE
    assert expression({"a.b": None}) == IsNull(Field(Role.METADATA, ("a.b",)))
    assert expression({" k\ufeff": 2.0, "user_id": True, "l": "x"}) == And(
        (
            EqualsAny(Field(Role.METADATA, ("k",)), ScalarSet(numbers=(2,)), Elements.NEVER),
            EqualsAny(Field(Role.METADATA, ("user_id",)), ScalarSet(true=True), Elements.NEVER),
            EqualsAny(Field(Role.METADATA, ("l",)), ScalarSet(strings=("x",)), Elements.NEVER),
        )
    )
    # JavaScript's trim leaves U+0085 and U+001C, which str.strip would take.
    assert expression({"\x85": 1}) == EqualsAny(
        Field(Role.METADATA, ("\x85",)), ScalarSet(numbers=(1,)), Elements.NEVER
    )


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        (condition("importence", "eq", 1), ("unknown_field", "/field")),
        (condition("METADATA.a", "eq", 1), ("unknown_field", "/field")),
        (condition("run_id", "eq", "x"), ("scope_field", "/field")),
        (condition("metadata", "eq", 1), ("invalid_path", "/field")),
        (condition("metadata.a b", "eq", 1), ("invalid_path", "/field")),
        (condition("metadata.a\n", "eq", 1), ("invalid_path", "/field")),
        (condition("metadata.a.prototype.b", "eq", 1), ("forbidden_segment", "/field")),
        (condition("metadata." + "a" * 257, "eq", 1), ("path_too_long", "/field")),
        (condition(5, "eq", 1), ("wrong_type", "/field")),  # type: ignore[arg-type]
        (condition("importance", "ge", 1), ("unknown_operator", "/operator")),
        (condition("importance", None, 1), ("wrong_type", "/operator")),  # type: ignore[arg-type]
        (condition("importance", "contains", "1"), ("operator_not_allowed", "/operator")),
        (condition("content", "gt", "1"), ("operator_not_allowed", "/operator")),
        (condition("importance", "eq", None), ("wrong_type", "/value")),
        (condition("importance", "in", [1, "2"]), ("wrong_type", "/value/1")),
        (condition("importance", "gt", float("nan")), ("number_not_finite", "/value")),
        (condition("importance", "gt", 10**400), ("number_not_finite", "/value")),
        (condition("created_at", "gt", 5), ("wrong_type", "/value")),
        (condition("created_at", "eq", None), ("wrong_type", "/value")),
        (condition("created_at", "gt", "2026-02-30T00:00:00Z"), ("invalid_timestamp", "/value")),
        (condition("created_at", "gt", "2020-02-28T24:00:01Z"), ("invalid_timestamp", "/value")),
        (condition("created_at", "gt", "2016-12-31T23:59:60Z"), ("invalid_timestamp", "/value")),
        (condition("memory_type", "contains", "fac"), ("value_not_allowed", "/value")),
        (condition("memory_type", "in", ["fact", None]), ("value_not_allowed", "/value/1")),
        (condition("metadata.a", "eq", [1]), ("wrong_type", "/value")),
        (condition("metadata.a", "contains", 1), ("wrong_type", "/value")),
        (condition("metadata.a", "exists", "yes"), ("wrong_type", "/value")),
        (condition("metadata.a", "exists", 1), ("wrong_type", "/value")),
        (condition("metadata.a", "in", "x"), ("not_an_array", "/value")),
        (condition("metadata.a", "in", []), ("empty_array", "/value")),
        (condition("metadata.a", "in", list(range(101))), ("too_many_values", "/value")),
        (condition("metadata.a", "in", [1, {}]), ("wrong_type", "/value/1")),
        (condition("metadata.a", "eq", "x" * 1025), ("string_too_long", "/value")),
        (condition("metadata.a", "eq", {1}), ("not_json", "/value")),
        ({"field": "importance", "operator": "eq"}, ("missing_key", "")),
        ({"field": "importance", "operater": "eq", "value": 1}, ("unknown_key", "/operater")),
        ({**condition("importance", "eq", 1), "x": 1}, ("unknown_key", "/x")),
        ({"and": []}, ("empty_array", "/and")),
        ({"and": {}}, ("not_an_array", "/and")),
        ({"and": [5]}, ("not_an_object", "/and/0")),
        ({"and": [{}]}, ("missing_key", "/and/0")),
        ({"and": [{"a": 1}]}, ("unknown_key", "/and/0/a")),
        ({"and": [{"ANd": []}]}, ("unknown_key", "/and/0/ANd")),
        ({"and": [{"operator": "eq", "value": 1}]}, ("missing_key", "/and/0")),
        ({"not": []}, ("not_an_object", "/not")),
        ({"not": None}, ("not_an_object", "/not")),
        ({"and": [nested(0)], "or": [nested(0)]}, ("mixed_shapes", "")),
        ({"and": [nested(0)], "channel": "x"}, ("mixed_shapes", "/channel")),
        ({"and": [nested(0)], "value": "x"}, ("mixed_shapes", "/value")),
        ({"or": [nested(0)] * 21}, ("too_many_children", "/or")),
        ({"a": [1]}, ("wrong_type", "/a")),
        ({"a/b": {"c~": 1}}, ("wrong_type", "/a~1b")),
        ({"a": "x" * 1025}, ("string_too_long", "/a")),
        ({"a": float("-inf")}, ("number_not_finite", "/a")),
        ({" \u2003": 1}, ("empty_key", "/ \u2003")),
        ({"k" * 129: 1}, ("key_too_long", "/" + "k" * 129)),
        ({str(number): 1 for number in range(21)}, ("too_many_keys", "")),
    ],
)
def test_refused(filter: Any, expected: tuple[str, str]) -> None:
    assert fault(filter) == expected


def test_limits_are_reached_and_no_further() -> None:
    assert fault(nested(8)) == ("too_deep", "/not" * 8)
    expression(nested(7))
    # Code points, not UTF-16 units or bytes.
    expression(condition("metadata.a", "eq", "😀" * 1024))
    expression(condition("metadata." + "a" * 256, "eq", 1))
    expression({"k" * 128 + "  ": 1})
    expression({str(number): 1 for number in range(20)})
    expression(condition("metadata.a", "in", list(range(100))))
    twenty = {"or": [condition("metadata.v", "eq", f"value{number}") for number in range(20)]}
    expression({"or": [twenty] * 5})
    with pytest.raises(FilterError, match="100") as caught:
        expression({"or": [twenty] * 5 + [nested(0)]})
    assert (caught.value.code, caught.value.pointer) == ("too_many_conditions", "/or/5")


@pytest.mark.parametrize("key", ["not", "and", "or"])
def test_a_raised_depth(key: str) -> None:
    assert expression(nested(400, key), limits={"max_depth": 401}) is not None
    assert fault(nested(400, key), limits={"max_depth": 400}) == (
        "too_deep",
        ("/" + key + ("" if key == "not" else "/0")) * 400,
    )
    assert fault(nested(100_000, key), limits={"max_depth": 10**6})[0] == "too_deep"


def test_own_limits() -> None:
    with pytest.raises(FilterError, match="at most 3"):
        expression({"a": "abcd"}, limits={"max_string_length": 3})
    with pytest.raises(FilterError, match="at most 3"):
        expression({"a": "abcd"}, limits=FishmemLimits(max_string_length=3))


SEARCH = {"query": "open ticket", "user_id": "ada", "limit": 5, "filters": condition("content", "exists", True)}


def scoped(name: str, value: str) -> Expression:
    return EqualsAny(Field(Role.COLUMN, (name,)), ScalarSet(strings=(value,)), Elements.NEVER)


def test_search_body() -> None:
    request = parse(SEARCH, "fishmem")
    assert request.expression == And((scoped("user_id", "ada"), Exists(CONTENT)))
    assert request.dialect == "fishmem-search"
    assert request.rest == {"query": "open ticket", "limit": 5}
    assert request.scope == {"user_id": "ada"}
    assert parse(SEARCH) == request
    assert parse(json.dumps(SEARCH)) == request
    assert parse({**SEARCH, "filters": json.dumps(SEARCH["filters"])}) == request


def test_the_rest_of_a_search_body_is_untouched() -> None:
    options = {"deep": [object()], 5: None}
    rest = parse({**SEARCH, "options": options}).rest
    assert rest["options"] is options


@pytest.mark.parametrize(
    "body", [{"query": "x", "filters": None}, {"query": "x", "filters": {}}, {"query": "x", "filters": "{}"}]
)
def test_search_body_without_conditions(body: Any) -> None:
    request = parse(body)
    assert (request.expression, request.dialect, request.rest) == (TRUE, "fishmem-search", {"query": "x"})


def test_forced_search_body() -> None:
    request = parse({"run_id": "r", "agent_id": "a", "mode": "recent"}, "fishmem-search")
    assert request.expression == And((scoped("agent_id", "a"), scoped("run_id", "r"), TRUE))
    assert list(request.scope) == ["agent_id", "run_id"]
    assert request.rest == {"mode": "recent"}


def test_what_looks_like_a_body_and_is_none() -> None:
    assert expression({"filters": "x", "query": 1, "user_id": "ada"} | {"filters": True}) == And(
        (
            EqualsAny(Field(Role.METADATA, ("filters",)), ScalarSet(true=True), Elements.NEVER),
            EqualsAny(Field(Role.METADATA, ("query",)), ScalarSet(numbers=(1,)), Elements.NEVER),
            EqualsAny(Field(Role.METADATA, ("user_id",)), ScalarSet(strings=("ada",)), Elements.NEVER),
        )
    )
    assert expression({"filters": None}) == IsNull(Field(Role.METADATA, ("filters",)))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({**SEARCH, "user_id": None}, ("invalid_scope", "/user_id")),
        ({**SEARCH, "user_id": ""}, ("invalid_scope", "/user_id")),
        ({**SEARCH, "agent_id": 5}, ("invalid_scope", "/agent_id")),
        ({**SEARCH, "agent_id": ["a"]}, ("invalid_scope", "/agent_id")),
        ({**SEARCH, "userId": "ada"}, ("unknown_key", "/userId")),
        ({**SEARCH, "Run-ID": "ada"}, ("unknown_key", "/Run-ID")),
        ({"query": "x", "filter": {}}, ("unknown_key", "/filter")),
        ({**SEARCH, "and": []}, ("mixed_shapes", "/and")),
        ({**SEARCH, "filters": []}, ("not_an_object", "/filters")),
        ({**SEARCH, "filters": "nonsense"}, ("invalid_json", "/filters")),
        ({**SEARCH, "filters": "null"}, ("not_an_object", "/filters")),
        ({**SEARCH, "filters": '{"a": 1, "a": 2}'}, ("duplicate_key", "/filters/a")),
        ({**SEARCH, "filters": '{"and": [{}]}'}, ("missing_key", "/filters/and/0")),
        ({**SEARCH, "filters": {"metadata": {"a": 1}}}, ("wrong_type", "/filters/metadata")),
        ({**SEARCH, "filters": {"not": condition("user_id", "eq", "x")}}, ("scope_field", "/filters/not/field")),
        (None, ("not_an_object", "")),
    ],
)
def test_refused_search_body(body: Any, expected: tuple[str, str]) -> None:
    assert fault(body, "fishmem-search") == expected


def test_built_in_fields() -> None:
    check_built_in_field("memory_type")
    check_built_in_field("user_id")
    with pytest.raises(ValueError, match="did you mean 'memory_type'"):
        check_built_in_field("memorytype")
    with pytest.raises(ValueError, match="allowed: id, content"):
        check_built_in_field("metadata.a")
