"""The native machine itself: ranges, morsels, control instructions, threads, memory, and arrays that are broken."""

from __future__ import annotations

import datetime
import gc
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("fastfilter._native", reason="the native extension is not built")

from native_bindings import ALSO, equal, program_of, rows, run, single_test, source_of

from fastfilter.bytecode.constants import Intervals, Json, Text
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.bytecode.program import Instruction
from fastfilter.errors import DataError
from fastfilter.runtime.binding import Binding, JsonPath, MapKey, Source, StructChild
from fastfilter.runtime.vm.native import Machine
from fastfilter.values import Interval


@pytest.mark.parametrize("morsel_rows", [1, 2, 63, 64, 65, 4096])
@pytest.mark.parametrize(("start", "stop"), [(0, 300), (8, 9), (3, 3), (3, 202), (64, 130), (299, 300)])
def test_bits_outside_the_range_stay(start: int, stop: int, morsel_rows: int) -> None:
    array = pa.array([row % 3 for row in range(300)])
    batch = pa.record_batch([array], ["c"])
    program = single_test(Opcode.EQUALS_ANY, equal(0))
    attached = Machine(Binding(program, (source_of(array),), batch.schema, False)).attach(batch)
    outside = [row for row in range(300) if not start <= row < stop and row % 2]
    out = bytearray(38)
    for row in outside:
        out[row // 8] |= 1 << row % 8
    attached.run([(start, stop)], out, morsel_rows)
    expected = sorted(outside + [row for row in range(start, stop) if row % 3 == 0])
    assert [row for row in range(304) if out[row // 8] >> row % 8 & 1] == expected


def test_control_instructions() -> None:
    array = pa.array([*range(100)])
    batch = pa.record_batch([array], ["c"])
    below = Intervals((Interval(None, False, 30, False),))
    small = Intervals((Interval(None, False, 10, False),))
    program = program_of(
        [
            Instruction(Opcode.NUMBER_RANGE, 1, 0, 0, 0, 0),
            Instruction(Opcode.JUMP_IF_NONE, 0, 1, 0, 0, 7),
            Instruction(Opcode.NUMBER_RANGE, 2, 1, 0, 0, 1),
            Instruction(Opcode.AND_NOT, 1, 2),
            Instruction(Opcode.CLEAR, 2),
            Instruction(Opcode.OR, 2, 1),
            Instruction(Opcode.MOVE, 1, 2),
        ],
        [below, small],
    )
    for morsel_rows in (2, 63, 64, 65, 4096):
        assert run(Binding(program, (source_of(array),), batch.schema, False), batch, morsel_rows) == [*range(10, 30)]


def test_arguments_of_run_are_checked() -> None:
    array = pa.array([1, 2, 3])
    batch = pa.record_batch([array], ["c"])
    machine = Machine(Binding(single_test(Opcode.EXISTS, None), (source_of(array),), batch.schema, False))
    attached = machine.attach(batch)
    for start, stop, out, morsel_rows in ((-1, 2, 1, 64), (0, 4, 1, 64), (2, 1, 1, 64), (0, 3, 0, 64), (0, 3, 1, 0)):
        with pytest.raises(ValueError, match=r"rows|bytes"):
            attached.run([(start, stop)], bytearray(out), morsel_rows)
    with pytest.raises(TypeError, match="bytearray"):
        attached.run([(0, 3)], b"\0", 64)  # type: ignore[arg-type]
    attached.run([(0, 0)], bytearray(), 64)
    assert machine.kernels == ["0 EXISTS metadata.f0: int64"]


def test_one_batch_on_many_threads() -> None:
    array = pa.array(["x", "y", None, "x"] * 2_500).dictionary_encode()
    batch = pa.record_batch([array], ["c"])
    machine = Machine(Binding(single_test(Opcode.EQUALS_ANY, equal("x")), (source_of(array),), batch.schema, False))
    other = pa.record_batch([pa.array(["y", "x", None, "y"] * 2_500).dictionary_encode()], ["c"])
    attached = [machine.attach(batch), machine.attach(other)]

    def task(number: int) -> bytearray:
        out = bytearray(1_250)
        attached[number % 2].run([(0, 10_000)], out, 512)
        return out

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(task, range(400)))
    assert {bytes(answer) for answer in answers[::2]} == {b"\x99" * 1_250}
    assert {bytes(answer) for answer in answers[1::2]} == {b"\x22" * 1_250}


def test_nothing_leaks() -> None:
    array = pa.array(['{"a":1}', None, "{"] * 50).dictionary_encode()
    batch = pa.record_batch([array, pa.array([[1, 2], None] * 75)], ["c", "d"])
    tests = [Instruction(Opcode.EQUALS_ANY, 1, 0, ALSO, 0, 0), Instruction(Opcode.JSON_CONTAINS, 1, 1, 0, 1, 1)]
    sources = (Source(0, (JsonPath(("a",)),)), source_of(batch.column(1), column=1))
    binding = Binding(program_of(tests, [equal(1), Json("[2]")], 2), sources, batch.schema, False)

    def resident() -> int:
        gc.collect()
        with open("/proc/self/statm", encoding="ascii") as statistics:
            return int(statistics.read().split()[1]) * 4096

    def calls(number: int) -> None:
        machine = Machine(binding)
        for _ in range(number):
            attached = machine.attach(batch.slice(1))
            attached.run([(0, 149)], bytearray(20), 64)
            Machine(binding)

    calls(1_000)
    before = resident()
    calls(10_000)
    assert resident() - before < 4_000_000


# -- data that is broken -----------------------------------------------------------------------------------------------


def test_types_that_no_test_reads_do_not_matter() -> None:
    array = pa.array([{"b": b"x", "v": 1, "d": datetime.timedelta(1)}])
    batch = pa.record_batch([array, pa.array([b"x"])], ["c", "binary"])
    assert rows(array, Opcode.EQUALS_ANY, equal(1), steps=[StructChild(1)]) == [0]
    assert rows(array, Opcode.EXISTS) == [0]
    with pytest.raises(DataError, match="no condition can read"):
        rows(array, Opcode.JSON_CONTAINS, Json("{}"))
    for column, steps in ((0, (StructChild(0),)), (1, ()), (0, (StructChild(9),)), (1, (MapKey("k"),))):
        binding = Binding(single_test(Opcode.EXISTS, None), (Source(column, steps, pa.binary()),), batch.schema, False)
        with pytest.raises(ValueError, match="type"):
            Machine(binding)


def spoiled(kind: pa.DataType, good: Sequence[int], bad: Sequence[int], *rest: bytes, **others: Any) -> Any:
    """An array, and what spoils its second buffer once pyarrow has looked at it."""
    memory = bytearray(struct.pack(f"{len(good)}i", *good))
    array = pa.Array.from_buffers(kind, 1, [None, *map(pa.py_buffer, (memory, *rest))], **others)

    def spoil() -> None:
        memory[:] = struct.pack(f"{len(bad)}i", *bad)

    return array, spoil


def spoiled_runs() -> Any:
    ends, spoil = spoiled(pa.int32(), [1], [0])
    return pa.RunEndEncodedArray.from_arrays(ends, pa.array(["a"])), spoil


def spoiled_dictionary(index: int) -> Any:
    indices, spoil = spoiled(pa.int32(), [0], [index])
    return pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"])), spoil


BROKEN = {
    "dictionary index": (spoiled_dictionary(2), Opcode.CONTAINS, Text("a")),
    "dictionary index is": (spoiled_dictionary(-1), Opcode.CONTAINS, Text("a")),
    "offsets of a string": (spoiled(pa.string(), [0, 1], [3, 1], b"abc"), Opcode.CONTAINS, Text("b")),
    "offsets of a list": (
        spoiled(pa.list_(pa.int8()), [0, 1], [0, 9], children=[pa.array([1], pa.int8())]),
        Opcode.JSON_CONTAINS, Json("1"),
    ),
    "a string view points": (spoiled(pa.string_view(), [1, 97, 0, 0], [20, 97, 3, 0]), Opcode.CONTAINS, Text("b")),
    "a string view has": (spoiled(pa.string_view(), [1, 97, 0, 0], [-1, 97, 0, 0]), Opcode.CONTAINS, Text("b")),
    "longer than its runs": (spoiled_runs(), Opcode.EXISTS, None),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_broken_arrays_are_errors(what: str) -> None:
    (array, spoil), opcode, constant = BROKEN[what]
    batch = pa.record_batch([array], ["c"])
    binding = Binding(single_test(opcode, constant), (source_of(array),), batch.schema, False)
    run(binding, batch)
    spoil()
    with pytest.raises(DataError, match=f"column 'c' cannot be read: .*{what}"):
        run(binding, batch)


def test_batches_of_another_schema_are_errors() -> None:
    array = pa.array([1, 2, 3])
    binding = Binding(
        single_test(Opcode.EXISTS, None), (source_of(array),), pa.schema([pa.field("c", pa.int64())]), False
    )
    machine = Machine(binding)
    for other in (pa.array(["a", "b", "c"]), pa.array([1, 2], pa.int8()), pa.array([[1]]), array.dictionary_encode()):
        with pytest.raises(DataError, match="type is not the one"):
            machine.attach(pa.record_batch([other], ["c"]))


class Lying(pa.ExtensionType):
    """A type that says it equals every other of its kind, whatever lies in it."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "test.lying")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Lying:
        return cls(storage)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lying)

    def __hash__(self) -> int:
        return 1


def test_types_that_only_say_that_they_are_equal_are_errors() -> None:
    numbers = pa.ExtensionArray.from_storage(Lying(pa.int64()), pa.array([1, 2]))
    texts = pa.ExtensionArray.from_storage(Lying(pa.string()), pa.array(["a", "b"]))
    batch = pa.record_batch([texts], ["c"])
    machine = Machine(Binding(single_test(Opcode.EQUALS_ANY, equal("a")), (source_of(texts),), batch.schema, False))
    assert machine.evaluate(pa.record_batch([texts], ["c"]), 64) == b"\x01"
    with pytest.raises(DataError, match="type is not the one"):
        machine.attach(pa.record_batch([numbers], ["c"]))


def test_batches_of_more_columns_are_errors_and_unread_columns_are_not_looked_at() -> None:
    array = pa.array([1, 2, 3])
    wide = pa.record_batch([pa.array([b"x"] * 3)] * 9 + [array], [f"b{number}" for number in range(9)] + ["c"])
    for batch, column in ((wide, 9), (wide.select(["b1", "c"]), 1), (wide.select(["c"]), 0)):
        source = source_of(array, column=column)
        machine = Machine(Binding(single_test(Opcode.EQUALS_ANY, equal(2)), (source,), batch.schema, False))
        assert machine.evaluate(batch, 64) == b"\x02"
        assert machine.evaluate(batch.slice(1), 64) == b"\x01"
        with pytest.raises(DataError, match="columns"):
            machine.attach(wide.select(["b1", "b2", "c"]))
