"""DuckDB: a prepared statement over its own table, or over the Arrow batch."""

from __future__ import annotations

import json
import re
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.cases import Case
from benchmarks.data import Table
from benchmarks.engines.engine import Engine, Query, Unsupported
from benchmarks.engines.sql import Dialect, quoted
from benchmarks.questions import Place, Value

__all__ = ["Adapter"]

_TYPES = {
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.bool_(): "BOOLEAN",
    pa.timestamp("us"): "TIMESTAMP",
    pa.decimal128(10, 2): "DECIMAL(10, 2)",
}


class Adapter(Engine):
    """DuckDB, in memory."""

    def __init__(self, name: str, threads: int, own_table: bool) -> None:
        super().__init__(name, threads)
        self._own_table = own_table
        self._loaded: tuple[Table, Any] | None = None

    @property
    def version(self) -> str:
        return duckdb.__version__

    def prepare(self, case: Case) -> Query:
        if case.records:
            raise Unsupported("takes no dicts")
        connection = self._connection(case.table)
        predicate = _DuckDB(case.table).predicate(case.question)
        connection.execute(f"PREPARE question AS SELECT count(*) FROM data WHERE {predicate}")
        return lambda: int(connection.execute("EXECUTE question").fetchone()[0])

    def release(self) -> None:
        if self._loaded is not None:
            self._loaded[1].close()
        self._loaded = None

    def _connection(self, table: Table) -> Any:
        if self._loaded is None or self._loaded[0] != table:
            self.release()
            connection = duckdb.connect()
            connection.execute(f"SET threads = {self.threads}")
            connection.register("arrow" if self._own_table else "data", pa.Table.from_batches([table.load()]))
            if self._own_table:
                connection.execute("CREATE TABLE data AS SELECT * FROM arrow")
                connection.unregister("arrow")
            self._loaded = (table, connection)
        return self._loaded[1]


class _DuckDB(Dialect):
    def has_text(self, field: str, text: str, ignore_case: bool) -> str:
        if ignore_case:  # faster than ILIKE, and than lower-casing first
            return f"regexp_matches({field}, {quoted(re.escape(text))}, 'i')"
        return super().has_text(field, text, ignore_case)

    def literal(self, value: Value, kind: pa.DataType) -> str:
        return f"CAST('{value}' AS {_TYPES[kind]})"

    def json_field(self, place: Place, number: bool) -> str:
        text = f"({place.column} ->> '$.{place.child}')"
        return f"CAST({text} AS DOUBLE)" if number else text

    def has_element(self, place: Place, value: str) -> str:
        if place.json:
            return f"json_contains({place.column} -> '$.{place.child}', {quoted(json.dumps(value))})"
        return f"list_contains({self.field(place)}, {quoted(value)})"
