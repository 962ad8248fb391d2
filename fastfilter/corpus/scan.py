"""A filter over files: which rows of them match, in order, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from fastfilter.bytecode.constants import Json
from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler.codegen import generate
from fastfilter.compiler.expr import FALSE, And, Exists, JsonContains, Not
from fastfilter.corpus.csv_reader import infer_types
from fastfilter.corpus.formats import Format, UsageError
from fastfilter.corpus.lines import LINE_COLUMN
from fastfilter.corpus.reader import Piece, Reader
from fastfilter.corpus.readers import open_reader
from fastfilter.corpus.schemas import declared_types
from fastfilter.corpus.sources import InputFile
from fastfilter.errors import BindError, DataError, nearest_name
from fastfilter.filter import Filter
from fastfilter.runtime.selection import mask_flags

__all__ = ["Scan", "ScanOptions"]


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
    """

    columns: tuple[str, ...] | None = None
    limit: int | None = None
    threads: int | None = None
    metadata: str = "metadata"
    fields: Mapping[str, str] = field(default_factory=dict)
    strict_json: bool = False


class Scan:
    """A filter being applied to files. It can be used once.

    Every file is opened when the scan is made, so that what is wrong with one is said before any work is done.

    Attributes:
        files: the files.
        options: how they are read.
        declared: types of columns in formats without types.
        schemas: of each file, the columns of its matching rows; None of JSONL, whose rows are whole lines.
        num_rows: how many rows all files have, or None if reading would have to tell.
        num_bytes: the size of all files.
        rows_in: rows read so far.
        rows_out: rows that matched so far.
        bytes_in: bytes of the files read so far.
        columns_missing: chosen columns that no line had so far; other files are refused if they do not have them.

    Raises:
        DataError: a file cannot be read.
        BindError: the filter does not fit a file's columns.
        UsageError: a file does not have one of the output's columns.
    """

    def __init__(self, flt: Filter, files: Sequence[InputFile], options: ScanOptions) -> None:
        self.files = list(files)
        self.rows_in = self.rows_out = self.bytes_in = 0
        self.num_bytes = sum(file.num_bytes for file in files)
        self.columns_missing = set(options.columns or ()) if all(f.format is Format.JSONL for f in files) else set()
        self.on_progress: Callable[[], None] = lambda: None
        self._filter = flt
        self._line_filter = flt.bind_record_json(LINE_COLUMN)
        self._probe = _line_probe(flt, options)
        self.options = options
        csv_files = [file for file in files if file.format is Format.CSV]
        self.declared = declared_types(options.fields, options.metadata)
        self._csv_types = infer_types(csv_files, self.declared)
        self._kept_open: dict[str, Reader] = {}
        self.schemas: list[pa.Schema | None] = []
        num_rows: list[int | None] = []
        for file in files:
            reader = self._open(file)
            self.schemas.append(None if reader.is_lines else self._output_schema(reader))
            if not reader.is_lines:
                self._columns_read(reader)
            num_rows.append(reader.num_rows)
            if file.is_stream:
                self._kept_open[file.path] = reader
            else:
                reader.close()
        counts = [count for count in num_rows if count is not None]
        self.num_rows = sum(counts) if len(counts) == len(num_rows) else None

    @property
    def columns_tested(self) -> list[str]:
        """The columns that the filter asks for, whether or not there are any."""
        options = self.options
        names = [
            options.metadata if use.field.role is Role.METADATA else options.fields.get(use.field.name, use.field.name)
            for use in self._filter.program.fields
        ]
        return list(dict.fromkeys(names))

    def matches(self) -> Iterator[Piece]:
        """The rows that match, with the columns of the output; of JSONL, the whole lines. Pieces are never empty.

        Raises:
            DataError: a file is damaged; a line is no JSON object, or, under ``strict_json``, a row's metadata is bad.
        """
        for piece, mask in self._masked(with_output=True):
            if mask.true_count:
                found = piece.filtered(mask)
                yield found if found.is_lines else found.with_columns(self._output_names(found.batch.schema))

    def count(self) -> int:
        """How many rows match; reads only what the filter reads. Raises as :meth:`matches`."""
        for _ in self._masked(with_output=False):
            pass
        return self.rows_out

    def explain(self) -> str:
        """What the filter means and how it runs on the first file."""
        file = self.files[0]
        with self._kept_open.pop(file.path, None) or self._open(file) as reader:
            return (self._line_filter if reader.is_lines else self._filter).explain(reader.schema)

    def _masked(self, with_output: bool) -> Iterator[tuple[Piece, pa.BooleanArray]]:
        """All rows, and which match, until the limit is reached."""
        bytes_before = 0
        for file in self.files:
            with self._kept_open.pop(file.path, None) or self._open(file) as reader:
                columns = None if reader.is_lines else self._columns_read(reader, with_output)
                for piece in reader.pieces(columns):
                    mask = self._mask(piece)
                    limit = self.options.limit
                    if limit is not None and mask.true_count > limit - self.rows_out:
                        piece, mask = _cut(piece, mask, limit - self.rows_out)
                    self.rows_in += piece.batch.num_rows
                    self.rows_out += mask.true_count
                    self.bytes_in = bytes_before + piece.bytes_done
                    yield piece, mask
                    self.on_progress()
                    if self.rows_out == limit:
                        return
            bytes_before += file.num_bytes

    def _mask(self, piece: Piece) -> pa.BooleanArray:
        threads = self.options.threads
        try:
            if not piece.is_lines:
                return self._filter.mask(piece.batch, threads)
            mask = self._line_filter.mask(piece.batch, threads)
            if self._probe is not None:
                bad = self._probe.mask(piece.batch, threads)
                if bad.true_count:
                    row = bad.index(True).as_py()
                    raise DataError(f"{self.options.metadata!r} is neither an object nor null", row)
            return mask
        except DataError as error:
            message = error.message
            if piece.is_lines:
                message = message.replace(f"the text in column {LINE_COLUMN!r}", "the line")
            raise DataError(f"{piece.place(error.row)}: {message}") from error

    def _open(self, file: InputFile) -> Reader:
        return open_reader(file, self._csv_types)

    def _output_schema(self, reader: Reader) -> pa.Schema:
        for name in self.options.columns or ():
            if name not in reader.schema.names:
                near = nearest_name(name, reader.schema.names)
                raise UsageError(
                    f"{reader.file.path}: there is no column {name!r}; its columns are {', '.join(reader.schema.names)}"
                    + (f"; did you mean {near!r}?" if near else "")
                )
        if self.options.columns is None:
            return reader.schema
        return pa.schema([reader.schema.field(name) for name in self.options.columns])

    def _output_names(self, schema: pa.Schema) -> Sequence[str]:
        return schema.names if self.options.columns is None else self.options.columns

    def _columns_read(self, reader: Reader, with_output: bool = True) -> list[str]:
        """The columns that the filter or the output needs, in the order of the file."""
        try:
            needed = set(self._filter.columns(reader.schema))
        except BindError as error:
            raise BindError(
                f"{reader.file.path}: {error.message}", field=error.field, column=error.column, type=error.type
            ) from None
        if with_output:
            needed.update(self._output_names(reader.schema))
        return [name for name in reader.schema.names if name in needed]


def _cut(piece: Piece, mask: pa.BooleanArray, limit: int) -> tuple[Piece, pa.BooleanArray]:
    """The rows up to the one with which the limit is reached."""
    matching = np.flatnonzero(mask_flags(mask))
    num_rows = int(matching[limit - 1]) + 1 if limit else 0
    return piece.first(num_rows), mask.slice(0, num_rows)


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
