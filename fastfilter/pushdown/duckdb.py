"""Conditions in DuckDB's SQL, on columns as DuckDB has them when it reads a schema's data from Arrow or Parquet.

Identifiers know no case in DuckDB, so a name that another one equals but for its case is not named.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.types as pat

from fastfilter.compiler.pushdown import Bounds
from fastfilter.pushdown.leaves import BoundLeaf
from fastfilter.pushdown.sql import (
    COMPARE,
    Parameter,
    Sql,
    SqlStore,
    decimal_text,
    instant_text,
    is_text,
    quoted,
    spell,
)
from fastfilter.runtime.arrow_types import is_instant
from fastfilter.runtime.binding import StructChild

__all__ = ["DuckdbStore"]

_TYPES: Final = {
    pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INTEGER", pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT", pa.uint16(): "USMALLINT", pa.uint32(): "UINTEGER", pa.uint64(): "UBIGINT",
    pa.float16(): "FLOAT", pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.date32(): "DATE",
    pa.timestamp("s"): "TIMESTAMP_S", pa.timestamp("ms"): "TIMESTAMP_MS", pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("ns"): "TIMESTAMP_NS",
}  # fmt: skip
_MAX_PRECISION: Final = 38


class DuckdbStore(SqlStore):
    """Makes conditions for DuckDB."""

    def column(self, name: str) -> Sql | None:
        """A column by its name."""
        if not _is_unambiguous(name, self._schema.names):
            return None
        return spell("{}", (f"{quoted(self._table)}." if self._table is not None else "") + quoted(name))

    def place(self, bound: BoundLeaf, column: Sql) -> Sql | None:
        """Through plain structs."""
        type = bound.column_type
        value = column
        for step in bound.steps:
            if not isinstance(step, StructChild) or not pat.is_struct(type):
                return None
            child = type.field(step.child)
            if not _is_unambiguous(child.name, [sibling.name for sibling in type.fields]):
                return None
            value = spell("({}).{}", value, quoted(child.name))
            type = child.type
        return value

    def json_leaf(self, bound: BoundLeaf, path: tuple[str, ...], column: Sql) -> Bounds[Sql]:
        """JSON is text; DuckDB's functions read some texts otherwise than we do, and so are not asked."""
        return self.raw_json_leaf(bound, path, column)

    def stored(self, value: int | float, type: pa.DataType) -> Sql | None:
        """A value in the column's own type, so that it is the column that is never cast."""
        if pat.is_decimal(type):
            if type.precision > _MAX_PRECISION:
                return None
            name, literal = f"DECIMAL({type.precision}, {type.scale})", decimal_text(int(value), type.scale)
            return spell(f"CAST({{}} AS {name})", Parameter(literal))
        if is_instant(type):
            text = instant_text(int(value), type)
            if text is None or pat.is_date64(type):
                return None
            if pat.is_timestamp(type) and type.tz is not None:
                # DuckDB counts microseconds there.
                return None if type.unit == "ns" else spell("CAST({} AS TIMESTAMPTZ)", Parameter(text + "+00"))
            return spell(f"CAST({{}} AS {_TYPES[type]})", Parameter(text))
        return spell(f"CAST({{}} AS {_TYPES[type]})", Parameter(value))

    def finite(self, value: Sql, type: pa.DataType) -> Sql | None:
        """A function of the value, of which statistics, which leave NaN out, prove nothing."""
        return spell("isfinite({})", value) if pat.is_floating(type) else None

    def is_storable(self, text: str) -> bool:
        """All Unicode text is."""
        return is_text(text)

    def texts(self, texts: tuple[str, ...], value: Sql) -> Sql:
        """An equality, or a list."""
        wanted = [spell("CAST({} AS VARCHAR)", Parameter(text)) for text in texts]
        if len(wanted) == 1:
            return spell("({} = {})", value, wanted[0])
        return spell("({} IN (" + ", ".join(["{}"] * len(wanted)) + "))", value, *wanted)

    def order(self, operator: str, bound: str, value: Sql) -> Sql:
        """Without a collation DuckDB orders by bytes."""
        return spell(f"({{}} {COMPARE[operator]} CAST({{}} AS VARCHAR))", value, Parameter(bound))

    def searches(self, text: str, value: Sql) -> Sql:
        """By bytes."""
        return spell("contains({}, CAST({} AS VARCHAR))", value, Parameter(text))

    def searches_ignoring_case(self, text: str, value: Sql) -> Bounds[Sql]:
        """Exactly on ASCII; of other strings, which Unicode may lower-case to anything, nothing is said."""
        if not is_text(text):
            return Bounds.exactly(False)
        ascii_only = spell("(strlen({}) = length({}))", value, value)
        others = spell("(strlen({}) <> length({}))", value, value)
        if not text.isascii():
            return Bounds(others, False)
        found = spell("contains(lower({}), CAST({} AS VARCHAR))", value, Parameter(text))
        return Bounds(self.disjunction([others, found]), self.conjunction([ascii_only, found]))

    def holds(self, texts: tuple[str, ...], value: Sql) -> Sql:
        """Nulls among the elements are passed over."""
        return spell("list_has_any(CAST({} AS VARCHAR[]), CAST({} AS VARCHAR[]))", value, Parameter(list(texts)))


def _is_unambiguous(name: str, siblings: Iterable[str]) -> bool:
    if "\0" in name or not is_text(name) or not name:
        return False
    return [sibling.casefold() for sibling in siblings].count(name.casefold()) == 1
