"""The same rows from every format, and into every format."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from conftest import INPUTS, Cli, Sample

OUTPUTS = ("parquet", "arrow", "arrows", "jsonl", "csv", "arrows.zst", "jsonl.gz", "csv.bz2")
DIALECTS = ("fishmem", "anansi")


def rows_of(path: pathlib.Path) -> list[dict[str, Any]]:
    """The rows of an output file, read with pyarrow alone."""
    format = path.name.split(".")[1]
    if format == "parquet":
        return pq.read_table(path).to_pylist()
    with pa.input_stream(path) as stream:
        if format == "jsonl":
            return [json.loads(line) for line in stream.read().splitlines()]
        if format == "csv":
            strings = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
            return pyarrow.csv.read_csv(stream, convert_options=strings).to_pylist()
        if format == "arrows":
            return pa.ipc.open_stream(stream).read_all().to_pylist()
    return pa.ipc.open_file(path).read_all().to_pylist()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("ending", INPUTS)
def test_every_input_gives_the_same_rows(cli: Cli, samples: dict[str, Sample], ending: str, dialect: str) -> None:
    sample = samples[dialect]
    ran = cli("run", sample.filter, sample.files[ending])
    assert ran.returncode == 0, ran.stderr
    assert [json.loads(line)["id"] for line in ran.stdout.splitlines()] == sample.expected
    assert f"{len(sample.expected)} of {len(sample.records):,} rows matched" in ran.stderr
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize("source", ["parquet", "jsonl"])
@pytest.mark.parametrize("ending", OUTPUTS)
def test_every_output_holds_the_matching_rows(
    cli: Cli, samples: dict[str, Sample], tmp_path: pathlib.Path, ending: str, source: str
) -> None:
    sample = samples["fishmem"]
    out = tmp_path / f"out.{ending}"
    ran = cli("run", sample.filter, sample.files[source], "-o", out, "--quiet")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    expected = {record["id"]: record for record in sample.records}
    found = rows_of(out)
    assert [row["id"] for row in found] == sample.expected
    for row in found:
        record = expected[row["id"]]
        assert list(row) == list(record)
        for name in ("content", "memory_type", "importance", "access_count", "agent_id"):
            assert row[name] == record[name], name
        metadata = row["metadata"]
        metadata = json.loads(metadata) if isinstance(metadata, str) else metadata
        assert metadata == record["metadata"]


def test_lines_of_jsonl_come_out_byte_for_byte(cli: Cli, tmp_path: pathlib.Path) -> None:
    lines = [
        '{ "id":"a",\t"n": 1.50 , "x":1e2}',
        '{"id":"b"}',
        '{"id":"é\\u00e9","big":123456789012345678901234567890}',
    ]
    (tmp_path / "in.jsonl").write_bytes("\n".join(lines).encode())
    ran = cli("run", '{"field":"id","operator":"ne","value":"b"}', "in.jsonl")
    assert ran.stdout == f"{lines[0]}\n{lines[2]}\n"


def test_nested_and_encoded_columns_survive_every_output(cli: Cli, tmp_path: pathlib.Path) -> None:
    table = pa.table(
        {
            "id": pa.array(["a", "b", None], pa.string_view()),
            "tags": [["x", None], None, []],
            "inner": [{"n": 1}, None, {"n": None}],
            "ree": pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["p", "q"])),
            "kind": pa.array(["u", "v", "u"]).dictionary_encode(),
            "at": pa.array([1, None, -1], pa.timestamp("ns", "UTC")),
        }
    )
    other = table.set_column(4, "kind", pa.array(["w", "w", "v"]).dictionary_encode())
    other = other.set_column(0, "id", pa.array(["c", "d", "e"], pa.string_view()))
    with pa.ipc.new_stream(tmp_path / "in.arrows", table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
        writer.write_table(other)
    expected = [row for row in (table.to_pylist() + other.to_pylist()) if row["id"] is not None]
    for ending in ("parquet", "arrow", "arrows"):
        ran = cli("run", '{"field":"id","operator":"exists","value":true}', "in.arrows", "-o", f"out.{ending}")
        assert ran.returncode == 0, ran.stderr
        assert rows_of(tmp_path / f"out.{ending}") == expected
    ran = cli("run", "{}", "in.arrows", "--limit", "3")
    assert [json.loads(line) for line in ran.stdout.splitlines()] == [
        {
            "id": "a",
            "tags": ["x", None],
            "inner": {"n": 1},
            "ree": "p",
            "kind": "u",
            "at": "1970-01-01T00:00:00.000000001Z",
        },
        {"id": "b", "tags": None, "inner": None, "ree": "p", "kind": "v", "at": None},
        {"id": None, "tags": [], "inner": {"n": None}, "ree": "q", "kind": "u", "at": "1969-12-31T23:59:59.999999999Z"},
    ]


def test_metadata_text_is_put_into_json_as_the_value_it_is(cli: Cli, tmp_path: pathlib.Path) -> None:
    metadata = ['{"n": 1.50,\n "z":"007"}', "not json{", None, '"text"']
    pq.write_table(pa.table({"id": list("abcd"), "metadata": metadata}), tmp_path / "in.parquet")
    ran = cli("run", "{}", "in.parquet")
    assert ran.stdout.splitlines() == [
        '{"id":"a","metadata":{"n": 1.50,  "z":"007"}}',
        '{"id":"b","metadata":"not json{"}',
        '{"id":"c","metadata":null}',
        '{"id":"d","metadata":"text"}',
    ]


def test_numbers_without_a_form_in_json(cli: Cli, tmp_path: pathlib.Path) -> None:
    table = pa.table({"x": [0.1, float("nan"), float("inf"), -float("inf")], "y": pa.array([0.1] * 4, pa.float32())})
    pq.write_table(table, tmp_path / "in.parquet")
    ran = cli("run", "{}", "in.parquet")
    xs = [json.loads(line)["x"] for line in ran.stdout.splitlines()]
    assert xs == [0.1, "NaN", "Infinity", "-Infinity"]
    assert '"y":0.1}' in ran.stdout


def test_binary_has_no_form_in_json_but_in_parquet(cli: Cli, tmp_path: pathlib.Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "raw": [b"\xff"]}), tmp_path / "in.parquet")
    ran = cli("run", "{}", "in.parquet")
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "'raw'" in ran.stderr
    assert "binary" in ran.stderr
    assert cli("run", "{}", "in.parquet", "--columns", "id").stdout == '{"id":"a"}\n'
    assert cli("run", "{}", "in.parquet", "-o", "out.parquet").returncode == 0
    assert rows_of(tmp_path / "out.parquet") == [{"id": "a", "raw": b"\xff"}]


def test_an_output_without_rows_keeps_its_columns(cli: Cli, tmp_path: pathlib.Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "n": [1]}), tmp_path / "in.parquet")
    nothing = '{"field":"id","operator":"eq","value":"z"}'
    for ending in ("parquet", "arrow", "arrows", "csv", "jsonl"):
        assert cli("run", nothing, "in.parquet", "-o", f"out.{ending}").returncode == 1
    assert pq.read_schema(tmp_path / "out.parquet").equals(pa.schema([("id", pa.string()), ("n", pa.int64())]))
    assert pa.ipc.open_file(tmp_path / "out.arrow").read_all().num_rows == 0
    assert pa.ipc.open_stream(tmp_path / "out.arrows").read_all().column_names == ["id", "n"]
    assert (tmp_path / "out.csv").read_text() == '"id","n"\n'
    assert (tmp_path / "out.jsonl").read_bytes() == b""
