"""CSV: columns of text, whose types are declared or are what *all* their values are, in all files of a run.

Types are found in a pass of their own before any row is filtered, so that a late ``007`` makes its column text rather
than seven. An empty cell is null, a quoted empty one is the empty text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from fastfilter.corpus.byte_source import ByteSource
from fastfilter.corpus.kinds import Kinds, kind_of_number, type_of
from fastfilter.corpus.reader import Reader
from fastfilter.corpus.sources import InputFile
from fastfilter.errors import DataError

__all__ = ["CsvReader", "infer_types"]

_BLOCK_BYTES = 4 << 20
_LARGEST_BLOCK = 1 << 30
_ROW_BEYOND_BLOCK = "straddling"
_INTEGER = r"^(0|-?[1-9][0-9]*)$"
_NUMBER = r"^(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?|nan|-?inf)$"


class CsvReader(Reader):
    """CSV with a header. ``types`` gives every column's type."""

    def __init__(self, file: InputFile, types: Mapping[str, pa.DataType]) -> None:
        header = _header(file)
        self._types = {name: types[name] for name in header}
        super().__init__(file, pa.schema(list(self._types.items())), None)

    def _batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        header = list(self._types)
        wanted = columns or header[:1]  # a column must be read for its rows to be counted
        return _read(self.file, header, {name: self._types[name] for name in wanted})

    def _damaged(self, error: Exception) -> DataError:
        return _damaged(self.file, error, list(self._types))


def infer_types(files: Sequence[InputFile], declared: Mapping[str, pa.DataType]) -> dict[str, pa.DataType]:
    """The type of every column of the files: as declared, else bool, int64 or double if all values are, else text.

    Args:
        files: CSV files; a column may be in some of them only.
        declared: types of columns, by name.

    Raises:
        DataError: a file is not CSV with a header.
    """
    found: dict[str, Kinds] = {}
    for file in files:
        names = _header(file)
        for name in names:
            found.setdefault(name, Kinds.NONE)
        undecided = [name for name in names if name not in declared and not found[name] & Kinds.STRING]
        if undecided:
            try:
                for batch, _ in _read(file, names, dict.fromkeys(undecided, pa.string())):
                    for name in undecided:
                        if not found[name] & Kinds.STRING:
                            found[name] |= _kinds(batch.column(name))
            except (pa.ArrowException, OSError) as error:
                raise _damaged(file, error, names) from error
    types = {name: type_of(kinds) or pa.string() for name, kinds in found.items()}
    return {name: declared.get(name, pa.string() if pa.types.is_null(type) else type) for name, type in types.items()}


def _kinds(texts: pa.Array) -> Kinds:
    texts = texts.drop_null()
    if not len(texts):
        return Kinds.NONE
    if pc.all(pc.is_in(texts, pa.array(["true", "false"]))).as_py():
        return Kinds.BOOL
    if not pc.all(pc.match_substring_regex(texts, _NUMBER)).as_py():
        return Kinds.STRING
    is_integer = pc.match_substring_regex(texts, _INTEGER)
    kinds = Kinds.NONE if pc.all(is_integer).as_py() else Kinds.NUMBER
    integers = texts.filter(is_integer)
    is_long = pc.greater(pc.binary_length(integers), 15)
    if not pc.all(is_long).as_py():
        kinds |= Kinds.INTEGER
    for text in integers.filter(is_long).to_pylist():
        kinds |= kind_of_number(text)
    return kinds


def _header(file: InputFile) -> list[str]:
    """The names of the columns."""
    try:
        names: list[str] = _first_batch_schema(file).names
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file, error, []) from error
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{file.path}: it has two columns named {twice!r}")
    return names


def _first_batch_schema(file: InputFile) -> pa.Schema:
    block_bytes = _BLOCK_BYTES
    while True:
        try:
            with _open(file, [], {}, block_bytes)[0] as reader:
                return reader.schema
        except pa.ArrowInvalid as error:
            if _ROW_BEYOND_BLOCK not in str(error) or block_bytes >= _LARGEST_BLOCK:
                raise
            block_bytes *= 8


def _read(
    file: InputFile, header: Sequence[str], types: Mapping[str, pa.DataType]
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Batches of the columns with a type, and how many bytes of the file are read.

    Raises:
        pa.ArrowInvalid: the text is not CSV, or a cell does not have its column's type.
    """
    block_bytes = _BLOCK_BYTES
    rows_given = 0
    while True:
        rows_read = 0
        try:
            reader, source = _open(file, header, types, block_bytes)
            with reader:
                for batch in reader:
                    rows_read += batch.num_rows
                    num_fresh = min(batch.num_rows, rows_read - rows_given)
                    if num_fresh > 0:
                        rows_given = rows_read
                        yield batch.slice(batch.num_rows - num_fresh), source.position()
            return
        except pa.ArrowInvalid as error:
            # A row longer than a block: again from the start with a larger one, passing over what was given.
            if _ROW_BEYOND_BLOCK not in str(error) or block_bytes >= _LARGEST_BLOCK:
                raise
            block_bytes *= 8


def _open(
    file: InputFile, header: Sequence[str], types: Mapping[str, pa.DataType], block_bytes: int
) -> tuple[pa.csv.CSVStreamingReader, ByteSource]:
    source = ByteSource(file)
    reader = pa.csv.open_csv(
        source.arrow,
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=block_bytes),  # with threads, errors name no row
        # In a file of one column an empty line is a row, in others it is none.
        parse_options=pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(header) != 1),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict(types),
            include_columns=list(types),
            null_values=[""],
            true_values=["true"],
            false_values=["false"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return reader, source


_BAD_CELL = re.compile(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+): (.*)", re.DOTALL)
_BAD_ROW = re.compile(r"CSV parse error: Row #(\d+): (.*)", re.DOTALL)


def _damaged(file: InputFile, error: Exception, header: Sequence[str]) -> DataError:
    """The error in the words of the user; rows are counted without the header."""
    text = str(error)
    if match := _BAD_CELL.match(text):
        name = header[int(match[1])]
        return DataError(f"{file.path}: row {int(match[2]) - 1}, column {name!r}: {match[4]} for type {match[3]}")
    if match := _BAD_ROW.match(text):
        return DataError(f"{file.path}: row {int(match[1]) - 1}: {match[2]}")
    return DataError(f"{file.path}: {text}")
