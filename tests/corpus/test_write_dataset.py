"""``fastfilter.write_dataset``: the rows of a scan in a folder's files, whatever ends the run in between."""

from __future__ import annotations

import base64
import contextlib
import datetime
import fcntl
import json
import os
import pathlib
import random
import resource
import tempfile
from collections.abc import Callable
from typing import Any

import fsspec
import hypothesis
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

import fastfilter
from fastfilter.corpus.formats import UsageError
from fastfilter.corpus.manifest import MANIFEST, Manifest

FILTER = {"field": "importance", "operator": "gte", "value": 0.3}


def table_of(num_rows: int, seed: int = 1) -> pa.Table:
    """Rows of which about two thirds match."""
    choose = random.Random(seed)
    return pa.table(
        {
            "id": [f"mem_{seed}_{number:05}" for number in range(num_rows)],
            "user_id": [choose.choice(["ada", "bob", "a/b c=é%", "", None]) for _ in range(num_rows)],
            "importance": [choose.randrange(10) / 10 for _ in range(num_rows)],
            "n": pa.array([choose.randrange(3) for _ in range(num_rows)], pa.int64()),
            "content": ["é" * choose.randrange(40) for _ in range(num_rows)],
        }
    )


def write_source(path: pathlib.Path, table: pa.Table, group_rows: int) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=group_rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=group_rows)


