"""Values, their kinds, and the rules by which they compare: what compiler and runtime both know.

A value of a row is a plain Python object: ``MISSING``, ``None``, ``bool``, a number (``int``, ``float``,
``decimal.Decimal``, or :class:`JsonFloat`), ``str``, :class:`Instant`, ``list`` or ``dict``. A *scalar* of a filter is
``None``, ``bool``, a canonical number (:func:`canonical_number`) or ``str``.
"""

from __future__ import annotations

import datetime
import enum
import math
import re
from decimal import Decimal
from typing import Final, NamedTuple

__all__ = [
    "INT64_MAX", "INT64_MIN", "MISSING", "UINT64_MAX", "Elements", "Instant", "Interval", "JsonFloat", "Kind",
    "Missing", "Number", "ScalarSet", "StringBound", "as_decimal", "canonical_number", "number_in", "parse_timestamp",
    "point", "utf16_key",
]  # fmt: skip

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
UINT64_MAX: Final = 2**64 - 1


class Kind(enum.IntEnum):
    """The kind of a value (docs/semantics.md, "Values"). The numbers are shared with the native code."""

    MISSING = 0
    NULL = 1
    BOOL = 2
    NUMBER = 3
    STRING = 4
    TIMESTAMP = 5
    ARRAY = 6
    OBJECT = 7


class Missing(enum.Enum):
    """The type of the one value :data:`MISSING`: the key is not there."""

    MISSING = "MISSING"


MISSING: Final = Missing.MISSING


class Instant(NamedTuple):
    """An exact instant: nanoseconds since 1970-01-01T00:00:00Z, of any size."""

    nanoseconds: int


class JsonFloat(float):
    """A JSON number that is no int64 or uint64: the nearest double (infinite if none is), and its spelling.

    The spelling is what a dialect that compares *texts* needs: ``1.50`` and ``1.5`` are one number and two texts.
    """

    __slots__ = ("spelling",)
    spelling: str

    def __new__(cls, spelling: str) -> JsonFloat:
        number = super().__new__(cls, spelling)
        number.spelling = spelling
        return number


Number = int | float | Decimal


def canonical_number(number: int | float) -> int | float:
    """A filter's number in its one form: an int where the value is integral and fits int64 or uint64, else a double.

    So ``10``, ``10.0`` and ``1e1`` are one constant, ``-0.0`` is ``0``, and doubles and ints are ordered alike however
    they are spelled. An int beyond uint64 becomes the nearest double, infinite if it overflows.

    Example:
        >>> canonical_number(10.0), canonical_number(0.5), canonical_number(10**30)
        (10, 0.5, 1e+30)
    """
    if isinstance(number, int):
        if INT64_MIN <= number <= UINT64_MAX:
            return int(number)
        try:
            number = float(number)
        except OverflowError:
            return float("inf") if number > 0 else float("-inf")
    if number.is_integer() and INT64_MIN <= number <= UINT64_MAX:
        return int(number)
    return float(number)


class Interval(NamedTuple):
    """A range of numbers (or of instants, in nanoseconds): from ``lower`` to ``upper``, None where it is open-ended.

    A bound belongs to the interval if its ``_closed`` flag is set. Bounds are canonical numbers.
    """

    lower: int | float | None
    lower_closed: bool
    upper: int | float | None
    upper_closed: bool


def point(number: int | float) -> Interval:
    """The interval that holds one number only."""
    return Interval(number, True, number, True)


def as_decimal(literal: int | float) -> Decimal:
    """What a literal (finite) counts as against a decimal: a whole number as itself, any other double as it is spelled.

    So ``44.4`` equals decimal 44.4, though no double is exactly 44.4, and ``2.0**64`` is 18446744073709551616.

    Example:
        >>> as_decimal(44.4), as_decimal(2.0**64)
        (Decimal('44.4'), Decimal('18446744073709551616'))
    """
    return Decimal(int(literal)) if isinstance(literal, int) or literal.is_integer() else Decimal(repr(literal))


