"""``fastfilter.scan``: every format and file system gives the rows that the filter gives, in order."""

from __future__ import annotations

import contextlib
import datetime
import gzip
import json
import pathlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

import fastfilter
from fastfilter.corpus import parquet_reader
from fastfilter.corpus import scan as scan_module
from fastfilter.corpus.filesystems import place_of
from fastfilter.corpus.formats import UsageError
from fastfilter.corpus.units import Outcome, Unit, in_order

NUM_ROWS = 3_000
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
TABLE = pa.table(
    {
        "id": [f"mem_{number:05}" for number in range(NUM_ROWS)],
        "content": [f"text {number} " + "é" * (number % 50) for number in range(NUM_ROWS)],
        "memory_type": [("fact", "todo", None)[number % 3] for number in range(NUM_ROWS)],
        "importance": [number / NUM_ROWS for number in range(NUM_ROWS)],
        "metadata": [json.dumps({"score": number % 10, "tier": "gold"}) for number in range(NUM_ROWS)],
        "labels": [["x"] * (number % 3) for number in range(NUM_ROWS)],
    }
)
FILTER = {
    "and": [
        {"field": "importance", "operator": "gte", "value": 0.5},
        {"field": "metadata.score", "operator": "in", "value": [3, 7]},
        {"field": "memory_type", "operator": "eq", "value": "todo"},
    ]
}
EXPECTED = [
    f"mem_{number:05}" for number in range(NUM_ROWS // 2, NUM_ROWS) if number % 10 in (3, 7) and number % 3 == 1
]


def write(path: pathlib.Path, table: pa.Table = TABLE, rows: int = 250) -> pathlib.Path:
    ending = path.name.partition(".")[2]
    if ending == "parquet":
        pq.write_table(table, path, row_group_size=rows)
    elif ending.startswith("jsonl"):
        with gzip.open(path, "wt") if ending.endswith("gz") else open(path, "w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in table.to_pylist())
    elif ending == "csv":
        pa.csv.write_csv(table.drop_columns(["labels"]), path)
    else:
        open_writer = pa.ipc.new_stream if ending == "arrows" else pa.ipc.new_file
        with open_writer(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    return path


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows", "jsonl", "jsonl.gz", "csv"])
def test_every_format_gives_the_matching_rows_in_order(ending: str, threads: int, tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / f"memories.{ending}")
    found = fastfilter.scan([path, path], FILTER, threads=threads, batch_rows=7)
    batches = list(found)
    assert [row for batch in batches for row in batch["id"].to_pylist()] == EXPECTED * 2
    assert max(batch.num_rows for batch in batches) <= 7
    if ending in ("parquet", "arrow", "arrows"):
        assert found.schema == TABLE.schema
        wanted = fastfilter.compile(FILTER).filter(TABLE).to_pylist() * 2
        assert [row for batch in batches for row in batch.to_pylist()] == wanted


@pytest.mark.parametrize("budget", [1, 20_000, 200_000, 1 << 30])
@pytest.mark.parametrize("filter", [FILTER, None, {"field": "id", "operator": "eq", "value": "nobody"}])
def test_the_memory_budget_does_not_change_the_rows(budget: int, filter: Any, tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "memories.parquet", rows=700)
    report = fastfilter.ScanReport()
    table = fastfilter.scan(path, filter, memory_budget=budget, threads=3, report=report).read_all()
    assert table.to_pylist() == fastfilter.compile(filter).filter(TABLE).to_pylist()
    assert table.schema == TABLE.schema
    assert (report.rows, report.matches) == (NUM_ROWS, table.num_rows)


def test_columns_are_chosen_and_origins_added(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "memories.parquet")
    lines = write(tmp_path / "memories.jsonl")
    for source in (path, lines):
        scan = fastfilter.scan(source, FILTER, columns=["labels", "id"], row_number="number", source_column="file")
        table = scan.read_all()
        assert table.schema.names == ["labels", "id", "number", "file"]
        assert [f"mem_{number - 1:05}" for number in table["number"].to_pylist()] == EXPECTED == table["id"].to_pylist()
        assert set(table["file"].to_pylist()) == {str(source)}
    assert fastfilter.scan(path, FILTER, columns=[]).read_all().num_rows == len(EXPECTED)
    with pytest.raises(UsageError, match="has a column 'id'"):
        fastfilter.scan(path, FILTER, row_number="id")
    with pytest.raises(fastfilter.DataError, match=r"jsonl:\d+: it has a key 'id'"):
        fastfilter.scan(lines, FILTER, row_number="id")


@pytest.mark.parametrize("limit", [0, 1, 5, len(EXPECTED), len(EXPECTED) + 1])
def test_a_limit_ends_the_scan_at_its_row(limit: int, tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "memories.parquet")
    report = fastfilter.ScanReport()
    found = fastfilter.scan(path, FILTER, limit=limit, report=report, threads=2).read_all()
    assert found["id"].to_pylist() == EXPECTED[:limit]
    if 0 < limit <= len(EXPECTED):
        assert report.rows == int(EXPECTED[limit - 1][4:]) + 1


def test_row_groups_without_a_match_cost_their_tested_columns_only(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "memories.parquet")
    report = fastfilter.ScanReport()
    flt = {"and": [FILTER["and"][0], {"field": "content", "operator": "eq", "value": TABLE["content"][2400].as_py()}]}
    table = fastfilter.scan(path, flt, report=report, columns=["metadata", "id"]).read_all()
    assert table["id"].to_pylist() == ["mem_02400"]
    counts = report.parquet
    assert counts.row_groups == 12
    assert counts.row_groups_pruned >= 6
    assert counts.row_groups_pruned + counts.row_groups_without_match == 11
    assert counts.bytes_pruned > 0
    assert (report.tested, report.late) == (["content", "importance"], ["metadata", "id"])
    text = str(report)
    assert "row groups: 12" in text
    assert "rows: 3,000, of which 1 matched" in text


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 70), (3, 1499), (100, 1500), (2000, 2999), (2999, 2999)])
def test_matches_may_end_anywhere_in_a_row_group(first: int, last: int, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "memories.parquet"
    pq.write_table(TABLE, path, row_group_size=NUM_ROWS, data_page_size=1000)
    flt = {
        "and": [
            {"field": "importance", "operator": "gte", "value": first / NUM_ROWS},
            {"field": "importance", "operator": "lte", "value": last / NUM_ROWS},
        ]
    }
    expected = TABLE.slice(first, last - first + 1)
    assert fastfilter.scan(path, flt).read_all().equals(expected)
    assert fastfilter.scan(path, flt, columns=["labels"]).read_all().equals(expected.select(["labels"]))
    assert fastfilter.scan(path, flt, batch_rows=7).read_all().combine_chunks().equals(expected)


def test_pages_behind_the_last_match_are_not_decoded(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "memories.parquet"
    pq.write_table(TABLE, path, row_group_size=NUM_ROWS, data_page_size=1000, use_dictionary=False, compression="zstd")
    chunk = pq.read_metadata(path).row_group(0).column(TABLE.column_names.index("content"))
    damaged = bytearray(path.read_bytes())
    end = chunk.data_page_offset + chunk.total_compressed_size
    damaged[end - 200 : end] = bytes(200)
    path.write_bytes(damaged)
    wanted = {"field": "id", "operator": "in", "value": ["mem_00002", "mem_00400"]}
    assert fastfilter.scan(path, wanted).read_all().equals(TABLE.take([2, 400]))
    with pytest.raises(fastfilter.DataError, match=r"memories\.parquet"):
        fastfilter.scan(path, {"field": "id", "operator": "in", "value": ["mem_02999"]}).read_all()


def test_files_beyond_those_kept_open_are_opened_again(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        write(tmp_path / f"{number}.parquet", TABLE.slice(600 * number, 600))
    opened = []
    real = scan_module.open_reader
    monkeypatch.setattr(scan_module, "open_reader", lambda *given: opened.append(given[0].path) or real(*given))
    for kept, limit_of_chunks, times in ((128, 1 << 15, 5), (2, 1 << 15, 8), (128, 40, 8), (0, 1, 10)):
        monkeypatch.setattr(scan_module, "_FILES_KEPT_OPEN", kept)
        monkeypatch.setattr(scan_module, "_CHUNKS_KEPT", limit_of_chunks)
        opened.clear()
        assert fastfilter.scan(tmp_path, FILTER, columns=["id"]).read_all()["id"].to_pylist() == EXPECTED
        assert len(opened) == times
        assert fastfilter.scan(tmp_path, FILTER, columns=["id"], limit=1).read_all()["id"].to_pylist() == EXPECTED[:1]


def test_texts_of_few_values_are_read_as_dictionaries_and_written_as_texts(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "memories.parquet", rows=NUM_ROWS)
    read = []
    real = parquet_reader._read
    monkeypatch.setattr(parquet_reader, "_read", lambda *given: read.append(real(*given)) or read[-1])
    table = fastfilter.scan(path, FILTER).read_all()
    assert table.schema == TABLE.schema
    types = {field.name: field.type for part in read for field in part.schema}
    assert pa.types.is_dictionary(types["memory_type"])
    assert types["content"] == pa.string()


@pytest.fixture
def memory() -> Iterator[Any]:
    """An empty file system in memory."""
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    yield filesystem
    filesystem.store.clear()


def test_files_in_memory_are_found_by_url_and_by_file_system(memory: Any, tmp_path: pathlib.Path) -> None:
    for ending in ("parquet", "arrow", "arrows", "jsonl.gz", "csv"):
        path = write(tmp_path / f"memories.{ending}")
        for place in (f"/bucket/{ending}/tier=gold/memories.{ending}", f"/bucket/{ending}/_hidden/memories.{ending}"):
            if ending == "jsonl.gz":  # lines cannot have columns that folders give
                place = place.replace("tier=gold", "gold")
            with memory.open(place, "wb") as opened:
                opened.write(path.read_bytes())
        wanted = EXPECTED
        for source in (
            f"memory://bucket/{ending}", f"memory://bucket/{ending}/**/memories.*", f"memory://bucket/{ending}/*gold/",
        ):  # fmt: skip
            table = fastfilter.scan(source, FILTER, source_column="file").read_all()
            assert table["id"].to_pylist() == wanted
            assert table["file"][0].as_py().startswith(f"memory://bucket/{ending}/")
            assert ending == "jsonl.gz" or set(table["tier"].to_pylist()) == {"gold"}
        for filesystem in (memory, pa.fs.PyFileSystem(pa.fs.FSSpecHandler(memory))):
            assert (
                fastfilter.scan(f"bucket/{ending}", FILTER, filesystem=filesystem).read_all()["id"].to_pylist()
                == wanted
            )
    with pytest.raises(fastfilter.DataError, match="no such file"):
        fastfilter.scan("memory://bucket/none.parquet", FILTER)
    with pytest.raises(fastfilter.DataError, match="no file matches"):
        fastfilter.scan("memory://bucket/*.parquet", FILTER)


def test_local_files_are_found_by_url_and_by_file_system(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "memories.parquet")
    assert fastfilter.scan(path.as_uri(), FILTER).read_all()["id"].to_pylist() == EXPECTED
    local = fastfilter.scan(str(tmp_path), FILTER, filesystem=pa.fs.LocalFileSystem())
    assert local.read_all()["id"].to_pylist() == EXPECTED
    with pytest.raises(UsageError, match="nosuch"):
        fastfilter.scan("nosuch://bucket/a.parquet", FILTER)
    with pytest.raises(TypeError, match=r"not builtins\.dict"):
        fastfilter.scan("a.parquet", FILTER, filesystem={})
    assert place_of("gs://anonymous@bucket/chunks/*.parquet").path == "bucket/chunks/*.parquet"


def test_folders_with_values_prune_files(tmp_path: pathlib.Path) -> None:
    for tier in ("gold", "tin", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"agent_id={tier}").mkdir()
        write(tmp_path / f"agent_id={tier}" / "a.parquet")
        write(tmp_path / f"agent_id={tier}" / "b.arrow")
    report = fastfilter.ScanReport()
    flt = fastfilter.compile(FILTER, scope={"agent_id": "tin"})
    table = fastfilter.scan(tmp_path, flt, report=report).read_all()
    assert table["id"].to_pylist() == EXPECTED * 2
    assert set(table["agent_id"].to_pylist()) == {"tin"}
    assert (report.files, report.files_pruned) == (6, 4)
    assert fastfilter.scan(tmp_path, flt, prune=False).read_all().to_pylist() == table.to_pylist()


def damaged(path: pathlib.Path) -> pathlib.Path:
    """A Parquet file whose second half of data is damaged."""
    data = bytearray(path.read_bytes())
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    middle = footer // 2
    data[middle:footer] = bytes(byte ^ 0xFF for byte in data[middle:footer])
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("threads", [1, 3])
def test_a_bad_file_stops_the_scan_or_is_reported_and_passed_over(threads: int, tmp_path: pathlib.Path) -> None:
    first = write(tmp_path / "a.parquet")
    bad = damaged(write(tmp_path / "b.parquet"))
    empty = tmp_path / "c.parquet"
    empty.write_bytes(b"PAR1")
    last = write(tmp_path / "d.parquet")
    with pytest.raises(fastfilter.DataError, match=r"c\.parquet"):
        fastfilter.scan(tmp_path, None, threads=threads)
    empty.unlink()
    with pytest.raises(fastfilter.DataError, match=r"b\.parquet: after row"):
        fastfilter.scan(tmp_path, None, threads=threads).read_all()
    empty.write_bytes(b"PAR1")
    report = fastfilter.ScanReport()
    table = fastfilter.scan(
        tmp_path, None, threads=threads, skip_bad_files=True, source_column="f", report=report
    ).read_all()
    rows = {path.name: table["f"].to_pylist().count(str(path)) for path in (first, bad, last)}
    assert rows["a.parquet"] == rows["d.parquet"] == NUM_ROWS
    assert 0 < rows["b.parquet"] < NUM_ROWS
    assert [text.partition(": ")[0] for text in report.files_bad] == [str(empty), str(bad)]
    assert str(bad) in str(report)


def test_lines_after_a_bad_one_are_passed_over_with_the_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"n": 1}\n\n{"n": 2}\n{"n": }\n{"n": 4}\n')
    (tmp_path / "b.jsonl").write_text('{"n": 5}\n')
    with pytest.raises(fastfilter.DataError, match=r"a\.jsonl:4: the line is not well-formed"):
        fastfilter.scan(tmp_path, {"metadata": {}}).read_all()
    report = fastfilter.ScanReport()
    table = fastfilter.scan(tmp_path, {"metadata": {}}, skip_bad_files=True, report=report).read_all()
    assert table["n"].to_pylist() == [1, 2, 5]
    assert report.rows == 3
    assert "a.jsonl:4" in report.files_bad[0]


def test_strict_json_is_not_weakened_by_pruning(tmp_path: pathlib.Path) -> None:
    table = pa.table({"importance": [0.1, 0.9], "metadata": ["{bad", "{}"]})
    path = write(tmp_path / "a.parquet", table, rows=1)
    given = {"and": [FILTER["and"][0], {"field": "metadata.a", "operator": "exists", "value": False}]}
    flt = fastfilter.compile(given, on_invalid_json="error")
    with pytest.raises(fastfilter.DataError, match="row 1"):
        fastfilter.scan(path, flt).read_all()
    assert fastfilter.scan(path, given).read_all().num_rows == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "threads must be"), ({"memory_budget": 0.5}, "memory_budget must be"),
        ({"limit": -1}, "limit must be"), ({"columns": ["id", "id"]}, "given twice"),
        ({"columns": ["idd"]}, "did you mean 'id'"), ({"format": "xml"}, "xml"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(options: dict[str, Any], message: str, tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "memories.parquet")
    with pytest.raises(ValueError, match=message):
        fastfilter.scan(path, FILTER, **options)


def test_a_reader_thrown_away_leaves_no_thread(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "memories.parquet", rows=50)
    reader = fastfilter.scan(path, None, threads=3, memory_budget=100_000)
    reader.read_next_batch()
    reader.close()
    del reader
    assert [thread.name for thread in threading.enumerate() if "fastfilter-scan" in thread.name] == []


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_outcomes_come_in_order_and_no_more_is_taken_than_the_budget_allows(threads: int) -> None:
    taken = 0

    def units() -> Iterator[Unit]:
        nonlocal taken
        for number in range(60):
            taken += 1
            outcome = Outcome(num_rows=number)
            yield Unit.done(outcome) if number % 7 == 0 else Unit(returned(outcome), 100, 50)

    for number, outcome in enumerate(in_order(units(), threads, 250)):
        assert outcome.num_rows == number
        assert taken - number <= 8
    assert taken == 60


def returned(outcome: Outcome) -> Callable[[], Outcome]:
    return lambda: outcome


def test_many_files_are_read_with_few_handles(tmp_path: pathlib.Path) -> None:
    for number in range(150):
        pq.write_table(pa.table({"id": [str(number)]}), tmp_path / f"{number:03}.parquet")
    program = (
        "import resource, sys, fastfilter, pyarrow.parquet\n"
        "fastfilter.scan(sys.argv[1], None).read_all()\n"  # whatever it imports, it imports now
        "resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]),) * 2)\n"
        "report = fastfilter.ScanReport()\n"
        "try: print(fastfilter.scan(sys.argv[1], None, skip_bad_files=True, report=report).read_all().num_rows)\n"
        "except ValueError as error: print(error)\n"
        "assert not report.files_bad, report.files_bad\n"
    )

    def run(handles: int) -> str:
        command = [sys.executable, "-c", program, str(tmp_path), str(handles)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert run(64) == "150\n"
    assert run(8) == "150\n" or "allow more open files (ulimit -n, now 8)" in run(8)  # not a bad file, in any case


def test_an_abandoned_scan_is_collected_while_a_thread_is_being_started() -> None:
    """As Python does it: in a thread that holds the lock which every thread takes when it ends."""
    lock = getattr(threading, "_shutdown_locks_lock", None)
    if lock is None:
        pytest.skip("this Python has no such lock")
    under_way, go_on = threading.Event(), threading.Event()

    def work() -> Outcome:
        under_way.set()
        go_on.wait()
        return Outcome()

    outcomes = in_order(iter([Unit(Outcome), Unit(work), Unit(work), Unit(work)]), 2, 1 << 20)
    next(outcomes)
    under_way.wait()

    def collect() -> None:
        with lock:
            go_on.set()
            outcomes.close()

    collecting = threading.Thread(target=collect, daemon=True)
    collecting.start()
    collecting.join(60)
    assert not collecting.is_alive()


def test_an_abandoned_scan_may_be_collected_by_its_own_thread() -> None:
    closed = threading.Event()

    def work() -> Outcome:
        with contextlib.suppress(ValueError):  # it is not abandoned yet, but asking for more
            outcomes.close()
        closed.set()
        return Outcome()

    outcomes = in_order(iter([Unit(Outcome, is_done=True), Unit(work), Unit(work)]), 2, 1 << 20)
    next(outcomes)
    assert closed.wait(60)
    outcomes.close()
