"""A loop over dicts as one writes it by hand for a filter that is known: the expression is Python source."""

from __future__ import annotations

import datetime
import decimal
import json
import platform
from typing import Any

from benchmarks.cases import Case
from benchmarks.data import records
from benchmarks.engines.engine import Engine, Query, Unsupported
from benchmarks.questions import And, Compare, Exists, HasElement, HasText, Not, OneOf, Or, Question

__all__ = ["Adapter"]

_MOST_ROWS = 2_000
_COMPARE = {"eq": "==", "ne": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


class Adapter(Engine):
    """CPython itself."""

    @property
    def version(self) -> str:
        return platform.python_version()

    def prepare(self, case: Case) -> Query:
        if case.table.rows > _MOST_ROWS:
            raise Unsupported("only for what fits a request")
        rows = records(case.table.load(), parsed=case.records)
        source = _written(case)
        keep = eval(
            f"lambda rows: [row for row in rows if {source}]",
            {"loads": json.loads, "datetime": datetime, "Decimal": decimal.Decimal},
        )
        return lambda: len(keep(rows))


def _written(case: Case) -> str:
    """The condition on ``row``; a JSON text is parsed once for a row, and a null or missing value fails a condition."""
    parsed = case.on_json
    guards = case.table.nulls or parsed or (case.records and "metadata:json" in case.table.columns)

    def written(question: Question) -> str:
        match question:
            case And(children):
                return "(" + " and ".join(map(written, children)) + ")"
            case Or(children):
                return "(" + " or ".join(map(written, children)) + ")"
            case Not(child):
                return f"not {written(child)}"
            case Compare(field, operator, value):
                return guarded(field, lambda x: f"{x} {_COMPARE[operator]} {value!r}")
            case OneOf(field, values, negated):
                listed = "{" + ", ".join(map(repr, values)) + "}"
                return guarded(field, lambda x: f"{x} {'not in' if negated else 'in'} {listed}")
            case HasText(field, text, True):
                return guarded(field, lambda x: f"{text.lower()!r} in {x}.lower()")
            case HasText(field, text, False):
                return guarded(field, lambda x: f"{text!r} in {x}")
            case HasElement(field, value):
                return guarded(field, lambda x: f"{value!r} in {x}")
            case Exists(field):
                return f"{place(field)} is not None"
        raise AssertionError(question)

    def place(field: str) -> str:
        if not field.startswith("metadata."):
            return f"row[{field!r}]"
        key = field.removeprefix("metadata.")
        holder = "m" if parsed else "(row['metadata'] or {})" if guards else "row['metadata']"
        return f"{holder}.get({key!r})" if guards else f"{holder}[{key!r}]"

    def guarded(field: str, condition: Any) -> str:
        if not guards:
            return str(condition(place(field)))
        return f"((x := {place(field)}) is not None and {condition('x')})"

    text = written(case.question)
    return f"((m := loads(row['metadata'])) is not None and {text})" if parsed else text
