"""Matching rows of which some are lines of JSON, kept on disk until their columns have types.

The types are known only when the last line has been seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa

from fastfilter.corpus.formats import Format
from fastfilter.corpus.json_lines import LineColumns
from fastfilter.corpus.reader import Piece
from fastfilter.corpus.scan import Scan
from fastfilter.corpus.schemas import conform, unified_schema

__all__ = ["Spool"]

_FILE = b"fastfilter:file"


class Spool:
    """The matching rows of a scan, which making it runs.

    Attributes:
        schema: the columns of all rows.
        position: how many bytes of the spool the pieces given so far take.

    Args:
        scan: the scan.
        file: an empty file for them.

    Raises:
        UsageError: the types of a column do not go together.
        DataError: see :meth:`Scan.matches`.
    """

    def __init__(self, scan: Scan, file: BinaryIO) -> None:
        self.position = 0
        self._file = file
        self._files = scan.files
        self._numbers = {each.path: number for number, each in enumerate(scan.files)}
        self._columns = LineColumns(scan.declared, scan.options.metadata, scan.options.output_columns)
        for piece in scan.matches():
            # Arrow streams of its own, as its columns may differ from the last one's.
            batch = self._columns.split(piece) if piece.is_lines else piece.batch
            file_number = self._numbers[piece.file.path]
            batch = batch.replace_schema_metadata({_FILE: str(file_number).encode()})
            for part in (batch, pa.record_batch({"number": piece.numbers})):
                with pa.ipc.new_stream(file, part.schema) as writer:
                    writer.write_batch(part)
        scan.columns_missing &= self._columns.values_missing()
        schemas = [
            (each.path, self._columns.schema if schema is None else schema)
            for each, schema in zip(scan.files, scan.schemas, strict=True)
        ]
        self.schema = unified_schema(schemas)
        if not self.schema.names and not scan.rows_out:  # so that it can be read again with the same filter
            self.schema = pa.schema([(name, scan.declared.get(name, pa.string())) for name in scan.columns_tested])

    def pieces(self) -> Iterator[Piece]:
        """The rows in order, all of the schema; once."""
        end = self._file.tell()
        self._file.seek(0)
        while self._file.tell() < end:
            batch, numbers = self._next_batch(), self._next_batch()
            self.position = self._file.tell()
            file = self._files[int(batch.schema.metadata[_FILE])]
            typed = self._columns.typed(batch) if file.format is Format.JSONL else batch
            yield Piece(conform(typed, self.schema, file.path), file, numbers.column(0).to_numpy())

    def _next_batch(self) -> pa.RecordBatch:
        with pa.ipc.open_stream(self._file) as reader:
            (batch,) = reader
            return batch
