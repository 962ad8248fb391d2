"""What the command line says of a scan: what was read, what was bad, where rows come from."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Callable

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Cli = Callable[..., subprocess.CompletedProcess[str]]
LATE = json.dumps({"field": "access_count", "operator": "gte", "value": 95})


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Two files of a hundred rows in ten row groups each, and one that is none."""
    table = pa.table({"id": [f"mem_{number}" for number in range(100)], "access_count": range(100)})
    made = tmp_path / "corpus"
    made.mkdir()
    for name in ("a", "c"):
        pq.write_table(table, made / f"{name}.parquet", row_group_size=10)
    (made / "b.parquet").write_bytes(b"PAR1 and no more")
    return made


def test_bad_files_stop_the_run_or_are_named(cli_here: Cli, folder: pathlib.Path) -> None:
    ran = cli_here("count", LATE, folder)
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "b.parquet" in ran.stderr
    ran = cli_here("count", LATE, folder, "--skip-bad-files", "--quiet")
    assert (ran.returncode, ran.stdout) == (0, "10\n")
    assert ran.stderr.startswith(f"skipped: {folder}/b.parquet: ")


def test_what_was_read_is_explained(cli_here: Cli, folder: pathlib.Path) -> None:
    (folder / "b.parquet").unlink()
    ran = cli_here("run", LATE, folder, "-o", "out.jsonl", "--explain-io", "--quiet")
    assert ran.returncode == 0
    assert "row groups: 20; pruned 18; read without a match 0" in ran.stderr
    assert "columns tested: access_count" in ran.stderr
    assert "columns read only where a row matched: id" in ran.stderr
    ran = cli_here("run", LATE, folder, "-o", "all.jsonl", "--explain-io", "--no-prune", "--memory-budget", 1)
    assert "row groups: 20; pruned 0; read without a match 18" in ran.stderr
    assert "10 of 200 rows matched" in ran.stderr
    out = folder.parent
    assert (out / "all.jsonl").read_text() == (out / "out.jsonl").read_text()


def test_rows_say_where_they_come_from(cli_here: Cli, folder: pathlib.Path) -> None:
    (folder / "b.parquet").unlink()
    ran = cli_here(
        "run", LATE, folder, "--columns", "id", "--row-number", "row", "--source-column", "file", "--limit", 6
    )
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    assert rows[0] == {"id": "mem_95", "row": 96, "file": f"{folder}/a.parquet"}
    assert rows[5] == {"id": "mem_95", "row": 96, "file": f"{folder}/c.parquet"}
    assert cli_here("run", LATE, folder, "-o", "lines.jsonl").returncode == 0
    ran = cli_here("run", LATE, "lines.jsonl", "--row-number", "line", "--columns", "id", "-o", "out.parquet")
    assert ran.returncode == 0
    found = pq.read_table(folder.parent / "out.parquet")
    assert found.schema.names == ["id", "line"]
    assert found["line"].to_pylist() == list(range(1, 11))
    assert "has a column 'id'" in cli_here("run", LATE, folder, "--row-number", "id").stderr


def test_sources_may_be_urls(cli_here: Cli, folder: pathlib.Path) -> None:
    memory = fsspec.filesystem("memory")
    with memory.open("/cli/a.parquet", "wb") as opened:
        opened.write((folder / "a.parquet").read_bytes())
    try:
        assert cli_here("count", LATE, "memory://cli").stdout == "5\n"
        assert cli_here("count", LATE, (folder / "a.parquet").as_uri()).stdout == "5\n"
        assert cli_here("count", LATE, "memory://nothing").returncode == 3
    finally:
        memory.rm("/cli", recursive=True)
