"""CSV: columns of text, whose types are declared or are what *all* their values are, in all files of a run.

Types are found in a pass of their own before any row is filtered, so that a late ``007`` makes its column text rather
than seven. An empty cell is null, a quoted empty one is the empty text.

pyarrow takes the end of a file for the end of a quote that was never closed, which may have swallowed most of the file.
So a row is read after the last that has a cell too many: if it is not refused as such, it is inside a quote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.types as pat

from fastfilter.corpus.byte_source import ByteSource
from fastfilter.corpus.kinds import Kinds, kind_of_number, type_of
from fastfilter.corpus.reader import Reader, damaged
from fastfilter.corpus.sources import InputFile
from fastfilter.errors import DataError

__all__ = ["CsvReader", "infer_types"]

_BLOCK_BYTES = 4 << 20
_LARGEST_BLOCK = 1 << 30
_ROW_BEYOND_BLOCK = "straddling"
_END = "the end of the file, says fastfilter"
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
        if not header:
            return iter(())
        wanted = columns or header[:1]  # a column must be read for its rows to be counted
        return _read(self.file, header, {name: self._types[name] for name in wanted})

    def _damaged(self, error: Exception, row: int) -> DataError:
        return _damaged(self.file, error, list(self._types), row)


def infer_types(
    files: Sequence[InputFile],
    declared: Mapping[str, pa.DataType],
    on_bad_file: Callable[[DataError], None],
) -> dict[str, pa.DataType]:
    """The type of every column of the files: as declared, else bool, int64 or double if all values are, else text.

    Args:
        files: CSV files; a column may be in some of them only.
        declared: types of columns, by name.
        on_bad_file: is told of a file that is not CSV with a header; if it does not raise that, the file counts as far
            as it can be read.
    """
    found: dict[str, Kinds] = {}
    for file in files:
        try:
            _find_kinds(file, declared, found)
        except DataError as error:
            on_bad_file(error)
    types = {name: type_of(kinds) or pa.string() for name, kinds in found.items()}
    return {name: declared.get(name, pa.string() if pa.types.is_null(type) else type) for name, type in types.items()}


def _find_kinds(file: InputFile, declared: Mapping[str, pa.DataType], found: dict[str, Kinds]) -> None:
    """Adds the kinds of values that the columns of a file have; looks at the doubles that are declared, too."""
    names = _header(file)
    for name in names:
        found.setdefault(name, Kinds.NONE)
    undecided = [name for name in names if name not in declared and not found[name] & Kinds.STRING]
    doubles = [name for name in names if name in declared and pat.is_floating(declared[name])]
    if not undecided and not doubles:
        return
    row = 1
    try:
        for batch, _ in _read(file, names, dict.fromkeys(undecided + doubles, pa.string())):
            for name in undecided:
                if not found[name] & Kinds.STRING:
                    found[name] |= _kinds(batch.column(name))
            for name in doubles:
                _check_doubles(batch.column(name), name, file, row)
            row += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file, error, names, row) from error


def _kinds(texts: pa.Array) -> Kinds:
    texts = texts.drop_null()
    if not len(texts):
        return Kinds.NONE
    if pc.all(pc.is_in(texts, pa.array(["true", "false"]))).as_py():
        return Kinds.BOOL
    if not pc.all(pc.match_substring_regex(texts, _NUMBER)).as_py():
        return Kinds.STRING
    if pc.any(_overflow(texts)).as_py():
        return Kinds.OTHER
    is_integer = pc.match_substring_regex(texts, _INTEGER)
    kinds = Kinds.NONE if pc.all(is_integer).as_py() else Kinds.NUMBER
    integers = texts.filter(is_integer)
    is_long = pc.greater(pc.binary_length(integers), 15)
    if not pc.all(is_long).as_py():
        kinds |= Kinds.INTEGER
    for text in integers.filter(is_long).to_pylist():
        kinds |= kind_of_number(text)
    return kinds


def _overflow(texts: pa.StringArray) -> pa.BooleanArray:
    """Which of these spellings of numbers no double holds: they would become infinite."""
    spelled_out = pc.match_substring(texts, "inf")
    return pc.and_not(pc.is_inf(texts.cast(pa.float64())), spelled_out)


def _check_doubles(texts: pa.StringArray, name: str, file: InputFile, first_row: int) -> None:
    """Refuses a number too large for the double it is declared to be; what is no number is refused when it is read."""
    numbers = pc.if_else(pc.match_substring_regex(texts, _NUMBER), texts, None)
    too_large = _overflow(numbers)
    if pc.any(too_large).as_py():
        row = too_large.index(True).as_py()
        raise DataError(f"{file.path}: row {first_row + row}, column {name!r}: no double is as large as {texts[row]}")


def _header(file: InputFile) -> list[str]:
    """The names of the columns; a file without a byte has none."""
    try:
        names: list[str] = _first_batch_schema(file).names
    except DataError:
        raise
    except Exception as error:  # a name may be no UTF-8
        if str(error) == "Empty CSV file":
            return []
        if "cannot infer number of columns" in str(error):
            raise DataError(f"{file.path}: the header never ends; is a quote in it not closed?") from error
        raise _damaged(file, error, []) from error
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{file.path}: it has two columns named {twice!r}")
    return names


def _first_batch_schema(file: InputFile) -> pa.Schema:
    block_bytes = _BLOCK_BYTES
    while True:
        try:
            with _open(pa.PythonFile(_EndedText(ByteSource(file)), "r"), [], {}, block_bytes) as reader:
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
        DataError: a quote is never closed.
    """
    block_bytes = _BLOCK_BYTES
    rows_given = 0
    while True:
        rows_read = 0
        source = ByteSource(file)
        ended = _EndedText(source, b",".join([_END.encode()] * (len(header) + 1)) + b"\n")
        before: pa.RecordBatch | None = None  # the last batch is good when the end has been seen
        try:
            with _open(pa.PythonFile(ended, "r"), header, types, block_bytes, ended.handle_row) as reader:
                for batch in reader:
                    if before is not None:
                        yield before, source.position()
                        before = None
                    rows_read += batch.num_rows
                    num_fresh = min(batch.num_rows, rows_read - rows_given)
                    if num_fresh > 0:
                        rows_given = rows_read
                        before = batch.slice(batch.num_rows - num_fresh)
            if not ended.is_seen:
                raise DataError(f"{file.path}: a quote is opened and never closed; the text behind it is no rows")
            if before is not None:
                yield before, source.position()
            return
        except pa.ArrowInvalid as error:
            # A row longer than a block: again from the start with a larger one, passing over what was given.
            if _ROW_BEYOND_BLOCK not in str(error) or block_bytes >= _LARGEST_BLOCK:
                raise
            if before is not None:
                yield before, source.position()
            block_bytes *= 8


