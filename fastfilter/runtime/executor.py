"""From a machine and a batch to the bits of its matching rows: the batch into ranges, the ranges onto threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from fastfilter.errors import DataError
from fastfilter.runtime.vm import Attached, Machine

__all__ = ["MORSEL_ROWS", "default_threads", "evaluate", "shifted"]

MORSEL_ROWS = 4096
"""Rows evaluated together: a register is then 512 bytes, and what a morsel reads of a few columns stays in cache."""

_ROWS_PER_THREAD = 65_536
"""A thread is worth starting for this many rows; smaller batches stay on the calling thread."""


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
        DataError: under ``strict_json``, with the first row of the batch whose JSON text cannot be read.
    """
    num_rows = batch.num_rows
    out = bytearray((num_rows + 7) >> 3)
    if num_rows == 0:
        return out
    attached = machine.attach(batch)
    if num_rows < 2 * _ROWS_PER_THREAD or threads == 1:
        attached.run(0, num_rows, out, morsel_rows)
        return out
    workers = min(threads or default_threads(), num_rows // _ROWS_PER_THREAD)
    if workers == 1:
        attached.run(0, num_rows, out, morsel_rows)
    else:
        _run_on_threads(attached, num_rows, out, morsel_rows, workers)
    return out


def _run_on_threads(attached: Attached, num_rows: int, out: bytearray, morsel_rows: int, workers: int) -> None:
    """Gives each worker several ranges, so that one slow range does not keep the others waiting."""
    step = max(_ROWS_PER_THREAD // 2, -(-num_rows // (workers * 8)))
    step = -(-step // 4096) * 4096  # ranges begin at whole bytes of `out`, and at whole morsels
    with ThreadPoolExecutor(workers, thread_name_prefix="fastfilter") as pool:
        pending = [
            pool.submit(attached.run, start, min(start + step, num_rows), out, morsel_rows)
            for start in range(0, num_rows, step)
        ]
        failures = [error for future in pending if (error := future.exception()) is not None]
    for error in failures:  # in the order of the rows: the first is the one a single thread would have met
        raise error


def shifted(error: DataError, first_row: int) -> DataError:
    """The error with its row counted from the start of the data rather than of the batch, whose first row is given."""
    return error if error.row is None else DataError(error.message, error.row + first_row)
