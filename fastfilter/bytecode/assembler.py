"""The assembler: reads a listing as :mod:`fastfilter.bytecode.disassembler` writes and describes it.

Empty lines and lines of comment may stand anywhere. Lines of different kinds may come in any order, as long as fields,
constants and instructions are each numbered from 0 upwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Final

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text
from fastfilter.bytecode.disassembler import operand_prefix
from fastfilter.bytecode.opcodes import OPCODES, ConstantType, Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program, Role
from fastfilter.bytecode.verifier import VerificationError, verify
from fastfilter.errors import ProgramError, nearest_name
from fastfilter.values import Elements, Interval, ScalarSet, StringBound

__all__ = ["assemble"]

_INDEX: Final = "[0-9]{1,9}"
# 40 digits hold an instant of 128 bits; a double is spelled in fewer.
_NUMBER: Final = r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:e[+-]?[0-9]{1,4})?"
_JSON_STRING: Final = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_STRING: Final = f"(?:{_JSON_STRING})++"

_REGISTERS_LINE: Final = re.compile(f"registers +({_INDEX})")
_FIELD_LINE: Final = re.compile(
    f"field +({_INDEX}) *= *(column|metadata)((?: +{_STRING})++)(?: +not_timestamp +({_STRING}))?"
)
_CONSTANT_LINE: Final = re.compile(f"constant +({_INDEX}) *= *([a-z_]+)(?: +(.*))?", re.DOTALL)
_INSTRUCTION_LINE: Final = re.compile(f"({_INDEX}) +([A-Z_]+)([^;]*)(?:;.*)?", re.DOTALL)

_ONE_JSON_STRING: Final = re.compile(_JSON_STRING)
_STRING_TOKEN: Final = re.compile(f" *({_STRING})(?= |$)")
_SCALAR_TOKEN: Final = re.compile(f" *(?:(null|false|true)|({_NUMBER})|@(-?[0-9]{{1,40}})|({_STRING}))(?= |$)")
_INTERVAL_TOKEN: Final = re.compile(rf" *([\[(])(?:-inf|({_NUMBER})), *(?:inf|({_NUMBER}))([\])])(?= |$)")
_BOUND_TOKEN: Final = re.compile(f"([a-z]+) +({_STRING})")


class _Fault(Exception):
    """The reason for which a line cannot be read."""


def assemble(text: str) -> Program:
    """The program of a listing: ``assemble(disassemble(program)) == program`` for every valid program.

    Raises:
        ProgramError: a line cannot be read, or the program does not pass the verifier; the message names the line.

    Example:
        >>> assemble("registers 1\\n0 RETURN r0").num_registers
        1
    """
    num_registers: int | None = None
    fields: list[FieldUse] = []
    constants: list[Constant] = []
    instructions: list[Instruction] = []
    line_of: dict[tuple[str, int], int] = {}
    line_number = 0
    for line_number, raw_line in enumerate(text.split("\n"), 1):
        line = raw_line.strip(" \t\r")
        if not line or line.startswith(";"):
            continue
        try:
            if match := _REGISTERS_LINE.fullmatch(line):
                if num_registers is not None:
                    raise _Fault("the number of registers stands twice")
                num_registers = int(match[1])
            elif match := _FIELD_LINE.fullmatch(line):
                line_of["field", _next_number(match[1], len(fields))] = line_number
                path = tuple(_read_string(token[1]) for token in _tokens(_STRING_TOKEN, match[3]))
                literal = None if match[4] is None else _read_string(match[4])
                fields.append(FieldUse(Field(Role[match[2].upper()], path), literal))
            elif match := _CONSTANT_LINE.fullmatch(line):
                line_of["constant", _next_number(match[1], len(constants))] = line_number
                constants.append(_read_constant(match[2], match[3] or ""))
            elif match := _INSTRUCTION_LINE.fullmatch(line):
                line_of["instruction", _next_number(match[1], len(instructions))] = line_number
                instructions.append(_read_instruction(match[2], match[3].split()))
            else:
                raise _Fault(f"{_excerpt(line)} is no line of a listing")
        except _Fault as fault:
            raise ProgramError(f"line {line_number}: {fault}") from None
    if num_registers is None:
        raise ProgramError(f"line {line_number}: the listing ends without its number of registers")
    program = Program(tuple(instructions), tuple(constants), tuple(fields), num_registers)
    try:
        verify(program)
    except VerificationError as error:
        raise ProgramError(f"line {line_of.get((error.section, error.index), line_number)}: {error}") from None
    return program


def _excerpt(text: str) -> str:
    return ascii(text if len(text) <= 60 else text[:60] + "...")


def _next_number(text: str, expected: int) -> int:
    if int(text) != expected:
        raise _Fault(f"its number is {int(text)}, but the next is {expected}")
    return expected


def _tokens(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The tokens that a text is made of, every one of which must match the pattern."""
    position, end = 0, len(text.rstrip(" "))
    while position < end:
        token = pattern.match(text, position)
        if token is None:
            raise _Fault(f"cannot read {_excerpt(text[position:])}")
        yield token
        position = token.end()


