"""Dialect-free expressions: what a filter means, with every difference between dialects written out as data.

Logic is two-valued: an expression is true or false on a row, never unknown. Each leaf is one test opcode, and its
attributes are that opcode's operands (:mod:`fastfilter.bytecode.opcodes` says what each is true on). A front end spells
its operators in these: FishMem's ``ne``, for instance, is ``And((Exists(field), Not(EqualsAny(field, …))))``.

No expression is changed once it is made: that is what lets equal ones be one object. The classes are not frozen, since
Python makes a frozen dataclass three times as slowly, and most of compiling is making these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.bytecode.program import Field
from fastfilter.values import Elements, ScalarSet, StringBound

__all__ = [
    "FALSE", "TRUE", "And", "Contains", "ContainsIgnoreCase", "EqualsAny", "Exists", "Expression", "IsNull",
    "JsonContains", "Leaf", "Literal", "Not", "NumberRange", "Or", "StringRange", "TextEqualsAny", "TextNumberRange",
    "TimestampRange", "constant_of", "leaves",
]  # fmt: skip


@final
@dataclass(slots=True, unsafe_hash=True)
class Literal:
    """True or false on every row."""

    value: bool


TRUE = Literal(True)
FALSE = Literal(False)


@final
@dataclass(slots=True, unsafe_hash=True)
class And:
    """True where all children are; an empty one is true."""

    children: tuple[Expression, ...]


@final
@dataclass(slots=True, unsafe_hash=True)
class Or:
    """True where some child is; an empty one is false."""

    children: tuple[Expression, ...]


@final
@dataclass(slots=True, unsafe_hash=True)
class Not:
    """True where the child is false."""

    child: Expression


@final
@dataclass(slots=True, unsafe_hash=True)
class Exists:
    """The value is neither MISSING nor NULL."""

    field: Field
    opcode: ClassVar = Opcode.EXISTS


@final
@dataclass(slots=True, unsafe_hash=True)
class IsNull:
    """The value is NULL, and not MISSING."""

    field: Field
    opcode: ClassVar = Opcode.IS_NULL


@final
@dataclass(slots=True, unsafe_hash=True)
class EqualsAny:
    """Kind and value equal one of the scalars; ``elements`` says whether an ARRAY's elements count."""

    field: Field
    constant: ScalarSet
    elements: Elements
    opcode: ClassVar = Opcode.EQUALS_ANY


@final
@dataclass(slots=True, unsafe_hash=True)
class NumberRange:
    """A finite NUMBER in one of the intervals."""

    field: Field
    constant: Intervals
    opcode: ClassVar = Opcode.NUMBER_RANGE


@final
@dataclass(slots=True, unsafe_hash=True)
class StringRange:
    """A STRING beyond the bound in UTF-16 code-unit order."""

    field: Field
    constant: StringBound
    opcode: ClassVar = Opcode.STRING_RANGE


@final
@dataclass(slots=True, unsafe_hash=True)
class TimestampRange:
    """An instant, typed or spelled in ISO 8601, in one of the intervals (nanoseconds since the epoch)."""

    field: Field
    constant: Intervals
    opcode: ClassVar = Opcode.TIMESTAMP_RANGE


@final
@dataclass(slots=True, unsafe_hash=True)
class Contains:
    """A STRING with the text in it, or an ARRAY with an element equal to it."""

    field: Field
    constant: Text
    opcode: ClassVar = Opcode.CONTAINS


@final
@dataclass(slots=True, unsafe_hash=True)
class ContainsIgnoreCase:
    """As :class:`Contains`, both sides lower-cased."""

    field: Field
    constant: Text
    opcode: ClassVar = Opcode.CONTAINS_IGNORE_CASE


@final
@dataclass(slots=True, unsafe_hash=True)
class TextEqualsAny:
    """The JSONB text is one of the strings."""

    field: Field
    constant: Strings
    opcode: ClassVar = Opcode.TEXT_EQUALS_ANY


@final
@dataclass(slots=True, unsafe_hash=True)
class TextNumberRange:
    """The JSONB text is a plain number in one of the intervals, as doubles."""

    field: Field
    constant: Intervals
    opcode: ClassVar = Opcode.TEXT_NUMBER_RANGE


@final
@dataclass(slots=True, unsafe_hash=True)
class JsonContains:
    """The value JSONB-contains the constant."""

    field: Field
    constant: Json
    opcode: ClassVar = Opcode.JSON_CONTAINS


Leaf = (
    Exists | IsNull | EqualsAny | NumberRange | StringRange | TimestampRange | Contains | ContainsIgnoreCase
    | TextEqualsAny | TextNumberRange | JsonContains
)  # fmt: skip
Expression = Literal | And | Or | Not | Leaf


def leaves(expression: Expression) -> list[Leaf]:
    """The leaves of an expression, left to right, however deep it is."""
    found: list[Leaf] = []
    pending = [expression]
    while pending:
        node = pending.pop()
        if type(node) is And or type(node) is Or:
            pending += node.children[::-1]
        elif type(node) is Not:
            pending.append(node.child)
        elif type(node) is not Literal:
            found.append(node)
    return found


def constant_of(leaf: Leaf) -> Constant | None:
    """The leaf's constant, or None for the two that have none."""
    return None if type(leaf) is Exists or type(leaf) is IsNull else leaf.constant
