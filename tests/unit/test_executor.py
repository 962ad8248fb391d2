"""Batches on threads: the same answers and the same errors as on one, whatever is taken by whom."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pyarrow as pa
import pytest

import fastfilter
from fastfilter.errors import DataError
from fastfilter.runtime import executor

NUM_ROWS = 10_000
EVEN = fastfilter.compile({"metadata": {"even": True}}, on_invalid_json="error")


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that few rows are many ranges."""
    machine = EVEN._machine(batch_of(0, 1).schema)
    monkeypatch.setattr(machine, "range_rows", 64)


def batch_of(start: int, stop: int, bad: tuple[int, ...] = ()) -> pa.RecordBatch:
    texts = ["{" if row in bad else f'{{"even": {str(row % 2 == 0).lower()}}}' for row in range(start, stop)]
    return pa.record_batch({"metadata": pa.array(texts, pa.string())})


def table_of(sizes: list[int], bad: tuple[int, ...] = ()) -> pa.Table:
    ends = np.cumsum([0, *sizes])
    batches = [batch_of(int(start), int(stop), bad) for start, stop in itertools.pairwise(ends)]
    return pa.Table.from_batches(batches)


SIZES = {
    "one batch": [NUM_ROWS],
    "many small": [100] * 100,
    "odd ones": [0, 1, 63, 64, 65, 4_000, 0, 128, 7, 5_672, 0],
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("threads", [1, 2, 5, 300])
def test_threads_do_not_change_the_answer(sizes: list[int], threads: int) -> None:
    table = table_of(sizes)
    mask = EVEN.mask(table, threads)
    assert [len(chunk) for chunk in mask.chunks] == [len(batch) for batch in table.to_batches()]
    assert mask.to_pylist() == [row % 2 == 0 for row in range(NUM_ROWS)]
    assert EVEN.indices(table, threads).tolist() == list(range(0, NUM_ROWS, 2))
    assert EVEN.count(table, threads) == EVEN.count(table.to_reader(), threads) == NUM_ROWS // 2
    assert EVEN.filter(table, threads).num_rows == NUM_ROWS // 2


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("bad", [(NUM_ROWS - 1,), (200, 70, 9_000), (64, 65, 128, 5_000), tuple(range(0, NUM_ROWS, 7))])
def test_the_first_bad_row_is_the_error_on_any_number_of_threads(sizes: list[int], bad: tuple[int, ...]) -> None:
    table = table_of(sizes, bad)
    for threads in (1, 2, 3, 8) * 5:
        with pytest.raises(DataError) as caught:
            EVEN.mask(table, threads)
        assert caught.value.row == min(bad)


def test_a_broken_batch_behind_a_bad_row_does_not_hide_it() -> None:
    machine = EVEN._machine(batch_of(0, 1).schema)
    broken = pa.record_batch({"metadata": pa.array([1] * 100)})
    for threads in (1, 2, 4):
        with pytest.raises(DataError) as caught:
            executor.evaluate_all(machine, [batch_of(0, 300, (290,)), broken], threads)
        assert caught.value.row == 290
        with pytest.raises(ValueError, match=r"type|holds"):
            executor.evaluate_all(machine, [batch_of(0, 300), broken, batch_of(300, 500, (400,))], threads)


def test_many_callers_share_the_helpers() -> None:
    table = table_of(SIZES["odd ones"])
    counts: list[int] = []
    callers = [threading.Thread(target=lambda: counts.append(EVEN.count(table, 4))) for _ in range(16)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert counts == [NUM_ROWS // 2] * 16


def test_helpers_that_are_busy_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = threading.Event()
    pool = executor.ThreadPoolExecutor(1)
    pool.submit(busy.wait)
    monkeypatch.setattr(executor, "_helpers", lambda: pool)
    try:
        assert EVEN.count(batch_of(0, NUM_ROWS), 2) == NUM_ROWS // 2
    finally:
        busy.set()
        pool.shutdown()


def test_an_interpreter_that_ends_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = executor.ThreadPoolExecutor(1)
    pool.shutdown()
    monkeypatch.setattr(executor, "_helpers", lambda: pool)
    assert EVEN.count(batch_of(0, NUM_ROWS), 2) == NUM_ROWS // 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_has_helpers_of_its_own_and_ends() -> None:
    script = """
        import os, warnings
        import numpy as np, pyarrow as pa, fastfilter
        warnings.simplefilter("ignore")
        flt = fastfilter.compile({"field": "importance", "operator": "gte", "value": 0.5})
        batch = pa.record_batch({"importance": np.arange(400_000) / 400_000})
        assert flt.count(batch, threads=3) == 200_000
        child = os.fork()
        assert flt.count(batch, threads=3) == 200_000
        if child:
            assert os.waitpid(child, 0)[1] == 0
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], timeout=120, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
