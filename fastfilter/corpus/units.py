"""A corpus cut into units of work, each read and filtered by itself; done on threads, and handed over in their
order."""

from __future__ import annotations

import collections
import dataclasses
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Found", "Outcome", "ReadCounts", "Unit", "in_order"]

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Found:
    """Rows that match.

    Attributes:
        batch: the rows, with the columns of the output; of JSONL, whole lines.
        rows: where each is among the rows of its unit, from 0.
        numbers: the same as the user counts: of JSONL, among all lines of the unit, blank ones included.
    """

    batch: pa.RecordBatch
    rows: Numbers
    numbers: Numbers


@dataclass(slots=True)
class ReadCounts:
    """What was read of Parquet files, and what was not. Bytes are those of column chunks, as stored.

    Attributes:
        row_groups: how many row groups there are.
        row_groups_pruned: how many were not read, because their statistics exclude a match.
        row_groups_without_match: how many of those read held no match, so that only the tested columns were read.
        bytes_read: bytes that were read.
        bytes_pruned: bytes of row groups that were not read, of the columns that would have been.
        bytes_spared: bytes of the other columns in row groups without a match.
    """

    row_groups: int = 0
    row_groups_pruned: int = 0
    row_groups_without_match: int = 0
    bytes_read: int = 0
    bytes_pruned: int = 0
    bytes_spared: int = 0

    def add(self, other: ReadCounts) -> None:
        """Adds the counts of another part."""
        for each in dataclasses.fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass(slots=True)
class Outcome:
    """What became of a unit.

    Attributes:
        found: the rows that match, in order; empty where they are only counted.
        num_matches: how many match.
        num_rows: how many rows were filtered; those that need not be read count too.
        num_numbers: by how much the numbers of the next unit's rows are larger.
        bytes_done: how many bytes of the file are read with this unit, as far as that is known.
        error: what stopped the unit after these rows. A DataError's ``row`` is a number as in :class:`Found`.
        counts: of Parquet, what was read.
        is_pruned_file: whether it stands for a whole file that need not be read.
    """

    found: list[Found] = field(default_factory=list)
    num_matches: int = 0
    num_rows: int = 0
    num_numbers: int = 0
    bytes_done: int = 0
    error: Exception | None = None
    counts: ReadCounts | None = None
    is_pruned_file: bool = False

    @property
    def num_bytes(self) -> int:
        """The memory that the matching rows take."""
        return sum(found.batch.nbytes + found.rows.nbytes + found.numbers.nbytes for found in self.found)


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a file that is read and filtered by itself.

    Attributes:
        work: does it; it may run on any thread, and returns errors of the data rather than raising them.
        working_bytes: about the memory that it takes meanwhile.
        most_bytes: about the memory that the outcome takes if every row matches.
        is_done: whether there is nothing to do but to ask.
    """

    work: Callable[[], Outcome]
    working_bytes: int = 0
    most_bytes: int = 0
    is_done: bool = False

    @staticmethod
    def done(outcome: Outcome) -> Unit:
        """A unit without work."""
        return Unit(lambda: outcome, is_done=True)


class _Pending:
    """What becomes of a unit that was taken. The unit, and what it holds to work on, is let go when it is done."""

    def __init__(self, unit: Unit, pool: ThreadPoolExecutor) -> None:
        self.working_bytes = unit.working_bytes
        self.most_bytes = unit.most_bytes
        self._worker: int | None = None
        self._outcome = unit.work() if unit.is_done else None
        self._future: Future[Outcome] | None = None if unit.is_done else pool.submit(self._work, unit)
        del unit

    def _work(self, unit: Unit) -> Outcome:
        self._worker = threading.get_ident()
        return unit.work()

    def abandon(self) -> None:
        """Sees to it that nobody works on it. If this thread itself does, it is left to finish that."""
        future = self._future
        if future is not None and not future.cancel() and self._worker != threading.get_ident():
            future.exception()  # waits for it

    def is_done(self) -> bool:
        return self._future is None or self._future.done()

    def outcome(self) -> Outcome:
        if self._outcome is None:
            assert self._future is not None
            self._outcome = self._future.result()
        return self._outcome


class _Memory:
    """How much memory units take: what is known of those done, what is foreseen of the others.

    A unit may keep everything it reads or next to nothing, which only the filter decides; the last ones tell.
    """

    def __init__(self) -> None:
        self._shares: collections.deque[float] = collections.deque(maxlen=_SHARES_REMEMBERED)

    def note(self, done: _Pending) -> None:
        if done.most_bytes:
            self._shares.append(done.outcome().num_bytes / done.most_bytes)

    def foreseen(self, unit: Unit | _Pending) -> int:
        share = min(1.0, 2 * max(self._shares, default=1.0))
        return max(unit.working_bytes, int(unit.most_bytes * share))

    def of(self, pending: _Pending) -> int:
        return pending.outcome().num_bytes if pending.is_done() else self.foreseen(pending)


_WAITING_PER_THREAD = 4
_SHARES_REMEMBERED = 8


def in_order(units: Iterator[Unit], threads: int, memory_budget: int) -> Generator[Outcome, None, None]:
    """The outcomes of units in their order, while units behind them are worked on.

    Units are taken from the iterator on the calling thread, and worked on by others if there may be more than one. As
    many are taken as the budget allows: those under way and those done, but not handed over, take no more memory
    together, as far as it can be foreseen. One unit is always taken.

    Args:
        units: the units; taking one may take as long as reading it does.
        threads: how many units are worked on at once, at most.
        memory_budget: bytes.
    """
    if threads == 1:
        for unit in units:
            yield unit.work()
        return
    pending: collections.deque[_Pending] = collections.deque()
    memory = _Memory()
    taken = next(units, None)
    pool = ThreadPoolExecutor(threads, thread_name_prefix="fastfilter-scan")
    try:
        while taken is not None or pending:
            while taken is not None and len(pending) < _WAITING_PER_THREAD * threads:
                if pending and sum(map(memory.of, pending)) + memory.foreseen(taken) > memory_budget:
                    break
                pending.append(_Pending(taken, pool))
                if pending[0].is_done() and sum(not each.is_done() for each in pending) >= threads:
                    taken = None  # there is work enough: hand over first
                    break
                taken = next(units, None)
            first = pending[0]
            first.outcome()  # waits for it
            memory.note(first)
            pending.popleft()
            yield first.outcome()
            if taken is None:
                taken = next(units, None)
    finally:
        # The units under way are waited for, their threads are not: an abandoned scan is collected wherever Python does
        # that, also while it starts a thread under a lock that a thread's end needs.
        pool.shutdown(wait=False, cancel_futures=True)
        for each in pending:
            each.abandon()
