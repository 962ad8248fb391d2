"""Arrow arrays to Python values: every type, every encoding, every layout; and the way along a source's steps."""

from __future__ import annotations

import datetime
import math
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from fastfilter.errors import DataError
from fastfilter.runtime.binding import JsonPath, MapKey, StructChild
from fastfilter.runtime.vm.python.columns import (
    UnsupportedType,
    decode,
    follow,
    open_json_texts,
    open_values,
    value_of_null,
)
from fastfilter.runtime.vm.python.jsonb import NarrowFloat, text_of
from fastfilter.values import MISSING, Instant

EXACT: list[tuple[pa.DataType, list[Any]]] = [
    (pa.null(), [None, None, None]),
    (pa.bool_(), [True, None, False, True]),
    *((getattr(pa, f"int{w}")(), [-(2 ** (w - 1)), None, 2 ** (w - 1) - 1, 0]) for w in (8, 16, 32, 64)),
    *((getattr(pa, f"uint{w}")(), [2**w - 1, None, 0]) for w in (8, 16, 32, 64)),
    (pa.float16(), [0.5, None, -2.0, math.inf]),
    (pa.float32(), [0.5, None, 16777216.0, -math.inf]),
    (pa.float64(), [0.1, None, -0.0, 1e300, math.inf]),
    (pa.decimal32(7, 2), [Decimal("1.50"), None, Decimal("-99999.99")]),
    (pa.decimal64(18, 0), [Decimal(10**17), None, Decimal(0)]),
    (pa.decimal128(38, 10), [Decimal("0.0000000001"), None, Decimal("1234567890123456789012345678.5")]),
    (pa.decimal128(5, -2), [Decimal("1E+2"), None]),
    (pa.decimal256(76, 38), [Decimal("9" * 38 + "." + "9" * 38), None, Decimal("-0.5")]),
    (pa.string(), ["", None, "é😀", "a" * 300, "\0"]),
    (pa.large_string(), ["", None, "é😀", "a" * 300]),
    (pa.string_view(), ["", None, "abcdefghijkl", "abcdefghijklm", "é😀"]),
    (pa.list_(pa.int64()), [[1, None], None, [], [2, 3, 4]]),
    (pa.large_list(pa.string()), [["a", None], None, [], ["b"]]),
    (pa.list_(pa.int64(), 2), [[1, None], None, [3, 4], [5, 6]]),
    (pa.list_view(pa.string()), [["a", None], None, [], ["b", "c"]]),
    (pa.large_list_view(pa.bool_()), [[True], None, [], [False, None]]),
    (pa.list_(pa.list_(pa.string())), [[["a"], None, []], None, [], [["b", None]]]),
    (pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))]),
    [{"x": 1, "y": ["a"]}, None, {"x": None, "y": None}, {"x": 2, "y": []}]),
    (pa.struct([]), [{}, None, {}]),
    (pa.list_(pa.struct([("x", pa.string())])), [[{"x": "a"}, None], None, [], [{"x": None}]]),
    (pa.struct([("s", pa.struct([("x", pa.int8())]))]), [{"s": {"x": 1}}, {"s": None}, None, {"s": {"x": None}}]),
]  # fmt: skip
IDS = [str(kind) for kind, _ in EXACT]


def slices(build: Callable[[list[Any]], pa.Array], values: list[Any]) -> list[tuple[pa.Array, list[Any]]]:
    """The same values in many layouts: alone, and as slices of longer arrays that begin at various bits."""
    layouts = [(build(values), values), (build([])[0:0], []), (build(values).slice(len(values)), [])]
    for before in (1, 3, 8, 9):
        padding = (values * 10)[:before]
        whole = build(padding + values + values)
        layouts.append((whole.slice(before, len(values)), values))
        layouts.append((whole.slice(1).slice(before - 1, len(values)).slice(1), values[1:]))
    return layouts


@pytest.mark.parametrize(("kind", "values"), EXACT, ids=IDS)
def test_types_and_slices(kind: pa.DataType, values: list[Any]) -> None:
    for array, expected in slices(lambda chosen: pa.array(chosen, kind), values):
        assert array.to_pylist() == expected
        assert decode(array) == expected
        read = open_values(array)
        for start in range(len(expected) + 1):
            for stop in range(start, len(expected) + 1):
                assert read(start, stop) == expected[start:stop]


