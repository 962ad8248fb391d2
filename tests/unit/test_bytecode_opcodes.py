"""The opcode table is whole, and everything that derives from it knows every opcode and every type of constant."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from program_strategies import programs
from sample_programs import SAMPLES, program_of

from fastfilter.bytecode import assembler, reference, serialization
from fastfilter.bytecode.assembler import assemble
from fastfilter.bytecode.disassembler import describe_constant, disassemble
from fastfilter.bytecode.opcodes import OPCODES, Argument, ConstantType, Opcode
from fastfilter.bytecode.program import WORD, Instruction, Program
from fastfilter.bytecode.verifier import verify
from fastfilter.values import Kind

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_has_a_row_for_every_opcode_in_order() -> None:
    assert list(OPCODES) == sorted(Opcode)
    for opcode, spec in OPCODES.items():
        assert (spec.number, spec.name) == (opcode.value, opcode.name)
        assert 0 <= spec.number < 256
        assert spec.synopsis
        assert spec.description.endswith(".")
        assert (spec.constant is not None) == (spec.argument is Argument.CONSTANT)
        assert (spec.cost > 0) == spec.field
        assert set(spec.operands) <= set(Instruction._fields)


@pytest.mark.parametrize("opcode", Opcode)
def test_every_opcode_passes_through_everything(opcode: Opcode) -> None:
    program = program_of(opcode)
    verify(program)
    listing = disassemble(program)
    assert re.search(rf"^\d+  {opcode.name} ", listing, re.MULTILINE)
    assert assemble(listing) == program
    assert serialization.from_bytes(serialization.to_bytes(program)) == program
    for name, text in reference.generated_files().items():
        assert re.search(rf"\b{opcode.name if name.endswith('.md') else 'FF_OP_' + opcode.name}\b", text), name


@pytest.mark.parametrize("opcode", Opcode)
def test_a_comment_says_what_the_operands_stand_for(opcode: Opcode) -> None:
    program = program_of(opcode)
    spec = OPCODES[opcode]
    lines = disassemble(program).splitlines()
    line = lines[-1] if opcode is Opcode.RETURN else lines[-2]
    comment = line.split("; ", 1)[1]
    assert not re.search(r"\b(destination|source|target)\b", comment)
    if spec.field:
        assert "metadata.a.b" in comment
    if spec.constant is not None:
        assert describe_constant(program.constants[0], instants=opcode is Opcode.TIMESTAMP_RANGE) in comment


@pytest.mark.parametrize("constant_type", ConstantType)
def test_every_type_of_constant_can_be_read_and_written(constant_type: ConstantType) -> None:
    assert constant_type in {spec.constant for spec in OPCODES.values()}
    assert constant_type in assembler._READERS
    assert constant_type in serialization._READERS
    assert constant_type in serialization._WRITERS
    assert f"| `{constant_type.name.lower()}` |" in reference.generated_files()["docs/instructions.md"]


def test_random_programs_use_every_opcode_and_jump() -> None:
    seen: set[Opcode] = set()
    most_registers = 0

    @settings(max_examples=150, derandomize=True, deadline=None, database=None)
    @given(programs())
    def collect(program: Program) -> None:
        nonlocal most_registers
        verify(program)
        seen.update(instruction.opcode for instruction in program.instructions)
        most_registers = max(most_registers, len({instruction.destination for instruction in program.instructions}))

    collect()
    assert seen == set(Opcode)
    assert most_registers > 3


@pytest.mark.parametrize("name", SAMPLES)
def test_words_hash_and_pickle(name: str) -> None:
    program = SAMPLES[name]
    assert list(WORD.iter_unpack(program.words)) == [tuple(instruction) for instruction in program.instructions]
    copy = pickle.loads(pickle.dumps(program))
    assert copy == program
    assert hash(copy) == hash(program)
    assert {program: name}[copy] == name
    assert program.disassemble() == disassemble(program)
    assert Program.from_bytes(program.to_bytes()) == program


def test_generated_files_are_fresh() -> None:
    assert reference.main(["--check"], ROOT) == 0


def test_a_stale_generated_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reference.main(["--check"], tmp_path) == 1
    assert reference.main([], tmp_path) == 0
    assert reference.main(["--check"], tmp_path) == 0
    capsys.readouterr()
    stale = tmp_path / "src/generated/opcodes.h"
    stale.write_text(stale.read_text().replace("FF_OP_MOVE = 1", "FF_OP_MOVE = 2"))
    assert reference.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().err.split()[0] == "src/generated/opcodes.h"
    assert "FF_OP_MOVE = 2" in stale.read_text()


def test_the_kinds_of_the_json_header_are_those_of_values() -> None:
    header = (ROOT / "src/include/fastfilter/json.h").read_text()
    match = re.search(r"enum \{ (FF_MISSING.*?) \}", header)
    assert match is not None
    assert match[1].split(", ") == [f"FF_{kind.name}" for kind in sorted(Kind)]
