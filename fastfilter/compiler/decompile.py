"""From a program back to the expression it computes: the inverse of :mod:`fastfilter.compiler.codegen`.

A program that comes from elsewhere may be any that the verifier accepts, and a jump in it may skip what matters. So an
expression read from a program counts only if generating code for it gives the very same instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast, get_args

from fastfilter.bytecode.opcodes import OPCODES, Opcode
from fastfilter.bytecode.program import Instruction, Program
from fastfilter.bytecode.verifier import MAX_REGISTERS
from fastfilter.compiler.codegen import generate
from fastfilter.compiler.expr import FALSE, TRUE, And, Expression, Leaf, Not, Or
from fastfilter.errors import FilterError
from fastfilter.values import Elements

__all__ = ["decompile"]

_LEAVES: Final[Mapping[Opcode, type]] = {leaf.opcode: leaf for leaf in get_args(Leaf)}


def decompile(program: Program) -> Expression | None:
    """The expression a program was generated from, but for nesting that makes no difference.

    Args:
        program: one that the verifier accepts.

    Returns:
        The expression, or None if the program is none that the compiler makes of an optimized expression.

    Example:
        >>> from fastfilter.bytecode.program import Field, Role
        >>> from fastfilter.compiler.expr import Exists
        >>> absent = Not(Exists(Field(Role.COLUMN, ("subject",))))
        >>> decompile(generate(absent, absent)) == absent
        True
    """
    try:
        expression = _Reader(program).whole()
        if expression is None or not _is_same(generate(expression, expression), program):
            return None
    except (RecursionError, FilterError):
        return None
    return expression


class _Unknown(Exception):
    """The instructions are none that the compiler makes."""


class _Reader:
    """Reads instructions as :class:`fastfilter.compiler.codegen._Emitter` writes them, from ``position`` on."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._position = 0
        # Of an Or's jumps, all of one register to one place, the last stands before its last child.
        self._last_jumps = {
            (step.source, step.argument): position
            for position, step in enumerate(program.instructions)
            if step.opcode is Opcode.JUMP_IF_NONE
        }

    def whole(self) -> Expression | None:
        """The expression of the program."""
        instructions = self._program.instructions
        if instructions[0].opcode is Opcode.RETURN:
            return TRUE if instructions[0].source == 0 else None
        if instructions[0].opcode is Opcode.CLEAR:
            return FALSE
        try:
            return self._expression(0, 1, 2, None)
        except _Unknown:
            return None

    def _next(self) -> Instruction:
        return self._program.instructions[self._position]  # the last one is RETURN, which nothing here takes

    def _take(self, opcode: Opcode, destination: int, source: int) -> None:
        found = self._next()
        if found.opcode is not opcode or found.destination != destination or found.source != source:
            raise _Unknown
        self._position += 1

    def _expression(self, source: int, destination: int, free: int, end: int | None) -> Expression:
        """The expression that is written from ``source`` to ``destination``; ``free`` is the first register not taken.

        ``end`` is where the And ends whose child this is, if it is one: what jumps there belongs to that And.
        """
        node = self._part(source, destination, free)
        while True:
            jump = self._next()
            if self._position == end or jump.argument == end:
                return node
            if jump.opcode is not Opcode.JUMP_IF_NONE or jump.source != destination:
                return node
            children = [node]
            while self._position < jump.argument:
                if self._next() != jump:
                    raise _Unknown
                self._position += 1
                children.append(self._expression(destination, destination, free, jump.argument))
            node = And(tuple(children))

    def _part(self, source: int, destination: int, free: int) -> Expression:
        first = self._next()
        if OPCODES[first.opcode].field:
            if (first.destination, first.source) == (destination, source):
                self._position += 1
                return self._leaf(first)
        elif first.opcode is Opcode.MOVE and first.destination == free:
            return self._disjunction(source, destination, free)
        if free >= MAX_REGISTERS:
            raise _Unknown
        child = self._expression(source, free, free + 1, None)
        if source != destination:
            self._take(Opcode.MOVE, destination, source)
        self._take(Opcode.AND_NOT, destination, free)
        return Not(child)

    def _disjunction(self, source: int, destination: int, undecided: int) -> Expression:
        self._take(Opcode.MOVE, undecided, source)
        free = undecided + 1
        children = [self._expression(undecided, destination, free, None)]
        self._take(Opcode.AND_NOT, undecided, destination)
        while True:
            jump = self._next()
            if jump.opcode is not Opcode.JUMP_IF_NONE or jump.source != undecided:
                raise _Unknown
            is_last = self._last_jumps[jump.source, jump.argument] == self._position
            self._position += 1
            if is_last:
                break
            children.append(self._expression(undecided, free, free + 1, None))
            self._take(Opcode.OR, destination, free)
            self._take(Opcode.AND_NOT, undecided, free)
        children.append(self._expression(undecided, undecided, free, None))
        self._take(Opcode.OR, destination, undecided)
        return Or(tuple(children))

    def _leaf(self, instruction: Instruction) -> Expression:
        leaf = _LEAVES[instruction.opcode]
        field = self._program.fields[instruction.field].field
        spec = OPCODES[instruction.opcode]
        if spec.constant is None:
            return cast("Leaf", leaf(field))
        constant = self._program.constants[instruction.argument]
        return cast(
            "Leaf", leaf(field, constant, Elements(instruction.mode)) if spec.elements else leaf(field, constant)
        )


def _is_same(generated: Program, program: Program) -> bool:
    """Whether two programs do the same, wherever they keep their fields and constants."""
    return generated.num_registers <= program.num_registers and list(_resolved(generated)) == list(_resolved(program))


def _resolved(program: Program) -> Iterator[tuple[Any, ...]]:
    for step in program.instructions:
        spec = OPCODES[step.opcode]
        field = program.fields[step.field].field if spec.field else None
        constant = program.constants[step.argument] if spec.constant is not None else None
        argument = 0 if spec.constant is not None else step.argument
        yield step.opcode, step.destination, step.source, step.mode, field, type(constant), constant, argument
