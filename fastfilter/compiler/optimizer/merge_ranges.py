"""``a > 1 and a < 5`` → ``a in (1, 5)``; an Or of ranges → one set of disjoint intervals.

A negated range does not become its complement: ``not (a < 1)`` is true where ``a`` is missing or a string. And
string ranges are left alone: on a TIMESTAMP column their bounds count as instants, whose order is not that of strings.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from fastfilter.bytecode.constants import Intervals
from fastfilter.compiler.expr import And, Expression, NumberRange, Or, TextNumberRange, TimestampRange
from fastfilter.compiler.optimizer.intervals import as_doubles, intersection, is_empty, union
from fastfilter.compiler.optimizer.rule import Rule
from fastfilter.compiler.optimizer.siblings import Merge, merge_siblings
from fastfilter.values import Interval

__all__ = ["RULE"]

_Range = TypeVar("_Range", NumberRange, TextNumberRange, TimestampRange)


def _unite(constants: list[Intervals]) -> Intervals:
    return Intervals(union(interval for constant in constants for interval in constant.values))


def _intersect(constants: list[Intervals]) -> Intervals:
    return Intervals(_intersection([constant.values for constant in constants]))


def _intersection(sets: list[tuple[Interval, ...]]) -> tuple[Interval, ...]:
    """Of pairs first, then of pairs of pairs, so that no large set meets each of many small ones."""
    while len(sets) > 1:
        pairs = [intersection(left, right) for left, right in zip(sets[::2], sets[1::2], strict=False)]
        sets = pairs + sets[len(sets) & ~1 :]
    return sets[0]


def _merge_of(kind: Callable[..., Expression]) -> Merge:
    # A value is at most one number (or instant), and an ARRAY is none, so ranges always intersect.
    return Merge(_unite, _intersect, lambda test: True, lambda test, constant: kind(test.field, constant))


_MERGES: dict[type, Merge] = {kind: _merge_of(kind) for kind in (NumberRange, TextNumberRange, TimestampRange)}


def _tidy(node: _Range) -> _Range:
    """Drops empty intervals and joins those that touch."""
    intervals = node.constant.values
    if len(intervals) == 1 and not is_empty(intervals[0]):
        return node
    tidied = union(intervals)
    return node if tidied == intervals else type(node)(node.field, Intervals(tidied))


def _tidy_doubles(node: TextNumberRange) -> TextNumberRange:
    """Bounds of a text's number count as doubles, so the order of the rounded bounds is the one to reckon with."""
    intervals = node.constant.values
    rounded = tuple(map(as_doubles, intervals))
    return _tidy(node if rounded == intervals else TextNumberRange(node.field, Intervals(rounded)))


_merge = partial(merge_siblings, merges=_MERGES)

RULE = Rule(
    "merge ranges",
    {And: _merge, Or: _merge, NumberRange: _tidy, TimestampRange: _tidy, TextNumberRange: _tidy_doubles},
    relates=True,
)
