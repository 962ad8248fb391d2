"""Metadata wherever a file has it: as text inside a line, under another name, or not at all."""

from __future__ import annotations

import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

import fastfilter
from tests.cli.conftest import Cli

RECORDS = [
    {"id": "a", "metadata": json.dumps({"k": 1, "t": "x\u00e9\n"})},
    {"id": "b", "metadata": {"k": 1}},
    {"id": "c", "metadata": json.dumps({"k": 2, "metadata": '{"k": 1}'})},
    {"id": "d", "metadata": "no JSON"},
    {"id": "e", "metadata": None},
    {"id": "f", "other": {"metadata": '{"k": 1}'}},
    {"id": "g", "metadata": "[1]"},
]
FILTER = {"k": 1}


def test_metadata_as_text_in_a_line_is_read_like_a_record(tmp_path: pathlib.Path, cli: Cli) -> None:
    lines = [json.dumps(record) for record in RECORDS]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    flt = fastfilter.compile(FILTER)
    expected = [line for line, record in zip(lines, RECORDS, strict=True) if flt.matches(record)]
    assert [json.loads(line)["id"] for line in expected] == ["a", "b"]
    ran = cli("run", json.dumps(FILTER), "in.jsonl")
    assert ran.stdout.splitlines() == expected  # the lines as they were
    assert cli("run", json.dumps(FILTER), "in.jsonl", "-o", "out.parquet").returncode == 0
    assert flt.filter(pq.read_table(tmp_path / "out.parquet"))["id"].to_pylist() == ["a", "b"]
    strict = cli("run", json.dumps(FILTER), "in.jsonl", "--strict-json")
    assert strict.returncode == 3
    assert "in.jsonl:4" in strict.stderr


def test_a_file_without_metadata_is_noted(tmp_path: pathlib.Path, cli: Cli) -> None:
    pq.write_table(pa.table({"id": ["a"], "meta": ["{}"]}), tmp_path / "in.parquet")
    ran = cli("count", json.dumps(FILTER), "in.parquet")
    assert (ran.returncode, ran.stdout) == (1, "0\n")
    assert "there is no column 'metadata'" in ran.stderr
    assert "did you mean --metadata meta?" in ran.stderr
    assert "there is no column" not in cli("count", json.dumps(FILTER), "in.parquet", "--metadata", "meta").stderr
