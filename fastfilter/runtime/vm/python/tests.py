"""The tests of the Python virtual machine: for each test opcode, what it is true on.

:func:`make_test` works out once, for an instruction's constant, all that does not depend on a row, and gives a function
of one value. Values are those of :mod:`fastfilter.values`; what each opcode means is in
:mod:`fastfilter.bytecode.opcodes`.

A TIMESTAMP compares with a string literal as an instant, if the literal is a full ISO 8601 timestamp. On columns the
binder has turned such literals into instants already; in records it is decided value by value, here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, TypeVar

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.runtime.vm.python.json_text import parse_json
from fastfilter.runtime.vm.python.jsonb import contains, plain_number, text_of
from fastfilter.values import (
    MISSING,
    Elements,
    Instant,
    Interval,
    ScalarSet,
    StringBound,
    as_decimal,
    number_in,
    parse_timestamp,
    utf16_key,
)

__all__ = ["TESTS", "Test", "make_test"]

Test = Callable[[Any], bool]
"""Whether a test is true on a value."""


def make_test(opcode: Opcode, constant: Constant | None, elements: Elements) -> Test:
    """The test of an instruction.

    Args:
        opcode: one of the test opcodes.
        constant: the instruction's constant, of the type that the opcode table says; None where it says none.
        elements: the instruction's mode.

    Example:
        >>> test = make_test(Opcode.CONTAINS, Text("fix"), Elements.NEVER)
        >>> test("prefix"), test(["fix"]), test(["prefix"])
        (True, True, False)
    """
    return TESTS[opcode](constant, elements)


_Constant = TypeVar("_Constant")


def _expect(constant: Constant | None, kind: type[_Constant]) -> _Constant:
    if not isinstance(constant, kind):
        raise TypeError(f"the constant is a {type(constant).__name__}, not a {kind.__name__}")
    return constant


def _exists(constant: Constant | None, elements: Elements) -> Test:
    return lambda value: value is not MISSING and value is not None


def _is_null(constant: Constant | None, elements: Elements) -> Test:
    return lambda value: value is None


def _instants_of(strings: tuple[str, ...]) -> frozenset[int]:
    return frozenset(instant for instant in map(parse_timestamp, strings) if instant is not None)


def _equals_any(constant: Constant | None, elements: Elements) -> Test:
    scalars = _expect(constant, ScalarSet)
    numbers = frozenset(scalars.numbers)
    decimals = frozenset(map(as_decimal, scalars.numbers))
    strings = frozenset(scalars.strings)
    instants = frozenset(scalars.instants)
    instants_and_strings = instants | _instants_of(scalars.strings)

    def equals(value: Any) -> bool:
        if value is True:
            return scalars.true
        if value is False:
            return scalars.false
        if isinstance(value, str):
            return value in strings or (bool(instants) and parse_timestamp(value) in instants)
        if isinstance(value, int):
            return value in numbers
        if isinstance(value, float):
            return math.isfinite(value) and value in numbers
        if isinstance(value, Decimal):
            return value.is_finite() and value in decimals
        return isinstance(value, Instant) and value.nanoseconds in instants_and_strings

    if elements is Elements.NEVER:
        return equals

    def any_equals(value: Any) -> bool:
        if isinstance(value, list):
            return any(scalars.null if element is None else equals(element) for element in value)
        return elements is Elements.ALSO and equals(value)

    return any_equals


def _number_range(constant: Constant | None, elements: Elements) -> Test:
    intervals = _expect(constant, Intervals).values

    def test(value: Any) -> bool:
        if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
            return False
        return any(number_in(value, interval) for interval in intervals)

    return test


_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "gt": lambda left, right: left > right,
    "gte": lambda left, right: left >= right,
    "lt": lambda left, right: left < right,
    "lte": lambda left, right: left <= right,
}


def _string_range(constant: Constant | None, elements: Elements) -> Test:
    bound = _expect(constant, StringBound)
    ordered = _ORDERS[bound.operator]
    key, instant = utf16_key(bound.value), parse_timestamp(bound.value)

    def test(value: Any) -> bool:
        if isinstance(value, str):
            return ordered(utf16_key(value), key)
        return instant is not None and isinstance(value, Instant) and ordered(value.nanoseconds, instant)

    return test


def _timestamp_range(constant: Constant | None, elements: Elements) -> Test:
    intervals = _expect(constant, Intervals).values

    def test(value: Any) -> bool:
        if isinstance(value, str):
            instant = parse_timestamp(value)
        else:
            instant = value.nanoseconds if isinstance(value, Instant) else None
        return instant is not None and any(number_in(instant, interval) for interval in intervals)

    return test


def _contains(constant: Constant | None, elements: Elements) -> Test:
    text = _expect(constant, Text).value
    instant = parse_timestamp(text)

    def equals(element: Any) -> bool:
        if isinstance(element, str):
            return element == text
        return instant is not None and isinstance(element, Instant) and element.nanoseconds == instant

    def test(value: Any) -> bool:
        if isinstance(value, str):
            return text in value
        return isinstance(value, list) and any(map(equals, value))

    return test


def _contains_ignore_case(constant: Constant | None, elements: Elements) -> Test:
    text = _expect(constant, Text).value.lower()

    def test(value: Any) -> bool:
        if isinstance(value, str):
            return text in value.lower()
        return isinstance(value, list) and any(
            isinstance(element, str) and element.lower() == text for element in value
        )

    return test


def _text_equals_any(constant: Constant | None, elements: Elements) -> Test:
    strings = frozenset(_expect(constant, Strings).values)
    longest = max(map(len, strings), default=0)
    instants = _instants_of(tuple(strings))

    def test(value: Any) -> bool:
        if isinstance(value, str):
            return value in strings
        if value is None or value is MISSING:
            return False
        if isinstance(value, Instant):
            return value.nanoseconds in instants
        return text_of(value, longest) in strings

    return test


def _text_number_range(constant: Constant | None, elements: Elements) -> Test:
    intervals = [
        Interval(_double(interval.lower), interval.lower_closed, _double(interval.upper), interval.upper_closed)
        for interval in _expect(constant, Intervals).values
    ]

    def test(value: Any) -> bool:
        number = plain_number(value)
        return number is not None and any(number_in(number, interval) for interval in intervals)

    return test


def _double(bound: float | None) -> float | None:
    return None if bound is None else float(bound)


def _json_contains(constant: Constant | None, elements: Elements) -> Test:
    pattern = parse_json(_expect(constant, Json).text)
    return lambda value: contains(value, pattern)


TESTS: Final[Mapping[Opcode, Callable[[Constant | None, Elements], Test]]] = MappingProxyType(
    {
        Opcode.EXISTS: _exists,
        Opcode.IS_NULL: _is_null,
        Opcode.EQUALS_ANY: _equals_any,
        Opcode.NUMBER_RANGE: _number_range,
        Opcode.STRING_RANGE: _string_range,
        Opcode.TIMESTAMP_RANGE: _timestamp_range,
        Opcode.CONTAINS: _contains,
        Opcode.CONTAINS_IGNORE_CASE: _contains_ignore_case,
        Opcode.TEXT_EQUALS_ANY: _text_equals_any,
        Opcode.TEXT_NUMBER_RANGE: _text_number_range,
        Opcode.JSON_CONTAINS: _json_contains,
    }
)
"""How each test opcode's test is made."""
