"""The machine: words over bitmaps, narrowing, jumps, columns and JSON read on demand, strict JSON."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import OPCODES, Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program, Role
from fastfilter.errors import BindError, DataError
from fastfilter.runtime.binding import Binding, JsonPath, MapKey, Source, StructChild
from fastfilter.runtime.vm.python import machine as machine_module
from fastfilter.runtime.vm.python.machine import Code, Machine
from fastfilter.values import MISSING, Elements, Interval, ScalarSet, point

A = FieldUse(Field(Role.COLUMN, ("a",)), None)
B = FieldUse(Field(Role.METADATA, ("b",)), None)
POSITIVE = Intervals((Interval(0, False, None, False),))
MORSELS = (1, 2, 7, 8, 63, 64, 65, 1_000)


def program(
    instructions: Sequence[Instruction],
    constants: Sequence[Constant] = (),
    fields: Sequence[FieldUse] = (A, B),
    num_registers: int = 8,
) -> Program:
    return Program(tuple(instructions), tuple(constants), tuple(fields), num_registers)


def run(
    machine: Machine, batch: pa.RecordBatch, morsel_rows: int = 64, ranges: Sequence[tuple[int, int]] | None = None
) -> list[int]:
    out = bytearray((batch.num_rows + 7) // 8)
    attached = machine.attach(batch)
    attached.run(ranges or [(0, batch.num_rows)], out, morsel_rows)
    assert len(out) == (batch.num_rows + 7) // 8
    bits = int.from_bytes(out, "little")
    assert bits >> batch.num_rows == 0
    return [row for row in range(batch.num_rows) if bits >> row & 1]


def bound(one: Program, schema: pa.Schema, *sources: Source, strict: bool = False) -> Machine:
    return Machine(Binding(one, sources, schema, strict))


def columns(**arrays: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(arrays.values()), list(arrays))


def code_rows(one: Program, values: Sequence[Sequence[Any]]) -> tuple[list[int], list[tuple[int, list[int]]]]:
    """The rows a program is true on, and what it fetched."""
    fetched: list[tuple[int, list[int]]] = []

    def fetch(field: int, rows: Sequence[int]) -> list[Any]:
        fetched.append((field, list(rows)))
        return [values[field][row] for row in rows]

    num_rows = len(values[0])
    bits = Code(one).run(num_rows, fetch)
    assert bits >> num_rows == 0
    return [row for row in range(num_rows) if bits >> row & 1], fetched


def test_and_narrows() -> None:
    one = program(
        [
            Instruction(Opcode.NUMBER_RANGE, 1, 0, 0, 0, 0),
            Instruction(Opcode.CONTAINS, 1, 1, 0, 1, 1),
            Instruction(Opcode.RETURN, source=1),
        ],
        [POSITIVE, Text("x")],
    )
    rows, fetched = code_rows(one, [[1, 0, 2, None, 3], ["x", "x", "y", "x", "ax"]])
    assert rows == [0, 4]
    assert fetched == [(0, [0, 1, 2, 3, 4]), (1, [0, 2, 4])]


def test_or_looks_only_at_what_is_still_false() -> None:
    one = program(
        [
            Instruction(Opcode.NUMBER_RANGE, 1, 0, 0, 0, 0),
            Instruction(Opcode.MOVE, 2, 0),
            Instruction(Opcode.AND_NOT, 2, 1),
            Instruction(Opcode.CONTAINS, 2, 2, 0, 1, 1),
            Instruction(Opcode.OR, 1, 2),
            Instruction(Opcode.RETURN, source=1),
        ],
        [POSITIVE, Text("x")],
    )
    rows, fetched = code_rows(one, [[1, 0, 2, None, 3], ["x", "x", "y", "y", "ax"]])
    assert rows == [0, 1, 2, 4]
    assert fetched[1] == (1, [1, 3])


def test_jumps_clears_and_complements() -> None:
    one = program(
        [
            Instruction(Opcode.CLEAR, 3),
            Instruction(Opcode.NUMBER_RANGE, 1, 0, 0, 0, 0),
            Instruction(Opcode.JUMP_IF_NONE, source=1, argument=5),
            Instruction(Opcode.CONTAINS, 1, 1, 0, 1, 1),
            Instruction(Opcode.OR, 3, 1),
            Instruction(Opcode.MOVE, 2, 0),
            Instruction(Opcode.AND_NOT, 2, 3),
            Instruction(Opcode.RETURN, source=2),
        ],
        [POSITIVE, Text("x")],
    )
    assert code_rows(one, [[1, 2, 0], ["x", "y", "x"]]) == ([1, 2], [(0, [0, 1, 2]), (1, [0, 1])])
    assert code_rows(one, [[0, 0, 0], ["x", "y", "x"]]) == ([0, 1, 2], [(0, [0, 1, 2])])
    assert code_rows(one, [[], []]) == ([], [])


def test_a_test_of_no_rows_fetches_nothing() -> None:
    one = program(
        [Instruction(Opcode.CLEAR, 1), Instruction(Opcode.EXISTS, 1, 1, 0, 0), Instruction(Opcode.RETURN, source=1)]
    )
    assert code_rows(one, [[1, 2], []]) == ([], [])


def test_every_opcode_runs() -> None:
    constants: dict[Any, Constant] = {
        Opcode.EQUALS_ANY: ScalarSet(numbers=(1,)), Opcode.NUMBER_RANGE: POSITIVE, Opcode.TIMESTAMP_RANGE: POSITIVE,
        Opcode.TEXT_NUMBER_RANGE: POSITIVE,
        Opcode.STRING_RANGE: machine_bound(), Opcode.CONTAINS: Text("a"), Opcode.CONTAINS_IGNORE_CASE: Text("a"),
        Opcode.TEXT_EQUALS_ANY: Strings(("a",)), Opcode.JSON_CONTAINS: Json("1"),
    }  # fmt: skip
    for opcode, spec in OPCODES.items():
        last = Instruction(Opcode.RETURN, source=1)
        given = Instruction(opcode, 1 if spec.writes else 0, 0, 0, 0, 1 if opcode is Opcode.JUMP_IF_NONE else 0)
        instructions = [last] if opcode is Opcode.RETURN else [given, last]
        rows, _ = code_rows(program(instructions, [constants.get(opcode, Text(""))]), [[1, None, MISSING], []])
        assert set(rows) <= {0, 1, 2}


def machine_bound() -> Constant:
    from fastfilter.values import StringBound

    return StringBound("gt", "")


@pytest.mark.parametrize("morsel_rows", MORSELS)
@pytest.mark.parametrize("num_rows", [0, 1, 7, 8, 9, 64, 65, 200])
def test_morsels_of_any_size_give_the_same_bits(morsel_rows: int, num_rows: int) -> None:
    chosen = random.Random(num_rows)
    numbers = [chosen.choice([None, 0, 1, 2]) for _ in range(num_rows)]
    batch = columns(a=pa.array(numbers, pa.int64()))
    one = program(
        [Instruction(Opcode.NUMBER_RANGE, 1, 0, 0, 0, 0), Instruction(Opcode.RETURN, source=1)], [POSITIVE], (A,)
    )
    machine = bound(one, batch.schema, Source(0, (), pa.int64()))
    expected = [row for row, number in enumerate(numbers) if number]
    assert run(machine, batch, morsel_rows) == expected
    middle = num_rows // 16 * 8
    assert run(machine, batch, morsel_rows, [(middle, num_rows), (0, middle)]) == expected


def test_ranges_set_no_other_bits() -> None:
    batch = columns(a=pa.array([1] * 40))
    one = program([Instruction(Opcode.RETURN)], (), (A,))
    machine = bound(one, batch.schema, Source(0, (), pa.int64()))
    assert run(machine, batch, 3, [(8, 19), (24, 25)]) == [*range(8, 19), 24]


def test_a_field_without_a_column_is_missing() -> None:
    batch = columns(x=pa.array([1, 2]))
    for opcode, expected in ((Opcode.EXISTS, []), (Opcode.IS_NULL, [])):
        one = program([Instruction(opcode, 1), Instruction(Opcode.RETURN, source=1)], (), (A,))
        assert run(bound(one, batch.schema, Source(None)), batch) == expected


def test_only_columns_that_are_read_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = columns(other=pa.array([b"x", b"y"]), a=pa.array([1, None]))
    one = program([Instruction(Opcode.EXISTS, 1), Instruction(Opcode.RETURN, source=1)], (), (A,))
    assert run(bound(one, batch.schema, Source(1, (), pa.int64())), batch) == [0]
    opened = []
    real = machine_module.open_values
    monkeypatch.setattr(
        machine_module,
        "open_values",
        lambda array, *rest, **options: opened.append(array) or real(array, *rest, **options),
    )
    bound(one, batch.schema, Source(1, (), pa.int64())).attach(batch)
    assert [array.to_pylist() for array in opened] == [[1, None]]


def test_an_unsupported_type_is_a_bind_error() -> None:
    batch = columns(a=pa.array([b"x"]))
    one = program([Instruction(Opcode.EXISTS, 1), Instruction(Opcode.RETURN, source=1)], (), (A,))
    with pytest.raises(BindError) as caught:
        bound(one, batch.schema, Source(0, (), pa.binary())).attach(batch)
    assert (caught.value.field, caught.value.column, caught.value.type) == ("a", "a", "binary")


def test_children_of_an_object_are_read_only_by_tests_that_render_it() -> None:
    kind = pa.struct([("x", pa.int64()), ("b", pa.binary())])
    batch = columns(a=pa.array([{"x": 1, "b": b"1"}, None], kind))
    exists = program([Instruction(Opcode.EXISTS, 1), Instruction(Opcode.RETURN, source=1)], (), (A,))
    assert run(bound(exists, batch.schema, Source(0, (), kind)), batch) == [0]
    renders = program([Instruction(Opcode.JSON_CONTAINS, 1), Instruction(Opcode.RETURN, source=1)], [Json("{}")], (A,))
    with pytest.raises(BindError):
        bound(renders, batch.schema, Source(0, (), kind)).attach(batch)
    kind = pa.struct([("x", pa.int64())])
    batch = columns(a=pa.array([{"x": 1}, None, {"x": 2}], kind))
    renders = program(
        [Instruction(Opcode.JSON_CONTAINS, 1), Instruction(Opcode.RETURN, source=1)], [Json('{"x":2}')], (A,)
    )
    assert run(bound(renders, batch.schema, Source(0, (), kind)), batch) == [2]


def test_next_batch_may_have_another_dictionary() -> None:
    one = program(
        [Instruction(Opcode.EQUALS_ANY, 1, 0, 0, 0, 0), Instruction(Opcode.RETURN, source=1)],
        [ScalarSet(strings=("x",))],
        (A,),
    )
    first = columns(a=pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["x", "y"])))
    second = columns(a=pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["y", "x"])))
    machine = bound(one, first.schema, Source(0, (), pa.string()))
    wrong = []

    def work() -> None:
        for _ in range(200):
            if run(machine, first) != [0, 2] or run(machine, second) != [1]:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_threads_share_an_attached_batch() -> None:
    num_rows = 4_096
    texts = pa.array([f'{{"b": {row % 3}}}' for row in range(num_rows)]).dictionary_encode()
    batch = columns(m=texts)
    one = program(
        [Instruction(Opcode.EQUALS_ANY, 1, 0, 0, 0, 0), Instruction(Opcode.RETURN, source=1)],
        [ScalarSet(numbers=(2,))],
        (B,),
    )
    attached = bound(one, batch.schema, Source(0, (JsonPath(("b",)),))).attach(batch)
    out = bytearray(num_rows // 8)
    threads = [
        threading.Thread(target=attached.run, args=([(start, start + 512)], out, 100))
        for start in range(0, num_rows, 512)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert int.from_bytes(out, "little") == sum(1 << row for row in range(num_rows) if row % 3 == 2)


JSON_ROWS = [
    '{"b":1,"c":{"d":null}}',
    None,
    "null",
    "5",
    "not json{",
    '{"b":null}',
    '["b"]',
    '{"c":{"d":2},"b":[1]}',
    '{"b":1,"b":"x"}',
    "",
    '"b"',
    "[" * 1_025 + "]" * 1_025,
]


def json_machine(
    path: tuple[str, ...],
    opcode: Opcode,
    schema: pa.Schema,
    constant: Constant | None = None,
    mode: int = 0,
    strict: bool = False,
) -> Machine:
    one = program(
        [Instruction(opcode, 1, 0, mode, 0, 0), Instruction(Opcode.RETURN, source=1)],
        [constant] if constant else [],
        (B,),
    )
    return bound(one, schema, Source(0, (JsonPath(path),)), strict=strict)


@pytest.mark.parametrize(
    "lay_out",
    [
        lambda texts: pa.array(texts, pa.string()),
        lambda texts: pa.array(texts, pa.large_string()),
        lambda texts: pa.array(texts, pa.string_view()),
        lambda texts: pa.array(texts).dictionary_encode(),
        lambda texts: pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts)),
        lambda texts: pa.array(["x", *texts]).slice(1),
        lambda texts: pa.RunEndEncodedArray.from_arrays(
            pa.array(range(1, len(texts) + 1), pa.int32()), pa.array(texts)
        ),
    ],
)
def test_json_columns(lay_out: Any) -> None:
    batch = columns(m=lay_out(JSON_ROWS))
    for morsel_rows in (2, 64):

        def rows(path: tuple[str, ...], opcode: Opcode, constant: Constant | None = None, mode: int = 0) -> list[int]:
            return run(json_machine(path, opcode, batch.schema, constant, mode), batch, morsel_rows)  # noqa: B023

        assert rows(("b",), Opcode.EXISTS) == [0, 7, 8]
        assert rows(("b",), Opcode.IS_NULL) == [5]
        assert rows(("c", "d"), Opcode.IS_NULL) == [0]
        assert rows(("c", "d"), Opcode.EXISTS) == [7]
        assert rows(("b",), Opcode.EQUALS_ANY, ScalarSet(numbers=(1,)), Elements.ALSO) == [0, 7]
        assert rows(("b",), Opcode.EQUALS_ANY, ScalarSet(strings=("x",))) == [8]
        assert rows((), Opcode.EXISTS) == [0, 3, 5, 6, 7, 8, 10]
        assert rows((), Opcode.IS_NULL) == [1, 2]


def test_each_text_is_parsed_once_and_only_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    real = machine_module.parse_json
    monkeypatch.setattr(machine_module, "parse_json", lambda text: parsed.append(text) or real(text))
    batch = columns(a=pa.array([1, 0, 1, 0]), m=pa.array(['{"b":1,"c":1}', '{"b":2}', '{"b":3}', "x"]))
    uses = (A, B, FieldUse(Field(Role.METADATA, ("c",)), None))
    one = program(
        [
            Instruction(Opcode.NUMBER_RANGE, 1, 0, 0, 0, 0),
            Instruction(Opcode.EXISTS, 1, 1, 0, 1),
            Instruction(Opcode.EXISTS, 1, 1, 0, 2),
            Instruction(Opcode.RETURN, source=1),
        ],
        [POSITIVE],
        uses,
    )
    sources = (Source(0, (), pa.int64()), Source(1, (JsonPath(("b",)),)), Source(1, (JsonPath(("c",)),)))
    assert run(bound(one, batch.schema, *sources), batch) == [0]
    assert parsed == [b'{"b":1,"c":1}', b'{"b":3}']
    parsed.clear()
    with pytest.raises(DataError) as caught:
        run(bound(one, batch.schema, *sources, strict=True), batch)
    assert caught.value.row == 3
    assert len(parsed) == 4


@pytest.mark.parametrize(
    ("texts", "path", "bad_row"),
    [
        (['{"b":1}', None, '{"b":2}'], ("b",), None),
        (['{"b":1}', "x", "y"], ("b",), 1),
        (['{"b":1}', "null"], ("b",), 1),
        (["[]"], ("b",), 0),
        (['{"b":1}', '"b"', "x"], ("b",), 1),
        (["null", "5", "[]", '""', None], (), None),
        (["null", "5", ""], (), 2),
        (["[" * 1_024 + "]" * 1_024], (), None),
        (["[" * 1_025 + "]" * 1_025], (), 0),
        ([*['{"b":1}'] * 70, "{"], ("b",), 70),
    ],
)  # fmt: skip
def test_strict_json(texts: list[str | None], path: tuple[str, ...], bad_row: int | None) -> None:
    batch = columns(m=pa.array(texts, pa.string()))
    # No instruction reads the field: its text is checked all the same.
    one = program([Instruction(Opcode.RETURN)], (), (B,))
    machine = bound(one, batch.schema, Source(0, (JsonPath(path),)), strict=True)
    for morsel_rows in (2, 64):
        if bad_row is None:
            assert run(machine, batch, morsel_rows) == list(range(len(texts)))
            continue
        with pytest.raises(DataError) as caught:
            run(machine, batch, morsel_rows)
        assert caught.value.row == bad_row
        assert "'m'" in caught.value.message
    assert run(bound(one, batch.schema, Source(0, (JsonPath(path),))), batch) == list(range(len(texts)))


def test_strict_json_names_the_first_bad_row_of_all_columns() -> None:
    batch = columns(m=pa.array(["{}", "{}", "x"]), o=pa.array(["{}", "y", "{}"]))
    one = program([Instruction(Opcode.RETURN)], (), (B, FieldUse(Field(Role.METADATA, ("c",)), None)))
    sources = (Source(0, (JsonPath(("b",)),)), Source(1, (JsonPath(("c",)),)))
    with pytest.raises(DataError) as caught:
        run(bound(one, batch.schema, *sources, strict=True), batch)
    assert caught.value.row == 1
    assert "'o'" in caught.value.message


def test_strict_json_under_a_null_and_through_a_map_is_no_fault() -> None:
    json = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}", "x", '{"b":1}']))
    struct = pa.StructArray.from_arrays([json], ["j"], mask=pa.array([False, True, False]))
    one = program([Instruction(Opcode.EXISTS, 1), Instruction(Opcode.RETURN, source=1)], (), (B,))
    batch = columns(m=struct)
    assert run(bound(one, batch.schema, Source(0, (StructChild(0), JsonPath(("b",)))), strict=True), batch) == [2]
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 1, 2]), pa.array(["j", "j"]), pa.array(['{"b":1}', "{}"]))
    batch = columns(m=maps)
    assert run(bound(one, batch.schema, Source(0, (MapKey("j"), JsonPath(("b",)))), strict=True), batch) == [0]


def test_json_text_that_is_not_utf8_is_malformed() -> None:
    texts = pa.array([b'{"b":"\xff"}', b'{"b":"a"}', b'{"b":"\xed\xa0\x80"}', b'\xef\xbb\xbf{"b":1}']).view(pa.string())
    batch = columns(m=texts)
    assert run(json_machine(("b",), Opcode.EXISTS, batch.schema), batch) == [1]
    with pytest.raises(DataError) as caught:
        run(json_machine(("b",), Opcode.EXISTS, batch.schema, strict=True), batch)
    assert caught.value.row == 0


def test_kernels_say_what_each_test_reads() -> None:
    batch = columns(a=pa.array([1]), m=pa.array(["{}"]))
    uses = (A, B, FieldUse(Field(Role.METADATA, ("c",)), None))
    one = program(
        [
            Instruction(Opcode.EQUALS_ANY, 1, 0, 0, 0, 0),
            Instruction(Opcode.MOVE, 2, 1),
            Instruction(Opcode.EXISTS, 1, 2, 0, 1),
            Instruction(Opcode.EXISTS, 1, 1, 0, 2),
            Instruction(Opcode.RETURN, source=1),
        ],
        [ScalarSet(numbers=point(1)[:1])],
        uses,
    )
    machine = bound(one, batch.schema, Source(0, (), pa.int64()), Source(1, (JsonPath(("b",)),)), Source(None))
    assert machine.kernels == [
        "0 EQUALS_ANY a: int64 as Python values",
        "2 EXISTS metadata.b: JSON text as Python values",
        "3 EXISTS metadata.c: missing as Python values",
    ]
