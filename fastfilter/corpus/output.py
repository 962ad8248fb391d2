"""The matching rows of a scan, written to a file or to a stream."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any, Protocol

from fastfilter.corpus.formats import Format
from fastfilter.corpus.json_lines import project
from fastfilter.corpus.json_text import check_json_columns, json_rows
from fastfilter.corpus.lines import lines_of
from fastfilter.corpus.reader import Piece
from fastfilter.corpus.scan import Scan
from fastfilter.corpus.schemas import conform, unified_schema
from fastfilter.corpus.spool import Spool
from fastfilter.corpus.writers import check_output, open_byte_stream, open_column_writer, put_into_place

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
        columns = self._options.output_columns
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
    with tempfile.TemporaryFile(dir=os.path.dirname(temporary)) as file:
        spool = Spool(scan, file)
        with open_column_writer(temporary, path, spool.schema, format, compression) as writer:
            for batch in spool.batches():
                writer.write(batch)
