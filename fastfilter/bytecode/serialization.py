"""Programs as bytes.

The format, all numbers little-endian::

    header        magic "FFPR", version u16, number of registers u16, checksum u32
    instructions  length u32 in bytes; words of eight bytes (fastfilter.bytecode.opcodes)
    fields        length u32 in bytes; each: role u8, count u32, strings, a literal u8 (1: a string follows)
    constants     length u32 in bytes; each: type u8, then its parts as the functions below write them

A string is its length u32 in bytes and its UTF-8, a lone surrogate in three bytes. An integer is 16 bytes in two's
complement, a double its IEEE 754 bits. The checksum is the CRC-32 of everything else. A program has exactly one form,
and nothing but that form is read: equal programs are equal bytes, and the other way round.
"""

from __future__ import annotations

import enum
import struct
import zlib
from collections.abc import Callable
from typing import Any, Final, TypeVar

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text, constant_type
from fastfilter.bytecode.opcodes import ConstantType, Opcode
from fastfilter.bytecode.program import WORD, Field, FieldUse, Instruction, Program, Role
from fastfilter.bytecode.verifier import verify
from fastfilter.errors import ProgramError
from fastfilter.values import Interval, ScalarSet, StringBound

__all__ = ["FORMAT_VERSION", "MAGIC", "from_bytes", "to_bytes"]

MAGIC: Final = b"FFPR"
FORMAT_VERSION: Final = 1
_HEADER: Final = struct.Struct("<4sHH")
_CHECKSUM: Final = struct.Struct("<I")
_U32: Final = struct.Struct("<I")
_DOUBLE: Final = struct.Struct("<d")
_INTEGER_SIZE: Final = 16
_NO_NUMBER, _INTEGER, _FLOAT = range(3)
"""Tags of a number that may be absent."""
_Member = TypeVar("_Member", bound=enum.IntEnum)


def to_bytes(program: Program) -> bytes:
    """The program as bytes, to be read by :func:`from_bytes`.

    Raises:
        ProgramError: the program does not pass the verifier.
    """
    verify(program)
    header = _HEADER.pack(MAGIC, FORMAT_VERSION, program.num_registers)
    fields, constants = _Writer(), _Writer()
    for use in program.fields:
        fields.field(use)
    for constant in program.constants:
        constants.byte(constant_type(constant))
        _WRITERS[constant_type(constant)](constants, constant)
    sections = (program.words, b"".join(fields.parts), b"".join(constants.parts))
    body = b"".join(part for section in sections for part in (_U32.pack(len(section)), section))
    return header + _CHECKSUM.pack(zlib.crc32(body, zlib.crc32(header))) + body


def from_bytes(data: bytes | bytearray | memoryview) -> Program:
    """The program that :func:`to_bytes` wrote, verified. Time and memory are bounded by the length of ``data``.

    Raises:
        ProgramError: the bytes are no program, damaged, of another version, or a program the verifier refuses.
    """
    reader = _Reader(bytes(memoryview(data)))
    header = reader.take(_HEADER.size)
    magic, version, num_registers = _HEADER.unpack(header)
    if magic != MAGIC:
        raise ProgramError("these bytes are no program")
    if version != FORMAT_VERSION:
        raise ProgramError(f"the program is of version {version}; this release reads version {FORMAT_VERSION}")
    (checksum,) = _CHECKSUM.unpack(reader.take(_CHECKSUM.size))
    if checksum != zlib.crc32(memoryview(reader.data)[reader.position :], zlib.crc32(header)):
        raise ProgramError("the program is damaged: its checksum is wrong")

    instructions = _read_instructions(reader.take(reader.count()))
    fields_reader, constants_reader = _Reader(reader.take(reader.count())), _Reader(reader.take(reader.count()))
    reader.expect_end()
    fields: list[FieldUse] = []
    while not fields_reader.at_end:
        fields.append(fields_reader.field())
    constants: list[Constant] = []
    while not constants_reader.at_end:
        constants.append(_READERS[constants_reader.member(ConstantType)](constants_reader))
    program = Program(instructions, tuple(constants), tuple(fields), num_registers)
    verify(program)
    return program


def _read_instructions(words: bytes) -> tuple[Instruction, ...]:
    if len(words) % WORD.size:
        raise ProgramError("the program is damaged: an instruction is cut off")
    try:
        return tuple(Instruction(Opcode(opcode), *operands) for opcode, *operands in WORD.iter_unpack(words))
    except ValueError as error:
        raise ProgramError(f"the program has an unknown opcode: {error}") from None


