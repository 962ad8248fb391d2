"""The benchmark of large corpora, on a small one: every engine finds the same rows, and as many as there are to be."""

from __future__ import annotations

import json
import pathlib

import pytest

from benchmarks import corpus


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A corpus of a few row groups."""
    folder = tmp_path_factory.mktemp("corpus")
    corpus.make(folder, 0.06)
    return folder


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("question", corpus.QUESTIONS)
def test_all_engines_find_the_same_rows(question: str, made: pathlib.Path, tmp_path: pathlib.Path) -> None:
    known = json.loads((made / "corpus.json").read_text())
    for task in corpus.QUESTIONS[question]:
        found, rows = {}, set()
        for engine, runner in corpus.RUNNERS.items():
            out = str(tmp_path / f"{engine}.parquet") if task == "write" else None
            work = runner(question, made, known["rows"], out)
            if work is not None:
                found[engine] = work()
                rows.add(out and corpus.digest(out))
        assert len(set(found.values())) == 1, found
        assert len(found) >= 3
        assert len(rows) == 1
        if question == "clustered":
            assert found["fastfilter"] == known["rows"] // 1000
        if question == "rare":
            assert found["fastfilter"] == corpus.RARE_ROWS
        if question == "even":
            assert abs(found["fastfilter"] / known["rows"] - 0.01) < 0.002


def test_other_rows_are_not_the_same_answer() -> None:
    found = {("even", "write", engine): {"count": 2, "rows": rows} for engine, rows in (("a", "x"), ("b", "x"))}
    corpus.check_answers("even", found)
    for other in ({"count": 3, "rows": "x"}, {"count": 2, "rows": "y"}):
        with pytest.raises(AssertionError, match="even"):
            corpus.check_answers("even", {**found, ("even", "write", "c"): other})


def test_the_table_compares_with_this_project(made: pathlib.Path) -> None:
    common = {"question": "even", "task": "read", "count": 10, "peak_bytes": 2e8}
    rows = [
        {**common, "engine": "fastfilter", "seconds": 2.0, "cpu_seconds": 4.0},
        {**common, "engine": "duckdb", "seconds": 3.0, "cpu_seconds": 3.0},
    ]
    assert "| even | read | duckdb | 10 | 3.000 | 1.50 | 3.000 | 0.75 | 200 |" in corpus.table(rows)
    assert "0.06 GB of Parquet" in corpus.heading(corpus.describe(made))


def test_a_measurement_is_a_process_of_its_own(made: pathlib.Path) -> None:
    found = corpus.measure("fastfilter", "rare", "write", made)
    assert found is not None
    assert found["count"] == corpus.RARE_ROWS
    assert found["peak_bytes"] > 10e6
    assert len(found["rows"]) == 64
    assert corpus.measure("pyarrow", "lines", "count", made) is None
