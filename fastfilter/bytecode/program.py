"""The Program: a filter compiled, the only thing that passes from the compiler to a virtual machine.

It knows nothing of any schema. It is immutable, hashable, verified, and can be serialised; binding it to a schema
(:mod:`fastfilter.runtime.binder`) picks columns and kernels.
"""

from __future__ import annotations

import enum
import functools
import struct
from dataclasses import dataclass
from typing import NamedTuple

from fastfilter.bytecode.constants import Constant
from fastfilter.bytecode.opcodes import Opcode

__all__ = ["WORD", "Field", "FieldUse", "Instruction", "Program", "Role"]

WORD = struct.Struct("<BBBBHH")
"""The layout of one instruction: opcode, destination, source, mode, field, argument."""


class Role(enum.IntEnum):
    """Where a field lives; the number is its tag in a serialised program."""

    COLUMN = 0
    """a top-level column: a built-in field or a scope"""
    METADATA = 1
    """a path into the metadata"""


class Field(NamedTuple):
    """A logical field: a top-level column by name (``path`` has one segment), or a path of literal metadata keys."""

    role: Role
    path: tuple[str, ...]

    @property
    def name(self) -> str:
        """The field as a filter spells it, such as ``importance`` or ``metadata.source.system``."""
        return ".".join(self.path if self.role is Role.COLUMN else ("metadata", *self.path))


class FieldUse(NamedTuple):
    """A field of a program, and what the filter compares it with.

    ``not_timestamp`` is the first literal, spelled as JSON, that is compared with the field and is neither null nor a
    full ISO 8601 timestamp; None if there is none. A field with such a literal does not bind to a TIMESTAMP column,
    even where optimization took the comparison away.
    """

    field: Field
    not_timestamp: str | None


class Instruction(NamedTuple):
    """One instruction; :data:`fastfilter.bytecode.opcodes.OPCODES` says which slots an opcode uses. Others are zero."""

    opcode: Opcode
    destination: int = 0
    source: int = 0
    mode: int = 0
    field: int = 0
    argument: int = 0


@dataclass(frozen=True)
class Program:
    """A compiled filter.

    Attributes:
        instructions: in order; the last one is RETURN. Register 0 holds the rows of the morsel at the start.
        constants: the pool that instructions refer to.
        fields: every field the filter names, even those that optimization made unnecessary, so that a field without a
            column is noticed.
        num_registers: how many registers the instructions use, at most 256.

    Example:
        >>> import fastfilter
        >>> program = fastfilter.compile({"field": "importance", "operator": "gte", "value": 0.7}).program
        >>> fastfilter.Program.from_bytes(program.to_bytes()) == program
        True
    """

    instructions: tuple[Instruction, ...]
    constants: tuple[Constant, ...]
    fields: tuple[FieldUse, ...]
    num_registers: int

    @functools.cached_property
    def words(self) -> bytes:
        """The instructions as the machine words that both VMs run."""
        return b"".join(WORD.pack(*instruction) for instruction in self.instructions)

    def __reduce__(self) -> tuple[object, ...]:
        """A pickle is the serialised program: small, and verified where it is read."""
        return Program.from_bytes, (self.to_bytes(),)

    def disassemble(self) -> str:
        """A listing, one line an instruction, that :func:`fastfilter.bytecode.assembler.assemble` reads back."""
        from fastfilter.bytecode.disassembler import disassemble

        return disassemble(self)

    def to_bytes(self) -> bytes:
        """The program serialised, with a version and a checksum."""
        from fastfilter.bytecode.serialization import to_bytes

        return to_bytes(self)

    @staticmethod
    def from_bytes(data: bytes | bytearray | memoryview) -> Program:
        """The program that :meth:`to_bytes` serialised, verified.

        Raises:
            ProgramError: the bytes are damaged, of another version, or hold a program the verifier refuses.
        """
        from fastfilter.bytecode.serialization import from_bytes

        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"a serialised program is bytes, not {type(data).__name__}")
        return from_bytes(data)
