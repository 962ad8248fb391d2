"""The benchmarks ask every engine the same question: here on small tables, with those engines that are installed."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

import fastfilter
from benchmarks import chart, data, engines, goals, instructions, report, run
from benchmarks.cases import CASES, FAMILIES, Case, quick
from benchmarks.measure import Budget, Timing, measure

ROWS = 2_000


@pytest.fixture(scope="module")
def adapters() -> Iterator[list[engines.Engine]]:
    """Every engine that is installed."""
    loaded = [adapter for name in engines.NAMES if (adapter := engines.load(name)) is not None]
    print("engines:", ", ".join(adapter.name for adapter in loaded))
    yield loaded
    for adapter in loaded:
        adapter.release()
    data.forget()


def _small(family: str) -> list[Case]:
    """The family's cases on 2,000 rows, those of one table together."""
    rows = {case.with_rows(ROWS).name: case.with_rows(ROWS) for case in CASES if case.family == family}
    return sorted(rows.values(), key=lambda case: case.table)


@pytest.mark.parametrize("family", FAMILIES)
def test_engines_agree(family: str, adapters: list[engines.Engine]) -> None:
    some_pass = 0
    for case in _small(family):
        queries, reasons, passing = run.check(case, adapters)
        assert {"fastfilter", "Python loop"} <= queries.keys(), (case.name, reasons)
        assert passing < ROWS or "exists" in case.label, case.name
        some_pass += passing > 0
    assert some_pass


def test_a_wrong_answer_stops_the_run(adapters: list[engines.Engine]) -> None:
    class Wrong(engines.Engine):
        version = "0"

        def prepare(self, case: Case) -> engines.Query:
            return lambda: -1

    case = CASES[0].with_rows(ROWS)
    with pytest.raises(AssertionError, match="different numbers of rows"):
        run.check(case, [*adapters, Wrong("wrong", 1)])


def test_names_are_unique_and_every_family_has_cases() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert {case.family for case in CASES} == set(FAMILIES)
    assert 0 < len(quick()) < len(CASES)


def test_the_filters_are_what_an_api_accepts() -> None:
    for case in CASES:
        parsed = fastfilter.compile(json.dumps(case.filter), case.dialect)
        assert parsed.program == fastfilter.compile(case.filter).program, case.name


def test_data_are_the_same_every_time() -> None:
    table = CASES[0].with_rows(ROWS).table
    before = table.load()
    data.forget()
    assert table.load().equals(before)


def test_selectivity_is_what_the_label_says(adapters: list[engines.Engine]) -> None:
    for case in _small("matrix"):
        if "% pass" not in case.label or case.table.nulls:
            continue
        wanted = float(case.label.partition(", ")[2].partition("%")[0]) / 100
        _, _, passing = run.check(case, adapters[:1])
        assert abs(passing / ROWS - wanted) <= 0.015, case.label


def test_measuring_takes_turns_and_keeps_its_budget() -> None:
    calls: list[str] = []

    def query(name: str) -> int:
        calls.append(name)
        return sum(range(20_000))

    budget = Budget(seconds=0, least_rounds=4, most_rounds=6)
    timings = measure({"a": lambda: query("a"), "b": lambda: query("b")}, budget)
    assert {name: timing.rounds for name, timing in timings.items()} == {"a": 4, "b": 4}
    assert all(0 < timing.low <= timing.median <= timing.high for timing in timings.values())
    turns = "".join(calls).replace("aa", "a").replace("bb", "b")
    assert "ab" in turns and "ba" in turns


def _timing(seconds: float) -> Timing:
    return Timing(seconds, seconds * 0.9, seconds * 1.1, 7)


def _results() -> report.Run:
    fast = {"fastfilter": _timing(0.001), "pyarrow": _timing(0.004), "Polars": _timing(0.002)}
    slow = {"fastfilter": _timing(0.004), "pyarrow": _timing(0.002)}
    threads = {"fastfilter": _timing(0.008), "fastfilter, 2 threads": _timing(0.005)}
    alone = {"fastfilter": _timing(0.008)}
    results = [
        report.Result("typical", "a", 1000, 10, 8000, fast, {"DuckDB": "is tired"}),
        report.Result("typical", "b", 1000, 10, 8_000_000, slow, {}),
        report.Result("threads", "c", 1000, 10, 8000, threads, {}),
        report.Result("json", "d", 1000, 10, 8000, alone, {}),
    ]
    machine = {"cpu": "a processor", "cores": 2, "system": "Linux", "python": "3.11", "threads": 1}
    machine |= {"backend": "native", "target": "avx2"}
    return report.Run(machine, {"fastfilter": "1", "pyarrow": "2"}, 1e10, {"a filter": _timing(5e-5)}, results)


