"""Anything at all given as a filter is compiled or refused with a FilterError, alike as object and as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

import fastfilter

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

DIALECTS = ("auto", "fishmem", "fishmem-search", "anansi")
KEYS = (
    "field",
    "operator",
    "value",
    "and",
    "or",
    "not",
    "metadata",
    "$and",
    "$or",
    "$gt",
    "$contains",
    "query",
    "filters",
    "user_id",
    "__proto__",
    "",
)
WORDS = st.sampled_from(
    [
        "eq",
        "in",
        "exists",
        "contains",
        "gt",
        "metadata.a",
        "metadata.",
        "metadata.a..b",
        "importance",
        "created_at",
        "user_id",
        *KEYS,
    ]
)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), WORDS, st.integers(), st.floats(), strategies.json_strings),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def fault(filter: Any, dialect: str) -> Any:
    """What is wrong with a filter; None if nothing is."""
    try:
        fastfilter.compile(filter, dialect=dialect)
    except fastfilter.FilterError as error:
        assert error.code
        assert error.message
        assert str(error)
        assert error.pointer == "" or error.pointer.startswith("/")
        return error.code, error.pointer
    return None


@given(st.data(), st.sampled_from(DIALECTS))
def test_damaged_filters(data: st.DataObject, dialect: str) -> None:
    """A good filter with one value in it exchanged."""
    filter, _ = data.draw(strategies.filters(strategies.Vocabulary()))
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            walk(value[key])

    filter = json.loads(json.dumps(filter))
    walk(filter)
    if places:
        holder, key = data.draw(st.sampled_from(places))
        if data.draw(st.booleans()):
            holder[key] = data.draw(anything)
        elif isinstance(holder, dict):
            holder[data.draw(st.sampled_from(KEYS))] = holder.pop(key)
    found = fault(filter, dialect)
    try:
        text = json.dumps(filter, allow_nan=False)
    except ValueError:
        assert found is not None
    else:
        assert fault(text, dialect) == found


@given(anything, st.sampled_from(DIALECTS))
def test_anything(filter: Any, dialect: str) -> None:
    fault(filter, dialect)


@given(st.binary(max_size=40) | strategies.damaged_texts() | st.text(max_size=30), st.sampled_from(DIALECTS))
def test_any_text(text: bytes | str, dialect: str) -> None:
    fault(text, dialect)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"not":' * 100_000, '{"and":[' * 3000 + "]}" * 3000, "1" * 5000, '{"a":' + "9" * 5000 + "}"],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_texts_that_are_much_of_something(text: str, dialect: str) -> None:
    fault(text, dialect)


@given(st.binary(max_size=200))
def test_any_bytes_as_a_program(data: bytes) -> None:
    with pytest.raises(fastfilter.ProgramError):
        fastfilter.Program.from_bytes(data)


@given(st.data())
def test_damaged_programs(data: st.DataObject) -> None:
    """One byte exchanged in a serialised program is always noticed."""
    filter, dialect = data.draw(strategies.filters(strategies.Vocabulary()))
    program = fastfilter.compile(filter, dialect=dialect).program
    whole = program.to_bytes()
    assert fastfilter.Program.from_bytes(whole) == program
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = bytearray(whole)
    damaged[place] ^= data.draw(st.integers(1, 255))
    for bad in (bytes(damaged), whole[:place], whole + b"\0"):
        with pytest.raises(fastfilter.ProgramError):
            fastfilter.Program.from_bytes(bad)
