"""What a JSON text means, in the plainest Python: the judges of the native scanner, JSONB text and containment."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

from native_library import ARRAY, BOOL, NULL, NUMBER, OBJECT, STRING


class Spelling(str):
    """A JSON number as it is spelled."""

    __slots__ = ()


def depth_of(text: str) -> int:
    """How deep the brackets outside of strings go (of a text that is JSON; of others at least not too much)."""
    deepest = depth = 0
    inside = escaped = False
    for character in text:
        if inside:
            inside, escaped = escaped or character != '"', not escaped and character == "\\"
        elif character == '"':
            inside = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def refuse(constant: str) -> None:
    """NaN and Infinity are not JSON."""
    raise ValueError(constant)


def parsed(text: bytes) -> Any:
    """The value by Python's json: numbers as Spelling. ``ValueError`` if it is not well-formed or too deep."""
    decoded = text.decode("utf-8", "strict")
    if depth_of(decoded) > 1024:
        raise ValueError("too deep")
    return json.loads(decoded, parse_int=Spelling, parse_float=Spelling, parse_constant=refuse)


def is_well_formed(text: bytes) -> bool:
    """By Python's json."""
    try:
        parsed(text)
    except ValueError:
        return False
    return True


def kind_of(value: Any) -> int:
    """The kind of a parsed value."""
    if isinstance(value, Spelling):
        return NUMBER
    return {type(None): NULL, bool: BOOL, str: STRING, list: ARRAY, dict: OBJECT}[type(value)]


def number_of(spelling: str) -> int | float:
    """An integer that fits int64 or uint64, else the nearest double."""
    if spelling.lstrip("-").isdigit() and len(spelling) < 30 and -(2**63) <= int(spelling) < 2**64:
        return int(spelling)
    return float(spelling)


def same_number(left: int | float, right: int | float) -> bool:
    """The same type and value, the sign of a zero double too."""
    return type(left) is type(right) and left == right and math.copysign(1, left) == math.copysign(1, right)


def encoded(text: str) -> bytes:
    """UTF-8, lone surrogates in three bytes."""
    return text.encode("utf-8", "surrogatepass")


def jsonb_number(spelling: str) -> str:
    """PostgreSQL's numeric: plain digits, the scale as written, no negative zero."""
    number = Decimal(spelling)
    return format(number or abs(number), "f")


ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def jsonb_string(text: str) -> str:
    """A quoted string as PostgreSQL escapes it."""
    escaped = (ESCAPES.get(c) or (c if c >= " " else f"\\u{ord(c):04x}") for c in text)
    return '"' + "".join(escaped) + '"'


def jsonb_inner(value: Any) -> str:
    """A value inside an array or object as JSONB prints it."""
    if isinstance(value, Spelling):
        return jsonb_number(value)
    if isinstance(value, str):
        return jsonb_string(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(jsonb_inner, value)) + "]"
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(encoded(key)), encoded(key)))
        return "{" + ", ".join(f"{jsonb_string(key)}: {jsonb_inner(value[key])}" for key in keys) + "}"
    return {None: "null", True: "true", False: "false"}[value]


def jsonb_text(value: Any) -> bytes:
    """What ``->>`` gives, of a value that is not null."""
    return encoded(str(value) if type(value) is str else jsonb_inner(value))


def scalars_equal(left: Any, right: Any) -> bool:
    """Numbers by value; one that overflows equals nothing."""
    if kind_of(left) != kind_of(right):
        return False
    if kind_of(left) == NUMBER:
        a, b = number_of(left), number_of(right)
        return a == b and not math.isinf(a)
    return bool(left == right)


def contains_inside(value: Any, wanted: Any) -> bool:
    """JSONB containment below the top."""
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(
            key in value and contains_inside(value[key], item) for key, item in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(contains_inside(e, item) for e in value) for item in wanted)
    return not isinstance(value, dict | list) and scalars_equal(value, wanted)


def contains(value: Any, wanted: Any) -> bool:
    """PostgreSQL's ``value @> wanted``."""
    if isinstance(value, list) and not isinstance(wanted, dict | list):
        return any(contains_inside(element, wanted) for element in value)
    return contains_inside(value, wanted)
