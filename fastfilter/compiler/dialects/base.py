"""What every dialect is made of: limits, the result of parsing, and the reading of JSON and of Python objects.

A dialect's parser sees values as a caller gave them: parsed JSON, or Python objects of any kind. It reads them only
through :func:`object_of`, :func:`array_of`, :func:`scalar_of`, :func:`string_of`, :func:`number_of` and
:func:`json_text`, which give back plain JSON values or raise :class:`~fastfilter.errors.FilterError`. Where a value
stands is a :data:`Path`, a linked tuple that costs nothing until an error makes a JSON pointer of it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from json.encoder import encode_basestring
from math import isfinite
from types import MappingProxyType, NoneType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from fastfilter.compiler.expr import Expression
from fastfilter.errors import FilterError, nearest_name, pointer_of
from fastfilter.values import Interval, canonical_number

__all__ = [
    "CODES", "OPERATOR_SIGNS", "Dialect", "Limits", "Path", "Request", "Scalar", "array_of", "fault", "interval_of",
    "is_array", "is_object", "is_text", "json_text", "number_of", "object_of", "over_limit", "quoted", "read_json",
    "scalar_of", "shown", "string_of",
]  # fmt: skip

CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # The text or the Python object
        "invalid_json": "the text is not JSON (RFC 8259) in UTF-8; NaN and Infinity are not JSON",
        "duplicate_key": "an object has a key twice, so that one of two conditions would be lost",
        "not_json": "a Python value that JSON has no form for, such as a set",
        "key_not_string": "a key of a mapping is not a string",
        "unreadable": "a mapping raised an exception while it was read",
        # Which dialect
        "ambiguous_dialect": "the filter means something in two readings; say which with dialect=",
        "no_dialect": "the filter mixes dialects and fits none",
        # Structure
        "not_an_object": "an object is needed here",
        "not_an_array": "an array is needed here",
        "empty_array": "the array must hold at least one value",
        "empty_object": "the object must hold at least one operator",
        "missing_key": "an object lacks a key it must have",
        "unknown_key": "an object has a key that means nothing there, or one like a key that does",
        "mixed_shapes": "keys that exclude each other stand in one object",
        # Fields
        "unknown_field": "no field of that name can be filtered on",
        "scope_field": "user_id, agent_id and run_id are scope, given beside the filter, and no fields",
        "invalid_path": "the metadata path is not spelled as one",
        "forbidden_segment": "the metadata path has a segment that is refused everywhere",
        "empty_key": "a metadata key is empty, or nothing but white space",
        # Operators and values
        "unknown_operator": "there is no operator of that name",
        "operator_not_allowed": "the operator is not defined on that field",
        "wrong_type": "the value is not of a type that may stand here",
        "number_not_finite": "a number is NaN, infinite, or too large for a double",
        "value_not_allowed": "the value is not one of the few that the field takes",
        "invalid_timestamp": "the string is not a full ISO 8601 timestamp of an instant that exists",
        # Limits
        "too_deep": "the filter nests deeper than allowed",
        "too_many_conditions": "the filter has more conditions than allowed",
        "too_many_children": "an and/or has more children than allowed",
        "too_many_values": "an in/nin lists more values than allowed",
        "too_many_keys": "the equality map has more keys than allowed",
        "key_too_long": "a metadata key is longer than allowed",
        "path_too_long": "a metadata path is longer than allowed",
        "string_too_long": "a string is longer than allowed",
        # Scope
        "invalid_scope": "the scope is no mapping, or a value of it no non-empty string",
        "unknown_scope": "there is no scope of that name",
        "scope_conflict": "scope= and the search body give one scope two values",
    }
)
"""Every ``FilterError.code`` there is, with what it means. Codes are stable."""

OPERATOR_SIGNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "=": "eq",
        "==": "eq",
        "===": "eq",
        "!=": "ne",
        "!==": "ne",
        "<>": "ne",
        ">": "gt",
        ">=": "gte",
        "<": "lt",
        "<=": "lte",
    }
)
"""How other languages write operators, for errors to name ours."""

Scalar: TypeAlias = str | int | float | bool | None
Path: TypeAlias = "tuple[Path, str | int] | None"
"""Where a value stands: ``(path of the parent, key or position)``, None for the filter as a whole."""

_SCALARS: Final = frozenset({str, int, float, bool, NoneType})
# Classes whose values have a plain scalar; subclasses as well. (A longdouble has none, so not np.floating.)
_SCALAR_CLASSES: Final = (str, int, float, NoneType, Decimal, np.integer, np.bool_, np.float16, np.float32)
_NO_SCALARS: Final[type] = np.timedelta64  # which calls itself an integer
_TEXTS: Final = (str, bytes, bytearray)
_MAX_NESTING: Final = 1_024
"""Nesting of a JSON literal; a row's JSON that is deeper counts as missing, so nothing deeper can be contained."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The sizes up to which a dialect takes a filter; each dialect has its own class with its documented defaults.

    Raises:
        ValueError: a limit is no int, or negative.
    """

    def __post_init__(self) -> None:
        for name in self.names():
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise ValueError(f"limit {name} must be a non-negative int, not {value!r}")

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the limits."""
        return tuple(field.name for field in dataclasses.fields(cls))


