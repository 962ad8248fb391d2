"""A folder as output on the command line: options, messages, exit codes, and runs that are killed at any time."""

from __future__ import annotations

import json
import pathlib
import resource
import signal
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from conftest import PATIENCE, Cli, environment

ALL = '{"field":"id","operator":"exists","value":true}'
MANY_OF_METADATA = '{"field":"metadata.n","operator":"gte","value":20}'
MANIFEST = "_fastfilter.json"


@pytest.fixture
def corpus(tmp_path: pathlib.Path) -> pathlib.Path:
    """Three files of a hundred rows in row groups of ten, and the same as lines."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (tmp_path / "lines").mkdir()
    for number in range(3):
        rows = [
            {"id": f"{number}-{n}", "tenant": "abc"[n % 3], "metadata.n": n, "content": "x" * (n * 37 % 60)}
            for n in range(100)
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{number}.parquet", row_group_size=10)
        lines = [json.dumps({**row, "metadata": {"n": row.pop("metadata.n")}}) for row in rows]
        (tmp_path / "lines" / f"{number}.jsonl").write_text("\n".join(lines))
    return folder


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# -- options -----------------------------------------------------------------------------------------------------------


def test_an_output_is_a_folder_by_its_name_or_by_an_option(cli_here: Cli, corpus: pathlib.Path) -> None:
    here = corpus.parent
    (here / "there").mkdir()
    for out, options in (("slash/", []), ("there", []), ("option", ["--max-rows-per-file", 100])):
        ran = cli_here("run", ALL, corpus, "-o", out, *options)
        assert ran.returncode == 0, ran.stderr
        assert "300 of 300 rows matched" in ran.stderr
        num_files = len([name for name in contents(here / out) if name != MANIFEST])
        assert f"→ {out} ({num_files} file{'s' * (num_files > 1)})" in ran.stderr
        assert ds.dataset(here / out).to_table().num_rows == 300
        assert cli_here("count", ALL, out, "--quiet").stdout == "300\n"
    assert num_files == 3


def test_partitions_have_the_names_that_other_readers_know(cli_here: Cli, corpus: pathlib.Path) -> None:
    here = corpus.parent
    assert cli_here("run", ALL, corpus, "-o", "out", "--partition-by", "tenant").returncode == 0
    assert sorted(contents(here / "out")) == [MANIFEST, *(f"tenant={name}/part-00000.parquet" for name in "abc")]
    found = ds.dataset(here / "out", partitioning="hive").to_table()
    assert found.sort_by("id").to_pylist() == [
        {name: row[name] for name in found.schema.names}
        for row in pq.read_table(corpus).sort_by("id").to_pylist()
    ]  # fmt: skip
    assert cli_here("count", ALL, "out", "--scope", "user_id=x", "--field", "user_id=tenant", "--quiet").stdout == "0\n"
    assert cli_here("count", ALL, "out", "--scope", "user_id=b", "--field", "user_id=tenant", "-q").stdout == "99\n"


def test_groups_and_compression_of_parquet(cli_here: Cli, corpus: pathlib.Path) -> None:
    for out in ("out.parquet", "out/"):
        for compression, stored in (("zstd:9", "ZSTD"), ("snappy", "SNAPPY"), ("none", "UNCOMPRESSED"), (None, "ZSTD")):
            given = ["--compression", compression] if compression else []
            ran = cli_here("run", ALL, corpus, "-o", out, "--max-rows-per-group", 70, *given)
            assert ran.returncode == 0, ran.stderr
            path = corpus.parent / ("out/part-00000.parquet" if out == "out/" else out)
            metadata = pq.ParquetFile(path).metadata
            groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
            assert [group.num_rows for group in groups] == [70, 70, 70, 70, 20]
            assert {group.column(0).compression for group in groups} == {stored}
            path.unlink()
            (corpus.parent / "out" / MANIFEST).unlink(missing_ok=True)


def test_batches_and_compression_of_arrow(cli_here: Cli, corpus: pathlib.Path) -> None:
    plain = ["run", ALL, corpus, "--max-rows-per-group", 4]
    for ending in ("arrow", "arrows"):
        sizes = []
        for compression in ("none", "lz4", "zstd:19"):
            out = corpus.parent / f"out.{ending}"
            assert cli_here(*plain, "-o", out, "--compression", compression).returncode == 0
            with pa.memory_map(str(out)) as opened:
                open_ipc = pa.ipc.open_file if ending == "arrow" else pa.ipc.open_stream
                reader = open_ipc(opened)
                table = reader.read_all()
            assert {len(chunk) for chunk in table["id"].chunks} == {4, 2}
            assert table.num_rows == 300
            sizes.append(out.stat().st_size)
        assert len(set(sizes)) == 3


@pytest.mark.parametrize(
    ("compression", "ending"),
    [("none", ""), ("gzip", ".gz"), ("bz2", ".bz2"), ("zstd", ".zst"), ("lz4", ".lz4")],
)
@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_compression_of_texts_is_in_their_names(
    format: str, compression: str, ending: str, cli_here: Cli, corpus: pathlib.Path
) -> None:
    options = ["--output-format", format, "--compression", compression]
    assert cli_here("run", ALL, corpus, "-o", "out/", *options).returncode == 0
    assert set(contents(corpus.parent / "out")) == {MANIFEST, f"part-00000.{format}{ending}"}
    assert cli_here("count", ALL, "out", "--quiet").stdout == "300\n"
    named = f"one.{format}{ending}"
    assert cli_here("run", ALL, corpus, "-o", named, "--compression", compression).returncode == 0
    assert cli_here("count", ALL, named, "--quiet").stdout == "300\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "o.parquet", "--compression", "zst"], "none, snappy, gzip, brotli, zstd, lz4; did you mean 'zstd'?"),
        (["-o", "o.parquet", "--compression", "zstd:23"], "the level of zstd is a whole number from -131072 to 22"),
        (["-o", "o.parquet", "--compression", "zstd:"], "the level of zstd is a whole number"),
        (["-o", "o.parquet", "--compression", "snappy:1"], "no levels in parquet; those that have: gzip, brotli, zstd"),
        (["-o", "o.arrow", "--compression", "gzip"], "arrow can have none, lz4, zstd"),
        (["-o", "o.arrows.gz", "--compression", "zstd"], "by its name o.arrows.gz is compressed as a whole (gzip)"),
        (["-o", "o.jsonl", "--compression", "gzip"], "the name o.jsonl says none; name it o.jsonl.gz"),
        (["-o", "o.csv.gz", "--compression", "none"], "the name o.csv.gz says gzip; name it o.csv"),
        (["-o", "o.csv.gz", "--compression", "gzip:9"], "gzip has no levels in csv; those that have: none"),
        (["-o", "o.csv", "--max-rows-per-group", "9"], "csv has no groups of rows; parquet, arrow, arrows have"),
        (["-o", "o.parquet", "--max-rows-per-group", "0"], "--max-rows-per-group"),
        (["--compression", "gzip"], "--output names one"),
        (["--max-rows-per-file", "9"], "--max-rows-per-file is of a folder; --output names one"),
        (["-o", "-", "--resume"], "--resume is of a folder"),
        (["-o", "o/", "--file-size", "12 parsecs"], "KB, KiB, MB, MiB, GB, GiB, TB, TiB, as 512MB"),
        (["-o", "o/", "--checkpoint", "0"], "--checkpoint 0: must be a number of bytes"),
        (["-o", "o/", "--output-format", "xml"], "parquet"),
        (["-o", "o/", "--partition-by", "tenant,"], "--partition-by: give names with commas between them, none twice"),
        (["-o", "o/", "--partition-by", "tennant"], "did you mean 'tenant'?"),
        (["-o", "o/", "--partition-by", "tenant", "--output-format", "jsonl"], "parquet, arrow, arrows, csv can"),
        (["-o", "corpus", "--resume"], "corpus: holds a source, "),
        (["-o", "corpus/new/"], "is in the source"),
        (["-o", "lines/"], "is not empty (0.jsonl, 1.jsonl, 2.jsonl), and has no _fastfilter.json"),
        (["-o", "no/where/"], "there is no folder"),
        (["-o", "lines/0.jsonl", "--resume"], "is a file"),
    ],
)  # fmt: skip
def test_bad_options_are_2_and_say_what_is_allowed(
    cli_here: Cli, corpus: pathlib.Path, arguments: list[str], words: str
) -> None:
    before = contents(corpus.parent)
    ran = cli_here("run", ALL, corpus, *arguments)
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert words in " ".join(ran.stderr.replace("│", " ").split())
    assert contents(corpus.parent) == before
    assert sorted(path.name for path in corpus.parent.iterdir()) == ["corpus", "lines"]


def test_a_stream_is_written_to_a_folder_but_not_resumed(cli: Cli, tmp_path: pathlib.Path) -> None:
    lines = '{"id":"a"}\n{"id":"b"}\n'
    ran = cli("run", ALL, "-", "-o", "out", "--max-rows-per-file", 1, "--output-format", "jsonl", stdin=lines)
    assert ran.returncode == 0, ran.stderr
    assert contents(tmp_path / "out")["part-00001.jsonl"] == b'{"id":"b"}\n'
    ran = cli("run", ALL, "-", "-o", "again", "--resume", stdin=lines)
    assert ran.returncode == 2
    assert "a stream, which cannot be read a second time" in ran.stderr
    assert not (tmp_path / "again").exists()


def test_exit_codes_of_folders(cli_here: Cli, corpus: pathlib.Path) -> None:
    run = ["run", ALL, corpus, "-o", "out/", "--max-rows-per-file", 70]
    assert cli_here(*run, "--resume").returncode == 0  # there is nothing to go on with, so it begins
    again = cli_here(*run)
    assert again.returncode == 2
    assert "out/: holds the output of a run; resuming (--resume) finds it complete; empty it, or write" in again.stderr
    complete = cli_here(*run, "--resume")
    assert (complete.returncode, complete.stdout) == (0, "")
    assert complete.stderr == "out/ is complete already: 300 rows in 5 files; nothing to do\n"
    other = cli_here("run", '{"field":"id","operator":"eq","value":"1-5"}', corpus, "-o", "out/", "--resume")
    assert other.returncode == 2
    assert "option max_rows_per_file: was 70, is null" in other.stderr
    assert "filter: was [" in other.stderr
    nothing = ["run", '{"field":"id","operator":"eq","value":"none"}', corpus, "-o", "nothing/"]
    assert cli_here(*nothing).returncode == 1
    assert cli_here(*nothing, "--resume").returncode == 1
    (corpus / "bad.parquet").write_bytes(b"PAR1")
    skipping = ["run", ALL, corpus, "-o", "skipped/", "--skip-bad-files", "--quiet"]
    assert cli_here(*skipping).returncode == 4
    assert cli_here(*skipping, "--resume").returncode == 4
    named_like_a_file = cli_here("run", ALL, corpus, "-o", "f.parquet", "--resume")
    assert named_like_a_file.returncode == 2
    assert "f.parquet is named like a file" in named_like_a_file.stderr
    assert cli_here("run", ALL, corpus, "-o", "bad/").returncode == 3
    assert not (corpus.parent / "bad").exists()


# -- a run that ends before its time -----------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
number, when, signal_number = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
del sys.argv[1:4]
real, calls = os.replace, 0
def replace(*paths):
    global calls
    calls += 1
    if calls == number and when == "before":
        os.kill(os.getpid(), signal_number)
    real(*paths)
    if calls == number and when == "after":
        os.kill(os.getpid(), signal_number)
os.replace = replace
from fastfilter.cli import main
main()
"""
"""The command line, which sends itself a signal before or after the file of some number is put into place."""


