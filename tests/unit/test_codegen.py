"""The code generator: programs are valid, compute their expression, and narrow."""

from __future__ import annotations

import sys

import pytest
from expression_cases import (
    EVERY_ROW,
    ISO,
    MOMENT,
    A,
    B,
    C,
    all_of,
    any_of,
    eq,
    expressions,
    intervals,
    read,
    row_named,
    rows_of,
    rows_of_test,
    scalars,
    within,
)
from hypothesis import given
from hypothesis import strategies as st

from fastfilter.bytecode.assembler import assemble
from fastfilter.bytecode.constants import Constant
from fastfilter.bytecode.opcodes import OPCODES, Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program, Role
from fastfilter.bytecode.verifier import verify
from fastfilter.compiler import expr
from fastfilter.compiler.codegen import generate
from fastfilter.compiler.expr import (
    FALSE,
    TRUE,
    And,
    EqualsAny,
    Exists,
    Expression,
    Leaf,
    Literal,
    Not,
    NumberRange,
    Or,
    leaves,
)
from fastfilter.compiler.optimizer import optimize
from fastfilter.errors import FilterError
from fastfilter.values import Elements

TESTS_BY_OPCODE = {
    kind.opcode: kind for kind in vars(expr).values() if isinstance(kind, type) and hasattr(kind, "opcode")
}


def compiled(expression: Expression) -> Program:
    program = generate(expression, expression)
    verify(program)
    return program


def test_of(program: Program, instruction: Instruction) -> Leaf:
    """The test that an instruction makes."""
    arguments: list[object] = [program.fields[instruction.field].field]
    if OPCODES[instruction.opcode].constant is not None:
        arguments.append(program.constants[instruction.argument])
    if OPCODES[instruction.opcode].elements:
        arguments.append(Elements(instruction.mode))
    test: Leaf = TESTS_BY_OPCODE[instruction.opcode](*arguments)
    return test


test_of.__test__ = False  # type: ignore[attr-defined]


def run(program: Program, rows: int) -> tuple[int, int]:
    """The rows a program picks out of some, and on how many rows it made a test. A set of rows is an integer."""
    registers: list[int] = [rows] + [-1] * (program.num_registers - 1)
    num_tested = position = 0
    while True:
        instruction = program.instructions[position]
        position += 1
        opcode, destination, source = instruction.opcode, instruction.destination, instruction.source
        if opcode is Opcode.RETURN:
            assert registers[0] == rows
            return registers[source], num_tested
        if opcode is Opcode.MOVE:
            registers[destination] = registers[source]
        elif opcode is Opcode.CLEAR:
            registers[destination] = 0
        elif opcode is Opcode.OR:
            registers[destination] |= registers[source]
        elif opcode is Opcode.AND_NOT:
            registers[destination] &= ~registers[source]
        elif opcode is Opcode.JUMP_IF_NONE:
            position = instruction.argument if not registers[source] else position
        else:
            num_tested += registers[source].bit_count()
            registers[destination] = registers[source] & rows_of_test(test_of(program, instruction))


# ---------------------------------------------------------------------------------------------------------------------
# any expression

_ROWS = st.integers(0, EVERY_ROW) | st.integers(0, 40).map(lambda shift: 1 << shift * 97) | st.just(EVERY_ROW)


@given(expression=expressions(), rows=_ROWS)
def test_programs_compute_their_expression(expression: Expression, rows: int) -> None:
    optimized, _ = optimize(expression)
    for node in (expression, optimized):
        program = generate(node, expression)
        verify(program)
        found, num_tested = run(program, rows)
        wrong = found ^ (rows_of(expression) & rows)
        assert not wrong, f"wrong on {row_named(wrong)}"
        assert num_tested <= sum(1 for _ in leaves(node)) * rows.bit_count()


