"""JSONL: lines as they are, broken ones named, types that the last line decides."""

from __future__ import annotations

import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Cli

ALL = '{"field":"id","operator":"exists","value":true}'


def write(path: pathlib.Path, *lines: str) -> None:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize("filter", [ALL, "{}"])
@pytest.mark.parametrize("broken", ["{", '{"id":"b"} x', "[1]", "null", '{"id":"\\x"}', "{'id': 1}"])
def test_a_broken_line_is_named(cli_here: Cli, tmp_path: pathlib.Path, broken: str, filter: str) -> None:
    write(tmp_path / "in.jsonl", '{"id":"a"}', "", '{"id":"b"}', broken, '{"id":"c"}')
    ran = cli_here("run", filter, "in.jsonl", "-o", "out.jsonl")
    assert ran.returncode == 3
    assert ran.stderr.startswith("error: in.jsonl:4: ")
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "out.jsonl").exists()


def test_a_broken_line_far_behind_and_bytes_that_are_no_text(cli: Cli, tmp_path: pathlib.Path) -> None:
    line = json.dumps({"id": "a", "content": "x" * 1000}).encode() + b"\n"
    (tmp_path / "in.jsonl").write_bytes(line * 20_000 + b'{"id":"\xff"}\n' + line)
    ran = cli("count", ALL, "in.jsonl")
    assert ran.returncode == 3
    assert "in.jsonl:20001: " in ran.stderr


def test_white_space_line_ends_and_the_byte_order_mark(cli: Cli, tmp_path: pathlib.Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b'\xef\xbb\xbf{"id":"a"}\r\n\r\n  \t\r\n {"id":"b"} \r\n\n{"id":"c"}')
    ran = cli("run", ALL, "in.jsonl")
    assert ran.stdout == '{"id":"a"}\n {"id":"b"} \n{"id":"c"}\n'  # read as text: "\\r\\n" is a newline
    assert "3 of 3 rows" in ran.stderr
    (tmp_path / "in.jsonl").write_bytes(b'{"id":"a"}\n\n\n{"id":')
    assert "in.jsonl:4: " in cli("run", ALL, "in.jsonl").stderr
    (tmp_path / "in.jsonl").write_bytes(b"")
    empty = cli("run", ALL, "in.jsonl", "-o", "out.parquet")
    assert (empty.returncode, pq.read_table(tmp_path / "out.parquet").num_rows) == (1, 0)


def test_a_very_long_line(cli: Cli, tmp_path: pathlib.Path) -> None:
    with open(tmp_path / "in.jsonl", "w") as out:
        out.write('{"id":"a"}\n{"id":"b","content":"')
        out.writelines("x" * (1 << 20) for _ in range(100))
        out.write('end"}\n{"id":"c"}\n')
    ran = cli("run", '{"field":"content","operator":"contains","value":"xend"}', "in.jsonl", "-o", "out.parquet")
    assert ran.returncode == 0, ran.stderr
    texts = pq.read_table(tmp_path / "out.parquet")["content"].to_pylist()
    assert [len(text) for text in texts] == [(100 << 20) + 3]


def test_a_late_text_keeps_its_zeros(cli: Cli, tmp_path: pathlib.Path) -> None:
    with open(tmp_path / "in.jsonl", "w") as out:
        for number in range(100_000):
            out.write(f'{{"id":"m{number}","zip":{number},"n":{number},"metadata":{{"zip":{number}}}}}\n')
        out.write('{"id":"last","zip":"007","n":0.5,"metadata":{"zip":"007"}}\n')
    equal = '{"field":"metadata.zip","operator":"eq","value":%s}'
    assert cli("run", equal % '"007"', "in.jsonl", "--columns", "id").stdout == '{"id":"last"}\n'
    assert cli("run", equal % "7", "in.jsonl", "--columns", "id").stdout == '{"id":"m7"}\n'
    ran = cli("run", '{"field":"metadata.zip","operator":"in","value":[5,7,"007"]}', "in.jsonl", "-o", "out.parquet")
    assert ran.returncode == 0, ran.stderr
    out_table = pq.read_table(tmp_path / "out.parquet")
    assert out_table["zip"].to_pylist() == ["5", "7", '"007"']  # numbers and texts in one column: JSON text
    assert out_table["n"].to_pylist() == [5.0, 7.0, 0.5]
    assert out_table["metadata"].to_pylist() == ['{"zip":5}', '{"zip":7}', '{"zip":"007"}']
    assert cli("count", equal % '"007"', "out.parquet", "--quiet").stdout == "1\n"


def test_types_of_columns_made_of_lines(cli: Cli, tmp_path: pathlib.Path) -> None:
    write(
        tmp_path / "in.jsonl",
        '{"id":"a","created_at":"2026-01-01T00:00:00Z","importance":1,"access_count":3,"flag":true,"int":1,"num":1}',
        '{"id":"b","text":"x\\ny","big":9223372036854775808,"list":[1, 2],"none":null,"num":0.5,"mixed":1}',
        '{"id":"c","importance":0.25,"text":"\\u00e9","mixed":"1","long":9007199254740993,"num2":9007199254740993}',
        '{"id":"d","num2":0.5,"id2":1,"id":"e"}',
    )
    assert cli("run", ALL, "in.jsonl", "-o", "out.parquet").returncode == 0
    table = pq.read_table(tmp_path / "out.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {
        "id": "string", "created_at": "string", "importance": "double", "access_count": "int64", "flag": "bool",
        "int": "int64", "num": "double", "text": "string", "big": "string", "list": "string", "none": "null",
        "mixed": "string", "long": "int64", "num2": "string", "id2": "int64",
    }  # fmt: skip
    assert table["id"].to_pylist() == ["a", "b", "c", "e"]
    assert table["text"].to_pylist() == [None, "x\ny", "é", None]
    assert table["list"].to_pylist() == [None, "[1, 2]", None, None]
    assert table["num2"].to_pylist() == [None, None, "9007199254740993", "0.5"]


