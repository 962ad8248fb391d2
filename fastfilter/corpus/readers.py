"""Files read piece by piece, in bounded memory: a reader for each format."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from fastfilter.corpus.byte_source import ByteSource
from fastfilter.corpus.csv_reader import CsvReader
from fastfilter.corpus.formats import Format
from fastfilter.corpus.lines import LINE_SCHEMA, Bytes, cut_lines, whole_lines
from fastfilter.corpus.parquet_reader import ParquetReader
from fastfilter.corpus.reader import Reader, Request, damaged, validate
from fastfilter.corpus.sources import InputFile
from fastfilter.corpus.units import Found, Outcome, Unit
from fastfilter.errors import DataError
from fastfilter.runtime.selection import mask_flags, select_rows

__all__ = ["open_reader"]

_LINE_BLOCK_BYTES = 4 << 20
_ARROW_FILE_MAGIC = b"ARROW1"


def open_reader(file: InputFile, csv_types: Mapping[str, pa.DataType]) -> Reader:
    """Opens a file; a context manager.

    Args:
        file: the file.
        csv_types: types of all columns of CSV files, see :func:`fastfilter.corpus.csv_reader.infer_types`.

    Raises:
        DataError: the file cannot be opened or is not what it should be.
    """
    try:
        if file.format is Format.CSV:
            return CsvReader(file, csv_types)
        if file.format is Format.PARQUET:
            return ParquetReader(file)
        if file.format is Format.JSONL:
            return LineReader(file)
        if not file.is_stream and file.compression is None and _is_arrow_file(file):
            return ArrowFileReader(file)
        return ArrowStreamReader(file)
    except DataError:
        raise
    except Exception as error:  # there is no end to what pyarrow raises for damaged files
        raise damaged(file, error) from error


def _is_arrow_file(file: InputFile) -> bool:
    with file.open() as opened:
        return bool(opened.read(len(_ARROW_FILE_MAGIC)) == _ARROW_FILE_MAGIC)


class _ArrowReader(Reader):
    def _check(self, batch: pa.RecordBatch) -> None:
        validate(batch)


class ArrowFileReader(_ArrowReader):
    """Arrow IPC file: on this machine mapped into memory, so that only what is looked at is read."""

    def __init__(self, file: InputFile) -> None:
        self._mapped = pa.memory_map(os.fsencode(file.path)) if file.filesystem is None else file.open()
        super().__init__(file, pa.ipc.open_file(self._mapped).schema, None)

    def _batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        reader = pa.ipc.open_file(self._mapped, options=_only(self.schema, columns))
        num_batches = reader.num_record_batches
        for number in range(num_batches):
            batch = reader.get_batch(number)
            yield batch, self.file.num_bytes * (number + 1) // num_batches

    def close(self) -> None:
        self._mapped.close()


class ArrowStreamReader(_ArrowReader):
    """Arrow IPC stream, which may be compressed as a whole, or come from standard input."""

    def __init__(self, file: InputFile) -> None:
        self._stream = ByteSource(file)
        self._reader = pa.ipc.open_stream(self._stream.arrow)
        super().__init__(file, self._reader.schema, None)

    def _batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        for batch in self._reader:
            yield batch, self._stream.position()

    def close(self) -> None:
        self._stream.close()


class LineReader(Reader):
    """JSONL: lines as they are."""

    def __init__(self, file: InputFile) -> None:
        if file.partitions:
            names = ", ".join(file.partitions)
            raise DataError(f"{file.path}: its folders give it columns ({names}), which lines of JSON cannot have")
        self._stream = ByteSource(file)
        super().__init__(file, LINE_SCHEMA, None)

    def units(self, request: Request) -> Iterator[Unit]:
        """Blocks of lines; blank ones are passed over, but counted."""
        try:
            for number, text in enumerate(whole_lines(self._stream, _LINE_BLOCK_BYTES)):
                work = functools.partial(_filtered_lines, text, number == 0, request, self._stream.position())
                yield Unit(work, 2 * len(text), len(text))
        except Exception as error:
            yield Unit.done(Outcome(error=error))

    def _damaged(self, error: Exception, row: int) -> DataError:
        where = f"after line {row - 1}: " if row > 1 else ""
        return DataError(f"{self.file.path}: {where}{error}")

    def _batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        raise AssertionError("units() does it")

    def close(self) -> None:
        self._stream.close()


def _filtered_lines(text: Bytes, is_first: bool, request: Request, bytes_done: int) -> Outcome:
    outcome = Outcome(bytes_done=bytes_done)
    try:
        batch, numbers, num_lines = cut_lines(text, is_first)
        mask = request.masks(batch, outcome)
    except Exception as error:
        outcome.error = error
        return outcome
    if outcome.error is not None:
        assert isinstance(outcome.error, DataError) and outcome.error.row is not None
        outcome.error = DataError(outcome.error.message, int(numbers[outcome.error.row]))
    outcome.num_numbers = num_lines
    outcome.num_matches = mask.true_count
    if outcome.num_matches and request.kept is not None:
        rows = np.flatnonzero(mask_flags(mask))
        kept = select_rows(batch.slice(0, len(mask)), mask)
        for start in range(0, len(rows), request.batch_rows):
            some = rows[start : start + request.batch_rows]
            outcome.found.append(Found(kept.slice(start, request.batch_rows), some, numbers[some]))
    return outcome


def _only(schema: pa.Schema, columns: Sequence[str]) -> pa.ipc.IpcReadOptions:
    wanted = [schema.get_field_index(name) for name in columns]
    return pa.ipc.IpcReadOptions(included_fields=wanted)
