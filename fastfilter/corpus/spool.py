"""Matching rows of which some are lines of JSON, kept on disk until their columns have types.

The types are known only when the last line has been seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa

from fastfilter.corpus.json_lines import LineColumns
from fastfilter.corpus.scan import Scan
from fastfilter.corpus.schemas import conform, unified_schema

__all__ = ["Spool"]

_IS_LINES = b"fastfilter:lines"
_PATH = b"fastfilter:path"


class Spool:
    """The matching rows of a scan, which making it runs.

    Attributes:
        schema: the columns of all rows.

    Args:
        scan: the scan.
        file: an empty file for them.

    Raises:
        UsageError: the types of a column do not go together.
        DataError: see :meth:`Scan.matches`.
    """

    def __init__(self, scan: Scan, file: BinaryIO) -> None:
        self._file = file
        self._columns = LineColumns(scan.declared, scan.options.metadata, scan.options.output_columns)
        for piece in scan.matches():
            # An Arrow stream of its own, as its columns may differ from the last one's.
            batch = self._columns.split(piece) if piece.is_lines else piece.batch
            marks = {_IS_LINES: b"1" if piece.is_lines else b"", _PATH: os.fsencode(piece.file.path)}
            batch = batch.replace_schema_metadata(marks)
            with pa.ipc.new_stream(file, batch.schema) as writer:
                writer.write_batch(batch)
        scan.columns_missing &= self._columns.values_missing()
        schemas = [
            (each.path, self._columns.schema if schema is None else schema)
            for each, schema in zip(scan.files, scan.schemas, strict=True)
        ]
        self.schema = unified_schema(schemas)
        if not self.schema.names and not scan.rows_out:  # so that it can be read again with the same filter
            self.schema = pa.schema([(name, scan.declared.get(name, pa.string())) for name in scan.columns_tested])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in order, all of the schema; once."""
        end = self._file.tell()
        self._file.seek(0)
        while self._file.tell() < end:
            with pa.ipc.open_stream(self._file) as reader:
                marks = reader.schema.metadata
                for batch in reader:
                    typed = self._columns.typed(batch) if marks[_IS_LINES] else batch
                    yield conform(typed, self.schema, os.fsdecode(marks[_PATH]))