def test_the_report_names_the_best_peer_and_the_ratio() -> None:
    results = _results()
    assert [result.ratio for result in results.results] == [2, 0.5, 1.6, None]
    assert [result.best_peer for result in results.results] == ["Polars", "pyarrow", None, None]
    text = report.markdown(results)
    assert "| a | 1,000 | 1.0% | 1.00 ms (10%) | 4.00 ms (10%) | 2.00 ms (10%) | Polars | **2.00 ×** | 8.0 kB |" in text
    assert "| typical | 2 | 1.00 × | 0.50 × | b, 1,000 rows | 2.00 × |" in text
    assert "* DuckDB: is tired" in text
    written = json.loads(json.dumps(results.to_json()))["results"][0]
    assert (written["name"], written["best_peer"], written["ratio"]) == ("typical/a/1000", "Polars", 2)


def test_the_goals_that_a_run_tells_of() -> None:
    found = {goal.what: goal for goal in goals.goals(_results())}
    assert not found["typical, geometric mean"].met and not found["typical, least (b)"].met
    assert found["two threads, c"].found == "1.60 ×" and not found["two threads, c"].met
    assert "| two threads, c | ≥ 1.7 × | 1.60 × | **no** |" in report.markdown(_results(), list(found.values()))
    float_compare = {"fastfilter": _timing(0.3e-3), "pyarrow": _timing(1.8e-3)}
    result = report.Result("typical", "float64 at least", 2_000_000, 10, 8000, float_compare, {})
    (scaled,) = goals.goals(dataclasses.replace(_results(), results=[result], compiling={}))[2:]
    assert (scaled.wanted, scaled.found, scaled.met) == ("≤ 700 µs", "300 µs", True)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.50 s"), (0.0123, "12.3 ms"), (1.234e-5, "12.3 µs"), (0.5, "500 ms"), (4.2e-8, "42 ns")],
)
def test_durations(seconds: float, text: str) -> None:
    assert report.duration(seconds) == text


def test_the_chart_is_drawn(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib", reason="charts need matplotlib")
    files = chart.draw(_results().results, "a title", tmp_path / "ratios")
    assert [file.suffix for file in files] == [".svg", ".png"]
    assert all(file.stat().st_size > 1000 for file in files)
    assert chart.draw([], "a title", tmp_path / "none") == []


def test_instruction_counts_are_compared_within_the_tolerance() -> None:
    baseline = {"compiler": "a", "cases": {"same": 10.0, "dearer": 10.0, "cheaper": 10.0}}
    counted = {"compiler": "a", "cases": {"same": 10.5, "dearer": 11.5, "cheaper": 8.0, "new": 1.0}}
    lines, bad = instructions.compare(baseline, counted, 0.1)
    assert bad == ["dearer", "new"]
    assert "dearer by 15%" in lines[2] and "cheaper by 20%" in lines[3]


def test_instruction_counts_of_another_compiler_are_shown_but_not_judged() -> None:
    baseline = {"compiler": "a", "cases": {"dearer": 10.0}}
    lines, bad = instructions.compare(baseline, {"compiler": "b", "cases": {"dearer": 11.5}}, 0.1)
    assert bad == []
    assert "dearer by 15%" in lines[1] and "not judged: the baseline is of a" in lines[-1]


def test_the_committed_counts_name_their_compiler_and_target() -> None:
    baseline = json.loads(instructions.BASELINE.read_text(encoding="utf-8"))
    assert baseline["target"] == instructions.TARGET and baseline["compiler"]
    assert all(count > 0 for count in baseline["cases"].values())


def test_the_command_writes_its_files(tmp_path: pathlib.Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "--case", "pool/three numbers/*", "--seconds", "0"]
    command += ["--engine", "fastfilter", "--engine", "pyarrow", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "three numbers" in done.stdout and done.stdout == (tmp_path / "report.md").read_text(encoding="utf-8")
    figures = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert figures["results"][0]["timings"].keys() == {"fastfilter", "pyarrow"} and figures["bandwidth"] > 0
    assert subprocess.run([*command, "--case", "nothing"], capture_output=True, check=False).returncode == 1
