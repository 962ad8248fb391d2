"""Conditions as pyarrow expressions, for ``pyarrow.dataset``.

A dataset may prove a condition from the statistics of a row group, which leave NaN out. So every comparison of floats
comes with ``is_finite``, of which statistics say nothing: otherwise "not below 5" would lose the NaN of a row group
whose other numbers are all below 5.

What a scan cannot prune by and what its kernels are slow at (searches in texts, JSON) is left to the residual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from fastfilter.compiler.expr import Leaf
from fastfilter.compiler.pushdown import Bounds, Store
from fastfilter.pushdown import typed
from fastfilter.pushdown.leaves import bind_leaf
from fastfilter.runtime.binder import BindOptions

__all__ = ["ArrowStore"]

_EXACT = Context(prec=80)

_PLAIN: tuple[Callable[[pa.DataType], bool], ...] = (
    pat.is_boolean, pat.is_integer, pat.is_float32, pat.is_float64, pat.is_decimal128, pat.is_decimal256, pat.is_string,
    pat.is_large_string, pat.is_timestamp, pat.is_date32,
)  # fmt: skip
"""Types whose values pyarrow compares."""


class ArrowStore(Store[pc.Expression]):
    """Makes pyarrow expressions on the columns of a schema."""

    def __init__(self, schema: pa.Schema, options: BindOptions) -> None:
        self._schema = schema
        self._options = options
        self._filters = all(_is_selectable(type) for type in schema.types)

    def conjunction(self, conditions: Sequence[pc.Expression]) -> pc.Expression:
        """All of them."""
        return _balanced(conditions, lambda left, right: left & right)

    def disjunction(self, conditions: Sequence[pc.Expression]) -> pc.Expression:
        """One of them."""
        return _balanced(conditions, lambda left, right: left | right)

    def negation(self, condition: pc.Expression) -> pc.Expression:
        """True where it is false or null."""
        return ~pc.coalesce(condition, pc.scalar(False))

    def leaf(self, leaf: Leaf) -> Bounds[pc.Expression]:
        """The bounds of one test."""
        bound = bind_leaf(leaf, self._schema, self._options)
        if bound.column is None:
            return Bounds.exactly(False)
        if not self._filters or _has_extension(bound.column_type):
            return Bounds(True, False)
        place = bound.struct_children()
        if place is None or bound.type is None:
            return Bounds(pc.field(bound.column).is_valid() if bound.null_is_missing else True, False)
        children, encoded = place
        value = pc.field(bound.column, *children) if children else pc.field(bound.column)
        bounds = typed.ask(bound.opcode, bound.constant, bound.elements, bound.type)
        if pat.is_dictionary(encoded) and any(is_plain(encoded.value_type) for is_plain in _PLAIN):
            value, encoded = value.cast(encoded.value_type), encoded.value_type
        if bounds.exact:
            return self._exactly(bounds.upper, value, encoded)
        return Bounds(
            self._exactly(bounds.upper, value, encoded).upper, self._exactly(bounds.lower, value, encoded).lower
        )

    def _exactly(
        self, question: typed.Question | bool, value: pc.Expression, type: pa.DataType
    ) -> Bounds[pc.Expression]:
        """The bounds of a question whose answer would be exact."""
        if isinstance(question, bool):
            return Bounds.exactly(question)
        if pat.is_dictionary(type):  # valid, yet perhaps of an entry that is null
            return Bounds(True if isinstance(question, typed.Null) else value.is_valid(), False)
        if isinstance(question, typed.Valid):
            return Bounds.exactly(value.is_valid())
        if isinstance(question, typed.Null):
            return Bounds.exactly(value.is_null())
        answer = _answer(question, value, type) if any(is_plain(type) for is_plain in _PLAIN) else None
        return Bounds(value.is_valid(), False) if answer is None else Bounds.exactly(answer)


def _answer(question: typed.Question, value: pc.Expression, type: pa.DataType) -> pc.Expression | bool | None:
    """The question put to a value of a plain type; None if this is not a thing to ask."""
    if isinstance(question, typed.Bools):
        if question.true and question.false:
            return value.is_valid()
        return value == pc.scalar(question.true) if question.true or question.false else False
    if isinstance(question, typed.Texts):
        if not all(map(_is_utf8, question.values)):
            return None
        if len(question.values) > 1:
            return value.isin(pa.array(question.values, type))
        return value == pa.scalar(question.values[0], type) if question.values else False
    if isinstance(question, typed.Order):
        return _COMPARE[question.operator](value, pa.scalar(question.bound, type))
    if isinstance(question, typed.Ranges):
        ranges = [_between(value, low, high, question, type) for low, high in question.pairs]
        joined = _balanced(ranges, lambda left, right: left | right)
        return joined & pc.is_finite(value) if pat.is_floating(type) else joined
    return None


_COMPARE: dict[str, Callable[[Any, Any], pc.Expression]] = {
    "gt": lambda left, right: left > right,
    "gte": lambda left, right: left >= right,
    "lt": lambda left, right: left < right,
    "lte": lambda left, right: left <= right,
}


def _between(
    value: pc.Expression, low: int | float, high: int | float, ranges: typed.Ranges, type: pa.DataType
) -> pc.Expression:
    if low == high:
        return value == _scalar(low, type)
    parts = []
    if low > ranges.least:
        parts.append(value >= _scalar(low, type))
    if high < ranges.greatest:
        parts.append(value <= _scalar(high, type))
    return _balanced(parts, lambda left, right: left & right) if parts else value.is_valid()


def _scalar(value: int | float, type: pa.DataType) -> pa.Scalar:
    """A stored value as a scalar of the column's very type, so that nothing is cast."""
    if pat.is_decimal(type):
        return pa.scalar(Decimal(value).scaleb(-type.scale, _EXACT), type)
    if pat.is_timestamp(type):
        return pa.scalar(value, pa.int64()).cast(type)
    if pat.is_date32(type):
        return pa.scalar(value, pa.int32()).cast(type)
    return pa.scalar(value, type)


def _balanced(
    conditions: Sequence[pc.Expression], join: Callable[[pc.Expression, pc.Expression], pc.Expression]
) -> pc.Expression:
    """The conditions joined as a tree of the least height."""
    joined = list(conditions)
    while len(joined) > 1:
        pairs = [join(left, right) for left, right in zip(joined[0::2], joined[1::2], strict=False)]
        joined = [*pairs, *joined[len(pairs) * 2 :]]
    return joined[0]


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _is_selectable(type: pa.DataType) -> bool:
    """Whether pyarrow can select rows of a type: of views and run-ends it cannot, and a filtered scan would stop."""
    if pat.is_dictionary(type):
        return True
    if isinstance(type, pa.BaseExtensionType):
        return _is_selectable(type.storage_type)
    if pat.is_string_view(type) or pat.is_binary_view(type) or pat.is_run_end_encoded(type):
        return False
    return all(_is_selectable(type.field(child).type) for child in range(type.num_fields))


def _has_extension(type: pa.DataType) -> bool:
    """Whether there is an extension type in a type: pyarrow cannot compare its statistics, and a scan would stop."""
    if isinstance(type, pa.BaseExtensionType):
        return True
    if pat.is_dictionary(type):
        return _has_extension(type.value_type)
    return any(_has_extension(type.field(child).type) for child in range(type.num_fields))
