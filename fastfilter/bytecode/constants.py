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


_TIMESTAMP_RANGE = Opcode.TIMESTAMP_RANGE


def not_timestamp(opcode: Opcode, constant: Constant | None) -> str | None:
    """The first literal of a test that is neither null nor a full ISO 8601 timestamp, spelled as JSON; or None."""
    if constant is None or opcode is _TIMESTAMP_RANGE:
        return None
    texts: tuple[str, ...]
    if isinstance(constant, ScalarSet):
        if constant.false or constant.true:
            return "false" if constant.false else "true"
        if constant.numbers:
            return repr(constant.numbers[0])
        texts = constant.strings
    elif isinstance(constant, Intervals):
        for lower, _, upper, _ in constant.values:
            if lower is not None or upper is not None:
                return repr(upper if lower is None else lower)
        return None
    elif isinstance(constant, Strings):
        texts = constant.values
    elif isinstance(constant, Json):
        if not constant.text.startswith('"'):
            return None if constant.text == "null" else constant.text
        texts = (json.loads(constant.text),)
    else:
        texts = (constant.value,)
    for text in texts:
        if parse_timestamp(text) is None:
            # In ASCII only where no text can hold the string itself: with a lone surrogate in it.
            spelled = encode_basestring(text)
            return spelled if spelled.isascii() or _is_encodable(spelled) else json.dumps(text)
    return None


def _is_encodable(string: str) -> bool:
    try:
        string.encode()
    except UnicodeEncodeError:
        return False
    return True
