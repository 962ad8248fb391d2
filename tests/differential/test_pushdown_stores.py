"""Random filters pushed into pyarrow.dataset and DuckDB: each matching row comes back, the residual leaves no other."""

from __future__ import annotations

import collections
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import duckdb
import pushing
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import running
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from test_expressions import LaidOut, laid_out

from fastfilter.compiler import expr
from fastfilter.filter import Filter

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

EXPRESSIONS = 5
"""Filters tried on the rows of one example: rows are what takes long to draw."""


class Store(Protocol):
    """A store of rows: ``name``, their ``table`` as it gives them back, and what it gives when asked a filter."""

    name: str
    table: pa.Table

    def ask(self, flt: Filter) -> tuple[list[int], Filter | None, Any]:
        """The numbers of the rows it gives, the residual, and what was asked."""


class Dataset:
    """A dataset of pyarrow."""

    def __init__(self, name: str, dataset: ds.Dataset, table: pa.Table) -> None:
        self.name, self.table, self._dataset = name, table, dataset

    def ask(self, flt: Filter) -> tuple[list[int], Filter | None, Any]:
        pushed = flt.pushdown(self._dataset.schema)
        answer = self._dataset.to_table(filter=pushed.expression, columns=[pushing.ROW])
        return answer[pushing.ROW].to_pylist(), pushed.residual, pushed.expression


class Duckdb:
    """A table or file read by DuckDB."""

    def __init__(self, name: str, connection: duckdb.DuckDBPyConnection, source: str, table: pa.Table) -> None:
        self.name, self.table, self._connection, self._source = name, table, connection, source
        self._placeholders = "?"

    def ask(self, flt: Filter) -> tuple[list[int], Filter | None, Any]:
        self._placeholders = "$1" if self._placeholders == "?" else "?"
        asked = flt.sql("duckdb", self.table.schema, placeholders=self._placeholders)  # type: ignore[arg-type]
        query = f'SELECT "{pushing.ROW}" FROM {self._source} WHERE {asked.text}'
        answer = self._connection.execute(query, asked.parameters).fetchall()
        return [row for (row,) in answer], asked.residual, (query, asked.parameters)


def stores(
    laid: LaidOut, row_group_size: int, path: pathlib.Path, connection: duckdb.DuckDBPyConnection, tally: Any
) -> Iterator[Store]:
    """The stores that can hold the rows."""
    table = pushing.numbered(laid.data)
    yield Dataset("pyarrow, in memory", ds.dataset(table), table)
    try:
        connection.register("given", table)
        connection.execute("CREATE OR REPLACE TABLE stored AS FROM given")
        yield Duckdb("DuckDB, its own table", connection, "stored", table)
    except (pa.ArrowException, duckdb.Error) as error:
        tally[f"DuckDB cannot hold the rows: {type(error).__name__}"] += 1
    try:
        pq.write_table(table, path, row_group_size=row_group_size)
        dataset = ds.dataset(path)
        read = dataset.to_table()
    except (pa.ArrowException, NotImplementedError, OverflowError) as error:
        tally[f"Parquet cannot hold the rows: {type(error).__name__}"] += 1
        return
    yield Dataset("pyarrow, Parquet", dataset, read)
    try:
        connection.execute(f"SELECT * FROM read_parquet('{path}')").fetchall()
        yield Duckdb("DuckDB, Parquet", connection, f"read_parquet('{path}')", read)
    except duckdb.Error as error:
        tally[f"DuckDB cannot read the file: {type(error).__name__}"] += 1


def draw_expression(data: st.DataObject, kind: str, laid: LaidOut) -> expr.Expression:
    if kind == "filters":
        return running.expression_of(*data.draw(strategies.filters(laid.words)))
    make = strategies.leaves if kind == "leaves" else strategies.expressions
    return data.draw(make(laid.words))


@pytest.mark.parametrize("kind", ["leaves", "expressions", "filters"])
def test_random_filters(kind: str, tmp_path: pathlib.Path, counted: Callable[[str, int], None]) -> None:
    """Also through the statistics of small row groups, which leave out NaN and may hold one value only."""
    tally: collections.Counter[str] = collections.Counter()

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'America/St_Johns'")

        @settings(max_examples=settings.default.max_examples // 4)  # type: ignore[union-attr]
        @given(st.data())
        def run(data: st.DataObject) -> None:
            laid = data.draw(laid_out())
            expressions = [draw_expression(data, kind, laid) for _ in range(EXPRESSIONS)]
            row_group_size = data.draw(st.sampled_from([1, 2, 3, 100]))
            for store in stores(laid, row_group_size, tmp_path / "rows.parquet", connection, tally):
                for expression in expressions:
                    flt = running.filter_of(expression)
                    if running.wanted(expression, laid.batch, laid.rows) is None:
                        with pytest.raises(running.BindError):
                            store.ask(flt)
                        tally[f"{store.name}, {kind}: does not bind"] += 1
                        continue
                    rows, residual, asked = store.ask(flt)
                    matching = pushing.oracle_rows(expression, store.table)
                    done = pushing.judge(matching, rows, residual, store.table, store.name, asked, expression)
                    tally[f"{store.name}, {kind}: {done}"] += 1

        run()
    for name, number in tally.items():
        counted(f"pushdown: {name}", number)
