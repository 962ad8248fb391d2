"""The instruction set: one table, from which everything else about opcodes derives.

The C enum, the instruction reference, the assembler, disassembler, verifier, both VMs' tables and the random-program
strategy of the tests read :data:`OPCODES`. To add an opcode, add a row, a Python body, a native body and a test
(docs/architecture.md). Numbers are explicit and append-only: a serialised program names them.

An instruction is one word of eight bytes, little-endian: ``opcode: u8, destination: u8, source: u8, mode: u8,
field: u16, argument: u16``. A slot that an opcode does not use is zero.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

__all__ = ["OPCODES", "Argument", "ConstantType", "Opcode", "OpcodeSpec"]


class ConstantType(enum.IntEnum):
    """What a constant of the pool is; the number is its tag in a serialised program."""

    SCALARS = 1
    """:class:`~fastfilter.values.ScalarSet`"""
    INTERVALS = 2
    """:class:`~fastfilter.bytecode.constants.Intervals`: of numbers, or of instants in nanoseconds"""
    STRING_BOUND = 3
    """:class:`~fastfilter.values.StringBound`"""
    TEXT = 4
    """:class:`~fastfilter.bytecode.constants.Text`: a text to search for"""
    STRINGS = 5
    """:class:`~fastfilter.bytecode.constants.Strings`: a set of strings"""
    JSON = 6
    """:class:`~fastfilter.bytecode.constants.Json`: any JSON value, as text"""


class Argument(enum.Enum):
    """What the ``argument`` slot of an instruction holds."""

    NONE = "none"
    CONSTANT = "constant"
    TARGET = "target"
    """the index of a later instruction"""


@dataclass(frozen=True, slots=True)
class OpcodeSpec:
    """One row of the table.

    Attributes:
        number: the byte that stands for the opcode.
        name: its name.
        synopsis: one line, with the operand names.
        description: one paragraph: exactly what it does.
        writes: whether it has a destination register.
        reads_destination: whether the destination's old value counts.
        reads_source: whether it has a source register.
        field: whether it reads a field; such an opcode is a *test*, and sets ``destination`` to those rows of
            ``source`` on which the test is true.
        argument: what the argument slot holds.
        constant: the type of its constant, if the argument is one.
        elements: whether ``mode`` holds an :class:`~fastfilter.values.Elements`; else mode is zero.
        cost: rough cost per row of a test, relative to a null check; the optimizer orders conditions by it.
    """

    number: int
    name: str
    synopsis: str
    description: str
    writes: bool = True
    reads_destination: bool = False
    reads_source: bool = True
    field: bool = False
    argument: Argument = Argument.NONE
    constant: ConstantType | None = None
    elements: bool = False
    cost: int = 0

    @property
    def operands(self) -> tuple[str, ...]:
        """The slots of an instruction that the opcode uses, in the order in which a listing spells them."""
        used = {
            "destination": self.writes,
            "source": self.reads_source,
            "field": self.field,
            "argument": self.argument is not Argument.NONE,
            "mode": self.elements,
        }
        return tuple(slot for slot, is_used in used.items() if is_used)


class Opcode(enum.IntEnum):
    """The opcodes by name."""

    RETURN = 0
    MOVE = 1
    CLEAR = 2
    OR = 3
    AND_NOT = 4
    JUMP_IF_NONE = 5
    EXISTS = 16
    IS_NULL = 17
    EQUALS_ANY = 18
    NUMBER_RANGE = 19
    STRING_RANGE = 20
    TIMESTAMP_RANGE = 21
    CONTAINS = 22
    CONTAINS_IGNORE_CASE = 23
    TEXT_EQUALS_ANY = 24
    TEXT_NUMBER_RANGE = 25
    JSON_CONTAINS = 26


def _control(opcode: Opcode, synopsis: str, description: str, **operands: object) -> OpcodeSpec:
    return OpcodeSpec(int(opcode), opcode.name, synopsis, description, **operands)  # type: ignore[arg-type]


def _test(
    opcode: Opcode,
    condition: str,
    cost: int,
    constant: ConstantType | None = None,
    elements: bool = False,
) -> OpcodeSpec:
    operands = ["field"]
    if constant is not None:
        operands.append(constant.name.lower())
    if elements:
        operands.append("elements")
    return OpcodeSpec(
        int(opcode),
        opcode.name,
        f"destination = source where {opcode.name.lower()}({', '.join(operands)})",
        condition,
        field=True,
        argument=Argument.NONE if constant is None else Argument.CONSTANT,
        constant=constant,
        elements=elements,
        cost=cost,
    )


_TABLE: Final = (
    _control(
        Opcode.RETURN,
        "return source",
        "Ends the program; the rows of `source` are the answer. The last instruction of every program, and only it.",
        writes=False,
    ),
    _control(Opcode.MOVE, "destination = source", "Copies a register."),
    _control(Opcode.CLEAR, "destination = none", "Sets a register to no rows.", reads_source=False),
    _control(
        Opcode.OR,
        "destination |= source",
        "Adds the rows of `source` to `destination`.",
        reads_destination=True,
    ),
    _control(
        Opcode.AND_NOT,
        "destination &= ~source",
        "Takes the rows of `source` out of `destination`.",
        reads_destination=True,
    ),
    _control(
        Opcode.JUMP_IF_NONE,
        "if source is none: jump to target",
        "Goes on at `target`, a later instruction, if `source` holds no row of this morsel.",
        writes=False,
        argument=Argument.TARGET,
    ),
    _test(Opcode.EXISTS, "True where the value is neither MISSING nor NULL.", 1),
    _test(Opcode.IS_NULL, "True where the value is NULL; false where it is MISSING.", 1),
    _test(
        Opcode.EQUALS_ANY,
        "True where kind and value equal one of the scalars. An ARRAY equals none of them itself; with elements `ALSO` "
        "or `ONLY` it is true if some element does (a NULL element if the set holds null), and with `ONLY` nothing but "
        "an ARRAY is. A STRING equals an instant of the set if it reads as a full ISO 8601 timestamp of that instant. "
        "False on MISSING and NULL.",
        4,
        ConstantType.SCALARS,
        elements=True,
    ),
    _test(
        Opcode.NUMBER_RANGE,
        "True where the value is a finite NUMBER in one of the intervals, by exact mathematical value.",
        2,
        ConstantType.INTERVALS,
    ),
    _test(
        Opcode.STRING_RANGE,
        "True where the value is a STRING on the right side of the bound, in UTF-16 code-unit order.",
        6,
        ConstantType.STRING_BOUND,
    ),
    _test(
        Opcode.TIMESTAMP_RANGE,
        "True where the value is a TIMESTAMP, or a STRING that reads as a full ISO 8601 timestamp, in one of the "
        "intervals of instants.",
        2,
        ConstantType.INTERVALS,
    ),
    _test(
        Opcode.CONTAINS,
        "True where the value is a STRING with the text in it, or an ARRAY with a STRING element equal to the text.",
        40,
        ConstantType.TEXT,
    ),
    _test(
        Opcode.CONTAINS_IGNORE_CASE,
        "True where the value is a STRING that, lower-cased, has the lower-cased text in it, or an ARRAY with a STRING "
        "element that, lower-cased, equals the lower-cased text. Lower-casing is the full Unicode mapping with context "
        "rules, that of Python's `str.lower`.",
        60,
        ConstantType.TEXT,
    ),
    _test(
        Opcode.TEXT_EQUALS_ANY,
        "True where the value's JSONB text (PostgreSQL's `->>`) is one of the strings. MISSING and NULL have no text.",
        6,
        ConstantType.STRINGS,
    ),
    _test(
        Opcode.TEXT_NUMBER_RANGE,
        "True where the value's JSONB text matches `^-?[0-9]+(\\.[0-9]+)?$` and, as a double, lies in one of the "
        "intervals; bounds count as doubles too. A text that overflows a double lies in none.",
        8,
        ConstantType.INTERVALS,
    ),
    _test(
        Opcode.JSON_CONTAINS,
        "True where the value is not MISSING and JSONB-contains (PostgreSQL's `@>`) the constant.",
        50,
        ConstantType.JSON,
    ),
)

OPCODES: Final = MappingProxyType({Opcode(spec.number): spec for spec in _TABLE})
"""Every opcode's row, in the order of their numbers."""
