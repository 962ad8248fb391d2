"""Serialised programs: the way there and back, and any bytes at all."""

from __future__ import annotations

import struct
import textwrap
import tracemalloc
import zlib

import pytest
from golden_files import GOLDEN, check_golden
from hypothesis import example, given
from hypothesis import strategies as st
from program_strategies import programs
from sample_programs import SAMPLES

from fastfilter.bytecode.opcodes import Opcode
from fastfilter.bytecode.program import Instruction, Program
from fastfilter.bytecode.serialization import FORMAT_VERSION, MAGIC, from_bytes, to_bytes
from fastfilter.errors import ProgramError

HEADER_SIZE = 12


def seal(data: bytes) -> bytes:
    """The bytes with the checksum they must have."""
    checksum = zlib.crc32(data[HEADER_SIZE:], zlib.crc32(data[:8]))
    return data[:8] + struct.pack("<I", checksum) + data[HEADER_SIZE:]


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_come_back(name: str) -> None:
    data = to_bytes(SAMPLES[name])
    assert data[:4] == MAGIC
    program = from_bytes(data)
    assert program == SAMPLES[name]
    assert to_bytes(program) == data
    assert seal(data) == data
    assert all(type(instruction.opcode) is Opcode for instruction in program.instructions)
    assert repr(program.constants) == repr(SAMPLES[name].constants)  # 1 == 1.0 == True, but they are not spelled alike
    assert from_bytes(bytearray(data)) == from_bytes(memoryview(data)) == program


@given(programs())
def test_random_programs_come_back(program: Program) -> None:
    data = to_bytes(program)
    assert from_bytes(data) == program
    assert repr(from_bytes(data)) == repr(program)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_format_does_not_change(name: str) -> None:
    """Bytes that one release has written are read by the next, or the version is another."""
    assert FORMAT_VERSION == 1
    check_golden(f"serialized/{name}.hex", textwrap.fill(to_bytes(SAMPLES[name]).hex(), 64) + "\n")
    assert from_bytes(bytes.fromhex((GOLDEN / f"serialized/{name}.hex").read_text())) == SAMPLES[name]


def test_equal_programs_are_equal_bytes() -> None:
    plain = Program((Instruction(0),), (), (), 1)  # type: ignore[arg-type]  # a number in the place of the opcode it equals
    named = Program((Instruction(Opcode.RETURN),), (), (), 1)
    assert plain == named
    assert to_bytes(plain) == to_bytes(named)


def test_an_invalid_program_is_not_serialised() -> None:
    with pytest.raises(ProgramError, match="instruction 0: reads register 1"):
        to_bytes(Program((Instruction(Opcode.RETURN, source=1),), (), (), 2))


@pytest.mark.parametrize("name", SAMPLES)
def test_every_flipped_bit_is_noticed(name: str) -> None:
    data = bytearray(to_bytes(SAMPLES[name]))
    for bit in range(8 * len(data)):
        data[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ProgramError, match=r"no program|of version|checksum"):
            from_bytes(bytes(data))
        data[bit // 8] ^= 1 << bit % 8


@pytest.mark.parametrize("name", SAMPLES)
def test_every_truncation_is_noticed(name: str) -> None:
    data = to_bytes(SAMPLES[name])
    for size in range(len(data)):
        with pytest.raises(ProgramError):
            from_bytes(data[:size])
        if size >= HEADER_SIZE:
            with pytest.raises(ProgramError, match=r"cut off|length"):
                from_bytes(seal(data[:size]))
    with pytest.raises(ProgramError, match="1 bytes follow its end"):
        from_bytes(seal(data + b"\0"))


@given(st.binary(max_size=200))
@example(b"")
@example(MAGIC)
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ProgramError):
        from_bytes(data)
    with pytest.raises(ProgramError):
        from_bytes(seal(MAGIC + struct.pack("<HHI", FORMAT_VERSION, 2, 0) + data))


@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_damage_under_a_right_checksum_is_refused_or_a_program_in_its_one_form(name: str, data: st.DataObject) -> None:
    damaged = bytearray(to_bytes(SAMPLES[name]))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(8, len(damaged) - 1))
        damaged[position] = data.draw(st.sampled_from([0, 1, 2, 3, 127, 128, 255]) | st.integers(0, 255))
    sealed = seal(bytes(damaged))
    try:
        program = from_bytes(sealed)
    except ProgramError:
        return
    assert to_bytes(program) == sealed


@pytest.mark.parametrize("size", [2**31, 2**32 - 1])
def test_an_absurd_length_allocates_nothing(size: int) -> None:
    data = to_bytes(SAMPLES["long_constants"])
    num_refused = 0
    tracemalloc.start()
    try:
        for position in range(HEADER_SIZE, len(data) - 3):
            damaged = seal(data[:position] + struct.pack("<I", size) + data[position + 4 :])
            try:
                program = from_bytes(damaged)
            except ProgramError:
                num_refused += 1
            else:  # part of a number or of a string, and not a length
                assert to_bytes(program) == damaged
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    assert num_refused > 400


def test_other_versions_are_named() -> None:
    data = to_bytes(SAMPLES["everything"])
    with pytest.raises(ProgramError, match="of version 2; this release reads version 1"):
        from_bytes(seal(data[:4] + struct.pack("<H", 2) + data[6:]))


def test_other_bytes_are_no_program() -> None:
    data = to_bytes(SAMPLES["everything"])
    with pytest.raises(ProgramError, match="these bytes are no program"):
        from_bytes(seal(b"PAR1" + data[4:]))


def test_half_an_instruction_is_refused() -> None:
    data = to_bytes(SAMPLES["everything"])
    with pytest.raises(ProgramError, match="an instruction is cut off"):
        from_bytes(seal(data[:HEADER_SIZE] + struct.pack("<I", 7) + data[HEADER_SIZE + 4 : -9] + data[-8:]))


def test_an_unknown_opcode_is_named() -> None:
    data = to_bytes(SAMPLES["everything"])
    with pytest.raises(ProgramError, match="unknown opcode: 99"):
        from_bytes(seal(data[:16] + b"\x63" + data[17:]))


def test_what_is_no_bytes_is_a_type_error() -> None:
    for wrong in ("FFPR", 5, None):
        with pytest.raises(TypeError):
            from_bytes(wrong)  # type: ignore[arg-type]
