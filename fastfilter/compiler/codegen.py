"""From an expression to a program: registers, jumps, and the pools of constants and fields.

The code *narrows*: each test reads a register of rows that are still undecided and is never asked about another. The
right side of an And runs on the rows still true, that of an Or on the rows still false, and where none are left the
rest is jumped over.
"""

from __future__ import annotations

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
    if isinstance(expression, Literal) and expression.value:
        answer = 0
    else:
        answer = emitter.take()
        try:
            emitter.emit(expression, 0, answer)
        except RecursionError:
            raise FilterError("too_deep", "", "the filter is nested too deeply to be compiled") from None
    emitter.instructions.append(Instruction(Opcode.RETURN, source=answer))
    if max(len(emitter.instructions), len(emitter.constants), len(fields)) > MAX_ITEMS:
        raise FilterError(
            "too_large", "", f"the filter needs more than {MAX_ITEMS:,} instructions, constants or fields"
        )
    return Program(
        tuple(emitter.instructions),
        tuple(constant for _, constant in emitter.constants),
        tuple(FieldUse(field, not_timestamp) for field, not_timestamp in fields.items()),
        emitter.num_registers,
    )


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
        self.next_register += 1
        self.num_registers = max(self.num_registers, self.next_register)
        return register

    def emit(self, node: Expression, source: int, destination: int) -> None:
        """Sets ``destination`` to the rows of ``source`` on which the node is true; the two may be one register.

        No register but ``destination`` and those above all taken ones is written. (One function, so that a level of
        nesting costs one stack frame.)
        """
        instructions = self.instructions
        if isinstance(node, And) and node.children:
            jumps: list[int] = []
            self.emit(node.children[0], source, destination)
            for child in node.children[1:]:
                start = self._jump_if_none(destination)
                self.emit(child, destination, destination)
                if len(instructions) == start + 1:
                    instructions.pop()  # the child was TRUE: nothing to jump over
                else:
                    jumps.append(start)
            self._land(jumps)
        elif isinstance(node, Or) and len(node.children) > 1:
            jumps = []
            undecided = self.take()
            instructions.append(Instruction(Opcode.MOVE, undecided, source))
            self.emit(node.children[0], undecided, destination)
            instructions.append(Instruction(Opcode.AND_NOT, undecided, destination))
            for child in node.children[1:-1]:
                jumps.append(self._jump_if_none(undecided))
                found = self.take()
                self.emit(child, undecided, found)
                instructions.append(Instruction(Opcode.OR, destination, found))
                instructions.append(Instruction(Opcode.AND_NOT, undecided, found))
                self.next_register = found
            jumps.append(self._jump_if_none(undecided))
            self.emit(node.children[-1], undecided, undecided)
            instructions.append(Instruction(Opcode.OR, destination, undecided))
            self._land(jumps)
            self.next_register = undecided
        elif isinstance(node, (And, Or)) and node.children:
            self.emit(node.children[0], source, destination)
        elif isinstance(node, Not):
            found = self.take()
            self.emit(node.child, source, found)
            if source != destination:
                instructions.append(Instruction(Opcode.MOVE, destination, source))
            instructions.append(Instruction(Opcode.AND_NOT, destination, found))
            self.next_register = found
        elif isinstance(node, (And, Or, Literal)):
            if not (node.value if isinstance(node, Literal) else isinstance(node, And)):
                instructions.append(Instruction(Opcode.CLEAR, destination))
            elif source != destination:
                instructions.append(Instruction(Opcode.MOVE, destination, source))
        else:
            constant = constant_of(node)
            argument = 0
            if constant is not None:
                argument = self.constants.setdefault((type(constant), constant), len(self.constants))
            mode = node.elements if isinstance(node, EqualsAny) else 0
            instructions.append(Instruction(node.opcode, destination, source, mode, self.fields[node.field], argument))

    def _jump_if_none(self, register: int) -> int:
        """A jump whose target is not yet known; its place among the instructions."""
        self.instructions.append(Instruction(Opcode.JUMP_IF_NONE, 0, register))
        return len(self.instructions) - 1

    def _land(self, jumps: list[int]) -> None:
        """Makes the jumps lead to the next instruction."""
        instructions = self.instructions
        for jump in jumps:
            register = instructions[jump].source
            instructions[jump] = Instruction(Opcode.JUMP_IF_NONE, 0, register, 0, 0, len(instructions))


def _fields_of(expression: Expression) -> dict[Field, str | None]:
    """The fields in the order of their first use, each with the first literal that is no timestamp."""
    fields: dict[Field, str | None] = {}
    for leaf in leaves(expression):
        if fields.get(leaf.field) is None:
            fields[leaf.field] = not_timestamp(leaf.opcode, constant_of(leaf))
    return fields
