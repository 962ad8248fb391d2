"""The native machine on hand-built bindings: every Arrow type in every layout, places in structs and maps, and JSON."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("fastfilter._native", reason="the native extension is not built")

from native_bindings import (
    ALSO,
    LAYOUTS,
    NEVER,
    ONLY,
    as_dictionary,
    as_plain,
    as_runs,
    as_slice,
    check,
    equal,
    placed,
    program_of,
    rows,
    run,
    single_test,
    source_of,
)  # fmt: skip

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import OPCODES, Opcode
from fastfilter.bytecode.program import Instruction
from fastfilter.errors import DataError
from fastfilter.runtime.binding import Binding, JsonPath, MapKey, Source, StructChild
from fastfilter.values import Elements, Interval, StringBound, number_in, point

# -- types ----------------------------------------------------------------------------------------------------------

NUMBERS = [0, 1, -1, 127, 128, 255, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1, 0.5, 0.1, 44.4, 1e300]
INTERVALS = [
    Intervals((point(1),)),
    Intervals((Interval(0, False, None, False),)),
    Intervals((Interval(None, False, -0.5, False), Interval(0.1, True, 127, False), point(2**63 - 1))),
    Intervals((Interval(127.5, True, 1e19, True), Interval(1e30, True, None, False))),
]


def numbers_of(kind: pa.DataType) -> list[Any]:
    if pa.types.is_integer(kind):
        signed = pa.types.is_signed_integer(kind)
        limits = (-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1) if signed else (0, 2**kind.bit_width - 1)
        return [*limits, *(x for x in NUMBERS if isinstance(x, int) and limits[0] <= x <= limits[1])]
    if pa.types.is_floating(kind):
        return [*map(float, NUMBERS), -0.0, float("nan"), float("inf"), float("-inf")] if kind != pa.float16() else [
            0.0, 1.0, 0.5, -0.5, 127.0, 65504.0, 2.0**-24, float("nan"), float("inf")
        ]  # fmt: skip
    largest = 10**kind.precision - 1
    return [Decimal(x).scaleb(-kind.scale) for x in (0, 1, 10, 100, 127, -50, 444, largest, -largest)]


@pytest.mark.parametrize(
    "kind",
    [
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(),
        pa.float32(), pa.float64(), pa.decimal32(9, 1), pa.decimal64(18, 2), pa.decimal128(20, 1), pa.decimal256(22, 2),
    ],
    ids=str,
)  # fmt: skip
def test_numbers(kind: pa.DataType) -> None:
    values = [*numbers_of(kind), None]
    array = pa.array((values * 9)[:130], kind)
    for intervals in INTERVALS:
        check(array, lambda x: any(number_in(x, at) for at in intervals.values), Opcode.NUMBER_RANGE, intervals)  # noqa: B023
    check(array, lambda x: any(number_in(x, point(at)) for at in NUMBERS), Opcode.EQUALS_ANY, equal(*NUMBERS))
    assert rows(array, Opcode.EQUALS_ANY, equal(1), ONLY) == []


def test_decimal_literals_are_the_decimals_they_are_spelled_as() -> None:
    array = pa.array([Decimal("100.22"), Decimal("100.23")], pa.decimal128(10, 2))
    assert rows(array, Opcode.NUMBER_RANGE, Intervals((Interval(100.225, True, None, False),))) == [1]
    assert rows(array.cast(pa.decimal256(60, 2)), Opcode.EQUALS_ANY, equal(100.22)) == [0]
    huge = pa.array([Decimal(10**75), Decimal(-(10**75))], pa.decimal256(76, 0))
    assert rows(huge, Opcode.NUMBER_RANGE, Intervals((Interval(1e74, True, None, False),))) == [0]


def test_bool_and_null() -> None:
    array = pa.array([True, False, None] * 40)
    check(array, lambda x: x, Opcode.EQUALS_ANY, equal(True, 1))
    check(array, lambda x: not x, Opcode.EQUALS_ANY, equal(False, 0))
    check(array, lambda x: True, Opcode.EXISTS, None)
    nulls = pa.nulls(70)
    for column, steps in placed(nulls):
        assert rows(column, Opcode.EXISTS, steps=steps) == []
        assert rows(column, Opcode.IS_NULL, steps=steps) == [*range(70)]
        assert rows(column, Opcode.JSON_CONTAINS, Json("null"), steps=steps) == [*range(70)]


STRINGS = ["", "a", "ab", "abcdefghijkl", "abcdefghijklm", "x" * 40, "İstanbul", "ΑΣ", "😀", "｡", "5", "05", "0.5"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_strings(kind: pa.DataType) -> None:
    array = pa.array([*STRINGS, None, "2024-01-03T02:00:00Z", "1969-12-31T23:59:59.5Z"], kind)
    check(array, lambda x: x in ("a", "abcdefghijklm"), Opcode.EQUALS_ANY, equal("a", "abcdefghijklm", 5))
    check(array, lambda x: x in STRINGS, Opcode.EQUALS_ANY, equal(*STRINGS))
    check(array, lambda x: "cde" in x, Opcode.CONTAINS, Text("cde"))
    check(array, lambda x: "ας" in x.lower(), Opcode.CONTAINS_IGNORE_CASE, Text("Ας"))
    for operator, accepts in {"gt": (1,), "gte": (0, 1), "lt": (-1,), "lte": (-1, 0)}.items():

        def side(x: str) -> int:
            left, right = x.encode("utf-16-be"), "😀".encode("utf-16-be")
            return (left > right) - (left < right)

        check(array, lambda x: side(x) in accepts, Opcode.STRING_RANGE, StringBound(operator, "😀"))  # noqa: B023
    check(array, lambda x: x in ("5", "05"), Opcode.TEXT_NUMBER_RANGE, Intervals((point(5),)))
    check(array, lambda x: x == "05", Opcode.TEXT_EQUALS_ANY, Strings(("05",)))
    second = 1704247200 * 10**9
    check(array, lambda x: x[:3] == "202", Opcode.EQUALS_ANY, equal(instants=(second,)))
    before = Intervals((Interval(None, False, -500_000_000, True),))
    check(array, lambda x: x[:2] == "19", Opcode.TIMESTAMP_RANGE, before)
    check(array, lambda x: False, Opcode.NUMBER_RANGE, Intervals((point(5),)))


def test_uuid() -> None:
    values = [uuid.UUID(int=7), None, uuid.UUID(int=2**127)]
    storage = pa.array([None if value is None else value.bytes for value in values], pa.binary(16))
    array = pa.ExtensionArray.from_storage(pa.uuid(), storage)
    assert rows(array, Opcode.EQUALS_ANY, equal(str(values[2]))) == [2]
    assert rows(array.slice(1), Opcode.CONTAINS_IGNORE_CASE, Text("80000000-")) == [1]
    assert rows(array, Opcode.TEXT_EQUALS_ANY, Strings((str(values[0]),))) == [0]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps(unit: str) -> None:
    second = 1704247200 * 10**9
    array = pa.array([1704247200, 1704250800, None, 0, -1], pa.timestamp("s")).cast(pa.timestamp(unit, "Europe/Berlin"))
    check(array, lambda x: x.timestamp() == 1704247200, Opcode.EQUALS_ANY, equal(instants=(1, second, 10**40)))
    after = Intervals((Interval(-(10**30), False, -1, True), Interval(second, False, 10**30, True)))
    check(array, lambda x: x.timestamp() in (-1, 1704250800), Opcode.TIMESTAMP_RANGE, after)
    half = Intervals((Interval(-(10**9), False, 500_000_000, True),))
    check(array, lambda x: x.timestamp() == 0, Opcode.TIMESTAMP_RANGE, half)
    ends = pa.array([-(2**63), 2**63 - 1], pa.int64()).view(pa.timestamp(unit))
    assert rows(ends, Opcode.TIMESTAMP_RANGE, Intervals((Interval(0, True, None, False),))) == [1]
    assert rows(ends, Opcode.TIMESTAMP_RANGE, Intervals((Interval(None, False, -(10**40), True),))) == []


def test_dates() -> None:
    day = 86_400 * 10**9
    for kind in (pa.date32(), pa.date64()):
        array = pa.array([datetime.date(1970, 1, 2), None, datetime.date(1969, 12, 31)], kind)
        check(array, lambda x: x.year == 1970, Opcode.EQUALS_ANY, equal(instants=(day, day + 1)))
        check(array, lambda x: x.year == 1969, Opcode.TIMESTAMP_RANGE, Intervals((Interval(None, False, day, False),)))


def lists(kind: str) -> pa.Array:
    rows_of = [["foo", None], ["foo", "x"], ["Bar", None], ["bar", "y"], None, ["5", "5"]]
    if kind == "fixed":
        return pa.array(rows_of, pa.list_(pa.string(), 2))
    if kind.endswith("view"):
        make, index = (pa.ListViewArray, pa.int32()) if kind == "view" else (pa.LargeListViewArray, pa.int64())
        values = pa.array(["5", "5", "bar", "y", "foo", "x", None, "Bar"])  # [Bar, None] cannot share: kept in order
        values = pa.concat_arrays([values[:6], pa.array(["Bar", None, "foo", None])])
        offsets, sizes = pa.array([8, 4, 6, 2, 0, 0], index), pa.array([2, 2, 2, 2, 0, 2], index)
        mask = pa.array([False, False, False, False, True, False])
        return make.from_arrays(offsets, sizes, values, mask=mask)
    return pa.array(rows_of, pa.large_list(pa.string()) if kind == "large" else pa.list_(pa.string()))


@pytest.mark.parametrize("kind", ["small", "large", "view", "large_view", "fixed"])
def test_lists(kind: str) -> None:
    array = lists(kind)
    for shift, column in ((0, array), (1, array.slice(1))):
        for place, steps in placed(column):

            def found(opcode: Opcode, constant: Constant | None, elements: Elements = NEVER) -> list[int]:
                return [row + shift for row in rows(place, opcode, constant, elements, steps)]  # noqa: B023

            def from_shift(*wanted: int) -> list[int]:
                return [row for row in wanted if row >= shift]  # noqa: B023

            assert found(Opcode.CONTAINS, Text("foo")) == from_shift(0, 1)
            assert found(Opcode.CONTAINS, Text("fo")) == []
            assert found(Opcode.CONTAINS_IGNORE_CASE, Text("BAR")) == from_shift(2, 3)
            assert found(Opcode.EQUALS_ANY, equal("foo", "y"), ALSO) == from_shift(0, 1, 3)
            assert found(Opcode.EQUALS_ANY, equal(None), ONLY) == from_shift(0, 2)
            assert found(Opcode.EQUALS_ANY, equal("foo")) == []
            assert found(Opcode.EXISTS, None) == from_shift(0, 1, 2, 3, 5)
            assert found(Opcode.TEXT_EQUALS_ANY, Strings(('["5", "5"]',))) == [5]
            assert found(Opcode.JSON_CONTAINS, Json('["x"]')) == from_shift(1)
            assert found(Opcode.JSON_CONTAINS, Json('"5"')) == [5]
            assert found(Opcode.NUMBER_RANGE, Intervals((point(5),))) == []


def test_lists_of_other_things() -> None:
    numbers = pa.array([[1, 2], [None], [], None, [300]], pa.list_(pa.int16()))
    assert rows(numbers, Opcode.EQUALS_ANY, equal(2, 300, 2**40), ALSO) == [0, 4]
    encoded = pa.ListArray.from_arrays(pa.array([0, 2, 3, 3]), pa.array(["a", None, "b"]).dictionary_encode())
    assert rows(encoded, Opcode.CONTAINS, Text("b")) == [1]
    assert rows(encoded, Opcode.EQUALS_ANY, equal(None), ONLY) == [0]
    runs = pa.ListArray.from_arrays(pa.array([0, 2, 3, 3]), as_runs(pa.array(["a", None, "b"])))
    assert rows(runs, Opcode.CONTAINS, Text("b")) == [1]
    nested = pa.array([[[1]], [[]], None], pa.list_(pa.list_(pa.int64())))
    assert rows(nested, Opcode.EQUALS_ANY, equal(1), ALSO) == []
    assert rows(nested, Opcode.JSON_CONTAINS, Json("[[1]]")) == [0]
    instants = pa.array([[0, 5], [7]], pa.list_(pa.timestamp("ms")))
    assert rows(instants, Opcode.EQUALS_ANY, equal(instants=(7_000_000,)), ONLY) == [1]


# -- places ---------------------------------------------------------------------------------------------------------


def test_null_struct_makes_children_null() -> None:
    child = pa.array([7, 7, 7, None, 7])
    inner = pa.StructArray.from_arrays([child], ["x"], mask=pa.array([False, True, False, False, False]))
    outer = pa.StructArray.from_arrays([inner], ["s"], mask=pa.array([False, False, True, False, False]))
    for column, shift in ((outer, 0), (outer.slice(1, 4), 1), (as_dictionary(outer), 0)):
        steps = (StructChild(0), StructChild(0))
        assert [row + shift for row in rows(column, Opcode.IS_NULL, steps=steps)] == [1, 2, 3]
        assert (
            [row + shift for row in rows(column, Opcode.EQUALS_ANY, equal(7), steps=steps)] == [4] if shift else [0, 4]
        )


def test_map_keys() -> None:
    array = pa.array(
        [[("k", 1), ("j", 2), ("k", 3)], [("k", 3), ("k", None)], [], None, [("kk", 3)], [("j", 3), ("k", 3)]],
        pa.map_(pa.string(), pa.int64()),
    )
    assert rows(array, Opcode.EQUALS_ANY, equal(3), steps=[MapKey("k")]) == [0, 5]
    assert rows(array.slice(1), Opcode.EQUALS_ANY, equal(3), steps=[MapKey("k")]) == [4]
    assert rows(array, Opcode.IS_NULL, steps=[MapKey("k")]) == [1]  # a null map has no keys
    assert rows(array, Opcode.IS_NULL) == [3]
    assert rows(array, Opcode.JSON_CONTAINS, Json('{"k":3}')) == [0, 5]
    parent = pa.StructArray.from_arrays([array], ["m"], mask=pa.array([True] * 6))
    assert rows(parent, Opcode.IS_NULL, steps=[StructChild(0), MapKey("k")]) == []


def test_texts_of_typed_values() -> None:
    def texts(array: pa.Array, *strings: str) -> list[int]:
        return rows(array, Opcode.TEXT_EQUALS_ANY, Strings(tuple(sorted(strings))))

    assert texts(pa.array([0.1, 1e20, -0.0, 2.0], pa.float64()), "0.1", "100000000000000000000", "0", "2.0") == [
        0,
        1,
        2,
    ]
    assert texts(pa.array([0.1], pa.float32()), "0.1") == [0]
    assert rows(pa.array([0.1], pa.float32()), Opcode.TEXT_NUMBER_RANGE, Intervals((point(0.1),))) == [0]
    assert rows(pa.array([0.1], pa.float32()), Opcode.EQUALS_ANY, equal(0.1)) == []
    assert texts(pa.array([True, False]), "true") == [0]
    assert texts(pa.array([-128, 5], pa.int8()), "-128") == [0]
    decimals = [Decimal("1.50"), Decimal("-0.05"), Decimal("0.00"), Decimal("-100.00")]
    for kind in (pa.decimal32(9, 2), pa.decimal64(9, 2), pa.decimal128(9, 2), pa.decimal256(9, 2)):
        for row, text in enumerate(["1.5", "-0.05", "0", "-100"]):
            assert texts(pa.array(decimals, kind), text) == [row]
    assert texts(pa.array([Decimal(1200)], pa.decimal128(5, -2)), "1200") == [0]
    least = pa.array([-(10**76) + 1], pa.decimal256(76, 0))
    assert texts(least, "-" + "9" * 76) == [0]
    structs = pa.array([{"b": 'q"\n', "a": [None, 0.5]}])
    assert texts(structs, '{"a": [null, 0.5], "b": "q\\"\\n"}') == [0]
    assert texts(structs, "x") == []
    inside = pa.array([{"at": 1_500}], pa.struct([("at", pa.timestamp("ms"))]))
    assert rows(inside, Opcode.JSON_CONTAINS, Json('{"at":"1970-01-01T00:00:01.500Z"}')) == [0]
    special = pa.array([[float("nan")], [float("inf")], [float("-inf")]])
    for row, text in enumerate(["NaN", "Infinity", "-Infinity"]):
        assert rows(special, Opcode.JSON_CONTAINS, Json(f'"{text}"')) == [row]


def test_missing_column() -> None:
    batch = pa.record_batch({"c": [1, 2]})
    for opcode in (Opcode.EXISTS, Opcode.IS_NULL):
        assert run(Binding(single_test(opcode, None), (Source(None),), batch.schema, False), batch) == []


# -- JSON -----------------------------------------------------------------------------------------------------------

DOCUMENTS = [
    '{"a":1,"b":"x"}',
    None,
    '{"a":"\\u0061"}',
    "{",
    "[1]",
    '{"a":{"b":[1,"X"]},"a.b":null}',
    '{"a":1e0}',
    "null",
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.json_()], ids=str)
def test_json(layout: Callable[[pa.Array], pa.Array], kind: pa.DataType) -> None:
    if kind == pa.json_():
        array = pa.ExtensionArray.from_storage(kind, as_slice(pa.array(DOCUMENTS)))
    else:
        array = layout(pa.array(DOCUMENTS, kind))

    def found(path: tuple[str, ...], opcode: Opcode, constant: Constant | None = None) -> list[int]:
        return rows(array, opcode, constant, ALSO if opcode is Opcode.EQUALS_ANY else NEVER, [JsonPath(path)])

    assert found(("a",), Opcode.EQUALS_ANY, equal(1, "a")) == [0, 2, 6]
    assert found(("a",), Opcode.EXISTS) == [0, 2, 5, 6]
    assert found(("a.b",), Opcode.IS_NULL) == [5]
    assert found(("a", "b"), Opcode.CONTAINS_IGNORE_CASE, Text("x")) == [5]
    assert found(("a", "b"), Opcode.EQUALS_ANY, equal(1)) == [5]
    assert found((), Opcode.IS_NULL) == [1, 7]
    assert found((), Opcode.EXISTS) == [0, 2, 4, 5, 6]
    assert found((), Opcode.EQUALS_ANY, equal(1)) == [4]
    assert found(("a",), Opcode.TEXT_EQUALS_ANY, Strings(("1", "a", '{"b": [1, "X"]}'))) == [0, 2, 5, 6]


def test_json_of_two_columns_extracts_only_undecided_rows() -> None:
    """Two paths of one text and one of another, each later test on the rows that are left."""
    batch = pa.record_batch(
        {"m": ['{"a":1,"b":2}', '{"a":1,"b":3}', '{"a":2,"b":2}'] * 50, "n": ['{"a":1}', '{"a":1}', "{}"] * 50}
    )
    tests = [Instruction(Opcode.EQUALS_ANY, 1, register, 0, field, field) for field, register in enumerate((0, 1, 1))]
    program = program_of(tests, [equal(1), equal(2), equal(1)], 3)
    sources = (Source(0, (JsonPath(("a",)),)), Source(0, (JsonPath(("b",)),)), Source(1, (JsonPath(("a",)),)))
    for morsel_rows in (1, 2, 63, 64, 65, 4096):
        assert run(Binding(program, sources, batch.schema, False), batch, morsel_rows) == [*range(0, 150, 3)]


@pytest.mark.parametrize(("bad", "what"), [("{", "well-formed"), ("[1]", "not an object"), ("\udcff", "well-formed")])
def test_strict_json_names_the_first_bad_row(bad: str, what: str) -> None:
    texts = pa.array([text.encode("utf-8", "surrogatepass") for text in ['{"a":1}'] * 130 + [bad, "{"]])
    batch = pa.record_batch({"c": [False] * 132, "m": pa.Array.from_buffers(pa.string(), 132, texts.buffers())})
    program = program_of([Instruction(Opcode.EXISTS, 1, 0, 0, 0)], [], 2)
    sources = (source_of(batch.column(0)), Source(1, (JsonPath(("a",)),)))  # no test reads the texts
    for morsel_rows in (2, 64, 4096):
        with pytest.raises(DataError, match=f"'m'.*{what}") as caught:
            run(Binding(program, sources, batch.schema, True), batch, morsel_rows)
        assert caught.value.row == 130
    assert run(Binding(program, sources, batch.schema, False), batch) == [*range(132)]


def test_every_test_opcode_on_every_type_runs() -> None:
    """No pair of a test and a type is without a kernel: what cannot be true is false."""
    constants: dict[Opcode, Constant | None] = {
        Opcode.EXISTS: None, Opcode.IS_NULL: None, Opcode.EQUALS_ANY: equal(5, "5", None, True, instants=(5,)),
        Opcode.NUMBER_RANGE: Intervals((point(5),)), Opcode.STRING_RANGE: StringBound("gte", "5"),
        Opcode.TIMESTAMP_RANGE: Intervals((point(5),)), Opcode.CONTAINS: Text("5"),
        Opcode.CONTAINS_IGNORE_CASE: Text("5"), Opcode.TEXT_EQUALS_ANY: Strings(("5", "[5]", "{}")),
        Opcode.TEXT_NUMBER_RANGE: Intervals((point(5),)), Opcode.JSON_CONTAINS: Json("5"),
    }  # fmt: skip
    assert set(constants) == {opcode for opcode, spec in OPCODES.items() if spec.field}
    number = pa.array([5, None], pa.int8())
    arrays = [
        number, number.cast(pa.float32()), number.cast(pa.string()), pa.array([True, None]), pa.nulls(2),
        number.cast(pa.int32()).view(pa.date32()), number.cast(pa.int64()).view(pa.timestamp("ns")),
        pa.array([[5], None], pa.list_(pa.int8())), pa.array([{"a": 5}, None]), pa.array([[("a", 5)], None],
        pa.map_(pa.string(), pa.int8())), pa.array([Decimal(5), None], pa.decimal128(5, 1)),
    ]  # fmt: skip
    for opcode, constant in constants.items():
        for array in arrays:
            answers = {tuple(rows(layout(array), opcode, constant, elements)) for layout in (as_plain, as_slice)
                       for elements in ([*Elements] if opcode is Opcode.EQUALS_ANY else [NEVER])}  # fmt: skip
            assert answers <= {(), (0,), (1,), (0, 1)}
            if opcode in (Opcode.EXISTS, Opcode.IS_NULL) and array.type != pa.null():
                assert answers == {(0,) if opcode is Opcode.EXISTS else (1,)}
