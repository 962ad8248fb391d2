"""The virtual machine over Arrow batches: registers are bitmaps of one morsel, held in Python integers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import pyarrow as pa

from fastfilter.bytecode.constants import Constant
from fastfilter.bytecode.opcodes import OPCODES, Argument, Opcode
from fastfilter.bytecode.program import WORD, Program
from fastfilter.errors import BindError, DataError
from fastfilter.runtime.binding import Binding, JsonPath, Source, Step
from fastfilter.runtime.vm.python.columns import (
    Reader,
    UnsupportedType,
    follow,
    open_json_texts,
    open_values,
    value_of_null,
)
from fastfilter.runtime.vm.python.json_text import MalformedJson, parse_json
from fastfilter.runtime.vm.python.tests import Test, make_test
from fastfilter.values import MISSING, Elements

__all__ = ["Attached", "Code", "Machine", "code_of"]

Fetch = Callable[[int, Sequence[int]], Iterable[Any]]
"""Gives the values of a field, by its number, on some rows of the morsel."""


class Code:
    """A program ready to run: its words taken apart, and the test of each test instruction made. Immutable."""

    def __init__(self, program: Program) -> None:
        self._num_registers = program.num_registers
        self._steps: list[tuple[Opcode, int, int, int, int, Test | None]] = []
        for number, destination, source, mode, field, argument in WORD.iter_unpack(program.words):
            opcode = Opcode(number)
            spec = OPCODES[opcode]
            test = None
            if spec.field:
                constant: Constant | None = program.constants[argument] if spec.argument is Argument.CONSTANT else None
                test = make_test(opcode, constant, Elements(mode))
            self._steps.append((opcode, destination, source, field, argument, test))

    def run(self, num_rows: int, fetch: Fetch) -> int:
        """Runs the program on one morsel; gives the rows it is true on as a bitmap, row 0 in the lowest bit.

        A field is fetched only when a test looks at it, and only for the rows that the test is still about.
        """
        registers = [0] * max(1, self._num_registers)
        registers[0] = (1 << num_rows) - 1
        position = 0
        while True:
            opcode, destination, source, field, argument, test = self._steps[position]
            position += 1
            if test is not None:
                registers[destination] = _narrow(registers[source], field, test, fetch)
            elif opcode == Opcode.RETURN:
                return registers[source]
            elif opcode == Opcode.JUMP_IF_NONE:
                position = position if registers[source] else argument
            elif opcode == Opcode.MOVE:
                registers[destination] = registers[source]
            elif opcode == Opcode.CLEAR:
                registers[destination] = 0
            elif opcode == Opcode.OR:
                registers[destination] |= registers[source]
            elif opcode == Opcode.AND_NOT:
                registers[destination] &= ~registers[source]
            else:
                raise AssertionError(opcode)


@functools.lru_cache(maxsize=256)
def code_of(program: Program) -> Code:
    """The code of a program, made once."""
    return Code(program)


_ONE: Final = ord("1")


def _narrow(rows: int, field: int, test: Test, fetch: Fetch) -> int:
    """Those of ``rows`` on which a test is true."""
    if not rows:
        return 0
    # Through base-2 text, highest row first: linear in the rows, where shifting a bit at a time would be quadratic.
    digits = format(rows, "b").encode()
    top = len(digits) - 1
    places = [place for place in range(top, -1, -1) if digits[place] == _ONE]
    hits = bytearray(b"0" * len(digits))
    for place, value in zip(places, fetch(field, [top - place for place in places]), strict=True):
        if test(value):
            hits[place] = _ONE
    return int(hits, 2)


class Machine:
    """A bound program that runs on batches of one schema. Immutable; threads may share it.

    Attributes:
        kernels: one line for each test instruction: its place, opcode, field, and what kind of values it reads.
        range_rows: how many rows are worth another thread.
    """

    range_rows = 65_536

    def __init__(self, binding: Binding) -> None:
        self._binding = binding
        self._code = Code(binding.program)
        self.kernels: list[str] = list(_describe(binding))

    def attach(self, batch: pa.RecordBatch) -> Attached:
        """Prepares a batch of the bound schema; only columns that the filter reads are looked at.

        Raises:
            BindError: a column holds values of a type that has no meaning in a filter.
        """
        return Attached(self._binding, self._code, batch)

    def evaluate(self, batch: pa.RecordBatch, morsel_rows: int) -> bytearray:
        """The bits of the rows of a batch that match, evaluated so many together, on the calling thread."""
        bits = bytearray((batch.num_rows + 7) >> 3)
        self.attach(batch).run([(0, batch.num_rows)], bits, morsel_rows)
        return bits


def _describe(binding: Binding) -> Iterable[str]:
    program = binding.program
    for position, instruction in enumerate(program.instructions):
        if not OPCODES[instruction.opcode].field:
            continue
        source = binding.sources[instruction.field]
        kind = "missing" if source.column is None else "JSON text" if source.json else str(source.type)
        name = program.fields[instruction.field].field.name
        yield f"{position} {instruction.opcode.name} {name}: {kind} as Python values"


_READS_WHOLE_OBJECTS: Final = (Opcode.TEXT_EQUALS_ANY, Opcode.TEXT_NUMBER_RANGE, Opcode.JSON_CONTAINS)
"""The tests that look at what is inside an OBJECT; to all others it is one opaque value."""


class _Column:
    """Where the values of one or more fields come from: a reader, and whether it gives JSON texts."""

    def __init__(self, name: str, read: Reader, json: bool) -> None:
        self.name = name
        self.read = read
        self.json = json
        self.has_keys = False  # some field looks a key up in the texts


class Attached:
    """A batch and the machine that runs on it. Threads may run disjoint ranges of rows at the same time."""

    def __init__(self, binding: Binding, code: Code, batch: pa.RecordBatch) -> None:
        self._code = code
        self._strict = binding.strict_json
        self._columns: list[_Column] = []
        # For each field its column (None: MISSING on every row) and its path in the column's JSON.
        self._fields: list[tuple[_Column | None, tuple[str, ...]]] = []
        rendered = {step.field for step in binding.program.instructions if step.opcode in _READS_WHOLE_OBJECTS}
        opened: dict[tuple[int, tuple[Step, ...], bool, bool], _Column] = {}
        for number, (use, source) in enumerate(zip(binding.program.fields, binding.sources, strict=True)):
            if source.column is None:
                self._fields.append((None, ()))
                continue
            last = source.steps[-1] if source.steps else None
            path = last.path if isinstance(last, JsonPath) else ()
            steps = source.steps[:-1] if source.json else source.steps
            whole = number in rendered and not source.json
            column = opened.get((source.column, steps, source.json, whole))
            if column is None:
                column = _open(batch, use.field.name, source, steps, whole)
                opened[source.column, steps, source.json, whole] = column
                self._columns.append(column)
            column.has_keys |= bool(path)
            self._fields.append((column, path))

    def run(self, ranges: Iterable[tuple[int, int]], out: bytearray, morsel_rows: int) -> None:
        """Evaluates ranges of rows and sets their bits in ``out``, which are zero before.

        Args:
            ranges: pairs of a first row, a multiple of 8 where ranges run in parallel, and one behind the last row.
            out: a bitmap of the batch's rows, lowest bit first.
            morsel_rows: how many rows to evaluate at a time.

        Raises:
            DataError: JSON text that cannot be read as it must be, if the binding is strict; ``row`` is its row.
        """
        for start, stop in ranges:
            for first in range(start, stop, morsel_rows):
                self._run_morsel(first, min(morsel_rows, stop - first), out)

    def _run_morsel(self, first: int, num_rows: int, out: bytearray) -> None:
        morsel = _Morsel(self._fields, first, num_rows)
        if self._strict:
            self._check_json(morsel)
        matches = self._code.run(num_rows, morsel.fetch) << (first % 8)
        begin, end = first // 8, (first + num_rows + 7) // 8
        matches |= int.from_bytes(out[begin:end], "little")
        out[begin:end] = matches.to_bytes(end - begin, "little")

    def _check_json(self, morsel: _Morsel) -> None:
        """Reads all JSON texts of a morsel; the first row with a bad one, of any column, is an error."""
        columns = [column for column in self._columns if column.json]
        for row in range(morsel.num_rows):
            for column in columns:
                document = morsel.document(column, row)
                if document is _BAD:
                    fault = "is not well-formed JSON, or nests too deeply"
                elif column.has_keys and document is not _NULL and not isinstance(document, dict | _Absent):
                    fault = "is JSON, but not an object"
                else:
                    continue
                raise DataError(f"the text in column {column.name!r} {fault}", morsel.first + row)


def _open(batch: pa.RecordBatch, field: str, source: Source, steps: tuple[Step, ...], whole: bool) -> _Column:
    assert source.column is not None
    name = batch.schema.field(source.column).name
    try:
        array = batch.column(source.column)
        read = open_json_texts(array, steps) if source.json else open_values(array, steps, whole=whole)
    except UnsupportedType as error:
        message = f"field {field}: column {name!r} holds values of type {error.type}, which a filter cannot compare"
        raise BindError(message, field=field, column=name, type=str(error.type)) from None
    return _Column(name, read, source.json)


class _Absent:
    """What stands for a JSON text that is not there."""


_NULL: Final = _Absent()
"""the text is null"""
_NO_TEXT: Final = _Absent()
"""the way to the text led to nothing"""
_BAD: Final = object()
"""the text is malformed"""
_UNREAD: Final = object()


class _Morsel:
    """Some rows of a batch while a program runs on them; belongs to the call. Decodes on demand, and only once."""

    def __init__(self, fields: Sequence[tuple[_Column | None, tuple[str, ...]]], first: int, num_rows: int) -> None:
        self.first = first
        self.num_rows = num_rows
        self._fields = fields
        self._values: dict[_Column, list[Any]] = {}
        self._documents: dict[_Column, list[Any]] = {}

    def fetch(self, field: int, rows: Sequence[int]) -> Iterable[Any]:
        column, path = self._fields[field]
        if column is None:
            return [MISSING] * len(rows)
        if not column.json:
            values = self._read(column)
            return [values[row] for row in rows]
        return [_find(self.document(column, row), path) for row in rows]

    def document(self, column: _Column, row: int) -> Any:
        """The value of a row's JSON text, or one of the marks above. Every text is parsed at most once."""
        documents = self._documents.setdefault(column, [])
        if not documents:
            documents += [_UNREAD] * self.num_rows
        if documents[row] is _UNREAD:
            documents[row] = _parse(self._read(column)[row])
        return documents[row]

    def _read(self, column: _Column) -> list[Any]:
        values = self._values.get(column)
        if values is None:
            values = self._values[column] = column.read(self.first, self.first + self.num_rows)
        return values


def _parse(text: Any) -> Any:
    if text is None:
        return _NULL
    if text is MISSING:
        return _NO_TEXT
    try:
        return parse_json(text)
    except MalformedJson:
        return _BAD


def _find(document: Any, path: tuple[str, ...]) -> Any:
    if document is _NULL:
        return value_of_null((JsonPath(path),))
    if document is _NO_TEXT or document is _BAD:
        return MISSING
    return follow(document, path)