@given(expression=expressions())
def test_programs_are_tight(expression: Expression) -> None:
    program = compiled(expression)
    used = {number for each in program.instructions for number in (each.destination, each.source)}
    assert program.num_registers == max(used) + 1
    assert len(set(program.constants)) == len(program.constants)
    for position, instruction in enumerate(program.instructions):
        if instruction.opcode is Opcode.JUMP_IF_NONE:
            assert instruction.argument > position + 1, "a jump over nothing"
        if instruction.opcode is Opcode.MOVE:
            assert instruction.destination != instruction.source
    named = list(dict.fromkeys(leaf.field for leaf in leaves(expression)))
    assert [use.field for use in program.fields] == named


@given(expression=expressions())
def test_listings_are_read_back(expression: Expression) -> None:
    program = compiled(expression)
    assert assemble(program.disassemble()) == program
    assert Program.from_bytes(program.to_bytes()) == program


# ---------------------------------------------------------------------------------------------------------------------
# listings

LISTINGS = [
    ("true", "RETURN 0"),
    ("false", "CLEAR 1; RETURN 1"),
    ("all_of()", "MOVE 1 0; RETURN 1"),
    ("any_of()", "CLEAR 1; RETURN 1"),
    ("exists(a)", "EXISTS 1 0; RETURN 1"),
    ("no(exists(a))", "EXISTS 2 0; MOVE 1 0; AND_NOT 1 2; RETURN 1"),
    (
        "all_of(exists(a), is_null(b), exists(c))",
        "EXISTS 1 0; JUMP_IF_NONE 1 ->5; IS_NULL 1 1; JUMP_IF_NONE 1 ->5; EXISTS 1 1; RETURN 1",
    ),
    (
        "all_of(exists(a), no(is_null(b)))",
        "EXISTS 1 0; JUMP_IF_NONE 1 ->4; IS_NULL 2 1; AND_NOT 1 2; RETURN 1",
    ),
    (
        "any_of(exists(a), is_null(b))",
        "MOVE 2 0; EXISTS 1 2; AND_NOT 2 1; JUMP_IF_NONE 2 ->6; IS_NULL 2 2; OR 1 2; RETURN 1",
    ),
    (
        "any_of(exists(a), is_null(b), exists(c))",
        "MOVE 2 0; EXISTS 1 2; AND_NOT 2 1; JUMP_IF_NONE 2 ->10; IS_NULL 3 2; OR 1 3; AND_NOT 2 3;"
        " JUMP_IF_NONE 2 ->10; EXISTS 2 2; OR 1 2; RETURN 1",
    ),
    (
        "all_of(exists(a), any_of(is_null(b), exists(c)))",
        "EXISTS 1 0; JUMP_IF_NONE 1 ->8; MOVE 2 1; IS_NULL 1 2; AND_NOT 2 1; JUMP_IF_NONE 2 ->8; EXISTS 2 2;"
        " OR 1 2; RETURN 1",
    ),
    (
        "no(all_of(exists(a), is_null(b)))",
        "EXISTS 2 0; JUMP_IF_NONE 2 ->3; IS_NULL 2 2; MOVE 1 0; AND_NOT 1 2; RETURN 1",
    ),
    # what the optimizer leaves is never like this
    ("all_of(true, exists(a), true)", "MOVE 1 0; JUMP_IF_NONE 1 ->3; EXISTS 1 1; RETURN 1"),
    ("all_of(exists(a))", "EXISTS 1 0; RETURN 1"),
    ("any_of(all_of(no(no(exists(a)))))", "EXISTS 3 0; MOVE 2 0; AND_NOT 2 3; MOVE 1 0; AND_NOT 1 2; RETURN 1"),
]


def spelled(instruction: Instruction) -> str:
    spec = OPCODES[instruction.opcode]
    registers = [instruction.destination] * spec.writes + [instruction.source] * spec.reads_source
    target = [f"->{instruction.argument}"] if instruction.opcode is Opcode.JUMP_IF_NONE else []
    return " ".join([spec.name, *map(str, registers), *target])


@pytest.mark.parametrize(("text", "listing"), LISTINGS)
def test_listing(text: str, listing: str) -> None:
    program = compiled(read(text))
    assert "; ".join(map(spelled, program.instructions)) == listing
    assert program.constants == ()