def _read_string(text: str) -> str:
    return "".join(json.loads(part) for part in _ONE_JSON_STRING.findall(text))


def _read_number(text: str) -> int | float:
    return float(text) if "." in text or "e" in text else int(text)


def _read_instruction(name: str, operands: list[str]) -> Instruction:
    if name not in Opcode.__members__:
        nearest = nearest_name(name, Opcode.__members__)
        raise _Fault(f"there is no opcode {name}" + (f"; did you mean {nearest}?" if nearest else ""))
    opcode = Opcode[name]
    spec = OPCODES[opcode]
    if len(operands) != len(spec.operands):
        raise _Fault(f"{name} has {len(spec.operands)} operands ({', '.join(spec.operands)}), not {len(operands)}")
    slots = {}
    for slot, text in zip(spec.operands, operands, strict=True):
        if slot == "mode":
            if text not in Elements.__members__:
                raise _Fault(f"{_excerpt(text)} is none of {', '.join(Elements.__members__)}")
            slots[slot] = int(Elements[text])
        else:
            prefix = operand_prefix(spec, slot)
            if not re.fullmatch(prefix + _INDEX, text):
                raise _Fault(f"{_excerpt(text)} stands where {slot} ({prefix} and a number) must")
            slots[slot] = int(text[1:])
    return Instruction(opcode, **slots)


def _read_constant(name: str, text: str) -> Constant:
    if name.upper() not in ConstantType.__members__:
        raise _Fault(f"there is no type of constant {name}")
    return _READERS[ConstantType[name.upper()]](text)


def _read_scalars(text: str) -> ScalarSet:
    named: set[str] = set()
    numbers: list[int | float] = []
    instants: list[int] = []
    strings: list[str] = []
    for token in _tokens(_SCALAR_TOKEN, text):
        name, number, instant, string = token.groups()
        if name is not None:
            if name in named:
                raise _Fault(f"{name} stands twice")
            named.add(name)
        elif number is not None:
            numbers.append(_read_number(number))
        elif instant is not None:
            instants.append(int(instant))
        else:
            strings.append(_read_string(string))
    return ScalarSet(
        "null" in named, "false" in named, "true" in named, tuple(numbers), tuple(strings), tuple(instants)
    )


def _read_intervals(text: str) -> Intervals:
    return Intervals(
        tuple(
            Interval(
                None if token[2] is None else _read_number(token[2]),
                token[1] == "[",
                None if token[3] is None else _read_number(token[3]),
                token[4] == "]",
            )
            for token in _tokens(_INTERVAL_TOKEN, text)
        )
    )


def _read_string_bound(text: str) -> StringBound:
    match = _BOUND_TOKEN.fullmatch(text)
    if match is None:
        raise _Fault(f"{_excerpt(text)} is no operator and string")
    return StringBound(match[1], _read_string(match[2]))


def _read_text(text: str) -> Text:
    strings = _read_strings(text).values
    if len(strings) != 1:
        raise _Fault(f"{len(strings)} strings stand where one must")
    return Text(strings[0])


def _read_strings(text: str) -> Strings:
    return Strings(tuple(_read_string(token[1]) for token in _tokens(_STRING_TOKEN, text)))


_READERS: Final[dict[ConstantType, Callable[[str], Constant]]] = {
    ConstantType.SCALARS: _read_scalars,
    ConstantType.INTERVALS: _read_intervals,
    ConstantType.STRING_BOUND: _read_string_bound,
    ConstantType.TEXT: _read_text,
    ConstantType.STRINGS: _read_strings,
    ConstantType.JSON: Json,
}
