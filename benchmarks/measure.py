"""Timing: the engines take turns, so that what the machine does meanwhile strikes all of them alike."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Mapping

import numpy as np

from benchmarks.engines import Query

__all__ = ["Budget", "Timing", "measure"]

_SHORTEST_SAMPLE = 200e-6


@dataclasses.dataclass(frozen=True)
class Budget:
    """When an engine has been measured enough in a case.

    Attributes:
        seconds: once its samples took so long,
        least_rounds: and there are so many of them;
        most_rounds: or once there are so many.
    """

    seconds: float
    least_rounds: int
    most_rounds: int


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds a call took: the median of the samples and their quartiles."""

    median: float
    low: float
    high: float
    rounds: int

    @staticmethod
    def of(samples: list[float]) -> Timing:
        """The summary of some samples, at least one."""
        low, median, high = np.percentile(samples, (25, 50, 75))
        return Timing(float(median), float(low), float(high), len(samples))


class _Subject:
    def __init__(self, query: Query) -> None:
        self._query = query
        self._calls = 1
        self.samples: list[float] = []
        self._spent = 0.0

    def warm_up(self) -> None:
        """Calls twice, and finds how many calls make a sample long enough for the clock."""
        self._query()
        self._calls = max(1, round(_SHORTEST_SAMPLE / max(self._seconds(1), 1e-9)))

    def _seconds(self, calls: int) -> float:
        query = self._query
        started = time.perf_counter()
        for _ in range(calls):
            query()
        return time.perf_counter() - started

    def sample(self) -> None:
        seconds = self._seconds(self._calls)
        self._spent += seconds
        self.samples.append(seconds / self._calls)

    def done(self, budget: Budget) -> bool:
        rounds = len(self.samples)
        return rounds >= budget.most_rounds or (rounds >= budget.least_rounds and self._spent >= budget.seconds)


def measure(queries: Mapping[str, Query], budget: Budget) -> dict[str, Timing]:
    """Times the queries in turns, each round beginning with another one, until each has used its budget."""
    subjects = {name: _Subject(query) for name, query in queries.items()}
    for subject in subjects.values():
        subject.warm_up()
    collects = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        round_number = 0
        while waiting := [subject for subject in subjects.values() if not subject.done(budget)]:
            first = round_number % len(waiting)
            for subject in waiting[first:] + waiting[:first]:
                subject.sample()
            round_number += 1
    finally:
        if collects:
            gc.enable()
    return {name: Timing.of(subject.samples) for name, subject in subjects.items()}
