"""The type of a column whose format has none: decided by all of its values, never by the first of them."""

from __future__ import annotations

import enum
import math

import pyarrow as pa

from fastfilter.values import INT64_MAX, INT64_MIN

__all__ = ["Kinds", "kind_of_integer", "kind_of_number", "type_of"]


class Kinds(enum.Flag):
    """What kinds of values were seen; null is none."""

    NONE = 0
    STRING = enum.auto()
    BOOL = enum.auto()
    INTEGER = enum.auto()
    LONG_INTEGER = enum.auto()
    """one that fits int64, but that no double equals"""
    NUMBER = enum.auto()
    OTHER = enum.auto()
    """arrays, objects, and numbers that no int64 and no double holds"""


def kind_of_integer(value: int) -> Kinds:
    """The kind of an integer."""
    if not INT64_MIN <= value <= INT64_MAX:
        return Kinds.OTHER
    return Kinds.INTEGER if int(float(value)) == value else Kinds.LONG_INTEGER


def kind_of_number(text: str) -> Kinds:
    """The kind of a JSON number as it is spelled.

    Example:
        >>> kind_of_number("7"), kind_of_number("7.0"), kind_of_number("1e999")
        (<Kinds.INTEGER: 4>, <Kinds.NUMBER: 16>, <Kinds.OTHER: 32>)
    """
    if text.lstrip("-").isdigit():
        return kind_of_integer(int(text)) if len(text) <= 20 else Kinds.OTHER
    return Kinds.NUMBER if math.isfinite(float(text)) else Kinds.OTHER


def type_of(kinds: Kinds) -> pa.DataType | None:
    """The type that holds every value of these kinds exactly (or, of a number with a fraction, as the nearest double);
    ``null`` for none, and None where there is no such type."""
    if not kinds:
        return pa.null()
    if kinds == Kinds.STRING:
        return pa.string()
    if kinds == Kinds.BOOL:
        return pa.bool_()
    if not kinds & ~(Kinds.INTEGER | Kinds.LONG_INTEGER):
        return pa.int64()
    if not kinds & ~(Kinds.INTEGER | Kinds.NUMBER):
        return pa.float64()
    return None
