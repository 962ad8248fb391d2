"""SQL text and its parameters: what the dialects of SQL have in common.

No value of a filter is ever part of the text: texts, numbers, keys of JSON and patterns are parameters. Names of
columns are quoted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.types as pat

from fastfilter.compiler.expr import Leaf
from fastfilter.compiler.pushdown import Bounds, Store
from fastfilter.pushdown import typed
from fastfilter.pushdown.leaves import BoundLeaf, bind_leaf
from fastfilter.runtime.binder import BindOptions
from fastfilter.runtime.vm.lowering import needle
from fastfilter.runtime.vm.python.jsonb import iso_text
from fastfilter.values import Instant

__all__ = [
    "COMPARE", "PLACEHOLDERS", "Parameter", "Placeholders", "Sql", "SqlStore", "decimal_text", "instant_text",
    "is_text", "quoted", "spell", "write",
]  # fmt: skip

Placeholders = Literal["?", "$1", "%s"]
PLACEHOLDERS: Final[tuple[Placeholders, ...]] = ("?", "$1", "%s")


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """A value that stands beside the text; one object used twice is one parameter where a placeholder has a number."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Sql:
    """A condition or a value: pieces of text and parameters, which bind more tightly than any operator around them."""

    pieces: tuple[str | Parameter, ...]


def spell(template: str, *parts: Sql | Parameter | str) -> Sql:
    """A template with its ``{}`` filled in."""
    pieces: list[str | Parameter] = []
    texts = template.split("{}")
    assert len(texts) == len(parts) + 1, template
    for text, part in zip(texts, (*parts, ""), strict=True):
        pieces.append(text)
        pieces += part.pieces if isinstance(part, Sql) else (part,)
    return Sql(tuple(piece for piece in pieces if piece != ""))


def write(sql: Sql, placeholders: Placeholders) -> tuple[str, list[Any]]:
    """The text of a condition with placeholders, and the parameters in their order."""
    text: list[str] = []
    parameters: list[Any] = []
    numbers: dict[int, int] = {}
    for piece in sql.pieces:
        if isinstance(piece, str):
            text.append(piece.replace("%", "%%") if placeholders == "%s" else piece)
        elif placeholders == "$1":
            if id(piece) not in numbers:
                parameters.append(piece.value)
                numbers[id(piece)] = len(parameters)
            text.append(f"${numbers[id(piece)]}")
        else:
            parameters.append(piece.value)
            text.append(placeholders)
    return "".join(text), parameters