@pytest.fixture
def sources(tmp_path: pathlib.Path) -> pathlib.Path:
    """Three files in row groups of a hundred rows."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(3):
        write_source(folder / f"{number}.parquet", table_of(400, number), 100)
    return folder


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def rows_in_order(paths: list[str]) -> list[dict[str, Any]]:
    return [row for path in paths for row in fastfilter.scan(path, None).read_all().to_pylist()]


def manifest_of(folder: pathlib.Path) -> Manifest:
    manifest = Manifest.read(str(folder))
    assert manifest is not None
    return manifest


@pytest.mark.parametrize("output_format", ["parquet", "arrow", "arrows", "jsonl", "csv"])
def test_files_in_order_hold_the_rows_of_the_scan(
    output_format: Any, sources: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    out = tmp_path / "out"
    paths = fastfilter.write_dataset(sources, FILTER, out, output_format=output_format, max_rows_per_file=150)
    wanted = fastfilter.scan(sources, FILTER).read_all()
    assert rows_in_order(paths) == wanted.to_pylist()
    sizes = [fastfilter.scan(path, None).read_all().num_rows for path in paths]
    assert set(sizes[:-1]) == {150} and 0 < sizes[-1] <= 150
    assert fastfilter.scan(out, None).read_all().to_pylist() == wanted.to_pylist()
    assert [os.path.basename(path) for path in paths] == [
        f"part-{number:05}.{output_format}" for number in range(len(paths))
    ]
    if output_format in ("parquet", "arrow"):
        read = ds.dataset(out, format="ipc" if output_format == "arrow" else "parquet").to_table()
        assert read == wanted.replace_schema_metadata(read.schema.metadata)


def test_the_manifest_says_what_the_folder_is_made_from(sources: pathlib.Path, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out"
    fastfilter.write_dataset(sources, FILTER, out, max_rows_per_file=150)
    found = json.loads((out / MANIFEST).read_text())
    program = fastfilter.Program.from_bytes(base64.b64decode(found["filter"]))
    assert program == fastfilter.compile(FILTER).program
    stats = [path.stat() for path in sorted(sources.iterdir())]
    assert [(source["bytes"], source["modified"]) for source in found["sources"]] == [
        (stat.st_size, stat.st_mtime_ns) for stat in stats
    ]
    assert found["schema"] == [[field.name, str(field.type)] for field in table_of(1).schema]
    assert found["complete"] is True
    assert found["rows_in"] == 1200
    whole = fastfilter.scan(sources, FILTER, row_number="row", source_column="file").read_all()
    places = list(zip(whole["file"].to_pylist(), whole["row"].to_pylist(), strict=True))
    start = 0
    for part in found["parts"]:
        assert part["bytes"] == (out / part["name"]).stat().st_size
        assert (tuple(part["first"]), tuple(part["last"])) == (places[start], places[start + part["rows"] - 1])
        start += part["rows"]
    assert start == whole.num_rows


def test_a_file_ends_at_about_its_size(sources: pathlib.Path, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out"
    fastfilter.write_dataset(sources, None, out, file_size=8_000, compression="none", output_format="arrows")
    sizes = [part.bytes for part in manifest_of(out).parts]
    assert len(sizes) > 5
    assert all(8_000 <= size < 18_000 for size in sizes[:-1])


PARTITIONED = {"partition_by": ["user_id", "n"], "max_rows_per_file": 20, "max_open_files": 2, "checkpoint": 9_000}


@pytest.mark.parametrize("output_format", ["parquet", "arrow", "arrows", "csv"])
def test_partitions_are_read_back_by_scan_and_by_pyarrow(
    output_format: Any, sources: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    out = tmp_path / "out"
    paths = fastfilter.write_dataset(sources, FILTER, out, output_format=output_format, **PARTITIONED)
    wanted = fastfilter.scan(sources, FILTER).read_all()
    folders = {os.path.relpath(os.path.dirname(path), out) for path in paths}
    assert "user_id=a%2Fb%20c%3D%C3%A9%25/n=0" in folders
    assert "user_id=__HIVE_DEFAULT_PARTITION__/n=2" in folders
    assert len(folders) == 15
    groups: dict[Any, list[Any]] = {}
    for row in wanted.to_pylist():
        groups.setdefault((row["user_id"], str(row["n"])), []).append((row["id"], row["importance"], row["content"]))
    read = fastfilter.scan(out, None).read_all()
    assert read.schema.names == ["id", "importance", "content", "user_id", "n"]
    found: dict[Any, list[Any]] = {}
    for row in read.to_pylist():
        found.setdefault((row["user_id"], row["n"]), []).append((row["id"], row["importance"], row["content"]))
    if output_format == "csv":  # an empty cell is null, as a text it is quoted
        assert {key: len(rows) for key, rows in found.items()} == {key: len(rows) for key, rows in groups.items()}
    assert found == groups  # also in their order
    hive = ds.partitioning(pa.schema([("user_id", pa.string()), ("n", pa.int64())]), flavor="hive")
    if output_format in ("parquet", "arrow"):
        dataset = ds.dataset(out, format="ipc" if output_format == "arrow" else "parquet", partitioning=hive)
        assert dataset.to_table().select(wanted.schema.names).sort_by("id") == wanted.sort_by("id")
    only = fastfilter.scan(out, fastfilter.compile(None, scope={"user_id": "a/b c=é%"})).read_all()
    assert set(only["user_id"].to_pylist()) == {"a/b c=é%"}


def test_many_partitions_take_few_files_and_little_memory(tmp_path: pathlib.Path) -> None:
    """Each row group has rows of every partition; few files can be open, and few rows wait."""
    num_rows = 5_000
    table = pa.table({"id": [str(n) for n in range(num_rows)], "user_id": [f"u{n % 500}" for n in range(num_rows)]})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=1_000)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    num_open = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (num_open + 30, limits[1]))
    try:
        paths = fastfilter.write_dataset(
            tmp_path / "in.parquet", None, tmp_path / "out", partition_by=["user_id"], max_open_files=5,
            memory_budget=1 << 20,
        )  # fmt: skip
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len({os.path.dirname(path) for path in paths}) == 500
    found = fastfilter.scan(tmp_path / "out" / "user_id=u7", None).read_all()
    assert found["id"].to_pylist() == [str(n) for n in range(7, num_rows, 500)]
    assert sum(part.rows for part in manifest_of(tmp_path / "out").parts) == num_rows
    assert len(paths) > 500  # so room had to be made


def test_a_checkpoint_is_made_each_time_so_much_was_read(tmp_path: pathlib.Path) -> None:
    """Also of row groups that are read in parts, of which only the last knows how much that was."""
    table = pa.table({"id": [str(n) for n in range(4_000)], "content": ["x" * 50 + str(n) for n in range(4_000)]})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=200, compression="none", use_dictionary=False)
    size = (tmp_path / "in.parquet").stat().st_size
    for budget in (1 << 20, 2_000):
        out = tmp_path / f"out{budget}"
        paths = fastfilter.write_dataset(
            tmp_path / "in.parquet", None, out, checkpoint=size // 4 + 1, memory_budget=budget
        )
        assert len(paths) == 4
        assert sum(part.rows for part in manifest_of(out).parts) == 4_000


def test_values_of_several_types_name_folders(tmp_path: pathlib.Path) -> None:
    table = pa.table(
        {
            "d": pa.array([datetime.date(2026, 1, 2), None], pa.date32()),
            "b": [True, False],
            "e": pa.array(["x", "y"]).dictionary_encode(),
            "v": pa.array(["x", "y"], pa.string_view()),
            "big": pa.array([2**64 - 1, 0], pa.uint64()),
            "id": ["1", "2"],
        }
    )
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as writer:
        writer.write_table(table)
    by = ["d", "b", "e", "v", "big"]
    paths = fastfilter.write_dataset(tmp_path / "in.arrow", None, tmp_path / "out", partition_by=by)
    assert [os.path.relpath(os.path.dirname(path), tmp_path / "out") for path in paths] == [
        "d=2026-01-02/b=true/e=x/v=x/big=18446744073709551615",
        "d=__HIVE_DEFAULT_PARTITION__/b=false/e=y/v=y/big=0",
    ]


def test_values_that_would_be_read_as_others_are_refused(tmp_path: pathlib.Path) -> None:
    for value, message in (("__HIVE_DEFAULT_PARTITION__", "would be read as null"), ("é" * 50, "255 are possible")):
        pq.write_table(pa.table({"id": ["1"], "user_id": [value]}), tmp_path / "in.parquet")
        with pytest.raises(fastfilter.DataError, match=message):
            fastfilter.write_dataset(tmp_path / "in.parquet", None, tmp_path / "out", partition_by=["user_id"])
        assert set(contents(tmp_path / "out")) == {MANIFEST}
        (tmp_path / "out" / MANIFEST).unlink()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partition_by": ["user"]}, "did you mean 'user_id'"),
        ({"partition_by": ["importance"]}, "type double cannot name folders; text, integers, booleans and date32 can"),
        ({"partition_by": ["_x"]}, "begin with _ or ."),
        ({"partition_by": ["id", "id"]}, "none twice"),
        ({"partition_by": ["id"], "columns": ["id"]}, "no column is left"),
        ({"partition_by": ["id"], "output_format": "jsonl"}, "lines of JSON cannot"),
        ({"max_rows_per_file": 0}, "max_rows_per_file must be"), ({"file_size": 1.5}, "file_size must be"),
        ({"compression": "zst"}, "did you mean 'zstd'"), ({"output_format": "xml"}, "xml"), ({"limit": -1}, "limit"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused_and_leave_nothing(
    options: dict[str, Any], message: str, tmp_path: pathlib.Path
) -> None:
    pq.write_table(table_of(3).append_column("_x", pa.array([1, 2, 3])), tmp_path / "in.parquet")
    with pytest.raises(ValueError, match=message):
        fastfilter.write_dataset(tmp_path / "in.parquet", None, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_text_is_no_list_of_columns(tmp_path: pathlib.Path) -> None:
    with pytest.raises(TypeError, match="sequence of names"):
        fastfilter.write_dataset(tmp_path, None, tmp_path / "out", partition_by="id")


def test_no_match_is_a_file_without_rows(sources: pathlib.Path, tmp_path: pathlib.Path) -> None:
    nobody = {"field": "id", "operator": "eq", "value": "nobody"}
    (path,) = fastfilter.write_dataset(sources, nobody, tmp_path / "out")
    assert fastfilter.scan(path, nobody).read_all() == fastfilter.scan(sources, nobody).read_all()
    assert fastfilter.write_dataset(sources, nobody, tmp_path / "by", partition_by=["n"]) == []


class Ended(BaseException):
    """What ends a run."""


def ended_at(number: int, monkeypatch: pytest.MonkeyPatch, behind: bool = False) -> None:
    """From now on, the file that is put into place as this number ends what wants to: before it is there, or behind."""
    real, calls = os.replace, 0

    def replace(*paths: Any) -> None:
        nonlocal calls
        calls += 1
        if calls != number or behind:
            real(*paths)
        if calls == number:
            raise Ended

    monkeypatch.setattr(os, "replace", replace)


@pytest.mark.parametrize(
    "options",
    [
        {"max_rows_per_file": 70}, PARTITIONED, {"max_rows_per_file": 70, "limit": 333}, {"checkpoint": 9_000},
        {**PARTITIONED, "memory_budget": 6_000}, {"file_size": 3_000, "row_number": "row", "source_column": "file"},
        {"max_rows_per_file": 70, "output_format": "jsonl", "compression": "gzip", "columns": ["n", "id"]},
    ],
)  # fmt: skip
@pytest.mark.parametrize("behind", [False, True])
def test_a_run_that_is_ended_at_every_file_comes_to_the_same_folder(
    behind: bool, options: Any, sources: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with another number of threads."""
    whole, out = tmp_path / "whole", tmp_path / "out"
    fastfilter.write_dataset(sources, FILTER, whole, threads=3, **options)
    assert len(contents(whole)) > 3
    number, num_parts = 2, -1
    while True:
        ended_at(number, monkeypatch, behind)
        try:
            fastfilter.write_dataset(sources, FILTER, out, threads=1, resume=True, **options)
            break
        except Ended:
            found, named = contents(out), contents(whole)
            assert all(found[name] == named[name] for name in found if name != MANIFEST)
            assert set(found) == {MANIFEST, *(part.name for part in manifest_of(out).parts)}
            number += 1 if len(found) == num_parts or number == 1 else -1  # a run that came no further is let do more
            num_parts = len(found)
        finally:
            monkeypatch.undo()
    assert contents(out) == contents(whole)