class _Writer:
    """Appends the parts of a section; each method has its twin in :class:`_Reader`."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def byte(self, number: int) -> None:
        self.parts.append(bytes((number,)))

    def count(self, number: int) -> None:
        self.parts.append(_U32.pack(number))

    def string(self, string: str) -> None:
        encoded = string.encode("utf-8", "surrogatepass")
        self.count(len(encoded))
        self.parts.append(encoded)

    def strings(self, strings: tuple[str, ...]) -> None:
        self.count(len(strings))
        for string in strings:
            self.string(string)

    def integer(self, number: int) -> None:
        self.parts.append(number.to_bytes(_INTEGER_SIZE, "little", signed=True))

    def number(self, number: float | None) -> None:
        if number is None:
            self.byte(_NO_NUMBER)
        elif isinstance(number, int):
            self.byte(_INTEGER)
            self.integer(number)
        else:
            self.byte(_FLOAT)
            self.parts.append(_DOUBLE.pack(number))

    def field(self, use: FieldUse) -> None:
        self.byte(use.field.role)
        self.strings(use.field.path)
        self.byte(use.not_timestamp is not None)
        if use.not_timestamp is not None:
            self.string(use.not_timestamp)

    def scalars(self, constant: ScalarSet) -> None:
        self.byte(constant.null | constant.false << 1 | constant.true << 2)
        self.count(len(constant.numbers))
        for number in constant.numbers:
            self.number(number)
        self.strings(constant.strings)
        self.count(len(constant.instants))
        for instant in constant.instants:
            self.integer(instant)

    def intervals(self, constant: Intervals) -> None:
        self.count(len(constant.values))
        for interval in constant.values:
            self.byte(interval.lower_closed | interval.upper_closed << 1)
            self.number(interval.lower)
            self.number(interval.upper)

    def string_bound(self, constant: StringBound) -> None:
        self.string(constant.operator)
        self.string(constant.value)


class _Reader:
    """Reads what :class:`_Writer` wrote; ProgramError wherever the bytes are anything else."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    @property
    def at_end(self) -> bool:
        return self.position == len(self.data)

    def expect_end(self) -> None:
        if not self.at_end:
            raise ProgramError(f"the program is damaged: {len(self.data) - self.position} bytes follow its end")

    def take(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self.data):
            raise ProgramError("the program is cut off, or a length in it is wrong")
        taken = self.data[self.position : end]
        self.position = end
        return taken

    def byte(self, limit: int) -> int:
        """A byte below the limit."""
        (number,) = self.take(1)
        if number >= limit:
            raise ProgramError(f"the program is damaged: a byte is {number}, not below {limit}")
        return number

    def member(self, enumeration: type[_Member]) -> _Member:
        try:
            return enumeration(self.byte(256))
        except ValueError as error:
            raise ProgramError(f"the program is damaged: {error}") from None

    def count(self) -> int:
        (number,) = _U32.unpack(self.take(_U32.size))
        return int(number)

    def string(self) -> str:
        try:
            return self.take(self.count()).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise ProgramError(f"the program is damaged: a string is no UTF-8 ({error.reason})") from None

    def strings(self) -> tuple[str, ...]:
        return tuple(self.string() for _ in range(self.count()))

    def integer(self) -> int:
        return int.from_bytes(self.take(_INTEGER_SIZE), "little", signed=True)

    def number(self) -> int | float | None:
        tag = self.byte(3)
        if tag == _NO_NUMBER:
            return None
        if tag == _INTEGER:
            return self.integer()
        (number,) = _DOUBLE.unpack(self.take(_DOUBLE.size))
        return float(number)

    def field(self) -> FieldUse:
        field = Field(self.member(Role), self.strings())
        return FieldUse(field, self.string() if self.byte(2) else None)

    def scalars(self) -> ScalarSet:
        named = self.byte(8)
        numbers = tuple(self.number() for _ in range(self.count()))
        strings = self.strings()
        instants = tuple(self.integer() for _ in range(self.count()))
        # The verifier refuses a number that is None.
        return ScalarSet(bool(named & 1), bool(named & 2), bool(named & 4), numbers, strings, instants)  # type: ignore[arg-type]

    def intervals(self) -> Intervals:
        return Intervals(tuple(self._interval() for _ in range(self.count())))

    def _interval(self) -> Interval:
        closed, lower, upper = self.byte(4), self.number(), self.number()
        return Interval(lower, bool(closed & 1), upper, bool(closed & 2))

    def string_bound(self) -> StringBound:
        return StringBound(self.string(), self.string())


# How each type of constant is written, and how it is read.
_WRITERS: Final[dict[ConstantType, Callable[[_Writer, Any], None]]] = {
    ConstantType.SCALARS: _Writer.scalars,
    ConstantType.INTERVALS: _Writer.intervals,
    ConstantType.STRING_BOUND: _Writer.string_bound,
    ConstantType.TEXT: lambda writer, constant: writer.string(constant.value),
    ConstantType.STRINGS: lambda writer, constant: writer.strings(constant.values),
    ConstantType.JSON: lambda writer, constant: writer.string(constant.text),
}
_READERS: Final[dict[ConstantType, Callable[[_Reader], Constant]]] = {
    ConstantType.SCALARS: _Reader.scalars,
    ConstantType.INTERVALS: _Reader.intervals,
    ConstantType.STRING_BOUND: _Reader.string_bound,
    ConstantType.TEXT: lambda reader: Text(reader.string()),
    ConstantType.STRINGS: lambda reader: Strings(reader.strings()),
    ConstantType.JSON: lambda reader: Json(reader.string()),
}
