"""Polars: an expression over an eager DataFrame. Its threads are those of ``POLARS_MAX_THREADS`` at import."""

from __future__ import annotations

import functools
import operator as operators
import re
from typing import Any

import polars as pl
import pyarrow as pa

from benchmarks.cases import Case
from benchmarks.data import Table
from benchmarks.engines.engine import Engine, Query, Unsupported
from benchmarks.questions import And, Compare, Exists, HasElement, HasText, Not, OneOf, Or, Place, Question, leaves

__all__ = ["Adapter"]

_COMPARE = {
    "eq": operators.eq,
    "ne": operators.ne,
    "gt": operators.gt,
    "gte": operators.ge,
    "lt": operators.lt,
    "lte": operators.le,
}


class Adapter(Engine):
    """Polars, eager."""

    def __init__(self, name: str, threads: int) -> None:
        super().__init__(name, threads)
        self._loaded: tuple[Table, Any] | None = None

    @property
    def version(self) -> str:
        return pl.__version__

    def prepare(self, case: Case) -> Query:
        if case.records:
            raise Unsupported("takes no dicts")
        if self._loaded is None or self._loaded[0] != case.table:
            self._loaded = (case.table, pl.from_arrow(case.table.load()))
        frame: Any = self._loaded[1]
        counted = _Builder(case).expression(case.question).sum()
        return lambda: int(frame.select(counted).item())

    def release(self) -> None:
        self._loaded = None


class _Builder:
    """Expressions over the fields of a case."""

    def __init__(self, case: Case) -> None:
        self._table = case.table
        self._decoded: Any = None
        if case.on_json and len(leaves(case.question)) > 1:  # parsing once beats a path search for each field
            types: dict[str, Any] = {}
            for leaf in leaves(case.question):
                child = case.table.place(leaf.field).child or ""
                types[child] = pl.List(pl.String) if isinstance(leaf, HasElement) else pl.String
                if isinstance(leaf, Compare) and not isinstance(leaf.value, str):
                    types[child] = pl.Float64
            self._decoded = pl.col("metadata").str.json_decode(pl.Struct(types)).struct

    def expression(self, question: Question) -> Any:
        """The question as an expression that is null or false where a row does not pass."""
        match question:
            case And(children):
                return functools.reduce(operators.and_, [self.expression(child) for child in children])
            case Or(children):
                return functools.reduce(operators.or_, [self.expression(child) for child in children])
            case Not(child):
                return ~self.expression(child)
            case Compare(field, operator, value):
                number = not isinstance(value, str)
                return _COMPARE[operator](self._field(self._table.place(field), number), value)
            case OneOf(field, values, negated):
                found = self._field(self._table.place(field)).is_in(list(values))
                return ~found if negated else found
            case HasText(field, text, ignore_case):
                texts = self._field(self._table.place(field))
                if pa.types.is_dictionary(self._table.place(field).type):
                    texts = texts.cast(pl.String)
                if ignore_case:
                    return texts.str.contains("(?i)" + re.escape(text))  # faster than lower-casing first
                return texts.str.contains(text, literal=True)
            case HasElement(field, value):
                return self._field(self._table.place(field)).list.contains(value)
            case Exists(field):
                return self._field(self._table.place(field)).is_not_null()

    def _field(self, place: Place, number: bool = False) -> Any:
        if place.json:
            if self._decoded is not None:
                return self._decoded.field(place.child)
            found = pl.col(place.column).str.json_path_match(f"$.{place.child}")
            return found.cast(pl.Float64) if number else found
        column = pl.col(place.column)
        return column if place.child is None else column.struct.field(place.child)
