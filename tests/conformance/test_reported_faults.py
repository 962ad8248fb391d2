"""Faults reported in public against systems of this kind (tests/data/reported-faults.md, half A), one test for each.

Where the report is about rows, they are evaluated in every physical layout that holds them, in the very arrays of the
report, sliced and chunked, on both back ends, and record by record.
"""

from __future__ import annotations

import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import layouts
import oracle
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
import running

import fastfilter
from fastfilter.values import Instant

Filter = Mapping[str, Any]


def on(operator: str, value: Any, field: str = "metadata.v") -> Filter:
    """A FishMem condition."""
    return {"field": field, "operator": operator, "value": value}


@pytest.fixture
def check(counted: Callable[[str, int], None]) -> Any:
    """``check(records or arrays, filter, matching rows)``; the layouts taken are counted."""
    taken: collections.Counter[str] = collections.Counter()

    def check(given: Any, filter: Filter, matching: Sequence[int], texts: Sequence[bytes | None] | None = None) -> None:
        dialect = "anansi" if {"metadata", "$and", "$or"} & filter.keys() else "fishmem"
        flt = fastfilter.compile(filter, dialect=dialect, missing_fields="null")
        if isinstance(given, pa.Array):
            for batch in holding(given):
                cut(flt, batch, matching, taken)
            return
        expression = running.expression_of(filter, dialect)
        records = list(given)
        if texts is not None:
            records = [{**record, "metadata": read(text)} for record, text in zip(records, texts, strict=True)]
        for record, row in zip(records, range(len(records)), strict=True):
            shown = record if texts is None or texts[row] is None else {**record, "metadata": texts[row]}
            assert flt.matches(as_shown(shown)) is (row in matching), (filter, shown)
        for metadata in layouts.METADATA:
            for seed in range(3):
                try:
                    batch = layouts.lay_out(records, metadata, layouts.seeded((seed, metadata)), texts)
                    layouts.faithful(expression, records, batch)
                except layouts.CannotHold:
                    continue
                taken[f"held by {metadata}"] += 1
                cut(flt, batch, matching, taken)

    yield check
    for name, number in taken.items():
        counted(f"reported faults: tables {name}", number)


def read(text: bytes | None) -> Any:
    """What a JSON text says; nothing, if it is none."""
    try:
        return None if text is None else oracle.parse_json(text)
    except ValueError:
        return None


def cut(flt: fastfilter.Filter, batch: pa.RecordBatch, matching: Sequence[int], taken: Any) -> None:
    """Evaluates a batch in every shape; the public methods must say the same."""
    for shape in layouts.SHAPES.values():
        try:
            data, rows = shape.cut(batch)
        except layouts.CannotHold:
            continue
        taken[f"cut as {shape.name}"] += 1
        want = [row in matching for row in rows]
        for backend in running.BACKENDS:
            assert running.outcome(flt, data, backend) == want, (backend, shape.name, data.schema)
        mask = flt.mask(data)
        assert mask.null_count == 0
        assert mask.to_pylist() == want
        assert flt.indices(data).tolist() == [place for place, match in enumerate(want) if match]
        assert flt.count(data) == sum(want)
        kept = flt.filter(data)
        assert kept.schema == data.schema
        assert kept.num_rows == sum(want)


def holding(array: pa.Array) -> list[pa.RecordBatch]:
    """Batches that hold an array as the metadata key ``v``: flattened, and as a child of a struct."""
    struct = pa.StructArray.from_arrays([array], ["v"])
    return [pa.record_batch({"metadata.v": array}), pa.record_batch({"metadata": struct})]


def rows(*values: Any, key: str = "v") -> list[dict[str, Any]]:
    """Records that have values under one metadata key; None is a null."""
    return [{"metadata": {key: value}} for value in values]


def as_shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: as_shown(item) for key, item in value.items()}
    return oracle.instant_text(value.nanoseconds) if isinstance(value, Instant) else value


def refused(filter: Any, code_or_word: str, pointer: str, dialect: str = "auto") -> fastfilter.FilterError:
    """The error that a filter is."""
    for given in (filter, json.dumps(filter)):
        with pytest.raises(fastfilter.FilterError) as caught:
            fastfilter.compile(given, dialect=dialect)
        assert code_or_word in f"{caught.value.code} {caught.value}"
        assert caught.value.pointer == pointer
    return caught.value


def encodings(values: Sequence[Any], type: pa.DataType) -> list[pa.Array]:
    """Values as a plain, a dictionary and a run-end encoded array, and each of them inside a longer one."""
    plain = pa.array(values, type)
    entries = pa.array([*dict.fromkeys(values), values[0]], type)
    codes = [list(dict.fromkeys(values)).index(value) for value in values]
    arrays = [
        plain,
        pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), entries),
        pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(values) + 1), pa.int32()), plain),
    ]
    long = pa.array([*values] * 9, type)
    return [*arrays, long.slice(len(values), len(values)), long.slice(8 * len(values))]


