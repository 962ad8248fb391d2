"""The constants of a program's pool, and the one place that knows which Python class stands for which type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from json.encoder import encode_basestring

from fastfilter.bytecode.opcodes import ConstantType, Opcode
from fastfilter.values import Interval, ScalarSet, StringBound, parse_timestamp

__all__ = ["Constant", "Intervals", "Json", "Strings", "Text", "constant_type", "not_timestamp"]


@dataclass(frozen=True, slots=True)
class Text:
    """A text to search for."""

    value: str


@dataclass(frozen=True, slots=True)
class Strings:
    """A set of strings: sorted by code point, none twice."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Json:
    """Any JSON value as compact JSON text (RFC 8259): non-ASCII characters stand as themselves, lone surrogates as
    escapes.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals in ascending order, no two of which overlap or touch."""

    values: tuple[Interval, ...]


Constant = ScalarSet | Intervals | StringBound | Text | Strings | Json

_TYPES: dict[type, ConstantType] = {
    ScalarSet: ConstantType.SCALARS,
    Intervals: ConstantType.INTERVALS,
    StringBound: ConstantType.STRING_BOUND,
    Text: ConstantType.TEXT,
    Strings: ConstantType.STRINGS,
    Json: ConstantType.JSON,
}


def constant_type(constant: Constant) -> ConstantType:
    """The type of a constant."""
    return _TYPES[type(constant)]


def not_timestamp(opcode: Opcode, constant: Constant | None) -> str | None:
    """The first literal of a test that is neither null nor a full ISO 8601 timestamp, spelled as JSON; or None."""
    if opcode is Opcode.TIMESTAMP_RANGE:
        return None
    literals: tuple[bool | int | float | str, ...]
    match constant:
        case None:
            return None
        case ScalarSet():
            booleans = ((False,) if constant.false else ()) + ((True,) if constant.true else ())
            literals = (*booleans, *constant.numbers, *constant.strings)
        case Intervals():
            literals = tuple(
                bound for interval in constant.values for bound in (interval.lower, interval.upper) if bound is not None
            )
        case StringBound() | Text():
            literals = (constant.value,)
        case Strings():
            literals = constant.values
        case Json():
            if constant.text == "null":
                return None
            if not constant.text.startswith('"'):
                return constant.text
            literals = (json.loads(constant.text),)
    for literal in literals:
        if isinstance(literal, bool):
            return "true" if literal else "false"
        if not isinstance(literal, str):
            return repr(literal)
        if parse_timestamp(literal) is None:
            # In ASCII only where no text can hold the string itself: with a lone surrogate in it.
            spelled = encode_basestring(literal)
            return spelled if _is_encodable(spelled) else json.dumps(literal)
    return None


def _is_encodable(string: str) -> bool:
    try:
        string.encode()
    except UnicodeEncodeError:
        return False
    return True
