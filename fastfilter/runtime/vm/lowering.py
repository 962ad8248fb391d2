"""Constants as the native kernels compare them: in the very numbers and bytes that a column of a type stores.

All rounding is decided here, exactly, with Python's integers and decimals; a kernel then only compares. A bound that no
stored number can equal moves to the next one that lies inside, and an interval without any is dropped. Every interval
is closed, none is empty, and they ascend. So an int8 column never meets 128, and a column of seconds never meets the
half second.
"""

from __future__ import annotations

import contextlib
import json
import math
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, localcontext
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as pat

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.runtime.arrow_types import is_instant, is_list, is_number, value_type
from fastfilter.values import INT64_MAX, INT64_MIN, UINT64_MAX, Interval, ScalarSet, StringBound, as_decimal, point

__all__ = ["Lowered", "lower", "needle"]


@dataclass(frozen=True, slots=True)
class Lowered:
    """What a native test compares with; of numbers only those forms are filled that its type is compared in.

    Attributes:
        null: a null element is among the scalars.
        false: false is.
        true: true is.
        int64s: pairs of int64, lower and upper: signed integers, instants in their unit, decimals of up to 64 bits.
        uint64s: pairs of uint64.
        doubles: pairs of doubles.
        wides: pairs of 256-bit integers: decimals of 128 and 256 bits.
        instants: for strings that spell one: lower seconds and nanoseconds, upper seconds and nanoseconds.
        strings: in UTF-8, by length and then by bytes.
        text: the text to search for, lower-cased if case is ignored; or the bound of an order.
        sides: whether a string may lie below the bound, at it, above it.
        json: the JSON value to be contained, or None.
        needle: of a JSON value, see :func:`needle`.
    """

    null: bool = False
    false: bool = False
    true: bool = False
    int64s: bytes = b""
    uint64s: bytes = b""
    doubles: bytes = b""
    wides: bytes = b""
    instants: bytes = b""
    strings: tuple[bytes, ...] = ()
    text: bytes = b""
    sides: tuple[bool, bool, bool] = (False, False, False)
    json: bytes | None = None
    needle: bytes = b""


def lower(opcode: Opcode, constant: Constant | None, type: pa.DataType | None) -> Lowered:
    """The constant of a test, for the values it is asked of.

    Args:
        opcode: the test.
        constant: its constant, None if it has none.
        type: type of the field's values, without encodings; None for JSON values and for a field that is MISSING. Of a
            list it is the elements that are compared.
    """
    element = value_type(type.value_type) if type is not None and is_list(type) else type
    if isinstance(constant, ScalarSet):
        return _lower_scalars(constant, element)
    if isinstance(constant, Intervals):
        if opcode is Opcode.TIMESTAMP_RANGE:
            return _lower_instants(constant.values, element)
        if opcode is Opcode.TEXT_NUMBER_RANGE:
            return Lowered(doubles=_doubles([_of_doubles(interval) for interval in constant.values]))
        return _lower_numbers(constant.values, element)
    if isinstance(constant, StringBound):
        below, above = constant.operator in ("lt", "lte"), constant.operator in ("gt", "gte")
        return Lowered(text=_utf8(constant.value), sides=(below, constant.operator in ("lte", "gte"), above))
    if isinstance(constant, Text):
        text = constant.value.lower() if opcode is Opcode.CONTAINS_IGNORE_CASE else constant.value
        return Lowered(text=_utf8(text), strings=_strings([text]))
    if isinstance(constant, Strings):
        return Lowered(strings=_strings(constant.values))
    if isinstance(constant, Json):
        return Lowered(json=_utf8(constant.text))
    return Lowered()