@pytest.mark.parametrize(("kind", "values"), EXACT, ids=IDS)
def test_nan_and_types_survive(kind: pa.DataType, values: list[Any]) -> None:
    for value, decoded in zip(values, decode(pa.array(values, kind)), strict=True):
        expected_type = NarrowFloat if kind in (pa.float16(), pa.float32()) and value is not None else type(value)
        assert type(decoded) is expected_type


INT8 = pa.int8()
STRING = pa.string()


def dictionary_of(values: list[Any], kind: pa.DataType, index_kind: pa.DataType = INT8) -> pa.Array:
    """A dictionary with every value twice and entries that nothing uses; null as an entry as well as an index."""
    entries = [*values, *values, None]
    indices = [
        (None if row % 2 else len(entries) - 1) if value is None else row + len(values) * (row % 2)
        for row, value in enumerate(values)
    ]
    return pa.DictionaryArray.from_arrays(pa.array(indices, index_kind), pa.array(entries, kind))


@pytest.mark.parametrize(("kind", "values"), EXACT, ids=IDS)
def test_dictionaries(kind: pa.DataType, values: list[Any]) -> None:
    for index_kind in (pa.int8(), pa.uint8(), pa.int32(), pa.int64()):
        array = dictionary_of(values, kind, index_kind)
        assert decode(array) == values
        assert decode(array.slice(1)) == values[1:]
    sliced_dictionary = pa.array([*values, *values, None], kind).slice(1)
    array = pa.DictionaryArray.from_arrays(pa.array([len(values) - 1, None, len(values)]), sliced_dictionary)
    assert decode(array) == [values[0], None, values[1]]


def test_a_slice_of_a_dictionary_array_reads_its_own_rows() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 2]), pa.array(["a", None, "a"]))
    assert decode(array.slice(2)) == ["a", None, "a"]
    assert decode(pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int8()), pa.array([], pa.string()))) == [
        None,
        None,
    ]


@pytest.mark.parametrize("index", [-1, 2, 127])
def test_a_broken_dictionary_is_an_error(index: int) -> None:
    indices = pa.array([0, index], pa.int8())
    array = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    assert open_values(array)(0, 1) == ["a"]
    with pytest.raises(DataError, match="dictionary index"):
        decode(array)


@pytest.mark.parametrize(("kind", "values"), EXACT, ids=IDS)
@pytest.mark.parametrize("end_kind", [pa.int16(), pa.int32(), pa.int64()], ids=str)
def test_run_ends(kind: pa.DataType, values: list[Any], end_kind: pa.DataType) -> None:
    lengths = [1 + row % 3 for row in range(len(values))]
    ends = [sum(lengths[: row + 1]) for row in range(len(values))]
    array = pa.RunEndEncodedArray.from_arrays(pa.array(ends, end_kind), pa.array(values, kind))
    expanded = [value for value, length in zip(values, lengths, strict=True) for _ in range(length)]
    assert decode(array) == expanded
    for start in range(len(expanded) + 1):
        for length in range(len(expanded) - start + 1):
            part = array.slice(start, length)
            assert decode(part) == expanded[start : start + length]
            if length > 1:
                assert open_values(part)(1, length) == expanded[start + 1 : start + length]


def test_encodings_in_one_another() -> None:
    words = dictionary_of(["a", None, "b"], pa.string())
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 5], pa.int32()), words)
    assert decode(runs) == ["a", "a", None, "b", "b"]
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 3]), words)
    assert decode(lists.slice(1)) == [[], ["b"]]
    assert decode(pa.StructArray.from_arrays([words, runs.slice(1, 3)], ["d", "r"]).slice(1)) == [
        {"d": None, "r": None},
        {"d": "b", "r": "b"},
    ]


NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@pytest.mark.parametrize("unit", NANOSECONDS)
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris", "+05:30"])
def test_timestamps_are_exact_beyond_datetime(unit: str, zone: str | None) -> None:
    numbers = [0, -1, None, 2**63 - 1, -(2**63), 1_751_371_200_123]
    array = pa.array([7, *numbers], pa.int64()).view(pa.timestamp(unit, zone)).slice(1)
    expected = [None if number is None else Instant(number * NANOSECONDS[unit]) for number in numbers]
    assert decode(array) == expected
    assert all(type(value) in (Instant, type(None)) for value in decode(array))
    assert decode(dictionary_of(numbers, pa.int64()).dictionary.view(pa.timestamp(unit)))[: len(numbers)] == expected


def test_dates() -> None:
    days = [datetime.date(1969, 12, 31), None, datetime.date(2024, 2, 29)]
    for kind in (pa.date32(), pa.date64()):
        assert decode(pa.array(days, kind)) == [Instant(-86_400 * 10**9), None, Instant(19_782 * 86_400 * 10**9)]
    assert decode(pa.array([2**31 - 1, -(2**31)], pa.int32()).view(pa.date32())) == [
        Instant(86_400 * 10**9 * (2**31 - 1)),
        Instant(-86_400 * 10**9 * 2**31),
    ]
    assert decode(pa.array([1], pa.int64()).view(pa.date64())) == [Instant(10**6)]
    assert decode(pa.array([[datetime.datetime(1970, 1, 1)], None], pa.list_(pa.timestamp("s")))) == [
        [Instant(0)],
        None,
    ]


def test_numbers_remember_their_width_and_decimals_have_no_trailing_zeros() -> None:
    assert [text_of(value) for value in decode(pa.array([0.1, 1.0, -0.0], pa.float32()))] == ["0.1", "1", "0"]
    assert [text_of(value) for value in decode(pa.array([0.1, 65504.0], pa.float16()))] == ["0.1", "65500"]
    decimals = pa.array([Decimal("1.50"), Decimal("100.00"), Decimal("0.00"), Decimal("-0.10")], pa.decimal128(9, 2))
    assert [text_of(value) for value in decode(decimals)] == ["1.5", "100", "0", "-0.1"]
    wide = Decimal("1234567890" * 7 + "123456")
    assert decode(pa.array([wide], pa.decimal256(76, 0))) == [wide]


def test_nan() -> None:
    for kind in (pa.float16(), pa.float32(), pa.float64()):
        (value,) = decode(pa.array([math.nan], kind))
        assert math.isnan(value)


def raw_strings(contents: list[bytes | None], kind: pa.DataType) -> pa.Array:
    """A string array over any bytes, UTF-8 or not."""
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[kind]
    return pa.array(contents, binary).view(kind)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_strings_that_are_not_utf8_do_not_crash(kind: pa.DataType) -> None:
    array = raw_strings([b"ok", b"\xff\xfe", None, b"\xed\xa0\xbd", b"a\xc3", "é".encode()], kind)
    values = decode(array)
    assert values == ["ok", "\udcff\udcfe", None, "\ud83d", "a\udcc3", "é"]
    assert decode(array.slice(5)) == ["é"]
    assert open_json_texts(array)(0, 3) == [b"ok", b"\xff\xfe", None]
    assert len({text_of([value]) for value in values if value}) == 5


def test_views_anywhere_in_the_child() -> None:
    child = pa.array(range(10_000))
    for build, offset_kind in ((pa.ListViewArray, pa.int32()), (pa.LargeListViewArray, pa.int64())):
        offsets = pa.array([9_990, 0, 5, 0, 9_999], offset_kind)
        sizes = pa.array([10, 3, 0, 3, 1], offset_kind)
        array = build.from_arrays(offsets, sizes, child, mask=pa.array([False, False, False, True, False]))
        expected = [list(range(9_990, 10_000)), [0, 1, 2], [], None, [9_999]]
        assert decode(array) == expected
        assert decode(array.slice(1, 3)) == expected[1:4]
    offsets, sizes = pa.array([2, 0, 1], pa.int32()), pa.array([2, 2, 3], pa.int32())
    assert decode(pa.ListViewArray.from_arrays(offsets, sizes, child)) == [[2, 3], [0, 1], [1, 2, 3]]