def test_a01_sliced_array_with_a_validity_bitmap(check: Any) -> None:
    parent = pa.array([1, 2, None, 4, None, 6, 7, 8], pa.float64())
    far = pa.array([1.0, None] * 4 + [9.0, None, 4.0, None, 6.0, 7.0] + [None] * 6, pa.float64())
    for array in (parent.slice(2, 5), far.slice(9, 5)):
        assert array.to_pylist() == [None, 4, None, 6, 7]
        check(array, on("gt", 0), [1, 3, 4])
        check(array, on("exists", False), [0, 2])
        check(array, on("lte", 4), [1])
    check(rows(None, 4.0, None, 6.0, 7.0), on("gt", 0), [1, 3, 4])


def test_a02_sliced_struct_with_the_offset_of_its_child(check: Any) -> None:
    values = [{"x": 7}, {"x": 7}, None, {"x": None}, {"x": 7}]
    parent = pa.array(values, pa.struct([("x", pa.int64())]))
    child = pa.array([0, 7, 7, 7, None, 7], pa.int64()).slice(1)
    masked = pa.StructArray.from_arrays([child], ["x"], mask=pa.array([False, False, True, False, False]))
    for struct in (parent.slice(1, 3), masked.slice(1, 3)):
        for filter, matching in (
            (on("exists", False, "metadata.v.x"), [1, 2]),
            (on("eq", 7, "metadata.v.x"), [0]),
            (on("eq", 0, "metadata.v.x"), []),
            (on("ne", 0, "metadata.v.x"), [0]),
            ({"not": on("eq", 7, "metadata.v.x")}, [1, 2]),
        ):
            check(struct, filter, matching)
            check(rows({"x": 7}, None, {"x": None}), filter, matching)
    batch = pa.record_batch({"metadata": parent}).slice(1, 3)
    for backend in running.BACKENDS:
        answer = running.outcome(fastfilter.compile(on("exists", False, "metadata.x")), batch, backend)
        assert answer == [False, True, True]


def test_a03_dictionary_with_nulls_and_repeated_values(check: Any) -> None:
    simple = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 0], pa.int32()), ["a", "b"])
    for given in (simple, rows("a", None, "b", "a")):
        check(given, on("in", ["a", "b"]), [0, 2, 3])
        check(given, on("ne", "zzz"), [0, 2, 3])
        check(given, on("nin", ["zzz"]), [0, 2, 3])
    for index in (pa.int8(), pa.uint8(), pa.int32(), pa.uint64()):
        odd = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], index), pa.array(["a", None, "a"]))
        check(odd, on("eq", "a"), [0, 2])
        check(odd, on("ne", "b"), [0, 2])
        check(odd, on("exists", False), [1, 3])
        check(odd, {"metadata": {"v": None}}, [1, 3])
        check(odd, on("contains", ""), [0, 2])
    nothing = pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int8()), pa.array([], pa.string()))
    check(nothing, on("ne", "a"), [])


def test_a04_string_view_inline_and_out_of_line(check: Any) -> None:
    texts = ["one", "two", "backend one", "backend two", "abcdefghijkl", "abcdefghijklm"]
    for type in (pa.string(), pa.large_string(), pa.string_view()):
        for array in encodings(texts, type):
            check(array, on("lt", "backend two"), [2, 4, 5])
            check(array, on("eq", "abcdefghijkl"), [4])
            check(array, on("eq", "abcdefghijklm"), [5])
            check(array, on("gt", "abcdefghijkl"), [0, 1, 2, 3, 5])
    check(rows(*texts), on("lt", "backend two"), [2, 4, 5])
    batch = pa.record_batch({"unused": pa.array(texts, pa.string_view()), "metadata.v": pa.array(range(6))})
    for backend in running.BACKENDS:
        assert running.outcome(fastfilter.compile(on("gte", 4)), batch, backend) == [False] * 4 + [True] * 2


