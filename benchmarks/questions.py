"""Questions about the rows of a table, in no engine's language: each engine's adapter says them in its own.

A row is asked whether it passes. Questions are chosen so that SQL's three-valued logic and the filters' two-valued
logic give the same rows: nothing that can be null stands under :class:`Not`.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from typing import Any

import pyarrow as pa

__all__ = [
    "And",
    "Compare",
    "Exists",
    "HasElement",
    "HasText",
    "Leaf",
    "Not",
    "OneOf",
    "Or",
    "Place",
    "Question",
    "Value",
    "anansi",
    "fields",
    "fishmem",
    "leaves",
    "locate",
]

Value = str | int | float | bool | decimal.Decimal | datetime.datetime


@dataclasses.dataclass(frozen=True)
class Compare:
    """A field compared with a value; ``operator`` is eq, ne, gt, gte, lt or lte."""

    field: str
    operator: str
    value: Value


@dataclasses.dataclass(frozen=True)
class OneOf:
    """A field is one of some values; ``negated``: it is there and none of them."""

    field: str
    values: tuple[Value, ...]
    negated: bool = False


@dataclasses.dataclass(frozen=True)
class HasText:
    """A text contains another."""

    field: str
    text: str
    ignore_case: bool = False


@dataclasses.dataclass(frozen=True)
class HasElement:
    """A list contains a string."""

    field: str
    value: str


@dataclasses.dataclass(frozen=True)
class Exists:
    """A field is not null."""

    field: str


@dataclasses.dataclass(frozen=True)
class And:
    """Every one of the children."""

    children: tuple[Question, ...]


@dataclasses.dataclass(frozen=True)
class Or:
    """At least one of the children."""

    children: tuple[Question, ...]


@dataclasses.dataclass(frozen=True)
class Not:
    """Not the child, in which nothing may be null."""

    child: Question


Leaf = Compare | OneOf | HasText | HasElement | Exists
Question = Leaf | And | Or | Not


def leaves(question: Question) -> list[Leaf]:
    """The conditions of a question, in order."""
    if isinstance(question, And | Or):
        return [leaf for child in question.children for leaf in leaves(child)]
    return leaves(question.child) if isinstance(question, Not) else [question]


def fields(question: Question) -> list[str]:
    """The fields that a question reads, each once, in order."""
    return list(dict.fromkeys(leaf.field for leaf in leaves(question)))


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a field is in a table.

    Attributes:
        column: the column.
        child: its struct child or JSON key, or None where the field is the column itself.
        json: the column holds JSON text.
        type: Arrow type of the field's values; of a JSON value ``pa.null()``, since it has none.
    """

    column: str
    child: str | None
    json: bool
    type: pa.DataType


def locate(schema: pa.Schema, field: str) -> Place:
    """The place of a field: a column of its name, or a struct child or JSON key of the column before the dot."""
    if field in schema.names:
        return Place(field, None, False, schema.field(field).type)
    column, child = field.split(".", 1)
    kind = schema.field(column).type
    if pa.types.is_struct(kind):
        return Place(column, child, False, kind.field(child).type)
    return Place(column, child, True, pa.null())


def _json_value(value: Value) -> Any:
    if isinstance(value, datetime.datetime):
        return value.isoformat() + "Z"
    return float(value) if isinstance(value, decimal.Decimal) else value


def fishmem(question: Question) -> dict[str, Any]:
    """The question as a FishMem filter."""
    match question:
        case And(children):
            return {"and": [fishmem(child) for child in children]}
        case Or(children):
            return {"or": [fishmem(child) for child in children]}
        case Not(child):
            return {"not": fishmem(child)}
        case Compare(field, operator, value):
            return {"field": field, "operator": operator, "value": _json_value(value)}
        case OneOf(field, values, negated):
            return {"field": field, "operator": "nin" if negated else "in", "value": [_json_value(v) for v in values]}
        case HasText(field, text, ignore_case):
            return {"field": field, "operator": "icontains" if ignore_case else "contains", "value": text}
        case HasElement(field, value):
            return {"field": field, "operator": "contains", "value": value}
        case Exists(field):
            return {"field": field, "operator": "exists", "value": True}


def anansi(question: Question) -> dict[str, Any]:
    """The question as an Anansi filter, whose fields are all in the metadata.

    Raises:
        ValueError: Anansi cannot ask it.
    """
    match question:
        case And(children):
            return {"$and": [anansi(child) for child in children]}
        case Or(children):
            return {"$or": [anansi(child) for child in children]}
        case Compare(field, "eq", value):
            return {"metadata": {field.removeprefix("metadata."): value}}
        case Compare(field, "gt" | "gte" | "lt" | "lte" as operator, value):
            return {"metadata": {field.removeprefix("metadata."): {f"${operator}": value}}}
        case HasElement(field, value):
            return {"metadata": {field.removeprefix("metadata."): {"$contains": [value]}}}
        case _:
            raise ValueError(f"Anansi cannot ask {question}")
