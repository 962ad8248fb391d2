"""The demonstration: a sample corpus, both example filters explained, and run on Parquet and on JSONL.

``python -m examples.demo`` works in the folder ``demo`` and shows each command before it runs it.
"""

from __future__ import annotations

import pathlib
import shlex
import subprocess
import sys

from examples.make_corpus import make_samples

HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path("demo")
NUM_ROWS = 20_000


def run(*arguments: str) -> str:
    """Shows a command of the tool, runs it, and gives what it wrote to standard output."""
    print(f"\n$ fastfilter {shlex.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "fastfilter", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def show(text: str, num_lines: int = 3, width: int = 160) -> None:
    """Prints the first lines of a text, the long ones cut."""
    lines = text.splitlines()
    for line in lines[:num_lines]:
        print(line if len(line) <= width else line[: width - 1] + "…")
    if len(lines) > num_lines:
        print(f"… {len(lines) - num_lines:,} more lines")


def main() -> None:
    """Runs the demonstration; stops with an error if Parquet and JSONL give different rows."""
    print(f"Making {NUM_ROWS:,} memories and {NUM_ROWS:,} chunks in {FOLDER}/, as Parquet and as JSONL.")
    make_samples(FOLDER, NUM_ROWS)
    for example, corpus in (("fishmem", "memories"), ("anansi", "chunks")):
        filter_file = str(HERE / f"{example}.json")
        print(f"\n==== {example}: {filter_file}\n{pathlib.Path(filter_file).read_text().strip()}")
        show(run("explain", filter_file, str(FOLDER / f"{corpus}.parquet")), num_lines=100)
        matched = []
        for ending in ("parquet", "jsonl"):
            source, out = str(FOLDER / f"{corpus}.{ending}"), str(FOLDER / f"{corpus}-matched.{ending}")
            show(run("run", filter_file, source, "--columns", "id,content,metadata", "--limit", "3", "--quiet"))
            run("run", filter_file, source, "-o", out)
            matched.append(run("run", "{}", out, "--columns", "id", "--quiet"))
        if matched[0] != matched[1]:
            sys.exit("Parquet and JSONL gave different rows")
        num_rows = len(matched[0].splitlines())
        print(f"\nBoth formats gave the same {num_rows:,} rows; they are in {FOLDER}/{corpus}-matched.*")


if __name__ == "__main__":
    main()