class Request(NamedTuple):
    """A filter as a front end has read it.

    Attributes:
        expression: what it means, the scope ANDed in front.
        dialect: the dialect it was read as, never ``"auto"``.
        rest: of a search body, everything but scope and ``filters``, untouched; else empty.
        scope: the scope by name, from the search body and ``scope=``.
    """

    expression: Expression
    dialect: str
    rest: dict[str, object]
    scope: dict[str, str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to write filters.

    Attributes:
        name: what ``dialect=`` calls it.
        limits: its class of limits.
        parse: reads a filter (:func:`object_of` has been applied) within limits of that class. ``Request.expression``
            comes without the scope, which ``fastfilter.compiler.dialects.parse`` adds for all dialects alike.
        none_matches_all: whether None instead of a filter means no condition.
    """

    name: str
    limits: type[Limits]
    parse: Callable[[dict[str, object], Any], Request]
    none_matches_all: bool = True


def fault(code: str, path: Path, message: str, allowed: Sequence[str] = (), given: str | None = None) -> FilterError:
    """The error to raise: ``message``, then what is allowed, then the allowed name nearest to ``given``."""
    if allowed:
        message += f"; allowed: {', '.join(allowed)}"
        near = None if given is None else nearest_name(given, allowed)
        if near is not None:
            message += f"; did you mean {quoted(near)}?"
    parts: list[str | int] = []
    while path is not None:
        path, part = path
        parts.append(part)
    return FilterError(code, pointer_of(reversed(parts)), message, allowed)


def over_limit(code: str, path: Path, what: str, limit: int) -> FilterError:
    """The error to raise where ``what``, which names the size found, is more than a limit."""
    return fault(code, path, f"{what}; at most {limit} are allowed")


def quoted(text: str) -> str:
    """A string for an error message: in quotes, of bounded length, and printable whatever is in it."""
    literal = encode_basestring(text if len(text) <= 60 else text[:57] + "...")
    if literal.isprintable():
        return literal
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in literal)


def shown(value: object) -> str:
    """Any value for an error message; never raises, whatever the value."""
    kind = type(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if issubclass(kind, str):
        return quoted(str.__str__(value))
    if type(value) is int:
        return str(value) if abs(value) < 10**40 else "an integer of more than 40 digits"
    if kind is float:
        return repr(value)
    if issubclass(kind, list | tuple):
        return "an array"
    if issubclass(kind, Mapping):
        return "an object"
    return f"a Python {kind.__name__}"


def is_object(value: object) -> bool:
    """Whether a value is an object of JSON. (``isinstance`` would ask the value, which may lie.)"""
    return type(value) is dict or (type(value) not in _SCALARS and issubclass(type(value), Mapping))


def is_array(value: object) -> bool:
    """Whether a value is an array of JSON: a list or a tuple."""
    return type(value) is list or issubclass(type(value), (list, tuple))


def is_text(value: object) -> bool:
    """Whether a value is a text that could be JSON."""
    return issubclass(type(value), _TEXTS)


def object_of(value: object, path: Path, wanted: str) -> dict[str, object]:
    """``value`` as a plain dict with plain string keys; its values are as they were given.

    Args:
        wanted: what should stand there, for the error, such as ``"a filter expression"``.

    Raises:
        FilterError: it is none.
    """
    if type(value) is dict:
        for key in value:
            if type(key) is not str:
                break
        else:
            return value
    if not is_object(value):
        _refuse_non_json(value, path)
        raise fault("not_an_object", path, f"{wanted} must be an object, not {shown(value)}")
    try:
        items = list(value.items())  # type: ignore[attr-defined]
        pairs = [(key, item) for key, item in items]
    except Exception as error:
        raise fault("unreadable", path, f"{wanted} raised {type(error).__name__} when its items were read") from error
    plain: dict[str, object] = {}
    for key, item in pairs:
        if not issubclass(type(key), str):
            raise fault("key_not_string", path, f"{wanted} has a key that is no string: {shown(key)}")
        key = str.__str__(key)
        if key in plain:
            raise fault("duplicate_key", (path, key), f"key {quoted(key)} stands twice in {wanted}")
        plain[key] = item
    return plain


def array_of(value: object, path: Path, wanted: str) -> list[object]:
    """``value``, a list or tuple, as a plain list, with the same elements.

    Raises:
        FilterError: it is none.
    """
    if type(value) is list:
        return value
    if is_array(value):
        # The base classes' own iterators: a subclass may have overridden its own.
        return list((list if issubclass(type(value), list) else tuple).__iter__(value))  # type: ignore[arg-type]
    _refuse_non_json(value, path)
    raise fault("not_an_array", path, f"{wanted} must be an array, not {shown(value)}")


def scalar_of(value: object, path: Path, wanted: str) -> Scalar:
    """``value`` as a plain ``str``, ``int``, ``float``, ``bool`` or None. Numbers may yet be non-finite.

    Subclasses (enumerations), NumPy scalars and Decimals become the plain value.

    Raises:
        FilterError: it is no scalar.
    """
    if type(value) in _SCALARS:
        return value  # type: ignore[return-value]
    if is_object(value) or is_array(value):
        raise fault("wrong_type", path, f"{shown(value)} is not {wanted}")
    _refuse_non_json(value, path)
    return _plain_scalar(value)


def string_of(value: object, path: Path, wanted: str) -> str:
    """``value`` as a plain string.

    Raises:
        FilterError: it is none.
    """
    string = value if type(value) is str else scalar_of(value, path, wanted)
    if type(string) is not str:
        raise fault("wrong_type", path, f"{shown(value)} is not {wanted}")
    return string


def number_of(number: int | float, path: Path) -> int | float:
    """A plain number in canonical form.

    Raises:
        FilterError: it is NaN, infinite, or too large for a double.
    """
    canonical = canonical_number(number)
    if not isfinite(canonical):
        raise fault("number_not_finite", path, f"{shown(number)} is not a finite number within the range of a double")
    return canonical


def _plain_scalar(value: object) -> Scalar:
    """A scalar of a type that :func:`_is_scalar_class` accepts, as the plain value."""
    kind = type(value)
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, int):
        return int.__int__(value)  # type: ignore[arg-type]
    if issubclass(kind, float):
        return float.__float__(value)  # type: ignore[arg-type]
    if issubclass(kind, Decimal):
        decimal = Decimal(value)  # type: ignore[arg-type]
        # Beyond 400 digits it is no double either; making an int of 1E+999999999 would take all memory.
        integral = decimal.is_finite() and decimal.adjusted() < 400 and decimal == decimal.to_integral_value()
        return int(decimal) if integral else math.nan if decimal.is_nan() else float(decimal)
    return np.generic.item(value)  # type: ignore[call-overload, no-any-return]


def _is_scalar_class(kind: type) -> bool:
    return issubclass(kind, _SCALAR_CLASSES) and not issubclass(kind, _NO_SCALARS)


def _refuse_non_json(value: object, path: Path) -> None:
    """Raises if ``value`` is neither object, array nor scalar of JSON."""
    if not (is_object(value) or is_array(value) or _is_scalar_class(type(value))):
        raise fault(
            "not_json",
            path,
            f"{shown(value)} has no form in JSON; a filter is made of dict, list, str, numbers, bool and None",
        )


def interval_of(operator: str, bound: int | float) -> Interval:
    """The numbers that are ``gt``, ``gte``, ``lt`` or ``lte`` the bound."""
    if operator == "gt":
        return Interval(bound, False, None, False)
    if operator == "gte":
        return Interval(bound, True, None, False)
    if operator == "lt":
        return Interval(None, False, bound, False)
    return Interval(None, False, bound, True)


_SURROGATE = re.compile("[\ud800-\udfff]")


def _quoted(text: str) -> str:
    quoted = encode_basestring(text)
    return quoted if quoted.isascii() else _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def json_text(value: object, path: Path) -> str:
    """Any JSON value as compact JSON text; non-ASCII characters stand as themselves, lone surrogates as escapes.

    Raises:
        FilterError: it is no JSON, a number in it is not finite, or it nests (or runs in a circle) too deep.
    """
    parts: list[str] = []
    # What is still to write, last first: a text as it is, or a value with its path and depth. An explicit stack, so
    # that nesting is bounded by the limit and not by what the caller has left of Python's.
    pending: list[str | tuple[object, Path, int]] = [(value, path, 1)]
    while pending:
        entry = pending.pop()
        if isinstance(entry, str):
            parts.append(entry)
            continue
        value, path, depth = entry
        if is_object(value):
            children: list[str | tuple[object, Path, int]] = []
            for key, item in object_of(value, path, "an object").items():
                children += ("," if children else "", _quoted(key) + ":", (item, (path, key), depth + 1))
            opening, closing = "{", "}"
        elif is_array(value):
            children = []
            for position, item in enumerate(array_of(value, path, "an array")):
                children += ("," if children else "", (item, (path, position), depth + 1))
            opening, closing = "[", "]"
        else:
            scalar = scalar_of(value, path, "a JSON value")
            if type(scalar) is str:
                parts.append(_quoted(scalar))
            elif scalar is None or type(scalar) is bool:
                parts.append(shown(scalar))
            else:
                number_of(scalar, path)  # type: ignore[arg-type]
                parts.append(repr(scalar))
            continue
        if depth > _MAX_NESTING:
            raise fault("too_deep", path, f"the JSON value nests deeper than {_MAX_NESTING:,} levels")
        parts.append(opening)
        pending.append(closing)
        pending += reversed(children)
    return "".join(parts)


class _DuplicateKeyError(Exception):
    pass


class _Repeated(dict[str, object]):
    """An object whose text has a key twice: :attr:`key`."""

    key: str


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    plain = dict(pairs)
    if len(plain) != len(pairs):
        raise _DuplicateKeyError
    return plain


def _repeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            repeated = _Repeated(pairs)
            repeated.key = key
            return repeated
        seen.add(key)
    return dict(pairs)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int | Decimal:
    # int() refuses long texts (from 640 digits on, where a process is set up so); these are no doubles in any case.
    return int(digits) if len(digits) < 640 else Decimal(digits)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_integer, parse_constant=_refuse_constant)
_LENIENT_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_repeated, parse_int=_integer, parse_constant=_refuse_constant
)


def read_json(text: object, path: Path) -> object:
    """The value of a JSON text (:func:`is_text`).

    Raises:
        FilterError: the text is no JSON, no UTF-8, nests too deep for the parser, or repeats a key.
    """
    try:
        string = str.__str__(text) if issubclass(type(text), str) else bytes(memoryview(text)).decode()  # type: ignore[arg-type]
    except UnicodeDecodeError as error:
        raise fault("invalid_json", path, f"the filter is not UTF-8: byte {error.start} cannot be decoded") from None
    try:
        try:
            return _DECODER.decode(string)
        except _DuplicateKeyError:
            return _name_duplicate(_LENIENT_DECODER.decode(string), path)
    except RecursionError:
        raise fault("too_deep", path, "the JSON text nests too deep") from None
    except FilterError:
        raise
    except ValueError as error:
        raise fault("invalid_json", path, f"the filter is not JSON: {error}") from None


def _name_duplicate(value: object, path: Path) -> object:
    pending: list[tuple[object, Path]] = [(value, path)]
    while pending:
        value, path = pending.pop()
        if isinstance(value, _Repeated):
            raise fault("duplicate_key", (path, value.key), f"key {quoted(value.key)} stands twice in one object")
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        pending += reversed([(item, (path, key)) for key, item in items])
    raise AssertionError("no key is repeated")  # pragma: no cover