def test_rubbish_under_a_null_list() -> None:
    offsets = pa.array([0, 2, 4], pa.int32())
    buffers = [pa.py_buffer(b"\x02"), offsets.buffers()[1]]
    array = pa.Array.from_buffers(pa.list_(pa.int64()), 2, buffers, children=[pa.array([1, 2, 3, 4])])
    assert decode(array) == [None, [3, 4]]


def test_null_structs_hide_what_is_under_them() -> None:
    child = pa.array([7, 7, 9, None])
    array = pa.StructArray.from_arrays([child], ["x"], mask=pa.array([False, False, True, False]))
    assert decode(array) == [{"x": 7}, {"x": 7}, None, {"x": None}]
    assert open_values(array, (StructChild(0),))(0, 4) == [7, 7, None, None]
    assert open_values(array.slice(1, 3), (StructChild(0),))(0, 3) == [7, None, None]
    outer = pa.StructArray.from_arrays([array], ["s"], mask=pa.array([True, False, False, False]))
    assert open_values(outer, (StructChild(0), StructChild(0)))(0, 4) == [None, 7, None, None]
    assert decode(outer.slice(1)) == [{"s": {"x": 7}}, {"s": None}, {"s": {"x": None}}]


def map_array(rows: list[Any], item_kind: pa.DataType, key_kind: pa.DataType = STRING) -> pa.Array:
    return pa.array(rows, pa.map_(key_kind, item_kind))


@pytest.mark.parametrize("key_kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_maps(key_kind: pa.DataType) -> None:
    rows = [[("a", 1), ("b", None)], None, [], [("b", 2), ("a", 3), ("b", 4)], [("é", 5)]]
    expected = [{"a": 1, "b": None}, None, {}, {"b": 4, "a": 3}, {"é": 5}]
    for array, part in (
        (map_array(rows, pa.int64(), key_kind), expected),
        (map_array(rows * 2, pa.int64(), key_kind).slice(3, 5), (expected * 2)[3:8]),
    ):
        assert decode(array) == part
        for key in ("a", "b", "é", "zzz"):
            values = [MISSING if row is None else row.get(key, MISSING) for row in part]
            read = open_values(array, (MapKey(key),))
            assert read(0, len(array)) == values
            assert read(1, 4) == values[1:4]


def test_maps_with_a_sliced_child_and_encoded_keys() -> None:
    keys = dictionary_of(["x", "a", "b", "a"], pa.string())
    items = pa.array([0, 1, None, 3])
    array = pa.MapArray.from_arrays(pa.array([1, 3, 4], pa.int32()), keys, items)
    assert decode(array) == [{"a": 1, "b": None}, {"a": 3}]
    assert open_values(array.slice(1), (MapKey("a"),))(0, 1) == [3]
    assert open_values(array, (MapKey("b"),))(0, 2) == [None, MISSING]


def test_steps_through_everything() -> None:
    kind = pa.struct([("m", pa.map_(pa.string(), pa.struct([("x", pa.int64())])))])
    rows = [
        {"m": [("k", {"x": 1})]},
        {"m": [("k", None)]},
        {"m": [("o", {"x": 2})]},
        {"m": None},
        None,
        {"m": [("k", {"x": None})]},
    ]
    steps = (StructChild(0), MapKey("k"), StructChild(0))
    expected = [1, None, MISSING, MISSING, MISSING, None]
    plain = pa.array(rows, kind)
    indices = pa.array([5, 0, None, 1, 2, 3, 4])
    encoded = pa.DictionaryArray.from_arrays(indices, plain)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 4, 5, 6, 7]), plain)
    assert open_values(plain, steps)(0, 6) == expected
    assert open_values(plain.slice(2), steps)(1, 4) == expected[3:]
    assert open_values(encoded, steps)(0, 7) == [None, 1, MISSING, None, MISSING, MISSING, MISSING]
    assert open_values(encoded, steps[:1])(2, 3) == [None]
    assert open_values(runs, steps)(0, 7) == [1, *expected]
    assert open_values(runs.slice(3), steps)(0, 4) == expected[2:]


