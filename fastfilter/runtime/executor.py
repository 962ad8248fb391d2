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

__all__ = ["MORSEL_ROWS", "default_threads", "evaluate", "evaluate_all", "shifted"]

MORSEL_ROWS = 4096
"""Rows evaluated together: a register is then 512 bytes, and what a morsel reads of a few columns stays in cache."""

_MOST_THREADS = 256


def default_threads() -> int:
    """The number of threads used where none is asked for: the cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def evaluate(
    machine: Machine, batch: pa.RecordBatch, threads: int | None = None, morsel_rows: int = MORSEL_ROWS
) -> bytearray:
    """The rows of a batch that match, as bits: bit ``row % 8`` of byte ``row // 8``, in as many bytes as rows need.

    Args:
        machine: the program, bound to the batch's schema.
        batch: the rows.
        threads: the most threads to use; None is :func:`default_threads`.
        morsel_rows: rows evaluated together, at least 1.

    Raises:
        DataError: under ``strict_json``, with the first row whose JSON text cannot be read.
    """
    is_small = batch.num_rows < 2 * machine.range_rows  # which is decided first, since few rows are to cost little
    workers = 1 if is_small or threads == 1 else _num_workers(machine, batch.num_rows, threads)
    if workers == 1:
        return machine.evaluate(batch, morsel_rows)
    return _Work(machine, (batch,), morsel_rows).run_on(workers)[0]


def evaluate_all(machine: Machine, batches: Sequence[pa.RecordBatch], threads: int | None = None) -> list[bytearray]:
    """The same for each of many batches of one schema; a row in an error is counted from the start of the first."""
    workers = 1 if threads == 1 else _num_workers(machine, sum([batch.num_rows for batch in batches]), threads)
    if workers > 1:
        return _Work(machine, batches, MORSEL_ROWS).run_on(workers)
    answers = []
    first_row = 0
    for batch in batches:
        try:
            answers.append(machine.evaluate(batch, MORSEL_ROWS))
        except DataError as error:
            raise shifted(error, first_row) from None
        first_row += batch.num_rows
    return answers


def _num_workers(machine: Machine, num_rows: int, threads: int | None) -> int:
    """Small data stay on the calling thread."""
    most = num_rows // machine.range_rows
    return 1 if most <= 1 else min(most, _MOST_THREADS, default_threads() if threads is None else threads)


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

    def __init__(self, machine: Machine, batches: Sequence[pa.RecordBatch], morsel_rows: int) -> None:
        self._machine = machine
        self._morsel_rows = morsel_rows
        self._lock = threading.Lock()
        self._first_row = 0  # of the batch of which ranges are taken
        self._answers: list[bytearray] = []
        self._ranges = self._each_range(batches)
        self._stopped = False
        self._failures: list[tuple[int, Exception]] = []

    def run_on(self, workers: int) -> list[bytearray]:
        """Does all of it on this thread, with the help of others; gives each batch's bits."""
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
        return self._answers

    def _each_range(self, batches: Sequence[pa.RecordBatch]) -> Iterator[_Range]:
        step = self._machine.range_rows
        for batch in batches:
            num_rows = batch.num_rows
            answer = bytearray((num_rows + 7) >> 3)
            self._answers.append(answer)
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
        """What each thread does. The ranges it takes of one batch are one run, which keeps what it finds out."""
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
    """The threads that help whoever filters; started when first needed, ended with the interpreter."""
    return ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="fastfilter")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # a child has none of its parent's threads
