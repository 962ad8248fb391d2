"""Conditions in PostgreSQL's SQL: on typed columns, on JSON in ``jsonb`` columns, and on JSON text.

A column's Arrow type stands for the type in PostgreSQL: ``arrow.json`` for ``jsonb``; strings for ``text``; integers,
floats, decimals, bool, dates and timestamps for theirs; lists of strings for ``text[]``. The database must be in UTF-8.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.types as pat

from fastfilter.compiler.dialects.fishmem import BUILT_IN_NAMES
from fastfilter.compiler.pushdown import Bounds
from fastfilter.pushdown.jsonb import jsonb_leaf
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
from fastfilter.runtime.arrow_types import is_instant, is_json, is_list, is_number, is_string, is_uuid, value_type
from fastfilter.runtime.binder import BindOptions

__all__ = ["PostgresStore", "conventional_schema"]

_MAX_NAME: Final = 63
"""Bytes of an identifier that PostgreSQL tells apart."""


_NUMBERS: Final = {"importance": pa.float64(), "access_count": pa.int64()}
_INSTANTS: Final = ("created_at", "updated_at", "event_date", "last_accessed_at")


def conventional_schema(options: BindOptions) -> pa.Schema:
    """A table whose types nobody has told: every built-in field as what it is, metadata as ``jsonb``."""
    columns = {}
    for name in BUILT_IN_NAMES:
        type = pa.timestamp("us", "UTC") if name in _INSTANTS else _NUMBERS.get(name, pa.string())
        columns[options.fields.get(name, name)] = type
    return pa.schema({**columns, options.metadata: pa.json_()})


class PostgresStore(SqlStore):
    """Makes conditions for PostgreSQL."""

    def column(self, name: str) -> Sql | None:
        """A column by its name, if its type is one that PostgreSQL has."""
        if "\0" in name or not name or not is_text(name) or len(name.encode()) > _MAX_NAME:
            return None
        type = value_type(self._schema.field(name).type)
        if not (
            is_json(type)
            or is_string(type)
            or is_number(type)
            or is_instant(type)
            or pat.is_boolean(type)
            or is_uuid(type)
            or (is_list(type) and is_string(value_type(type.value_type)))
        ):
            return None
        return spell("{}", (f"{quoted(self._table)}." if self._table is not None else "") + quoted(name))

    def place(self, bound: BoundLeaf, column: Sql) -> Sql | None:
        """Only the column itself."""
        return None if bound.steps else column

    def json_leaf(self, bound: BoundLeaf, path: tuple[str, ...], column: Sql) -> Bounds[Sql]:
        """In ``jsonb``, or in text."""
        if is_json(value_type(bound.column_type)):
            return jsonb_leaf(self, bound, path, column)
        return self.raw_json_leaf(bound, path, column)

    def stored(self, value: int | float, type: pa.DataType) -> Sql | None:
        """A value in a type that compares with the column exactly, and by an index on it."""
        if pat.is_floating(type):
            return spell("CAST({} AS double precision)", Parameter(value))
        if pat.is_integer(type) and not pat.is_uint64(type):
            return spell("CAST({} AS bigint)", Parameter(value))
        if not is_instant(type):
            scale = type.scale if pat.is_decimal(type) else 0
            return spell("CAST(CAST({} AS text) AS numeric)", Parameter(decimal_text(int(value), scale)))
        text = instant_text(int(value), type)
        if text is None or (pat.is_timestamp(type) and type.unit == "ns" and value % 1000):
            return None
        if pat.is_date(type):
            return spell("CAST(CAST({} AS text) AS date)", Parameter(text))
        if type.unit == "ns":
            text = text[:26]
        if type.tz is None:
            return spell("CAST(CAST({} AS text) AS timestamp)", Parameter(text))
        return spell("CAST(CAST({} AS text) AS timestamptz)", Parameter(text + "+00"))

    def finite(self, value: Sql, type: pa.DataType) -> Sql | None:
        """NaN is greater than all other numbers to PostgreSQL."""
        if pat.is_floating(type):
            return spell("({} > '-Infinity' AND {} < 'Infinity')", value, value)
        return spell("({} <> 'NaN')", value) if pat.is_decimal(type) else None

    def is_storable(self, text: str) -> bool:
        """All Unicode text without NUL is."""
        return "\0" not in text and is_text(text)

    def texts(self, texts: tuple[str, ...], value: Sql) -> Sql:
        """An equality, or a list."""
        if len(texts) == 1:
            return spell("({} = CAST({} AS text))", value, Parameter(texts[0]))
        return spell("({} = ANY(CAST({} AS text[])))", value, Parameter(list(texts)))

    def order(self, operator: str, bound: str, value: Sql) -> Sql:
        """By bytes."""
        return spell(f'({{}} COLLATE "C" {COMPARE[operator]} CAST({{}} AS text))', value, Parameter(bound))

    def searches(self, text: str, value: Sql) -> Sql:
        """By bytes."""
        return spell("(strpos({}, CAST({} AS text)) > 0)", value, Parameter(text))

    def searches_ignoring_case(self, text: str, value: Sql) -> Bounds[Sql]:
        """Exactly on ASCII; of other strings, which Unicode may lower-case to anything, nothing is said."""
        if not self.is_storable(text):
            return Bounds.exactly(False)
        ascii_only = spell("(octet_length({}) = length({}))", value, value)
        others = spell("(octet_length({}) <> length({}))", value, value)
        if not text.isascii():
            return Bounds(others, False)
        found = spell('(strpos(lower({} COLLATE "C"), CAST({} AS text)) > 0)', value, Parameter(text))
        return Bounds(self.disjunction([others, found]), self.conjunction([ascii_only, found]))

    def holds(self, texts: tuple[str, ...], value: Sql) -> Sql:
        """Nulls among the elements are passed over."""
        return spell("({} && CAST({} AS text[]))", value, Parameter(list(texts)))