def test_the_first_seed_example() -> None:
    original = all_of(
        read("eq(b, 'fact')"), read("number(a, '[0.7, )')"), Not(read("icontains(c, 'draft')")), Exists(B)
    )
    program = generate(optimize(original)[0], original)
    assert program.disassemble() == (
        "registers 3\n"
        'field 0 = column "b" not_timestamp "\\"fact\\""\n'
        'field 1 = metadata "a" not_timestamp "0.7"\n'
        'field 2 = metadata "c" "d" not_timestamp "\\"draft\\""\n'
        'constant 0 = scalars "fact"\n'
        "constant 1 = intervals [0.7, inf)\n"
        'constant 2 = text "draft"\n'
        "\n"
        '0  EQUALS_ANY            r1 r0 f0 c0 NEVER  ; r1 = r0 where equals_any(b, {"fact"}, NEVER)\n'
        "1  JUMP_IF_NONE          r1 i6              ; if r1 is none: jump to 6\n"
        "2  NUMBER_RANGE          r1 r1 f1 c1        ; r1 = r1 where number_range(metadata.a, >= 0.7)\n"
        "3  JUMP_IF_NONE          r1 i6              ; if r1 is none: jump to 6\n"
        '4  CONTAINS_IGNORE_CASE  r2 r1 f2 c2        ; r2 = r1 where contains_ignore_case(metadata.c.d, "draft")\n'
        "5  AND_NOT               r1 r2              ; r1 &= ~r2\n"
        "6  RETURN                r1                 ; return r1\n"
    )


# ---------------------------------------------------------------------------------------------------------------------
# narrowing


def num_tested(expression: Expression) -> int:
    return run(compiled(expression), EVERY_ROW)[1]


def test_an_and_asks_only_rows_still_true() -> None:
    first, second = eq(A, 1), eq(B, 1)
    assert num_tested(all_of(first, second)) == EVERY_ROW.bit_count() + rows_of(first).bit_count()


def test_an_or_asks_only_rows_still_false() -> None:
    first, second, third = Exists(A), eq(B, 1), eq(B, 2)
    expected = EVERY_ROW.bit_count() + rows_of(Not(first)).bit_count() + rows_of(Not(any_of(first, second))).bit_count()
    assert num_tested(any_of(first, second, third)) == expected


def test_where_no_row_is_left_the_rest_is_jumped_over() -> None:
    nothing = all_of(eq(A, 1), eq(A, 2))
    program = compiled(all_of(nothing, *[eq(B, value) for value in range(10)]))
    expected = EVERY_ROW.bit_count() + rows_of(eq(A, 1)).bit_count()
    assert run(program, EVERY_ROW) == (0, expected)


# ---------------------------------------------------------------------------------------------------------------------
# pools


def test_constants_are_pooled() -> None:
    one = intervals("[1, 1]")
    expression = any_of(
        eq(A, 1), eq(B, 1.0), eq(A, True), within(B, 1), NumberRange(A, one), read("text_number(a, '[1, 1]')"),
        read("contains(a, '1')"), read("json(a, '1')"), read("text(a, '1')"), eq(A, "1"),
    )  # fmt: skip
    pool: tuple[Constant, ...] = compiled(expression).constants
    assert pool[:3] == (scalars(1), scalars(True), one)
    assert len(pool) == 7
    assert [type(constant).__name__ for constant in pool[3:]] == ["Text", "Json", "Strings", "ScalarSet"]