def test_a05_nothing_matches_and_nothing_there(check: Any) -> None:
    check(pa.array([1, 2, 3], pa.int64()), on("lt", 0), [])
    check(pa.array([], pa.int64()), on("lt", 0), [])
    check(rows(1, 2, 3), on("lt", 0), [])
    schema = pa.schema([("metadata.v", pa.int64())])
    empty = pa.RecordBatch.from_pylist([], schema)
    full = pa.RecordBatch.from_pylist([{"metadata.v": 1}, {"metadata.v": -1}], schema)
    flt = fastfilter.compile(on("lt", 0))
    for batches in ([empty], [empty, full], [full, empty, full], [full, empty], []):
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        masks = list(flt.mask(reader))
        assert [mask.to_pylist() for mask in masks] == [[False, True] * (batch.num_rows // 2) for batch in batches]
        table = flt.filter(pa.RecordBatchReader.from_batches(schema, batches)).read_all()
        assert table.schema == schema
        assert table.num_rows == sum(batch.num_rows for batch in batches) // 2
        mask = flt.mask(pa.Table.from_batches(batches, schema))
        assert isinstance(mask, pa.ChunkedArray)
        assert len(mask) == sum(batch.num_rows for batch in batches)


@pytest.mark.parametrize(
    ("filter", "matching"),
    [
        (on("ne", 1), [1]),
        (on("gt", 1), []),
        (on("lte", 1), [0]),
        ({"not": on("lte", 1)}, [1, 2]),
        (on("exists", True), [0, 1]),
    ],
)
def test_a06_nan_against_the_statistics_of_parquet(
    check: Any, filter: Filter, matching: list[int], tmp_path: Any
) -> None:
    array = pa.array([1.0, float("nan"), None], pa.float64())
    check(array, filter, matching)
    for type in (pa.float16(), pa.float32()):
        check(array.cast(type), filter, matching)
    table = pa.table({"row": [0, 1, 2], "metadata": pa.StructArray.from_arrays([array], ["v"])})
    pyarrow.parquet.write_table(table, tmp_path / "one.parquet")
    with pa.ipc.new_file(tmp_path / "one.arrow", table.schema) as writer:
        writer.write_table(table)
    for name in ("one.parquet", "one.arrow"):
        out = tmp_path / f"{name}.out.parquet"
        code = exit_code(["run", json.dumps(filter), str(tmp_path / name), "-o", str(out)])
        assert code == (0 if matching else 1)
        assert pyarrow.parquet.read_table(out)["row"].to_pylist() == matching


def exit_code(arguments: list[str]) -> int:
    """What the command line exits with."""
    return subprocess.run([sys.executable, "-m", "fastfilter", *arguments], check=False, capture_output=True).returncode


def test_a07_minus_zero(check: Any) -> None:
    values = [-1.0, -0.0, 0.0, 1.0]
    for type in (pa.float16(), pa.float32(), pa.float64()):
        plain = pa.array(values, type)
        run_ends = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4], pa.int16()), plain)
        coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.int8()), plain)
        for given in (plain, run_ends, coded):
            for filter, matching in _ZERO:
                check(given, filter, matching)
    texts = [b'{"v":-1}', b'{"v":-0.0}', b'{"v":-0}', b'{"v":1}']
    for filter, matching in _ZERO:
        check([{"metadata": oracle.parse_json(text)} for text in texts], filter, matching, texts)


_ZERO: list[tuple[Filter, list[int]]] = [
    (on("lt", 0), [0]),
    (on("gte", 0), [1, 2, 3]),
    (on("lte", 0), [0, 1, 2]),
    (on("gt", -0.0), [3]),
    (on("eq", 0), [1, 2]),
    (on("eq", -0.0), [1, 2]),
    (on("in", [0, 5]), [1, 2]),
    (on("ne", 0), [0, 3]),
    ({"metadata": {"v": 0}}, [1, 2]),
    ({"metadata": {"v": -0.0}}, [1, 2]),
    ({"metadata": {"v": {"$gte": 0}}}, [1, 2, 3]),
]


def test_a08_literals_outside_the_column(check: Any) -> None:
    wide = [0, 1, 2**62]
    for type in (pa.int64(), pa.uint64(), pa.decimal128(38, 0)):
        check(pa.array(wide, type), on("in", [0, 1]), [0, 1])
        check(pa.array(wide, type), on("nin", [0, 1]), [2])
    check(rows(*wide), on("in", [0, 1]), [0, 1])
    for given in (pa.array([-128, 127, None], pa.int8()), rows(-128, 127, None)):
        check(given, on("eq", 128), [])
        check(given, on("lt", 128), [0, 1])
        check(given, on("ne", 128), [0, 1])
        check(given, on("gt", -129), [0, 1])
        check(given, on("gte", -128.5), [0, 1])
        check(given, on("in", [128, -129, 256 - 128, 2**63, 2**64 - 1]), [])
        check(given, {"metadata": {"v": {"$lt": 128}}}, [0, 1])
    for bits in (8, 16, 32):
        signed, unsigned = f"int{bits}", f"uint{bits}"
        for type, low, high in ((signed, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1), (unsigned, 0, 2**bits - 1)):
            array = pa.array([low, high, None], type)
            check(array, on("in", [low + 2**bits, high + 1, low - 1, high - 2**bits]), [])
            check(array, on("lte", high + 1), [0, 1])
            check(array, on("gte", low - 1), [0, 1])
            check(array, on("gt", high), [])
            check(array, on("lt", low), [])
            check(array, on("eq", low), [0])
            check(array, on("eq", high + 0.5), [])