def test_lines_that_become_columns_are_resumed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Types are those of all lines, also of those before the place where the run goes on."""
    lines = [
        json.dumps({"id": str(n), "importance": n, "user_id": f"u{n % 3}", "x": n if n < 90 else "late"})
        for n in range(100)
    ]
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    given = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for options in ({"max_rows_per_file": 30}, {"partition_by": ["user_id"], "checkpoint": 1_000}):
        whole, out = tmp_path / f"whole{len(options)}", tmp_path / f"out{len(options)}"
        wanted = fastfilter.write_dataset(given, None, whole, batch_rows=10, **options)
        assert pq.read_table(wanted[0]).schema.field("x").type == pa.string()
        for number in (3, 4, 5, 3):
            ended_at(number, monkeypatch)
            with pytest.raises(Ended):
                fastfilter.write_dataset(given, None, out, batch_rows=10, resume=True, **options)
            monkeypatch.undo()
        fastfilter.write_dataset(given, None, out, batch_rows=10, resume=True, **options)
        assert contents(out) == contents(whole)


FILES = st.lists(
    st.tuples(st.sampled_from(["parquet", "arrow", "jsonl", "csv"]), st.integers(0, 60), st.integers(1, 25)),
    min_size=1, max_size=4,
)  # fmt: skip


@hypothesis.settings(max_examples=25, deadline=None)
@hypothesis.given(
    FILES, st.one_of(st.none(), st.integers(1, 40)), st.sampled_from([50, 400, 3_000, 10**9]),
    st.sampled_from(["parquet", "arrows", "jsonl"]), st.sampled_from([300, 10**9]),
    st.lists(st.integers(1, 6), max_size=3), st.sampled_from([None, 20]),
)  # fmt: skip
def test_parts_in_order_are_the_unpartitioned_output(
    files: Any, most_rows: Any, file_size: int, output_format: Any, checkpoint: int, ends: list[int], limit: Any
) -> None:
    with tempfile.TemporaryDirectory() as made, pytest.MonkeyPatch.context() as monkeypatch:
        folder = pathlib.Path(made)
        (folder / "in").mkdir()
        for number, (ending, num_rows, group_rows) in enumerate(files):
            write_source(folder / "in" / f"{number}.{ending}", table_of(num_rows, number), group_rows)
        options: Any = {
            "max_rows_per_file": most_rows, "file_size": file_size, "output_format": output_format,
            "checkpoint": checkpoint, "limit": limit, "batch_rows": 7, "threads": 2,
        }  # fmt: skip
        paths = fastfilter.write_dataset(folder / "in", FILTER, folder / "whole", **options)
        unpartitioned = fastfilter.scan(folder / "in", FILTER, limit=limit).read_all().to_pylist()
        found = rows_in_order(paths)
        if output_format == "jsonl":  # of lines, members that are null may be missing or not
            found = [{name: row.get(name) for name in table_of(1).schema.names} for row in found]
        assert found == unpartitioned
        for number in ends:
            ended_at(number, monkeypatch)
            with contextlib.suppress(Ended):
                fastfilter.write_dataset(folder / "in", FILTER, folder / "out", resume=True, **options)
            monkeypatch.undo()
        fastfilter.write_dataset(folder / "in", FILTER, folder / "out", resume=True, **options)
        assert contents(folder / "out") == contents(folder / "whole")


@pytest.fixture
def begun(sources: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder whose run was ended after two files."""
    ended_at(6, monkeypatch)
    with pytest.raises(Ended):
        fastfilter.write_dataset(sources, FILTER, tmp_path / "out", max_rows_per_file=150)
    monkeypatch.undo()
    assert [part.name for part in manifest_of(tmp_path / "out").parts] == ["part-00000.parquet", "part-00001.parquet"]
    return tmp_path / "out"


