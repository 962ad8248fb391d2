"""Filters a folder of Parquet with Ray Data, Spark and Dask, each on one local worker and on two, and prints the times.

`python -m benchmarks.workers [--rows 8000000] [--repeats 5] [--engines ray spark dask]`. Every engine reads the same
files, filters them and counts the rows that are left; each count is compared with that of a Filter over the same files
before anything is timed. Each engine with each number of workers runs in a process of its own, since it can be started
only once in one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fastfilter
from benchmarks.tables import SEED_FILTER
from examples.make_corpus import MEMORY_SCHEMA, memory_records, to_table

WORKERS = (1, 2)
NUM_FILES = 16
"""As many parts as the engines can hand to their workers: enough that two workers end at about the same time."""


@contextlib.contextmanager
def ray_engine(num_workers: int, folder: pathlib.Path) -> Iterator[Callable[[], int]]:
    """Ray Data on so many cores: one task a file."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    import ray.data

    from fastfilter.integrations.ray import filter_dataset

    ray.init(
        num_cpus=num_workers,
        object_store_memory=500 * 2**20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    flt = fastfilter.compile(SEED_FILTER)

    def count() -> int:
        dataset = ray.data.read_parquet(str(folder), override_num_blocks=NUM_FILES)
        return int(filter_dataset(dataset, flt, columns=["id"]).count())

    yield count
    ray.shutdown()


@contextlib.contextmanager
def spark_engine(num_workers: int, folder: pathlib.Path) -> Iterator[Callable[[], int]]:
    """Spark on so many local cores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else the workers run whatever python3 is on the path
    from pyspark.sql import SparkSession

    from fastfilter.integrations.spark import filter_dataframe

    session = (
        SparkSession.builder.master(f"local[{num_workers}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.files.maxPartitionBytes", str(max(path.stat().st_size for path in folder.iterdir())))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    flt = fastfilter.compile(SEED_FILTER)
    yield lambda: int(filter_dataframe(session.read.parquet(str(folder)), flt, columns=["id"]).count())
    session.stop()


@contextlib.contextmanager
def dask_engine(num_workers: int, folder: pathlib.Path) -> Iterator[Callable[[], int]]:
    """Dask on so many worker processes of one thread."""
    import dask.dataframe
    from distributed import Client, LocalCluster

    from fastfilter.integrations.dask import filter_dataframe

    flt = fastfilter.compile(SEED_FILTER)
    cluster = LocalCluster(
        n_workers=num_workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    )
    with cluster, Client(cluster):
        yield lambda: int(filter_dataframe(dask.dataframe.read_parquet(str(folder)), flt)["id"].size.compute())


ENGINES = {"ray": ray_engine, "spark": spark_engine, "dask": dask_engine}


def make_files(folder: pathlib.Path, num_rows: int) -> None:
    """Parquet files of memories, of equal numbers of rows, with texts stored plainly: they are drawn from few, and a
    dictionary would make them smaller than those of a real corpus."""
    folder.mkdir(parents=True)
    base = to_table(list(memory_records(20_000)), MEMORY_SCHEMA)
    choose = np.random.default_rng(13)
    for number in range(NUM_FILES):
        rows = base.take(pa.array(choose.integers(0, len(base), num_rows // NUM_FILES)))
        repeated = ["user_id", "agent_id", "memory_type", "subject", "attribute"]
        pq.write_table(rows, folder / f"memories-{number:03}.parquet", use_dictionary=repeated)


def measure(engine: str, num_workers: int, folder: pathlib.Path, expected: int, repeats: int) -> list[float]:
    """Seconds of each repeat, after one that only counts."""
    warnings.simplefilter("ignore")  # engines speak of versions to come
    with ENGINES[engine](num_workers, folder) as count:
        found = count()
        if found != expected:
            raise SystemExit(f"{engine} on {num_workers} worker(s) counts {found} rows, not {expected}")
        seconds = []
        for _ in range(repeats):
            started = time.perf_counter()
            count()
            seconds.append(time.perf_counter() - started)
    return seconds


def main() -> None:
    """Makes the files, runs each engine with each number of workers, and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8_000_000, help="rows of the corpus (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="times each engine is timed (default %(default)s)")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), help="which (default all)")
    parser.add_argument("--one", nargs=4, metavar=("ENGINE", "WORKERS", "FOLDER", "ROWS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        engine, num_workers, folder, expected = options.one
        seconds = measure(engine, int(num_workers), pathlib.Path(folder), int(expected), options.repeats)
        print(json.dumps(seconds))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "corpus"
        make_files(folder, options.rows)
        flt = fastfilter.compile(SEED_FILTER)
        expected = sum(flt.count(pq.read_table(path)) for path in folder.iterdir())
        size = sum(path.stat().st_size for path in folder.iterdir())
        num_rows = sum(pq.read_metadata(path).num_rows for path in folder.iterdir())
        print(f"{num_rows:,} rows, {size / 1e6:,.0f} MB of Parquet in {NUM_FILES} files, {expected:,} match\n")
        print("| engine | one worker | two workers | ratio |\n|---|--:|--:|--:|")
        for engine in options.engines:
            medians = []
            for num_workers in WORKERS:
                arguments = ["--one", engine, str(num_workers), str(folder), str(expected)]
                command = [sys.executable, "-m", "benchmarks.workers", "--repeats", str(options.repeats), *arguments]
                answer = subprocess.run(command, capture_output=True, text=True, check=False)
                if answer.returncode:
                    raise SystemExit(f"{engine} on {num_workers} worker(s) failed:\n{answer.stderr[-4000:]}")
                medians.append(statistics.median(json.loads(answer.stdout.splitlines()[-1])))
            one, two = medians
            print(f"| {engine} | {one:.2f} s | {two:.2f} s | {one / two:.2f} × |", flush=True)


if __name__ == "__main__":
    main()
