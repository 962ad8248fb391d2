"""Random filters pushed into pyarrow.dataset: every matching row comes back, and the residual leaves no other."""

from __future__ import annotations

import collections
import pathlib
from collections.abc import Callable
from typing import Any

import pushing
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import running
import strategies
from hypothesis import event, given
from hypothesis import strategies as st
from test_expressions import LaidOut, laid_out

from fastfilter.compiler import expr

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")


@pytest.fixture
def tally(counted: Callable[[str, int], None]) -> Any:
    counts: collections.Counter[str] = collections.Counter()
    yield counts
    for name, number in counts.items():
        counted(f"pushdown to pyarrow: {name}", number)


def agree(expression: expr.Expression, laid: LaidOut, dataset: ds.Dataset, matching: set[int] | None) -> str:
    """Makes sure that a scan with the pushed expression gives the matching rows; ``matching`` is None if it must not
    bind."""
    flt = running.filter_of(expression)
    if matching is None:
        with pytest.raises(running.BindError):
            flt.pushdown(dataset.schema)
        return "does not bind"
    pushed = flt.pushdown(dataset.schema)
    given_rows = dataset.to_table(filter=pushed.expression, columns=[pushing.ROW])[pushing.ROW].to_pylist()
    assert pushed.exact is (pushed.residual is None)
    return pushing.judge(matching, given_rows, pushed.residual, dataset.to_table(), pushed.expression, expression, laid)


@pytest.mark.parametrize("kind", ["leaves", "expressions", "filters"])
def test_tables_in_memory(kind: str, tally: Any) -> None:
    @given(st.data())
    def run(data: st.DataObject) -> None:
        laid = data.draw(laid_out())
        expression = draw_expression(data, kind, laid)
        want = running.wanted(expression, laid.batch, laid.rows)
        matching = None if want is None else {row for row, matches in enumerate(want) if matches}
        tally[f"{kind}, in memory: {agree(expression, laid, ds.dataset(pushing.numbered(laid.data)), matching)}"] += 1

    run()


@pytest.mark.parametrize("kind", ["leaves", "expressions", "filters"])
def test_parquet_files_of_small_row_groups(kind: str, tally: Any, tmp_path: pathlib.Path) -> None:
    """What pyarrow proves from the statistics of a row group takes no matching row away."""
    path = tmp_path / "rows.parquet"

    @given(st.data())
    def run(data: st.DataObject) -> None:
        laid = data.draw(laid_out())
        expression = draw_expression(data, kind, laid)
        table = pushing.numbered(laid.data)
        try:
            pq.write_table(table, path, row_group_size=data.draw(st.sampled_from([1, 2, 3, 100])))
            dataset = ds.dataset(path)
            read = dataset.to_table()
        except (pa.ArrowException, NotImplementedError, OverflowError) as error:
            event(f"no Parquet: {type(error).__name__}")
            tally[f"{kind}, Parquet: cannot be stored"] += 1
            return
        matching = None
        if running.wanted(expression, laid.batch, laid.rows) is not None:
            matching = pushing.oracle_rows(expression, read)
        tally[f"{kind}, Parquet: {agree(expression, laid, dataset, matching)}"] += 1

    run()


def draw_expression(data: st.DataObject, kind: str, laid: LaidOut) -> expr.Expression:
    if kind == "filters":
        return running.expression_of(*data.draw(strategies.filters(laid.words)))
    make = strategies.leaves if kind == "leaves" else strategies.expressions
    return data.draw(make(laid.words))
