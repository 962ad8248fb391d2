"""The command line as a process among others: signals, pipes, terminals, files put into place."""

from __future__ import annotations

import fcntl
import os
import pathlib
import pty
import signal
import struct
import subprocess
import termios

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import COMMAND, PATIENCE, Cli, Sample, environment, wait_for

ALL = '{"field":"id","operator":"exists","value":true}'


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_half_file(tmp_path: pathlib.Path, number: signal.Signals, ending: str) -> None:
    out = tmp_path / f"out.{ending}"
    out.write_text("what was there before")
    process = subprocess.Popen(
        [*COMMAND, "run", ALL, "-", "-o", str(out)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stdin is not None
    # The pipe stays open: the run waits for more lines with its output begun.
    process.stdin.write(b'{"id":"a"}\n' * 100)
    process.stdin.flush()
    wait_for(lambda: len(list(tmp_path.iterdir())) > 1, process)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert stdout == b""
    assert stderr.startswith(b"error: ")
    assert b"Traceback" not in stderr
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    assert out.read_text() == "what was there before"


def test_an_output_is_replaced_when_it_is_whole(cli: Cli, tmp_path: pathlib.Path) -> None:
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "in.parquet")
    target = tmp_path / "elsewhere" / "out.jsonl"
    target.parent.mkdir()
    target.write_text("old")
    target.chmod(0o640)
    (tmp_path / "link.jsonl").symlink_to(target)
    assert cli("run", ALL, "in.parquet", "-o", "link.jsonl").returncode == 0
    assert (tmp_path / "link.jsonl").is_symlink()
    assert target.read_text() == '{"id":"a"}\n'
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in target.parent.iterdir()) == ["out.jsonl"]
    assert cli("run", ALL, "in.parquet", "-o", "new.jsonl").returncode == 0
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "new.jsonl").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_reader_that_goes_away_is_no_error(tmp_path: pathlib.Path, samples: dict[str, Sample]) -> None:
    source = samples["fishmem"].files["jsonl"]
    command = [*COMMAND, "run", ALL, *[str(source)] * 20]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b'{"id": "mem_0000000"')
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 0


def on_terminal(*arguments: str, **extra: str) -> tuple[int, str]:
    """Runs the command line on a terminal of 100 columns; the exit code and all that the terminal got."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=follower, stdout=follower, stderr=follower, env=environment(TERM="xterm-256color", **extra),
        start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    shown = b""
    while True:
        try:
            block = os.read(leader, 65536)
        except OSError:  # the last one with the terminal open has gone
            break
        if not block:
            break
        shown += block
    os.close(leader)
    return process.wait(PATIENCE), shown.decode()


def test_a_terminal_gets_a_table_a_bar_and_a_summary(samples: dict[str, Sample]) -> None:
    sample = samples["fishmem"]
    code, shown = on_terminal("run", ALL, str(sample.files["parquet"]))
    assert code == 0
    assert "│ mem_0000000" in shown
    assert "│ mem_0000019" in shown
    assert "mem_0000020" not in shown
    assert "1,480 more rows" in shown
    assert "not shown: " in shown
    assert "rows in" in shown
    assert "rows/s" in shown
    assert "1,500 of 1,500 rows matched" in shown
    assert shown.index("mem_0000019") < shown.index("more rows") < shown.index("rows matched")


def test_a_table_of_lines_cannot_steer_the_terminal(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"id":"a\\u001b]0;title\\u0007","content":"[red]x[/red]"}\n')
    code, shown = on_terminal("run", ALL, str(source), "--quiet")
    assert code == 0
    assert "\x1b]0" not in shown
    assert "[red]x[/red]" in shown
    assert "rows matched" not in shown


def test_colour_can_be_turned_off(samples: dict[str, Sample]) -> None:
    code, shown = on_terminal("run", ALL, str(samples["anansi"].files["csv"]), "--limit", "2", "--quiet")
    assert code == 0
    assert "\x1b[3" not in shown
    assert "chunk_0000001" in shown


def test_nothing_but_data_on_standard_output(cli: Cli, samples: dict[str, Sample]) -> None:
    sample = samples["anansi"]
    ran = cli("run", sample.filter, sample.files["arrow"], "-o", "-")
    assert len(ran.stdout.splitlines()) == len(sample.expected)
    assert "\x1b" not in ran.stdout + ran.stderr
    count = cli("count", sample.filter, sample.files["arrow"])
    assert count.stdout == f"{len(sample.expected)}\n"


def test_a_fault_of_the_program_is_one_line_unless_asked_for_more(cli: Cli, tmp_path: pathlib.Path) -> None:
    (tmp_path / "in.parquet").write_bytes(b"none")
    assert cli("run", ALL, "in.parquet").stderr.count("\n") == 1
    assert "Traceback" in cli("run", ALL, "in.parquet", FASTFILTER_DEBUG="1").stderr


def test_memory_stays_bounded(tmp_path: pathlib.Path, cli: Cli) -> None:
    """One row group of 400 MB of text, read in pieces: the process must not come near holding it."""
    text = ["x" * 4000 + str(number) for number in range(2000)]
    table = pa.table({"id": [str(number) for number in range(2000)], "content": text})
    with pq.ParquetWriter(tmp_path / "in.parquet", table.schema, use_dictionary=False, compression="none") as writer:
        writer.write_table(pa.concat_tables([table] * 50), row_group_size=1 << 30)
    assert (tmp_path / "in.parquet").stat().st_size > 400_000_000
    script = (
        "import re, sys\n"
        "from fastfilter.cli import main\n"
        "try:\n    main()\n"
        # The peak of this process alone: ru_maxrss begins with what the process that started it held.
        "finally:\n    print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1], file=sys.stderr)\n"
    )
    filter = '{"field":"content","operator":"contains","value":"x1999"}'
    ran = subprocess.run(
        [COMMAND[0], "-c", script, "run", filter, "in.parquet", "-o", "out.parquet", "--quiet"],
        capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=PATIENCE * 2, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 50
    assert int(ran.stderr) < 360_000, f"{ran.stderr.strip()} kB"
