"""Questions as SQL predicates; what differs between two systems is a method that each of them overrides."""

from __future__ import annotations

import abc

import pyarrow as pa

from benchmarks.data import Table
from benchmarks.questions import And, Compare, Exists, HasElement, HasText, Not, OneOf, Or, Place, Question, Value

__all__ = ["Dialect", "quoted"]

_COMPARE = {"eq": "=", "ne": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def quoted(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"


class Dialect(abc.ABC):
    """Writes predicates over the columns of a table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    @abc.abstractmethod
    def literal(self, value: Value, kind: pa.DataType) -> str:
        """A literal in the column's own type, so that the column need not be cast."""

    @abc.abstractmethod
    def json_field(self, place: Place, number: bool) -> str:
        """The text, or the number, at a key of a JSON text."""

    @abc.abstractmethod
    def has_element(self, place: Place, value: str) -> str:
        """Whether a list, or a JSON array, holds a string."""

    def has_text(self, field: str, text: str, ignore_case: bool) -> str:
        """Whether a text contains another."""
        if ignore_case:
            return f"contains(lower({field}), {quoted(text.lower())})"
        return f"contains({field}, {quoted(text)})"

    def predicate(self, question: Question) -> str:
        """The question, for a WHERE clause."""
        match question:
            case And(children):
                return "(" + " AND ".join(map(self.predicate, children)) + ")"
            case Or(children):
                return "(" + " OR ".join(map(self.predicate, children)) + ")"
            case Not(child):
                return f"NOT {self.predicate(child)}"
            case Compare(field, operator, value):
                place = self._table.place(field)
                number = not isinstance(value, str)
                return f"{self.field(place, number)} {_COMPARE[operator]} {self._literal(value, place)}"
            case OneOf(field, values, negated):
                place = self._table.place(field)
                listed = ", ".join(self._literal(value, place) for value in values)
                return f"{self.field(place)} {'NOT IN' if negated else 'IN'} ({listed})"
            case HasText(field, text, ignore_case):
                return self.has_text(self.field(self._table.place(field)), text, ignore_case)
            case HasElement(field, value):
                return self.has_element(self._table.place(field), value)
            case Exists(field):
                return f"{self.field(self._table.place(field))} IS NOT NULL"

    def field(self, place: Place, number: bool = False) -> str:
        """A column, or a part of one."""
        if place.json:
            return self.json_field(place, number)
        column = f'"{place.column}"'
        return column if place.child is None else f"{column}[{quoted(place.child)}]"

    def _literal(self, value: Value, place: Place) -> str:
        if isinstance(value, str):
            return quoted(value)
        return self.literal(value, pa.float64() if place.json else place.type)
