"""Random filters pushed into DuckDB: every matching row comes back, and the residual leaves no other."""

from __future__ import annotations

import collections
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pushing
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import running
import strategies
from hypothesis import given
from hypothesis import strategies as st
from test_expressions import laid_out

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")


@pytest.fixture
def tally(counted: Callable[[str, int], None]) -> Any:
    counts: collections.Counter[str] = collections.Counter()
    yield counts
    for name, number in counts.items():
        counted(f"pushdown to DuckDB: {name}", number)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'America/St_Johns'")
        yield connection


@pytest.mark.parametrize("place", ["its own table", "Parquet"])
@pytest.mark.parametrize("kind", ["leaves", "expressions", "filters"])
def test_rows(
    kind: str, place: str, tally: Any, connection: duckdb.DuckDBPyConnection, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "rows.parquet"
    source = f"read_parquet('{path}')" if place == "Parquet" else "stored"

    @given(st.data())
    def run(data: st.DataObject) -> None:
        laid = data.draw(laid_out())
        if kind == "filters":
            expression = running.expression_of(*data.draw(strategies.filters(laid.words)))
        else:
            expression = data.draw((strategies.leaves if kind == "leaves" else strategies.expressions)(laid.words))
        if running.wanted(expression, laid.batch, laid.rows) is None:
            return
        table = pushing.numbered(laid.data)
        try:
            if place == "Parquet":
                pq.write_table(table, path, row_group_size=data.draw(st.sampled_from([1, 2, 3, 100])))
                table = pq.read_table(path)
            else:
                connection.register("given", table)
                connection.execute("CREATE OR REPLACE TABLE stored AS FROM given")
        except (pa.ArrowException, NotImplementedError, OverflowError, duckdb.Error) as error:
            tally[f"{place}, {kind}: cannot be stored"] += 1
            tally[f"cannot be stored: {type(error).__name__}"] += 1
            return
        placeholders = data.draw(st.sampled_from(["?", "$1"]))
        asked = running.filter_of(expression).sql("duckdb", table.schema, placeholders=placeholders)
        query = f'SELECT "{pushing.ROW}" FROM {source} WHERE {asked.text}'
        rows = [row for (row,) in connection.execute(query, asked.parameters).fetchall()]
        matching = pushing.oracle_rows(expression, table)
        done = pushing.judge(matching, rows, asked.residual, table, query, asked.parameters, expression, laid)
        tally[f"{place}, {kind}: {done}"] += 1

    run()