def test_a09_bounds_at_the_ends_of_int64(check: Any) -> None:
    values = [2**63 - 1, 0, -(2**63)]
    for given in (pa.array(values, pa.int64()), pa.array(values, pa.decimal128(38, 0)), rows(*values)):
        check(given, on("gt", 2**63 - 1), [])
        check(given, on("gte", 2**63 - 1), [0])
        check(given, on("gt", 2**63 - 2), [0])
        check(given, on("lt", -(2**63)), [])
        check(given, on("lte", -(2**63)), [2])
        check(given, on("gte", 2.0**63), [])
        check(given, on("eq", 2.0**63), [])
        check(given, on("lt", 2.0**63), [0, 1, 2])
        check(given, on("eq", -(2.0**63)), [2])
    for given in (pa.array([1, 2**64 - 1], pa.uint64()), rows(1, 2**64 - 1)):
        check(given, on("gt", 2**63 - 1), [1])
        check(given, on("lt", 0), [])
        check(given, on("eq", 2**64 - 1), [1])
        check(given, on("eq", -1), [])
        check(given, on("eq", 2.0**64), [])
        check(given, on("lt", 2.0**64), [0, 1])
        check(given, on("gt", 1e300), [])
    doubles = pa.array([2.0**63, 2.0**53, -(2.0**63)], pa.float64())
    check(doubles, on("gt", 2**63 - 1), [0])
    check(doubles, on("eq", 2**63 - 1), [])
    check(doubles, on("lt", 2**53 + 1), [1, 2])
    check(doubles, on("eq", 2**53 + 1), [])
    check(pa.array([2**53, 2**53 + 1], pa.int64()), on("eq", 2.0**53), [0])


def test_a10_decimals(check: Any) -> None:
    whole = [Decimal(33), Decimal(44), None]
    for type in (pa.decimal128(18, 0), pa.decimal32(9, 0), pa.decimal64(18, 0), pa.decimal256(40, 0)):
        check(pa.array(whole, type), on("in", [33.3]), [])
        check(pa.array(whole, type), on("gt", 33.3), [1])
        check(pa.array(whole, type), on("in", [33, 34.5]), [0])
    cents = [Decimal("100.22"), Decimal("100.23")]
    for given in (pa.array(cents, pa.decimal128(10, 2)), pa.array(cents, pa.decimal256(40, 2)), rows(*cents)):
        check(given, on("gte", 100.225), [1])
        check(given, on("gt", 1e30), [])
        check(given, on("lt", 1e30), [0, 1])
        check(given, on("eq", 100.23), [1])
        check(given, on("gt", 1e-300), [0, 1])
        check(given, on("lt", -1e300), [])
        check(given, {"metadata": {"v": "100.22"}}, [0])
        check(given, {"metadata": {"v": 100.22}}, [0])
    check(pa.array([Decimal("44.4")], pa.decimal128(18, 1)), on("eq", 44.4), [0])
    check(pa.array([Decimal("44.40")], pa.decimal128(18, 2)), {"metadata": {"v": "44.4"}}, [0])
    check(pa.array([Decimal(12300)], pa.decimal128(5, -2)), on("eq", 12300), [0])
    check(pa.array([Decimal(12300)], pa.decimal128(5, -2)), {"metadata": {"v": "12300"}}, [0])
    for given in (rows(Decimal("1.50"), Decimal("1.5")),):
        check(given, on("eq", 1.5), [0, 1])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+05:30"])
def test_a11_timestamp_units(unit: str, zone: str | None, counted: Callable[[str, int], None]) -> None:
    size = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    first = 1_704_247_200  # 2024-01-03T02:00:00Z
    array = pa.array([first * size, (first + 3600) * size, None], pa.int64()).view(pa.timestamp(unit, zone))
    late = pa.array([1_767_225_600 * size], pa.int64()).view(pa.timestamp(unit, zone))
    taken: collections.Counter[str] = collections.Counter()
    for column in encodings_of(array):
        for field, batch in ((f, pa.record_batch({f: column})) for f in ("created_at", "metadata.v")):
            for operator, value, matching in (
                ("gt", "2024-01-03T02:00:00Z", [1]),
                ("eq", "2024-01-03T02:00:00Z", [0]),
                ("ne", "2024-01-03T02:00:00Z", [1]),
                ("eq", "2024-01-03T03:00:00.000+01:00", [0]),
                ("in", ["2024-01-03T02:00:00Z", "2024-01-03T02:59:59.999999999Z"], [0]),
                ("nin", ["2024-01-03T02:00:00Z"], [1]),
                ("lt", "2024-01-03T02:00:00.000000001Z", [0]),
                ("gte", "2024-01-03T02:00:00.000000001Z", [1]),
                ("lte", "2024-01-03T02:59:59.999999999Z", [0]),
                ("exists", False, [2]),
            ):
                cut(fastfilter.compile(on(operator, value, field)), batch, matching, taken)
    for column in encodings_of(late):
        for operator, value, matching in (
            ("lte", "9999-12-31T00:00:00Z", [0]),
            ("gt", "9999-12-31T00:00:00Z", []),
            ("gt", "1600-01-01T00:00:00Z", [0]),
            ("gt", "0000-01-01T00:00:00Z", [0]),
            ("lt", "0001-01-01T00:00:00+23:59", []),
            ("in", ["9999-12-31T24:00:00Z", "1600-01-01T00:00:00Z"], []),
            ("ne", "9999-12-31T00:00:00Z", [0]),
        ):
            cut(
                fastfilter.compile(on(operator, value, "created_at")),
                pa.record_batch({"created_at": column}),
                matching,
                taken,
            )
    counted("reported faults: timestamp columns", taken.total())


