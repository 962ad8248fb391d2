"""What tests of pushdown share: the rows a store gives, judged against the rows that match."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import oracle
import pyarrow as pa

from fastfilter.compiler import expr
from fastfilter.filter import Filter

ROW = "row number"
"""A column that no filter reads and that numbers the rows."""


def numbered(data: pa.RecordBatch | pa.Table) -> pa.Table:
    """A table with the number of every row."""
    table = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
    return table.append_column(ROW, pa.array(range(table.num_rows), pa.int64()))


def oracle_rows(expression: expr.Expression, table: pa.Table) -> set[int]:
    """The rows that match, by the oracle."""
    matching = set()
    first_row = 0
    for batch in table.to_batches():
        answer = oracle.evaluate_batch(expression, batch)
        matching |= {first_row + row for row, matches in enumerate(answer) if matches}
        first_row += batch.num_rows
    return matching


def judge(matching: set[int], given: Iterable[int], residual: Filter | None, table: pa.Table, *context: Any) -> str:
    """Makes sure that a store gives every row that matches, and after the residual no other.

    Returns:
        How much the store did, for the counts.
    """
    rows = sorted(given)
    assert len(set(rows)) == len(rows), context
    assert matching <= set(rows), ("rows lost", matching - set(rows), *context)
    if residual is None:
        assert matching == set(rows), ("rows too many", set(rows) - matching, *context)
        return "decided by the store"
    kept = {
        row for row, matches in zip(range(table.num_rows), residual.mask(table).to_pylist(), strict=True) if matches
    }
    assert kept & set(rows) == matching, ("after the residual", (kept & set(rows)) ^ matching, *context)
    return "narrowed by the store" if len(rows) < table.num_rows else "left to the residual"