def needle(opcode: Opcode, constant: Constant | None, path: tuple[str, ...]) -> bytes:
    """Bytes that stand in every JSON text without a backslash on whose value the test is true; empty if none are known.

    Without a backslash a string or key stands in the text as it is, between quotes. A test is false where its path is
    MISSING, so all keys of the path must be there; what a string must equal or hold must be there as well, and tells
    more rows apart than a key does. A text that is not well-formed is MISSING, whatever stands in it.

    Args:
        opcode: the test.
        constant: its constant, None if it has none.
        path: of the value in the text.
    """
    literals: list[str] = []
    if isinstance(constant, ScalarSet):
        others = constant.null or constant.false or constant.true or constant.numbers or constant.instants
        literals = [f'"{string}"' for string in constant.strings] if not others else []
    elif isinstance(constant, Strings):
        # The text of a number, a bool or a container needs no quotes.
        literals = ["" if _may_be_bare(string) else f'"{string}"' for string in constant.values]
    elif isinstance(constant, Text) and opcode is Opcode.CONTAINS:
        literals = [constant.value]
    elif isinstance(constant, Json):
        with contextlib.suppress(RecursionError):  # nested more deeply than Python reads: the path's keys must do
            literals = [max(_strings_in(json.loads(constant.text)), key=len, default="")]
    if len(literals) == 1 and literals[0]:
        return _utf8(literals[0])
    return max((_utf8(f'"{key}"') for key in path), key=len, default=b"")


def _may_be_bare(text: str) -> bool:
    return text in ("true", "false", "null") or text[:1] in tuple("-0123456789[{")


def _strings_in(value: Any) -> Iterator[str]:
    """The strings and keys in a JSON value, in quotes."""
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield f'"{value}"'
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            pending += [*value, *value.values()]


def _lower_scalars(scalars: ScalarSet, type: pa.DataType | None) -> Lowered:
    instants = [point(instant) for instant in sorted(scalars.instants)]
    is_typed_instant = type is not None and is_instant(type)
    numbers = _lower_instants(instants, type) if is_typed_instant else _lower_numbers(map(point, scalars.numbers), type)
    return Lowered(
        null=scalars.null,
        false=scalars.false,
        true=scalars.true,
        int64s=numbers.int64s,
        uint64s=numbers.uint64s,
        doubles=numbers.doubles,
        wides=numbers.wides,
        instants=b"" if is_typed_instant else _seconds(instants),
        strings=_strings(scalars.strings),
    )


def _lower_numbers(intervals: Iterable[Interval], type: pa.DataType | None) -> Lowered:
    """For a JSON value (no type) in all three forms of a number that JSON has."""
    given = list(intervals)
    if type is None:
        return Lowered(
            int64s=_integers(given, INT64_MIN, INT64_MAX, "=2q"),
            uint64s=_integers(given, 0, UINT64_MAX, "=2Q"),
            doubles=_doubles(given),
        )
    if not is_number(type):
        return Lowered()
    if pat.is_floating(type):
        return Lowered(doubles=_doubles(given))
    if pat.is_decimal(type):
        return _lower_decimals(given, type)
    bits = type.bit_width
    if pat.is_unsigned_integer(type):
        return Lowered(uint64s=_integers(given, 0, 2**bits - 1, "=2Q"))
    return Lowered(int64s=_integers(given, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, "=2q"))


_Round = Callable[[int | float], tuple[int, bool]]
"""A bound in stored units: the greatest integer that is not above it, and whether it is the bound itself."""


def _closed(intervals: Iterable[Interval], minimum: int, maximum: int, round_down: _Round) -> list[tuple[int, int]]:
    """The intervals as closed ones of integers within a type's range; those that hold none are left out."""
    closed: list[tuple[int, int]] = []
    for interval in intervals:
        lowest, highest = minimum, maximum
        if interval.lower is not None:
            if interval.lower == math.inf:
                continue
            if interval.lower != -math.inf:
                integer, exact = round_down(interval.lower)
                lowest = max(minimum, integer if exact and interval.lower_closed else integer + 1)
        if interval.upper is not None:
            if interval.upper == -math.inf:
                continue
            if interval.upper != math.inf:
                integer, exact = round_down(interval.upper)
                highest = min(maximum, integer - 1 if exact and not interval.upper_closed else integer)
        if lowest <= highest:
            closed.append((lowest, highest))
    return sorted(closed)


def _floor(number: int | float) -> tuple[int, bool]:
    integer = math.floor(number)
    return integer, integer == number


def _integers(intervals: Iterable[Interval], minimum: int, maximum: int, pair: str) -> bytes:
    return b"".join(struct.pack(pair, *bounds) for bounds in _closed(intervals, minimum, maximum, _floor))


