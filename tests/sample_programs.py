"""Programs written by hand, by name: what listings and serialised forms are tested on."""

from __future__ import annotations

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import OPCODES, Argument, ConstantType, Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program, Role
from fastfilter.bytecode.verifier import INSTANT_MAX, INSTANT_MIN
from fastfilter.values import Elements, Interval, ScalarSet, StringBound, point

_CONSTANTS: dict[ConstantType, Constant] = {
    ConstantType.SCALARS: ScalarSet(null=True, true=True, numbers=(-1, 0.5, 7), strings=("a", "b"), instants=(0,)),
    ConstantType.INTERVALS: Intervals((Interval(None, False, 0, False), Interval(1, True, 2, False))),
    ConstantType.STRING_BOUND: StringBound("gte", "m"),
    ConstantType.TEXT: Text("needle"),
    ConstantType.STRINGS: Strings(("5", "five")),
    ConstantType.JSON: Json('{"tags":["important"]}'),
}


def program_of(opcode: Opcode) -> Program:
    """The smallest sensible program in which the opcode stands."""
    spec = OPCODES[opcode]
    instructions = [Instruction(Opcode.MOVE, destination=1)]
    if opcode is not Opcode.RETURN:
        instructions.append(
            Instruction(
                opcode,
                destination=1 if spec.writes else 0,
                source=1 if spec.reads_source else 0,
                mode=Elements.ALSO if spec.elements else 0,
                argument=2 if spec.argument is Argument.TARGET else 0,
            )
        )
    instructions.append(Instruction(Opcode.RETURN, source=1))
    constants = (_CONSTANTS[spec.constant],) if spec.constant is not None else ()
    uses = (FieldUse(Field(Role.METADATA, ("a", "b")), None),) if spec.field else ()
    return Program(tuple(instructions), constants, uses, 2)


def _every_opcode() -> Program:
    """Every test of the table one after the other, then every other opcode."""
    constants = tuple(_CONSTANTS.values())
    index_of = {constant_type: index for index, constant_type in enumerate(_CONSTANTS)}
    instructions = [
        Instruction(
            opcode,
            destination=1,
            mode=Elements.ONLY if spec.elements else 0,
            argument=index_of[spec.constant] if spec.constant is not None else 0,
        )
        for opcode, spec in OPCODES.items()
        if spec.field
    ]
    instructions += [
        Instruction(Opcode.CLEAR, destination=2),
        Instruction(Opcode.OR, destination=2, source=1),
        Instruction(Opcode.JUMP_IF_NONE, source=2, argument=len(instructions) + 5),
        Instruction(Opcode.MOVE, destination=1, source=2),
        Instruction(Opcode.AND_NOT, destination=1, source=2),
        Instruction(Opcode.RETURN, source=1),
    ]
    return Program(tuple(instructions), constants, (FieldUse(Field(Role.COLUMN, ("importance",)), None),), 3)


