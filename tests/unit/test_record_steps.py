"""A program's steps on one record give the answer that its instructions give."""

from __future__ import annotations

from random import Random

import program_strategies
import running
import strategies
from hypothesis import given
from hypothesis import strategies as st

from fastfilter.bytecode.opcodes import OPCODES, Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program, Role
from fastfilter.compiler.codegen import generate
from fastfilter.compiler.expr import And, Exists, Expression, Not, Or
from fastfilter.runtime.steps import DIFFERS, MATCHES, Step, steps_of

FIELDS = [Field(Role.METADATA, (name,)) for name in "abc"]
WORDS = strategies.Vocabulary((("a",), ("b", "c")), ("content",), (0, 5), ("a", "b"), (0,), (None, "a"))


def run(program: Program, answers: list[bool]) -> bool:
    """The program on one record, instruction by instruction; ``answers`` are those of the tests, by instruction."""
    registers = [True] + [False] * 255
    at = 0
    while True:
        opcode, destination, source, _, _, argument = program.instructions[at]
        if opcode == Opcode.RETURN:
            return registers[source]
        if opcode == Opcode.JUMP_IF_NONE and not registers[source]:
            at = argument
            continue
        if OPCODES[opcode].field:
            registers[destination] = registers[source] and answers[at]
        elif opcode == Opcode.MOVE:
            registers[destination] = registers[source]
        elif opcode == Opcode.CLEAR:
            registers[destination] = False
        elif opcode == Opcode.OR:
            registers[destination] |= registers[source]
        elif opcode == Opcode.AND_NOT:
            registers[destination] &= not registers[source]
        at += 1


def walk(first: int, steps: tuple[Step, ...], answers: list[bool]) -> bool:
    number = first
    while number >= 0:
        step = steps[number]
        number = step.if_true if answers[step.instruction] else step.if_false
    assert number in (MATCHES, DIFFERS)
    return number == MATCHES


def agree(program: Program) -> tuple[Step, ...]:
    found = steps_of(program)
    assert found is not None
    first, steps = found
    for number, step in enumerate(steps):
        assert all(way > number or way in (MATCHES, DIFFERS) for way in step[1:])
    random = Random(1)
    for _ in range(30):
        answers = [random.random() < 0.6 for _ in program.instructions]
        assert walk(first, steps, answers) == run(program, answers)
    return steps


@given(program_strategies.programs(FIELDS))
def test_random_programs(program: Program) -> None:
    agree(program)


@given(strategies.expressions(WORDS), st.booleans())
def test_a_compiled_program_has_one_step_for_each_test(expression: Expression, optimized: bool) -> None:
    program = running.filter_of(expression, optimized).program
    steps = agree(program)
    assert len(steps) <= sum(OPCODES[instruction.opcode].field for instruction in program.instructions)
    assert len({step.instruction for step in steps}) == len(steps)


def test_the_deepest_programs_have_steps() -> None:
    expression: Expression = Exists(FIELDS[0])
    for level in range(240):
        expression = (And, Or)[level % 2]((Exists(FIELDS[1]), Not(expression) if level % 20 == 7 else expression))
    steps = agree(generate(expression, expression))
    assert len(steps) == 241


def test_a_program_whose_registers_take_too_many_states_is_given_up() -> None:
    """Each test has a register of its own, and all are read in the end: what is known doubles with every test."""
    tests = [Instruction(Opcode.EXISTS, number, 0) for number in range(1, 200)]
    ors = [Instruction(Opcode.AND_NOT, 1, number) for number in range(2, 200)]
    steps = (*tests, *ors, Instruction(Opcode.RETURN, source=1))
    assert steps_of(Program(steps, (), (FieldUse(FIELDS[0], None),), 200)) is None
