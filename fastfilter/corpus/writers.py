"""Files written whole or not at all: a writer for each format, and the way into place."""

from __future__ import annotations

import abc
import contextlib
import json
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pyarrow.types as pat

from fastfilter.corpus.encodings import Encoding, encoding_of
from fastfilter.corpus.formats import Format, UsageError, detect_format, known_endings
from fastfilter.corpus.json_text import check_json_type, json_texts
from fastfilter.corpus.lines import LINE_SCHEMA, lines_of
from fastfilter.corpus.schemas import arrow_file_schema, conform, parquet_schema
from fastfilter.corpus.sources import InputFile
from fastfilter.errors import DataError

__all__ = [
    "ROW_GROUP_BYTES",
    "BatchWriter",
    "cannot_be_written",
    "check_is_no_source",
    "check_output",
    "open_byte_stream",
    "open_writer",
    "put_into_place",
]

ROW_GROUP_BYTES = 64 << 20
"""The most bytes of rows, in memory, of a row group of Parquet."""
_ROW_GROUP_ROWS = 1 << 20


def check_output(
    path: str, files: Sequence[InputFile], compression: str | None = None, group_rows: int | None = None
) -> Encoding:
    """The encoding of an output, which must not be one of the files that are read.

    Raises:
        UsageError: its ending is unknown, its folder is not there, or it is a source or a folder; it cannot have that
            compression or groups of rows.
    """
    try:
        detected = detect_format(path)
    except DataError as error:
        raise UsageError(error.message) from None
    if detected is None:
        raise UsageError(f"{path}: the ending of its name is not one of {known_endings()}")
    if os.path.isdir(path):
        raise UsageError(f"{path}: is a folder")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise UsageError(f"{path}: there is no folder {folder}")
    if os.path.exists(path):
        check_is_no_source(os.stat(path), path, files)
    return encoding_of(detected[0], compression, group_rows, path, detected[1])


def check_is_no_source(output: os.stat_result, name: str, files: Sequence[InputFile]) -> None:
    """Refuses an output that is one of the files that are read.

    Raises:
        UsageError: it is.
    """
    for file in files:
        if not file.is_stream and file.filesystem is None and os.path.samestat(output, os.stat(file.path)):
            raise UsageError(f"{name}: is one of the sources; it would be read and written at once")


@contextlib.contextmanager
def put_into_place(path: str) -> Iterator[str]:
    """A temporary name, in the folder of ``path``, for a file that gets its own name when it is whole.

    On leaving, the file is flushed to the disk and replaces what was at ``path``; if an exception (also an interrupt)
    leaves, it is removed and what was there stays as it was.

    Raises:
        UsageError: the file cannot be written.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    # A name may have 255 bytes, and a character four of them. It is known before the file is there, so that nothing,
    # not even a signal in between, can leave the file behind.
    temporary = os.path.join(folder, f".{name[:40]}.{secrets.token_hex(8)}.part")
    try:
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(handle, _mode_of(target))
            yield temporary
            os.fsync(handle)
            os.replace(temporary, target)
        finally:
            os.close(handle)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError | pa.ArrowException):
            raise cannot_be_written(path, error, temporary) from error
        raise


def cannot_be_written(path: str, error: Exception, temporary: str | None = None) -> UsageError:
    """What the system says of an output, with its name instead of the temporary one."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return UsageError(f"{path}: {text.replace(temporary, path) if temporary else text}")


def _mode_of(path: str) -> int:
    """The permissions of a file, or those a new one would get."""
    if os.path.exists(path):
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def open_byte_stream(path: str, compression: str | None) -> Any:
    """A stream to write bytes to, compressed on their way; a context manager."""
    file = pa.OSFile(os.fsencode(path), "wb")
    return file if compression is None else pa.CompressedOutputStream(file, compression)


class BatchWriter(abc.ABC):
    """Writes record batches of one schema; a context manager. Left by an exception, the file is not whole."""

    @property
    def buffered_bytes(self) -> int:
        """The memory of rows that are not in the file yet."""
        return 0

    @abc.abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Writes a batch of the schema the writer was opened with."""

    def flush(self) -> None:  # noqa: B027 - most have nothing buffered
        """Puts the rows so far into the file."""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends the file."""

    def __enter__(self) -> BatchWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            with contextlib.suppress(Exception):  # the file is thrown away; what went wrong is already on its way
                self.close()


def open_writer(
    path: str, name: str, schema: pa.Schema, encoding: Encoding, group_bytes: int = ROW_GROUP_BYTES
) -> BatchWriter:
    """A writer of record batches.

    Args:
        path: where to write.
        name: the output as the user named it, for errors.
        schema: of all batches; of JSONL, that of lines.
        encoding: how the rows are written.
        group_bytes: about the most bytes of a row group of Parquet, in memory.

    Raises:
        UsageError: the format has no place for a column's type.
    """
    try:
        if encoding.format is Format.PARQUET:
            return _ParquetWriter(path, name, parquet_schema(schema), encoding, group_bytes)
        if encoding.format is Format.CSV:
            return _CsvWriter(path, schema, encoding)
        if encoding.format is Format.JSONL:
            assert schema.equals(LINE_SCHEMA)
            return _LineWriter(path, encoding)
        return _ArrowWriter(path, name, schema, encoding)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise UsageError(f"{name}: {error}") from error


