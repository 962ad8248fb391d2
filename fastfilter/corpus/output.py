"""The matching rows of a scan, written to a file or to a stream."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from fastfilter.corpus.encodings import Encoding
from fastfilter.corpus.formats import Format
from fastfilter.corpus.json_lines import project
from fastfilter.corpus.json_text import check_json_columns, json_rows
from fastfilter.corpus.lines import cut_lines, lines_of
from fastfilter.corpus.reader import Piece
from fastfilter.corpus.scan import Scan
from fastfilter.corpus.schemas import conform
from fastfilter.corpus.spool import Spool
from fastfilter.corpus.writers import check_output, open_byte_stream, open_writer, put_into_place

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

    def as_lines(self, piece: Piece) -> Iterator[Piece]:
        """The piece with a line of JSON for each row, in parts."""
        if piece.is_lines and self._options.output_columns is None:
            yield piece
            return
        start = 0
        for text in self.texts(piece):
            batch, _, num_lines = cut_lines(np.frombuffer(text, np.uint8), is_first=False)
            numbers = piece.numbers[start : start + num_lines]
            start += num_lines
            yield dataclasses.replace(piece, batch=batch, numbers=numbers)


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


def write_file(scan: Scan, path: str, compression: str | None = None, group_rows: int | None = None) -> None:
    """Writes the matching rows to a file, in the format its name says; it is there when it is whole, or not at all.

    Args:
        scan: the scan.
        path: the file.
        compression: see :func:`fastfilter.corpus.encodings.encoding_of`, as ``group_rows``.

    Raises:
        UsageError: the output cannot be such a file; see also :func:`check_output`.
        DataError: see :meth:`Scan.matches`.
    """
    encoding = check_output(path, scan.files, compression, group_rows)
    with put_into_place(path) as temporary:
        if encoding.format is Format.JSONL:
            with open_byte_stream(temporary, encoding.around) as stream:
                write_lines(scan, stream)
        elif None in scan.schemas:
            _write_by_way_of_spool(scan, path, temporary, encoding)
        else:
            schema = scan.unified_schema()
            with open_writer(temporary, path, schema, encoding) as writer:
                for piece in scan.matches():
                    writer.write(conform(piece.batch, schema, piece.file.path))


def _write_by_way_of_spool(scan: Scan, path: str, temporary: str, encoding: Encoding) -> None:
    """Writes rows of which some are lines: their columns have types only when the last line has been seen, so all rows
    are kept in a file without a name beside the output meanwhile."""
    with tempfile.TemporaryFile(dir=os.path.dirname(temporary)) as file:
        spool = Spool(scan, file)
        with open_writer(temporary, path, spool.schema, encoding) as writer:
            for piece in spool.pieces():
                writer.write(piece.batch)