def killed(
    folder: pathlib.Path, number: int, when: str, *arguments: object, signal_number: int = signal.SIGKILL
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", KILLED, str(number), when, str(int(signal_number)), *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=PATIENCE * 2, check=False
    )


RUNS: dict[str, tuple[list[Any], int]] = {
    "rows": (["run", MANY_OF_METADATA, "corpus", "--max-rows-per-file", 25], 2),
    "partitions": (["run", MANY_OF_METADATA, "corpus", "--partition-by", "tenant", "--checkpoint", "3KB"], 5),
    "lines": (["run", MANY_OF_METADATA, "lines", "--output-format", "jsonl", "--file-size", "2KB"], 2),
    "lines to columns": (["run", MANY_OF_METADATA, "lines", "--max-rows-per-file", 30], 2),
}


@pytest.mark.parametrize("run", RUNS)
def test_a_run_that_is_killed_again_and_again_comes_to_the_same_folder(
    run: str, cli: Cli, corpus: pathlib.Path
) -> None:
    """Each is killed a few files on, also while it resumes, until one comes to the end."""
    here = corpus.parent
    arguments, step = RUNS[run]
    assert cli(*arguments, "-o", "whole/").returncode == 0
    whole = contents(here / "whole")
    assert len(whole) > 6
    num_killed = 0
    while True:
        when = ("before", "after")[num_killed % 2]
        number = step + 3 * (num_killed % 3) if num_killed else 1  # at first not even the manifest is in place
        ended = killed(here, number, when, *arguments, "-o", "out/", "--resume")
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        num_killed += 1
        assert num_killed < 40
        found = contents(here / "out")
        parts = {name for name in found if name.rpartition("/")[2].startswith("part-")}
        assert all(found[name] == whole[name] for name in parts)  # whatever has a final name is whole
        refused = cli(*arguments, "-o", "out/") if num_killed == 2 else None
        if refused is not None:
            assert refused.returncode == 2
            assert "a run that did not end; resuming (--resume) goes on with it" in refused.stderr
    assert num_killed >= 3
    assert contents(here / "out") == whole
    assert cli(*arguments, "-o", "out/", "--resume").returncode == 0


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_finished_files_to_be_resumed(
    signal_number: signal.Signals, cli: Cli, corpus: pathlib.Path
) -> None:
    here = corpus.parent
    arguments, _ = RUNS["rows"]
    ended = killed(here, 6, "before", *arguments, "-o", "out/", signal_number=signal_number)
    assert ended.returncode == 128 + signal_number
    assert ended.stderr.startswith("error: ")
    assert "Traceback" not in ended.stderr
    found = contents(here / "out")
    named = {part["name"] for part in json.loads(found[MANIFEST])["parts"]}
    assert named and set(found) == {MANIFEST, *named}
    resumed = cli(*arguments, "-o", "out/", "--resume")
    assert resumed.returncode == 0
    assert resumed.stderr.startswith(f"out/: going on behind {25 * len(named)} rows in {len(named)} file")
    assert "240 of 300 rows matched" in resumed.stderr
    assert cli(*arguments, "-o", "whole/").returncode == 0
    assert contents(here / "out") == contents(here / "whole")


