"""compile(), and the Filter it gives: the stages in order."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa

from fastfilter import explain as explaining
from fastfilter.bytecode.program import Program
from fastfilter.bytecode.verifier import verify
from fastfilter.compiler import dialects
from fastfilter.compiler.codegen import generate
from fastfilter.compiler.content import content_key
from fastfilter.compiler.expr import Expression
from fastfilter.compiler.optimizer import RULES, Rule, optimize
from fastfilter.errors import DataError
from fastfilter.pushdown import PushdownMethods
from fastfilter.runtime import executor
from fastfilter.runtime.arrow_types import ExactSchema
from fastfilter.runtime.binder import BindOptions, bind
from fastfilter.runtime.binding import Binding
from fastfilter.runtime.bits import bits_to_array, bits_to_indices, count_bits
from fastfilter.runtime.inputs import open_input, select_like
from fastfilter.runtime.records import RecordMatcher, record_matcher
from fastfilter.runtime.selection import select_rows
from fastfilter.runtime.vm import Machine, backend, load_machine

__all__ = ["Filter", "compile"]

Record = TypeVar("Record", bound=Mapping[str, Any])

_CACHED_SCHEMAS = 64
_CACHED_FILTERS = 512
_COMPILED: dict[bytes, Filter] = {}
"""Filters by the content of what they were compiled from. They are immutable, and keep their bindings."""


def compile(
    filter: Mapping[str, Any] | str | bytes | None,
    dialect: Literal["auto", "fishmem", "fishmem-search", "anansi"] = "auto",
    scope: Mapping[str, str] | None = None,
    fields: Mapping[str, str] | None = None,
    metadata: str = "metadata",
    missing_fields: Literal["error", "null"] = "error",
    on_invalid_json: Literal["missing", "error"] = "missing",
    limits: Mapping[str, int] | None = None,
    json: Literal["validate", "trusted"] = "validate",
    *,
    _rules: tuple[Rule, ...] | None = None,
) -> Filter:
    """Compiles a filter of a memory or vector-store API.

    Args:
        filter: the filter as the API accepts it: an object, or JSON text of one; None matches everything. For FishMem a
            whole search body will do, whose scope is then part of the filter.
        dialect: ``"fishmem"``, ``"fishmem-search"`` (a whole search body), ``"anansi"``, or ``"auto"``, which picks by
            the filter's shape and refuses what fits neither.
        scope: values of ``user_id``, ``agent_id`` and ``run_id`` that every row must have; ANDed with the whole filter.
        fields: columns of built-in fields that have another name, as ``{"memory_type": "type"}``.
        metadata: name of the metadata column, and prefix of flattened metadata columns (``metadata.channel``).
        missing_fields: what a built-in field without a column is: ``"error"``, or ``"null"``: missing on every row.
        on_invalid_json: what metadata text that cannot be read is: ``"missing"``, or an ``"error"`` naming the row.
        limits: the dialect's limits where they differ from the documented ones, as ``{"max_conditions": 200}``.
        json: ``"trusted"`` skips the validation of JSON texts that a database or writer has made: the same answers on
            well-formed texts, some answer on others.

    Returns:
        The compiled filter: immutable, picklable, shared by threads.

    Raises:
        FilterError: the filter is bad; the error says where and what is allowed.
        ValueError: another argument is.

    Example:
        >>> import fastfilter
        >>> flt = fastfilter.compile({"field": "importance", "operator": "gte", "value": 0.7})
        >>> flt.mask({"importance": [0.5, 0.9, None]}).to_pylist()
        [False, True, False]
    """
    arguments = (filter, dialect, scope, fields, metadata, missing_fields, on_invalid_json, limits, json)
    key = content_key(arguments) if _rules is None else None
    if key is not None and (known := _COMPILED.get(key)) is not None:
        return known
    options = _bind_options(fields, metadata, missing_fields, on_invalid_json, json)
    request = dialects.parse(filter, dialect, scope, limits)
    expression, applied = optimize(request.expression, RULES if _rules is None else _rules)
    program = generate(expression, request.expression)
    flt = Filter(program, options, dialect=request.dialect, rest=request.rest, expression=expression, rules=applied)
    if key is not None and not flt.rest:  # the rest of a request belongs to whoever asked
        if len(_COMPILED) >= _CACHED_FILTERS:
            _COMPILED.clear()
        _COMPILED[key] = flt
    return flt


def _bind_options(
    fields: Mapping[str, str] | None, metadata: str, missing_fields: str, on_invalid_json: str, json: str
) -> BindOptions:
    if missing_fields not in ("error", "null"):
        raise ValueError(f"missing_fields must be 'error' or 'null', not {missing_fields!r}")
    if on_invalid_json not in ("missing", "error"):
        raise ValueError(f"on_invalid_json must be 'missing' or 'error', not {on_invalid_json!r}")
    if json not in ("validate", "trusted"):
        raise ValueError(f"json must be 'validate' or 'trusted', not {json!r}")
    if json == "trusted" and on_invalid_json == "error":
        raise ValueError("on_invalid_json='error' asks for a check that json='trusted' leaves out")
    if not isinstance(metadata, str) or not metadata:
        raise ValueError(f"metadata must be the name of a column, not {metadata!r}")
    if fields is not None and not isinstance(fields, Mapping):
        raise ValueError(f"fields must be a mapping from a field's name to its column's, not {fields!r}")
    renamed = dict(fields or {})
    for name, column in renamed.items():
        dialects.check_built_in_field(name)
        if not isinstance(column, str):
            raise ValueError(f"fields[{name!r}] must be the name of a column, not {column!r}")
    return BindOptions(renamed, metadata, missing_fields, on_invalid_json, json)  # type: ignore[arg-type]


class _Bound(NamedTuple):
    """A machine, and what it is of."""

    schema: ExactSchema
    backend: str
    machine: Machine


class Filter(PushdownMethods):
    """A compiled filter, to be applied to any data that has its fields.

    Made by :func:`compile`, or by :meth:`from_program` from a program that came from elsewhere. A filter may be used by
    many threads at once, and pickled.
    """

    __slots__ = (
        "_dialect",
        "_expression",
        "_last",
        "_machines",
        "_matcher",
        "_options",
        "_program",
        "_rest",
        "_rules",
    )

    def __init__(
        self,
        program: Program,
        options: BindOptions,
        *,
        dialect: str | None = None,
        rest: Mapping[str, Any] | None = None,
        expression: Expression | None = None,
        rules: tuple[str, ...] = (),
    ) -> None:
        self._program = program
        self._dialect = dialect
        self._rest: dict[str, Any] = dict(rest or {})
        self._options = options
        self._expression = expression
        self._rules = rules
        # Compared one by one: telling two schemas apart takes a thousandth of the time that hashing a wide one does.
        self._machines: list[_Bound] = []
        self._last: _Bound | None = None
        self._matcher: RecordMatcher | None = None

    @staticmethod
    def from_program(
        program: Program,
        fields: Mapping[str, str] | None = None,
        metadata: str = "metadata",
        missing_fields: Literal["error", "null"] = "error",
        on_invalid_json: Literal["missing", "error"] = "missing",
        json: Literal["validate", "trusted"] = "validate",
    ) -> Filter:
        """A filter that runs a program compiled elsewhere; the other arguments are those of :func:`compile`.

        Raises:
            ProgramError: the verifier refuses the program.

        Example:
            >>> import fastfilter
            >>> sent = fastfilter.compile({"metadata": {"tier": "gold"}}).program.to_bytes()
            >>> flt = fastfilter.Filter.from_program(fastfilter.Program.from_bytes(sent))
            >>> flt.count({"metadata": ['{"tier": "gold"}', '{"tier": "tin"}']})
            1
        """
        if not isinstance(program, Program):
            raise TypeError(f"program must be a Program, not {type(program).__name__}; Program.from_bytes() reads one")
        verify(program)
        return Filter(program, _bind_options(fields, metadata, missing_fields, on_invalid_json, json))

    @property
    def program(self) -> Program:
        """The compiled program."""
        return self._program

    @property
    def options(self) -> BindOptions:
        """How its fields find their columns; a copy, as compiled filters are shared."""
        return dataclasses.replace(self._options, fields=dict(self._options.fields))

    @property
    def dialect(self) -> str | None:
        """The dialect the filter was read in, or None if it came from a program."""
        return self._dialect

    @property
    def rest(self) -> dict[str, Any]:
        """Of a whole search body, the parts that are no filter (``query`` and so on), in a new dict; else empty."""
        return dict(self._rest)

    def __eq__(self, other: object) -> bool:
        """Whether both run the same program and find its fields in the same places."""
        if not isinstance(other, Filter):
            return NotImplemented
        return self._program == other._program and self._options == other._options

    def __hash__(self) -> int:
        return hash(self._program)

    def __repr__(self) -> str:
        return f"<fastfilter.Filter of {len(self.program.instructions)} instructions, dialect {self.dialect}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.program, self._options, self.dialect, self.rest, self._expression, self._rules)

    # -- rows of Arrow data ------------------------------------------------------------------------------------------

    def mask(self, data: Any, threads: int | None = None) -> Any:
        """Which rows match.

        Args:
            data: a RecordBatch, a Table, a RecordBatchReader, any object with the Arrow PyCapsule interface (Polars,
                pandas, DuckDB, nanoarrow, …), or a dict of arrays.
            threads: the most threads to use; None is every core. Small batches stay on the calling thread.

        Returns:
            For one batch (or a dict) a BooleanArray, for a table a ChunkedArray, for a stream an iterator of
            BooleanArray, one a batch; one value a row, never null.

        Raises:
            BindError: the filter does not fit the data's schema.
            DataError: under ``on_invalid_json="error"``, with the first row whose metadata cannot be read.

        Example:
            >>> import fastfilter
            >>> flt = fastfilter.compile({"metadata": {"score": {"$gte": 0.5}}})
            >>> flt.mask({"metadata": ['{"score": 0.9}', '{"score": "low"}', None]}).to_pylist()
            [True, False, False]
        """
        source = open_input(data)
        if isinstance(source, pa.RecordBatch):  # few rows are to cost little
            return bits_to_array(self._bits(source, threads), source.num_rows)
        if isinstance(source, pa.RecordBatchReader):
            return _masks(self._answers(source, threads))
        return self._mask(source, threads)

    def indices(self, data: Any, threads: int | None = None) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The numbers of the rows that match, from 0, ascending, over all batches. Arguments as of :meth:`mask`.

        Example:
            >>> import fastfilter
            >>> flt = fastfilter.compile({"field": "content", "operator": "icontains", "value": "ÉTÉ"})
            >>> flt.indices({"content": ["l'été", "hiver", "Été"]}).tolist()
            [0, 2]
        """
        source = open_input(data)
        if isinstance(source, pa.RecordBatch):
            return bits_to_indices(self._bits(source, threads))
        found = [np.empty(0, np.int64)]
        first_row = 0
        for batch, bits in self._answers(source, threads):
            found.append(bits_to_indices(bits, first_row))
            first_row += batch.num_rows
        return np.concatenate(found)

    def count(self, data: Any, threads: int | None = None) -> int:
        """How many rows match. Arguments as of :meth:`mask`.

        Example:
            >>> import fastfilter
            >>> fastfilter.compile({"field": "id", "operator": "exists", "value": True}).count({"id": ["a", None]})
            1
        """
        source = open_input(data)
        if isinstance(source, pa.RecordBatch):
            return count_bits(self._bits(source, threads))
        return sum(count_bits(bits) for _, bits in self._answers(source, threads))

    def filter(self, data: Any, threads: int | None = None) -> Any:
        """The rows that match. Arguments as of :meth:`mask`.

        Returns:
            An object of the same kind as ``data`` with the same columns: RecordBatch, Table, RecordBatchReader (read
            as it is asked for), Polars or pandas DataFrame, dict; for another producer of a stream a Table, of an array
            a RecordBatch.

        Example:
            >>> import fastfilter
            >>> fastfilter.compile({"field": "id", "operator": "ne", "value": "a"}).filter({"id": ["a", "b"]})
            {'id': ['b']}
        """
        source = open_input(data)
        if not isinstance(source, pa.RecordBatchReader):
            return select_like(data, source, self._mask(source, threads))
        answers = self._answers(source, threads)
        kept = (select_rows(batch, bits_to_array(bits, batch.num_rows)) for batch, bits in answers)
        return pa.RecordBatchReader.from_batches(source.schema, kept)

    # -- records -----------------------------------------------------------------------------------------------------

    def matches(self, record: Mapping[str, Any]) -> bool:
        """Whether one record matches.

        Args:
            record: as the API would show it: built-in fields at the top (timestamps as ISO 8601 text or datetime), and
                ``metadata`` a dict, None, or JSON text. A field that is not there is missing.

        Example:
            >>> import fastfilter
            >>> flt = fastfilter.compile({"field": "metadata.labels", "operator": "contains", "value": "vip"})
            >>> flt.matches({"id": "mem_1", "metadata": {"labels": ["vip", "eu"]}})
            True
        """
        return self._record_matcher().matches(record)

    def select(self, records: Iterable[Record]) -> list[Record]:
        """Those of the records that match, in order, as the same objects; see :meth:`matches`.

        Example:
            >>> import fastfilter
            >>> flt = fastfilter.compile({"metadata": {"kind": None}})
            >>> flt.select([{"id": 1, "metadata": {}}, {"id": 2, "metadata": {"kind": "a"}}])
            [{'id': 1, 'metadata': {}}]
        """
        return cast("list[Record]", self._record_matcher().select(records))

    def _record_matcher(self) -> RecordMatcher:
        matcher = self._matcher
        if matcher is None:
            matcher = self._matcher = record_matcher(self.program, self._options)
        return matcher

    # -- looking inside ----------------------------------------------------------------------------------------------

    def columns(self, schema: pa.Schema) -> list[str]:
        """The names of the top-level columns that the filter reads of data with this schema.

        Raises:
            BindError: the filter does not fit the schema.
        """
        _check_schema(schema)
        used = {source.column for source in bind(self.program, schema, self._options).sources}
        return [schema.names[column] for column in sorted(column for column in used if column is not None)]

    def explain(self, schema: pa.Schema | None = None) -> str:
        """What the filter means and how it runs, as text to read.

        Args:
            schema: if given, also the columns and kernels it would use on data with this schema.

        Returns:
            The expression with the meaning of each condition, the rules of the optimizer that were applied, and the
            listing of the program.

        Example:
            >>> import fastfilter
            >>> print(fastfilter.compile({"metadata": {"tier": "gold"}}).explain())  # doctest: +ELLIPSIS
            expression...
        """
        binding = kernels = None
        if schema is not None:
            _check_schema(schema)
            binding = bind(self.program, schema, self._options)
            kernels = self._machine(schema).kernels
        return explaining.explain(self.program, self._expression, self._rules, binding, kernels)

    # -- inner workings ----------------------------------------------------------------------------------------------

    def bind(self, schema: pa.Schema) -> Binding:
        """The program bound to a schema: where each of its fields is found, for who judges data without reading it.

        Raises:
            BindError: the filter does not fit the schema.

        Example:
            >>> import fastfilter
            >>> flt = fastfilter.compile({"field": "id", "operator": "eq", "value": "a"})
            >>> flt.bind(pa.schema([("content", pa.string()), ("id", pa.string())])).sources[0].column
            1
        """
        return bind(self.program, schema, self._options)

    def bind_record_json(self, column: str, program: Program | None = None) -> Filter:
        """The same filter, or a program under its options, for records that are JSON text in one column, as lines are.

        Fields are then found in that text, each with the JSON value it has there. A text that is no JSON object is a
        DataError with the row's number, whatever ``on_invalid_json`` says: it is a broken record.
        """
        options = dataclasses.replace(self._options, record_json=column)
        if program is not None:
            return Filter(program, options)
        return Filter(
            self.program, options, dialect=self.dialect, rest=self.rest, expression=self._expression, rules=self._rules
        )

    def _machine(self, schema: pa.Schema, name: str = backend) -> Machine:
        last = self._last
        if last is not None and last.backend == name and last.schema.fits(schema):
            return last.machine
        for bound in self._machines:
            if bound.backend == name and bound.schema.fits(schema):
                break
        else:
            machine = load_machine(name)(bind(self.program, schema, self._options))
            bound = _Bound(ExactSchema(schema), name, machine)
            self._machines = [*self._machines[1 - _CACHED_SCHEMAS :], bound]
        self._last = bound
        return bound.machine

    def _bits(self, batch: pa.RecordBatch, threads: int | None) -> bytearray:
        """The bits of the matching rows of a batch: the short way of few rows, which is to cost little."""
        if threads is not None:
            _check_threads(threads)
        return executor.evaluate(self._machine(batch.schema), batch, threads)

    def _answers(
        self, source: pa.Table | pa.RecordBatchReader, threads: int | None
    ) -> Iterable[tuple[pa.RecordBatch, bytearray]]:
        """Each batch with the bits of its matching rows; of a stream when asked for, but a bad schema at once."""
        if threads is not None:
            _check_threads(threads)
        machine = self._machine(source.schema)
        if isinstance(source, pa.RecordBatchReader):
            return _read(machine, source, threads)
        batches = source.to_batches()
        return zip(batches, executor.evaluate_all(machine, batches, threads), strict=True)

    def _mask(self, source: pa.RecordBatch | pa.Table, threads: int | None) -> pa.BooleanArray | pa.ChunkedArray:
        """One array for a batch, a chunk for each batch of a table."""
        if isinstance(source, pa.RecordBatch):
            return bits_to_array(self._bits(source, threads), source.num_rows)
        return pa.chunked_array(list(_masks(self._answers(source, threads))), pa.bool_())

    def _evaluate(self, data: Any, backend: str = backend, morsel_rows: int = executor.MORSEL_ROWS) -> list[bool]:
        """The answer of a given back end with a given morsel size, for tests: they must not change it."""
        source = open_input(data)
        machine = self._machine(source.schema, backend)
        answer: list[bool] = []
        for batch in (source,) if isinstance(source, pa.RecordBatch) else source.to_batches():
            try:
                bits = executor.evaluate(machine, batch, 1, morsel_rows)
            except DataError as error:
                raise executor.shifted(error, len(answer)) from None
            answer.extend(bits_to_array(bits, batch.num_rows).to_pylist())
        return answer


