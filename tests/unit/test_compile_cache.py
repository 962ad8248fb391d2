"""compile() knows what it was asked before by its content, and never takes one filter for another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastfilter
from fastfilter.compiler.content import content_key


def condition(value: Any) -> dict[str, Any]:
    return {"field": "metadata.a", "operator": "eq", "value": value}


def test_the_same_content_is_compiled_once() -> None:
    first = fastfilter.compile(condition("a"), scope={"user_id": "ada"})
    assert fastfilter.compile(condition("a"), scope={"user_id": "ada"}) is first
    assert fastfilter.compile(condition("a"), scope={"user_id": "bob"}) is not first
    text = '{"field":"metadata.a","operator":"eq","value":"a"}'
    assert fastfilter.compile(text) is fastfilter.compile(str(text))


@pytest.mark.parametrize("others", [[1, True, "1", 1.5, None], [0, False, "", "0"]])
def test_values_that_python_calls_equal_are_not_one_filter(others: list[Any]) -> None:
    for value in others:
        flt = fastfilter.compile(condition(value))
        assert [flt.matches({"metadata": {"a": other}}) for other in others] == [
            type(other) is type(value) and other == value and value is not None for other in others
        ]


def test_a_filter_changed_after_it_was_compiled_is_another() -> None:
    filter = condition("a")
    first = fastfilter.compile(filter)
    filter["value"] = "b"
    assert fastfilter.compile(filter).matches({"metadata": {"a": "b"}})
    assert first.matches({"metadata": {"a": "a"}})


def test_what_is_not_plain_is_no_key() -> None:
    assert content_key((np.int64(5),)) is None
    assert content_key((object(),)) is None
    assert content_key(({"a": "\u0453 \u0493"},)) is not None  # a text with the byte that names a class
    cyclic: dict[str, Any] = {}
    cyclic["not"] = cyclic
    with pytest.raises(fastfilter.FilterError):
        fastfilter.compile(cyclic)
    assert fastfilter.compile(condition(np.int64(5))).matches({"metadata": {"a": 5}})


def test_the_rest_of_a_request_is_not_shared() -> None:
    body = {"query": "x", "options": {"k": 1}, "filters": {"a": 1}}
    first, second = fastfilter.compile(body), fastfilter.compile(body)
    first.rest["options"] = None
    assert second.rest["options"] == {"k": 1}


def test_the_cache_does_not_grow_without_end() -> None:
    for number in range(1200):
        fastfilter.compile(condition(number))
    from fastfilter.filter import _COMPILED

    assert len(_COMPILED) <= 512
