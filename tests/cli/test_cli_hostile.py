"""Damaged, odd and hostile files, names and streams: the right rows, or one line that says what is wrong."""

from __future__ import annotations

import decimal
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import COMMAND, Cli, environment, wait_for

from fastfilter.corpus.json_text import json_texts
from fastfilter.runtime.selection import mask_flags

ALL = '{"field":"id","operator":"exists","value":true}'


def write_arrow(path: pathlib.Path, *batches: pa.RecordBatch) -> None:
    open_writer = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
    with open_writer(path, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def values(ran: subprocess.CompletedProcess[str], name: str) -> list[Any]:
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line)[name] for line in ran.stdout.splitlines()]


# -- the process and its streams ---------------------------------------------------------------------------------------


def minds_signals(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process answers SIGTERM itself. Before that a signal does what it does to every Python process."""
    try:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    except FileNotFoundError:  # no Linux
        time.sleep(0.5)
        return True
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def test_a_signal_is_never_lost_however_early(tmp_path: pathlib.Path) -> None:
    """Each process waits for lines that never come, so one that did not take its signal would wait for ever."""
    processes = []
    for number, delay in [(signal.SIGINT, 0.0), (signal.SIGTERM, 0.1), (signal.SIGINT, 0.25), (signal.SIGINT, 0.6)]:
        process = subprocess.Popen(
            [*COMMAND, "run", ALL, "-", "-o", "out.parquet"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment(),
        )  # fmt: skip
        wait_for(lambda process=process: minds_signals(process), process)
        time.sleep(delay)
        process.send_signal(number)
        processes.append((process, number))
    for process, number in processes:
        assert process.stdin is not None
        with process.stdin:
            process.wait(30)
        assert process.returncode == 128 + number
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_imports_no_pandas(tmp_path: pathlib.Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id":"a"}\n')
    script = (
        "import sys\nfrom fastfilter.__main__ import main\n"
        "try:\n    main()\nfinally:\n    print('pandas' in sys.modules, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", script, "run", ALL, "in.jsonl", "-q", "-o", "out.parquet"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(), check=False)
    assert (ran.returncode, ran.stderr) == (0, "False\n")


def test_what_cannot_be_said_changes_no_exit_code(tmp_path: pathlib.Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id":"é"}\n')
    full = "/dev/full"

    def shell(arguments: str, **extra: str) -> tuple[int, str]:
        line = f"{' '.join(COMMAND)} {arguments}"
        ran = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, cwd=tmp_path, env=environment(ALL=ALL, **extra),
            check=False,
        )  # fmt: skip
        return ran.returncode, ran.stdout + ran.stderr

    assert shell(f'run "$ALL" in.jsonl 2>{full}') == (0, '{"id":"é"}\n')
    assert shell(f"run --no-such-option 2>{full}") == (2, "")
    for arguments in ("--help", 'count "$ALL" in.jsonl -q'):
        code, text = shell(f"{arguments} >{full}")
        assert (code, text.count("\n")) == (2, 1), text
        assert text.startswith("error: ")
    assert shell('count "$ALL" - <&-') == (3, "error: -: standard input is closed\n")
    code, text = shell("""explain '{"k":"é"}'""", PYTHONIOENCODING="ascii")
    assert code == 0
    code, text = shell('count "$ALL" in.jsonl', FASTFILTER_BACKEND="fast")
    assert (code, text.count("\n")) == (2, 1)
    assert "FASTFILTER_BACKEND" in text
    before = (tmp_path / "in.jsonl").read_bytes()
    code, text = shell('run "$ALL" in.jsonl >>in.jsonl')
    assert (code, text.count("\n")) == (2, 1)
    assert (tmp_path / "in.jsonl").read_bytes() == before
    assert shell('run "$ALL" <(cat in.jsonl) -q') == (0, '{"id":"é"}\n')
    assert shell('run "$ALL" /dev/stdin -q <in.jsonl') == (0, '{"id":"é"}\n')


def test_streams_are_read_once_and_only_as_what_can_be_streamed(cli_here: Cli, tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "pipe.parquet")
    for arguments, words in [
        (["pipe.parquet"], "a pipe"),
        (["-", "-"], "once"),
        (["-", "--input-format", "csv"], "csv"),
    ]:
        ran = cli_here("run", ALL, *arguments)
        assert ran.returncode == 2
        assert words in ran.stderr


def test_a_filter_may_begin_with_a_byte_order_mark(cli_here: Cli, tmp_path: pathlib.Path) -> None:
    (tmp_path / "filter.json").write_text("\ufeff" + ALL, encoding="utf-8")
    assert cli_here("validate", "filter.json").returncode == 0


# -- names and places --------------------------------------------------------------------------------------------------


def test_globs_count_every_file_once(cli_here: Cli, tmp_path: pathlib.Path) -> None:
    for name in ("g/x", "g/a/y", "g/a/b/z"):
        path = tmp_path / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"id":"{path.stem}"}}\n')
    (tmp_path / "g" / "empty").mkdir()
    (tmp_path / "g" / "link.jsonl").symlink_to("x.jsonl")
    for glob in ("g", "g/*", "g/**", "g/**/", "g/**/*", "g/**/*.jsonl", "g*", "**"):
        assert sorted(values(cli_here("run", ALL, glob, "-q"), "id")) == ["x", "y", "z"], glob
    for glob in ("g/empty/**", "g/e*", "g/**/*.csv"):
        ran = cli_here("run", ALL, glob, "-o", "out.parquet")
        assert (ran.returncode, ran.stderr.count("\n")) == (3, 1)
        assert glob in ran.stderr


def test_names_of_every_kind(cli_here: Cli, tmp_path: pathlib.Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id":"a"}\n')
    source = "in.jsonl"
    for name in (
        "n\udcff.jsonl",
        "n\udcff.parquet",
        "n\udcff.csv",
        "n\udcff.arrow",
        "é" * 120 + ".arrows",
        "x" * 249 + ".jsonl",
    ):
        assert cli_here("run", ALL, source, "-q", "-o", name).returncode == 0, name
        assert values(cli_here("run", ALL, name, "-q"), "id") == ["a"]
        source = name
    ran = cli_here("run", ALL, "in.jsonl", "-o", "x" * 300 + ".jsonl")
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"error: {'x' * 300}.jsonl: ")
    assert cli_here("run", ALL, "in.jsonl", "-o", "x.parquet.gz").returncode == 2
    (tmp_path / "link.jsonl").symlink_to("nowhere")
    ran = cli_here("run", ALL, "link.jsonl")
    assert (ran.returncode, ran.stderr) == (3, "error: link.jsonl: is a link to a file that is not there\n")


# -- damage ------------------------------------------------------------------------------------------------------------


def test_damage_is_bad_input_with_the_name_of_the_file(cli_here: Cli, tmp_path: pathlib.Path) -> None:
    """Bytes flipped one after the other: whatever a damaged file makes pyarrow raise, and nothing it would follow."""
    batch = pa.record_batch(
        {"id": ["a", "bé" * 9, None], "metadata": ["{}"] * 3, "kind": pa.array(["x", "y", "x"]).dictionary_encode()}
    )
    write_arrow(tmp_path / "in.arrow", batch)
    write_arrow(tmp_path / "in.arrows", batch)
    pq.write_table(pa.Table.from_batches([batch]), tmp_path / "in.parquet", compression="none")
    found = set()
    for name in ("in.arrow", "in.arrows", "in.parquet"):
        whole = (tmp_path / name).read_bytes()
        for position in range(8, len(whole), 23):
            damaged = bytearray(whole)
            damaged[position] ^= 0xFF
            (tmp_path / f"bad-{name}").write_bytes(damaged)
            ran = cli_here("run", ALL, f"bad-{name}", "-q", "-o", "out.csv")
            found.add(ran.returncode)
            assert ran.returncode in (0, 1, 2, 3), ran.stderr
            if ran.returncode:
                assert f"bad-{name}" in ran.stderr or ran.returncode == 1
            else:
                (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert {0, 3} <= found


@pytest.mark.parametrize("ending", ["arrow", "arrows", "parquet"])
def test_texts_are_utf8_and_offsets_lead_somewhere(cli_here: Cli, tmp_path: pathlib.Path, ending: str) -> None:
    offsets = pa.py_buffer(b"\0\0\0\0\2\0\0\0\3\0\0\0")
    invalid = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfeb")])
    batch = pa.record_batch({"id": ["a", "b"], "content": invalid})
    if ending == "parquet":
        pq.write_table(pa.Table.from_batches([batch]), tmp_path / "in.parquet")
    else:
        write_arrow(tmp_path / f"in.{ending}", batch)
    ran = cli_here("run", ALL, f"in.{ending}", "-o", "out.csv")
    assert ran.returncode == 3
    assert f"in.{ending}: column 'content': " in ran.stderr
    if ending != "parquet":
        offsets = pa.py_buffer(b"\0\0\0\0\0\0\0\x7f\3\0\0\0")
        wild = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"abc")])
        write_arrow(tmp_path / f"in.{ending}", pa.record_batch({"id": ["a", "b"], "content": wild}))
        assert cli_here("run", ALL, f"in.{ending}").returncode == 3


def test_an_empty_file_is_no_compressed_stream(cli_here: Cli, tmp_path: pathlib.Path) -> None:
    for name in ("e.jsonl.gz", "e.csv.bz2", "e.arrows.zst", "e.jsonl.lz4"):
        (tmp_path / name).touch()
        ran = cli_here("count", ALL, name)
        assert (ran.returncode, ran.stderr.startswith(f"error: {name}: ")) == (3, True), name


@pytest.mark.parametrize(
    "text",
    [
        'id,n\na,1\nb,"2\nc,3\n',
        'id,n\na,1\nb,"2\nc,3',
        'id\na\n"b\nc\n',
        'id,"n\na,1',
        'id,n\na,5" x\nb,"2\n',
        'id,n\n"a,1\n',
    ],
)
def test_a_quote_that_is_never_closed(cli_here: Cli, tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "in.csv").write_text(text)
    ran = cli_here("run", ALL, "in.csv", "-o", "out.jsonl")
    assert ran.returncode == 3
    assert ran.stderr.startswith("error: in.csv: ")
    assert not (tmp_path / "out.jsonl").exists()


def test_quotes_that_are_closed_or_are_none(cli_here: Cli, tmp_path: pathlib.Path) -> None:
    for text, expected in [
        ('id,n\n"a",5" disk\r"b","x""\ny"', ["a", "b"]), ('id\n"a"\n\n"b"', ["a", "b"]), ("id,n\r\na,\r\n", ["a"]),
    ]:  # fmt: skip
        (tmp_path / "in.csv").write_text(text, newline="")
        assert values(cli_here("run", ALL, "in.csv", "-q"), "id") == expected
    for header in ("id,n", "id,n\n"):
        (tmp_path / "in.csv").write_text(header)
        assert cli_here("run", ALL, "in.csv").returncode == 1


# -- values ------------------------------------------------------------------------------------------------------------


def test_numbers_beyond_the_doubles(cli_here: Cli, tmp_path: pathlib.Path) -> None:
    (tmp_path / "in.csv").write_text("id,n,importance\na,1e400,inf\n")
    ran = cli_here("run", ALL, "in.csv")
    assert (values(ran, "n"), values(ran, "importance")) == (["1e400"], ["Infinity"])
    (tmp_path / "in.csv").write_text("id,importance\na,1\nb,-1e400\n")
    ran = cli_here("run", ALL, "in.csv")
    assert (ran.returncode, ran.stderr[:44]) == (3, "error: in.csv: row 2, column 'importance': n"), ran.stderr
    for line, other in [("importance", "0.5"), ("access_count", "1.5")]:
        lines = [f'{{"id":"a","{line}":{other}}}', f'{{"id":"b","{line}":9007199254740993}}']
        for order in (lines, lines[::-1]):
            (tmp_path / "in.jsonl").write_text("\n".join(order))
            ran = cli_here("run", ALL, "in.jsonl", "-o", "out.parquet")
            assert ran.returncode == 3
            assert ran.stderr.startswith("error: in.jsonl:")
    (tmp_path / "in.jsonl").write_text('{"id":"a","access_count":9007199254740993}')
    assert cli_here("run", ALL, "in.jsonl", "-q", "-o", "out.parquet").returncode == 0
    assert pq.read_table(tmp_path / "out.parquet")["access_count"].to_pylist() == [9007199254740993]


def test_instants_of_any_year() -> None:
    seconds = pa.array([253402300799, 253402300800, -62167219201, 10**12, -(2**63), None])
    years = ["9999-12-31T23:59:59", "+010000-01-01T00:00:00", "-000001-12-31T23:59:59", "+033658-09-27T01:46:40",
             "-292277022657-01-27T08:29:52"]  # fmt: skip
    assert json_texts(seconds.cast(pa.timestamp("s"))) == [*(f'"{year}Z"' for year in years), "null"]
    milliseconds = pa.array([8640000000000000, -62167219200001]).cast(pa.timestamp("ms"))
    assert json_texts(milliseconds) == ['"+275760-09-13T00:00:00.000Z"', '"-000001-12-31T23:59:59.999Z"']
    days = pa.array([2**31 - 1, -(2**31), 0], pa.int32()).cast(pa.date32())
    assert json_texts(days)[:2] == ['"+5881580-07-11T00:00:00Z"', '"-5877641-06-23T00:00:00Z"']


@pytest.mark.parametrize(("index", "size"), [(pa.int8(), 128), (pa.uint8(), 256), (pa.int16(), 32768)])
def test_a_full_dictionary_beside_null(index: pa.DataType, size: int) -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([size - 1, None], index), pa.array(range(size)))
    assert json_texts(array) == [str(size - 1), "null"]


DECIMALS = pa.array([decimal.Decimal("0.1234567890123456789")], pa.decimal128(30, 19))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (DECIMALS, pa.array([0.5])), (pa.array([[1.5]]), pa.ListArray.from_arrays([0, 1], DECIMALS)),
        (pa.StructArray.from_arrays([DECIMALS], ["a"]), pa.array([{"b": 1, "a": 0.5}])),
        (pa.array(["x"]), pa.array([b"\xff"])), (pa.array(["x"]), pa.array([b"\xff\xfe"], pa.binary(2))),
        (pa.array([2**63 - 1]), DECIMALS), (pa.array([2**64 - 1], pa.uint64()), DECIMALS),
        (DECIMALS, pa.array([3], pa.int8())),
        (DECIMALS, DECIMALS.cast(pa.decimal256(50, 25))), (pa.array(["x"]), pa.array(["y"], pa.large_string())),
    ],
    ids=lambda array: str(array.type),
)  # fmt: skip
def test_two_files_make_one_column_of_the_same_values_or_none(
    cli_here: Cli, tmp_path: pathlib.Path, left: pa.Array, right: pa.Array
) -> None:
    write_arrow(tmp_path / "1.arrow", pa.record_batch({"id": ["a"], "x": left}))
    write_arrow(tmp_path / "2.arrow", pa.record_batch({"id": ["b"], "x": right}))
    ran = cli_here("run", ALL, "1.arrow", "2.arrow", "-o", "out.arrow")
    lossy = {str(left.type)[:6], str(right.type)[:6]} & {"double", "list<i", "struct", "binary", "fixed_"}
    assert ran.returncode == (2 if lossy else 0), ran.stderr
    if lossy:
        assert "2.arrow: column 'x' has type" in ran.stderr
    else:
        assert (
            pa.ipc.open_file(tmp_path / "out.arrow").read_all()["x"].to_pylist() == left.to_pylist() + right.to_pylist()
        )


def test_dictionaries_that_change_wherever_they_are(cli_here: Cli, tmp_path: pathlib.Path) -> None:
    def batch(*texts: str | None) -> pa.RecordBatch:
        coded = pa.array(texts).dictionary_encode(null_encoding="encode")
        lists = pa.ListArray.from_arrays(pa.array(range(len(texts) + 1), pa.int32()), coded)
        return pa.record_batch(
            {"id": ["a"] * len(texts), "top": coded, "in": pa.StructArray.from_arrays([lists], ["k"])}
        )

    batches = [batch("x", "y"), batch("z", None, "x"), batch("y"), batch(None, "w")]
    write_arrow(tmp_path / "in.arrows", *batches)
    assert cli_here("run", ALL, "in.arrows", "-q", "-o", "out.arrow").returncode == 0
    table = pa.ipc.open_file(tmp_path / "out.arrow").read_all()
    table.validate(full=True)
    assert table.to_pylist() == pa.Table.from_batches(batches).to_pylist()


def test_parquet_keeps_instants_in_date64(cli_here: Cli, tmp_path: pathlib.Path) -> None:
    dates = pa.array([1, 86_400_000, None, -1]).view(pa.date64())
    write_arrow(tmp_path / "in.arrow", pa.record_batch({"id": list("abcd"), "at": dates}))
    assert cli_here("run", ALL, "in.arrow", "-q", "-o", "out.parquet").returncode == 0
    assert pq.read_table(tmp_path / "out.parquet")["at"].cast(pa.int64()).to_pylist() == [1, 86_400_000, None, -1]


def test_flattened_metadata_comes_out_as_the_object_it_was(cli_here: Cli, tmp_path: pathlib.Path) -> None:
    table = pa.table({"id": ["a", "b"], "metadata.k": ["x", None], "n": [1, 2], "metadata.s.t": [3, 4]})
    pq.write_table(table, tmp_path / "in.parquet")
    assert cli_here("run", ALL, "in.parquet", "-q", "-o", "out.jsonl").returncode == 0
    assert (tmp_path / "out.jsonl").read_text().splitlines()[1] == '{"id":"b","metadata":{"k":null,"s":{"t":4}},"n":2}'
    for filter in ('{"field":"metadata.s.t","operator":"gt","value":3}', '{"metadata":{"k":null}}'):
        for source in ("in.parquet", "out.jsonl"):
            assert values(cli_here("run", filter, source, "-q"), "id") == ["b"]
    pq.write_table(table.append_column("metadata.s", [["u", "v"]]), tmp_path / "in.parquet")
    ran = cli_here("run", ALL, "in.parquet")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "'metadata.s.t' and 'metadata.s'" in ran.stderr
    pq.write_table(table.append_column("metadata", [["{}", "{}"]]), tmp_path / "in.parquet")
    assert '"metadata.k":"x"' in cli_here("run", "{}", "in.parquet").stdout


def test_no_rows_and_no_columns(cli_here: Cli, tmp_path: pathlib.Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id":"a"}\n')
    nothing = '{"and":[{"field":"id","operator":"eq","value":"z"},{"field":"metadata.k","operator":"eq","value":1}]}'
    for ending in ("csv", "parquet", "arrow"):
        for source in ("in.jsonl", f"out.{ending}"):
            ran = cli_here(
                "run", nothing, source, "-o", f"out{source == f'out.{ending}'}.{ending}".replace("False", "")
            )
            assert (ran.returncode, ran.stderr[:7]) == (1, "0 of 1 " if source == "in.jsonl" else "0 of 0 "), ran.stderr
    assert (tmp_path / "out.csv").read_text() == '"id","metadata"\n'
    (tmp_path / "empty.jsonl").touch()
    assert cli_here("run", "{}", "empty.jsonl", "-o", "empty.csv").returncode == 1
    assert cli_here("count", "{}", "empty.csv").stdout == "0\n"
    pq.write_table(pa.table({"id": []}).select([]), tmp_path / "none.parquet")
    for ending in ("parquet", "arrow", "arrows", "jsonl"):
        assert cli_here("run", "{}", "none.parquet", "-o", f"none-out.{ending}").returncode == 1


def test_masks_as_numpy() -> None:
    mask = pa.array([True, False, True, True] * 9)
    for start in range(12):
        assert mask_flags(mask.slice(start, 17)).tolist() == mask.slice(start, 17).to_pylist()
    assert mask_flags(mask.slice(0, 0)).tolist() == []