def grow(path: pathlib.Path) -> None:
    pq.write_table(table_of(401), path)


def touch(path: pathlib.Path) -> None:
    os.utime(path, ns=(10**18, 10**18))


def other_version(out: pathlib.Path) -> None:
    text = (out / MANIFEST).read_text()
    (out / MANIFEST).write_text(text.replace(pa.__version__, "1.2.3"))


@pytest.mark.parametrize(
    ("filter", "options", "change", "message"),
    [
        (None, {}, None, r"filter: was \[.*importance.*\], is \["),
        (FILTER, {"max_rows_per_file": 99}, None, "option max_rows_per_file: was 150, is 99"),
        (FILTER, {"columns": ["id"]}, None, r'option columns: was null, is \["id"\]'),
        (FILTER, {"compression": "gzip:3"}, None, 'option compression: was null, is "gzip:3"'),
        (FILTER, {"partition_by": ["n"]}, None, r'option partition_by: was \[\], is \["n"\]'),
        (FILTER, {}, lambda sources, _: grow(sources / "1.parquet"), r"1\.parquet: bytes was [0-9,]+ bytes, is"),
        (FILTER, {}, lambda sources, _: touch(sources / "1.parquet"), r"1\.parquet: modified was .*, is 2001-09-09T"),
        (FILTER, {}, lambda sources, _: (sources / "1.parquet").unlink(), r"1\.parquet: is not there any more"),
        (FILTER, {}, lambda sources, _: grow(sources / "9.parquet"), r"9\.parquet: was not there"),
        (FILTER, {}, lambda _, out: other_version(out), r"version of pyarrow: was 1\.2\.3, is"),
        (FILTER, {}, lambda _, out: (out / "part-00000.parquet").unlink(), "part-00000.parquet is not there any more"),
        (FILTER, {}, lambda _, out: (out / "part-00001.parquet").write_bytes(b"x"), r"had [0-9,]+ bytes, has 1;"),
        (FILTER, {}, lambda _, out: (out / MANIFEST).write_bytes(b"{"), "cannot be read .*empty the folder"),
        (FILTER, {}, lambda _, out: (out / MANIFEST).write_text('{"manifest": 9}'), "is of version 9, not 1"),
    ],
)  # fmt: skip
def test_what_is_not_the_same_run_is_not_resumed(
    filter: Any, options: Any, change: Callable[..., None] | None, message: str, begun: pathlib.Path,
    sources: pathlib.Path,
) -> None:  # fmt: skip
    if change is not None:
        change(sources, begun)
    before = contents(begun)
    with pytest.raises(UsageError, match=message):
        fastfilter.write_dataset(sources, filter, begun, **{"max_rows_per_file": 150, "resume": True, **options})
    assert contents(begun) == before


