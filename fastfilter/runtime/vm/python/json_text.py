"""Strict JSON (RFC 8259) from bytes or str to values, the same texts accepted as by the native scanner.

Well-formed is what ``src/include/fastfilter/json.h`` says: one value with optional white space around it, strict UTF-8,
no byte-order mark, no raw control character in a string, no ``NaN`` or ``Infinity``, at most 1,024 arrays and objects
deep. A repeated key counts with its last value. Integers that fit int64 or uint64 are ``int``, all other numbers
:class:`~fastfilter.values.JsonFloat`. An escaped lone surrogate is accepted, a pair of escapes is one character.
"""

from __future__ import annotations

import json
import json.scanner
import re
from typing import Any, Final, NoReturn

from fastfilter.values import INT64_MIN, UINT64_MAX, JsonFloat

__all__ = ["MAX_DEPTH", "MalformedJson", "parse_json"]

MAX_DEPTH: Final = 1024
"""How many arrays and objects may stand in one another."""

_LONGEST_EXACT: Final = len(str(INT64_MIN))


class MalformedJson(ValueError):
    """The text is not JSON, or nests too deeply."""


def parse_json(text: bytes | str) -> Any:
    """The value of a JSON text.

    Args:
        text: UTF-8 bytes, or a str (which must be encodable as UTF-8: no lone surrogates).

    Raises:
        MalformedJson: the text is not well-formed, or nests deeper than :data:`MAX_DEPTH`. Nothing else is raised,
            whatever the text.

    Example:
        >>> parse_json('{"a": 1, "a": [1.50, -0]}')
        {'a': [1.5, 0]}
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        elif not text.isascii():
            text.encode("utf-8")
    except UnicodeError:
        raise MalformedJson("not UTF-8") from None
    # The standard library's scanner in C recurses, and counts no depth of its own: it gets only texts that cannot be
    # too deep. The one in Python accepts more than JSON is.
    if _decode is not None and text.count("[") + text.count("{") <= MAX_DEPTH:
        try:
            return _decode(text)
        except RecursionError:
            pass
        except ValueError:
            raise MalformedJson("not well-formed") from None
    return _read(text)


def _integer(spelling: str) -> int | JsonFloat:
    if len(spelling) <= _LONGEST_EXACT:
        number = int(spelling)
        if INT64_MIN <= number <= UINT64_MAX:
            return number
    return JsonFloat(spelling)


def _refuse_constant(spelling: str) -> NoReturn:
    raise MalformedJson(f"{spelling} is not JSON")


_decode: Final = (
    json.JSONDecoder(parse_int=_integer, parse_float=JsonFloat, parse_constant=_refuse_constant).decode
    if getattr(json.scanner, "c_make_scanner", None) is not None
    else None
)

_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_NUMBER: Final = re.compile(r"(-?(?:0|[1-9][0-9]*+))((?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)")
_STRING: Final = re.compile(r'"([^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+)"')
_ESCAPE: Final = re.compile(r"\\(?:u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))")
_SHORT_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: Final = (("true", True), ("false", False), ("null", None))


def _unescape(match: re.Match[str]) -> str:
    high, low, unit, character = match.groups()
    if high is not None:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    if unit is not None:
        return chr(int(unit, 16))
    return _SHORT_ESCAPES.get(character, character)


def _read(text: str) -> Any:
    """The exact reader: no recursion, so it works however deep the caller's stack is."""
    result: list[Any] = []
    # The arrays and objects that are open, innermost last, each with the key under which its next value goes.
    open_containers: list[tuple[list[Any] | dict[str, Any], str]] = []
    container: list[Any] | dict[str, Any] = result
    key = ""
    position = _skip(text, 0)
    while True:
        # A value is due.
        value, position = _opening(text, position)
        if isinstance(container, list):
            container.append(value)
        else:
            container[key] = value
        if isinstance(value, list | dict):
            closing = "]" if isinstance(value, list) else "}"
            if not text.startswith(closing, position):
                if len(open_containers) == MAX_DEPTH:
                    raise MalformedJson("nested too deeply")
                open_containers.append((container, key))
                container = value
                if isinstance(container, dict):
                    key, position = _key(text, position)
                continue
            if len(open_containers) == MAX_DEPTH:
                raise MalformedJson("nested too deeply")
            position += 1
        # A value has ended: what is open goes on or ends.
        while True:
            position = _skip(text, position)
            if container is result:
                if position != len(text):
                    raise MalformedJson("text after the value")
                return result[0]
            character = text[position : position + 1]
            if character == ",":
                position = _skip(text, position + 1)
                if isinstance(container, dict):
                    key, position = _key(text, position)
                break
            if character != ("]" if isinstance(container, list) else "}"):
                raise MalformedJson("an array or object does not go on")
            position += 1
            container, key = open_containers.pop()


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _opening(text: str, position: int) -> tuple[Any, int]:
    """A scalar and its end, or a new array or object and the place behind its bracket and the space after that."""
    character = text[position : position + 1]
    if character == '"':
        return _string(text, position)
    if character == "[":
        return [], _skip(text, position + 1)
    if character == "{":
        return {}, _skip(text, position + 1)
    for literal, value in _LITERALS:
        if text.startswith(literal, position):
            return value, position + len(literal)
    match = _NUMBER.match(text, position)
    if match is None:
        raise MalformedJson("no value")
    return (JsonFloat(match[0]) if match[2] else _integer(match[0])), match.end()


def _string(text: str, position: int) -> tuple[str, int]:
    match = _STRING.match(text, position)
    if match is None:
        raise MalformedJson("not a string")
    content = match[1]
    return (_ESCAPE.sub(_unescape, content) if "\\" in content else content), match.end()


def _key(text: str, position: int) -> tuple[str, int]:
    """A key of an object, and the place where its value begins."""
    key, position = _string(text, position)
    position = _skip(text, position)
    if not text.startswith(":", position):
        raise MalformedJson("no colon behind a key")
    return key, _skip(text, position + 1)