def _check_schema(schema: object) -> None:
    if not isinstance(schema, pa.Schema):
        raise TypeError(f"schema must be a pyarrow.Schema, not {type(schema).__name__}")


def _check_threads(threads: object) -> None:
    if not hasattr(threads, "__index__") or threads < 1:  # type: ignore[operator]
        raise ValueError(f"threads must be a whole number from 1, or None, not {threads!r}")


def _read(
    machine: Machine, reader: pa.RecordBatchReader, threads: int | None
) -> Iterator[tuple[pa.RecordBatch, bytearray]]:
    """Reads nothing ahead, so threads share one batch at a time."""
    first_row = 0
    for batch in reader:
        try:
            bits = executor.evaluate(machine, batch, threads)
        except DataError as error:
            raise executor.shifted(error, first_row) from None
        yield batch, bits
        first_row += batch.num_rows


def _masks(answers: Iterable[tuple[pa.RecordBatch, bytearray]]) -> Iterator[pa.BooleanArray]:
    return (bits_to_array(bits, batch.num_rows) for batch, bits in answers)


def _rebuild(
    program: Program,
    options: BindOptions,
    dialect: str | None,
    rest: Mapping[str, Any],
    expression: Expression | None,
    rules: tuple[str, ...],
) -> Filter:
    return Filter(program, options, dialect=dialect, rest=rest, expression=expression, rules=rules)
