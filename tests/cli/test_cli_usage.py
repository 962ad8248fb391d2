"""Arguments, sources, errors and exit codes."""

from __future__ import annotations

import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Cli, Sample

import fastfilter

ALL = '{"field":"id","operator":"exists","value":true}'


@pytest.fixture
def parquet(tmp_path: pathlib.Path) -> pathlib.Path:
    """A small file of five rows."""
    table = pa.table(
        {
            "id": list("abcde"),
            "user_id": ["ada", "bob", "ada", "bob", "ada"],
            "importance": [0.1, 0.5, 0.7, 0.9, None],
            "metadata": ['{"k":"x"}', '{"k":"y"}', '{"k":"x"}', None, "{}"],
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def ids(text: str) -> list[str]:
    return [json.loads(line)["id"] for line in text.splitlines()]


def test_exit_codes(cli: Cli, parquet: pathlib.Path) -> None:
    matched = cli("run", ALL, parquet)
    assert (matched.returncode, ids(matched.stdout)) == (0, list("abcde"))
    nothing = cli("run", '{"k":"z"}', parquet)
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert cli("count", '{"k":"z"}', parquet, "--quiet").stdout == "0\n"
    bad_filter = cli("run", '{"field":"importance","operator":"ge","value":1}', parquet)
    assert (bad_filter.returncode, bad_filter.stdout) == (2, "")
    assert bad_filter.stderr.startswith("error: ")
    assert "'ge'" in bad_filter.stderr or '"ge"' in bad_filter.stderr
    assert "/operator" in bad_filter.stderr
    assert "unknown_operator" in bad_filter.stderr
    assert bad_filter.stderr.count("\n") <= 2
    bad_input = cli("run", ALL, "no-such-file.parquet")
    assert (bad_input.returncode, bad_input.stderr) == (3, "error: no-such-file.parquet: no such file or folder\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", ALL], "SOURCE"),
        (["run", ALL, "in.parquet", "--no-such-option"], "--no-such-option"),
        (["run", ALL, "in.parquet", "--limit", "many"], "--limit"),
        (["run", "no-such-filter.json", "in.parquet"], "no-such-filter.json"),
        (["run", ALL, "in.parquet", "--dialect", "fishmen"], "fishmem"),
        (["run", ALL, "in.parquet", "--scope", "user_id"], "NAME=VALUE"),
        (["run", ALL, "in.parquet", "--scope", "team=x"], "team"),
        (["run", ALL, "in.parquet", "--field", "importence=x"], "importance"),
        (["run", ALL, "in.parquet", "--columns", "id,metadate"], "metadata"),
        (["run", ALL, "in.parquet", "--field", "id=key"], "key"),
        (["run", ALL, "in.parquet", "-o", "out.txt"], ".parquet"),
        (["run", ALL, "in.parquet", "-o", "in.parquet"], "one of the sources"),
        (["run", ALL, "in.parquet", "-o", "./nowhere/out.csv"], "folder"),
        (["run", '{"a":[1]}', "in.parquet"], "/a"),
        (["run", "-", "-"], "not both"),
        (["explode"], "explode"),
    ],
)
def test_bad_usage_is_2_and_says_what_is_wrong(
    cli_here: Cli, parquet: pathlib.Path, arguments: list[str], words: str
) -> None:
    before = parquet.read_bytes()
    ran = cli_here(*arguments)
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr
    assert parquet.read_bytes() == before
    assert [path.name for path in parquet.parent.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("bad.parquet", b"PAR1 this is none", "bad.parquet: "),
        ("bad.arrow", b"ARROW1 nor this", "bad.arrow: "),
        ("bad.arrows", b"nor this", "bad.arrows: "),
        ("bad.jsonl.gz", b"not gzip", "bad.jsonl.gz: "),
        ("bad.csv", b"id,n\na,1\nb,2,3\n", "bad.csv: row 2: "),
        ("kind.csv", b"id,importance\na,1\nb,high\n", "kind.csv: row 2, column 'importance': "),
        ("twice.csv", b"id,id\na,b\n", "twice.csv: it has two columns named 'id'"),
        ("bad.txt", b"a", ".jsonl"),
        ("bad.parquet.gz", b"a", "parquet inside gzip"),
    ],
)
def test_bad_input_is_3_and_names_the_file(
    cli_here: Cli, tmp_path: pathlib.Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    ran = cli_here("run", ALL, name, "-o", "out.jsonl")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert name in ran.stderr
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_where_the_filter_comes_from(cli: Cli, parquet: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "filter.json").write_text('{"k":"x"}')
    assert ids(cli("run", "filter.json", parquet).stdout) == ["a", "c"]
    assert ids(cli("run", "-", parquet, stdin='{"k":"y"}').stdout) == ["b"]
    search = '{"query":"q","user_id":"bob","filters":{"k":"y"}}'
    assert ids(cli("run", search, parquet).stdout) == ["b"]


def test_scope_limit_columns_and_missing_fields(cli: Cli, parquet: pathlib.Path) -> None:
    assert ids(cli("run", '{"k":"x"}', parquet, "--scope", "user_id=ada", "--limit", "1").stdout) == ["a"]
    assert ids(cli("run", "{}", parquet, "--scope", "user_id=bob").stdout) == ["b", "d"]
    first = cli("run", ALL, parquet, "--columns", "importance,id", "--limit", "2", "--threads", "1")
    assert first.stdout == '{"importance":0.1,"id":"a"}\n{"importance":0.5,"id":"b"}\n'
    absent = '{"field":"subject","operator":"exists","value":false}'
    refused = cli("run", absent, parquet)
    assert refused.returncode == 2
    assert "'subject'" in refused.stderr
    assert ids(cli("run", absent, parquet, "--missing-fields", "null").stdout) == list("abcde")


def test_standard_input_as_a_source(cli: Cli) -> None:
    lines = '{"id":"a"}\n{"id":"b"}\n'
    equal = '{"field":"id","operator":"eq","value":"b"}'
    assert cli("run", equal, "-", stdin=lines).stdout == '{"id":"b"}\n'
    assert cli("run", equal, "-", "--input-format", "jsonl", stdin=lines).stdout == '{"id":"b"}\n'
    broken = cli("run", equal, "-", stdin=lines + "{")
    assert broken.returncode == 3
    assert broken.stderr.startswith("error: -:3: ")
    assert cli("run", equal, "-", "--input-format", "parquet").returncode == 2


def test_folders_globs_and_partitions(cli: Cli, tmp_path: pathlib.Path) -> None:
    for name, letter in [("b/2.parquet", "c"), ("b/1.parquet", "b"), ("a/x.parquet", "a"), ("_tmp/x.parquet", "?")]:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [letter]}), path)
    (tmp_path / "data" / ".hidden.parquet").write_bytes(b"")
    (tmp_path / "data" / "_SUCCESS").write_bytes(b"")
    assert ids(cli("run", ALL, "data").stdout) == ["a", "b", "c"]
    assert ids(cli("run", ALL, "data/b/*.parquet", "data/a").stdout) == ["b", "c", "a"]
    assert ids(cli("run", ALL, "data/[ab]/**/*.parquet").stdout) == ["a", "b", "c"]
    assert ids(cli("run", ALL, "data/**").stdout) == ids(cli("run", ALL, "data/*").stdout) == ["a", "b", "c"]
    nothing = cli("run", ALL, "data/*.csv")
    assert (nothing.returncode, nothing.stderr) == (3, "error: data/*.csv: no file matches this glob\n")
    (tmp_path / "empty").mkdir()
    assert cli("run", ALL, "empty").returncode == 3
    for year, user in [("2025", "user_id=ada"), ("2026", "user_id=__HIVE_DEFAULT_PARTITION__")]:
        path = tmp_path / "hive" / f"year={year}" / user / "x.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": [year]}), path)
    ran = cli("run", ALL, "hive", "--scope", "user_id=ada")
    assert ran.stdout == '{"id":"2025","year":"2025","user_id":"ada"}\n'
    ran = cli("run", ALL, "hive/year=202*", "--columns", "user_id,year")
    assert ran.stdout == '{"user_id":"ada","year":"2025"}\n{"user_id":null,"year":"2026"}\n'