class SqlStore(Store[Sql]):
    """Makes conditions in a dialect of SQL."""

    def __init__(self, schema: pa.Schema, options: BindOptions, table: str | None) -> None:
        self._schema = schema
        self._options = options
        self._table = table

    def conjunction(self, conditions: Sequence[Sql]) -> Sql:
        """All of them."""
        return _joined(" AND ", conditions)

    def disjunction(self, conditions: Sequence[Sql]) -> Sql:
        """One of them."""
        return _joined(" OR ", conditions)

    def negation(self, condition: Sql) -> Sql:
        """True where it is false or null."""
        return spell("({} IS NOT TRUE)", condition)

    def leaf(self, leaf: Leaf) -> Bounds[Sql]:
        """The bounds of one test."""
        bound = bind_leaf(leaf, self._schema, self._options)
        if bound.column is None:
            return Bounds.exactly(False)
        column = self.column(bound.column)
        if column is None:
            return Bounds(True, False)
        if bound.json_path is not None:
            return self.json_leaf(bound, bound.json_path, column)
        value = self.place(bound, column)
        if value is None or bound.type is None:
            return Bounds(spell("({} IS NOT NULL)", column) if bound.null_is_missing else True, False)
        bounds = typed.ask(bound.opcode, bound.constant, bound.elements, bound.type)
        upper = self._question(bounds.upper, value, bound.type)
        return upper if bounds.exact else Bounds(upper.upper, self._question(bounds.lower, value, bound.type).lower)

    def _question(self, question: typed.Question | bool, value: Sql, type: pa.DataType) -> Bounds[Sql]:
        if isinstance(question, bool):
            return Bounds.exactly(question)
        if isinstance(question, typed.Valid):
            return Bounds.exactly(spell("({} IS NOT NULL)", value))
        if isinstance(question, typed.Null):
            return Bounds.exactly(spell("({} IS NULL)", value))
        if isinstance(question, typed.Bools) and question.false and question.true:
            return Bounds.exactly(spell("({} IS NOT NULL)", value))
        if isinstance(question, typed.Bools):
            wanted = {(True, False): "FALSE", (False, True): "TRUE"}.get((question.false, question.true))
            return Bounds.exactly(False if wanted is None else spell(f"({{}} = {wanted})", value))
        if isinstance(question, typed.Ranges):
            return self._ranges(question, value, type)
        if isinstance(question, typed.SearchesIgnoringCase):
            return self.searches_ignoring_case(question.text, value)
        # A column of the store holds nothing but Unicode text.
        if isinstance(question, typed.Texts):
            texts = tuple(filter(self.is_storable, question.values))
            return Bounds.exactly(self.texts(texts, value) if texts else False)
        if isinstance(question, typed.Holds):
            texts = tuple(filter(self.is_storable, question.values))
            return Bounds.exactly(self.holds(texts, value) if texts else False)
        if isinstance(question, typed.Searches):
            return Bounds.exactly(self.searches(question.text, value) if self.is_storable(question.text) else False)
        if not self.is_storable(question.bound):
            return Bounds(spell("({} IS NOT NULL)", value), False)
        return Bounds.exactly(self.order(question.operator, question.bound, value))

    def raw_json_leaf(self, bound: BoundLeaf, path: tuple[str, ...], column: Sql) -> Bounds[Sql]:
        """The upper bound of a test of JSON that the column holds as text.

        Where no backslash stands in the text, some bytes must, in whatever form the text is well-formed; and where it
        is not, its value is MISSING, on which no test is true.
        """
        if not path:
            return Bounds(True, False)
        text = spell("CAST({} AS VARCHAR)", column)
        escaped = self.searches("\\", text)
        wanted = needle(bound.opcode, bound.constant, path).decode("utf-8", "surrogatepass")
        return Bounds(
            self.disjunction([escaped, self.searches(wanted, text)]) if self.is_storable(wanted) else escaped, False
        )

    def _ranges(self, ranges: typed.Ranges, value: Sql, type: pa.DataType) -> Bounds[Sql]:
        """Values in one of the ranges; a bound that has no spelling in this dialect is left out of what is pushed."""
        exact = True
        conditions = []
        for low, high in ranges.pairs:
            parts = []
            for bound, end, compared in ((low, ranges.least, ">="), (high, ranges.greatest, "<=")):
                if bound == end:
                    continue
                literal = self.stored(bound, type)
                if literal is None:
                    exact = False
                else:
                    parts.append(spell(f"{{}} {'=' if low == high else compared} {{}}", value, literal))
                    if low == high:
                        break
            conditions.append(_joined(" AND ", parts) if parts else spell("({} IS NOT NULL)", value))
        joined = self.disjunction(conditions) if len(conditions) > 1 else conditions[0]
        finite = self.finite(value, type)
        if finite is not None:
            joined = self.conjunction([joined, finite])
        return Bounds.exactly(joined) if exact else Bounds(joined, False)

    @abstractmethod
    def column(self, name: str) -> Sql | None:
        """A column by its name; None if it cannot be named without doubt."""

    @abstractmethod
    def place(self, bound: BoundLeaf, column: Sql) -> Sql | None:
        """A typed value in a column; None if there is no way to it."""

    @abstractmethod
    def json_leaf(self, bound: BoundLeaf, path: tuple[str, ...], column: Sql) -> Bounds[Sql]:
        """The bounds of a test of a JSON value at a path in a column."""

    @abstractmethod
    def stored(self, value: int | float, type: pa.DataType) -> Sql | None:
        """A value as a column of the type stores it; None if it has no spelling."""

    @abstractmethod
    def finite(self, value: Sql, type: pa.DataType) -> Sql | None:
        """That a value is no NaN and not infinite, where its type has those."""

    @abstractmethod
    def is_storable(self, text: str) -> bool:
        """Whether a column can hold a text."""

    @abstractmethod
    def texts(self, texts: tuple[str, ...], value: Sql) -> Sql:
        """A string that is one of these, at least one."""

    @abstractmethod
    def order(self, operator: str, bound: str, value: Sql) -> Sql:
        """A string so ordered with the bound, by bytes."""

    @abstractmethod
    def searches(self, text: str, value: Sql) -> Sql:
        """A string with the text in it."""

    @abstractmethod
    def searches_ignoring_case(self, text: str, value: Sql) -> Bounds[Sql]:
        """A string with the lower-cased text in it when lower-cased."""

    @abstractmethod
    def holds(self, texts: tuple[str, ...], value: Sql) -> Sql:
        """A list of strings with one of these, at least one, as an element."""


def _joined(word: str, conditions: Sequence[Sql]) -> Sql:
    template = "(" + word.join(["{}"] * len(conditions)) + ")"
    return spell(template, *conditions)


COMPARE: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def is_text(text: str) -> bool:
    """Whether a string is Unicode text: without lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


_NANOSECONDS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY: Final = 86_400 * 10**9


def instant_text(value: int, type: pa.DataType) -> str | None:
    """A stored instant as SQL spells it, without a zone, a date without a time; None outside the years 1 to 9999."""
    if pat.is_timestamp(type):
        nanoseconds = value * _NANOSECONDS[type.unit]
    else:
        nanoseconds = value * _DAY if pat.is_date32(type) else value * 10**6
    spelled = iso_text(Instant(nanoseconds))
    if not spelled[0].isdigit() or spelled.startswith("0000"):
        return None
    if pat.is_date(type):
        return spelled[:10] if nanoseconds % _DAY == 0 else None
    return spelled.replace("T", " ").removesuffix("Z")


def decimal_text(units: int, scale: int) -> str:
    """A decimal by its count of the last digit.

    Example:
        >>> decimal_text(-5, 2), decimal_text(7, -1)
        ('-0.05', '70')
    """
    if scale <= 0:
        return str(units * 10**-scale)
    whole, fraction = divmod(abs(units), 10**scale)
    return f"{'-' if units < 0 else ''}{whole}.{fraction:0{scale}d}"