def _lower_decimals(intervals: Iterable[Interval], type: pa.DataType) -> Lowered:
    """In units of the last digit. A literal counts as `as_decimal` says: 44.4 is in decimal(3, 1)."""
    scale = type.scale

    def round_down(number: int | float) -> tuple[int, bool]:
        with localcontext(_EXACT):
            scaled = as_decimal(number).scaleb(scale)
            integer = int(scaled.to_integral_value(ROUND_FLOOR))
            return integer, integer == scaled

    bits = type.bit_width
    closed = _closed(intervals, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, round_down)
    if bits <= 64:
        return Lowered(int64s=b"".join(struct.pack("=2q", *bounds) for bounds in closed))
    limbs = [bound >> shift & UINT64_MAX for bounds in closed for bound in bounds for shift in (0, 64, 128, 192)]
    return Lowered(wides=struct.pack(f"={len(limbs)}Q", *limbs))


_EXACT: Final = Context(prec=2000, Emax=999_999, Emin=-999_999)
"""Enough for the digits of any double, shifted by any scale."""


def _doubles(intervals: Iterable[Interval]) -> bytes:
    """The finite doubles in the intervals. Data beyond them, NaN and the infinities, lies in no interval."""
    pairs: list[tuple[float, float]] = []
    for interval in intervals:
        lowest, highest = -sys.float_info.max, sys.float_info.max
        if interval.lower is not None:
            lowest = max(lowest, _double_from(interval.lower, interval.lower_closed, math.inf))
        if interval.upper is not None:
            highest = min(highest, _double_from(interval.upper, interval.upper_closed, -math.inf))
        if lowest <= highest:
            pairs.append((lowest, highest))
    return b"".join(struct.pack("=2d", *bounds) for bounds in sorted(pairs))


def _double_from(bound: int | float, closed: bool, towards: float) -> float:
    """The first double at a bound (if it is ``closed``) or behind it, going ``towards`` one of the infinities."""
    try:
        nearest = float(bound)
    except OverflowError:
        nearest = math.inf if bound > 0 else -math.inf
    inside = nearest > bound if towards > 0 else nearest < bound  # exact: Python compares int and float by value
    if inside or (closed and nearest == bound):
        return nearest
    return math.nextafter(nearest, towards)


def _of_doubles(interval: Interval) -> Interval:
    """The interval with its bounds read as doubles."""
    lower = None if interval.lower is None else float(interval.lower)
    upper = None if interval.upper is None else float(interval.upper)
    return Interval(lower, interval.lower_closed, upper, interval.upper_closed)


def _lower_instants(intervals: Iterable[Interval], type: pa.DataType | None) -> Lowered:
    """In the unit of a typed instant; for strings and JSON values in seconds and nanoseconds."""
    if type is None or not is_instant(type):
        return Lowered(instants=_seconds(intervals))
    unit = _NANOSECONDS[type.unit] if pat.is_timestamp(type) else _DATE_NANOSECONDS[type.bit_width]

    def round_down(instant: int | float) -> tuple[int, bool]:
        units, rest = divmod(int(instant), unit)
        return units, rest == 0

    bits = type.bit_width
    closed = _closed(intervals, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, round_down)
    return Lowered(int64s=b"".join(struct.pack("=2q", *bounds) for bounds in closed))


_NANOSECONDS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DATE_NANOSECONDS: Final = {32: 86_400 * 10**9, 64: 10**6}


def _seconds(intervals: Iterable[Interval]) -> bytes:
    lowest, highest = INT64_MIN * 10**9, INT64_MAX * 10**9 + 999_999_999
    packed = []
    for bounds in _closed(intervals, lowest, highest, lambda instant: (int(instant), True)):
        (lower_seconds, lower_rest), (upper_seconds, upper_rest) = (divmod(bound, 10**9) for bound in bounds)
        packed.append(struct.pack("=4q", lower_seconds, lower_rest, upper_seconds, upper_rest))
    return b"".join(packed)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _strings(texts: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(sorted(map(_utf8, texts), key=lambda text: (len(text), text)))
