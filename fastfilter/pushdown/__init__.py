"""What a filter asks of the store that holds the rows, and what is left to do with the rows that the store gives.

The store is asked for all rows that can match, and perhaps more; the residual, a filter too, then decides. Where
nothing is left the store decides alone. :meth:`fastfilter.Filter.pushdown` is for ``pyarrow.dataset``,
:meth:`fastfilter.Filter.sql` for databases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

import pyarrow as pa

from fastfilter.bytecode.program import Program
from fastfilter.compiler.codegen import generate
from fastfilter.compiler.decompile import decompile
from fastfilter.compiler.expr import Expression
from fastfilter.runtime.binder import BindOptions

if TYPE_CHECKING:
    import pyarrow.compute as pc

__all__ = ["ArrowPushdown", "PushdownMethods", "SqlPushdown"]

Residual = TypeVar("Residual")


@dataclass(frozen=True, slots=True)
class ArrowPushdown(Generic[Residual]):
    """A filter divided between a dataset's scan and what comes after.

    Attributes:
        expression: what the scan is to be given as its filter, true on every row that matches; None if it can be asked
            nothing.
        residual: the filter for the rows that the scan gives; None if all of them match.
    """

    expression: pc.Expression | None
    residual: Residual | None

    @property
    def exact(self) -> bool:
        """Whether the scan gives the matching rows and no others."""
        return self.residual is None


@dataclass(frozen=True, slots=True)
class SqlPushdown(Generic[Residual]):
    """A filter divided between a database and what comes after.

    Attributes:
        text: a condition for WHERE, true on every row that matches.
        parameters: the values of its placeholders, in their order.
        residual: the filter for the rows that the query gives; None if all of them match.
    """

    text: str
    parameters: list[Any]
    residual: Residual | None

    @property
    def exact(self) -> bool:
        """Whether the query gives the matching rows and no others."""
        return self.residual is None


class PushdownMethods:
    """What a filter can ask a store; the renderers are imported when they are first needed."""

    __slots__ = ()

    if TYPE_CHECKING:
        _program: Program
        _options: BindOptions
        _expression: Expression | None
        _dialect: str | None

        def __init__(
            self, program: Program, options: BindOptions, *, dialect: str | None, expression: Expression | None
        ) -> None: ...

    def pushdown(self, schema: pa.Schema) -> ArrowPushdown[Self]:
        """What a scan of ``pyarrow.dataset`` can be asked, and the filter for the rows that it gives.

        Args:
            schema: the dataset's.

        Returns:
            ``expression``, which is true on every row that matches, and may be on others (None if nothing can be
            asked); ``residual``, which decides among those rows (None if there are no others); ``exact``, whether there
            are none. See docs/pushdown.md.

        Raises:
            BindError: the filter does not fit the schema.
            ValueError: the filter was made from a program that :func:`compile` does not make.

        Example:
            >>> import fastfilter, pyarrow as pa
            >>> flt = fastfilter.compile({"field": "importance", "operator": "gte", "value": 0.5})
            >>> flt.pushdown(pa.schema({"importance": pa.float32()})).expression
            <pyarrow.compute.Expression ((importance >= 0.5) and is_finite(importance))>
        """
        from fastfilter.pushdown.plan import for_arrow

        _check(schema)
        expression, residual = for_arrow(self._program, self._known_expression(), schema, self._options)
        return ArrowPushdown(expression, self._residual(residual))

    def sql(
        self,
        dialect: Literal["duckdb", "postgres"],
        schema: pa.Schema | None = None,
        placeholders: Literal["?", "$1", "%s"] | None = None,
        table: str | None = None,
    ) -> SqlPushdown[Self]:
        """The condition of a query for the rows that match, and the filter for the rows that it gives.

        Args:
            dialect: the database's.
            schema: types of the table's columns, as they are in Arrow; ``arrow.json`` stands for ``jsonb``. For
                ``"postgres"`` it may be None: built-in fields then have the types that are natural for them, and the
                metadata are ``jsonb``.
            placeholders: how the driver wants them; None is ``"%s"`` for PostgreSQL and ``"?"`` for DuckDB.
            table: the table's name or alias, if its columns need it.

        Returns:
            ``text``, a condition that is true on every row that matches, and may be on others; ``parameters``, the
            values of its placeholders; ``residual``, which decides among those rows (None if there are no others);
            ``exact``, whether there are none. See docs/pushdown.md.

        Raises:
            BindError: the filter does not fit the schema.
            ValueError: an argument is not one of those allowed, or the filter was made from a program that
                :func:`compile` does not make.

        Example:
            >>> import fastfilter
            >>> asked = fastfilter.compile({"metadata": {"tier": "gold"}}).sql("postgres")
            >>> asked.text, asked.parameters, asked.exact
            ('(("metadata" ->> CAST(%s AS text)) = CAST(%s AS text))', ['tier', 'gold'], True)
        """
        from fastfilter.pushdown.plan import for_sql

        if schema is not None:
            _check(schema)
        text, parameters, residual = for_sql(
            self._program, self._known_expression(), dialect, schema, self._options, placeholders, table
        )
        return SqlPushdown(text, parameters, self._residual(residual))

    def _known_expression(self) -> Expression:
        expression = decompile(self._program) if self._expression is None else self._expression
        if expression is None:
            raise ValueError("this filter was made from a program that fastfilter.compile() does not make")
        return expression

    def _residual(self, expression: Expression | None) -> Self | None:
        if expression is None:
            return None
        if expression is self._expression:
            return self
        return type(self)(generate(expression, expression), self._options, dialect=self._dialect, expression=expression)


def _check(schema: object) -> None:
    if not isinstance(schema, pa.Schema):
        raise TypeError(f"schema must be a pyarrow.Schema, not {type(schema).__name__}")
