"""Parquet files with all kinds of columns in tiny row groups: with pruning and without, the same rows match."""

from __future__ import annotations

import collections
import datetime
import io
import pathlib
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import duckdb
import layouts
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import running
import strategies
from hypothesis import assume, event, given
from hypothesis import strategies as st

import fastfilter
from fastfilter.corpus.pruning import Pruner
from fastfilter.errors import BindError

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

Tally = collections.Counter[str]


@pytest.fixture
def tally(counted: Callable[[str, int], None]) -> Iterator[Tally]:
    counts: Tally = collections.Counter()
    yield counts
    for name, number in counts.items():
        counted(f"pruning: {name}", number)


def check_groups(flt: fastfilter.Filter, file: pq.ParquetFile, tally: Tally) -> None:
    """No row group that is judged to hold no match holds one."""
    try:
        pruner = Pruner(flt.bind(file.schema_arrow), {}, (file.metadata, file.schema_arrow))
    except BindError:
        tally["filters that do not bind"] += 1
        return
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    for number, kept in enumerate(pruner.row_groups_to_read(groups)):
        matches = flt.count(file.read_row_group(number))
        tally["row groups kept" if kept else "row groups pruned"] += 1
        tally["row groups kept in vain"] += kept and not matches
        assert kept or not matches, file.read_row_group(number).to_pylist()
        assert not kept or pruner.row_groups_to_read(groups[number : number + 1]) == [True]


def storable(batch: pa.RecordBatch) -> pa.Table:
    """The columns of a batch that Parquet can hold, decoded where it knows no such encoding."""
    columns = {}
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        try:
            pq.write_table(pa.table({name: array}), io.BytesIO(), row_group_size=1)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
            event(str(error)[:50])
        else:
            columns[name] = array
    return pa.table(columns)


@st.composite
def files(draw: st.DrawFn) -> tuple[pq.ParquetFile, strategies.Vocabulary]:
    """Random records in random types, written as Parquet, and what filters on them may be made of."""
    metadata = draw(st.sampled_from(["struct", "flattened", "flattened", "json"]))
    records = draw(strategies.typed_records(max_rows=20))
    choose = layouts.seeded(draw(st.integers(0, 2**16)))
    try:
        table = storable(layouts.lay_out(records, metadata, choose))
    except layouts.CannotHold:
        assume(False)
        raise
    assume(table.num_columns)
    written = io.BytesIO()
    pq.write_table(
        table, written,
        row_group_size=draw(st.integers(1, 5)),
        use_dictionary=draw(st.booleans()),
        store_decimal_as_integer=draw(st.booleans()),
        write_statistics=draw(st.sampled_from([True, True, True, [table.schema.names[0]]])),
    )  # fmt: skip
    return pq.ParquetFile(written), strategies.vocabulary_of(records, table.schema.names)


def test_no_row_group_with_a_match_is_pruned_by_any_expression(tally: Tally) -> None:
    @given(st.data())
    def run(data: st.DataObject) -> None:
        file, words = data.draw(files())
        expressions = st.one_of(strategies.leaves(words), strategies.expressions(words))
        for _ in range(2):
            check_groups(running.filter_of(data.draw(expressions), data.draw(st.booleans())), file, tally)

    run()
    assert tally["row groups pruned"] > 300


EDGES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "double": (pa.float64(), [0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf"), 2.0**53, -1e300, 5e-324]),
    "single": (pa.float32(), [0.0, -0.0, float("nan"), float("inf"), np.float32(0.1), np.float32(-0.1), 16777216.0]),
    "half": (pa.float16(), [np.float16(0.1), np.float16(-2), np.float16("nan"), np.float16("inf")]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1, 0, -1, 2**53, 2**53 + 1]),
    "unsigned": (pa.uint64(), [0, 2**63, 2**64 - 1, 2**63 - 1, 1]),
    "unsigned32": (pa.uint32(), [0, 2**31, 2**32 - 1, 1]),
    "byte": (pa.int8(), [-128, 127, 0, -1]),
    "decimal": (pa.decimal128(20, 2), [Decimal("44.40"), Decimal("-0.10"), Decimal("0.00"), Decimal("9999999999.99")]),
    "small": (pa.decimal128(5, 2), [Decimal("44.40"), Decimal("-999.99"), Decimal("0.10")]),
    "wide": (pa.decimal256(60, 3), [Decimal("1e40"), Decimal("-44.400"), Decimal("0.001")]),
    "second": (pa.timestamp("s", "UTC"), [0, -1, 1_785_542_400, 253_402_300_799]),
    "milli": (pa.timestamp("ms"), [0, -1, 1_785_542_400_000, 1]),
    "nano": (pa.timestamp("ns", "Asia/Tokyo"), [0, -1, 1, 1_785_542_400_000_000_000, 2**63 - 1, -(2**63)]),
    "day": (pa.date32(), [0, -1, 20_665, 1]),
    "text": (pa.string(), ["", "a", "b", "ab", "z" * 5000, "\U0001f600", "\uff61", "\ue000", "A", "05", "5", "true"]),
    "view": (pa.large_string(), ["", "x" * 70, "x" * 70 + "y", "mid", "\uffff", "\U00010000"]),
    "flag": (pa.bool_(), [True, False]),
    "nothing": (pa.null(), [None]),
    "list": (pa.list_(pa.int64()), [[], [1], [1, None], [5, 2**53]]),
}  # fmt: skip
"""Values at which statistics are easily misread."""