def test_value_of_null() -> None:
    assert value_of_null(()) is None
    assert value_of_null((StructChild(1), StructChild(0))) is None
    assert value_of_null((StructChild(1), MapKey("a"))) is MISSING
    assert value_of_null((MapKey("a"), StructChild(0))) is MISSING
    assert value_of_null((JsonPath(()),)) is None
    assert value_of_null((StructChild(0), JsonPath(("a",)))) is MISSING


def test_follow() -> None:
    document = {"a": {"b": [1], "": None}, "a.b": 2}
    assert follow(document, ()) is document
    assert follow(document, ("a", "b")) == [1]
    assert follow(document, ("a.b",)) == 2
    assert follow(document, ("a", "")) is None
    for path in (("b",), ("a", "b", "0"), ("a", "", "c"), ("a.b", "c")):
        assert follow(document, path) is MISSING
    assert follow([1], ("0",)) is MISSING
    assert follow(None, ("a",)) is MISSING


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_json_texts(kind: pa.DataType) -> None:
    texts = ['{"a":1}', None, "é"]
    contents = [None if text is None else text.encode() for text in texts]
    array = pa.array(texts, kind)
    assert open_json_texts(array)(0, 3) == contents
    assert open_json_texts(array.slice(1))(0, 2) == contents[1:]
    assert open_json_texts(dictionary_of(texts, kind))(0, 3) == contents
    extension = pa.ExtensionArray.from_storage(pa.json_(kind), array)
    assert open_json_texts(extension)(0, 3) == contents
    assert open_json_texts(pa.StructArray.from_arrays([extension], ["j"]), (StructChild(0),))(1, 3) == contents[1:]


class Note(pa.ExtensionType):
    """A string-backed extension."""

    def __init__(self) -> None:
        super().__init__(pa.string(), "tests.python_vm.note")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Note:
        return cls()


def test_extensions() -> None:
    ids = [uuid.UUID(int=1), None, uuid.UUID("12345678-1234-5678-1234-567812345678")]
    array = pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([None if i is None else i.bytes for i in ids], pa.binary(16))
    )
    assert decode(array.slice(1)) == [None, "12345678-1234-5678-1234-567812345678"]
    notes = pa.ExtensionArray.from_storage(Note(), pa.array(["a", None]))
    assert decode(notes) == ["a", None]
    assert decode(pa.ListArray.from_arrays(pa.array([0, 2]), notes)) == [["a", None]]


UNSUPPORTED = [
    pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(4), pa.duration("s"), pa.time32("s"), pa.time64("us"),
    pa.month_day_nano_interval(),
    pa.list_(pa.binary()), pa.struct([("x", pa.int64()), ("b", pa.binary())]), pa.map_(pa.string(), pa.binary()),
    pa.map_(pa.int64(), pa.int64()), pa.json_(),
    pa.dictionary(pa.int8(), pa.binary()),
]  # fmt: skip


@pytest.mark.parametrize("kind", UNSUPPORTED, ids=str)
def test_unsupported_types_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(UnsupportedType) as caught:
        decode(pa.nulls(2, kind))
    assert str(caught.value.type) in str(caught.value)


def test_unsupported_children_do_no_harm_where_they_are_not_read() -> None:
    array = pa.array([{"x": 1, "b": b"\xff"}, None], pa.struct([("x", pa.int64()), ("b", pa.binary())]))
    assert open_values(array, (StructChild(0),))(0, 2) == [1, None]
    assert open_values(array, whole=False)(0, 2) == [{}, None]
    assert open_values(pa.ListArray.from_arrays(pa.array([0, 2]), array), whole=False)(0, 1) == [[{}, None]]
    assert open_values(map_array([[(1, 2)], None], pa.int64(), pa.int64()), whole=False)(0, 2) == [{}, None]
    with pytest.raises(UnsupportedType):
        open_values(array, (StructChild(1),), whole=False)
    with pytest.raises(UnsupportedType):
        open_json_texts(array, (StructChild(1),))
    with pytest.raises(UnsupportedType):
        open_values(pa.array([1]), (StructChild(0),))
