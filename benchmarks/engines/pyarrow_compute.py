"""pyarrow: compute functions over the batch's columns, as one writes them by hand; a mask at the end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.cases import Case
from benchmarks.data import Table
from benchmarks.engines.engine import Engine, Query, Unsupported
from benchmarks.questions import And, Compare, Exists, HasElement, HasText, Not, OneOf, Or, Question

__all__ = ["Adapter"]

_Mask = Callable[[pa.RecordBatch], Any]

_COMPARE = {
    "eq": pc.equal,
    "ne": pc.not_equal,
    "gt": pc.greater,
    "gte": pc.greater_equal,
    "lt": pc.less,
    "lte": pc.less_equal,
}


class Adapter(Engine):
    """pyarrow.compute, which uses one thread."""

    @property
    def version(self) -> str:
        return str(pa.__version__)

    def prepare(self, case: Case) -> Query:
        if case.records:
            raise Unsupported("takes no dicts")
        batch = case.table.load()
        mask = _mask(case.question, case.table)
        try:
            mask(batch.slice(0, 8))
        except pa.ArrowNotImplementedError as error:
            raise Unsupported(str(error).partition(" with")[0]) from None
        return lambda: mask(batch).true_count


def _mask(question: Question, table: Table) -> _Mask:
    match question:
        case And(children) | Or(children):
            parts = [_mask(child, table) for child in children]
            # A null beside a true value must not hide it; where nothing is null the plain function is faster.
            either = pc.or_kleene if table.nulls else pc.or_
            joined = pc.and_ if isinstance(question, And) else either
            return lambda batch: functools.reduce(joined, [part(batch) for part in parts])
        case Not(child):
            inner = _mask(child, table)
            return lambda batch: pc.invert(inner(batch))
    place = table.place(question.field)
    if place.json:
        raise Unsupported("reads no JSON text")
    name, child_name = place.column, place.child

    def values(batch: pa.RecordBatch) -> Any:
        column = batch.column(name)
        return column if child_name is None else pc.struct_field(column, child_name)

    match question:
        case Compare(_, operator, value):
            compare = _COMPARE[operator]
            kind = place.type.value_type if pa.types.is_dictionary(place.type) else place.type
            scalar = pa.scalar(value, kind)
            return lambda batch: compare(values(batch), scalar)
        case OneOf(_, listed, negated):
            kind = place.type.value_type if pa.types.is_dictionary(place.type) else place.type
            value_set = pa.array(listed, kind)
            if not negated:
                return lambda batch: pc.is_in(values(batch), value_set=value_set)
            if not table.nulls:
                return lambda batch: pc.invert(pc.is_in(values(batch), value_set=value_set))
            return lambda batch: pc.and_not(pc.is_valid(values(batch)), pc.is_in(values(batch), value_set=value_set))
        case HasText(_, text, ignore_case):
            if pa.types.is_dictionary(place.type):
                return lambda batch: pc.match_substring(
                    values(batch).dictionary_decode(), text, ignore_case=ignore_case
                )
            return lambda batch: pc.match_substring(values(batch), text, ignore_case=ignore_case)
        case HasElement(_, value):
            return lambda batch: _any_element(values(batch), pa.scalar(value))
        case Exists():
            return lambda batch: pc.is_valid(values(batch))


def _any_element(lists: pa.ListArray, value: pa.Scalar) -> pa.BooleanArray:
    """There is no function for it: the elements are compared, then the lists of the equal ones are marked."""
    found = np.zeros(len(lists), np.bool_)
    found[pc.list_parent_indices(lists).filter(pc.equal(pc.list_flatten(lists), value)).to_numpy()] = True
    return pa.array(found)