LITERALS: list[Any] = [
    0, -0.0, 1, -1, 0.1, -0.1, 1.5, 44.4, 5, 2**31, 2**53, 2**53 + 1, 2**63, 2**63 - 1, 2**64 - 1, -(2**63), 1e300,
    1e40, "", "a", "ab", "b", "z", "é", "5", "05", "true", "x" * 70, "\uff61", "\U0001f600", "\ue000", "\U00010000",
    True, False,
    "1970-01-01T00:00:00Z", "2026-08-01T00:00:00Z", "1969-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59Z", None,
]  # fmt: skip


def conditions(name: str) -> st.SearchStrategy[dict[str, Any]]:
    field = f"metadata.{name}"
    literals = st.sampled_from(LITERALS)
    scalars = [value for value in LITERALS if value is not None]

    def condition(operator: str, value: Any) -> dict[str, Any]:
        return {"field": field, "operator": operator, "value": value}

    return st.one_of(
        st.builds(condition, st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte"]), st.sampled_from(scalars)),
        st.builds(condition, st.sampled_from(["in", "nin"]), st.lists(literals, min_size=1, max_size=4)),
        st.builds(condition, st.sampled_from(["contains", "icontains"]), st.sampled_from(["", "a", "X", "é"])),
        st.builds(condition, st.just("exists"), st.booleans()),
    )


def anansi(name: str) -> st.SearchStrategy[dict[str, Any]]:
    numbers = [value for value in LITERALS if isinstance(value, int | float) and not isinstance(value, bool)]
    return st.one_of(
        st.sampled_from(LITERALS).map(lambda value: {"metadata": {name: value}}),
        st.builds(
            lambda operator, value: {"metadata": {name: {operator: value}}},
            st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.sampled_from(numbers),
        ),
        st.sampled_from(LITERALS).map(lambda value: {"metadata": {name: {"$contains": value}}}),
    )  # fmt: skip


@st.composite
def edge_filters(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    """One condition, or a few under and, or, not; of one system or the other."""
    if draw(st.integers(0, 2)) == 0:
        parts = draw(st.lists(st.sampled_from(names).flatmap(anansi), min_size=1, max_size=3))
        return parts[0] if len(parts) == 1 else {draw(st.sampled_from(["$and", "$or"])): parts}
    parts = draw(st.lists(st.sampled_from(names).flatmap(conditions), min_size=1, max_size=3))
    whole = parts[0] if len(parts) == 1 else {draw(st.sampled_from(["and", "or"])): parts}
    return {"not": whole} if draw(st.booleans()) else whole


@st.composite
def edge_tables(draw: st.DrawFn, names: list[str]) -> pa.Table:
    """Columns of edge values, some sorted, so that row groups differ; flattened, in a struct, or under null structs."""
    num_rows = draw(st.integers(1, 24))
    arrays = {}
    for name in names:
        type, values = EDGES[name]
        drawn = draw(st.lists(st.sampled_from([*values, None]), min_size=num_rows, max_size=num_rows))
        if draw(st.booleans()):
            drawn.sort(key=lambda value: (value is None, str(type), 0 if value is None else values.index(value)))
        array = pa.array(drawn, type)
        arrays[name] = array.dictionary_encode() if pa.types.is_string(type) and draw(st.booleans()) else array
    if draw(st.booleans()):
        return pa.table({f"metadata.{name}": array for name, array in arrays.items()})
    missing = pa.array(
        draw(st.lists(st.integers(0, 4).map(lambda one: one == 0), min_size=num_rows, max_size=num_rows))
    )
    struct = pa.StructArray.from_arrays(list(arrays.values()), list(arrays), mask=missing)
    return pa.table({"metadata": struct})


def test_the_rows_are_the_same_with_pruning_and_without(tmp_path: pathlib.Path, tally: Tally) -> None:
    path = tmp_path / "edges.parquet"

    @given(st.data())
    def run(data: st.DataObject) -> None:
        names = data.draw(st.lists(st.sampled_from(sorted(EDGES)), min_size=1, max_size=3, unique=True))
        table = data.draw(edge_tables(names))
        table = table.append_column("row", pa.array(range(table.num_rows), pa.int64()))
        pq.write_table(table, path, row_group_size=data.draw(st.integers(1, 6)), version="2.6")
        for _ in range(2):
            try:
                flt = fastfilter.compile(data.draw(edge_filters(names)), missing_fields="null")
                expected = flt.filter(pq.read_table(path))["row"].to_pylist()
            except (fastfilter.BindError, fastfilter.FilterError) as error:
                event(type(error).__name__)
                continue
            report = fastfilter.ScanReport()
            found = fastfilter.scan(path, flt, columns=["row"], report=report, threads=data.draw(st.integers(1, 2)))
            assert found.read_all()["row"].to_pylist() == expected
            unpruned = fastfilter.scan(path, flt, columns=["row"], prune=False, threads=1)
            assert unpruned.read_all()["row"].to_pylist() == expected
            assert report.rows == table.num_rows
            tally["row groups pruned"] += report.parquet.row_groups_pruned
            tally["row groups"] += report.parquet.row_groups

    run()
    assert tally["row groups pruned"] > 300


def test_nulls_that_a_writer_did_not_count_are_expected(tally: Tally) -> None:
    """pyarrow leaves the nulls of a struct out of the count of a dictionary in it."""
    words = pa.array(["a", "b", "c"]).dictionary_encode()
    struct = pa.StructArray.from_arrays([words], ["word"], mask=pa.array([True, False, False]))
    written = io.BytesIO()
    pq.write_table(pa.table({"metadata": struct}), written)
    file = pq.ParquetFile(written)
    flt = fastfilter.compile({"field": "metadata.word", "operator": "exists", "value": False})
    check_groups(flt, file, tally)
    assert tally["row groups kept"] == 1
    assert flt.count(file.read()) == 1


def _other_writers() -> dict[str, Callable[[pa.Table, pathlib.Path], None]]:
    def duck(table: pa.Table, path: pathlib.Path) -> None:
        with duckdb.connect() as connection:
            connection.register("given", table)
            connection.execute(f"COPY given TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")

    def pola(table: pa.Table, path: pathlib.Path) -> None:
        polars.from_arrow(table).write_parquet(path, row_group_size=700)

    return {"duckdb": duck, "polars": pola}


@pytest.mark.parametrize("writer", ["duckdb", "polars"])
def test_statistics_of_other_writers_are_read_right(writer: str, tmp_path: pathlib.Path, tally: Tally) -> None:
    """They shorten the bounds of long texts, count nulls otherwise, or leave out what pyarrow writes."""
    num_rows = 6000
    texts = [f"{number // 500:03}" + "x" * (number % 400) + "é😀"[number % 2] * 3 for number in range(num_rows)]
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    hours = [start + datetime.timedelta(hours=number) for number in range(num_rows)]
    table = pa.table(
        {
            "content": texts,
            "importance": [None if number % 7 == 0 else number / num_rows for number in range(num_rows)],
            "access_count": pa.array(range(num_rows), pa.int64()),
            "created_at": pa.array(hours, pa.timestamp("us", "UTC")),
            "subject": [None if number < 3000 else "late" for number in range(num_rows)],
        }
    )  # fmt: skip
    path = tmp_path / "written.parquet"
    _other_writers()[writer](table, path)
    file = pq.ParquetFile(path)
    assert file.metadata.num_row_groups > 1
    for field, operator, value in (
        ("content", "eq", texts[4321]), ("content", "eq", texts[399][:-1]), ("content", "in", [texts[0], texts[5999]]),
        ("importance", "gt", 0.9), ("importance", "lte", 0.01), ("access_count", "eq", 17),
        ("created_at", "gte", "2026-08-01T00:00:00Z"), ("created_at", "lt", "2026-01-01T01:00:00Z"),
        ("subject", "exists", True), ("subject", "exists", False), ("subject", "ne", "late"),
    ):  # fmt: skip
        flt = fastfilter.compile({"field": field, "operator": operator, "value": value})
        check_groups(flt, file, tally)
        assert fastfilter.scan(path, flt).read_all().num_rows == flt.count(table)
    assert tally["row groups pruned"] > 5