def encodings_of(array: pa.Array) -> list[pa.Array]:
    """An array, the same behind a dictionary with a null in it, and in runs."""
    entries = pa.concat_arrays([array, array.slice(0, 1)])
    codes = pa.array(range(len(array)), pa.int16())
    ends = pa.array(range(1, len(array) + 1), pa.int32())
    return [array, pa.DictionaryArray.from_arrays(codes, entries), pa.RunEndEncodedArray.from_arrays(ends, array)]


def test_a12_midnight_at_the_end_of_a_day_and_leap_seconds(check: Any) -> None:
    texts = ["2020-02-28T23:59:59Z", "2020-02-29T00:00:00Z", "2020-02-29T00:00:01Z"]
    records = [{"created_at": text} for text in texts]
    for value in ("2020-02-28T24:00:00Z", "2020-02-28T24:00:00.000Z", "2020-02-29T02:00:00+02:00"):
        check(records, on("eq", value, "created_at"), [1])
        check(records, on("ne", value, "created_at"), [0, 2])
        check(records, on("lt", value, "created_at"), [0])
    check([{"created_at": "2020-02-28T24:00:00Z"}], on("eq", "2020-02-29T00:00:00Z", "created_at"), [0])
    check([{"created_at": "2016-12-31T23:59:60Z"}], on("ne", "2017-01-01T00:00:00Z", "created_at"), [0])
    for bad in (
        "2020-02-28T24:00:01Z",
        "2020-02-28T24:00:00.000000001Z",
        "2016-12-31T23:59:60Z",
        "2021-02-29T00:00:00Z",
    ):
        refused(on("eq", bad, "created_at"), bad, "/value")
        refused(on("in", ["2020-02-29T00:00:00Z", bad], "created_at"), bad, "/value/1")


def test_a13_nin_with_null_in_the_list(check: Any) -> None:
    for given in (pa.array([1, 2, None, 3], pa.int64()), rows(1, 2, None, 3)):
        check(given, on("nin", [1, None]), [1, 3])
        check(given, on("in", [1, None]), [0])
        check(given, on("eq", None), [])
        check(given, on("ne", None), [0, 1, 3])
        check(given, {"not": on("in", [1, None])}, [1, 2, 3])


def test_a14_not_over_a_field_that_is_absent(check: Any) -> None:
    given = [{"metadata": {"channel": "a"}}, {"metadata": {"channel": "b"}}]
    check(given, {"not": on("eq", "x", "metadata.nope")}, [0, 1])
    check(given, on("ne", "x", "metadata.nope"), [])
    check(given, on("exists", False, "metadata.nope"), [0, 1])
    check(given, on("ne", "x", "metadata.channel.nope"), [])
    check(given, {"metadata": {"nope": None}}, [0, 1])
    check(given, {"nope": None}, [])
    flt = fastfilter.compile(on("ne", "x", "content"))
    with pytest.raises(fastfilter.BindError, match="content") as caught:
        flt.mask({"metadata": ["{}"], "contents": ["a"]})
    assert caught.value.field == "content"
    assert "'contents'" in str(caught.value)


LABELS = [["foo", None], ["foo"], ["bar", None], ["bar"], None, []]


@pytest.mark.parametrize("kind", ["list", "large_list", "list_view", "large_list_view", "fixed", "rows"])
def test_a15_lists_with_null_elements(check: Any, kind: str) -> None:
    expected: list[tuple[Filter, list[int]]] = [
        ({"not": on("contains", "foo")}, [2, 3, 4, 5]),
        (on("contains", "foo"), [0, 1]),
        (on("icontains", "FOO"), [0, 1]),
        (on("nin", ["foo"]), [2, 3, 5]),
        (on("in", [None]), [0, 2]),
        (on("ne", "foo"), [0, 1, 2, 3, 5]),
        (on("eq", "foo"), []),
        (on("exists", True), [0, 1, 2, 3, 5]),
        ({"metadata": {"v": {"$contains": "foo"}}}, [0, 1]),
        ({"metadata": {"v": {"$contains": ["bar"]}}}, [2, 3]),
        ({"metadata": {"v": {"$contains": []}}}, [0, 1, 2, 3, 5]),
        ({"metadata": {"v": {"$contains": None}}}, [0, 2, 4]),
    ]
    if kind == "rows":
        for filter, matching in expected:
            check(rows(*LABELS), filter, matching)
        return
    strings = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    for string in strings:
        if kind == "fixed":
            pairs = [["foo", None], ["foo", "foo"], ["bar", None], ["bar", "bar"], None]
            plain = pa.array(pairs, pa.list_(pa.string(), 2))
            junk = pa.array(["foo", None, "foo", "foo", "bar", None, "bar", "bar", "foo", "foo"])
            masked = pa.FixedSizeListArray.from_arrays(junk, 2, mask=pa.array([False] * 4 + [True]))
            for array in (plain, masked, pa.concat_arrays([masked, plain]).slice(5)):
                for filter, matching in expected:
                    check(array, filter, [row for row in matching if row < 5])
            return
        make = {
            "list": pa.list_,
            "large_list": pa.large_list,
            "list_view": pa.list_view,
            "large_list_view": pa.large_list_view,
        }
        type = make[kind](string)
        array = pa.array(LABELS, type)
        padded = pa.array([["foo"], None, *LABELS, ["foo"]], type).slice(2, len(LABELS))
        for filter, matching in expected:
            check(array, filter, matching)
            check(padded, filter, matching)


