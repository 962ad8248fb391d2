"""A filter over files: which rows of them match, in order, in bounded memory."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from fastfilter.bytecode.constants import Json
from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler.codegen import generate
from fastfilter.compiler.expr import FALSE, And, Exists, JsonContains, Not
from fastfilter.corpus.csv_reader import infer_types
from fastfilter.corpus.formats import Format, UsageError
from fastfilter.corpus.handles import is_out_of_handles, most_open_files
from fastfilter.corpus.lines import LINE_COLUMN
from fastfilter.corpus.origins import Origins
from fastfilter.corpus.parquet_reader import ParquetReader
from fastfilter.corpus.positions import Position, Step
from fastfilter.corpus.pruning import Pruner
from fastfilter.corpus.reader import PIECE_ROWS, Piece, Reader, Request
from fastfilter.corpus.readers import open_reader
from fastfilter.corpus.report import ScanReport
from fastfilter.corpus.schemas import declared_types, unified_schema
from fastfilter.corpus.sources import InputFile
from fastfilter.corpus.text_metadata import or_text_metadata, with_metadata_as_values
from fastfilter.corpus.units import Outcome, Unit, in_order
from fastfilter.errors import BindError, DataError, nearest_name
from fastfilter.filter import Filter
from fastfilter.runtime.arrow_types import ExactSchema
from fastfilter.runtime.binding import Binding
from fastfilter.runtime.executor import default_threads
from fastfilter.runtime.selection import mask_flags, select_rows

__all__ = ["MEMORY_BUDGET", "Scan", "ScanOptions"]

MEMORY_BUDGET = 512 << 20
"""Bytes that may be read ahead, where nothing else is asked for."""

_FILES_KEPT_OPEN = min(128, most_open_files() // 8)
_CHUNKS_KEPT = 1 << 15
"""Column chunks whose metadata, of about a kilobyte each, are in memory until their file's turn comes."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """How files are read.

    Attributes:
        columns: the columns of the output, in this order; None is all.
        limit: stop after so many matching rows.
        threads: the most threads to use; None is every core.
        metadata: name of the metadata column, as the filter was compiled with.
        fields: columns of built-in fields that have another name, likewise.
        strict_json: stop at a line whose metadata is neither an object nor null.
        prune: whether parts are left unread that hold no match for certain.
        memory_budget: bytes that may be read ahead.
        batch_rows: the most rows of a piece.
        skip_bad_files: pass over files that cannot be read, or what is behind the damage in them; noted in the report.
        origins: columns that tell where each row comes from.
    """

    columns: tuple[str, ...] | None = None
    limit: int | None = None
    threads: int | None = None
    metadata: str = "metadata"
    fields: Mapping[str, str] = field(default_factory=dict)
    strict_json: bool = False
    prune: bool = True
    memory_budget: int = MEMORY_BUDGET
    batch_rows: int = PIECE_ROWS
    skip_bad_files: bool = False
    origins: Origins = field(default_factory=Origins)

    @property
    def output_columns(self) -> tuple[str, ...] | None:
        """The columns of the output with those that tell where rows come from; None is all."""
        return None if self.columns is None else (*self.columns, *self.origins.names)


_Taken: TypeAlias = "collections.deque[tuple[int, Reader | None]]"
"""The units that were taken and not handed over: of each, the number of its file, and the reader it is from, or None if
the file cannot be opened any more."""


class Scan:
    """A filter being applied to files. It can be used once.

    Every file is opened when the scan is made, so that what is wrong with one is said before any work is done.

    Attributes:
        files: the files; without those that could not be opened, under ``skip_bad_files``.
        options: how they are read.
        declared: types of columns in formats without types.
        schemas: of each file, the columns of its matching rows; None of JSONL, whose rows are whole lines.
        num_rows: how many rows all files have, or None if reading would have to tell.
        num_bytes: the size of all files.
        bytes_in: bytes of the files read so far.
        columns_missing: chosen columns that no line had so far; other files are refused if they do not have them.
        without_metadata: a note on each file that has no metadata column, if the filter asks for metadata.
        report: what was read so far.
        on_bad_file: called with what is wrong with a file that is passed over.

    Args:
        report: the report to fill, if there is one already.

    Raises:
        DataError: a file cannot be read.
        BindError: the filter does not fit a file's columns.
        UsageError: a file does not have one of the output's columns, or one that is to tell where rows come from.
    """

    def __init__(
        self,
        flt: Filter,
        files: Sequence[InputFile],
        options: ScanOptions,
        report: ScanReport | None = None,
        on_bad_file: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.bytes_in = 0
        self.columns_missing = set(options.columns or ()) if all(f.format is Format.JSONL for f in files) else set()
        self.on_progress: Callable[[], None] = lambda: None
        self.on_bad_file = on_bad_file
        self.report = ScanReport() if report is None else report
        self.report.files = len(files)
        self._filter = flt
        self._line_filter = flt.bind_record_json(LINE_COLUMN)
        self._probe = _line_probe(flt, options)
        self._reads_metadata = any(use.field.role is Role.METADATA for use in flt.program.fields)
        widened = or_text_metadata(flt.program, options.metadata)
        self._widened = None if widened is None else flt.bind_record_json(LINE_COLUMN, widened)
        self.without_metadata: list[str] = []
        self.options = options
        self.declared = declared_types(options.fields, options.metadata)
        csv_files = [file for file in files if file.format is Format.CSV]
        self._csv_types = infer_types(csv_files, self.declared, self._bad_file)
        self._kept_open: dict[str, Reader] = {}
        self._chunks_kept = 0
        self._bound: tuple[ExactSchema, Binding] | None = None
        self._late: list[str] = []
        self.files: list[InputFile] = []
        self.schemas: list[pa.Schema | None] = []
        num_rows: list[int | None] = []
        for file in files:
            reader = self._opened(file)
            if reader is None:
                continue
            self.files.append(file)
            self.schemas.append(None if reader.is_lines else self._output_schema(reader))
            if not reader.is_lines:
                self._note_columns(reader)
                self._note_metadata(file, reader.schema)
            num_rows.append(reader.num_rows)
            if file.is_stream or self._may_stay_open(reader):
                self._kept_open[file.path] = reader
            else:
                reader.close()
        self.num_bytes = sum(file.num_bytes for file in self.files)
        counts = [count for count in num_rows if count is not None]
        self.num_rows = sum(counts) if len(counts) == len(num_rows) else None

    @property
    def rows_in(self) -> int:
        """Rows filtered so far."""
        return self.report.rows

    @property
    def rows_out(self) -> int:
        """Rows that matched so far."""
        return self.report.matches

    @property
    def columns_tested(self) -> list[str]:
        """The columns that the filter asks for, whether or not there are any."""
        options = self.options
        names = [
            options.metadata if use.field.role is Role.METADATA else options.fields.get(use.field.name, use.field.name)
            for use in self._filter.program.fields
        ]
        return list(dict.fromkeys(names))

    def unified_schema(self) -> pa.Schema:
        """The columns of the output, where no file is JSONL.

        Raises:
            UsageError: the types of a column do not go together.
        """
        files = zip(self.files, self.schemas, strict=True)
        return unified_schema([(file.path, schema) for file, schema in files if schema is not None])

    def matches(self) -> Iterator[Piece]:
        """The rows that match, with the columns of the output; of JSONL, the whole lines. Pieces are never empty.

        Raises:
            DataError: a file is damaged; a line is no JSON object, or, under ``strict_json``, a row's metadata is bad.
        """
        for step in self.steps():
            yield from step.pieces

    def steps(self, start: Position | None = None) -> Iterator[Step]:
        """The same, unit by unit, with the positions between them; a step may be without a piece.

        Args:
            start: where to begin. What was read before it counts as read; of the unit there, also matching rows that
                were done already are given.
        """
        self.report.late = self._late
        for file, outcome, limit, before, after in self._outcomes(True, start or Position()):
            is_bad = outcome.error is not None and self.options.skip_bad_files and limit is None
            yield Step(self._pieces(file, outcome, limit, before.first_number), before, after, is_bad)

    def _pieces(self, file: InputFile, outcome: Outcome, limit: int | None, first_number: int) -> Iterator[Piece]:
        for found in outcome.found:
            piece = Piece(found.batch, file, found.numbers + first_number)
            if limit is not None and limit < piece.batch.num_rows:
                piece = piece.first(limit)
            if piece.batch.num_rows:
                yield self.options.origins.added(piece)
            if limit is not None:
                limit -= piece.batch.num_rows

    def count(self) -> int:
        """How many rows match; reads only what the filter reads. Raises as :meth:`matches`."""
        for _ in self._outcomes(False, Position()):
            pass
        return self.rows_out

    def explain(self) -> str:
        """What the filter means and how it runs on the first file."""
        file = self.files[0]
        with self._kept_open.pop(file.path, None) or open_reader(file, self._csv_types) as reader:
            return (self._line_filter if reader.is_lines else self._filter).explain(reader.schema)

    def _outcomes(
        self, with_output: bool, start: Position
    ) -> Iterator[tuple[InputFile, Outcome, int | None, Position, Position]]:
        """What became of each unit: its file, how many of its matching rows, if not all, the limit lets through, and
        where the scan is before and after it."""
        limit = self.options.limit
        threads = self.options.threads or default_threads()
        taken: _Taken = collections.deque()
        outcomes = in_order(self._units(with_output, taken, start), threads, self.options.memory_budget)
        reader: Reader | None = None
        position, is_bad = dataclasses.replace(start, matches=0), False
        self.report.rows, self.report.matches, self.bytes_in = start.rows_in, start.rows_out, start.bytes_in
        bytes_before = sum(file.num_bytes for file in self.files[: start.file])
        try:
            for outcome in outcomes:
                number, taken_from = taken[0]
                if taken_from is not reader:
                    if reader is not None:
                        reader.close()
                    reader = taken_from
                taken.popleft()
                if number != position.file:
                    bytes_before += sum(file.num_bytes for file in self.files[position.file : number])
                    position = dataclasses.replace(position, file=number, units=0, first_number=1)
                    is_bad = False
                if reader is None:  # the file could be opened before, and now no more
                    assert isinstance(outcome.error, DataError)
                    self._bad_file(outcome.error)
                    continue
                if is_bad:
                    continue
                before = position
                allowed = None if limit is None else limit - self.rows_out
                if allowed is not None and outcome.num_matches >= allowed:
                    self.report.rows += _rows_up_to(outcome, allowed)
                    self.report.matches += allowed
                    yield reader.file, outcome, allowed, before, dataclasses.replace(before, matches=allowed)
                    return
                self.report.add(outcome)
                self.bytes_in = max(self.bytes_in, bytes_before + outcome.bytes_done)  # not every unit knows
                first_number = before.first_number + outcome.num_numbers
                counts = (self.rows_in, self.rows_out, self.bytes_in)
                position = after = Position(number, before.units + 1, first_number, 0, *counts)
                error = None
                if outcome.error is not None:
                    is_bad = True
                    error = reader.error_at(outcome.error, before.first_number)
                    error.__cause__ = outcome.error if error is not outcome.error else error.__cause__
                    after = dataclasses.replace(before, matches=outcome.num_matches)
                    if self.options.skip_bad_files:
                        self._bad_file(error)
                        after = Position(number + 1, 0, 1, 0, *counts)
                yield reader.file, outcome, None, before, after
                if error is not None and not self.options.skip_bad_files:
                    raise error
                self.on_progress()
        finally:
            outcomes.close()
            for opened in (reader, *(reader for _, reader in taken), *self._kept_open.values()):
                if opened is not None:
                    opened.close()
            self._kept_open.clear()

    def _units(self, with_output: bool, taken: _Taken, start: Position) -> Iterator[Unit]:
        """The units of all files from a position on; of each, where it is from is appended to ``taken``."""
        for number, file in enumerate(self.files[start.file :], start.file):
            try:
                reader = self._kept_open.pop(file.path, None) or self._reader_of(file)
            except DataError as error:
                taken.append((number, None))
                yield Unit.done(Outcome(error=error))
                continue
            has_units = False
            units = reader.units(self._request(reader, with_output))
            for unit in itertools.islice(units, start.units if number == start.file else 0, None):
                has_units = True
                taken.append((number, reader))
                yield unit
            if not has_units:
                reader.close()

    def _request(self, reader: Reader, with_output: bool) -> Request:
        options = self.options
        kept = () if options.limit is not None else None  # the limit's row must be known
        if reader.is_lines:
            return Request(self._line_mask, kept=() if with_output else kept, batch_rows=options.batch_rows)
        pruner = None
        if options.prune:
            parquet = reader.columns if isinstance(reader, ParquetReader) else None
            pruner = Pruner(self._binding(reader), reader.file.partitions, parquet)
        return Request(
            lambda batch: self._filter.mask(batch, 1),
            self._tested(reader),
            self._output_names(reader.schema) if with_output else kept,
            options.batch_rows,
            pruner,
            options.memory_budget,
        )

    def _line_mask(self, lines: pa.RecordBatch) -> pa.BooleanArray:
        try:
            if self._reads_metadata and self._widened is not None and not self.options.strict_json:
                return self._mask_in_two_steps(lines, self._widened)
            if self._reads_metadata or self.options.strict_json:
                lines = with_metadata_as_values(lines, self.options.metadata)
            mask = self._line_filter.mask(lines, 1)
            if self._probe is not None:
                bad = self._probe.mask(lines, 1)
                if bad.true_count:
                    row = bad.index(True).as_py()
                    raise DataError(f"{self.options.metadata!r} is neither an object nor null", row)
            return mask
        except DataError as error:
            message = error.message.replace(f"the text in column {LINE_COLUMN!r}", "the line")
            raise DataError(message, error.row) from error

    def _mask_in_two_steps(self, lines: pa.RecordBatch, widened: Filter) -> pa.BooleanArray:
        """Lines whose metadata may be a string are found along with those that match, and looked at again with them."""
        mask = widened.mask(lines, 1)
        if not mask.true_count:
            return mask
        flags = mask_flags(mask).copy()
        some = with_metadata_as_values(select_rows(lines, mask), self.options.metadata)
        flags[flags] = mask_flags(self._line_filter.mask(some, 1))
        return pa.array(flags)

    def _may_stay_open(self, reader: Reader) -> bool:
        """Whether a file is not opened again when its turn comes: its footer then need not be read twice."""
        if not isinstance(reader, ParquetReader) or len(self._kept_open) >= _FILES_KEPT_OPEN:
            return False
        if self._chunks_kept + reader.num_chunks > _CHUNKS_KEPT:
            return False
        self._chunks_kept += reader.num_chunks
        return True

    def _opened(self, file: InputFile) -> Reader | None:
        """The file's reader, None if it cannot be read and that is to be passed over."""
        try:
            return self._reader_of(file)
        except DataError as error:
            self._bad_file(error)
            return None

    def _reader_of(self, file: InputFile) -> Reader:
        """A new reader of the file; those kept open are closed if there are no more handles."""
        try:
            return open_reader(file, self._csv_types)
        except DataError as error:
            if not is_out_of_handles(error):
                raise
        streams = {path: reader for path, reader in self._kept_open.items() if reader.file.is_stream}
        for path in self._kept_open.keys() - streams.keys():
            self._kept_open.pop(path).close()
        self._chunks_kept = _CHUNKS_KEPT
        return open_reader(file, self._csv_types)

    def _bad_file(self, error: DataError) -> None:
        """Raises the error of a file, or notes it where bad files are to be passed over."""
        if is_out_of_handles(error):
            raise UsageError(
                f"{error.message}; the file is not bad: allow more open files (ulimit -n, now {most_open_files()}), "
                "or take fewer threads"
            ) from error
        if not self.options.skip_bad_files:
            raise error
        self.report.files_bad.append(error.message)
        self.on_bad_file(error.message)

    def _note_metadata(self, file: InputFile, schema: pa.Schema) -> None:
        """Notes a file without any metadata though the filter asks for some: that is legal, and often a slip."""
        name = self.options.metadata
        if self._reads_metadata and not any(has == name or has.startswith(name + ".") for has in schema.names):
            near = nearest_name(name, schema.names) or next(
                (has for has in schema.names if "meta" in has.lower()), None
            )
            self.without_metadata.append(
                f"{file.path}: there is no column {name!r}, so all metadata are missing; its columns are "
                + ", ".join(schema.names[:20])
                + (", …" if len(schema.names) > 20 else "")
                + (f"; did you mean --metadata {near}?" if near else "")
            )

    def _output_schema(self, reader: Reader) -> pa.Schema:
        for name in self.options.columns or ():
            if name not in reader.schema.names:
                near = nearest_name(name, reader.schema.names)
                raise UsageError(
                    f"{reader.file.path}: there is no column {name!r}; its columns are {', '.join(reader.schema.names)}"
                    + (f"; did you mean {near!r}?" if near else "")
                )
        schema = reader.schema
        if self.options.columns is not None:
            schema = pa.schema([reader.schema.field(name) for name in self.options.columns])
        return self.options.origins.added_to(schema, reader.file.path)

    def _output_names(self, schema: pa.Schema) -> Sequence[str]:
        return schema.names if self.options.columns is None else self.options.columns

    def _binding(self, reader: Reader) -> Binding:
        """The filter bound to a file's columns, most often the same as those of the file before."""
        if self._bound is None or not self._bound[0].fits(reader.schema):
            try:
                self._bound = ExactSchema(reader.schema), self._filter.bind(reader.schema)
            except BindError as error:
                raise BindError(
                    f"{reader.file.path}: {error.message}", field=error.field, column=error.column, type=error.type
                ) from None
        return self._bound[1]

    def _tested(self, reader: Reader) -> list[str]:
        """The columns that the filter reads."""
        columns = {source.column for source in self._binding(reader).sources}
        return [reader.schema.names[column] for column in sorted(column for column in columns if column is not None)]

    def _note_columns(self, reader: Reader) -> None:
        tested, report = self._tested(reader), self.report
        late = [] if not isinstance(reader, ParquetReader) else self._output_names(reader.schema)
        report.tested += [name for name in tested if name not in report.tested]
        self._late += [name for name in late if name not in (*tested, *self._late, *reader.file.partitions)]


def _rows_up_to(outcome: Outcome, allowed: int) -> int:
    """How many rows of a unit there are up to the match with which the limit is reached."""
    if allowed and not outcome.found:  # they are only counted
        return outcome.num_rows
    for found in outcome.found:
        if 0 < allowed <= len(found.rows):
            return int(found.rows[allowed - 1]) + 1
        allowed -= len(found.rows)
    return 0


def _line_probe(flt: Filter, options: ScanOptions) -> Filter | None:
    """A filter beside the one that was asked for, where that one alone would pass over a broken line.

    Every field of a filter makes each whole line be checked; a filter without fields needs one that has some. Under
    ``strict_json`` it is true on lines whose metadata is neither an object nor null.
    """
    if not options.strict_json and flt.program.fields:
        return None
    metadata = Field(Role.COLUMN, (options.metadata,))
    # An object, and nothing else, contains the empty object.
    test = And((Exists(metadata), Not(JsonContains(metadata, Json("{}"))))) if options.strict_json else FALSE
    return Filter.from_program(generate(test, Exists(metadata))).bind_record_json(LINE_COLUMN)
