"""Counts the instructions that the native machine executes for a row, and compares them with a committed baseline.

``python -m benchmarks.instructions [--update]``. Valgrind's callgrind counts them, so the figures need no clock and no
quiet machine, and are the same again on the next run. They depend on the compiler:
a build by another one than the baseline's is shown beside it, but not judged. A change that is worth its cost wants
``--update``. The target is x86-64 without extensions, since valgrind knows no AVX-512. Exits with 1 if a case got
dearer than the tolerance allows.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any

__all__ = ["BASELINE", "compare", "main"]

BASELINE = pathlib.Path(__file__).with_name("instructions.json")
TOLERANCE = 0.10
TARGET = "x86-64"
_ROWS = 50_000
_CALLS = 2
_JSON_ROWS = 10_000
_ENTRY = re.compile(rb"\0(__pyx_pw_\w+BoundProgram_\d+evaluate)\0")
_COMPILER = re.compile(rb"GCC: \([^)\0]*\) [\d.]+|clang version [\d.]+")


def main(arguments: list[str] | None = None) -> int:
    """The command; 0, 1 where a case got dearer, 2 where nothing can be counted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the counts as the new baseline")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="allowed increase (default %(default)s)")
    parser.add_argument("--child", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child is not None:
        _filter_each(options.child)
        return 0
    if shutil.which("valgrind") is None:
        print("valgrind is not installed, so nothing was counted (apt-get install valgrind)", file=sys.stderr)
        return 2
    library = _library()
    if library is None:
        print("fastfilter's native extension is not built, so there is nothing to count", file=sys.stderr)
        return 2
    counted = _count(library)
    if options.update:
        BASELINE.write_text(json.dumps(counted, indent=2) + "\n", encoding="utf-8")
        print(f"wrote {BASELINE.name}")
        return 0
    lines, dearer = compare(json.loads(BASELINE.read_text(encoding="utf-8")), counted, options.tolerance)
    print("\n".join(lines))
    return 1 if dearer else 0


def compare(baseline: dict[str, Any], counted: dict[str, Any], tolerance: float) -> tuple[list[str], list[str]]:
    """Sets two counts side by side.

    Returns:
        Lines to print, and the cases that got dearer than the tolerance allows or are not in the baseline; none where
        the baseline is another compiler's.
    """
    lines = [f"{'instructions for a row':32} {'baseline':>10} {'now':>10}"]
    bad = []
    for case, now in counted["cases"].items():
        before = baseline["cases"].get(case)
        note = ""
        if before is None:
            note = "not in the baseline; --update adds it"
        elif now > before * (1 + tolerance):
            note = f"dearer by {now / before - 1:.0%}"
        elif now < before * (1 - tolerance):
            lines.append(
                f"{case:32} {before:>10.2f} {now:>10.2f}  cheaper by {1 - now / before:.0%}; --update keeps it"
            )
            continue
        if note:
            bad.append(case)
        lines.append(f"{case:32} {'' if before is None else format(before, '.2f'):>10} {now:>10.2f}  {note}".rstrip())
    if baseline["compiler"] != counted["compiler"]:
        lines.append(f"not judged: the baseline is of {baseline['compiler']}, this build of {counted['compiler']}")
        return lines, []
    return lines, bad


def _library() -> pathlib.Path | None:
    import importlib.util

    specification = importlib.util.find_spec("fastfilter._native")
    if specification is None or specification.origin is None:
        return None
    return pathlib.Path(specification.origin)


def _count(library: pathlib.Path) -> dict[str, Any]:
    code = library.read_bytes()
    entry = _ENTRY.search(code)
    if entry is None:
        raise SystemExit(
            "the extension names no BoundProgram.evaluate: it is stripped, or its entry is called otherwise"
        )
    compiler = _COMPILER.search(code)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        rows = _write_cases(folder)
        symbol = entry.group(1).decode()
        out = folder / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--combine-dumps=yes", "--quiet"]
        command += ["--collect-atstart=no", f"--toggle-collect={symbol}", f"--dump-before={symbol}"]
        command += [sys.executable, "-m", "benchmarks.instructions", "--child", str(folder)]
        fixed = {"FASTFILTER_CPU": TARGET, "FASTFILTER_BACKEND": "native", "PYTHONHASHSEED": "0"}
        fixed["ARROW_DEFAULT_MEMORY_POOL"] = "system"
        subprocess.run(command, check=True, env={**os.environ, **fixed}, stderr=subprocess.PIPE)
        # A dump before each call, and one at the end: the first holds what came before any call.
        totals = [int(total) for total in re.findall(r"^totals: (\d+)$", out.read_text(), re.MULTILINE)][1:]
    if len(totals) != _CALLS * len(rows):
        raise SystemExit(f"{_CALLS * len(rows)} calls were made, but callgrind tells of {len(totals)}")
    cases = {}
    for at, (name, num_rows) in enumerate(rows.items()):
        cases[name] = round(min(totals[_CALLS * at : _CALLS * (at + 1)]) / num_rows, 2)
    return {
        "compiler": compiler.group().decode() if compiler else "unknown",
        "target": TARGET,
        "cases": cases,
    }


def _write_cases(folder: pathlib.Path) -> dict[str, int]:
    """Writes each case's filter and data, so that the process under valgrind need not make them."""
    import pyarrow as pa

    from benchmarks.cases import CASES

    rows: dict[str, int] = {}
    written = []
    for case in CASES:
        wanted = case.family == "typical" or (case.family == "json" and case.table.rows == 1_000)
        if not wanted:
            continue
        num_rows = _ROWS if case.family == "typical" else _JSON_ROWS
        batch = case.with_rows(num_rows).table.load()
        with pa.ipc.new_file(str(folder / f"{len(rows)}.arrow"), batch.schema) as writer:
            writer.write_batch(batch)
        rows[case.label] = num_rows
        written.append({"filter": case.filter, "dialect": case.dialect})
    (folder / "cases.json").write_text(json.dumps(written), encoding="utf-8")
    return rows


def _filter_each(folder: pathlib.Path) -> None:
    """What runs under valgrind: each filter on its data, on this thread."""
    import pyarrow as pa

    import fastfilter

    for number, case in enumerate(json.loads((folder / "cases.json").read_text(encoding="utf-8"))):
        batch = pa.ipc.open_file(pa.memory_map(str(folder / f"{number}.arrow"))).get_batch(0)
        flt = fastfilter.compile(case["filter"], case["dialect"])
        for _ in range(_CALLS):
            flt.mask(batch, threads=1)


if __name__ == "__main__":
    sys.exit(main())