def test_a16_needles_lie_inside_one_row(check: Any) -> None:
    texts = ["abcd", "efgh", "xxcdefxx", "", None, "cdecdef"]
    likes = ["a_b", "axb", "a%b", "50%", "500"]
    for type in (pa.string(), pa.large_string(), pa.string_view()):
        for array in encodings(texts, type):
            check(array, on("contains", "cdef"), [2, 5])
            check(array, on("icontains", "CDEF"), [2, 5])
            check(array, on("contains", ""), [0, 1, 2, 3, 5])
        for array in encodings(likes, type):
            check(array, on("contains", "a_b"), [0])
            check(array, on("contains", "50%"), [3])
            check(array, on("icontains", "A%B"), [2])
    check(rows(*texts), on("contains", "cdef"), [2, 5])
    check(rows(*likes), on("contains", "a_b"), [0])
    check([{"content": text} for text in texts], on("contains", "cdef", "content"), [2, 5])


def test_a17_lower_case_in_unicode(check: Any) -> None:
    cities = ["İstanbul", "istanbul", "ISTANBUL", "ıstanbul"]
    streets = ["Straße", "STRASSE", "STRAẞE"]
    coffees = ["caf\u00e9", "cafe\u0301"]
    sigmas = ["ΟΔΟΣ", "οδος", "οδοσ", "ΟΔΟΣ2", "ΟΔΟΣΑ"]
    for values, needles in (
        (cities, {"istanbul": [1, 2], "İSTANBUL": [0], "stanbul": [0, 1, 2, 3], "i\u0307": [0], "I": [0, 1, 2]}),
        (streets, {"strasse": [1], "straße": [0, 2], "STRAẞE": [0, 2]}),
        (sigmas, {"ΟΔΟΣ": [0, 1, 3], "οδος": [0, 1, 3], "οδοσ": [2, 4]}),
    ):
        for needle, matching in needles.items():
            for type in (pa.string(), pa.large_string(), pa.string_view()):
                for array in encodings(values, type):
                    check(array, on("icontains", needle), matching)
            check(rows(*values), on("icontains", needle), matching)
            check(rows(*([value] for value in values)), on("icontains", needle), [
                row for row, value in enumerate(values) if value.lower() == needle.lower()
            ])  # fmt: skip
    check(rows(*coffees), on("contains", "\u00e9"), [0])
    check(rows(*coffees), on("contains", "cafe"), [1])
    check(rows(*coffees), on("icontains", "CAF\u00c9"), [0])


def test_a18_the_same_key_twice_and_keys_with_dots(check: Any) -> None:
    texts = [
        b'{"name":"first","name":"second"}',
        b'{"name":"second"}',
        b'{"n\\u0061me":"second","name":null}',
        b'{"name":"first","n\\u0061me":"second"}',
    ]
    records = [{"metadata": oracle.parse_json(text)} for text in texts]
    check(records, on("eq", "second", "metadata.name"), [0, 1, 3], texts)
    check(records, on("eq", "first", "metadata.name"), [], texts)
    check(records, {"metadata": {"name": "second"}}, [0, 1, 3], texts)
    nested: list[bytes | None] = [
        b'{"a":{"x":1},"a":{"y":2}}',
        b'{"a":{"x":1},"a":3}',
        b'{"a":3,"a":{"x":1,"x":2,"y":5}}',
    ]
    records = [{"metadata": oracle.parse_json(text)} for text in nested if text]
    check(records, on("exists", True, "metadata.a.x"), [2], nested)
    check(records, on("eq", 1, "metadata.a.x"), [], nested)
    check(records, on("exists", True, "metadata.a.y"), [0, 2], nested)
    check(records, {"metadata": {"a": {"$contains": {"x": 1}}}}, [], nested)
    check(records, {"metadata": {"a": '{"y": 2}'}}, [0], nested)
    dotted = [{"metadata": {"uni.flow.id": "w1"}}, {"metadata": {"uni": {"flow": {"id": "w1"}}}}]
    check(dotted, {"uni.flow.id": "w1"}, [0], [json.dumps(row["metadata"]).encode() for row in dotted])
    for metadata in layouts.TEXT_KINDS:
        for filter, matching in (
            (on("eq", "w1", "metadata.uni.flow.id"), [False, True]),
            ({"metadata": {"uni.flow.id": "w1"}}, [True, False]),
        ):
            batch = layouts.lay_out(dotted, metadata, layouts.seeded(metadata))
            for backend in running.BACKENDS:
                assert running.outcome(fastfilter.compile(filter), batch, backend) == matching


