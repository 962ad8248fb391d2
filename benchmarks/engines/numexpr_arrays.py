"""numexpr: one compiled expression over NumPy arrays; only numbers, and a column's nulls as an array of flags."""

from __future__ import annotations

from typing import Any

import numexpr  # type: ignore[import-untyped]
import numpy as np
import pyarrow as pa

from benchmarks.cases import Case
from benchmarks.data import Table
from benchmarks.engines.engine import Engine, Query, Unsupported
from benchmarks.questions import And, Compare, Not, OneOf, Or, Question

__all__ = ["Adapter"]

_COMPARE = {"eq": "==", "ne": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_TYPES = {
    pa.float32(): np.float32,
    pa.float64(): np.float64,
    pa.int8(): np.int8,
    pa.int16(): np.int16,
    pa.int32(): np.int32,
    pa.int64(): np.int64,
    pa.uint8(): np.uint8,
    pa.uint32(): np.uint32,
}
_MOST_CONDITIONS = 40


class Adapter(Engine):
    """numexpr, from whose mask NumPy counts."""

    @property
    def version(self) -> str:
        return str(numexpr.__version__)

    def prepare(self, case: Case) -> Query:
        if case.records:
            raise Unsupported("takes no dicts")
        text, arrays = _expression(case.question, case.table)
        numexpr.set_num_threads(self.threads)
        kinds = [(name, _wide(array.dtype)) for name, array in arrays.items()]
        compiled = numexpr.NumExpr(text, kinds)
        given = tuple(arrays.values())
        return lambda: int(np.count_nonzero(compiled(*given)))


def _wide(kind: np.dtype[Any]) -> type:
    """The type numexpr computes in: it has no integers of less than 32 bits, and no unsigned ones."""
    if kind == np.bool_:
        return bool
    if kind.kind == "f":
        return float if kind.itemsize == 4 else np.float64  # numexpr's name for 32 bits is float
    return np.int64 if kind.itemsize == 8 or kind == np.uint32 else np.int32


def _expression(question: Question, table: Table) -> tuple[str, dict[str, Any]]:
    batch = table.load()
    arrays: dict[str, Any] = {}

    def written(part: Question) -> str:
        match part:
            case And(children):
                return "(" + " & ".join(map(written, children)) + ")"
            case Or(children):
                return "(" + " | ".join(map(written, children)) + ")"
            case Not(child):
                return f"~{written(child)}"
            case Compare(field, operator, value) if not isinstance(value, str):
                return valid(field, f"({column(field)} {_COMPARE[operator]} {value!r})")
            case OneOf(field, values, negated) if len(values) <= _MOST_CONDITIONS:
                return valid(field, written(_alternatives(field, values, negated)))
            case _:
                raise Unsupported("compares numbers only, and not with long lists")

    def column(field: str) -> str:
        place = table.place(field)
        if place.child is not None or place.type not in _TYPES:
            raise Unsupported(f"does not compute with {'nested values' if place.child else place.type}")
        name = f"c{table.columns.index(place.column)}"
        array = batch.column(place.column)
        kind = np.dtype(_TYPES[place.type])
        arrays[name] = np.frombuffer(array.buffers()[1], kind, len(array), array.offset * kind.itemsize)
        return name

    def valid(field: str, condition: str) -> str:
        array = batch.column(table.place(field).column)
        if array.null_count == 0:
            return condition
        name = f"v{table.columns.index(field)}"
        arrays[name] = array.is_valid().to_numpy(zero_copy_only=False)
        return f"({name} & {condition})"

    return written(question), arrays


def _alternatives(field: str, values: tuple[Any, ...], negated: bool) -> Question:
    parts = tuple(Compare(field, "ne" if negated else "eq", value) for value in values)
    return And(parts) if negated else Or(parts)
