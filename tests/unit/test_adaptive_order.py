"""The order of tests adapts to the data, and the answers do not change by it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("fastfilter._native", reason="the native extension is not built")

from native_bindings import program_of, run, source_of

from fastfilter import _native
from fastfilter.bytecode.constants import Constant, Intervals, Text
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.bytecode.program import Instruction
from fastfilter.errors import DataError
from fastfilter.runtime.binding import Binding, JsonPath, Step
from fastfilter.values import Interval

NUM_ROWS = 20_000
MORSEL_ROWS = 64


@pytest.fixture(params=[True, False], ids=["adaptive", "fixed"])
def adaptive(request: pytest.FixtureRequest) -> Iterator[bool]:
    before = _native.adapts()
    _native.use_adaptive_order(request.param)
    yield request.param
    _native.use_adaptive_order(before)


def jump(register: int, target: int) -> Instruction:
    return Instruction(Opcode.JUMP_IF_NONE, 0, register, 0, 0, target)


def chain(opcode: Opcode, num_tests: int, start: int = 0) -> list[Instruction]:
    """Tests of register 0 into register 1, each of another field with another constant."""
    end = start + 2 * num_tests - 1
    tests = [Instruction(opcode, 1, 1 if number else 0, 0, number, number) for number in range(num_tests)]
    return [step for test in tests for step in (test, jump(1, end))][:-1]


def answer(
    instructions: Sequence[Instruction],
    constants: Sequence[Constant],
    batch: pa.RecordBatch,
    steps: Sequence[Step] = (),
) -> list[int]:
    sources = tuple(source_of(column, steps, place) for place, column in enumerate(batch.columns))
    program = program_of(instructions, constants, batch.num_columns)
    return run(Binding(program, sources, batch.schema, False), batch, MORSEL_ROWS)


def below(number: int) -> Intervals:
    return Intervals((Interval(None, False, number, False),))


@pytest.mark.parametrize("passing", list(itertools.permutations([999, 500, 20])), ids=str)
def test_any_order_gives_the_same_rows(adaptive: bool, passing: tuple[int, ...]) -> None:
    random = np.random.default_rng(5)
    columns = [random.integers(0, 1000, NUM_ROWS) for _ in passing]
    columns[0][NUM_ROWS // 2 :] = 999 - columns[0][NUM_ROWS // 2 :] // 100  # the data change half-way
    batch = pa.record_batch([pa.array(column) for column in columns], ["a", "b", "c"])
    found = answer(chain(Opcode.NUMBER_RANGE, 3), [below(number) for number in passing], batch)
    expected = np.logical_and.reduce([column < number for column, number in zip(columns, passing, strict=True)])
    assert found == np.flatnonzero(expected).tolist()


def test_a_test_that_few_rows_pass_comes_to_be_asked_first(adaptive: bool) -> None:
    """A text that is broken is met only by those who read it."""
    offsets = bytearray(np.arange(NUM_ROWS + 1, dtype=np.int32).tobytes())
    common = pa.Array.from_buffers(pa.string(), NUM_ROWS, [None, pa.py_buffer(offsets), pa.py_buffer(b"a" * NUM_ROWS)])
    rare = pa.array(["b"] * NUM_ROWS)
    batch = pa.record_batch([common, rare], ["common", "rare"])
    steps, constants = chain(Opcode.CONTAINS, 2), [Text("a"), Text("z")]
    assert answer(steps, constants, batch) == []
    offsets[4 * 5_000 : 4 * 5_001] = np.int32(-1).tobytes()
    if adaptive:
        assert answer(steps, constants, batch) == []
    else:
        with pytest.raises(DataError, match="column 'common' cannot be read"):
            answer(steps, constants, batch)


def test_conditions_on_json_texts_stay_in_their_order(adaptive: bool) -> None:
    """Paths differ in cost more than tests of one kind on columns do."""
    text = b'{"k":"a"}'
    offsets = bytearray((len(text) * np.arange(NUM_ROWS + 1, dtype=np.int32)).tobytes())
    texts = pa.py_buffer(text * NUM_ROWS)
    common = pa.Array.from_buffers(pa.string(), NUM_ROWS, [None, pa.py_buffer(offsets), texts])
    batch = pa.record_batch([common, pa.array(['{"k":"b"}'] * NUM_ROWS)], ["common", "rare"])
    offsets[4 * 5_000 : 4 * 5_001] = np.int32(-1).tobytes()
    with pytest.raises(DataError, match="column 'common' cannot be read"):
        answer(chain(Opcode.CONTAINS, 2), [Text("a"), Text("z")], batch, [JsonPath(("k",))])


def test_an_order_that_the_program_depends_on_stays(adaptive: bool) -> None:
    """Jumps into a chain, and out of it to another place than its end."""
    random = np.random.default_rng(6)
    columns = [random.integers(0, 1000, NUM_ROWS) for _ in range(2)]
    columns[0][:] = 5  # always below 999, but the second is rarely below 20
    batch = pa.record_batch([pa.array(column) for column in columns], ["a", "b"])
    first, second = chain(Opcode.NUMBER_RANGE, 2)[::2]
    rare = np.flatnonzero(columns[1] < 3)
    by_morsel = {row // MORSEL_ROWS for row in rare.tolist()}
    # Where the first test leaves rows, and the second none, all rows are the answer.
    leaving = [first, jump(1, 5), second, jump(1, 4), Instruction(Opcode.MOVE, 1, 0)]
    assert answer(leaving, [below(999), below(3)], batch) == list(range(NUM_ROWS))
    # Where the register is empty before the chain, it is entered behind its first test.
    entered = [Instruction(Opcode.CLEAR, 1), jump(1, 4), first, jump(1, 5), second]
    assert answer(entered, [below(999), below(3)], batch) == []
    # The chain's end is where its jumps lead: only there the rows of other morsels are lost.
    ended = [*chain(Opcode.NUMBER_RANGE, 2), jump(1, 5), Instruction(Opcode.MOVE, 1, 0)]
    expected = [row for row in range(NUM_ROWS) if row // MORSEL_ROWS in by_morsel]
    assert answer(ended, [below(999), below(3)], batch) == expected


@pytest.mark.parametrize(("setting", "adapts"), [("0", "False"), ("1", "True"), ("no", "must be 0 or 1")])
def test_the_environment_switches_it_off(setting: str, adapts: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from fastfilter import _native; print(_native.adapts())"],
        env={**os.environ, "FASTFILTER_ADAPTIVE": setting}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert adapts in done.stdout + done.stderr
    assert (done.returncode == 0) == (setting in "01")
