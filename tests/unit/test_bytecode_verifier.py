"""The verifier: one case for each kind of fault, and what it must accept at the limits."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from program_strategies import programs
from sample_programs import SAMPLES, program_of

from fastfilter.bytecode import verifier
from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import OPCODES, Argument, Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program, Role
from fastfilter.bytecode.verifier import INSTANT_MAX, INSTANT_MIN, MAX_ITEMS, VerificationError, verify
from fastfilter.errors import ProgramError
from fastfilter.values import Elements, Interval, JsonFloat, ScalarSet, StringBound, point

IMPORTANCE = FieldUse(Field(Role.COLUMN, ("importance",)), None)
RETURN_0 = Instruction(Opcode.RETURN)
RETURN_1 = Instruction(Opcode.RETURN, source=1)
MOVE = Instruction(Opcode.MOVE, destination=1)
RANGE = Instruction(Opcode.NUMBER_RANGE, destination=1)
ANY = Intervals((Interval(None, False, None, False),))


def a_program(
    *instructions: Instruction,
    constants: tuple[Any, ...] = (),
    fields: tuple[Any, ...] = (IMPORTANCE,),
    num_registers: int = 3,
) -> Program:
    return Program(instructions or (RETURN_0,), constants, fields, num_registers)


def refuse(program: Program, message: str) -> None:
    with pytest.raises(ProgramError, match=message) as caught:
        verify(program)
    assert isinstance(caught.value, VerificationError)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_valid(name: str) -> None:
    verify(SAMPLES[name])


@given(programs())
def test_random_programs_are_valid(program: Program) -> None:
    verify(program)


INSTRUCTION_FAULTS: dict[str, tuple[list[Instruction], str]] = {
    "unknown opcode": ([Instruction(200), RETURN_0], "instruction 0: unknown opcode 200"),  # type: ignore[arg-type]
    "opcode beyond a byte": ([Instruction(256), RETURN_0], "instruction 0: does not fit"),  # type: ignore[arg-type]
    "an operand that is no integer": (
        [MOVE, Instruction(Opcode.MOVE, destination=1.0), RETURN_0],  # type: ignore[arg-type]
        "instruction 1: does not fit",
    ),
    "a negative operand": ([Instruction(Opcode.MOVE, destination=-1), RETURN_0], "instruction 0: does not fit"),
    "no RETURN": ([MOVE], "instruction 0: the last instruction is not RETURN"),
    "an early RETURN": ([MOVE, RETURN_1, RETURN_1], "instruction 1: RETURN before the end"),
    "register 0 written": ([Instruction(Opcode.MOVE), RETURN_0], "instruction 0: writes register 0"),
    "a destination too large": ([Instruction(Opcode.CLEAR, destination=3), RETURN_0], "there is no register 3"),
    "a source too large": ([MOVE, Instruction(Opcode.RETURN, source=3)], "instruction 1: there is no register 3"),
    "an unwritten source": ([RETURN_1], "instruction 0: reads register 1"),
    "an unwritten destination read": ([Instruction(Opcode.OR, destination=1), RETURN_1], "0: reads register 1"),
    "a register some way has not written": (
        [Instruction(Opcode.JUMP_IF_NONE, argument=2), MOVE, RETURN_1],
        "instruction 2: reads register 1, which some way here has not written",
    ),
    "a register written only behind the second of two jumps": (
        [
            Instruction(Opcode.JUMP_IF_NONE, argument=3),
            MOVE,
            Instruction(Opcode.JUMP_IF_NONE, argument=3),
            RETURN_1,
        ],
        "instruction 3: reads register 1",
    ),
    "no such field": ([Instruction(Opcode.EXISTS, destination=1, field=1), RETURN_1], "there is no field 1"),
    "no such constant": ([RANGE._replace(argument=1), RETURN_1], "instruction 0: there is no constant 1"),
    "a constant of another type": (
        [Instruction(Opcode.CONTAINS, destination=1), RETURN_1],
        "instruction 0: constant 0 is INTERVALS, not TEXT",
    ),
    "a mode that is no Elements": (
        [Instruction(Opcode.EQUALS_ANY, destination=1, mode=3), RETURN_1],
        "instruction 0: mode 3 is no Elements",
    ),
    "a jump to itself": ([Instruction(Opcode.JUMP_IF_NONE, argument=0), RETURN_0], "jumps to 0, which is no later"),
    "a jump backwards": ([MOVE, Instruction(Opcode.JUMP_IF_NONE, argument=0), RETURN_0], "instruction 1: jumps to 0"),
    "a jump outside": ([Instruction(Opcode.JUMP_IF_NONE, argument=2), RETURN_0], "instruction 0: jumps to 2"),
}


@pytest.mark.parametrize("name", INSTRUCTION_FAULTS)
def test_faults_of_instructions(name: str) -> None:
    instructions, message = INSTRUCTION_FAULTS[name]
    refuse(a_program(*instructions, constants=(ANY,)), message)


def test_an_unused_slot_must_be_zero() -> None:
    num_cases = 0
    for opcode, spec in OPCODES.items():
        program = program_of(opcode)
        index = next(i for i, instruction in enumerate(program.instructions) if instruction.opcode is opcode)
        for slot in set(Instruction._fields) - {"opcode"} - set(spec.operands):
            instructions = list(program.instructions)
            instructions[index] = instructions[index]._replace(**{slot: 1})  # type: ignore[arg-type]
            refuse(
                dataclasses.replace(program, instructions=tuple(instructions)),
                f"instruction {index}: .*must be 0, not 1",
            )
            num_cases += 1
    assert num_cases == sum(5 - len(spec.operands) for spec in OPCODES.values()) > 0


def test_registers_written_on_every_way_may_be_read() -> None:
    jump = Instruction(Opcode.JUMP_IF_NONE, argument=3)
    verify(a_program(MOVE, jump, Instruction(Opcode.MOVE, destination=2, source=1), RETURN_1))
    # The jump may lead to the very next instruction, and destination and source may be one register.
    verify(a_program(MOVE, Instruction(Opcode.JUMP_IF_NONE, argument=2), Instruction(Opcode.MOVE, 1, 1), RETURN_1))


def test_a_range_asks_for_bounds_of_its_own_kind() -> None:
    moments = Instruction(Opcode.TIMESTAMP_RANGE, destination=1)
    text_range = Instruction(Opcode.TEXT_NUMBER_RANGE, destination=1)
    huge, fraction, small = Intervals((point(10**30),)), Intervals((point(0.5),)), Intervals((point(5),))
    for instruction in (RANGE, text_range):
        refuse(a_program(instruction, RETURN_1, constants=(huge,)), "instruction 0: .* bounds that are no numbers")
        verify(a_program(instruction, RETURN_1, constants=(fraction,)))
        verify(a_program(instruction, RETURN_1, constants=(small,)))
    refuse(a_program(moments, RETURN_1, constants=(fraction,)), "instruction 0: .* bounds that are no instants")
    verify(a_program(moments, RETURN_1, constants=(huge,)))
    verify(a_program(moments, RETURN_1, constants=(small,)))
    verify(a_program(moments, RANGE, RETURN_1, constants=(Intervals(()),)))


CONSTANT_FAULTS: dict[str, tuple[Any, str]] = {
    "no constant": ("text", "str is no type of constant"),
    "null that is no bool": (ScalarSet(null=1), "no booleans"),  # type: ignore[arg-type]
    "numbers not sorted": (ScalarSet(numbers=(2, 1)), "1 stands behind 2"),
    "a number twice": (ScalarSet(numbers=(1, 1)), "1 stands behind 1"),
    "a number that is a bool": (ScalarSet(numbers=(True,)), "True is no canonical number"),
    "a double that is an int": (ScalarSet(numbers=(1.0,)), "1.0 is no canonical number"),
    "minus zero": (ScalarSet(numbers=(-0.0,)), "-0.0 is no canonical number"),
    "NaN": (ScalarSet(numbers=(float("nan"),)), "nan is no canonical number"),
    "infinity": (ScalarSet(numbers=(float("inf"),)), "inf is no canonical number"),
    "an int beyond uint64": (ScalarSet(numbers=(2**64,)), "is no canonical number"),
    "an int below int64": (ScalarSet(numbers=(-(2**63) - 1,)), "is no canonical number"),
    "a double with a spelling": (ScalarSet(numbers=(JsonFloat("0.5"),)), "is no canonical number"),
    "a number that is absent": (ScalarSet(numbers=(None,)), "None is no canonical number"),  # type: ignore[arg-type]
    "numbers that are a list": (ScalarSet(numbers=[1]), "no tuple"),  # type: ignore[arg-type]
    "strings not sorted": (ScalarSet(strings=("b", "a")), "'a' stands behind 'b'"),
    "a string that is none": (ScalarSet(strings=(1,)), "a int stands where a string must"),  # type: ignore[arg-type]
    "instants not sorted": (ScalarSet(instants=(2, 1)), "1 stands behind 2"),
    "an instant that is a double": (ScalarSet(instants=(0.5,)), "0.5 is no instant"),  # type: ignore[arg-type]
    "an instant beyond 128 bits": (ScalarSet(instants=(INSTANT_MAX + 1,)), "is no instant"),
    "a set of strings not sorted": (Strings(("b", "a")), "'a' stands behind 'b'"),
    "a string twice": (Strings(("a", "a")), "'a' stands behind 'a'"),
    "strings that are a list": (Strings(["a"]), "no tuple"),  # type: ignore[arg-type]
    "a wrong operator": (StringBound("eq", "a"), "its operator is 'eq'"),
    "a bound that is no string": (StringBound("gt", 1), "stands where a string must"),  # type: ignore[arg-type]
    "a text that is no string": (Text(b"a"), "a bytes stands where a string must"),  # type: ignore[arg-type]
    "an empty interval": (Intervals((Interval(2, True, 1, True),)), "from 2 to 1 is empty"),
    "an empty point": (Intervals((Interval(1, True, 1, False),)), "from 1 to 1 is empty"),
    "a bound that is not canonical": (Intervals((point(1.0),)), "a bound 1.0 is no canonical number"),
    "a bound that is infinite": (Intervals((Interval(0, True, float("inf"), True),)), "a bound inf is no"),
    "a bound that is a bool": (Intervals((Interval(None, False, True, True),)), "a bound True is no"),
    "an absent bound that is closed": (Intervals((Interval(None, True, 1, True),)), "a bound None cannot be closed"),
    "closed that is no bool": (Intervals((Interval(1, 1, 2, True),)), "cannot be closed 1"),  # type: ignore[arg-type]
    "intervals that are a list": (Intervals([]), "no tuple"),  # type: ignore[arg-type]
    "intervals not sorted": (Intervals((point(2), point(1))), "not in ascending order"),
    "intervals that overlap": (Intervals((Interval(1, True, 3, True), Interval(2, True, 4, True))), "not in ascending"),
    "an interval behind one without end": (Intervals((Interval(1, True, None, False), point(2))), "not in ascending"),
    "an interval without start behind another": (
        Intervals((point(2), Interval(None, False, 5, True))),
        "not in ascending order",
    ),
    "intervals that touch": (Intervals((Interval(1, True, 2, True), Interval(2, False, 3, True))), "touch at 2"),
}


@pytest.mark.parametrize("name", CONSTANT_FAULTS)
def test_faults_of_constants(name: str) -> None:
    constant, message = CONSTANT_FAULTS[name]
    refuse(a_program(constants=(Text("fine"), constant)), f"^constant 1: .*{message}")


@pytest.mark.parametrize(
    "constant",
    [
        ScalarSet(),
        Intervals(()),
        Strings(()),
        Strings(("\ud83d", "\ud83d\ude00", "\uff61", "\U0001f600")),
        ScalarSet(numbers=(-(2**63), 0, 2**64 - 1, 2.0**64), instants=(INSTANT_MIN, INSTANT_MAX)),
        Intervals((Interval(None, False, 5, False), Interval(5, False, None, False))),
        Intervals((Interval(2**53 - 1, True, 2.0**70, False),)),
    ],
)
def test_constants_at_the_limits(constant: Constant) -> None:
    verify(a_program(constants=(constant,)))


@pytest.mark.parametrize(
    "text",
    [
        "", " 1", "1 ", '{"a": 1}', "[1,]", "[,1]", "[1 ,2]", "{}{}", "[}", "{]", "[", "{", "]", '{"a"}', '{"a":}',
        '{"a":1,}', "{1:2}", '{"a":1 ,"b":2}', "01", "1.", ".5", "+1", "-", "1e", "NaN", "Infinity", "nul", "truefalse",
        "'a'", '"', '"\\x"', '"\\u12"', '"\n"', '"\x1f"', '"\ud800"', '["a""b"]', '{"a":"b":"c"}', "[[]", "[]]",
        "\ufeff1", "\u0663", "[" * 1025 + "]" * 1025, "[" * 100_000, '{"a":' * 1025 + "1" + "}" * 1025,
    ],
)  # fmt: skip
def test_json_that_is_refused(text: str) -> None:
    refuse(a_program(constants=(Json(text),)), "^constant 0: its (text is no compact JSON|JSON nests deeper than 1024)")


@pytest.mark.parametrize(
    "text",
    [
        "null", "true", "-0", "1.50", "1e400", "-1E-5", '""', '"é\U0001f600\x7f"', '"\\ud800\\n\\/"', "[]", "{}",
        '[{},"a",[]]', '{"":{},"a":[1,{"b":null}],"a":"twice"}', "[" * 1024 + "]" * 1024,
        '{"a":' * 1024 + "1" + "}" * 1024, "9" * 10_000,
    ],
)  # fmt: skip
def test_json_that_is_accepted(text: str) -> None:
    verify(a_program(constants=(Json(text),)))


FIELD_FAULTS: dict[str, tuple[Any, str]] = {
    "a path that is empty": (Field(Role.METADATA, ()), "its path is empty"),
    "a path that is a list": (Field(Role.METADATA, ["a"]), "its path is empty"),  # type: ignore[arg-type]
    "a column of two names": (Field(Role.COLUMN, ("a", "b")), "a column has one name, not 2"),
    "a role that is none": (Field(7, ("a",)), "its role is 7"),  # type: ignore[arg-type]
    "a key that is no string": (Field(Role.METADATA, (1,)), "a int stands where a string must"),  # type: ignore[arg-type]
    "a path too deep": (Field(Role.METADATA, ("a",) * 1025), "its path has 1025 keys"),
    "a field twice": (IMPORTANCE.field, "the program already has this field"),
}


@pytest.mark.parametrize("name", FIELD_FAULTS)
def test_faults_of_fields(name: str) -> None:
    field, message = FIELD_FAULTS[name]
    refuse(a_program(fields=(IMPORTANCE, FieldUse(field, None))), f"^field 1: {message}")


def test_the_literal_of_a_field_is_a_string() -> None:
    refuse(a_program(fields=(FieldUse(IMPORTANCE.field, 5),)), "^field 0: a int stands")  # type: ignore[arg-type]


def test_sizes() -> None:
    refuse(Program((), (), (), 1), "there is no instruction")
    refuse(a_program(num_registers=0), "the number of registers is 0, not 1 to 256")
    refuse(a_program(num_registers=257), "the number of registers is 257")
    refuse(a_program(constants=(Text("a"),) * (MAX_ITEMS + 1)), "65536 constants, more than 65535")
    refuse(a_program(*[MOVE] * MAX_ITEMS, RETURN_1), "65536 instructions, more than 65535")
    refuse(dataclasses.replace(a_program(), constants=[]), "constants are no tuple")  # type: ignore[arg-type]
    many = tuple(FieldUse(Field(Role.METADATA, (str(number),)), None) for number in range(MAX_ITEMS + 1))
    refuse(a_program(fields=many), "65536 fields, more than 65535")
    last = Instruction(Opcode.EXISTS, destination=255, field=MAX_ITEMS - 1)
    verify(a_program(last, Instruction(Opcode.RETURN, source=255), fields=many[:-1], num_registers=256))


def test_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier, "MAX_LENGTH", 3)
    verify(a_program(constants=(Text("abc"), Strings(("a", "b", "c"))), fields=()))
    refuse(a_program(constants=(Text("abcd"),), fields=()), "^constant 0: a string has 4 characters, more than 3")
    refuse(
        a_program(constants=(ScalarSet(numbers=(1, 2, 3, 4)),), fields=()), "^constant 0: it has 4 members, more than 3"
    )


def test_the_longest_program_with_a_jump_everywhere() -> None:
    jumps = [Instruction(Opcode.JUMP_IF_NONE, argument=MAX_ITEMS - 1 - index % 7) for index in range(MAX_ITEMS - 10)]
    verify(a_program(*jumps, *[MOVE] * 9, RETURN_0))
    refuse(a_program(*jumps, *[MOVE] * 9, RETURN_1), f"instruction {MAX_ITEMS - 1}: reads register 1")


def test_the_table_says_what_is_checked() -> None:
    """A field and an Elements are read by tests alone, so a control opcode with either would need a look here."""
    for spec in OPCODES.values():
        assert spec.field or not (spec.elements or spec.argument is Argument.CONSTANT)
    assert {int(elements) for elements in Elements} == {0, 1, 2}
