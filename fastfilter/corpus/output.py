"""The matching rows of a scan, written to a file or to a stream."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from fastfilter.corpus.formats import Format
from fastfilter.corpus.json_lines import LineColumns, project
from fastfilter.corpus.json_text import check_json_columns, json_rows
from fastfilter.corpus.lines import lines_of
from fastfilter.corpus.reader import Piece
from fastfilter.corpus.scan import Scan
from fastfilter.corpus.schemas import conform, unified_schema
from fastfilter.corpus.writers import ColumnWriter, check_output, open_byte_stream, open_column_writer, put_into_place

__all__ = ["JsonLines", "write_file", "write_lines"]

_JSON_ROWS = 4096
"""Rows brought to JSON at a time: their texts, as Python strings, take several times their memory."""


class ByteSink(Protocol):
    """What bytes are written to."""

    def write(self, data: Any, /) -> object:
        """Writes all of the bytes."""
        ...


class JsonLines:
    """Pieces as JSONL: lines as they were, of other rows one object each."""

    def __init__(self, scan: Scan) -> None:
        self._options = scan.options
        self._missing = scan.columns_missing
        for schema in scan.schemas:
            if schema is not None:
                check_json_columns(schema, self._options.metadata)

    def texts(self, piece: Piece) -> Iterator[Any]:
        """The piece as bytes, in parts."""
        columns = self._options.columns
        if piece.is_lines:
            yield lines_of(piece.batch) if columns is None else project(piece.batch.column(0), columns, self._missing)
            return
        for start in range(0, piece.batch.num_rows, _JSON_ROWS):
            rows = json_rows(piece.batch.slice(start, _JSON_ROWS), self._options.metadata)
            yield ("\n".join(rows) + "\n").encode()


def write_lines(scan: Scan, sink: ByteSink) -> None:
    """Writes the matching rows as JSONL.

    Raises:
        UsageError: a column has a type that JSON has no form for.
        DataError: see :meth:`Scan.matches`.
    """
    lines = JsonLines(scan)
    for piece in scan.matches():
        for text in lines.texts(piece):
            sink.write(text)


def write_file(scan: Scan, path: str) -> None:
    """Writes the matching rows to a file, in the format its name says; it is there when it is whole, or not at all.

    Raises:
        UsageError: the output cannot be such a file; see also :func:`check_output`.
        DataError: see :meth:`Scan.matches`.
    """
    format, compression = check_output(path, scan.files)
    with put_into_place(path) as temporary:
        if format is Format.JSONL:
            with open_byte_stream(temporary, compression) as stream:
                write_lines(scan, stream)
        elif None in scan.schemas:
            _write_by_way_of_spool(scan, path, temporary, format, compression)
        else:
            schemas = [
                (file.path, schema) for file, schema in zip(scan.files, scan.schemas, strict=True) if schema is not None
            ]
            schema = unified_schema(schemas)
            with open_column_writer(temporary, path, schema, format, compression) as writer:
                for piece in scan.matches():
                    writer.write(conform(piece.batch, schema, piece.file.path))


def _write_by_way_of_spool(scan: Scan, path: str, temporary: str, format: Format, compression: str | None) -> None:
    """Writes rows of which some are lines: their columns have types only when the last line has been seen, so all rows
    are kept in a file without a name beside the output meanwhile."""
    line_columns = LineColumns(scan.declared, scan.options.metadata, scan.options.columns)
    with tempfile.TemporaryFile(dir=os.path.dirname(temporary)) as spool:
        for piece in scan.matches():
            _spool(line_columns.split(piece) if piece.is_lines else piece.batch, piece, spool)
        scan.columns_missing &= line_columns.values_missing()
        schemas = [
            (file.path, line_columns.schema if schema is None else schema)
            for file, schema in zip(scan.files, scan.schemas, strict=True)
        ]
        schema = unified_schema(schemas)
        if not schema.names and not scan.rows_out:  # so that it can be read again with the same filter
            schema = pa.schema([(name, scan.declared.get(name, pa.string())) for name in scan.columns_tested])
        with open_column_writer(temporary, path, schema, format, compression) as writer:
            spool.seek(0)
            _write_spooled(spool, line_columns, schema, writer)


_IS_LINES = b"fastfilter:lines"
_PATH = b"fastfilter:path"


def _spool(batch: pa.RecordBatch, piece: Piece, spool: BinaryIO) -> None:
    """Appends a batch as an Arrow stream of its own, as its columns may differ from the last one's."""
    marks = {_IS_LINES: b"1" if piece.is_lines else b"", _PATH: os.fsencode(piece.file.path)}
    batch = batch.replace_schema_metadata(marks)
    with pa.ipc.new_stream(spool, batch.schema) as writer:
        writer.write_batch(batch)


def _write_spooled(spool: BinaryIO, line_columns: LineColumns, schema: pa.Schema, writer: ColumnWriter) -> None:
    end = os.fstat(spool.fileno()).st_size
    while spool.tell() < end:
        with pa.ipc.open_stream(spool) as reader:
            marks = reader.schema.metadata
            for batch in reader:
                typed = line_columns.typed(batch) if marks[_IS_LINES] else batch
                writer.write(conform(typed, schema, os.fsdecode(marks[_PATH])))
