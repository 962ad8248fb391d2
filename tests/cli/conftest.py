"""The command line as a process, and one small corpus in every format it reads."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

REPOSITORY = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(REPOSITORY))

from examples.make_corpus import CHUNK_SCHEMA, MEMORY_SCHEMA, chunk_records, memory_records, to_table  # noqa: E402
from fastfilter.cli import app  # noqa: E402

NUM_ROWS = 1500
INPUTS = (
    "parquet", "arrow", "feather", "ipc", "arrows", "arrows.lz4", "jsonl", "ndjson", "jsonl.gz", "jsonl.bz2",
    "jsonl.zst", "csv", "csv.gz",
)  # fmt: skip

Cli = Callable[..., subprocess.CompletedProcess[str]]


def environment(**extra: str) -> dict[str, str]:
    """The environment of a process that runs the command line."""
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1", "COLUMNS": "100", **extra}


COMMAND = [sys.executable, "-m", "fastfilter"]


@pytest.fixture(autouse=True, scope="session")
def signals_are_heard() -> None:
    """What a shell runs in the background ignores SIGINT, and so would the processes under test that it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def cli(tmp_path: pathlib.Path) -> Cli:
    """Runs ``fastfilter`` with arguments, in a folder of the test's own: ``cli("run", …, stdin="…")``."""

    def run(*arguments: object, stdin: str = "", **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            input=stdin, capture_output=True, text=True, check=False, timeout=120,
            cwd=tmp_path, env=environment(**extra),
        )  # fmt: skip

    return run


@pytest.fixture
def cli_here(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """As ``cli``, in this process, for tests of many small cases."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(tmp_path)
        given = [str(argument) for argument in arguments]
        with pytest.raises(SystemExit) as ended:
            app(given, prog_name="fastfilter")
        code = ended.value.code
        assert isinstance(code, int)
        return subprocess.CompletedProcess(given, code, *capfd.readouterr())

    return run


@dataclasses.dataclass(frozen=True)
class Sample:
    """One example: its filter, its records, the ids that match (worked out here, in plain Python), and its files."""

    filter: pathlib.Path
    records: list[dict[str, Any]]
    expected: list[str]
    files: dict[str, pathlib.Path]


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sample]:
    """Both examples by dialect, on files of every input format."""
    folder = tmp_path_factory.mktemp("corpus")
    memories, chunks = list(memory_records(NUM_ROWS)), list(chunk_records(NUM_ROWS))
    examples = REPOSITORY / "examples"
    return {
        "fishmem": Sample(
            examples / "fishmem.json", memories, [record["id"] for record in memories if _is_open_ticket(record)],
            _write(folder, "memories", memories, MEMORY_SCHEMA),
        ),
        "anansi": Sample(
            examples / "anansi.json", chunks, [record["id"] for record in chunks if _is_scored_meeting(record)],
            _write(folder, "chunks", chunks, CHUNK_SCHEMA),
        ),
    }  # fmt: skip


def _is_open_ticket(memory: dict[str, Any]) -> bool:
    return (
        memory["user_id"] == "ada"
        and (memory["metadata"] or {}).get("channel") == "support"
        and (memory["importance"] or 0) >= 0.7
        and "resolved" not in memory["content"].lower()
    )


def _is_scored_meeting(chunk: dict[str, Any]) -> bool:
    score = json.dumps(chunk["metadata"].get("score")).strip('"')
    is_number = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", score)
    return chunk["metadata"]["sourceType"] == "meeting" and is_number is not None and float(score) >= 0.5


def _write(
    folder: pathlib.Path, name: str, records: list[dict[str, Any]], schema: pa.Schema
) -> dict[str, pathlib.Path]:
    table = to_table(records, schema)
    files = {ending: folder / f"{name}.{ending}" for ending in INPUTS}
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
    texts = pa.table(
        {
            field.name: pa.array([record[field.name] for record in records])
            if pa.types.is_timestamp(field.type)
            else table[field.name].cast(pa.string() if pa.types.is_dictionary(field.type) else field.type)
            for field in schema
        }
    )
    for ending, path in files.items():
        format, _, compressed = ending.partition(".")
        compression = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "lz4": "lz4"}.get(compressed)
        with pa.output_stream(path, compression=compression) as stream:
            if format == "parquet":
                pq.write_table(table, stream, row_group_size=400)
            elif format in ("jsonl", "ndjson"):
                stream.write(lines)
            elif format == "csv":
                pa.csv.write_csv(texts, stream)
            else:
                open_writer = pa.ipc.new_stream if format == "arrows" else pa.ipc.new_file
                with open_writer(stream, schema) as writer:
                    writer.write_table(table, max_chunksize=400)
    return files


PATIENCE = 60.0


def wait_for(condition: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    """Waits until a condition holds; a process that ends before it does is a failure."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, "it ended too early"
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)