def test_files_of_different_schemas(cli: Cli, tmp_path: pathlib.Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "n": pa.array([1], pa.int32()), "s": ["x"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"id": pa.array(["b"]).dictionary_encode(), "n": [2.5]}), tmp_path / "2.parquet")
    assert cli("run", ALL, "1.parquet", "2.parquet", "-o", "out.arrow").returncode == 0
    table = pa.ipc.open_file(tmp_path / "out.arrow").read_all()
    assert table.to_pylist() == [{"id": "a", "n": 1.0, "s": "x"}, {"id": "b", "n": 2.5, "s": None}]
    pq.write_table(pa.table({"id": ["c"], "n": ["three"]}), tmp_path / "3.parquet")
    ran = cli("run", ALL, "1.parquet", "3.parquet", "-o", "no.parquet")
    assert ran.returncode == 2
    assert "3.parquet: column 'n' has type string, in 1.parquet it has int32" in ran.stderr
    assert not (tmp_path / "no.parquet").exists()
    ran = cli("run", ALL, "1.parquet", "3.parquet")
    assert ran.stdout == '{"id":"a","n":1,"s":"x"}\n{"id":"c","n":"three"}\n'
    pq.write_table(pa.table({"id": ["d"], "n": [2**53 + 1]}), tmp_path / "4.parquet")
    ran = cli("run", ALL, "2.parquet", "4.parquet", "-o", "no.parquet")
    assert ran.returncode == 3
    assert "4.parquet: column 'n'" in ran.stderr


