"""From a program back to its expression: for all that the compiler makes, and for nothing else."""

from __future__ import annotations

import dataclasses

import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from program_strategies import programs

from fastfilter.bytecode.opcodes import Opcode
from fastfilter.bytecode.program import Field, Instruction, Program, Role
from fastfilter.compiler.codegen import generate
from fastfilter.compiler.decompile import decompile
from fastfilter.compiler.expr import FALSE, TRUE, And, Exists, Expression, Not, Or
from fastfilter.compiler.optimizer import RULES, optimize

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

A, B, C, D = (Exists(Field(Role.METADATA, (key,))) for key in "abcd")


@pytest.mark.parametrize(
    "expression",
    [
        A, TRUE, FALSE, Not(A), Not(Not(A)), And((A, B, C)), Or((A, B)), Or((A, B, C, D)), Or((Not(A), Not(B), Not(C))),
        And((Or((A, B)), Not(C), D)), Or((And((A, B)), And((C, Not(D))))), Not(Or((And((A, B)), Not(And((C, D)))))),
        And((And((A, B)), C)), Or((A, Or((B, Or((C, D)))))), Or((Or((A, B)), C, Not(Or((B, C))))),
        And((A, And((And((B, C)), D)))), Or((A, Not(Or((B, Not(Or((C, Not(D))))))))), Not(And((A, Not(B)))),
    ],
)  # fmt: skip
def test_an_expression_comes_back(expression: Expression) -> None:
    read = decompile(generate(expression, expression))
    assert read is not None
    assert generate(read, read) == generate(expression, expression)


@given(strategies.expressions(strategies.Vocabulary()))
def test_every_optimized_expression_comes_back(expression: Expression) -> None:
    optimized, _ = optimize(expression, RULES)
    read = decompile(generate(optimized, expression))
    assert read is not None
    assert generate(read, read) == generate(optimized, optimized)


@given(st.data())
def test_any_other_program_has_none(data: st.DataObject) -> None:
    """Its jumps may skip what matters; what is read must be the very program."""
    program = data.draw(programs([A.field, B.field]))
    read = decompile(program)
    assert read is None or len(generate(read, read).instructions) == len(program.instructions)


def test_a_jump_that_leads_elsewhere_is_noticed() -> None:
    program = generate(And((A, B, C)), And((A, B, C)))
    jumps = [place for place, step in enumerate(program.instructions) if step.opcode is Opcode.JUMP_IF_NONE]
    for place in jumps:
        for target in range(place + 1, len(program.instructions)):
            if target != program.instructions[place].argument:
                steps = list(program.instructions)
                steps[place] = steps[place]._replace(argument=target)
                read = decompile(dataclasses.replace(program, instructions=tuple(steps)))
                assert read is None or read == And((And((A, B)), C))  # whose first jump leads to its second


def test_a_program_of_endless_nots_is_read_in_time() -> None:
    moves = [Instruction(Opcode.MOVE, register, 0) for register in range(1, 256)] * 40
    program = Program((*moves, Instruction(Opcode.RETURN, source=1)), (), (), 256)
    assert decompile(program) is None
