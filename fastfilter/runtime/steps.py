"""A program as the steps it takes on a single record.

On one record a register is one bit, so what a program does depends on nothing but the answers of its tests: it is a
graph of tests, each with where to go on if it is true, and if it is false. No register is left, and no instruction that
moves one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from fastfilter.bytecode.opcodes import OPCODES, Opcode
from fastfilter.bytecode.program import Instruction, Program

__all__ = ["DIFFERS", "MATCHES", "Step", "steps_of"]

MATCHES: Final = -1
"""Instead of the number of a step: the record matches."""
DIFFERS: Final = -2
"""Instead of the number of a step: it does not."""

_FOLLOWED: Final = 1 << 18
_FOLLOWED_EACH: Final = 64
"""So many instructions are followed, and so many more for each that a program has."""


class Step(NamedTuple):
    """A test, by the number of its instruction, and the number of the step to go on with, MATCHES or DIFFERS."""

    instruction: int
    if_true: int
    if_false: int


def steps_of(program: Program) -> tuple[int, tuple[Step, ...]] | None:
    """Where a verified program begins (a step, MATCHES or DIFFERS), and its steps, each of which leads to later ones.

    What comes after a test is told by the place and by the bits of the registers that are still read. Each test of a
    program that a compiler made is reached with the same bits on all ways. That need not be so for others: None if it
    takes too long to follow all ways.

    Example:
        >>> steps_of(Program((Instruction(Opcode.EXISTS, 1), Instruction(Opcode.RETURN, source=1)), (), (), 2))
        (0, (Step(instruction=0, if_true=-1, if_false=-2),))
    """
    instructions = program.instructions
    live = _live_registers(instructions)
    left = _FOLLOWED + _FOLLOWED_EACH * len(instructions)
    # Where a step begins (an instruction, and the bits of the registers), and where it leads in case of either answer.
    found: dict[tuple[int, int], list[tuple[int, int] | int]] = {}
    start: list[tuple[int, int] | int] = []
    pending: list[tuple[int, int, list[tuple[int, int] | int]]] = [(0, 1, start)]
    while pending:
        at, registers, ways = pending.pop()
        while True:
            opcode, destination, source, _, _, argument = instructions[at]
            is_set = registers >> source & 1
            left -= 1
            if left < 0:
                return None
            if opcode == Opcode.RETURN:
                ways.append(MATCHES if is_set else DIFFERS)
                break
            if is_set and OPCODES[opcode].field:
                place = at, registers & live[at]
                ways.append(place)
                if place not in found:
                    after: list[tuple[int, int] | int] = []
                    found[place] = after
                    bit = 1 << destination
                    pending.append((at + 1, registers & ~bit, after))
                    pending.append((at + 1, registers | bit, after))
                break
            if opcode == Opcode.JUMP_IF_NONE:
                at = at + 1 if is_set else argument
                continue
            if opcode == Opcode.OR:
                registers |= is_set << destination
            elif opcode == Opcode.AND_NOT:
                registers &= ~(is_set << destination)
            else:
                registers &= ~(1 << destination)
                if opcode == Opcode.MOVE:
                    registers |= is_set << destination
            at += 1
    places = sorted(found)
    numbers: dict[tuple[int, int] | int, int] = {place: number for number, place in enumerate(places)}
    numbers |= {MATCHES: MATCHES, DIFFERS: DIFFERS}
    return numbers[start[0]], tuple(Step(place[0], *(numbers[way] for way in found[place])) for place in places)


def _live_registers(instructions: Sequence[Instruction]) -> list[int]:
    """For each instruction the registers, a bit each, whose bits before it can still make a difference."""
    live = [0] * len(instructions)
    after = 0
    for at in range(len(instructions) - 1, -1, -1):
        opcode, destination, source, _, _, argument = instructions[at]
        spec = OPCODES[opcode]
        if opcode == Opcode.JUMP_IF_NONE:
            after |= live[argument]
        if spec.writes and not spec.reads_destination:
            after &= ~(1 << destination)
        if spec.reads_source:
            after |= 1 << source
        live[at] = after
    return live
