"""DataFusion: a physical plan, made once, over the Arrow batch in pieces of 65,536 rows."""

from __future__ import annotations

from typing import Any

import datafusion
import pyarrow as pa

from benchmarks.cases import Case
from benchmarks.data import Table
from benchmarks.engines.engine import Engine, Query, Unsupported
from benchmarks.engines.sql import Dialect, quoted
from benchmarks.questions import Place, Value

__all__ = ["Adapter"]

_PIECE_ROWS = 65_536
_ARROW_TYPES = {
    pa.float32(): "Float32",
    pa.float64(): "Float64",
    pa.int8(): "Int8",
    pa.int16(): "Int16",
    pa.int32(): "Int32",
    pa.int64(): "Int64",
    pa.uint8(): "UInt8",
    pa.uint32(): "UInt32",
    pa.uint64(): "UInt64",
    pa.bool_(): "Boolean",
    pa.timestamp("us"): "Timestamp(Microsecond, None)",
    pa.decimal128(10, 2): "Decimal128(10, 2)",
}


class Adapter(Engine):
    """DataFusion with as many partitions as threads."""

    def __init__(self, name: str, threads: int) -> None:
        super().__init__(name, threads)
        self._loaded: tuple[Table, Any] | None = None

    @property
    def version(self) -> str:
        return str(datafusion.__version__)

    def prepare(self, case: Case) -> Query:
        if case.records:
            raise Unsupported("takes no dicts")
        if case.on_json:
            raise Unsupported("has no functions for JSON text in its Python wheel")
        context = self._context(case.table)
        predicate = _DataFusion(case.table).predicate(case.question)
        plan = context.sql(f"SELECT count(*) FROM data WHERE {predicate}").execution_plan()

        def count() -> int:
            (batch,) = [found.to_pyarrow() for found in context.execute(plan, 0)]
            return int(batch.column(0)[0].as_py())

        return count

    def release(self) -> None:
        self._loaded = None

    def _context(self, table: Table) -> Any:
        if self._loaded is None or self._loaded[0] != table:
            context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(self.threads))
            pieces = pa.Table.from_batches([table.load()]).to_batches(max_chunksize=_PIECE_ROWS)
            shares = [pieces[first :: self.threads] for first in range(min(self.threads, len(pieces)))]
            context.register_record_batches("data", shares)
            self._loaded = (table, context)
        return self._loaded[1]


class _DataFusion(Dialect):
    def literal(self, value: Value, kind: pa.DataType) -> str:
        return f"arrow_cast('{value}', '{_ARROW_TYPES[kind]}')"

    def json_field(self, place: Place, number: bool) -> str:
        raise AssertionError("JSON text was refused before")

    def has_element(self, place: Place, value: str) -> str:
        return f"array_has({self.field(place)}, {quoted(value)})"
