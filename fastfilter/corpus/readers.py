"""Files read piece by piece, in bounded memory: a reader for each format."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat

from fastfilter.corpus.byte_source import ByteSource
from fastfilter.corpus.csv_reader import CsvReader
from fastfilter.corpus.formats import Format
from fastfilter.corpus.lines import LINE_SCHEMA, read_lines
from fastfilter.corpus.reader import PIECE_ROWS, Piece, Reader, damaged
from fastfilter.corpus.sources import InputFile
from fastfilter.errors import DataError

__all__ = ["open_reader"]

_BATCH_BYTES = 16 << 20
_BUFFER_BYTES = 1 << 20
_LINE_BLOCK_BYTES = 8 << 20
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
        if not file.is_stream and file.compression is None and _is_arrow_file(file.path):
            return ArrowFileReader(file)
        return ArrowStreamReader(file)
    except DataError:
        raise
    except Exception as error:  # there is no end to what pyarrow raises for damaged files
        raise damaged(file, error) from error


def _is_arrow_file(path: str) -> bool:
    with open(path, "rb") as opened:
        return opened.read(len(_ARROW_FILE_MAGIC)) == _ARROW_FILE_MAGIC


class ParquetReader(Reader):
    """Parquet, by pages: what is in memory is a few batches and a buffer for each column, however large the file is."""

    def __init__(self, file: InputFile) -> None:
        self._opened = pa.OSFile(os.fsencode(file.path))
        # A buffer size makes pyarrow read column chunks in pieces of it, not whole.
        self._parquet = pq.ParquetFile(self._opened, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        super().__init__(file, self._parquet.schema_arrow, self._parquet.metadata.num_rows)

    def _batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        num_bytes, num_rows = self.file.num_bytes, self.num_rows or 1
        rows_done = 0
        for batch in self._parquet.iter_batches(self._batch_rows(), columns=columns):
            _validate(batch)  # pyarrow does not look whether Parquet's texts are UTF-8
            rows_done += batch.num_rows
            yield batch, num_bytes * rows_done // num_rows

    def close(self) -> None:
        self._parquet.close()
        self._opened.close()
        pa.default_memory_pool().release_unused()

    def _batch_rows(self) -> int:
        """Rows of about ``_BATCH_BYTES``, by the widest row group."""
        metadata = self._parquet.metadata
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        widest = max((group.total_byte_size / group.num_rows for group in groups if group.num_rows), default=1)
        return int(min(PIECE_ROWS, max(64, _BATCH_BYTES / max(widest, 1))))


class ArrowFileReader(Reader):
    """Arrow IPC file: mapped into memory, so that only what is looked at is read."""

    def __init__(self, file: InputFile) -> None:
        self._mapped = pa.memory_map(os.fsencode(file.path))
        super().__init__(file, pa.ipc.open_file(self._mapped).schema, None)

    def _batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        reader = pa.ipc.open_file(self._mapped, options=_only(self.schema, columns))
        num_batches = reader.num_record_batches
        for number in range(num_batches):
            batch = reader.get_batch(number)
            _validate(batch)
            yield batch, self.file.num_bytes * (number + 1) // num_batches

    def close(self) -> None:
        self._mapped.close()


class ArrowStreamReader(Reader):
    """Arrow IPC stream, which may be compressed as a whole, or come from standard input."""

    def __init__(self, file: InputFile) -> None:
        self._stream = ByteSource(file)
        self._reader = pa.ipc.open_stream(self._stream.arrow)
        super().__init__(file, self._reader.schema, None)

    def _batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        for batch in self._reader:
            _validate(batch)
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

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        """The lines that are not blank; ``columns`` has no meaning here."""
        last_line = 0
        try:
            for batch, numbers in read_lines(self._stream, _LINE_BLOCK_BYTES):
                last_line = int(numbers[-1])
                yield Piece(batch, self.file, numbers, self._stream.position())
        except (pa.ArrowException, OSError) as error:
            where = f"after line {last_line}: " if last_line else ""
            raise DataError(f"{self.file.path}: {where}{error}") from error

    def _batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        raise AssertionError("pieces() does it")

    def close(self) -> None:
        self._stream.close()


def _validate(batch: pa.RecordBatch) -> None:
    """Looks at every value: one damaged offset that leads out of its buffer would be followed.

    Raises:
        pa.ArrowInvalid: names the column.
    """
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        try:
            array.validate(full=not pat.is_date64(array.type))  # instants within a day are read as what they are
        except pa.ArrowInvalid as error:
            raise pa.ArrowInvalid(f"column {name!r}: {error}") from error


def _only(schema: pa.Schema, columns: Sequence[str]) -> pa.ipc.IpcReadOptions:
    wanted = [schema.get_field_index(name) for name in columns]
    return pa.ipc.IpcReadOptions(included_fields=wanted)
