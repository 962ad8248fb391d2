"""The demonstration: a sample corpus, both example filters run on Parquet and on JSONL, and explained.

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


def ids(path: str) -> list[str]:
    """The ids of the rows in a file."""
    command = [sys.executable, "-m", "fastfilter", "run", "{}", path, "--columns", "id", "--quiet"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


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
    shown = {"fishmem": "metadata,importance,content", "anansi": "metadata,content"}
    for example, corpus in (("fishmem", "memories"), ("anansi", "chunks")):
        filter_file = str(HERE / f"{example}.json")
        print(f"\n==== {example}: {filter_file}\n{pathlib.Path(filter_file).read_text().strip()}")
        matched = []
        for ending in ("parquet", "jsonl"):
            source, out = str(FOLDER / f"{corpus}.{ending}"), str(FOLDER / f"{corpus}-matched.{ending}")
            show(run("run", filter_file, source, "--columns", shown[example], "--limit", "3", "--quiet"))
            run("run", filter_file, source, "-o", out)
            matched.append(ids(out))
        if matched[0] != matched[1]:
            sys.exit("Parquet and JSONL gave different rows")
        print(f"\nBoth formats gave the same {len(matched[0]):,} rows; they are in {FOLDER}/{corpus}-matched.*")
        print("How that filter is understood, compiled, and bound to the columns of the Parquet file:")
        show(run("explain", filter_file, str(FOLDER / f"{corpus}.parquet")), num_lines=100)
    print("\nNext: README.md shows the same from Python, and `.venv/bin/fastfilter --help` lists the commands.")


if __name__ == "__main__":
    main()
