"""Runs the benchmarks: every engine's answer is checked before any is timed.

``python -m benchmarks`` runs every case and writes a report (Markdown), the figures (JSON) and charts (SVG and PNG).
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import itertools
import json
import os
import pathlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from benchmarks import engines, report
    from benchmarks.cases import Case
    from benchmarks.engines import Engine
    from benchmarks.measure import Budget, Timing
    from benchmarks.report import Result

__all__ = ["check", "main"]

_CHARTED = ("typical", "medium", "pool", "json", "records")


def main(arguments: list[str] | None = None) -> int:
    """The command; 0, or 1 where the engines disagree or no case has the given name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the headline cases only, in about two minutes")
    parser.add_argument("--case", metavar="GLOB", help='cases by name, as "typical/*" or "*/seed example/*"')
    parser.add_argument("--engine", metavar="GLOB", action="append", help="engines by name; may be given repeatedly")
    parser.add_argument("--rows", type=int, help="rows of every case")
    parser.add_argument("--threads", type=int, default=1, help="threads of every engine (default 1)")
    parser.add_argument("--seconds", type=float, help="time for each engine in each case")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("benchmarks/results"), help="folder")
    parser.add_argument("--list", action="store_true", help="print the names of the cases, and stop")
    options = parser.parse_args(arguments)
    os.environ["POLARS_MAX_THREADS"] = str(options.threads)  # before anything imports it
    os.environ.setdefault("NUMEXPR_MAX_THREADS", str(options.threads))

    from rich.console import Console

    from benchmarks import cases

    console = Console(stderr=True)
    chosen = cases.quick() if options.quick else list(cases.CASES)
    if options.case:
        chosen = [case for case in cases.CASES if fnmatch.fnmatchcase(case.name, options.case)]
    if options.rows:
        chosen = [case.with_rows(options.rows) for case in chosen]
        chosen = list({case.name: case for case in chosen}.values())
    if not chosen:
        console.print(f"no case is called {options.case!r}; --list prints their names")
        return 1
    if options.list:
        print("\n".join(case.name for case in chosen))
        return 0
    return _run(chosen, options, console)


def _run(chosen: list[Case], options: argparse.Namespace, console: Console) -> int:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from benchmarks import data, engines, machine, report
    from benchmarks.measure import Budget

    budget = Budget(0.1, 3, 100) if options.quick else Budget(0.3, 7, 200)
    if options.seconds is not None:
        budget = dataclasses.replace(budget, seconds=options.seconds)
    patterns = options.engine or ["*"]
    adapters: list[Engine] = []
    for name in engines.NAMES:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            adapter = engines.load(name, options.threads)
            adapters.append(adapter) if adapter else console.print(f"{name} is not installed, and left out")
    facts = machine.describe(options.threads)
    if facts["load"] is not None and facts["load"] > 0.5:
        console.print(f"note: the machine is busy (load {facts['load']:.1f}), so figures will be unsteady")
    run = report.Run(
        machine=facts,
        versions={adapter.name: adapter.version for adapter in adapters if adapter.name != "DuckDB on Arrow"},
        bandwidth=machine.bandwidth(),
        compiling=_compiling(budget),
        results=[],
    )
    # Cases of one table follow each other, so that each engine loads it once; the report has its own order.
    places = {case.name: place for place, case in enumerate(chosen)}
    ordered = sorted(chosen, key=lambda case: (case.table.rows, case.table, places[case.name]))
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(TextColumn("{task.description:45.45}"), *columns, console=console) as progress:
        task = progress.add_task("", total=len(ordered))
        for _, group in itertools.groupby(ordered, key=lambda case: case.table):
            for case in group:
                progress.update(task, description=case.name)
                try:
                    run.results.append(_measured(case, adapters, budget))
                except AssertionError as error:
                    progress.stop()
                    console.print(str(error))
                    return 1
                progress.advance(task)
            for adapter in adapters:
                adapter.release()
            data.forget()
    run.results.sort(key=lambda result: places[result.name])
    _write(run, options.out, console)
    return 0


def check(case: Case, adapters: list[Engine]) -> tuple[dict[str, engines.Query], dict[str, str], int]:
    """Prepares the case on every engine and asks each once.

    Returns:
        The queries by engine; of engines that cannot answer, the reason; and the number of rows that pass.

    Raises:
        AssertionError: the engines disagree.
    """
    from benchmarks.engines.engine import Unsupported

    queries, reasons = {}, {}
    for adapter in adapters:
        try:
            queries[adapter.name] = adapter.prepare(case)
        except Unsupported as error:
            reasons[adapter.name] = str(error)
    counts = {name: query() for name, query in queries.items()}
    if len(set(counts.values())) > 1:
        raise AssertionError(f"{case.name}: the engines find different numbers of rows: {counts}")
    return queries, reasons, next(iter(counts.values()), 0)


def _measured(case: Case, adapters: list[Engine], budget: Budget) -> Result:
    from benchmarks import engines
    from benchmarks.measure import measure
    from benchmarks.report import OURS, Result

    if case.threads:
        pair = (engines.load(OURS, 1), engines.load(OURS, case.threads))
        adapters = [adapter for adapter in pair if adapter is not None]
        adapters[1].name = f"{OURS}, {case.threads} threads"
    queries, reasons, passing = check(case, adapters)
    timings = measure(queries, budget)
    return Result(case.family, case.label, case.table.rows, passing, case.bytes_read(), timings, reasons)


def _compiling(budget: Budget) -> dict[str, Timing]:
    """Compiling the seed example: one that no cache knows, and the same again."""
    import fastfilter
    from benchmarks.cases import compilation_filter
    from benchmarks.measure import measure

    fresh = (compilation_filter(number) for number in itertools.count(1))
    same = compilation_filter(0)
    queries = {
        "the seed example, new": lambda: len(fastfilter.compile(next(fresh)).program.instructions),
        "the seed example, again": lambda: len(fastfilter.compile(same).program.instructions),
    }
    return measure(queries, dataclasses.replace(budget, most_rounds=100))


def _write(run: report.Run, folder: pathlib.Path, console: Console) -> None:
    from benchmarks import chart, goals, report

    folder.mkdir(parents=True, exist_ok=True)
    text = report.markdown(run, goals.goals(run))
    files = [folder / "report.md", folder / "results.json"]
    files[0].write_text(text, encoding="utf-8")
    files[1].write_text(json.dumps(run.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    title = f"fastfilter against the best peer of each case, {run.machine['threads']} thread(s); longer is faster"
    headline = [result for result in run.results if result.family in _CHARTED]
    others = [result for result in run.results if result.family not in _CHARTED]
    files += chart.draw(headline, title, folder / "ratios")
    files += chart.draw(others, title, folder / "ratios-more")
    sys.stdout.write(text)
    for file in files:
        console.print(f"wrote {file}")
