"""JSONB as PostgreSQL 15 has it: the text of a value (``->>``), the plain-number guard, and containment (``@>``).

A value that did not come from JSON text counts as if it had been rendered as JSON: a number by its shortest text, an
instant as JavaScript's ``toISOString`` spells it, NaN and the infinities as strings.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Generator
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Self

from fastfilter.values import INT64_MIN, MISSING, UINT64_MAX, Instant, JsonFloat, parse_timestamp

__all__ = ["NarrowFloat", "contains", "is_plain_number", "iso_text", "plain_number", "text_of"]


class NarrowFloat(float):
    """A float16 or float32: its exact value, and ``width``, 2 or 4 bytes, in which its text is the shortest."""

    __slots__ = ("width",)
    width: int

    def __new__(cls, value: float, width: int) -> Self:
        number = super().__new__(cls, value)
        number.width = width
        return number


def _shortest(number: NarrowFloat) -> str:
    """The shortest decimal that gives a number, not zero and finite, back in its own width; of several, the nearest."""
    code, integer = ("<e", "<H") if number.width == 2 else ("<f", "<I")
    magnitude = abs(float(number))
    (bits,) = struct.unpack(integer, struct.pack(code, magnitude))
    (below,) = struct.unpack(code, struct.pack(integer, bits - 1))
    (above,) = struct.unpack(code, struct.pack(integer, bits + 1))
    above = above if math.isfinite(above) else magnitude + (magnitude - below)
    # Halfway to the neighbours, which a double holds exactly; a decimal there rounds to the even one.
    low, high = (below + magnitude) / 2, (magnitude + above) / 2

    def gives_it_back(decimal: str) -> bool:
        double = float(decimal)
        if double != low and double != high:
            return bool(low < double < high)
        exact, exact_low, exact_high = Fraction(decimal), Fraction(low), Fraction(high)
        return exact_low < exact < exact_high or (bits % 2 == 0 and exact in (exact_low, exact_high))

    for precision in range(1, 18):
        decimal = f"{magnitude:.{precision - 1}e}"
        if not gives_it_back(decimal):
            # Below a power of two numbers stand closer than above it: the nearest decimal may miss, the next one hit.
            mantissa, exponent = decimal.split("e")
            digits = str(int(mantissa.replace(".", "")) + 1)
            decimal = f"{digits}e{int(exponent) - (precision - 1)}"
            if not gives_it_back(decimal):
                continue
        return ("-" if number < 0 else "") + decimal
    raise AssertionError(number)  # seventeen digits suffice for any double


_NUMBER: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?)0*([0-9]+))?")
_NO_LIMIT: Final = 2**62
_LONGEST_EXACT: Final = len(str(INT64_MIN))


def _plain_digits(spelling: str, limit: int) -> str | None:
    """A decimal number without exponent, as PostgreSQL's numeric keeps its digits; None if longer than ``limit``."""
    match = _NUMBER.fullmatch(spelling)
    assert match is not None, spelling
    sign, integer, fraction, exponent_sign, exponent_digits = match.groups("")
    exponent = int(exponent_digits or "0") if len(exponent_digits) <= 18 else 10**18
    if exponent_sign == "-":
        exponent = -exponent
    digits = (integer + fraction).lstrip("0")
    scale = max(0, len(fraction) - exponent)
    if not digits:
        return None if scale + 2 > limit and scale else "0." + "0" * scale if scale else "0"
    # The value is `digits` times ten to the power of -(len(fraction) - exponent).
    num_integer_digits = len(digits) - (len(fraction) - exponent)
    if len(sign) + max(1, num_integer_digits) + scale + (scale > 0) > limit:
        return None
    if num_integer_digits <= 0:
        return f"{sign}0.{'0' * -num_integer_digits}{digits}"
    if scale == 0:
        return sign + digits + "0" * (num_integer_digits - len(digits))
    return f"{sign}{digits[:num_integer_digits]}.{digits[num_integer_digits:]}"


def _number_text(number: float | Decimal, limit: int) -> str | None:
    """A number's text; None if it is longer than ``limit``, which only numbers of great magnitude are cut short by."""
    if isinstance(number, int):
        try:
            return str(number)
        except ValueError:  # more digits than int.__str__ gives
            return format(Decimal(number), "f")
    if isinstance(number, JsonFloat):
        return _plain_digits(number.spelling, limit)
    if isinstance(number, Decimal):
        if number.is_finite():
            return _plain_digits(str(number), limit)
        return "NaN" if number.is_nan() else "Infinity" if number > 0 else "-Infinity"
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    if not isinstance(number, NarrowFloat):
        return _plain_digits(repr(float(number)).removesuffix(".0"), limit)
    text = _plain_digits(_shortest(number), _NO_LIMIT) or ""
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if len(text) <= limit else None


