"""What a test asks of a typed column, in the very values that the column stores: the same for every store.

All that is exact about types is decided here, once: which numbers a column can hold, in which unit it counts instants,
which texts a number can have, in which cases the order of strings is the order of their bytes. A renderer of a store
then only spells a question, or passes it over.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.compiler.pushdown import Bounds
from fastfilter.runtime.arrow_types import is_instant, is_list, is_number, is_string, is_uuid, value_type
from fastfilter.runtime.vm.lowering import Lowered, lower
from fastfilter.runtime.vm.python.json_text import parse_json
from fastfilter.runtime.vm.python.jsonb import is_plain_number, text_of
from fastfilter.values import Elements, ScalarSet, StringBound, canonical_number, point

__all__ = [
    "Bools", "Holds", "Null", "Order", "Question", "Ranges", "Searches", "SearchesIgnoringCase", "Texts", "Valid",
    "ask",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Valid:
    """The value is there and not null."""


@dataclass(frozen=True, slots=True)
class Null:
    """The value is null."""


@dataclass(frozen=True, slots=True)
class Bools:
    """A bool that is the one or the other."""

    false: bool
    true: bool


@dataclass(frozen=True, slots=True)
class Ranges:
    """A finite number, or an instant, in one of the closed ranges.

    Attributes:
        pairs: lowest and highest value of each range, ascending: doubles for a column of floats; integers for all else,
            which count a decimal's last digit and a timestamp's unit.
        least: the least value that the column can store.
        greatest: the greatest.
    """

    pairs: tuple[tuple[int, int], ...] | tuple[tuple[float, float], ...]
    least: int | float
    greatest: int | float


@dataclass(frozen=True, slots=True)
class Texts:
    """A string that is one of these."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """A string that is so ordered with the bound, by its bytes in UTF-8."""

    operator: str
    bound: str


@dataclass(frozen=True, slots=True)
class Searches:
    """A string with the text in it."""

    text: str


@dataclass(frozen=True, slots=True)
class SearchesIgnoringCase:
    """A string with the text in it, both lower-cased; ``text`` is already."""

    text: str


@dataclass(frozen=True, slots=True)
class Holds:
    """A list of strings that has one of these as an element."""

    values: tuple[str, ...]


Question = Valid | Null | Bools | Ranges | Texts | Order | Searches | SearchesIgnoringCase | Holds

_Bounds = Bounds[Question]
_NEVER: _Bounds = Bounds(False, False)
_UNKNOWN: _Bounds = Bounds(True, False)
_ONLY_IF_VALID: _Bounds = Bounds(Valid(), False)


def ask(opcode: Opcode, constant: Constant | None, elements: Elements, type: pa.DataType) -> _Bounds:
    """What a test asks of a column.

    Args:
        opcode: a test, as the binder left it: one of instants on a column of those.
        constant: its constant, None if it has none.
        elements: its mode.
        type: type of the column's values, without encodings.
    """
    if pat.is_null(type):
        null = isinstance(constant, Json) and constant.text == "null"
        return Bounds.exactly(opcode is Opcode.IS_NULL or (opcode is Opcode.JSON_CONTAINS and null))
    if opcode is Opcode.EXISTS:
        return Bounds.exactly(Valid())
    if opcode is Opcode.IS_NULL:
        return Bounds.exactly(Null())
    if isinstance(constant, ScalarSet):
        return _equals(constant, elements, type)
    if isinstance(constant, Intervals):
        return _in_range(opcode, constant, type)
    if isinstance(constant, StringBound):
        return _ordered(constant, type)
    if isinstance(constant, Text):
        return _searched(opcode, constant.value, type)
    if isinstance(constant, Strings):
        return _text_equals(constant.values, type)
    assert isinstance(constant, Json)
    if constant.text == "null":
        return _UNKNOWN  # which a null is said to contain
    wanted = parse_json(constant.text)
    return Bounds.exactly(Texts((wanted,))) if is_string(type) and isinstance(wanted, str) else _ONLY_IF_VALID


def _equals(scalars: ScalarSet, elements: Elements, type: pa.DataType) -> _Bounds:
    if is_list(type):
        if elements is Elements.NEVER:
            return _NEVER
        of_strings = is_string(value_type(type.value_type)) and not scalars.null and not scalars.instants
        return Bounds.exactly(Holds(scalars.strings)) if of_strings else _ONLY_IF_VALID
    if elements is Elements.ONLY:
        return _NEVER
    if is_string(type):
        return _ONLY_IF_VALID if scalars.instants else Bounds.exactly(Texts(scalars.strings))
    if pat.is_boolean(type):
        return Bounds.exactly(Bools(scalars.false, scalars.true))
    if is_number(type) or is_instant(type):
        return _ranges(lower(Opcode.EQUALS_ANY, scalars, type), type)
    return _ONLY_IF_VALID if is_uuid(type) else _NEVER


def _in_range(opcode: Opcode, intervals: Intervals, type: pa.DataType) -> _Bounds:
    if opcode is Opcode.TIMESTAMP_RANGE:
        if is_instant(type):
            return _ranges(lower(opcode, intervals, type), type)
        return _ONLY_IF_VALID if is_string(type) or is_uuid(type) else _NEVER
    if opcode is Opcode.NUMBER_RANGE:
        return _ranges(lower(opcode, intervals, type), type) if is_number(type) else _NEVER
    if pat.is_float64(type):
        return _ranges(lower(opcode, intervals, type), type)
    bounds = [bound for interval in intervals.values for bound in interval[0::2] if bound is not None]
    if pat.is_integer(type) and all(abs(bound) < 2**53 for bound in bounds):
        # Up to there no integer becomes another one as a double, and none beyond falls below it.
        return _ranges(lower(Opcode.NUMBER_RANGE, intervals, type), type)
    return _ONLY_IF_VALID


def _ordered(bound: StringBound, type: pa.DataType) -> _Bounds:
    if not is_string(type):
        return _ONLY_IF_VALID if is_uuid(type) else _NEVER
    # Where two strings first differ one has a character of the bound's. While that is below the surrogates, UTF-16 code
    # units and bytes order the two alike.
    if any(character >= "\ud800" for character in bound.value):
        return _ONLY_IF_VALID
    return Bounds.exactly(Order(bound.operator, bound.value))


def _searched(opcode: Opcode, text: str, type: pa.DataType) -> _Bounds:
    ignore_case = opcode is Opcode.CONTAINS_IGNORE_CASE
    if is_string(type):
        return Bounds.exactly(SearchesIgnoringCase(text.lower()) if ignore_case else Searches(text))
    if is_list(type):
        of_strings = is_string(value_type(type.value_type)) and not ignore_case
        return Bounds.exactly(Holds((text,))) if of_strings else _ONLY_IF_VALID
    return _ONLY_IF_VALID if is_uuid(type) else _NEVER


_NO_DIGITS = ("NaN", "Infinity", "-Infinity")


def _text_equals(texts: tuple[str, ...], type: pa.DataType) -> _Bounds:
    if is_string(type):
        return Bounds.exactly(Texts(texts))
    if pat.is_boolean(type):
        return Bounds.exactly(Bools("false" in texts, "true" in texts))
    if pat.is_integer(type):
        numbers = [int(text) for text in texts if re.fullmatch(r"0|-?[1-9][0-9]{0,19}", text)]
    elif pat.is_float64(type) and not any(text in _NO_DIGITS for text in texts):
        plain = [(text, float(text)) for text in texts if len(text) <= 400 and is_plain_number(text)]
        numbers = [canonical_number(number) for text, number in plain if text_of(number) == text]  # type: ignore[misc]
    else:
        return _ONLY_IF_VALID
    intervals = Intervals(tuple(point(number) for number in sorted(set(numbers))))
    return _ranges(lower(Opcode.NUMBER_RANGE, intervals, type), type)


def _ranges(lowered: Lowered, type: pa.DataType) -> _Bounds:
    """The closed ranges that a constant was lowered to."""
    if pat.is_floating(type):
        greatest = float(np.finfo(type.to_pandas_dtype()).max)
        doubles = struct.iter_unpack("=2d", lowered.doubles)
        narrow = [(_narrowed(low, type, 1), _narrowed(high, type, -1)) for low, high in doubles]
        return _question([pair for pair in narrow if pair[0] <= pair[1]], -greatest, greatest)
    integers: list[tuple[int, int]] = [
        *struct.iter_unpack("=2q", lowered.int64s),
        *struct.iter_unpack("=2Q", lowered.uint64s),
    ]
    for limbs in struct.iter_unpack("=8Q", lowered.wides):
        low, high = (
            int.from_bytes(struct.pack("<4Q", *half), "little", signed=True) for half in (limbs[:4], limbs[4:])
        )
        integers.append((low, high))
    if pat.is_decimal(type):
        greatest_decimal = 10**type.precision - 1
        return _question(_clipped(integers, greatest_decimal), -greatest_decimal, greatest_decimal)
    bits = type.bit_width
    if pat.is_unsigned_integer(type):
        return _question(integers, 0, 2**bits - 1)
    return _question(integers, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _clipped(pairs: list[tuple[int, int]], greatest: int) -> list[tuple[int, int]]:
    clipped = [(max(low, -greatest), min(high, greatest)) for low, high in pairs]
    return [pair for pair in clipped if pair[0] <= pair[1]]


def _narrowed(bound: float, type: pa.DataType, towards: int) -> float:
    """The first value of a type of floats at a bound or behind it, going up or down."""
    kind = type.to_pandas_dtype()
    greatest = float(np.finfo(kind).max)
    if abs(bound) > greatest:
        inside = (bound > 0) == (towards < 0)
        return (greatest if bound > 0 else -greatest) if inside else bound
    nearest = kind(bound)
    if (float(nearest) < bound) if towards > 0 else (float(nearest) > bound):
        nearest = np.nextafter(nearest, kind(towards * np.inf))
    return float(nearest)


def _question(
    pairs: list[tuple[int, int]] | list[tuple[float, float]], least: int | float, greatest: int | float
) -> _Bounds:
    return Bounds.exactly(Ranges(tuple(pairs), least, greatest)) if pairs else _NEVER
