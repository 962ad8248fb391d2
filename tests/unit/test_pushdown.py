"""What is pushed into pyarrow and DuckDB for every test and type, and what is left."""

from __future__ import annotations

import datetime
import pathlib
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import fastfilter
from fastfilter.filter import Filter


def condition(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


def pushed(filter: dict[str, Any], **types: pa.DataType) -> tuple[str, bool]:
    """The expression as pyarrow prints it, and whether it is exact."""
    asked = fastfilter.compile(filter).pushdown(pa.schema(types))
    return str(asked.expression), asked.exact


@pytest.mark.parametrize(
    ("operator", "value", "type", "expression"),
    [
        ("gte", 0.5, pa.float64(), "((importance >= 0.5) and is_finite(importance))"),
        ("gte", 0.5, pa.int8(), "(importance >= 1)"),
        ("lt", 128, pa.int8(), "is_valid(importance)"),
        ("gt", 128, pa.int8(), "false"),
        ("eq", 0.5, pa.int64(), "false"),
        ("eq", 2**53 + 1, pa.float64(), "false"),
        ("eq", 2**64 - 1, pa.uint64(), "(importance == 18446744073709551615)"),
        ("gt", -1, pa.uint64(), "is_valid(importance)"),
        ("eq", 0.1, pa.float32(), "false"),
        ("eq", 0.5, pa.float32(), "((importance == 0.5) and is_finite(importance))"),
        ("eq", 44.4, pa.decimal128(3, 1), "(importance == 44.4)"),
        ("eq", 44.45, pa.decimal128(3, 1), "false"),
        ("lte", 44.45, pa.decimal128(3, 1), "(importance <= 44.4)"),
        ("exists", True, pa.float16(), "is_valid(importance)"),
        ("exists", True, pa.list_(pa.int8()), "is_valid(importance)"),
    ],
)
def test_numbers_are_asked_in_the_columns_own(operator: str, value: Any, type: pa.DataType, expression: str) -> None:
    assert pushed(condition("importance", operator, value), importance=type) == (expression, True)


@pytest.mark.parametrize(
    ("type", "stored"),
    [
        (pa.timestamp("s"), "2026-07-01 00:00:01"),
        (pa.timestamp("ns", "UTC"), "2026-07-01 00:00:00.000000001Z"),
        (pa.date32(), "2026-07-02"),
    ],
)
def test_an_instant_between_two_stored_ones_moves_to_the_next(type: pa.DataType, stored: str) -> None:
    filter = condition("created_at", "gte", "2026-07-01T00:00:00.000000001Z")
    assert pushed(filter, created_at=type) == (f"(created_at >= {stored})", True)


def test_what_is_asked_of_strings_and_what_is_left() -> None:
    text = pa.string()
    assert pushed(condition("content", "eq", "a"), content=text) == ('(content == "a")', True)
    assert pushed(condition("metadata.a", "gt", "b"), **{"metadata.a": text}) == ('(metadata.a > "b")', True)
    # UTF-16 and UTF-8 order these two otherwise.
    assert pushed(condition("metadata.a", "gt", "\uff61"), **{"metadata.a": text}) == ("is_valid(metadata.a)", False)
    assert pushed(condition("content", "icontains", "b"), content=text) == ("is_valid(content)", False)
    assert pushed({"not": condition("content", "icontains", "b")}, content=text) == ("None", False)


def test_struct_children_and_json() -> None:
    struct = pa.struct({"a": pa.struct({"b.c": pa.string(), "b": pa.int64()})})
    expression, exact = pushed(condition("metadata.a.b", "eq", 1), metadata=struct)
    assert expression == "(FieldRef.Nested(FieldRef.Name(metadata) FieldRef.Name(a) FieldRef.Name(b)) == 1)" and exact
    assert pushed(condition("metadata.a.b", "eq", 1), metadata=pa.string()) == ("is_valid(metadata)", False)
    assert pushed({"not": condition("metadata.a.b", "eq", 1)}, metadata=pa.string()) == ("None", False)
    assert pushed(condition("metadata.x", "eq", 1), metadata=struct) == ("false", True)
    assert pushed({"not": condition("metadata.x", "eq", 1)}, metadata=struct) == ("None", True)


def test_only_what_the_store_cannot_decide_is_left() -> None:
    filter = {
        "and": [
            condition("importance", "gte", 0.5),
            condition("metadata.channel", "eq", "support"),
            {"not": condition("content", "icontains", "resolved")},
        ]
    }
    schema = pa.schema({"importance": pa.float64(), "metadata": pa.string(), "content": pa.string()})
    asked = fastfilter.compile(filter).pushdown(schema)
    assert asked.residual is not None
    assert asked.residual.columns(schema) == ["metadata", "content"]
    sql = fastfilter.compile(filter).sql("postgres")
    assert sql.residual is not None and sql.residual.columns(schema) == ["content"]


def test_a_negation_turns_the_bounds_round() -> None:
    """Not(A or B) is no more than Not(A); of Not(A and B), with B unknown, nothing is known."""
    known, unknown = condition("importance", "gt", 1), condition("content", "contains", "x")
    types = {"importance": pa.int64(), "content": pa.string()}
    expression, exact = pushed({"not": {"or": [known, unknown]}}, **types)
    assert expression.startswith("invert(coalesce((importance > 1)") or "importance >= 2" in expression
    assert not exact
    assert pushed({"not": {"and": [known, unknown]}}, **types) == ("None", False)


def test_views_that_pyarrow_cannot_select_stop_no_scan() -> None:
    table = pa.table({"content": pa.array(["a", "b"], pa.string_view()), "importance": [1.0, 2.0]})
    asked = fastfilter.compile(condition("importance", "gt", 1)).pushdown(table.schema)
    assert asked.expression is None and asked.residual is not None
    assert ds.dataset(table).to_table(filter=asked.expression).num_rows == 2


def test_nan_in_a_row_group_of_smaller_numbers_is_kept(tmp_path: pathlib.Path) -> None:
    """Statistics leave NaN out, so they seem to prove that all is below 5."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"importance": [1.0, float("nan"), 2.0]}), path)
    flt = fastfilter.compile({"not": condition("importance", "lt", 5)})
    asked = flt.pushdown(ds.dataset(path).schema)
    assert asked.exact
    assert ds.dataset(path).to_table(filter=asked.expression).num_rows == 1
    sql = flt.sql("duckdb", ds.dataset(path).schema)
    assert duckdb.sql(f"FROM read_parquet('{path}') WHERE {sql.text}", params=sql.parameters).fetchall()[0][0] != 1.0


def test_row_groups_are_pruned_by_what_is_pushed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"importance": [float(row) for row in range(100)]}), path, row_group_size=10)
    (fragment,) = ds.dataset(path).get_fragments()
    asked = fastfilter.compile(condition("importance", "gte", 95)).pushdown(fragment.physical_schema)
    assert len(fragment.split_by_row_group(asked.expression)) == 1


def test_strict_json_is_read_in_full() -> None:
    """A row that the store keeps back could not be found to be unreadable."""
    filter = {"and": [condition("importance", "gte", 0.5), condition("metadata.a", "eq", 1)]}
    flt = fastfilter.compile(filter, on_invalid_json="error")
    schema = pa.schema({"importance": pa.float64(), "metadata": pa.string()})
    assert flt.pushdown(schema).expression is None and flt.pushdown(schema).residual is flt
    assert flt.sql("duckdb", schema).text == "TRUE"
    assert flt.sql("postgres").exact  # jsonb holds nothing that is unreadable


def test_a_filter_from_a_program_pushes_the_same() -> None:
    flt = fastfilter.compile({"or": [condition("importance", "gte", 0.5), condition("content", "eq", "a")]})
    schema = pa.schema({"importance": pa.float64(), "content": pa.string()})
    sent = Filter.from_program(fastfilter.Program.from_bytes(flt.program.to_bytes()))
    assert str(sent.pushdown(schema).expression) == str(flt.pushdown(schema).expression)


def test_arguments_are_checked() -> None:
    flt = fastfilter.compile(condition("importance", "gte", 0.5))
    with pytest.raises(TypeError, match=r"pyarrow\.Schema"):
        flt.pushdown({"importance": "float"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'duckdb' or 'postgres'"):
        flt.sql("mysql")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs the schema"):
        flt.sql("duckdb")
    with pytest.raises(ValueError, match="placeholders"):
        flt.sql("postgres", placeholders=":1")  # type: ignore[arg-type]
    with pytest.raises(fastfilter.BindError, match="needs a column"):
        flt.pushdown(pa.schema({"id": pa.string()}))


def test_an_expression_nested_beyond_all_stores_is_left_to_the_residual() -> None:
    filter: dict[str, Any] = condition("importance", "gte", 0.5)
    for level in range(120):
        filter = {"and" if level % 2 else "or": [filter, condition("content", "contains", f"x{level}")]}
    flt = fastfilter.compile(filter, limits={"max_depth": 1000, "max_conditions": 1000})
    schema = pa.schema({"importance": pa.float64(), "content": pa.string()})
    table = pa.table({"importance": [0.1, 0.9], "content": ["a", "b"]}, schema)
    asked = flt.pushdown(schema)
    assert asked.residual is not None
    answer = ds.dataset(table).to_table(filter=asked.expression)
    assert asked.residual.filter(answer) == flt.filter(table)


@pytest.mark.parametrize("text", ["'", '"', "\\", "--", "$1", "%s", "?", "{}", "' OR TRUE --", '" OR TRUE --', "a\0b"])
def test_hostile_texts_are_data_in_duckdb(text: str) -> None:
    schema = pa.schema(
        {"row": pa.int64(), "content": pa.string(), "metadata": pa.struct({"k": pa.string(), text: pa.string()})}
    )
    rows = [
        {"row": 0, "content": text, "metadata": {"k": text, text: text}},
        {"row": 1, "content": "other", "metadata": {"k": "other", text: "other"}},
    ]
    table = (
        pa.Table.from_pylist(rows, schema)
        if "\0" not in text
        else pa.table({"row": [0, 1], "content": [text, "other"]})
    )
    with duckdb.connect() as connection:
        connection.register("given", table)
        filters = [
            fastfilter.compile(condition("content", operator, text)) for operator in ("eq", "contains", "icontains")
        ]
        if "\0" not in text:
            filters.append(fastfilter.compile({text: text}, dialect="fishmem"))
        for flt in filters:
            asked = flt.sql("duckdb", table.schema)
            given = connection.execute(f"SELECT row FROM given WHERE {asked.text}", asked.parameters).fetchall()
            assert given == [(0,)], asked.text


def test_names_that_duckdb_cannot_tell_apart_are_not_named() -> None:
    flt = fastfilter.compile(condition("content", "eq", "a"))
    asked = flt.sql("duckdb", pa.schema({"content": pa.string(), "CONTENT": pa.string()}))
    assert asked.text == "TRUE" and asked.residual is flt


def test_json_text_in_duckdb_is_narrowed_by_its_bytes() -> None:
    texts = ['{"tier": "gold"}', '{"tier": "g\\u006fld"}', '{"tier": "tin"}', None, "broken"]
    table = pa.table({"row": range(5), "metadata": texts})
    flt = fastfilter.compile(condition("metadata.tier", "eq", "gold"))
    asked = flt.sql("duckdb", table.schema)
    with duckdb.connect() as connection:
        connection.register("given", table)
        rows = connection.execute(f"SELECT row FROM given WHERE {asked.text}", asked.parameters).fetchall()
    assert rows == [(0,), (1,)] and asked.residual is not None


def test_one_parameter_serves_its_numbered_placeholder_wherever_it_stands() -> None:
    asked = fastfilter.compile({"metadata": {"score": {"$gte": 0.5}}}).sql("postgres", placeholders="$1")
    assert asked.parameters[0] == "score" and asked.parameters.count("score") == 1
    assert asked.text.count("$1 ") > 1
    marked = fastfilter.compile({"metadata": {"score": {"$gte": 0.5}}}).sql("postgres", placeholders="?")
    assert marked.text.count("?") == len(marked.parameters)


def test_dates_and_decimals_in_duckdb() -> None:
    days = [datetime.date(2026, 7, 1), datetime.date(2026, 7, 2), None]
    table = pa.table(
        {
            "row": [0, 1, 2],
            "created_at": pa.array(days, pa.date32()),
            "importance": pa.array([Decimal("-0.05"), Decimal("44.40"), None], pa.decimal128(5, 2)),
        }
    )
    with duckdb.connect() as connection:
        connection.register("given", table)
        for filter in (
            condition("created_at", "gt", "2026-07-01T00:00:00Z"),
            condition("created_at", "eq", "2026-07-01T00:00:00Z"),
            condition("importance", "eq", 44.4),
            condition("importance", "lt", 0),
            condition("importance", "ne", -0.05),
        ):
            flt = fastfilter.compile(filter)
            asked = flt.sql("duckdb", table.schema)
            assert asked.exact
            rows = connection.execute(
                f"SELECT row FROM given WHERE {asked.text} ORDER BY 1", asked.parameters
            ).fetchall()
            assert [row for (row,) in rows] == flt.indices(table).tolist()
