"""Filters for tests: from an expression as well as from JSON, on either back end, with or without the optimizer."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from typing import Any

import oracle
import pyarrow as pa

from fastfilter.bytecode.program import Program
from fastfilter.compiler import expr
from fastfilter.compiler.codegen import generate
from fastfilter.compiler.dialects import parse
from fastfilter.compiler.optimizer import RULES, optimize
from fastfilter.errors import BindError, DataError
from fastfilter.filter import Filter

_FORCED = os.environ.get("FASTFILTER_BACKEND")
_THERE = ("python",) if importlib.util.find_spec("fastfilter._native") is None else ("python", "native")
BACKENDS = (_FORCED,) if _FORCED else _THERE
"""The back ends under test: those that are there, unless one is forced. tests/layout/test_project.py makes sure that
none is missing by accident."""

MORSELS = (2, 63, 64, 65, 4096)


def expression_of(filter: Any, dialect: str, scope: dict[str, str] | None = None) -> expr.Expression:
    """What a filter means, before any optimization."""
    return parse(filter, dialect, scope, None).expression


def filter_of(expression: expr.Expression, optimized: bool = True, **options: Any) -> Filter:
    """The filter that computes an expression."""
    rewritten, _ = optimize(expression, RULES if optimized else ())
    return filter_of_program(generate(rewritten, expression), **options)


def filter_of_program(program: Program, **options: Any) -> Filter:
    """The filter that runs a program; built-in fields without a column are missing."""
    return Filter.from_program(program, **{"missing_fields": "null", **options})


def outcome(filter: Filter, data: Any, backend: str, morsel_rows: int = 4096) -> list[bool] | tuple[Any, ...]:
    """The answer, or which error there is instead of it."""
    try:
        return filter._evaluate(data, backend=backend, morsel_rows=morsel_rows)
    except BindError as error:
        return ("BindError", error.field, error.column, error.type)
    except DataError as error:
        return ("DataError", error.row, error.message)
    except Exception as error:
        return ("never to happen", backend, repr(error))


def wanted(expression: expr.Expression, batch: pa.RecordBatch, rows: Sequence[int]) -> list[bool] | None:
    """What the oracle says of some rows of a batch, or None if the expression does not bind to it."""
    for leaf in expr.leaves(expression):
        ambiguous = leaf.field.role.name == "METADATA" and len(oracle.places(batch.schema, leaf.field)) > 1
        if ambiguous or refused(leaf, batch):
            return None
    answer = oracle.evaluate_batch(expression, batch)
    return [answer[row] for row in rows]


def refused(leaf: expr.Leaf, batch: pa.RecordBatch) -> bool:
    """Whether a leaf compares a TIMESTAMP column, or one of lists of them, with anything else."""
    if not _holds_instants(oracle.type_of(batch.schema, leaf.field)):
        return False
    if isinstance(leaf, expr.NumberRange | expr.TextNumberRange):
        return True
    texts: list[Any]
    if isinstance(leaf, expr.EqualsAny):
        if leaf.constant.false or leaf.constant.true or leaf.constant.numbers:
            return True
        texts = list(leaf.constant.strings)
    elif isinstance(leaf, expr.StringRange | expr.Contains | expr.ContainsIgnoreCase):
        texts = [leaf.constant.value]
    elif isinstance(leaf, expr.TextEqualsAny):
        texts = list(leaf.constant.values)
    elif isinstance(leaf, expr.JsonContains):
        value = oracle.parse_json(leaf.constant.text)
        texts = [] if value is None else [value]
    else:
        texts = []
    return any(not isinstance(text, str) or oracle.instant_of(text) is None for text in texts)


def _holds_instants(type: pa.DataType | None) -> bool:
    if type is None:
        return False
    if pa.types.is_timestamp(type) or pa.types.is_date(type):
        return True
    return _is_list(type) and _holds_instants_directly(oracle.plain_type(type.value_type))


def _holds_instants_directly(type: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type) or pa.types.is_date(type))


def _is_list(type: pa.DataType) -> bool:
    return any(
        test(type)
        for test in (
            pa.types.is_list,
            pa.types.is_large_list,
            pa.types.is_fixed_size_list,
            pa.types.is_list_view,
            pa.types.is_large_list_view,
        )
    )
