"""The SQL for PostgreSQL, asked of a real server: random filters, numbers of any size, hostile texts."""

from __future__ import annotations

import collections
import datetime
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pushing
import pyarrow as pa
import pytest
import running
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

import fastfilter
from fastfilter.values import Instant

psycopg = pytest.importorskip("psycopg", reason="psycopg, PostgreSQL's driver, is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

COLUMNS = {
    "id": ("text", pa.string()),
    "content": ("text", pa.string()),
    "memory_type": ("text", pa.string()),
    "subject": ("varchar", pa.string()),
    "attribute": ("text", pa.string()),
    "importance": ("double precision", pa.float64()),
    "access_count": ("bigint", pa.int64()),
    "created_at": ("timestamptz", pa.timestamp("us", "UTC")),
    "updated_at": ("timestamp", pa.timestamp("us")),
    "event_date": ("text", pa.string()),
    "last_accessed_at": ("text", pa.string()),
    "user_id": ("text", pa.string()),
    "metadata": ("jsonb", pa.json_()),
}
"""The columns of the table of memories, each with its type there and in Arrow."""


@pytest.fixture(scope="module")
def connection(postgres: str) -> Iterator[Any]:
    """A connection to the server, with empty tables."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("SET TimeZone = 'America/St_Johns'")
        columns = ", ".join(f'"{name}" {type}' for name, (type, _) in COLUMNS.items())
        connection.execute(f'CREATE TEMPORARY TABLE memories ("{pushing.ROW}" int, {columns})')
        connection.execute("CREATE TEMPORARY TABLE chunks (number int, metadata jsonb)")
        yield connection


# ---------------------------------------------------------------------------------------------------------------------
# Anansi: the store decides alone


def fill(connection: Any, texts: list[str]) -> pa.Table:
    """Puts metadata into the table of chunks, and gives them as the server gives them back; what it refuses is left
    out."""
    connection.execute("TRUNCATE chunks")
    for number, text in enumerate(texts):
        try:
            connection.execute("INSERT INTO chunks VALUES (%s, %s)", (number, text))
        except (psycopg.DataError, psycopg.OperationalError):
            continue  # NUL, a lone surrogate, a number of too many digits
    rows = connection.execute("SELECT number, metadata::text FROM chunks ORDER BY number").fetchall()
    return pa.table(
        {
            "given": pa.array([number for number, _ in rows], pa.int64()),
            "metadata": pa.array([text for _, text in rows], pa.string()),
        }
    )


def ask_chunks(connection: Any, flt: Any, table: pa.Table) -> None:
    """Makes sure that the server alone gives the rows that the virtual machine gives."""
    asked = flt.sql("postgres")
    assert asked.exact
    query = f"SELECT number FROM chunks WHERE {asked.text}"
    rows = sorted(number for (number,) in connection.execute(query, asked.parameters))
    wanted = table.filter(flt.mask(table))["given"].to_pylist()
    assert rows == wanted, (rows, wanted, query, asked.parameters, table.to_pydict())


def test_random_filters_of_anansi(connection: Any, counted: Callable[[str, int], None]) -> None:
    """The server and the virtual machine agree on any metadata that jsonb holds."""
    tally: collections.Counter[str] = collections.Counter()

    @settings(max_examples=settings.default.max_examples // 8)  # type: ignore[union-attr]
    @given(st.data())
    def run(data: st.DataObject) -> None:
        records = data.draw(strategies.json_records())
        generator = data.draw(st.randoms(use_true_random=False))
        table = fill(connection, [strategies.spell(record["metadata"], generator) for record in records])
        words = strategies.vocabulary_of(records, [])
        for _ in range(8):
            filter = data.draw(strategies.anansi_filters(words))
            ask_chunks(connection, fastfilter.compile(filter, dialect="anansi", limits={"max_depth": 20}), table)
            tally["filters of Anansi"] += 1
            tally["rows of Anansi"] += table.num_rows

    run()
    for name, number in tally.items():
        counted(f"pushdown: random {name} decided by PostgreSQL", number)


LONG = [
    "9" * 308, "1" + "0" * 308, "9" * 309, "1" * 400, "-" + "1" * 400, "0" * 400 + "5", "-" + "0" * 400, "0" * 5000,
    "0." + "0" * 350 + "1", "-0." + "0" * 400 + "1", "0.5" + "0" * 3000, "0.5" + "0" * 3000 + "1",
    "0." + "4" + "9" * 400, "179769313486231570814527423731704356798070567525844996598917476803157260780028538760589558"
    "632766878171540458953514382464234321326889464182768467546703537516986049910576551282076245490090389328944075868508"
    "455133942304583236903222948165808559332123347747972619370000000000000000000000000000000000000000000000000000000000",
    "9" * 140000, "0." + "1" * 17000, "0" * 2500 + ".5", "4.9406564584124654417656879286822e-324", "1.0" + "0" * 290,
    "5" + "." + "0" * 299, "5" + "." + "0" * 298, "5" + "." + "0" * 2500 + "1", "-5." + "0" * 2500 + "1",
]  # fmt: skip
"""Texts of numbers with which a cast to a double, or even to a numeric, stops."""

HALFWAY = str(2**53) + ".9" + "9" * 400, str(2**53 + 1) + "." + "0" * 2200 + "1", str(2**53 + 1) + "." + "0" * 2200


@pytest.mark.parametrize("operator", ["$gt", "$gte", "$lt", "$lte", None])
def test_numbers_of_very_many_digits(operator: str | None, connection: Any) -> None:
    """No text stops a query, and each is compared as the double nearest to it."""
    texts = [*LONG, *HALFWAY, "5", "0.5", "-5", "x", "", "-", "1e5"]
    numbers = [text for text in (*LONG, *HALFWAY) if len(text) < 130_000 and len(text) < 16_000]
    documents = [json.dumps({"a": text}) for text in texts]
    documents += [
        '{"a": ' + (text.lstrip("-0") if not text.startswith("0.") else text) + "}"
        for text in numbers
        if text.strip("-0")
    ]
    table = fill(connection, documents)
    assert table.num_rows > len(texts)
    bounds = [0, 5, 0.5, -5, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 2**53, 2**53 + 2, 1e300]
    for bound in bounds:
        value = bound if operator is None else {operator: bound}
        ask_chunks(connection, fastfilter.compile({"metadata": {"a": value}}), table)


# ---------------------------------------------------------------------------------------------------------------------
# FishMem: a superset, and the residual


def fill_memories(connection: Any, records: list[dict[str, Any]], generator: random.Random) -> pa.Table:
    """Puts memories into the table, and gives them as the server gives them back."""
    connection.execute("TRUNCATE memories")
    names = [*COLUMNS]
    insert = f"INSERT INTO memories VALUES ({', '.join(['%s'] * (len(names) + 1))})"
    for row, record in enumerate(records):
        values = [_sql_value(name, record.get(name), generator) for name in names]
        try:
            connection.execute(insert, [row, *values])
        except (psycopg.DataError, psycopg.OperationalError, UnicodeEncodeError):
            connection.execute(insert, [row, *(None if isinstance(value, str) else value for value in values)])
    chosen = ", ".join(f'"{name}"::text' if name == "metadata" else f'"{name}"' for name in names)
    connection.execute("SET TimeZone = 'UTC'")
    rows = connection.execute(f'SELECT "{pushing.ROW}", {chosen} FROM memories ORDER BY 1').fetchall()
    connection.execute("SET TimeZone = 'America/St_Johns'")
    arrays = {pushing.ROW: pa.array([row[0] for row in rows], pa.int64())}
    for place, name in enumerate(names, 1):
        type = pa.string() if name == "metadata" else COLUMNS[name][1]
        arrays[name] = pa.array([row[place] for row in rows], type)
    return pa.table(arrays)


def _sql_value(name: str, value: Any, generator: random.Random) -> Any:
    if name == "metadata":
        return None if value is None and generator.random() < 0.5 else strategies.spell(value, generator)
    if isinstance(value, Instant):
        microseconds = value.nanoseconds // 1000
        if not -62_000_000_000_000_000 < microseconds < 253_000_000_000_000_000:
            return None  # beyond what the driver can give back
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC if name == "created_at" else None)
        return epoch + datetime.timedelta(microseconds=microseconds)
    return value


SCHEMA = pa.schema({name: type for name, (_, type) in COLUMNS.items()})


@pytest.mark.parametrize("kind", ["leaves", "expressions", "filters"])
def test_random_filters_of_memories(kind: str, connection: Any, counted: Callable[[str, int], None]) -> None:
    tally: collections.Counter[str] = collections.Counter()

    @settings(max_examples=settings.default.max_examples // 8)  # type: ignore[union-attr]
    @given(st.data())
    def run(data: st.DataObject) -> None:
        records = data.draw(strategies.json_records())
        table = fill_memories(connection, records, data.draw(st.randoms(use_true_random=False)))
        words = strategies.vocabulary_of(records, [name for name in COLUMNS if name != "metadata"])
        for _ in range(8):
            if kind == "filters":
                expression = running.expression_of(*data.draw(strategies.filters(words)))
            else:
                expression = data.draw((strategies.leaves if kind == "leaves" else strategies.expressions)(words))
            flt = running.filter_of(expression)
            batch = table.combine_chunks().to_batches()[0] if table.num_rows else None
            if batch is None or running.wanted(expression, batch, range(batch.num_rows)) is None:
                continue
            asked = flt.sql("postgres", SCHEMA)
            query = f'SELECT "{pushing.ROW}" FROM memories WHERE {asked.text}'
            rows = [row for (row,) in connection.execute(query, asked.parameters)]
            matching = pushing.oracle_rows(expression, table)
            done = pushing.judge(
                matching, rows, asked.residual, table, query, asked.parameters, expression, table.to_pylist()
            )
            tally[done] += 1

    run()
    for name, number in tally.items():
        counted(f"pushdown: PostgreSQL, {kind}: {name}", number)


def test_the_conventional_table_needs_no_schema(connection: Any) -> None:
    record = {"id": "mem_1", "importance": 0.75, "created_at": Instant(10**18), "metadata": {"channel": "support"}}
    table = fill_memories(connection, [record, {"id": "mem_2", "metadata": {}}], random.Random(0))
    flt = fastfilter.compile(
        {
            "and": [
                {"field": "metadata.channel", "operator": "eq", "value": "support"},
                {"field": "importance", "operator": "gte", "value": 0.75},
                {"field": "created_at", "operator": "lt", "value": "2026-07-01T00:00:00Z"},
            ]
        }
    )
    asked = flt.sql("postgres")
    assert asked.exact
    rows = connection.execute(f"SELECT id FROM memories WHERE {asked.text}", asked.parameters).fetchall()
    assert rows == [("mem_1",)] and flt.count(table) == 1


HOSTILE = (
    "'",
    '"',
    "\\",
    "--",
    "/*",
    "$1",
    "%s",
    "%",
    "?",
    ";",
    "{}",
    "' OR TRUE --",
    '" OR TRUE --',
    "$$",
    "\\'",
    "%(a)s",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_data(text: str, connection: Any) -> None:
    """In values, keys and names of columns."""
    quoted = '"' + text.replace('"', '""') + '"'
    connection.execute(f"CREATE TEMPORARY TABLE hostile ({quoted} text, metadata jsonb)")
    try:
        insert = "INSERT INTO hostile VALUES (%s, %s)"
        connection.execute(insert, (text, json.dumps({text: text})))
        connection.execute(insert, ("other", json.dumps({"other": "other"})))
        schema = pa.schema({text: pa.string(), "metadata": pa.json_()})
        for flt in (
            fastfilter.compile({"field": "content", "operator": "contains", "value": text}, fields={"content": text}),
            fastfilter.compile({"field": "content", "operator": "eq", "value": text}, fields={"content": text}),
            fastfilter.compile({"metadata": {text: text}}, dialect="anansi"),
            fastfilter.compile({"metadata": {text: {"$contains": text}}}, dialect="anansi"),
        ):
            asked = flt.sql("postgres", schema)
            rows = connection.execute(f"SELECT metadata FROM hostile WHERE {asked.text}", asked.parameters).fetchall()
            assert rows == [({text: text},)]
            numbered = flt.sql("postgres", schema, placeholders="$1")
            raw = psycopg.RawCursor(connection)
            rows = raw.execute(f"SELECT metadata FROM hostile WHERE {numbered.text}", numbered.parameters).fetchall()
            assert rows == [({text: text},)]
    finally:
        connection.execute("DROP TABLE hostile")


def test_lists_of_strings_are_arrays(connection: Any) -> None:
    connection.execute("CREATE TEMPORARY TABLE tagged (number int, subject text[])")
    lists = [["vip", "eu"], [None, "vip"], ["VIP"], [], None]
    for number, texts in enumerate(lists):
        connection.execute("INSERT INTO tagged VALUES (%s, %s)", (number, texts))
    table = pa.table({"subject": pa.array(lists, pa.list_(pa.string()))})
    for condition in (
        {"field": "subject", "operator": "contains", "value": "vip"},
        {"field": "subject", "operator": "in", "value": ["eu", "us"]},
        {"field": "subject", "operator": "nin", "value": ["eu", "us"]},
        {"not": {"field": "subject", "operator": "contains", "value": "vip"}},
    ):
        flt = fastfilter.compile(condition)
        asked = flt.sql("postgres", table.schema)
        assert asked.exact
        rows = connection.execute(f"SELECT number FROM tagged WHERE {asked.text} ORDER BY 1", asked.parameters)
        assert [number for (number,) in rows] == flt.indices(table).tolist()
