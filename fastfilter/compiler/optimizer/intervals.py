"""Sets of numbers as ascending intervals, no two of which overlap or touch.

All by the exact order of canonical numbers, which is the order of what they stand for: a literal counts as the nearest
double or, against a Decimal, as the decimal it is spelled as, and both keep different canonical numbers apart and in
order. So an open interval between two neighbours, ``(1, 2)`` say, is never taken for empty: 1.5 lies in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from fastfilter.values import Interval, canonical_number

__all__ = ["as_doubles", "intersection", "is_empty", "union"]


def is_empty(interval: Interval) -> bool:
    """Whether no number at all lies between the bounds."""
    lower, upper = interval.lower, interval.upper
    if lower is None or upper is None:
        return False
    return lower > upper or (lower == upper and not (interval.lower_closed and interval.upper_closed))


def union(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """The numbers that lie in some of the intervals, which may be in any order.

    ``[1, 2)`` and ``[2, 3]`` join to ``[1, 3]``; ``(1, 2)`` and ``(2, 3)`` stay two, as 2 lies in neither.
    """
    joined: list[Interval] = []
    for interval in sorted((interval for interval in intervals if not is_empty(interval)), key=_lower_key):
        if joined and _reaches(joined[-1], interval):
            last = joined[-1]
            upper = max(last, interval, key=_upper_key)
            joined[-1] = Interval(last.lower, last.lower_closed, upper.upper, upper.upper_closed)
        else:
            joined.append(interval)
    return tuple(joined)


def intersection(left: tuple[Interval, ...], right: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """The numbers that lie in both of two such sets."""
    common: list[Interval] = []
    i = j = 0
    while i < len(left) and j < len(right):
        lower = max(left[i], right[j], key=_lower_key)
        upper = min(left[i], right[j], key=_upper_key)
        overlap = Interval(lower.lower, lower.lower_closed, upper.upper, upper.upper_closed)
        if not is_empty(overlap):
            common.append(overlap)
        if upper is left[i]:
            i += 1
        else:
            j += 1
    return tuple(common)


def as_doubles(interval: Interval) -> Interval:
    """The interval with its bounds rounded to doubles (as canonical numbers)."""
    return Interval(
        _as_double(interval.lower), interval.lower_closed, _as_double(interval.upper), interval.upper_closed
    )


def _as_double(bound: float | None) -> int | float | None:
    return None if bound is None else canonical_number(float(bound))


def _reaches(first: Interval, second: Interval) -> bool:
    """Whether no number lies between two intervals, of which the first begins no later."""
    if first.upper is None or second.lower is None:
        return True
    return second.lower < first.upper or (second.lower == first.upper and (second.lower_closed or first.upper_closed))


def _lower_key(interval: Interval) -> tuple[int, int | float, int]:
    if interval.lower is None:
        return 0, 0, 0
    return 1, interval.lower, 0 if interval.lower_closed else 1


def _upper_key(interval: Interval) -> tuple[int, int | float, int]:
    if interval.upper is None:
        return 1, 0, 0
    return 0, interval.upper, 1 if interval.upper_closed else 0