class _ParquetWriter(BatchWriter):
    """Gathers rows into row groups of some size, whatever few rows each batch has."""

    def __init__(self, path: str, name: str, schema: pa.Schema, encoding: Encoding, group_bytes: int) -> None:
        self._schema = schema
        self._name = name
        self._group_rows = encoding.group_rows or _ROW_GROUP_ROWS
        self._group_bytes = group_bytes
        self._stream = open_byte_stream(path, None)
        self._writer = pq.ParquetWriter(
            self._stream, schema, compression=encoding.inside or "zstd", compression_level=encoding.level
        )
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._pending_rows = 0

    @property
    def buffered_bytes(self) -> int:
        return self._pending_bytes

    def write(self, batch: pa.RecordBatch) -> None:
        batch = conform(batch, self._schema, self._name)
        start = 0
        while start < batch.num_rows:
            some = batch.slice(start, self._group_rows - self._pending_rows)
            start += some.num_rows
            self._pending.append(some)
            self._pending_bytes += some.nbytes
            self._pending_rows += some.num_rows
            if self._pending_bytes >= self._group_bytes or self._pending_rows >= self._group_rows:
                self.flush()

    def flush(self) -> None:
        """Ends the row group."""
        if self._pending_rows:
            table = pa.Table.from_batches(self._pending, self._schema)
            self._writer.write_table(table, row_group_size=self._pending_rows)
        self._pending.clear()
        self._pending_bytes = self._pending_rows = 0

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self._writer.close()
            self._stream.close()


class _LineWriter(BatchWriter):
    """JSONL: batches of lines, as they are."""

    def __init__(self, path: str, encoding: Encoding) -> None:
        self._stream = open_byte_stream(path, encoding.around)

    def write(self, batch: pa.RecordBatch) -> None:
        self._stream.write(lines_of(batch))

    def close(self) -> None:
        self._stream.close()


class _ArrowWriter(BatchWriter):
    """Arrow IPC. A file holds one dictionary a column, which may only grow; so there dictionaries are made to."""

    def __init__(self, path: str, name: str, schema: pa.Schema, encoding: Encoding) -> None:
        self._name = name
        self._stream = open_byte_stream(path, encoding.around)
        self._group_rows = encoding.group_rows
        self._is_file = encoding.format is Format.ARROW
        self._schema = arrow_file_schema(schema) if self._is_file else schema
        open_ipc = pa.ipc.new_file if self._is_file else pa.ipc.new_stream
        codec = None
        if encoding.inside not in (None, "none"):
            codec = pa.Codec(encoding.inside, compression_level=encoding.level)
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True, compression=codec)
        self._writer = open_ipc(self._stream, self._schema, options=options)
        self._dictionaries: dict[str, pa.Array] = {}

    def write(self, batch: pa.RecordBatch) -> None:
        batch = conform(batch, self._schema, self._name)
        try:
            if self._is_file and self._schema.names:
                batch = pa.record_batch(
                    [self._grown(name, array) for name, array in zip(batch.schema.names, batch.columns, strict=True)],
                    schema=batch.schema,
                )
            for start in range(0, batch.num_rows, self._group_rows or batch.num_rows):
                self._writer.write_batch(batch.slice(start, self._group_rows))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UsageError(f"{self._name}: {error} (.arrows and .parquet have no such limit)") from error

    def _grown(self, name: str, array: pa.Array) -> pa.Array:
        if not pat.is_dictionary(array.type):
            return array
        before = self._dictionaries.get(name)
        if before is not None and not before.equals(array.dictionary):
            array = _with_dictionary_grown(array, before)
        self._dictionaries[name] = array.dictionary
        return array

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._stream.close()


def _with_dictionary_grown(array: pa.DictionaryArray, before: pa.Array) -> pa.DictionaryArray:
    """The array with a dictionary that begins with all of ``before``. (pyarrow unifies none that hold null.)"""
    type = array.type
    entries = array.dictionary
    places = pc.index_in(entries, before)
    is_new = places.is_null()
    first_new = pc.subtract(pc.cumulative_sum(is_new.cast(pa.int32())), 1)
    places = pc.if_else(is_new, pc.add(first_new, len(before)), places)
    dictionary = pa.concat_arrays([before, entries.filter(is_new)])
    indices = places.take(array.indices).cast(type.index_type)
    return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=type.ordered)


class _CsvWriter(BatchWriter):
    """CSV: texts quoted, null an empty cell, what has no form in CSV as JSON text."""

    def __init__(self, path: str, schema: pa.Schema, encoding: Encoding) -> None:
        for field in schema:
            check_json_type(field.type, field.name)
        self._schema = pa.schema([(field.name, _csv_type(field.type)) for field in schema])
        self._stream = open_byte_stream(path, encoding.around)
        self._writer = pa.csv.CSVWriter(self._stream, self._schema)

    def write(self, batch: pa.RecordBatch) -> None:
        cells = [_csv_cells(array, field.type) for array, field in zip(batch.columns, self._schema, strict=True)]
        self._writer.write(pa.record_batch(cells, schema=self._schema))

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._stream.close()


def _csv_type(type: pa.DataType) -> pa.DataType:
    native = pat.is_boolean(type) or pat.is_integer(type) or pat.is_float32(type) or pat.is_float64(type)
    return type if native or pat.is_decimal(type) or pat.is_null(type) else pa.string()


def _csv_cells(array: pa.Array, type: pa.DataType) -> pa.Array:
    if array.type == type:
        return array
    if pat.is_large_string(array.type) or pat.is_string_view(array.type):
        return array.cast(type)
    texts = [None if text == "null" else _bare(text) for text in json_texts(array)]
    return pa.array(texts, type)


def _bare(text: str) -> str:
    """A text itself; any other JSON value as its JSON text."""
    return json.loads(text) if text.startswith('"') else text