def test_a19_one_odd_row(check: Any) -> None:
    texts: list[bytes | None] = [b'{"price":100}', b'{"price":"N/A"}', b'{"price":"200"}', b'{"price":{"v":1}}', b"{}"]
    records = [{"metadata": oracle.parse_json(text)} for text in texts if text]
    check(records, {"metadata": {"price": {"$gt": 50}}}, [0, 2], texts)
    check(records, on("gt", 50, "metadata.price"), [0], texts)
    check(records, {"metadata": {"price": {"$lt": 50}}}, [], texts)

    broken: list[bytes | None] = [b"", b"not-json{", b'{"k":"v"}', None]
    contents = [{"content": text} for text in ("x", "x", "t", "x")]
    first, second = on("eq", "t", "content"), on("eq", "v", "metadata.k")
    for children in ([first, second], [second, first]):
        check(contents, {"and": children}, [2], broken)
        check(contents, {"or": children}, [2], broken)
        check(contents, {"and": [{"not": child} for child in children]}, [0, 1, 3], broken)
        strict = fastfilter.compile({"and": children}, on_invalid_json="error")
        for backend in running.BACKENDS:
            for kind in layouts.TEXT_KINDS:
                batch = layouts.lay_out(contents, kind, layouts.seeded(kind), broken)
                assert running.outcome(strict, batch, backend)[:2] == ("DataError", 0)
                assert running.outcome(strict, batch.slice(2), backend) == [True, False]

    bare: list[bytes | None] = [b"5", b'"k"', b'["k"]', b"null", b'{"k":"v"}']
    records = [{} for _ in bare]
    check(records, on("eq", "v", "metadata.k"), [4], bare)
    check(records, on("exists", False, "metadata.k"), [0, 1, 2, 3], bare)
    check(records, {"metadata": {"k": None}}, [0, 1, 2, 3], bare)
    check(records, {"k": None}, [], bare)


def test_a20_one_hundred_conditions(check: Any) -> None:
    def block(first: int, number: int) -> Filter:
        return {"or": [on("eq", f"value{i}") for i in range(first, first + number)]}

    whole = {"or": [block(first, 20) for first in range(0, 100, 20)]}
    for given in (pa.array(["value7", "foo"]), rows("value7", "foo")):
        check(given, whole, [0])
        check(given, {"not": whole}, [1])
    error = refused(
        {"or": [*whole["or"], on("eq", "value100")]}, "100", error_pointer({"or": [*whole["or"], on("eq", "value100")]})
    )
    assert "100" in error.message
    assert "20" in refused(block(0, 21), "20", "/or").message
    fifty = {"$or": [{"metadata": {f"k{i}": "v"}} for i in range(50)]}
    check([{"metadata": {"k49": "v"}}, {"metadata": {"k50": "v"}}], fifty, [0])
    more = {"$or": [{"metadata": {f"k{i}": "v"}} for i in range(51)]}
    assert "50" in refused(more, "50", error_pointer(more)).message


def error_pointer(filter: Filter) -> str:
    """Where an error is said to be: somewhere inside the filter."""
    with pytest.raises(fastfilter.FilterError) as caught:
        fastfilter.compile(filter)
    assert caught.value.pointer == "" or caught.value.pointer.split("/")[1] in filter
    return caught.value.pointer


def test_a21_order_of_characters_beyond_the_first_plane(check: Any) -> None:
    texts = ["\uff61", "\U0001f600", "z"]
    for type in (pa.string(), pa.large_string(), pa.string_view()):
        for array in encodings(texts, type):
            check(array, on("lt", "\uff61"), [1, 2])
            check(array, on("gt", "\uff61"), [])
            check(array, on("gte", "\U0001f600"), [0, 1])
            check(array, on("gt", "\ud7ff"), [0, 1])
    check(rows(*texts), on("lt", "\uff61"), [1, 2])
    longer = ["ab\U0001f600x", "ab\ue000", "ab\uffff\uffff", "ab", "ab\U0010ffff"]
    check(rows(*longer), on("lt", "ab\ue000"), [0, 3, 4])
    check(rows(*longer), on("gte", "ab\U0010ffff"), [1, 2, 4])


def test_a22_contradictions_in_two_valued_logic(check: Any) -> None:
    for given in (pa.array([None, 2], pa.int64()), rows(None, 2), [{"metadata": {}}, {"metadata": {"v": 2}}]):
        check(given, {"not": {"and": [on("lt", 1), on("gt", 3)]}}, [0, 1])
        check(given, {"or": [{"not": on("lt", 1)}, {"not": on("gt", 3)}]}, [0, 1])
        check(given, {"or": [on("gte", 1), on("lte", 3)]}, [1])
        check(given, {"not": {"or": [on("lt", 3), on("gte", 3)]}}, [0])
        check(given, {"and": [on("eq", 2), on("ne", 2)]}, [])
        check(given, {"or": [on("eq", 2), on("ne", 2)]}, [1])
        check(given, {"not": {"or": [on("eq", 2), on("ne", 2)]}}, [0])