def test_only_files_with_the_names_of_parts_are_removed(
    begun: pathlib.Path, sources: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    own = ["part-00009.parquet", ".part-00003.parquet.0123456789abcdef.part", f".{MANIFEST}.0123456789abcdef.part"]
    theirs = [
        "notes.txt", "part-9.parquet", "part-00009.csv", "xpart-00009.parquet", ".part-00003.parquet.0123.part",
        "n=1/part-00009.parquet",
    ]  # fmt: skip
    (begun / "n=1").mkdir()
    for name in own + theirs:
        (begun / name).write_bytes(b"x")
    fastfilter.write_dataset(sources, FILTER, begun, max_rows_per_file=150, resume=True)
    fastfilter.write_dataset(sources, FILTER, tmp_path / "whole", max_rows_per_file=150)
    left = contents(begun)
    assert {name: left.pop(name) for name in theirs} == dict.fromkeys(theirs, b"x")
    assert left == contents(tmp_path / "whole")


def test_a_folder_that_is_something_else_is_refused(sources: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "part-00000.parquet").write_bytes(b"x")
    (tmp_path / "file").write_bytes(b"x")
    for resume in (False, True):
        for out, message in (
            (tmp_path / "mine", r"is not empty \(part-00000.parquet\), and has no _fastfilter.json"),
            (tmp_path / "file", "is a file; an output in several files is a folder"),
            (tmp_path / "no" / "where", "there is no folder"),
            (sources, "holds a source"),
            (sources / "out", "is in the source"),
        ):
            with pytest.raises(UsageError, match=message):
                fastfilter.write_dataset(sources, FILTER, out, resume=resume)
    assert contents(tmp_path / "mine") == {"part-00000.parquet": b"x"}
    assert not (sources / "out").exists()


def test_a_folder_is_written_by_one_run_at_a_time(begun: pathlib.Path, sources: pathlib.Path) -> None:
    handle = os.open(begun, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another run is writing to it"):
            fastfilter.write_dataset(sources, FILTER, begun, max_rows_per_file=150, resume=True)
    finally:
        os.close(handle)
    fastfilter.write_dataset(sources, FILTER, begun, max_rows_per_file=150, resume=True)


def test_a_complete_folder_is_left_as_it_is(
    sources: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = fastfilter.write_dataset(sources, FILTER, tmp_path / "out")
    ended_at(1, monkeypatch)
    assert fastfilter.write_dataset(sources, FILTER, tmp_path / "out", resume=True) == paths
    with pytest.raises(UsageError, match="finds it complete; empty it"):
        fastfilter.write_dataset(sources, FILTER, tmp_path / "out")


def test_an_error_in_a_source_leaves_the_rows_before_it_to_be_resumed(
    sources: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    lines = [json.dumps({"id": str(n)}) for n in range(50)]
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    source.write_text("\n".join([*lines, "{", *lines]))
    for resume in (False, True, True):  # it is met again
        with pytest.raises(fastfilter.DataError, match=r"in\.jsonl:51"):
            fastfilter.write_dataset(source, None, out, output_format="jsonl", max_rows_per_file=20, resume=resume)
        assert [part.rows for part in manifest_of(out).parts] == [20, 20]
        assert set(contents(out)) == {MANIFEST, "part-00000.jsonl", "part-00001.jsonl"}


@pytest.mark.parametrize("output_format", ["jsonl", "parquet"])
def test_files_that_were_passed_over_stay_known(
    output_format: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    lines = "".join(json.dumps({"id": str(n)}) + "\n" for n in range(50))
    (folder / "a.jsonl").write_text(lines + "{\n" + lines)
    (folder / "b.jsonl").write_text(lines)
    (folder / "c.parquet").write_bytes(b"PAR1")
    options: Any = {"output_format": output_format, "max_rows_per_file": 20, "skip_bad_files": True}
    fastfilter.write_dataset(folder, None, tmp_path / "whole", **options)
    assert [part.rows for part in manifest_of(tmp_path / "whole").parts] == [20] * 5
    for number in range(2, 12):
        for behind in (False, True):
            out = tmp_path / f"out-{number}-{behind}"
            ended_at(number, monkeypatch, behind)
            with pytest.raises(Ended):
                fastfilter.write_dataset(folder, None, out, **options)
            monkeypatch.undo()
            report = fastfilter.ScanReport()
            fastfilter.write_dataset(folder, None, out, resume=True, report=report, **options)
            if not (number == 11 and behind):  # which was complete already
                assert sorted(text.partition(": ")[0] for text in report.files_bad) == [
                    f"{folder}/a.jsonl:51", f"{folder}/c.parquet"
                ]  # fmt: skip
            assert contents(out) == contents(tmp_path / "whole"), (number, behind)


def test_a_folder_in_a_glob_that_is_read_is_refused(sources: pathlib.Path) -> None:
    out = sources / "out"
    for source in (f"{sources}/**/*.parquet", f"file://{sources}"):
        with pytest.raises(ValueError, match="whose files the next run would find it among"):
            fastfilter.write_dataset(source, FILTER, out)
    assert not out.exists()
    fastfilter.write_dataset(f"{sources}/*.parquet", FILTER, out)


def test_a_link_is_not_followed_to_remove_files(
    sources: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, out = tmp_path / "victim", tmp_path / "out"
    victim.mkdir()
    (victim / "part-00003.parquet").write_bytes(b"a user's")
    ended_at(4, monkeypatch)
    with pytest.raises(Ended):
        fastfilter.write_dataset(sources, FILTER, out, **PARTITIONED)
    monkeypatch.undo()
    column = PARTITIONED["partition_by"][0]
    (out / f"{column}=link").symlink_to(victim)
    fastfilter.write_dataset(sources, FILTER, out, resume=True, **PARTITIONED)
    assert (victim / "part-00003.parquet").read_bytes() == b"a user's"


def test_files_in_other_file_systems_are_resumed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = fsspec.filesystem("memory")
    pq.write_table(table_of(400), tmp_path / "a.parquet", row_group_size=100)
    with memory.open("/resumed/a.parquet", "wb") as opened:
        opened.write((tmp_path / "a.parquet").read_bytes())
    try:
        ended_at(5, monkeypatch)
        with pytest.raises(Ended):
            fastfilter.write_dataset("memory://resumed", FILTER, tmp_path / "out", max_rows_per_file=50)
        monkeypatch.undo()
        paths = fastfilter.write_dataset(
            "memory://resumed", FILTER, tmp_path / "out", max_rows_per_file=50, resume=True
        )
        assert rows_in_order(paths) == fastfilter.scan(tmp_path / "a.parquet", FILTER).read_all().to_pylist()
    finally:
        memory.rm("/resumed", recursive=True)


def test_no_file_stays_open(sources: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    ended_at(9, monkeypatch)
    with pytest.raises(Ended):
        fastfilter.write_dataset(sources, FILTER, tmp_path / "out", **PARTITIONED)
    monkeypatch.undo()
    fastfilter.write_dataset(sources, FILTER, tmp_path / "out", resume=True, **PARTITIONED)
    assert sorted(os.listdir("/proc/self/fd")) == before
