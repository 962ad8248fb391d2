"""An expression in words, for ``explain``."""

from __future__ import annotations

import json

from fastfilter.bytecode.disassembler import describe_constant
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler.dialects.fishmem_fields import BUILT_IN
from fastfilter.compiler.expr import (
    And,
    EqualsAny,
    Expression,
    IsNull,
    Leaf,
    Literal,
    Not,
    Or,
    TimestampRange,
    constant_of,
)
from fastfilter.values import Elements

__all__ = ["describe", "describe_test"]

_WORDS = {
    Opcode.EXISTS: ("is there", "false on MISSING and NULL, true on every other kind"),
    Opcode.IS_NULL: ("is null", "true on NULL, false on MISSING and every other kind"),
    Opcode.NUMBER_RANGE: (
        "is a number",
        "false on MISSING, NULL and all that is no finite NUMBER, numeric strings too",
    ),
    Opcode.STRING_RANGE: ("is a string", "false on MISSING, NULL and all that is no STRING; UTF-16 order"),
    Opcode.TIMESTAMP_RANGE: (
        "is an instant",
        "false on MISSING, NULL and all that is no TIMESTAMP and no STRING that spells one",
    ),
    Opcode.CONTAINS: ("contains", "false on MISSING and NULL; in a STRING, or equal to an element of an ARRAY"),
    Opcode.CONTAINS_IGNORE_CASE: (
        "contains, ignoring case,",
        "false on MISSING and NULL; in a STRING, or equal to an element of an ARRAY, all lower-cased",
    ),
    Opcode.TEXT_EQUALS_ANY: (
        "as text is one of",
        "false on MISSING and NULL; a NUMBER, BOOL, ARRAY or OBJECT by its text",
    ),
    Opcode.TEXT_NUMBER_RANGE: (
        "as text is a number",
        "false on MISSING, NULL and all whose text is no plain number; numeric strings count",
    ),
    Opcode.JSON_CONTAINS: (
        "contains the JSON",
        "false on MISSING, NULL is a value; every part in some part, a scalar also in an ARRAY",
    ),
}
"""For each test, what stands between field and constant, and what it is on the kinds of values."""

_EQUALITY = {
    Elements.NEVER: ("is one of", "false on MISSING, NULL, ARRAY, OBJECT; kind and value are equal"),
    Elements.ALSO: ("or an element of it is one of", "false on MISSING, NULL, OBJECT; kind and value are equal"),
    Elements.ONLY: ("has an element that is one of", "false on all that is no ARRAY; kind and value are equal"),
}


def describe(expression: Expression) -> str:
    """The expression as indented lines: each test in words, and what it is on missing values and the other kinds.

    Example:
        >>> from fastfilter.bytecode.program import Field, Role
        >>> from fastfilter.compiler.expr import Exists, IsNull
        >>> subject, content = Field(Role.COLUMN, ("subject",)), Field(Role.COLUMN, ("content",))
        >>> print(describe(And((Exists(subject), Not(IsNull(content))))))
        all of
          subject is there  (false on MISSING and NULL, true on every other kind)
          not
            content is null  (true on NULL, false on MISSING and every other kind)
    """
    lines: list[str] = []
    pending: list[tuple[int, Expression]] = [(0, expression)]
    while pending:
        depth, node = pending.pop()
        below: tuple[Expression, ...] = ()
        if isinstance(node, Literal):
            text = "every row" if node.value else "no row"
        elif isinstance(node, Not):
            text, below = "not", (node.child,)
        elif isinstance(node, And):
            text, below = "all of" if node.children else "every row", node.children
        elif isinstance(node, Or):
            text, below = "any of" if node.children else "no row", node.children
        else:
            text = describe_test(node)
        lines.append("  " * depth + text)
        pending.extend((depth + 1, child) for child in reversed(below))
    return "\n".join(lines)


def describe_test(test: Leaf) -> str:
    """A test in words, and in parentheses what it is on the kinds of values."""
    name = test.field.name
    words = [name if name.isprintable() else json.dumps(name)]
    condition, note = _EQUALITY[test.elements] if isinstance(test, EqualsAny) else _WORDS[test.opcode]
    words.append(condition)
    constant = constant_of(test)
    if constant is not None:
        words.append(describe_constant(constant, instants=isinstance(test, TimestampRange)))
        if isinstance(test, EqualsAny) and test.constant.instants:
            note += "; a STRING may spell the instant"
    key = test.field.path[0]
    if test.field == Field(Role.METADATA, (key,)) and key in BUILT_IN and isinstance(test, EqualsAny | IsNull):
        # What an equality map says by a built-in field's name: hardly what was meant, and it may match nothing.
        note += f"; the key of the metadata, not the built-in field {key}"
    return f"{' '.join(words)}  ({note})"
