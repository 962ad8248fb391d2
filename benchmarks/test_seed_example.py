"""The first example of FishMem's documentation on 2,000,000 rows, on one thread, against its first bound."""

from __future__ import annotations

from typing import Any

import fastfilter
from benchmarks.tables import SEED_FILTER, matching_memories, memories

BOUND_SECONDS = 0.150


def test_the_seed_example_on_two_million_rows(benchmark: Any) -> None:
    table = memories(2_000_000).combine_chunks()
    flt = fastfilter.compile(SEED_FILTER)
    assert flt.count(table, threads=1) == matching_memories(table)
    benchmark.extra_info["backend"] = fastfilter.backend
    benchmark.pedantic(flt.mask, args=(table,), kwargs={"threads": 1}, warmup_rounds=2, rounds=15)
    if fastfilter.backend == "native" and benchmark.stats is not None:  # None under --benchmark-disable
        assert benchmark.stats["median"] < BOUND_SECONDS


def test_the_seed_example_on_a_candidate_pool(benchmark: Any) -> None:
    batch = memories(2_000_000).slice(0, 1_000).combine_chunks().to_batches()[0]
    flt = fastfilter.compile(SEED_FILTER)
    assert flt.count(batch) == matching_memories(memories(2_000_000).slice(0, 1_000))
    benchmark(flt.mask, batch)


def test_compiling_the_seed_example(benchmark: Any) -> None:
    assert benchmark(fastfilter.compile, SEED_FILTER).dialect == "fishmem"
