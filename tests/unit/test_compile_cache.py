"""compile() knows what it was asked before by its content, and never takes one filter for another."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastfilter
from fastfilter.compiler.content import content_key, pickled_key, plain_key
from fastfilter.values import Elements


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


KEYS = [key for key in (plain_key, pickled_key) if key is not None]

_SCALARS = st.sampled_from(
    [None, True, False, 0, 1, 2, -1, 2**63 - 1, -(2**63), 0.0, -0.0, 1.0, 2.0, "", "0", "1", "a", "é", "\u0100",
     "\ud83d", "\U0001f600", "a\0", "s", b"", b"a", b"1"]
)  # fmt: skip
_VALUES = st.recursive(
    _SCALARS,
    lambda children: (
        st.lists(children, max_size=3)
        | st.lists(children, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["", "a", "b", "é"]), children, max_size=3)
    ),
    max_leaves=6,
)


def spelled(value: object) -> str:
    """The value with its types and in its order, which ``==`` passes over."""
    return repr(value)


@pytest.mark.parametrize("key", KEYS)
@given(left=_VALUES, right=_VALUES)
def test_keys_tell_contents_apart(key: Callable[[Any], bytes | None], left: object, right: object) -> None:
    assert key((left,)) is not None
    assert (key((left,)) == key((right,))) <= (spelled(left) == spelled(right))
    assert key((left,)) == key((pickle.loads(pickle.dumps(left)),)) or key is pickled_key


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_values_with_equal_bytes_differ(key: Callable[[Any], bytes | None]) -> None:
    values: list[object] = [
        *(1, 1.0, True, "1", b"1", None, "None", [1], (1,), {"1": 1}, [[1]], [1, 1]),
        *({"a": 1, "b": 2}, {"b": 2, "a": 1}, [{"a": 1}, {}], [{"a": 1, "b": {}}], ["ab", ""], ["a", "b"], ["", "ab"]),
        *(struct.unpack("d", b"abcdefgh")[0], struct.unpack("q", b"abcdefgh")[0], "abcdefgh", b"abcdefgh"),
        *("ab", "\u6261", "\U00006261\U00010000", 0.0, -0.0, float("nan"), float("inf"), 2**62, -(2**62)),
    ]
    keys = [key((value,)) for value in values]
    assert None not in keys
    assert len(set(keys)) == len(values)


@pytest.mark.parametrize("key", [*KEYS, content_key])
def test_what_is_not_plain_is_no_key(key: Callable[[Any], bytes | None]) -> None:
    class Text(str):
        def __hash__(self) -> int:
            raise SystemExit("runs a stranger's code")

        __eq__ = None  # type: ignore[assignment]

    class Object(dict[str, object]):
        def __reduce_ex__(self, protocol: object) -> str:
            raise SystemExit("runs a stranger's code")

        __iter__ = items = keys = None  # type: ignore[assignment]

    odd = [Text("a"), Object(a=1), np.int64(5), np.float64(5), np.str_("a"), Decimal(5), Elements.ALSO, object()]
    for value in odd:
        assert key((value,)) is None
        assert key(({"a": [value]},)) is None
    assert key((np.arange(3),)) is None


def test_what_is_not_plain_is_compiled_all_the_same() -> None:
    cyclic: dict[str, Any] = {}
    cyclic["not"] = cyclic
    with pytest.raises(fastfilter.FilterError):
        fastfilter.compile(cyclic)
    assert fastfilter.compile(condition(np.int64(5))).matches({"metadata": {"a": 5}})


def test_large_integers_and_deep_values_have_keys_of_their_own() -> None:
    deep: object = 1
    for _ in range(200):
        deep = [deep]
    values: list[object] = [2**63, 2**64, -(2**63) - 1, 10**40, 10**40 + 1, deep, [deep], "a" * 5_000, ["a" * 5_000]]
    keys = [content_key((value,)) for value in values]
    assert None not in keys
    assert len(set(keys)) == len(values)


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


def test_a_value_that_holds_one_list_many_times_is_not_written_out() -> None:
    value: object = "v"
    for _ in range(60):  # 2^60 values, if each time counts
        value = [value, value]
    assert plain_key is None or plain_key(value) is None
    with pytest.raises(fastfilter.FilterError):
        fastfilter.compile(condition(value))
    assert content_key(("a" * (1 << 21),)) is None


def test_what_a_filter_hands_out_changes_no_other() -> None:
    filter = {"field": "subject", "operator": "eq", "value": "a"}
    first = fastfilter.compile(filter, fields={"subject": "x"})
    first.options.fields["subject"] = "y"  # type: ignore[index]
    first.rest["limit"] = 7
    for flt in (first, fastfilter.compile(filter, fields={"subject": "x"})):
        assert flt.options.fields == {"subject": "x"}
        assert flt.rest == {}
        assert flt.count({"x": ["a", "b"], "y": ["b", "b"]}) == 1
