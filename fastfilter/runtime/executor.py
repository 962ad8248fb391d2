"""From a machine and batches to the bits of the matching rows: the batches into ranges, the ranges onto threads."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import pyarrow as pa

from fastfilter.errors import DataError
from fastfilter.runtime.vm import Attached, Machine

__all__ = ["MORSEL_ROWS", "default_threads", "evaluate", "shifted"]

MORSEL_ROWS = 4096
"""Rows evaluated together: a register is then 512 bytes, and what a morsel reads of a few columns stays in cache."""

_MOST_THREADS = 256


def default_threads() -> int:
    """The number of threads used where none is asked for: the cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def evaluate(
    machine: Machine, batches: Sequence[pa.RecordBatch], threads: int | None = None, morsel_rows: int = MORSEL_ROWS
) -> list[bytearray]:
    """The rows that match, for each batch as bits: bit ``row % 8`` of byte ``row // 8``, in as many bytes as rows need.

    Args:
        machine: the program, bound to the batches' schema.
        batches: the rows.
        threads: the most threads to use; None is :func:`default_threads`.
        morsel_rows: rows evaluated together, at least 1.

    Raises:
        DataError: under ``strict_json``, with the first row whose JSON text cannot be read, counted over all batches.
    """
    answers = []
    total_rows = 0
    for batch in batches:
        num_rows = batch.num_rows
        total_rows += num_rows
        answers.append(bytearray((num_rows + 7) >> 3))
    if threads != 1 and total_rows >= 2 * machine.range_rows:
        workers = min(threads or default_threads(), total_rows // machine.range_rows, _MOST_THREADS)
        if workers > 1:
            _Work(machine, batches, answers, morsel_rows).run_on(workers)
            return answers
    first_row = 0
    for batch, answer in zip(batches, answers, strict=True):
        num_rows = batch.num_rows
        if num_rows:
            try:
                machine.attach(batch).run(((0, num_rows),), answer, morsel_rows)
            except DataError as error:
                raise shifted(error, first_row) from None
        first_row += num_rows
    return answers


def shifted(error: DataError, first_row: int) -> DataError:
    """The error with its row counted from the start of the data rather than of the batch, whose first row is given."""
    return error if error.row is None else DataError(error.message, error.row + first_row)


class _Range(NamedTuple):
    """Rows ``start`` to ``stop`` of a batch, whose first row is row ``first_row`` of all."""

    attached: Attached
    answer: bytearray
    first_row: int
    start: int
    stop: int


class _Work:
    """The ranges of all batches in order; each thread takes the next, as long as there are any.

    One failure ends the taking. The ranges before the one that failed were taken before it, so the first failure by
    rows is the one that a single thread would have met.
    """

    def __init__(
        self, machine: Machine, batches: Sequence[pa.RecordBatch], answers: Sequence[bytearray], morsel_rows: int
    ) -> None:
        self._machine = machine
        self._morsel_rows = morsel_rows
        self._lock = threading.Lock()
        self._first_row = 0  # of the batch of which ranges are taken
        self._ranges = self._each_range(batches, answers)
        self._stopped = False
        self._failures: list[tuple[int, Exception]] = []

    def run_on(self, workers: int) -> None:
        """Does all of it on this thread, with the help of others."""
        helpers: list[Future[None]] = []
        try:
            pool = _helpers()
            for _ in range(workers - 1):
                helpers.append(pool.submit(self._run))
        except RuntimeError:  # the interpreter is about to end, and starts no thread any more
            pass
        try:
            self._run()
        finally:
            self._stopped = True
            for helper in helpers:
                if not helper.cancel():  # which is so where every helper was busy with other work
                    helper.result()
        if self._failures:
            raise min(self._failures, key=lambda failure: failure[0])[1]

    def _each_range(self, batches: Sequence[pa.RecordBatch], answers: Sequence[bytearray]) -> Iterator[_Range]:
        step = self._machine.range_rows
        for batch, answer in zip(batches, answers, strict=True):
            num_rows = batch.num_rows
            if num_rows:
                attached = self._machine.attach(batch)
                for start in range(0, num_rows, step):
                    yield _Range(attached, answer, self._first_row, start, min(start + step, num_rows))
            self._first_row += num_rows

    def _take(self) -> _Range | None:
        with self._lock:
            if self._stopped:
                return None
            try:
                return next(self._ranges, None)
            except Exception as error:  # the next batch is broken
                self._fail(self._first_row, error)
                return None

    def _fail(self, row: int, error: Exception) -> None:
        self._stopped = True
        self._failures.append((row, error))

    def _run(self) -> None:
        """What each thread does. Ranges of one batch are evaluated in one go, which keeps what was found out about it."""
        taken = self._take()

        def ranges(attached: Attached) -> Iterator[tuple[int, int]]:
            nonlocal taken
            while taken is not None and taken.attached is attached:
                yield taken.start, taken.stop
                taken = self._take()

        while taken is not None:
            try:
                taken.attached.run(ranges(taken.attached), taken.answer, self._morsel_rows)
            except Exception as error:
                failed = taken
                if isinstance(error, DataError):
                    error = shifted(error, failed.first_row)
                self._fail(failed.first_row + failed.start, error)
                return


@functools.cache
def _helpers() -> ThreadPoolExecutor:
    """The threads that help whoever filters; they are started when they are first needed, and end with the interpreter."""
    return ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="fastfilter")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # a child has none of its parent's threads
