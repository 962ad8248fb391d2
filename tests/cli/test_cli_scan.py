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
    assert (ran.returncode, ran.stdout) == (4, "10\n")
    assert ran.stderr.startswith(f"skipped: {folder}/b.parquet: ")


def test_skipped_files_have_an_exit_code_of_their_own(cli_here: Cli, folder: pathlib.Path) -> None:
    """An answer without some files is no whole one, whether or not something matched in the others."""
    nothing = json.dumps({"field": "access_count", "operator": "lt", "value": 0})
    for flt, whole in ((LATE, 0), (nothing, 1)):
        for command in (["count", flt, folder], ["run", flt, folder], ["run", flt, folder, "-o", "out.jsonl"]):
            assert cli_here(*command).returncode == 3
            assert cli_here(*command, "--skip-bad-files").returncode == 4
            good = [folder / "a.parquet" if given == folder else given for given in command]
            assert cli_here(*good, "--skip-bad-files").returncode == whole


def test_files_that_are_no_data_are_passed_over_by_their_names(cli_here: Cli, folder: pathlib.Path) -> None:
    (folder / "b.parquet").unlink()
    (folder / "_temporary").mkdir()
    for name in ("_SUCCESS", "_metadata", ".a.parquet.crc", ".DS_Store", "_temporary/notes.txt"):
        (folder / name).write_bytes(b"x")
    assert cli_here("count", LATE, folder, "--quiet").stdout == "10\n"
    (folder / "notes.txt").write_bytes(b"x")
    for source in (folder, folder / "*"):
        ran = cli_here("count", LATE, source)
        assert ran.returncode == 3
        assert f"{folder}/notes.txt: the ending of its name is not one of .parquet" in ran.stderr
        assert f"begins with _ or . is passed over, as is what {folder}/*.parquet" in ran.stderr
    assert cli_here("count", LATE, folder / "*.parquet", "--quiet").stdout == "10\n"
    (folder / "a.parquet").rename(folder / "_a.parquet")
    assert cli_here("count", LATE, folder / "_*.parquet", "--quiet").stdout == "5\n"
    assert cli_here("count", LATE, folder / "*.parquet", "--quiet").stdout == "5\n"
    (folder / "c.parquet").unlink()
    assert "no file matches this glob" in cli_here("count", LATE, folder / "*.parquet").stderr
    assert "passed over" not in cli_here("count", LATE, folder / "notes.txt").stderr


def test_a_count_says_that_it_read_no_other_columns(cli_here: Cli, folder: pathlib.Path) -> None:
    (folder / "b.parquet").unlink()
    ran = cli_here("count", LATE, folder, "--explain-io", "--quiet")
    assert "columns tested: access_count" in ran.stderr
    assert "columns read only where a row matched: none" in ran.stderr


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
