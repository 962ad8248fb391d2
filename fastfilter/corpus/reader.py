"""What every reader of files gives: pieces of a file, in order, that know where their rows come from."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pat

from fastfilter.corpus.formats import Format
from fastfilter.corpus.sources import InputFile
from fastfilter.errors import DataError
from fastfilter.runtime.selection import mask_flags, select_rows

__all__ = ["PIECE_ROWS", "Piece", "Reader", "add_partitions", "damaged"]

PIECE_ROWS = 65_536
"""The most rows of a piece."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of a file.

    Attributes:
        batch: the rows; of JSONL, one column of whole lines.
        file: where they come from.
        numbers: the number of each row in the file, from 1; of JSONL, of each line.
        bytes_done: how many bytes of the file are read with this piece, as far as that is known.
    """

    batch: pa.RecordBatch
    file: InputFile
    numbers: npt.NDArray[np.int64]
    bytes_done: int

    @property
    def is_lines(self) -> bool:
        """Whether the rows are whole lines of JSONL."""
        return self.file.format is Format.JSONL

    def place(self, row: int | None) -> str:
        """Where a row of the batch is, as it is shown to the user: ``file:line``, or the file and the row's number."""
        if row is None:
            return self.file.path
        number = self.numbers[row]
        return f"{self.file.path}:{number}" if self.is_lines else f"{self.file.path}: row {number}"

    def filtered(self, mask: pa.BooleanArray) -> Piece:
        """The rows of a mask."""
        kept = mask_flags(mask)
        return dataclasses.replace(self, batch=select_rows(self.batch, mask), numbers=self.numbers[kept])

    def with_columns(self, names: Sequence[str]) -> Piece:
        """The rows with these columns only, in this order."""
        batch = self.batch
        return self if batch.schema.names == list(names) else dataclasses.replace(self, batch=batch.select(names))

    def first(self, num_rows: int) -> Piece:
        """The first rows."""
        return dataclasses.replace(self, batch=self.batch.slice(0, num_rows), numbers=self.numbers[:num_rows])


class Reader(abc.ABC):
    """A file that is open for reading, once; a context manager.

    Attributes:
        file: the file.
        schema: the columns it has, those its folders give included; of JSONL, one column of whole lines.
        num_rows: how many rows it has, or None where only reading it would tell.
    """

    def __init__(self, file: InputFile, schema: pa.Schema, num_rows: int | None) -> None:
        names = set()
        list(_all_names(schema))  # in a damaged file one may be no UTF-8, which is an error wherever it is looked at
        for name in schema.names:
            if name in names:
                raise DataError(f"{file.path}: it has two columns named {name!r}")
            names.add(name)
        self.file = file
        self.schema = add_partitions(file, schema)
        self.num_rows = num_rows

    @property
    def is_lines(self) -> bool:
        """Whether the rows are whole lines of JSONL."""
        return self.file.format is Format.JSONL

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        """The rows in order.

        Args:
            columns: the columns to read, in this order; None is all of them.

        Raises:
            DataError: the file is damaged.
        """
        names = list(self.schema.names if columns is None else columns)
        partitions = self.file.partitions
        first_row = 1
        try:
            for batch, bytes_done in self._batches([name for name in names if name not in partitions]):
                for start in range(0, batch.num_rows, PIECE_ROWS):
                    part = batch.slice(start, PIECE_ROWS)
                    numbers = np.arange(first_row, first_row + part.num_rows, dtype=np.int64)
                    first_row += part.num_rows
                    yield Piece(_with_partitions(part, names, partitions), self.file, numbers, bytes_done)
        except DataError:
            raise
        except Exception as error:  # there is no end to what pyarrow raises for damaged files
            raise self._damaged(error, first_row) from error

    def close(self) -> None:  # noqa: B027 - a reader may have nothing to let go of
        """Lets go of the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _damaged(self, error: Exception, row: int) -> DataError:
        """The error in the words of the user; ``row`` is the first that could not be read."""
        return damaged(self.file, error, row)

    @abc.abstractmethod
    def _batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Batches with at least these columns of the file, and how many of its bytes are read."""


def damaged(file: InputFile, error: Exception, row: int = 1) -> DataError:
    """What pyarrow says of a file that cannot be read, with the file's name, and the first row that cannot."""
    text = str(error) if isinstance(error, pa.ArrowException | OSError) else f"{type(error).__name__}: {error}"
    return DataError(f"{file.path}: {f'after row {row - 1}: ' if row > 1 else ''}{text}")


def add_partitions(file: InputFile, schema: pa.Schema) -> pa.Schema:
    """The schema of a file with the columns that its folders give."""
    for name in file.partitions:
        if name in schema.names:
            raise DataError(f"{file.path}: the column {name!r} is in the file, and its folders give it as well")
        schema = schema.append(pa.field(name, pa.string()))
    return schema


def _all_names(fields: Iterable[pa.Field]) -> Iterator[str]:
    """The names of fields and of all fields in them."""
    for field in fields:
        yield field.name
        type = field.type.value_type if pat.is_dictionary(field.type) else field.type
        yield from _all_names(type.field(number) for number in range(type.num_fields))


def _with_partitions(batch: pa.RecordBatch, names: list[str], partitions: dict[str, str | None]) -> pa.RecordBatch:
    if batch.schema.names == names:
        return batch
    if not any(name in partitions for name in names):
        return batch.select(names)
    fields, arrays = [], []
    for name in names:
        if name in partitions:
            fields.append(pa.field(name, pa.string()))
            arrays.append(pa.repeat(pa.scalar(partitions[name], pa.string()), batch.num_rows))
        else:
            fields.append(batch.schema.field(name))
            arrays.append(batch.column(name))
    return pa.record_batch(arrays, schema=pa.schema(fields, metadata=batch.schema.metadata))