class _EndedText:
    """The text of a file with its last line ended, and one row more, which has a cell too many and is waited for."""

    def __init__(self, source: ByteSource, last_row: bytes = b"") -> None:
        self._source = source
        self._last_row = last_row
        self._next: bytes | None = None
        self._at_end = False
        self.closed = False
        self.is_seen = False
        """whether the row was found where rows are"""

    def read(self, num_bytes: int) -> bytes:
        """At most so many bytes; none at the end."""
        block = self._source.read(num_bytes) if self._next is None else self._next
        self._next = b"" if self._at_end else self._source.read(num_bytes)
        if block and not self._next and not self._at_end:
            self._at_end = True
            ending = self._last_row if block[-1:] in (b"\n", b"\r") else b"\n" + self._last_row
            if len(block) + len(ending) <= num_bytes:
                return block + ending
            self._next = ending
        return block

    def handle_row(self, row: pa.csv.InvalidRow) -> str:
        """What pyarrow is to do with a row that has another number of cells than the header."""
        if not (self._at_end and row.text.startswith(_END)):
            return "error"
        self.is_seen = True
        return "skip"


def _open(
    text: Any,
    header: Sequence[str],
    types: Mapping[str, pa.DataType],
    block_bytes: int,
    handle_row: Callable[[pa.csv.InvalidRow], str] | None = None,
) -> pa.csv.CSVStreamingReader:
    return pa.csv.open_csv(
        text,
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=block_bytes),  # with threads, errors name no row
        # In a file of one column an empty line is a row, in others it is none.
        parse_options=pa.csv.ParseOptions(
            newlines_in_values=True, ignore_empty_lines=len(header) != 1, invalid_row_handler=handle_row
        ),
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


_BAD_CELL = re.compile(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+): (.*)", re.DOTALL)
_BAD_ROW = re.compile(r"CSV parse error: Row #(\d+): (.*)", re.DOTALL)


def _damaged(file: InputFile, error: Exception, header: Sequence[str], row: int = 1) -> DataError:
    """The error in the words of the user; rows are counted without the header."""
    text = str(error)
    if match := _BAD_CELL.match(text):
        name = header[int(match[1])]
        return DataError(f"{file.path}: row {int(match[2]) - 1}, column {name!r}: {match[4]} for type {match[3]}")
    if match := _BAD_ROW.match(text):
        return DataError(f"{file.path}: row {int(match[1]) - 1}: {match[2]}")
    return damaged(file, error, row)