def test_a23_types_of_json_lines_are_not_guessed(tmp_path: Any) -> None:
    lines = [f'{{"id":"{row}","metadata":{{"a":{row + 1}}}}}' for row in range(5000)]
    lines.append('{"id":"last","metadata":{"a":"007"}}')
    source = tmp_path / "rows.jsonl"
    source.write_text("\n".join(lines))
    for filter, matching in (
        (on("eq", "007", "metadata.a"), ["last"]),
        (on("eq", 7, "metadata.a"), ["6"]),
        (on("gte", 4999, "metadata.a"), ["4998", "4999"]),
        ({"metadata": {"a": 7}}, ["6", "last"]),
        ({"metadata": {"a": "7"}}, ["6"]),
    ):
        out = tmp_path / "out.jsonl"
        assert exit_code(["run", json.dumps(filter), str(source), "-o", str(out)]) == 0
        assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == matching


def test_a24_spellings_of_a_number(check: Any) -> None:
    texts: list[bytes | None] = [b'{"n":10}', b'{"n":10.0}', b'{"n":1e1}', b'{"n":"10"}', b'{"n":10.5}']
    records = [{"metadata": oracle.parse_json(text)} for text in texts if text]
    for ten in (10, 10.0, 1e1):
        check(records, on("lte", ten, "metadata.n"), [0, 1, 2], texts)
        check(records, on("eq", ten, "metadata.n"), [0, 1, 2], texts)
        check(records, on("in", [ten], "metadata.n"), [0, 1, 2], texts)
        check(records, {"n": ten}, [0, 1, 2], texts)
        check(records, {"metadata": {"n": ten}}, [0, 1, 2, 3], texts)
    check(records, {"metadata": {"n": "10"}}, [0, 2, 3], texts)
    check(records, {"metadata": {"n": "10.0"}}, [1], texts)
    check(records, {"metadata": {"n": {"$contains": 10}}}, [0, 1, 2], texts)
    tens = [f'{{"field":"metadata.n","operator":"eq","value":{ten}}}' for ten in ("10", "10.0", "1e1", "1E+1")]
    assert len({fastfilter.compile(filter).program for filter in tens}) == 1


def test_a25_one_compiled_filter_and_many_threads() -> None:
    flt = fastfilter.compile(on("eq", "x"))
    first = pa.record_batch({"metadata.v": pa.DictionaryArray.from_arrays([0, 1, 0], ["x", "y"])})
    second = pa.record_batch({"metadata.v": pa.DictionaryArray.from_arrays([0, 1, 0], ["y", "x"])})
    search = fastfilter.compile(on("icontains", "X"))

    def work(_: int) -> int:
        wrong = 0
        for _ in range(10_000 // 16):
            wrong += flt.indices(first).tolist() != [0, 2]
            wrong += flt.indices(second).tolist() != [1]
            wrong += search.count(second) != 1
        return wrong

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(work, range(16))) == 0


def test_a26_unknown_operators() -> None:
    condition = on("ge", 3, "metadata.n")
    error = refused(condition, '"ge"', "/operator")
    assert error.code == "unknown_operator"
    assert {"gt", "gte", "lt", "lte", "eq", "exists"} <= set(error.allowed)
    assert "gte" in str(error)
    error = refused({"and": [on("eq", 1), {"not": condition}]}, '"ge"', "/and/1/not/operator")
    with pytest.raises(fastfilter.FilterError):
        fastfilter.compile({"field": "metadata.n", "operator": "eq"})
    refused(on("exists", "yes"), "yes", "/value")
    refused(on("contains", 5), "5", "/value")
    error = refused({"metadata": {"n": {"$ne": 1}}}, "$ne", "/metadata/n/$ne")
    assert "$gte" in error.allowed
    refused({"metadata": {"n": {}}}, "", "/metadata/n")
    both = fastfilter.compile({"metadata": {"n": {"$gte": 3, "$lt": 5}}})
    for backend in running.BACKENDS:
        batch = pa.record_batch({"metadata.n": pa.array([2, 3, 4, 5])})
        assert running.outcome(both, batch, backend) == [False, True, True, False]


def test_every_fault_has_its_test() -> None:
    report = (pathlib.Path(__file__).parent.parent / "data" / "reported-faults.md").read_text(encoding="utf-8")
    numbers = set(re.findall(r"^### (A\d\d)", report, re.MULTILINE))
    tests = {name[5:8].upper() for name in globals() if re.match(r"test_a\d\d_", name)}
    assert tests == numbers
    assert len(numbers) == 26