def test_fields_keep_the_order_of_first_use_and_survive_optimization() -> None:
    original = all_of(any_of(eq(C, 1), TRUE), Not(Exists(A)), all_of(eq(B, True), FALSE))
    program = generate(optimize(original)[0], original)
    assert program.instructions == (Instruction(Opcode.CLEAR, 1), Instruction(Opcode.RETURN, source=1))
    assert program.fields == (FieldUse(C, "1"), FieldUse(A, None), FieldUse(B, "true"))


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("exists(a)", None),
        ("is_null(a)", None),
        ("eq(a)", None),
        ("eq(a, None_)", None),
        ("eq(a, False)", "false"),
        ("eq(a, True, 1)", "true"),
        ("eq(a, 1, 'x')", "1"),
        ("eq(a, 0.5)", "0.5"),
        ("eq(a, 1e300)", "1e+300"),
        (f"eq(a, '{ISO}')", None),
        (f"eq(a, None_, '{ISO}', 'x')", '"x"'),
        (f"eq(a, instants=('{ISO}',))", None),
        ("eq(a, 'é\"')", '"é\\""'),
        ("eq(a, '\\ud800')", '"\\ud800"'),
        ("number(a, '(, 3]')", "3"),
        ("number(a, '(2, 3]')", "2"),
        ("number(a)", None),
        (f"instant(a, '[{MOMENT}, )')", None),
        (f"string(a, 'gt', '{ISO}')", None),
        ("string(a, 'gt', '2024-01-01')", '"2024-01-01"'),
        ("text(a, 'true')", '"true"'),
        (f"text(a, '{ISO}')", None),
        ("text_number(a, '[5, 5]')", "5"),
        ("contains(a, 'x')", '"x"'),
        (f"contains(a, '{ISO}')", None),
        ("icontains(a, '')", '""'),
        (f"icontains(a, '{ISO}')", None),
        ("json(a, 'null')", None),
        ("json(a, '1.50')", "1.50"),
        ("json(a, '\"x\"')", '"x"'),
        (f"json(a, '\"{ISO}\"')", None),
        (f"json(a, '[\"{ISO}\"]')", f'["{ISO}"]'),
        (f"all_of(exists(a), eq(a, '{ISO}'), eq(a, None_), any_of(eq(a, 'x'), eq(a, 1)))", '"x"'),
    ],
)
def test_first_literal_that_is_no_timestamp(text: str, literal: str | None) -> None:
    (use,) = compiled(read(text)).fields
    assert use == FieldUse(A, literal)


# ---------------------------------------------------------------------------------------------------------------------
# size


def nested(depth: int, kinds: tuple[type[And | Or], ...] = (And, Or)) -> Expression:
    expression: Expression = Exists(A)
    for level in range(depth):
        expression = kinds[level % len(kinds)]((eq(B, level), expression))
    return expression


def test_deep_expressions() -> None:
    for expression in (nested(450), nested(450, (And,)), nested(254, (Or,))):
        assert run(compiled(expression), EVERY_ROW)[0] == rows_of(expression)


@pytest.mark.parametrize("expression", [nested(260, (Or,)), nested(2 * sys.getrecursionlimit(), (And,))])
def test_too_deep_is_a_filter_error(expression: Expression) -> None:
    with pytest.raises(FilterError) as caught:
        generate(expression, expression)
    assert caught.value.code == "too_deep"


def test_too_large_is_a_filter_error() -> None:
    huge = And(tuple(Exists(Field(Role.COLUMN, (str(number),))) for number in range(65_536)))
    with pytest.raises(FilterError) as caught:
        generate(huge, huge)
    assert caught.value.code == "too_large"


def test_a_thousand_alternatives_take_as_many_registers_as_three() -> None:
    tests = [EqualsAny(A, scalars(number), Elements.ALSO) for number in range(1000)]
    assert compiled(Or(tuple(tests))).num_registers == compiled(Or(tuple(tests[:3]))).num_registers == 4


def test_registers_are_given_back() -> None:
    one, two = any_of(eq(A, 1), eq(B, 1), eq(C, 1)), any_of(eq(A, 2), Not(all_of(eq(B, 2), Exists(C))))
    assert compiled(one).num_registers == compiled(two).num_registers == 4
    assert compiled(all_of(one, two, Not(one), Not(two))).num_registers == 5


def test_literals_inside() -> None:
    for expression in (any_of(eq(A, 1), Literal(True)), all_of(eq(A, 1), Literal(False)), Not(Literal(False))):
        assert run(compiled(expression), EVERY_ROW)[0] == rows_of(expression)
