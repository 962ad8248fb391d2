"""The constants of a program's pool, and the one place that knows which Python class stands for which type."""

from __future__ import annotations

from dataclasses import dataclass

from fastfilter.bytecode.opcodes import ConstantType
from fastfilter.values import Interval, ScalarSet, StringBound

__all__ = ["Constant", "Intervals", "Json", "Strings", "Text", "constant_type"]


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