def iso_text(instant: Instant) -> str:
    """An instant as ``Date.prototype.toISOString`` spells it, with three, six or nine digits of fraction as it needs.

    Years outside 0 to 9999 get a sign and at least six digits.

    Example:
        >>> iso_text(Instant(0)), iso_text(Instant(-1))
        ('1970-01-01T00:00:00.000Z', '1969-12-31T23:59:59.999999999Z')
    """
    seconds, nanosecond = divmod(instant.nanoseconds, 1_000_000_000)
    days, second_of_day = divmod(seconds, 86_400)
    # Civil date from a day number: eras of 400 years that begin in March, so that the leap day is a year's last.
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    year = year_of_era + 400 * era + (month <= 2)
    year_text = f"{year:04d}" if 0 <= year <= 9999 else f"{'-' if year < 0 else '+'}{abs(year):06d}"
    fraction = f"{nanosecond:09d}"
    if fraction.endswith("000"):
        fraction = fraction[:3] if fraction.endswith("000000") else fraction[:6]
    hour, minute, second = second_of_day // 3_600, second_of_day // 60 % 60, second_of_day % 60
    return f"{year_text}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{fraction}Z"


_ESCAPES: Final = {character: f"\\u{character:04x}" for character in range(0x20)} | {
    ord('"'): '\\"', ord("\\"): "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r",
}  # fmt: skip


def _quoted(string: str) -> str:
    return '"' + string.translate(_ESCAPES) + '"'


def _key_order(key: str) -> tuple[int, bytes]:
    encoded = key.encode("utf-8", "surrogatepass")
    return len(encoded), encoded


class _Verbatim(str):
    """A piece of text that is part of the rendering, not a string to be quoted."""

    __slots__ = ()


def text_of(value: Any, limit: int | None = None) -> str | None:
    """The JSONB text of a value that is neither MISSING nor None, as ``->>`` gives it.

    Args:
        value: a value as :mod:`fastfilter.values` defines them.
        limit: the longest text, in characters, that is of interest; None for any.

    Returns:
        The text, or None if it is longer than ``limit``; a number such as ``1e999999999`` is then not expanded.

    Example:
        >>> text_of({"bb": [1, None], "a": JsonFloat("1.50e1")})
        '{"a": 15.0, "bb": [1, null]}'
    """
    limit = _NO_LIMIT if limit is None else limit
    if isinstance(value, list | dict):
        return _container_text(value, limit)
    text = value if isinstance(value, str) else _scalar_text(value, limit, quote=False)
    return text if text is not None and len(text) <= limit else None


def _scalar_text(value: Any, limit: int, *, quote: bool = True) -> str | None:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Instant):
        text: str | None = iso_text(value)
    else:
        text = _number_text(value, limit)
        if text is None or text[-1].isdigit():
            return text
    return f'"{text}"' if quote else text


def _container_text(value: list[Any] | dict[str, Any], limit: int) -> str | None:
    pieces: list[str] = []
    length = 0
    stack: list[Any] = [value]  # what is still to be rendered, the next one last
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            todo: list[Any] = [_Verbatim("[")]
            for element in item:
                todo += (element, _Verbatim(", "))
            todo[max(1, len(todo) - 1) :] = [_Verbatim("]")]
            stack += reversed(todo)
            continue
        if isinstance(item, dict):
            todo = [_Verbatim("{")]
            for key in sorted(item, key=_key_order):
                todo += (_Verbatim(_quoted(key) + ": "), item[key], _Verbatim(", "))
            todo[max(1, len(todo) - 1) :] = [_Verbatim("}")]
            stack += reversed(todo)
            continue
        piece = item if isinstance(item, _Verbatim) else _scalar_text(item, limit)
        length += _NO_LIMIT + 1 if piece is None else len(piece)
        if piece is None or length > limit:
            return None
        pieces.append(piece)
    return "".join(pieces)


_PLAIN_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def is_plain_number(text: str) -> bool:
    r"""Whether a text matches ``^-?[0-9]+(\.[0-9]+)?$``, the guard before a text is read as a number."""
    return _PLAIN_NUMBER.fullmatch(text) is not None


