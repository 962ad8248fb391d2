"""Filters a folder of Parquet larger than memory need be, and of JSONL, with this project and with others.

``python -m benchmarks.corpus [--size 5] [--repeats 3] [--keep FOLDER] [--out FILE.json]`` makes a corpus of so many
gigabytes (always the same one), asks every engine the same questions, one process each, and prints a Markdown table of
times and peak memory. The engines take turns; figures are medians, of peak memory the most. That all find the same rows
is asserted when each has answered once, before anything is repeated. The corpus is read once before anything is timed,
so that it is in memory as far as it fits. Wants a quiet machine.

Questions: ``even`` (1 % of rows match, spread evenly), ``rare`` (0.1 %, in every tenth row group, which statistics do
not tell), ``clustered`` (0.1 %, in one place, which statistics do tell), ``lines`` (the Anansi example over JSONL, also
without validating the lines, where an engine has that).
Tasks: ``read`` takes all columns of the matching rows, ``write`` writes them as Parquet; lines are only counted.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import importlib.metadata
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import machine
from examples.make_corpus import chunk_records, memory_records

OURS = "fastfilter"
QUESTIONS = {"even": ("read", "write"), "rare": ("read", "write"), "clustered": ("read", "write"), "lines": ("count",)}
ROW_GROUP_ROWS = 100_000
FILE_ROWS = 20 * ROW_GROUP_ROWS
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("metadata.user", pa.string()),
        ("content", pa.string()),
        ("memory_type", pa.string()),
        ("importance", pa.float64()),
        ("created_at", pa.timestamp("us", "UTC")),
        ("metadata.channel", pa.string()),
        ("metadata.score", pa.int64()),
    ]
)
CHANNELS = ("support", "sales", "email", "chat", "phone", "web", "app", "fax", "post", "visit")
RARE_USER = "user_1000 and none other"
RARE = {"field": "metadata.user", "operator": "eq", "value": RARE_USER}
RARE_ROWS = 1_000
EVEN = {
    "and": [
        {"field": "metadata.channel", "operator": "eq", "value": "support"},
        {"field": "importance", "operator": "gte", "value": 0.9},
    ]
}
ANANSI = {"$and": [{"metadata": {"sourceType": "meeting"}}, {"metadata": {"score": {"$gte": 0.5}}}]}


def clustered(num_rows: int) -> tuple[datetime.datetime, datetime.datetime]:
    """From when to when a thousandth of the rows were created, in the middle of them; one is created each second."""
    first = num_rows // 2
    return START + datetime.timedelta(seconds=first), START + datetime.timedelta(seconds=first + num_rows // 1000)


def make_parquet(folder: pathlib.Path, num_bytes: int) -> int:
    """Fills a folder with files of memories in the order in which they were created; how many rows there are."""
    folder.mkdir(parents=True)
    choose = np.random.default_rng(17)
    texts = pa.array([f"{record['content']} {number:05}" for number, record in enumerate(memory_records(20_000))])
    kinds = pa.array(sorted({record["memory_type"] for record in memory_records(100)}))
    users = pa.array([f"user_{number:04}" for number in range(2_000)])
    channels = pa.array(CHANNELS)
    start = int(START.timestamp()) * 1_000_000
    num_rows, written, number = 0, 0, 0

    def chosen(values: pa.Array, count: int) -> pa.Array:
        return values.take(pa.array(choose.integers(0, len(values), count)))

    while written < num_bytes:
        path = folder / f"memories-{number:04}.parquet"
        with pq.ParquetWriter(
            path, SCHEMA, use_dictionary=["metadata.user", "memory_type", "metadata.channel"], compression="snappy"
        ) as writer:
            rows_of_file = 0
            while rows_of_file < FILE_ROWS and written + (path.stat().st_size if rows_of_file else 0) < num_bytes:
                ids = np.arange(num_rows, num_rows + ROW_GROUP_ROWS)
                some_users = chosen(users, ROW_GROUP_ROWS)
                if num_rows // ROW_GROUP_ROWS % 10 == 5:
                    rare = pa.repeat(pa.scalar(RARE_USER), RARE_ROWS)
                    some_users = pa.concat_arrays([rare, some_users[RARE_ROWS:]])
                columns = [
                    pa.array([f"mem_{row:011}" for row in ids.tolist()]),
                    some_users,
                    chosen(texts, ROW_GROUP_ROWS),
                    chosen(kinds, ROW_GROUP_ROWS),
                    pa.array(choose.random(ROW_GROUP_ROWS)),
                    pa.array(start + ids * 1_000_000, SCHEMA.field("created_at").type),
                    chosen(channels, ROW_GROUP_ROWS),
                    pa.array(choose.integers(0, 10**12, ROW_GROUP_ROWS)),
                ]
                writer.write_table(pa.table(columns, schema=SCHEMA), row_group_size=ROW_GROUP_ROWS)
                num_rows += ROW_GROUP_ROWS
                rows_of_file += ROW_GROUP_ROWS
        written += path.stat().st_size
        number += 1
    return num_rows


def make_lines(path: pathlib.Path, num_bytes: int) -> int:
    """Writes chunks as JSONL; how many lines there are."""
    texts = [json.dumps(record, ensure_ascii=False) + "\n" for record in chunk_records(50_000)]
    block = "".join(texts).encode()
    times = max(1, num_bytes // len(block))
    with open(path, "wb") as lines:
        for _ in range(times):
            lines.write(block)
    return times * len(texts)


# -- what each engine does; every function gives the number of rows that match ---------------------------------------


def _num_rows(batches: Iterable[pa.RecordBatch]) -> int:
    return sum(batch.num_rows for batch in batches)


def run_fastfilter(question: str, folder: pathlib.Path, num_rows: int, out: str | None) -> Callable[[], int]:
    import fastfilter
    from fastfilter.corpus.output import write_file
    from fastfilter.corpus.scan import Scan, ScanOptions
    from fastfilter.corpus.sources import find_files

    if question == "lines":
        flt = fastfilter.compile(ANANSI)
        return lambda: Scan(flt, find_files([str(folder / "chunks.jsonl")]), ScanOptions()).count()
    first, last = (instant.isoformat().replace("+00:00", "Z") for instant in clustered(num_rows))
    between = [
        {"field": "created_at", "operator": "gte", "value": first},
        {"field": "created_at", "operator": "lt", "value": last},
    ]
    flt = fastfilter.compile({"even": EVEN, "rare": RARE, "clustered": {"and": between}}[question])
    source = str(folder / "parquet")
    if out is None:
        return lambda: _num_rows(fastfilter.scan(source, flt))

    def write() -> int:
        scan = Scan(flt, find_files([source]), ScanOptions())
        write_file(scan, out)
        return scan.rows_out

    return write


def run_trusting(question: str, folder: pathlib.Path, num_rows: int, out: str | None) -> Callable[[], int] | None:
    """This project, where the lines are known to be JSON."""
    import fastfilter
    from fastfilter.corpus.scan import Scan, ScanOptions
    from fastfilter.corpus.sources import find_files

    if question != "lines":
        return None
    flt = fastfilter.compile(ANANSI, json="trusted")
    return lambda: Scan(flt, find_files([str(folder / "chunks.jsonl")]), ScanOptions()).count()


def run_pyarrow(question: str, folder: pathlib.Path, num_rows: int, out: str | None) -> Callable[[], int] | None:
    import pyarrow.dataset as ds

    if question == "lines":
        return None  # it asks nothing of the JSON inside a column
    first, last = clustered(num_rows)
    condition = {
        "even": (ds.field("metadata.channel") == "support") & (ds.field("importance") >= 0.9),
        "rare": ds.field("metadata.user") == RARE_USER,
        "clustered": (ds.field("created_at") >= pa.scalar(first)) & (ds.field("created_at") < pa.scalar(last)),
    }[question]
    dataset = ds.dataset(folder / "parquet", format="parquet")
    if out is None:
        return lambda: _num_rows(dataset.scanner(filter=condition).to_batches())

    def write() -> int:
        count = 0
        with pq.ParquetWriter(out, dataset.schema, compression="zstd") as writer:
            for batch in dataset.scanner(filter=condition).to_batches():
                if batch.num_rows:
                    writer.write_batch(batch)
                    count += batch.num_rows
        return count

    return write


def run_polars(question: str, folder: pathlib.Path, num_rows: int, out: str | None) -> Callable[[], int]:
    import polars as pl

    if question == "lines":
        metadata = pl.col("metadata").struct
        score = metadata.field("score").cast(pl.String)
        lines = pl.scan_ndjson(folder / "chunks.jsonl", infer_schema_length=1000).filter(
            (metadata.field("sourceType") == "meeting")
            & score.str.contains(r"^-?[0-9]+(\.[0-9]+)?$")
            & (score.cast(pl.Float64, strict=False) >= 0.5)
        )
        return lambda: int(lines.select(pl.len()).collect(engine="streaming").item())
    first, last = clustered(num_rows)
    condition = {
        "even": (pl.col("metadata.channel") == "support") & (pl.col("importance") >= 0.9),
        "rare": pl.col("metadata.user") == RARE_USER,
        "clustered": (pl.col("created_at") >= first) & (pl.col("created_at") < last),
    }[question]
    found = pl.scan_parquet(folder / "parquet" / "*.parquet").filter(condition)
    if out is None:
        return lambda: found.collect(engine="streaming").height

    def write() -> int:
        found.sink_parquet(out, compression="zstd")
        return pq.read_metadata(out).num_rows

    return write


def run_duckdb(question: str, folder: pathlib.Path, num_rows: int, out: str | None) -> Callable[[], int]:
    import duckdb

    connection = duckdb.connect()
    first, last = clustered(num_rows)
    if question == "lines":
        columns = "{'id': 'VARCHAR', 'content': 'VARCHAR', 'metadata': 'JSON'}"
        source = f"read_json('{folder / 'chunks.jsonl'}', format = 'newline_delimited', columns = {columns})"
        condition = (
            "metadata->>'sourceType' = 'meeting' AND regexp_full_match(metadata->>'score', '-?[0-9]+(\\.[0-9]+)?') "
            "AND TRY_CAST(metadata->>'score' AS DOUBLE) >= 0.5"
        )
        return lambda: int(connection.execute(f"SELECT count(*) FROM {source} WHERE {condition}").fetchall()[0][0])
    condition = {
        "even": "\"metadata.channel\" = 'support' AND importance >= 0.9",
        "rare": f"\"metadata.user\" = '{RARE_USER}'",
        "clustered": f"created_at >= TIMESTAMPTZ '{first}' AND created_at < TIMESTAMPTZ '{last}'",
    }[question]
    query = f"SELECT * FROM '{folder / 'parquet' / '*.parquet'}' WHERE {condition}"
    if out is None:
        return lambda: _num_rows(connection.sql(query).to_arrow_reader())

    def write() -> int:
        connection.execute(f"COPY ({query}) TO '{out}' (FORMAT parquet, COMPRESSION zstd)")
        return int(pq.read_metadata(out).num_rows)

    return write


RUNNERS: dict[str, Callable[[str, pathlib.Path, int, str | None], Callable[[], int] | None]] = {
    OURS: run_fastfilter, "pyarrow": run_pyarrow, "polars": run_polars, "duckdb": run_duckdb,
    "fastfilter, trusted JSON": run_trusting,
}  # fmt: skip


# -- one process for each measurement --------------------------------------------------------------------------------


def child(engine: str, question: str, task: str, folder: pathlib.Path) -> None:
    """Asks one engine one question, and prints what it found and how long that took."""
    num_rows = json.loads((folder / "corpus.json").read_text())["rows"]
    with tempfile.TemporaryDirectory(prefix="fastfilter-") as temporary:
        out = os.path.join(temporary, "out.parquet") if task == "write" else None
        work = RUNNERS[engine](question, folder, num_rows, out)
        if work is None:
            print("null")
            return
        started, cpu = time.perf_counter(), time.process_time()
        count = work()
        seconds = time.perf_counter() - started
        cpu = time.process_time() - cpu
        found = {"count": count, "seconds": seconds, "cpu_seconds": cpu, "peak_bytes": _peak_bytes()}
        if out is not None:
            found["rows"] = digest(out)
        print(json.dumps(found))


def digest(path: str) -> str:
    """What stands for the rows of a Parquet file, in whatever order they are."""
    ids = sorted(pq.read_table(path, columns=["id"]).column(0).to_pylist())
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()


def _peak_bytes() -> int:
    """The most memory that this process held. (What it holds of ``ru_maxrss`` begins with that of its parent.)"""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status says nothing of VmHWM")


def measure(engine: str, question: str, task: str, folder: pathlib.Path) -> dict[str, Any] | None:
    """One run in a process of its own: count, seconds, seconds of all cores, and the peak of its memory in bytes."""
    command = [sys.executable, "-m", "benchmarks.corpus", "--child", engine, question, task, "--keep", str(folder)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] | None = json.loads(ran.stdout)
    return found


def make(folder: pathlib.Path, gigabytes: float) -> None:
    """Makes the corpus in a folder, unless it is there."""
    if (folder / "corpus.json").exists():
        return
    num_rows = make_parquet(folder / "parquet", int(gigabytes * 1e9))
    num_lines = make_lines(folder / "chunks.jsonl", int(min(gigabytes, 1.0) * 1e9))
    (folder / "corpus.json").write_text(json.dumps({"rows": num_rows, "lines": num_lines}))


def compare(folder: pathlib.Path, repeats: int) -> list[dict[str, Any]]:
    """All engines on all questions, in turns; of each the medians of its times and its highest peak.

    Raises:
        AssertionError: two engines do not find the same rows.
    """
    for path in sorted(folder.rglob("*.*")):
        with open(path, "rb") as opened:
            while opened.read(1 << 24):
                pass
    runs: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for number in range(repeats):
        for question, tasks in QUESTIONS.items():
            for task in tasks:
                for engine in RUNNERS:
                    found = measure(engine, question, task, folder)
                    if found is not None:
                        runs.setdefault((question, task, engine), []).append(found)
            if number == 0:
                check_answers(question, {key: each[0] for key, each in runs.items() if key[0] == question})
    rows = []
    for (question, task, engine), each in sorted(runs.items(), key=lambda item: list(QUESTIONS).index(item[0][0])):
        assert len({run["count"] for run in each}) == 1, (question, engine)
        row: dict[str, Any] = {"question": question, "task": task, "engine": engine, "count": each[0]["count"]}
        row |= {name: statistics.median(run[name] for run in each) for name in ("seconds", "cpu_seconds")}
        rows.append({**row, "peak_bytes": max(run["peak_bytes"] for run in each), "runs": each})
    return rows


def check_answers(question: str, found: dict[tuple[str, str, str], dict[str, Any]]) -> None:
    """Raises an AssertionError if the engines do not find as many rows, or do not write the same ones."""
    counts = {key[1:]: run["count"] for key, run in found.items()}
    assert len(set(counts.values())) == 1, (question, counts)
    written = {key[1:]: run["rows"] for key, run in found.items() if "rows" in run}
    assert len(set(written.values())) <= 1, (question, written)


def describe(folder: pathlib.Path) -> dict[str, Any]:
    """The machine, the versions of all engines, and the corpus."""
    return {
        "machine": machine.describe(os.cpu_count() or 1),
        "versions": {name: importlib.metadata.version(name) for name in ("fastfilter", "pyarrow", "polars", "duckdb")},
        "corpus": json.loads((folder / "corpus.json").read_text())
        | {path.name: sum(file.stat().st_size for file in (path, *path.glob("*"))) for path in folder.iterdir()},
    }


def heading(about: dict[str, Any]) -> str:
    """What the figures are of, in a sentence."""
    of, corpus = about["machine"], about["corpus"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"{of['cpu']}, {of['cores']} cores, {of['system']}, Python {of['python']}; {versions}; kernels for "
        f"{of['target']}. {corpus['parquet'] / 1e9:.2f} GB of Parquet ({corpus['rows']:,} rows), "
        f"{corpus['chunks.jsonl'] / 1e9:.2f} GB of JSONL ({corpus['lines']:,} lines). "
        f"Load at the start: {of['load']:.1f}."
    )


def table(rows: list[dict[str, Any]]) -> str:
    """The measurements as Markdown; a ratio above 1 says how many times as much as this project an engine took."""
    lines = [
        "| question | task | engine | rows | seconds | ratio | processor s | ratio | peak MB |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    ours = {(row["question"], row["task"]): row for row in rows if row["engine"] == OURS}
    for row in rows:
        own = ours[row["question"], row["task"]]
        lines.append(
            f"| {row['question']} | {row['task']} | {row['engine']} | {row['count']:,} | {row['seconds']:.3f} | "
            f"{row['seconds'] / own['seconds']:.2f} | {row['cpu_seconds']:.3f} | "
            f"{row['cpu_seconds'] / own['cpu_seconds']:.2f} | {row['peak_bytes'] / 1e6:,.0f} |"
        )
    return "\n".join(lines)


def main() -> int:
    """The command line of this module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, default=5.0, help="gigabytes of Parquet; of JSONL as much, but at most 1")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each engine on each question")
    parser.add_argument("--keep", type=pathlib.Path, help="make the corpus in this folder, or use what is there")
    parser.add_argument("--out", type=pathlib.Path, help="write the measurements here, as JSON")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child, options.keep)
        return 0
    with tempfile.TemporaryDirectory(prefix="fastfilter-") as temporary:
        folder = options.keep or pathlib.Path(temporary) / "corpus"
        make(folder, options.size)
        about = describe(folder)
        rows = compare(folder, options.repeats)
    print(heading(about), table(rows), sep="\n\n")
    if options.out:
        options.out.write_text(json.dumps({**about, "measurements": rows}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
