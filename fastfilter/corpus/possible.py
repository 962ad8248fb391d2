"""Whether a filter can match any row at all, by what little is known of the rows' values: bounds, and whether any is
null.

The program is run once with *possibilities* in place of bitmaps: of a register, whether it may hold a row and whether
it may lack one; of a test, whether it may be true and whether it may be false. Every possibility that is not excluded
stays, so "no" is a proof. (What two registers have in common is not followed: ``not (a or b)`` is not excluded by ``b``
alone.)
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from fastfilter.bytecode.constants import Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import OPCODES, Opcode
from fastfilter.bytecode.program import Instruction, Program
from fastfilter.runtime.arrow_types import is_instant, is_string
from fastfilter.values import Elements, Interval, Number, ScalarSet, StringBound, number_in, point

__all__ = ["ANYTHING", "MISSING_EVERYWHERE", "Values", "can_match", "together"]


@dataclass(frozen=True, slots=True)
class Values:
    """What is known of a field's values in some rows.

    Attributes:
        type: their Arrow type without encodings, or None if they are JSON values, or anything.
        may_be_null: whether one may be NULL.
        may_be_present: whether one may be neither NULL nor MISSING.
        lower: none that is present is below it, in the order of its kind; None is no bound. A number, a text (in the
            order of code points), a bool, or, of instants, nanoseconds. NaN is bounded by nothing.
        upper: none that is present is above it; it is None if and only if ``lower`` is.
        is_missing: whether every value is MISSING; the rest then has no meaning.
    """

    type: pa.DataType | None = None
    may_be_null: bool = True
    may_be_present: bool = True
    lower: Any = None
    upper: Any = None
    is_missing: bool = False

    @property
    def is_one(self) -> bool:
        """Whether all present values are the same."""
        return self.lower is not None and bool(self.lower == self.upper)


ANYTHING = Values()
MISSING_EVERYWHERE = Values(is_missing=True)


def together(parts: Sequence[Values]) -> Values:
    """What is known of a field's values in all the rows of several parts.

    Args:
        parts: at least one.

    Example:
        >>> low, high = Values(pa.int64(), False, lower=1, upper=3), Values(pa.int64(), lower=7, upper=9)
        >>> all_rows = together([low, high])
        >>> all_rows.lower, all_rows.upper, all_rows.may_be_null
        (1, 9, True)
    """
    first = parts[0]
    if any(part.is_missing != first.is_missing or part.type != first.type for part in parts):
        return ANYTHING
    if first.is_missing:
        return first
    bounded = [part for part in parts if part.may_be_present]
    lower = upper = None
    if bounded and all(part.lower is not None for part in bounded):
        lower, upper = min(part.lower for part in bounded), max(part.upper for part in bounded)
    return Values(first.type, any(part.may_be_null for part in parts), bool(bounded), lower, upper)


class Possible(NamedTuple):
    """Of a test: whether it may be true, and whether it may be false, on a row. Of a register: may hold, may lack a
    row."""

    true: bool
    false: bool


_ALL = Possible(True, False)
_NONE = Possible(False, True)
_UNKNOWN = Possible(True, True)

Registers = list[Possible]


def can_match(program: Program, values: Sequence[Values]) -> bool:
    """Whether the program may be true on a row of whose fields this much is known.

    Args:
        program: bound, so that tests of TIMESTAMP columns are tests of instants.
        values: one for each of the program's fields.

    Example:
        >>> import fastfilter
        >>> program = fastfilter.compile({"field": "importance", "operator": "gte", "value": 0.7}).program
        >>> can_match(program, [Values(pa.float64(), lower=0.1, upper=0.6)])
        False
    """
    registers: Registers | None = [_ALL] + [_NONE] * (program.num_registers - 1)
    arriving: dict[int, Registers] = {}  # by jumps, at a later instruction
    for position, instruction in enumerate(program.instructions):
        registers = _either(registers, arriving.pop(position, None))
        if registers is None:  # every way jumps over it
            continue
        opcode, source = instruction.opcode, registers[instruction.source]
        old = registers[instruction.destination]
        if opcode is Opcode.RETURN:
            return source.true
        if opcode is Opcode.JUMP_IF_NONE:
            if source.false:
                there = list(registers)
                there[instruction.source] = _NONE
                jumped = _either(there, arriving.get(instruction.argument))
                assert jumped is not None
                arriving[instruction.argument] = jumped
            if not source.true:
                registers = None
            continue
        if opcode is Opcode.MOVE:
            new = source
        elif opcode is Opcode.CLEAR:
            new = _NONE
        elif opcode is Opcode.OR:
            new = Possible(old.true or source.true, old.false and source.false)
        elif opcode is Opcode.AND_NOT:
            new = Possible(old.true and source.false, old.false or source.true)
        else:
            test = _judged(instruction, program, values[instruction.field])
            new = Possible(source.true and test.true, source.false or test.false)
        registers[instruction.destination] = new
    raise AssertionError("a program ends with RETURN")


def _either(one: Registers | None, other: Registers | None) -> Registers | None:
    if one is None or other is None:
        return one or other
    return [Possible(a.true or b.true, a.false or b.false) for a, b in zip(one, other, strict=True)]


def _judged(instruction: Instruction, program: Program, values: Values) -> Possible:
    opcode = instruction.opcode
    if values.is_missing:
        return _NONE
    if opcode is Opcode.EXISTS:
        return Possible(values.may_be_present, values.may_be_null)
    if opcode is Opcode.IS_NULL:
        return Possible(values.may_be_null, values.may_be_present)
    constant: Any = program.constants[instruction.argument] if OPCODES[opcode].constant is not None else None
    if opcode is Opcode.JSON_CONTAINS and isinstance(constant, Json) and constant.text == "null":
        return _UNKNOWN  # true on NULL
    if not values.may_be_present:
        return _NONE
    judge = _JUDGES.get(opcode)
    if judge is None or values.lower is None or values.type is None:
        return _UNKNOWN
    answer = judge(constant, values)
    if opcode is Opcode.EQUALS_ANY and instruction.mode == Elements.ONLY:
        answer = _NONE  # what has bounds is no ARRAY
    return Possible(answer.true, answer.false or values.may_be_null)


def _kind(type: pa.DataType) -> str:
    """The kind of values of a type that may have bounds."""
    if pat.is_boolean(type):
        return "bool"
    if is_string(type):
        return "text"
    return "instant" if is_instant(type) else "number"


def _equals_any(scalars: ScalarSet, values: Values) -> Possible:
    kind = _kind(values.type)
    if kind == "number":
        return _in_intervals([point(number) for number in scalars.numbers], values)
    if kind == "instant":
        return _in_intervals([point(instant) for instant in scalars.instants], values)
    if kind == "text":
        found = _is_one_of(scalars.strings, values)
        return _UNKNOWN if scalars.instants else found
    accepted = {answer for answer, is_in in ((False, scalars.false), (True, scalars.true)) if is_in}
    there = {values.lower, values.upper}
    return Possible(bool(there & accepted), not there <= accepted)


def _is_one_of(texts: Sequence[str], values: Values) -> Possible:
    if values.is_one:
        return _ALL if values.lower in texts else _NONE
    return Possible(any(values.lower <= text <= values.upper for text in texts), True)


def _range(intervals: Intervals, values: Values) -> Possible:
    return _in_intervals(intervals.values, values) if _kind(values.type) in ("number", "instant") else _UNKNOWN


def _in_intervals(intervals: Sequence[Interval], values: Values) -> Possible:
    """Of numbers or instants between the bounds."""
    lower, upper = values.lower, values.upper
    some = any(
        (_is_infinite(upper) or number_in(upper, interval._replace(upper=None)))
        and (_is_infinite(lower) or number_in(lower, interval._replace(lower=None)))
        for interval in intervals
    )
    if not some:
        return _NONE
    every = any(number_in(lower, interval) and number_in(upper, interval) for interval in intervals)
    return Possible(True, not every or pat.is_floating(values.type))  # NaN is beyond every bound and in no interval


def _is_infinite(number: Number) -> bool:
    return isinstance(number, float) and math.isinf(number)


def _number_range(intervals: Intervals, values: Values) -> Possible:
    return _range(intervals, values) if _kind(values.type) == "number" else _UNKNOWN


def _timestamp_range(intervals: Intervals, values: Values) -> Possible:
    return _range(intervals, values) if _kind(values.type) == "instant" else _UNKNOWN


def _string_range(bound: StringBound, values: Values) -> Possible:
    # Where texts first differ, a character of the bound below the surrogates has the same order in UTF-16 as in code
    # points.
    if _kind(values.type) != "text" or any(character >= "\ud800" for character in bound.value):
        return _UNKNOWN
    beyond = _BEYOND[bound.operator]
    lower, upper = beyond(values.lower, bound.value), beyond(values.upper, bound.value)
    return Possible(lower or upper, not (lower and upper))


_BEYOND: dict[str, Callable[[str, str], bool]] = {
    "gt": lambda value, bound: value > bound,
    "gte": lambda value, bound: value >= bound,
    "lt": lambda value, bound: value < bound,
    "lte": lambda value, bound: value <= bound,
}


def _contains(text: Text, values: Values) -> Possible:
    if _kind(values.type) != "text" or not values.is_one:
        return _UNKNOWN
    return _ALL if text.value in values.lower else _NONE


def _contains_ignore_case(text: Text, values: Values) -> Possible:
    if _kind(values.type) != "text" or not values.is_one:
        return _UNKNOWN
    return _ALL if text.value.lower() in values.lower.lower() else _NONE


_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,40})")


def _text_equals_any(strings: Strings, values: Values) -> Possible:
    kind = _kind(values.type)
    if kind == "text":
        return _is_one_of(strings.values, values)
    if kind == "bool":
        accepted = {answer for answer, text in ((False, "false"), (True, "true")) if text in strings.values}
        there = {values.lower, values.upper}
        return Possible(bool(there & accepted), not there <= accepted)
    if pat.is_integer(values.type):
        numbers = [int(text) for text in strings.values if _INTEGER.fullmatch(text)]
        return Possible(any(values.lower <= number <= values.upper for number in numbers), True)
    return _UNKNOWN


def _text_number_range(intervals: Intervals, values: Values) -> Possible:
    """Of the doubles that the numbers' texts are: these never change the order of two numbers, but may make them
    equal."""
    if _kind(values.type) != "number":
        return _UNKNOWN
    as_doubles = [
        interval._replace(
            lower=None if interval.lower is None else float(interval.lower),
            upper=None if interval.upper is None else float(interval.upper),
        )
        for interval in intervals.values
    ]
    lower, upper = (_double_of_text(bound, values.type) for bound in (values.lower, values.upper))
    answer = _in_intervals(as_doubles, Values(pa.float64(), lower=lower, upper=upper))
    return answer._replace(false=True)


def _double_of_text(number: Number, type: pa.DataType) -> float:
    return float(str(np.float32(float(number)))) if pat.is_float32(type) else float(number)


_JUDGES: dict[Opcode, Callable[[Any, Values], Possible]] = {
    Opcode.EQUALS_ANY: _equals_any,
    Opcode.NUMBER_RANGE: _number_range,
    Opcode.STRING_RANGE: _string_range,
    Opcode.TIMESTAMP_RANGE: _timestamp_range,
    Opcode.CONTAINS: _contains,
    Opcode.CONTAINS_IGNORE_CASE: _contains_ignore_case,
    Opcode.TEXT_EQUALS_ANY: _text_equals_any,
    Opcode.TEXT_NUMBER_RANGE: _text_number_range,
}
"""What decides each test by bounds; a test without one is decided by nulls only."""