SAMPLES: dict[str, Program] = {
    "everything": Program((Instruction(Opcode.RETURN),), (), (), 1),
    "support_tickets": Program(
        (
            Instruction(Opcode.NUMBER_RANGE, destination=1, source=0, field=1, argument=0),
            Instruction(Opcode.JUMP_IF_NONE, source=1, argument=6),
            Instruction(Opcode.EQUALS_ANY, destination=1, source=1, mode=Elements.NEVER, field=0, argument=1),
            Instruction(Opcode.JUMP_IF_NONE, source=1, argument=6),
            Instruction(Opcode.CONTAINS_IGNORE_CASE, destination=2, source=1, field=2, argument=2),
            Instruction(Opcode.AND_NOT, destination=1, source=2),
            Instruction(Opcode.RETURN, source=1),
        ),
        (Intervals((Interval(0.7, True, None, False),)), ScalarSet(strings=("support",)), Text("resolved")),
        (
            FieldUse(Field(Role.METADATA, ("channel",)), '"support"'),
            FieldUse(Field(Role.COLUMN, ("importance",)), None),
            FieldUse(Field(Role.COLUMN, ("content",)), None),
        ),
        3,
    ),
    "listing": Program(
        (
            Instruction(Opcode.TEXT_EQUALS_ANY, destination=1, source=0, field=0, argument=0),
            Instruction(Opcode.JUMP_IF_NONE, source=1, argument=4),
            Instruction(Opcode.TEXT_NUMBER_RANGE, destination=1, source=1, field=1, argument=1),
            Instruction(Opcode.JSON_CONTAINS, destination=1, source=1, field=2, argument=2),
            Instruction(Opcode.RETURN, source=1),
        ),
        (
            Strings(("conversation", "document")),
            Intervals((Interval(100, False, 500, True), point(1000))),
            Json('{"labels":["important",null,1.50],"näh\\u00e9":{}}'),
        ),
        (
            FieldUse(Field(Role.METADATA, ("sourceType",)), '"conversation"'),
            FieldUse(Field(Role.METADATA, ("word.count",)), "100"),
            FieldUse(Field(Role.METADATA, ("",)), '{"labels":["important",null,1.50]}'),
        ),
        2,
    ),
    "every_opcode": _every_opcode(),
    "timestamps": Program(
        (
            Instruction(Opcode.TIMESTAMP_RANGE, destination=1, source=0, field=0, argument=0),
            Instruction(Opcode.EQUALS_ANY, destination=2, source=0, mode=Elements.ALSO, field=1, argument=1),
            Instruction(Opcode.OR, destination=1, source=2),
            Instruction(Opcode.RETURN, source=1),
        ),
        (
            Intervals(
                (
                    Interval(INSTANT_MIN, True, -62_167_219_200_000_000_000, False),
                    Interval(1_704_247_200_000_000_000, False, 1_704_247_200_500_000_001, True),
                    Interval(INSTANT_MAX, True, None, False),
                )
            ),
            ScalarSet(instants=(-1, 0, 253_402_300_799_999_999_999)),
        ),
        (
            FieldUse(Field(Role.COLUMN, ("created_at",)), None),
            FieldUse(Field(Role.METADATA, ("seen", "last")), None),
        ),
        3,
    ),
    "odd_strings": Program(
        (
            Instruction(Opcode.EQUALS_ANY, destination=1, source=0, mode=Elements.ONLY, field=0, argument=0),
            Instruction(Opcode.STRING_RANGE, destination=1, source=1, field=1, argument=1),
            Instruction(Opcode.CONTAINS, destination=1, source=1, field=0, argument=2),
            Instruction(Opcode.JSON_CONTAINS, destination=1, source=1, field=1, argument=3),
            Instruction(Opcode.RETURN, source=1),
        ),
        (
            # A surrogate pair in two characters is not the one character, and both are legal.
            ScalarSet(strings=("", '\x00\n\t"\\;', "a" * 70, "\ud83d", "\ud83d\ude00", "\uff61", "\U0001f600")),
            StringBound("lt", "; field 0 = not_timestamp\u2028"),
            Text(" \x7f \u202e"),
            Json('"\\ud83d ; \u2028"'),
        ),
        (
            FieldUse(Field(Role.METADATA, ("new\nline", "\udc00", "source")), '"\ud800"'),
            FieldUse(Field(Role.METADATA, ("; destination",)), None),
        ),
        2,
    ),
    "empty_constants": Program(
        (
            Instruction(Opcode.EQUALS_ANY, destination=1, source=0, field=0, argument=0),
            Instruction(Opcode.NUMBER_RANGE, destination=1, source=0, field=0, argument=1),
            Instruction(Opcode.TEXT_EQUALS_ANY, destination=1, source=0, field=0, argument=2),
            Instruction(Opcode.NUMBER_RANGE, destination=255, source=1, field=0, argument=3),
            Instruction(Opcode.RETURN, source=1),
        ),
        (ScalarSet(), Intervals(()), Strings(()), Intervals((Interval(None, False, None, False),))),
        (FieldUse(Field(Role.COLUMN, ("importance",)), None),),
        256,
    ),
    "long_constants": Program(
        (
            Instruction(Opcode.EQUALS_ANY, destination=1, source=0, field=0, argument=0),
            Instruction(Opcode.NUMBER_RANGE, destination=1, source=0, field=0, argument=1),
            Instruction(Opcode.RETURN, source=1),
        ),
        (
            ScalarSet(
                numbers=(-(2**63), -0.1, 5e-324, 0.5, 2**63, 2**64 - 1, 2.0**64, 1e300),
                strings=tuple(f"value{number:02}" for number in range(20)),
            ),
            Intervals(tuple(Interval(10 * n, True, 10 * n + 0.5, False) for n in range(20))),
        ),
        (FieldUse(Field(Role.COLUMN, ("importance",)), None),),
        2,
    ),
}