@pytest.mark.parametrize(
    ("line", "field"),
    [('{"id":"b","importance":"0.9"}', "importance"), ('{"id":7}', "id"), ('{"id":"b","rank":"high"}', "rank")],
)
def test_a_built_in_field_of_another_kind_is_no_guess(cli: Cli, tmp_path: pathlib.Path, line: str, field: str) -> None:
    write(tmp_path / "in.jsonl", '{"id":"a"}', line)
    ran = cli("run", "{}", "in.jsonl", "-o", "out.parquet", "--field", "access_count=rank")
    assert ran.returncode == 3
    assert ran.stderr.startswith(f"error: in.jsonl:2: '{field}' is ")
    assert cli("run", "{}", "in.jsonl").stdout.endswith(line + "\n")


def test_strict_json_is_about_metadata(cli: Cli, tmp_path: pathlib.Path) -> None:
    write(
        tmp_path / "in.jsonl",
        '{"id":"a","metadata":null}',
        '{"id":"b"}',
        '{"metadata":{}}',
        '{"id":"d","metadata":"x"}',
    )
    assert cli("count", ALL, "in.jsonl", "--quiet").stdout == "3\n"
    for filter in (ALL, "{}", '{"color":"red"}'):
        ran = cli("count", filter, "in.jsonl", "--strict-json")
        assert ran.returncode == 3
        assert ran.stderr == "error: in.jsonl:4: 'metadata' is neither an object nor null\n"
    pq.write_table(pa.table({"id": ["a", "b"], "metadata": ["{}", "{x"]}), tmp_path / "in.parquet")
    ran = cli("count", '{"color":"red"}', "in.parquet", "--strict-json")
    assert ran.returncode == 3
    assert ran.stderr.startswith("error: in.parquet: row 2: ")
    assert cli("count", '{"color":"red"}', "in.parquet").returncode == 1


def test_columns_of_lines_keep_their_spelling(cli: Cli, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "in.jsonl", '{"metadata": {"n": 1.50}, "id":"a\\u0000", "x":1}', '{"id":"b"}')
    ran = cli("run", ALL, "in.jsonl", "--columns", "id,metadata")
    assert ran.stdout == '{"id":"a\\u0000","metadata":{"n": 1.50}}\n{"id":"b"}\n'
    assert "note" not in ran.stderr
    for out in ("-", "out.csv"):
        assert "note: no matching line has 'y'\n" in cli("run", ALL, "in.jsonl", "--columns", "x,y", "-o", out).stderr
    assert (tmp_path / "out.csv").read_text() == '"x","y"\n1,\n,\n'


def test_renamed_fields_and_metadata(cli: Cli, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "in.jsonl", '{"id":"a","type":"fact","meta":{"k":1}}', '{"id":"b","type":"goal","meta":{"k":1}}')
    is_fact = '{"field":"memory_type","operator":"eq","value":"fact"}'
    filter = f'{{"and":[{is_fact},{{"field":"metadata.k","operator":"eq","value":1}}]}}'
    ran = cli("run", filter, "in.jsonl", "--field", "memory_type=type", "--metadata", "meta")
    assert ran.stdout == '{"id":"a","type":"fact","meta":{"k":1}}\n'


def test_lines_and_columns_in_one_run(cli: Cli, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.jsonl", '{"id":"a","n":1,"extra":true}')
    pq.write_table(pa.table({"id": ["b"], "n": [2.5], "other": ["x"]}), tmp_path / "b.parquet")
    write(tmp_path / "c.jsonl", '{"id":"c","n":3}')
    assert cli("run", ALL, "a.jsonl", "b.parquet", "c.jsonl", "-o", "out.arrow").returncode == 0
    assert pa.ipc.open_file(tmp_path / "out.arrow").read_all().to_pylist() == [
        {"id": "a", "n": 1.0, "extra": True, "other": None},
        {"id": "b", "n": 2.5, "extra": None, "other": "x"},
        {"id": "c", "n": 3.0, "extra": None, "other": None},
    ]
    ran = cli("run", ALL, "a.jsonl", "b.parquet", "c.jsonl")
    assert ran.stdout == '{"id":"a","n":1,"extra":true}\n{"id":"b","n":2.5,"other":"x"}\n{"id":"c","n":3}\n'


def test_trusted_json_gives_the_same_rows(cli: Cli, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "in.jsonl", '{"id":"a","metadata":{"color":"red"}}', '{"id":"b","metadata":{"color":"blue"}}')
    assert cli("count", '{"metadata":{"color":"red"}}', "in.jsonl", "--trust-json", "--quiet").stdout == "1\n"
    ran = cli("count", ALL, "in.jsonl", "--trust-json", "--strict-json")
    assert ran.returncode == 2
    assert "--trust-json" in ran.stderr