def plain_number(value: Any) -> float | None:
    """The JSONB text of a value read as a double; None if the value has no text, or one that is no plain number.

    The result is infinite if the number overflows.

    Example:
        >>> plain_number("05"), plain_number("1e3"), plain_number(JsonFloat("1e3"))
        (5.0, None, 1000.0)
    """
    if isinstance(value, str):
        return float(value) if is_plain_number(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() else None
    try:
        if not isinstance(value, JsonFloat) and not math.isfinite(value):
            return None
        return float(_shortest(value) if isinstance(value, NarrowFloat) and value else value)
    except OverflowError:  # an int
        return math.inf if value > 0 else -math.inf


def _json_scalar(value: Any) -> Any:
    """A scalar as JSON would give it back: an int64 or uint64 exactly, any other number as the nearest double.

    An instant and a number that is none (NaN, infinite) are strings; a JSON number that overflows is infinite.
    """
    if value is None or isinstance(value, bool | str | JsonFloat):
        return value
    if isinstance(value, Instant):
        return iso_text(value)
    text = _number_text(value, _LONGEST_EXACT)
    if text is None:
        return plain_number(value)
    if not text[-1].isdigit():
        return text
    if "." not in text and len(text) <= _LONGEST_EXACT:
        integer = int(text)
        if INT64_MIN <= integer <= UINT64_MAX:
            return integer
    return plain_number(value)


def _equal_scalars(value: Any, pattern: Any) -> bool:
    """Whether two scalars that JSON gave back are equal; a number that overflows equals nothing."""
    if pattern is None or isinstance(pattern, bool):
        return value is pattern
    if isinstance(pattern, str):
        return isinstance(value, str) and value == pattern
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and not (isinstance(value, float) and math.isinf(value))
        and bool(value == pattern)
    )


def contains(value: Any, pattern: Any) -> bool:
    """Whether ``value`` JSONB-contains ``pattern``, PostgreSQL's ``@>``.

    ``pattern`` is what :func:`~fastfilter.runtime.vm.python.json_text.parse_json` gives. Scalars must be equal; every
    pair of a pattern object must be contained under the same key, every element of a pattern array in some element;
    and, at the top only, an array contains a scalar that equals one of its elements. There a TIMESTAMP also equals a
    string that reads as its instant, as in a column of that type.

    Example:
        >>> contains([1, [2, 3]], [[3]]), contains(["a"], "a"), contains("a", ["a"])
        (True, True, False)
    """
    if value is MISSING:
        return False
    if isinstance(pattern, list | dict):
        return _run(_contains_container(value, pattern))
    instant = parse_timestamp(pattern) if isinstance(pattern, str) else None
    for candidate in value if isinstance(value, list) else (value,):
        if isinstance(candidate, Instant) and isinstance(pattern, str):
            if instant is not None and candidate.nanoseconds == instant:
                return True
        elif not isinstance(candidate, list | dict) and _equal_scalars(_json_scalar(candidate), pattern):
            return True
    return False


_Question = Generator[tuple[Any, Any], bool, bool]
"""A containment test under way: it asks whether one container contains another, and is sent the answer."""


def _run(question: _Question) -> bool:
    """Answers a question and all those it asks, with a stack of its own: values may nest deeper than calls can."""
    stack = [question]
    answer: bool | None = None
    while stack:
        try:
            asked = next(stack[-1]) if answer is None else stack[-1].send(answer)
            stack.append(_contains_container(*asked))
            answer = None
        except StopIteration as end:
            stack.pop()
            answer = bool(end.value)
    return bool(answer)


def _contains_container(value: Any, pattern: list[Any] | dict[str, Any]) -> _Question:
    if isinstance(pattern, dict):
        if not isinstance(value, dict):
            return False
        for key, wanted in pattern.items():
            if key not in value:
                return False
            found = value[key]
            if isinstance(wanted, list | dict):
                if not (yield found, wanted):
                    return False
            elif isinstance(found, list | dict) or not _equal_scalars(_json_scalar(found), wanted):
                return False
        return True
    if not isinstance(value, list):
        return False
    scalars = [_json_scalar(element) for element in value if not isinstance(element, list | dict)]
    containers = [element for element in value if isinstance(element, list | dict)]
    for wanted in pattern:
        if isinstance(wanted, list | dict):
            for element in containers:
                if (yield element, wanted):
                    break
            else:
                return False
        elif not any(_equal_scalars(scalar, wanted) for scalar in scalars):
            return False
    return True
