"""Divides an expression between a store and what comes after, for each kind of store."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from fastfilter.bytecode.program import Program
from fastfilter.compiler.expr import Expression
from fastfilter.compiler.pushdown import Split, Store
from fastfilter.pushdown.arrow import ArrowStore
from fastfilter.pushdown.duckdb import DuckdbStore
from fastfilter.pushdown.postgres import PostgresStore, conventional_schema
from fastfilter.pushdown.sql import PLACEHOLDERS, Placeholders, write
from fastfilter.runtime.arrow_types import is_json, value_type
from fastfilter.runtime.binder import BindOptions, bind

__all__ = ["for_arrow", "for_sql"]


def for_arrow(
    program: Program, expression: Expression, schema: pa.Schema, options: BindOptions
) -> tuple[pc.Expression | None, Expression | None]:
    """What a dataset's scan is asked, and what is left.

    Raises:
        BindError: the filter does not fit the schema.
    """
    asked = _split(program, expression, ArrowStore(schema, options), schema, options, pushes_json=False)
    if isinstance(asked.condition, bool):
        return (None if asked.condition else pc.scalar(False)), asked.residual
    return asked.condition, asked.residual


def for_sql(
    program: Program,
    expression: Expression,
    dialect: Literal["duckdb", "postgres"],
    schema: pa.Schema | None,
    options: BindOptions,
    placeholders: Placeholders | None,
    table: str | None,
) -> tuple[str, list[Any], Expression | None]:
    """What a database is asked, with the parameters, and what is left.

    Raises:
        BindError: the filter does not fit the schema.
        ValueError: an argument is not one of those allowed.
    """
    if placeholders is not None and placeholders not in PLACEHOLDERS:
        allowed = ", ".join(map(repr, PLACEHOLDERS))
        raise ValueError(f"placeholders must be one of {allowed}, or None, not {placeholders!r}")
    if table is not None and (not isinstance(table, str) or not table or "\0" in table):
        raise ValueError(f"table must be the name or alias of a table, or None, not {table!r}")
    if dialect == "postgres":
        schema = conventional_schema(options) if schema is None else schema
        store: DuckdbStore | PostgresStore = PostgresStore(schema, options, table)
    elif dialect == "duckdb":
        if schema is None:
            raise ValueError("dialect 'duckdb' needs the schema: whether metadata are text, a struct or a map differs")
        store = DuckdbStore(schema, options, table)
    else:
        raise ValueError(f"dialect must be 'duckdb' or 'postgres', not {dialect!r}")
    asked = _split(program, expression, store, schema, options, pushes_json=dialect == "postgres")
    if isinstance(asked.condition, bool):
        return ("TRUE" if asked.condition else "FALSE"), [], asked.residual
    text, parameters = write(asked.condition, placeholders or ("%s" if dialect == "postgres" else "?"))
    return text, parameters, asked.residual


Condition = TypeVar("Condition")


def _split(
    program: Program,
    expression: Expression,
    store: Store[Condition],
    schema: pa.Schema,
    options: BindOptions,
    pushes_json: bool,
) -> Split[Condition]:
    """Divides an expression between a store and what comes after.

    Args:
        program: the filter's, which names also the fields that the expression has lost to the optimizer.
        pushes_json: whether ``arrow.json`` stands for a type in which every value is well-formed.
    """
    binding = bind(program, schema, options)
    if binding.strict_json:
        for source in binding.sources:
            well_formed = source.column is not None and is_json(value_type(schema.field(source.column).type))
            if source.json and not (pushes_json and well_formed):
                # A row that the store keeps back could not be found to be unreadable.
                return Split(True, expression)
    return store.split(expression)
