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
        found = {}
        for engine, runner in corpus.RUNNERS.items():
            out = str(tmp_path / f"{engine}.parquet") if task == "write" else None
            work = runner(question, made, known["rows"], out)
            if work is not None:
                found[engine] = work()
        assert len(set(found.values())) == 1, found
        assert len(found) >= 3
        if question == "clustered":
            assert found["fastfilter"] == known["rows"] // 1000
        if question == "rare":
            assert found["fastfilter"] == corpus.RARE_ROWS
        if question == "even":
            assert abs(found["fastfilter"] / known["rows"] - 0.01) < 0.002


def test_the_table_compares_with_this_project() -> None:
    common = {"question": "even", "task": "read", "count": 10, "cpu_seconds": 1.0, "peak_bytes": 2e8}
    rows = [{**common, "engine": "fastfilter", "seconds": 2.0}, {**common, "engine": "duckdb", "seconds": 3.0}]
    assert "| even | read | duckdb | 10 | 3.00 | 1.50 | 1.00 | 200 |" in corpus.table(rows)
