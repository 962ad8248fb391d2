"""Which dialect ``auto`` chooses by shape, and what scope and limits do whatever the dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler.dialects import DIALECTS, parse
from fastfilter.compiler.dialects.anansi import AnansiLimits
from fastfilter.compiler.dialects.fishmem import FishmemLimits
from fastfilter.compiler.expr import TRUE, And, EqualsAny, Expression
from fastfilter.errors import FilterError
from fastfilter.values import Elements, ScalarSet

CONDITION = {"field": "metadata.a", "operator": "eq", "value": 1}


def fault(filter: Any, dialect: str = "auto", **arguments: Any) -> tuple[str, str]:
    with pytest.raises(FilterError) as caught:
        parse(filter, dialect, **arguments)
    return caught.value.code, caught.value.pointer


@pytest.mark.parametrize(
    ("filter", "dialect"),
    [
        (None, "fishmem"),
        ({}, "fishmem"),
        ({"channel": "x"}, "fishmem"),
        ({"query": "x"}, "fishmem"),
        ({"user_id": "ada"}, "fishmem"),
        ({"metadata": "x"}, "fishmem"),
        ({"metadata": None, "channel": "x"}, "fishmem"),
        ({"filters": "x"}, "fishmem"),
        ({"filters": None}, "fishmem"),
        (CONDITION, "fishmem"),
        ({"and": [CONDITION]}, "fishmem"),
        ({"not": CONDITION}, "fishmem"),
        ({"filters": {}}, "fishmem-search"),
        ({"filters": {"channel": "x"}, "anything": [1]}, "fishmem-search"),
        ({"query": "x", "filters": None}, "fishmem-search"),
        ({"query": "x", "user_id": "ada", "filters": "{}"}, "fishmem-search"),
        ({"query": "x", "filters": b"{}"}, "fishmem-search"),
        ({"metadata": {}}, "anansi"),
        ({"metadata": {"a": 1}}, "anansi"),
        ({"metadata": {"a": 1}, "$and": [{}]}, "anansi"),
        ({"$or": [{"metadata": {"a": 1}}]}, "anansi"),
    ],
)
def test_chosen(filter: Any, dialect: str) -> None:
    assert parse(filter).dialect == dialect
    assert parse(filter) == parse(filter, dialect)
    if filter is not None and b"{}" not in filter.values():
        text = json.dumps(filter)
        assert parse(text) == parse(text.encode()) == parse(bytearray(text.encode())) == parse(filter)


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        # A key with $ makes it Anansi, which then says what is wrong.
        ({"$not": []}, ("unknown_key", "/$not")),
        ({"$and": [{}], "channel": "x"}, ("unknown_key", "/channel")),
        ({"metadata": "x", "$or": [{}]}, ("not_an_object", "/metadata")),
        # Mixtures that fit nothing.
        ({"$and": [{}], "and": [CONDITION]}, ("no_dialect", "/and")),
        ({"$and": [{}], "filters": {}}, ("no_dialect", "/filters")),
        ({"metadata": {"a": 1}, "not": CONDITION}, ("no_dialect", "/not")),
        ({"metadata": {"a": 1}, "filters": {}}, ("no_dialect", "/filters")),
        ({"metadata": {"a": 1}, "channel": "x"}, ("no_dialect", "/channel")),
        ({"metadata": {"a": 1}, "query": "x"}, ("no_dialect", "/query")),
        ({"metadata": [1]}, ("wrong_type", "/metadata")),
        # A search body without its filters, or an equality map?
        ({"query": "x", "user_id": "ada"}, ("ambiguous_dialect", "")),
        ({"user_id": "ada", "filters": None}, ("ambiguous_dialect", "")),
        ({"run_id": "r", "filters": "{}"}, ("ambiguous_dialect", "")),
        ({"query": "x", "user_id": "ada", "limit": [5]}, ("ambiguous_dialect", "")),
        # Logic beside what may be a search body.
        ({"query": "x", "user_id": "ada", "and": [CONDITION]}, ("mixed_shapes", "/query")),
        ({"filters": {}, "and": [CONDITION]}, ("mixed_shapes", "/and")),
    ],
)
def test_refused(filter: Any, expected: tuple[str, str]) -> None:
    assert fault(filter) == expected


def test_no_dialect_says_what_each_would_need() -> None:
    with pytest.raises(FilterError) as caught:
        parse({"metadata": {"a": 1}, "field": "a"})
    assert all(name in caught.value.message for name in DIALECTS)
    assert caught.value.allowed == tuple(DIALECTS)


def test_an_ambiguous_filter_is_read_as_told() -> None:
    body = {"query": "x", "user_id": "ada"}
    assert parse(body, "fishmem").scope == {}
    assert parse(body, "fishmem-search").scope == {"user_id": "ada"}


@pytest.mark.parametrize("dialect", ["fishmen", "Anansi", "", None, 5, [], "fishmem_search"])
def test_unknown_dialect(dialect: Any) -> None:
    with pytest.raises(ValueError, match="auto, fishmem, fishmem-search, anansi") as caught:
        parse({}, dialect)
    assert not isinstance(caught.value, FilterError)
    if dialect in ("fishmen", "Anansi", "fishmem_search"):
        assert "did you mean" in str(caught.value)


# ---------------------------------------------------------------------------------------------------------------------
# scope
# ---------------------------------------------------------------------------------------------------------------------


def scoped(name: str, value: str) -> Expression:
    return EqualsAny(Field(Role.COLUMN, (name,)), ScalarSet(strings=(value,)), Elements.NEVER)


@pytest.mark.parametrize("filter", [None, {}, {"channel": "x"}, {"metadata": {"a": 1}}, {"or": [CONDITION]}])
def test_scope_stands_in_front_in_every_dialect(filter: Any) -> None:
    request = parse(filter, scope={"run_id": "r", "user_id": "ada"})
    unscoped = parse(filter).expression
    assert request.expression == And((scoped("user_id", "ada"), scoped("run_id", "r"), unscoped))
    assert request.scope == {"user_id": "ada", "run_id": "r"}
    assert request.rest == {}


def test_scope_beside_a_search_body() -> None:
    body = {"query": "x", "user_id": "ada", "filters": {}}
    request = parse(body, scope={"agent_id": "a", "user_id": "ada"})
    assert request.expression == And((scoped("user_id", "ada"), scoped("agent_id", "a"), TRUE))
    assert fault(body, scope={"user_id": "bob"}) == ("scope_conflict", "/user_id")


def test_no_scope() -> None:
    assert parse({}, scope=None) == parse({}, scope={}) == parse({})


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ({"user_id": None}, ("invalid_scope", "/scope/user_id")),
        ({"user_id": ""}, ("invalid_scope", "/scope/user_id")),
        ({"user_id": 5}, ("invalid_scope", "/scope/user_id")),
        ({"user_id": ["ada"]}, ("invalid_scope", "/scope/user_id")),
        ({"user_id": {}}, ("invalid_scope", "/scope/user_id")),
        ({"user_id": b"ada"}, ("not_json", "/scope/user_id")),
        ({"userid": "ada"}, ("unknown_scope", "/scope/userid")),
        ({5: "ada"}, ("key_not_string", "/scope")),
        ("user_id=ada", ("invalid_scope", "/scope")),
        ([("user_id", "ada")], ("invalid_scope", "/scope")),
        (0, ("invalid_scope", "/scope")),
    ],
)
def test_refused_scope(scope: Any, expected: tuple[str, str]) -> None:
    assert fault({}, scope=scope) == expected


def test_a_misspelled_scope_is_told_the_right_name() -> None:
    with pytest.raises(FilterError, match='did you mean "user_id"') as caught:
        parse({}, scope={"userid": "ada"})
    assert caught.value.allowed == ("user_id", "agent_id", "run_id")


# ---------------------------------------------------------------------------------------------------------------------
# limits
# ---------------------------------------------------------------------------------------------------------------------


def test_limits_count_where_their_dialect_is_chosen() -> None:
    limits = {"max_values": 1, "max_conditions": 1}
    assert fault({"field": "metadata.a", "operator": "in", "value": [1, 2]}, limits=limits)[0] == "too_many_values"
    assert fault({"metadata": {"a": 1, "b": 2}}, limits=limits)[0] == "too_many_conditions"
    assert fault({"and": [CONDITION, CONDITION]}, limits=limits)[0] == "too_many_conditions"


def test_limits_of_a_dialect() -> None:
    assert fault({"metadata": {"a": 1}}, "anansi", limits=AnansiLimits(max_conditions=0))[0] == "too_many_conditions"
    limits = FishmemLimits(max_legacy_keys=0)
    assert fault({"filters": {"a": 1}}, "fishmem-search", limits=limits) == ("too_many_keys", "/filters")


@pytest.mark.parametrize(
    ("limits", "dialect", "match"),
    [
        ({"max_value": 1}, "auto", "did you mean 'max_values'"),
        ({"max_values": 1}, "anansi", "allowed: max_depth, max_conditions"),
        ({5: 1}, "auto", "unknown limit 5"),
        ({"max_depth": "8"}, "auto", "non-negative int"),
        ({"max_depth": True}, "auto", "non-negative int"),
        ({"max_depth": -1}, "fishmem", "non-negative int"),
        (FishmemLimits(), "auto", "needs its dialect named"),
        (FishmemLimits(), "anansi", "needs its dialect named"),
        (5, "auto", "must be a mapping"),
    ],
)
def test_refused_limits(limits: Any, dialect: str, match: str) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        parse({}, dialect, limits=limits)
    assert not isinstance(caught.value, FilterError)


def test_limit_classes_refuse_what_is_no_limit() -> None:
    with pytest.raises(ValueError, match="max_depth"):
        FishmemLimits(max_depth=1.5)  # type: ignore[arg-type]