def number_in(value: Number, interval: Interval) -> bool:
    """Whether a number lies in an interval, by exact mathematical value.

    A literal against a Decimal counts as :func:`as_decimal` says; against everything else it is the nearest double. NaN
    and infinities lie in no interval.
    """
    if isinstance(value, Decimal):
        if not value.is_finite():
            return False
    elif isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return False
    lower: Number | None = interval.lower
    upper: Number | None = interval.upper
    if isinstance(value, Decimal):
        lower = _bound_as_decimal(lower)
        upper = _bound_as_decimal(upper)
    if lower is not None and not (value >= lower if interval.lower_closed else value > lower):
        return False
    return upper is None or (value <= upper if interval.upper_closed else value < upper)


def _bound_as_decimal(bound: Number | None) -> Number | None:
    return as_decimal(bound) if isinstance(bound, float) and math.isfinite(bound) else bound


class Elements(enum.IntEnum):
    """Whether a condition looks at an ARRAY's elements: never, as well as at the value itself, or only at them."""

    NEVER = 0
    ALSO = 1
    ONLY = 2


class ScalarSet(NamedTuple):
    """The scalars an equality accepts, by kind; a value equals one of them if kind and value are equal.

    ``null`` only ever equals an *element* of an array. ``instants`` are nanoseconds since the epoch: a TIMESTAMP equals
    one by instant, and so does a STRING that :func:`parse_timestamp` reads as one. Tuples hold no value twice and are
    sorted (strings by code point).
    """

    null: bool = False
    false: bool = False
    true: bool = False
    numbers: tuple[int | float, ...] = ()
    strings: tuple[str, ...] = ()
    instants: tuple[int, ...] = ()


class StringBound(NamedTuple):
    """One side of a string order: ``operator`` is ``gt``, ``gte``, ``lt`` or ``lte``; UTF-16 code-unit order."""

    operator: str
    value: str


def utf16_key(string: str) -> bytes:
    """A sort key for UTF-16 code-unit order, JavaScript's; lone surrogates count as the unit they are.

    Example:
        >>> utf16_key("\\U0001f600") < utf16_key("\\uff61")
        True
    """
    return string.encode("utf-16-be", "surrogatepass")


_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_EPOCH_ORDINAL: Final = datetime.date(1970, 1, 1).toordinal()


def parse_timestamp(text: str) -> int | None:
    """Nanoseconds since the epoch of a full ISO 8601 timestamp, or None if ``text`` is not one.

    The grammar is ``YYYY-MM-DDThh:mm:ss``, optionally ``.`` and 1 to 9 digits, then ``Z`` or ``±hh:mm``
    (docs/semantics.md). ``24:00:00`` exactly is the next midnight; second 60, dates that do not exist and offsets
    beyond 23:59 are refused. Year 0000 is the proleptic Gregorian year before 0001.

    Example:
        >>> parse_timestamp("1970-01-01T00:00:01.5Z")
        1500000000
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    nanosecond = int((match[7] or "0").ljust(9, "0"))
    if hour > 24 or minute > 59 or second > 59 or (hour == 24 and (minute or second or nanosecond)):
        return None
    offset = 0
    if match[8]:
        offset_hour, offset_minute = int(match[9]), int(match[10])
        if offset_hour > 23 or offset_minute > 59:
            return None
        offset = (offset_hour * 60 + offset_minute) * (60 if match[8] == "+" else -60)
    try:
        # datetime begins at year 1; year 0 is year 400 one Gregorian cycle (146,097 days) earlier.
        days = datetime.date(year or 400, month, day).toordinal() - (0 if year else 146_097)
    except ValueError:
        return None
    seconds = (days - _EPOCH_ORDINAL) * 86_400 + hour * 3_600 + minute * 60 + second - offset
    return seconds * 1_000_000_000 + nanosecond
