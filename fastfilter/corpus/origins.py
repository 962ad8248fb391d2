"""Columns that tell where a row comes from: its file, and its number there."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

import pyarrow as pa

from fastfilter.corpus.formats import UsageError
from fastfilter.corpus.json_lines import members
from fastfilter.corpus.reader import Piece
from fastfilter.errors import DataError

__all__ = ["Origins"]


@dataclass(frozen=True, slots=True)
class Origins:
    """Names of the columns that are added behind a row's own; None adds none.

    Attributes:
        row_number: the row's number in its file, from 1, as errors give it (of JSONL the line's), as int64.
        source: the file, as text.
    """

    row_number: str | None = None
    source: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in the order in which they are added."""
        return tuple(name for name in (self.row_number, self.source) if name is not None)

    def added_to(self, schema: pa.Schema, path: str) -> pa.Schema:
        """The schema of a file's rows with these columns.

        Raises:
            UsageError: it has such a column already.
        """
        for name, type in ((self.row_number, pa.int64()), (self.source, pa.string())):
            if name is not None:
                if name in schema.names:
                    raise UsageError(f"{path}: it has a column {name!r}, so none of that name can be added")
                schema = schema.append(pa.field(name, type))
        return schema

    def added(self, piece: Piece) -> Piece:
        """The piece with these columns; lines get them as members.

        Raises:
            DataError: a line has such a member already.
        """
        if not self.names:
            return piece
        if piece.is_lines:
            return dataclasses.replace(piece, batch=self._in_lines(piece))
        batch = piece.batch
        arrays = list(batch.columns)
        if self.row_number is not None:
            arrays.append(pa.array(piece.numbers, pa.int64()))
        if self.source is not None:
            arrays.append(pa.repeat(pa.scalar(piece.file.path, pa.string()), batch.num_rows))
        return dataclasses.replace(
            piece, batch=pa.record_batch(arrays, schema=self.added_to(batch.schema, piece.file.path))
        )

    def _in_lines(self, piece: Piece) -> pa.RecordBatch:
        lines = []
        for row, line in enumerate(piece.batch.column(0).to_pylist()):
            present = members(line)
            for name in self.names:
                if name in present:
                    raise DataError(f"{piece.place(row)}: it has a key {name!r}, so none of that name can be added")
            added = {self.row_number: int(piece.numbers[row]), self.source: piece.file.path}
            inner = json.dumps({name: value for name, value in added.items() if name is not None}, ensure_ascii=False)
            opened = line.rstrip()[:-1].rstrip()
            lines.append(opened + ("," if present else "") + inner[1:] + "\n")
        return pa.record_batch([pa.array(lines, piece.batch.schema.field(0).type)], schema=piece.batch.schema)
