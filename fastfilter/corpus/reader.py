"""What every reader of files gives: units of work, in order, that filter a part of the file each."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pat

from fastfilter.corpus.formats import Format
from fastfilter.corpus.pruning import Pruner
from fastfilter.corpus.sources import InputFile
from fastfilter.corpus.units import Found, Outcome, Unit
from fastfilter.errors import DataError
from fastfilter.runtime.selection import mask_flags, select_rows

__all__ = [
    "PIECE_ROWS",
    "Piece",
    "Reader",
    "Request",
    "add_partitions",
    "damaged",
    "rows_only",
    "validate",
    "with_partitions",
]

PIECE_ROWS = 65_536
"""The most rows of a piece."""

_UNIT_ROWS = 4 * PIECE_ROWS


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of a file.

    Attributes:
        batch: the rows; of JSONL, one column of whole lines.
        file: where they come from.
        numbers: the number of each row in the file, from 1; of JSONL, of each line.
    """

    batch: pa.RecordBatch
    file: InputFile
    numbers: npt.NDArray[np.int64]

    @property
    def is_lines(self) -> bool:
        """Whether the rows are whole lines of JSONL."""
        return self.file.format is Format.JSONL

    def place(self, row: int) -> str:
        """Where a row of the batch is, as it is shown to the user: ``file:line``, or the file and the row's number."""
        return self.file.place(int(self.numbers[row]))

    def first(self, num_rows: int) -> Piece:
        """The first rows."""
        return dataclasses.replace(self, batch=self.batch.slice(0, num_rows), numbers=self.numbers[:num_rows])


@dataclass(frozen=True, slots=True)
class Request:
    """What is wanted of a file.

    Attributes:
        mask: which rows of a batch match, never null; it may be asked on several threads at once, and raises a
            DataError with the row of the batch.
        tested: the columns that it reads.
        kept: the columns of the matching rows, in this order; None if they are only counted. Of JSONL both mean
        nothing. batch_rows: the most rows of a batch of matching rows.
        pruner: what knows which parts need not be read; None reads all.
        memory_budget: bytes that may be in memory at once, about; no part larger than half of it is read as a whole.
    """

    mask: Callable[[pa.RecordBatch], pa.BooleanArray]
    tested: Sequence[str] = ()
    kept: Sequence[str] | None = ()
    batch_rows: int = PIECE_ROWS
    pruner: Pruner | None = None
    memory_budget: int = 1 << 29

    def masks(self, batch: pa.RecordBatch, outcome: Outcome) -> pa.BooleanArray:
        """The mask of as many rows as can be filtered; what stops at a row, and the rows before it, are noted in the
        outcome, ``row`` being among all its rows."""
        masks = []
        for start in range(0, batch.num_rows, PIECE_ROWS):
            part = batch.slice(start, PIECE_ROWS)
            try:
                masks.append(self.mask(part))
            except DataError as error:
                num_good = error.row or 0
                outcome.num_rows += num_good
                outcome.error = DataError(error.message, outcome.num_rows)
                if num_good:
                    masks.append(self.mask(part.slice(0, num_good)))
                break
            outcome.num_rows += part.num_rows
        if len(masks) == 1:
            return masks[0]
        return pa.concat_arrays(masks) if masks else pa.array([], pa.bool_())


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

    def units(self, request: Request) -> Iterator[Unit]:
        """The file as units of work, in order. What is wrong with it is the error of an outcome."""
        if request.pruner is not None and not request.pruner.can_match():
            yield Unit.done(Outcome(num_rows=self.num_rows or 0, bytes_done=self.file.num_bytes, is_pruned_file=True))
            return
        needed = {*request.tested, *(request.kept or ())}
        names = [name for name in self.schema.names if name in needed]
        try:
            for batch, bytes_done in self._batches([name for name in names if name not in self.file.partitions]):
                num_bytes = batch.get_total_buffer_size()  # offsets are not to be followed before they are checked
                for start in range(0, batch.num_rows, _UNIT_ROWS):
                    part = batch.slice(start, _UNIT_ROWS)
                    work = functools.partial(self._filtered, part, names, request, bytes_done)
                    yield Unit(work, 0, num_bytes * part.num_rows // batch.num_rows)
        except Exception as error:  # there is no end to what pyarrow raises for damaged files
            yield Unit.done(Outcome(error=error))

    def error_at(self, error: Exception, number: int) -> DataError:
        """An outcome's error in the words of the user.

        Args:
            error: the error.
            number: of the unit's first row, in the file.
        """
        if not isinstance(error, DataError):
            return self._damaged(error, number)
        if error.row is None:
            return error
        return DataError(f"{self.file.place(number + error.row)}: {error.message}")

    def close(self) -> None:  # noqa: B027 - a reader may have nothing to let go of
        """Lets go of the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _filtered(self, batch: pa.RecordBatch, names: list[str], request: Request, bytes_done: int) -> Outcome:
        outcome = Outcome(bytes_done=bytes_done)
        try:
            self._check(batch)
            batch = with_partitions(batch, names, self.file.partitions)
            mask = request.masks(batch, outcome)
        except Exception as error:
            outcome.error = error
            return outcome
        outcome.num_numbers = outcome.num_rows
        outcome.num_matches = mask.true_count
        if outcome.num_matches and request.kept is not None:
            rows = np.flatnonzero(mask_flags(mask))
            kept = select_rows(batch.slice(0, len(mask)).select(request.kept), mask)
            for start in range(0, len(rows), request.batch_rows):
                some = rows[start : start + request.batch_rows]
                outcome.found.append(Found(kept.slice(start, request.batch_rows), some, some))
        return outcome

    def _check(self, batch: pa.RecordBatch) -> None:  # noqa: B027 - a parser has looked at every value
        """Raises an error if the batch, which was read, is damaged."""

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


def validate(batch: pa.RecordBatch) -> None:
    """Looks at every value: one damaged offset that leads out of its buffer would be followed.

    Raises:
        pa.ArrowInvalid: names the column.
    """
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        try:
            array.validate(full=not pat.is_date64(array.type))  # instants within a day are read as what they are
        except pa.ArrowInvalid as error:
            raise pa.ArrowInvalid(f"column {name!r}: {error}") from error


def rows_only(num_rows: int) -> pa.RecordBatch:
    """A batch of so many rows without a column.

    Example:
        >>> rows_only(3).num_rows
        3
    """
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), num_rows, [None]))


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


def with_partitions(batch: pa.RecordBatch, names: list[str], partitions: dict[str, str | None]) -> pa.RecordBatch:
    """A batch with these columns, in this order, of which its file's folders give some."""
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