def test_csv_types_and_cells(cli: Cli, tmp_path: pathlib.Path) -> None:
    rows = "".join(f"m{number},{number},{number}\n" for number in range(200_000))
    (tmp_path / "in.csv").write_text('id,metadata.zip,metadata.n\n"",,\n' + rows + "last,007,0.5\n")
    equal = '{"field":"metadata.zip","operator":"eq","value":%s}'
    assert ids(cli("run", equal % '"007"', "in.csv").stdout) == ["last"]
    assert ids(cli("run", '{"field":"metadata.n","operator":"lt","value":1}', "in.csv").stdout) == ["m0", "last"]
    (tmp_path / "one.csv").write_text('id\n\n""\nx\n')
    assert cli("run", "{}", "one.csv").stdout == '{"id":null}\n{"id":""}\n{"id":"x"}\n'
    assert cli("run", "{}", "one.csv", "-o", "two.csv").returncode == 0
    assert (tmp_path / "two.csv").read_text() == '"id"\n\n""\n"x"\n'


def test_explain_validate_and_info(cli: Cli, samples: dict[str, Sample]) -> None:
    fishmem = samples["fishmem"]
    plain = cli("explain", fishmem.filter)
    assert plain.returncode == 0
    assert "CONTAINS_IGNORE_CASE" in plain.stdout
    assert "kernels" not in plain.stdout
    with_source = cli("explain", fishmem.filter, fishmem.files["parquet"])
    assert "column 'importance' (double)" in with_source.stdout
    assert "kernels" in with_source.stdout
    assert "column 'line'" in cli("explain", fishmem.filter, fishmem.files["jsonl"]).stdout

    good = cli("validate", samples["anansi"].filter)
    assert (good.returncode, good.stdout) == (0, "ok: anansi; fields: metadata.sourceType, metadata.score\n")
    bad = cli("validate", '{"and":[{"field":"importence","operator":"eq","value":1}]}')
    assert (bad.returncode, bad.stdout) == (2, "")
    for word in ("/and/0/field", "unknown_field", "importance", "allowed: "):
        assert word in bad.stderr
    as_json = cli("validate", "--json", '{"metadata":{"n":{"$gt":"x"}}}')
    assert as_json.returncode == 2
    found = json.loads(as_json.stdout)
    assert (found["valid"], found["pointer"]) == (False, "/metadata/n/$gt")

    about = cli("info")
    assert about.returncode == 0
    for word in (fastfilter.__version__, fastfilter.backend, pa.__version__, ".parquet", "anansi"):
        assert word in about.stdout
    of_source = cli("info", fishmem.files["parquet"])
    assert "importance: double" in of_source.stdout
    assert "1,500 rows" in of_source.stdout


@pytest.mark.parametrize("command", ["run", "count", "explain", "validate", "info", None])
def test_help(cli_here: Cli, command: str | None) -> None:
    ran = cli_here(*([command] if command else []), "--help")
    assert ran.returncode == 0
    for word in {
        "run": ["--scope", "--columns", "--strict-json", "-o", "FILTER", "SOURCE"],
        None: ["run", "count"],
    }.get(command, ["--help"]):
        assert word in ran.stdout
    assert ran.stderr == ""


def test_version(cli: Cli) -> None:
    assert cli("--version").stdout == f"fastfilter {fastfilter.__version__}\n"
