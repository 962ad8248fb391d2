"""From an expression to a program: registers, jumps, and the pools of constants and fields.

The code *narrows*: each test reads a register of rows that are still undecided and is never asked about another. The
right side of an And runs on the rows still true, that of an Or on the rows still false, and where none are left the
rest is jumped over.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fastfilter.bytecode.constants import Constant, not_timestamp
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program
from fastfilter.bytecode.verifier import MAX_ITEMS, MAX_REGISTERS
from fastfilter.compiler.expr import (
    And,
    EqualsAny,
    Expression,
    Literal,
    Not,
    Or,
    constant_of,
    leaves,
)
from fastfilter.errors import FilterError

__all__ = ["generate"]


# Python finds a member of an enumeration in its class ten times as slowly as a name of a module.
_MOVE, _CLEAR, _OR, _AND_NOT = Opcode.MOVE, Opcode.CLEAR, Opcode.OR, Opcode.AND_NOT
_JUMP_IF_NONE, _RETURN = Opcode.JUMP_IF_NONE, Opcode.RETURN


def generate(expression: Expression, original: Expression) -> Program:
    """The program that computes an expression.

    Args:
        expression: what to compute, as the optimizer left it (any expression will do).
        original: the expression before optimization. The program names every field it names, in the order of their
            first use, and remembers what they were compared with, even where optimization took the test away.

    Raises:
        FilterError: the expression needs more than 256 registers or is nested too deeply (``too_deep``), or needs more
            instructions, constants or fields than a program can hold (``too_large``).

    Example:
        >>> from fastfilter.bytecode.program import Role
        >>> from fastfilter.compiler.expr import Exists
        >>> exists = Exists(Field(Role.COLUMN, ("subject",)))
        >>> [instruction.opcode.name for instruction in generate(exists, exists).instructions]
        ['EXISTS', 'RETURN']
    """
    fields = _fields_of(original)
    emitter = _Emitter({field: number for number, field in enumerate(fields)})
    if type(expression) is Literal and expression.value:
        answer = 0
    else:
        answer = emitter.take()
        try:
            emitter.emit(expression, 0, answer)
        except RecursionError:
            raise FilterError("too_deep", "", "the filter is nested too deeply to be compiled") from None
    instructions = emitter.instructions
    instructions.append(_instruction((_RETURN, 0, answer, 0, 0, 0)))
    if max(len(instructions), len(emitter.constants), len(fields)) > MAX_ITEMS:
        raise FilterError(
            "too_large", "", f"the filter needs more than {MAX_ITEMS:,} instructions, constants or fields"
        )
    return Program(
        tuple(instructions),
        tuple([constant for _, constant in emitter.constants]),
        tuple([FieldUse(field, literal) for field, literal in fields.items()]),
        emitter.num_registers,
    )


_instruction: Callable[[tuple[Opcode, int, int, int, int, int]], Instruction] = partial(tuple.__new__, Instruction)
"""An instruction of all its slots, without the detour through the keywords of a named tuple."""


class _Emitter:
    """The instructions so far. Registers are taken and given back like a stack; ``next_register`` is its top."""

    __slots__ = ("constants", "fields", "instructions", "next_register", "num_registers")

    def __init__(self, fields: dict[Field, int]) -> None:
        self.fields = fields
        self.instructions: list[Instruction] = []
        # Keyed by type as well, so that equal tuples of different meaning stay apart. Within a type equal means alike:
        # 1 and 1.0, say, are one number to every test.
        self.constants: dict[tuple[type, Constant], int] = {}
        self.next_register = 1
        self.num_registers = 1

    def take(self) -> int:
        register = self.next_register
        if register == MAX_REGISTERS:
            raise FilterError("too_deep", "", f"the filter is nested too deeply: more than {MAX_REGISTERS} registers")
        self.next_register = register + 1
        if self.num_registers <= register:
            self.num_registers = register + 1
        return register

    def emit(self, node: Expression, source: int, destination: int) -> None:
        """Sets ``destination`` to the rows of ``source`` on which the node is true; the two may be one register.

        No register but ``destination`` and those above all taken ones is written. (One function, so that a level of
        nesting costs one stack frame.)
        """
        instructions = self.instructions
        if type(node) is And and node.children:
            children = node.children
            self.emit(children[0], source, destination)
            jumps: list[int] = []
            for child in children[1:]:
                start = self._jump_if_none(destination)
                self.emit(child, destination, destination)
                if len(instructions) == start + 1:
                    instructions.pop()  # the child was TRUE: nothing to jump over
                else:
                    jumps.append(start)
            self._land(jumps)
        elif type(node) is Or and node.children:
            children = node.children
            if len(children) == 1:
                self.emit(children[0], source, destination)
                return
            jumps = []
            undecided = self.take()
            instructions.append(_instruction((_MOVE, undecided, source, 0, 0, 0)))
            self.emit(children[0], undecided, destination)
            instructions.append(_instruction((_AND_NOT, undecided, destination, 0, 0, 0)))
            for child in children[1:-1]:
                jumps.append(self._jump_if_none(undecided))
                found = self.take()
                self.emit(child, undecided, found)
                instructions.append(_instruction((_OR, destination, found, 0, 0, 0)))
                instructions.append(_instruction((_AND_NOT, undecided, found, 0, 0, 0)))
                self.next_register = found
            jumps.append(self._jump_if_none(undecided))
            self.emit(children[-1], undecided, undecided)
            instructions.append(_instruction((_OR, destination, undecided, 0, 0, 0)))
            self._land(jumps)
            self.next_register = undecided
        elif type(node) is Not:
            found = self.take()
            self.emit(node.child, source, found)
            if source != destination:
                instructions.append(_instruction((_MOVE, destination, source, 0, 0, 0)))
            instructions.append(_instruction((_AND_NOT, destination, found, 0, 0, 0)))
            self.next_register = found
        elif type(node) is And or type(node) is Or or type(node) is Literal:  # true or false on every row
            if not (node.value if type(node) is Literal else type(node) is And):
                instructions.append(_instruction((_CLEAR, destination, 0, 0, 0, 0)))
            elif source != destination:
                instructions.append(_instruction((_MOVE, destination, source, 0, 0, 0)))
        else:
            constant = constant_of(node)
            argument = 0
            if constant is not None:
                argument = self.constants.setdefault((type(constant), constant), len(self.constants))
            mode = node.elements if type(node) is EqualsAny else 0
            field = self.fields[node.field]
            instructions.append(_instruction((node.opcode, destination, source, mode, field, argument)))

    def _jump_if_none(self, register: int) -> int:
        """A jump whose target is not yet known; its place among the instructions."""
        instructions = self.instructions
        instructions.append(_instruction((_JUMP_IF_NONE, 0, register, 0, 0, 0)))
        return len(instructions) - 1

    def _land(self, jumps: list[int]) -> None:
        """Makes the jumps lead to the next instruction."""
        instructions = self.instructions
        target = len(instructions)
        for jump in jumps:
            instructions[jump] = _instruction((_JUMP_IF_NONE, 0, instructions[jump].source, 0, 0, target))


def _fields_of(expression: Expression) -> dict[Field, str | None]:
    """The fields in the order of their first use, each with the first literal that is no timestamp."""
    fields: dict[Field, str | None] = {}
    for leaf in leaves(expression):
        field = leaf.field
        if fields.get(field) is None:
            fields[field] = not_timestamp(leaf.opcode, constant_of(leaf))
    return fields
