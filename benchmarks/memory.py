"""Filters a folder of about 1 GB of Parquet with the command line and reports time and peak memory.

`python -m benchmarks.memory [--bytes 1000000000] [--keep FOLDER]`. Exits with 1 if the peak reaches 1 GB.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from benchmarks.tables import SEED_FILTER

LIMIT_BYTES = 1_000_000_000


def main() -> int:
    """Makes the corpus in a temporary folder (or reuses the one of --keep), runs the filter, prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=1_000_000_000, help="size of the corpus (default %(default)s)")
    parser.add_argument("--keep", type=pathlib.Path, help="make the corpus in this folder, or use what is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary) / "corpus"
        if not folder.exists():
            make = [
                sys.executable,
                "-m",
                "examples.make_corpus",
                "--folder",
                str(folder),
                "--bytes",
                str(options.bytes),
            ]
            subprocess.run(make, check=True)
        size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
        out = pathlib.Path(temporary) / "matches.parquet"
        command = [sys.executable, "-m", "fastfilter", "run", json.dumps(SEED_FILTER), str(folder), "-o", str(out)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        started = time.perf_counter()
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        if before * 1024 >= peak:
            print("note: making the corpus took more memory than filtering it; use --keep and run again for the peak")
        print(f"{size / 1e6:,.0f} MB of Parquet in {seconds:.1f} s, peak memory {peak / 1e6:,.0f} MB")
        return 0 if peak < LIMIT_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