def test_a_full_disk_leaves_what_is_whole(cli: Cli, corpus: pathlib.Path) -> None:
    """No file may become larger than some size, so writing one fails as it does on a full disk."""
    here = corpus.parent
    arguments = ["run", ALL, "corpus", "--output-format", "csv"]

    def limited(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "fastfilter", *map(str, arguments)],
            cwd=here, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000)),
        )  # fmt: skip

    (here / "one.csv").write_text("what was there before")
    ran = limited("run", ALL, "corpus", "-o", "one.csv")
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: one.csv: ")
    assert (here / "one.csv").read_text() == "what was there before"
    assert cli(*arguments, "-o", "old/", "--max-rows-per-file", 100).returncode == 0
    old = contents(here / "old")
    for out in ("old/", "new/"):
        ran = limited(*arguments, "-o", out, "--max-rows-per-file", 300)
        assert ran.returncode == 2
        assert "Traceback" not in ran.stderr
    assert "part-00000.csv: " in ran.stderr
    assert contents(here / "old") == old
    assert set(contents(here / "new")) == {MANIFEST}
    assert sorted(path.name for path in here.iterdir()) == ["corpus", "lines", "new", "old", "one.csv"]
    assert cli(*arguments, "-o", "new/", "--max-rows-per-file", 300, "--resume").returncode == 0
    assert set(contents(here / "new")) == {MANIFEST, "part-00000.csv"}
