"""The native virtual machine: an adapter from bindings and record batches to the extension ``fastfilter._native``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import pyarrow as pa

from fastfilter._native import AttachedBatch, BoundProgram
from fastfilter.bytecode.constants import Constant
from fastfilter.bytecode.opcodes import OPCODES, Argument
from fastfilter.bytecode.program import Instruction
from fastfilter.runtime.arrow_types import is_instant, is_list, is_number
from fastfilter.runtime.binding import Binding, JsonPath, MapKey, Source, StructChild
from fastfilter.runtime.vm.lowering import Lowered, lower, needle
from fastfilter.values import Elements

__all__ = ["Machine"]


class Machine:
    """A bound program that runs on batches of one schema. Immutable; threads may share it.

    Attributes:
        range_rows: how many rows are worth another thread: some 0.1 ms of work.
        attach: the program with a batch; a DataError where a column is broken or of another type than the one bound.
        evaluate: the bits of a batch's rows, all evaluated on the calling thread.

    Raises:
        ValueError: a field has a type that no condition can read, which the binder refuses.
    """

    def __init__(self, binding: Binding) -> None:
        layout = _Layout(binding)
        self._binding = binding
        program = BoundProgram(
            binding.program.words,
            binding.program.num_registers,
            binding.schema,
            tuple(layout.columns),
            tuple(layout.sources),
            tuple((column, steps, tuple(paths)) for (column, steps), (_, paths) in layout.groups.items()),
            tuple(layout.tests),
            binding.strict_json,
            binding.trusted_json,
        )
        self.range_rows = _range_rows(binding)
        self.attach: Callable[[pa.RecordBatch], AttachedBatch] = program.attach
        self.evaluate: Callable[[pa.RecordBatch, int], bytearray] = program.evaluate

    @cached_property
    def kernels(self) -> list[str]:
        """One line for each test instruction: its place, opcode, field, and what it compares."""
        binding = self._binding
        program = binding.program
        lines = []
        for number, instruction in enumerate(program.instructions):
            spec = OPCODES[instruction.opcode]
            if spec.field:
                constant = program.constants[instruction.argument] if spec.argument is Argument.CONSTANT else None
                name = program.fields[instruction.field].field.name
                words = _in_words(instruction, binding.sources[instruction.field], constant)
                lines.append(f"{number} {instruction.opcode.name} {name}: {words}")
        return lines


def _range_rows(binding: Binding) -> int:
    """As few rows as take some 0.1 ms: JSON texts must be parsed, other texts and lists be searched."""
    if any(source.json for source in binding.sources):
        return 2_048
    if all(source.type is None or is_number(source.type) or is_instant(source.type) for source in binding.sources):
        return 65_536
    return 16_384


_Steps = tuple[int | bytes, ...]
"""A struct child by its index, a map's value by its key in UTF-8."""


class _Layout:
    """What a program reads, numbered: columns, Arrow sources, JSON texts and the paths in them; and its tests.

    Attributes:
        columns: the columns, by their indices in the schema; other lists name them by their place here.
        sources: place of the column (-1: MISSING) and steps of each field that a test reads from Arrow values.
        groups: the JSON texts, by place of the column and steps, with the paths that are read from each in order.
        tests: for each test instruction its source, its group and slot (-1 where not), and its constant.
    """

    def __init__(self, binding: Binding) -> None:
        self.columns: dict[int, int] = {}
        self.sources: dict[tuple[int, _Steps], int] = {}
        self.groups: dict[tuple[int, _Steps], tuple[int, dict[tuple[bytes, ...], int]]] = {}
        self.tests: list[tuple[int, int, int, Lowered]] = []
        program = binding.program
        if binding.strict_json:
            for source in binding.sources:  # every text is checked, even where no test looks
                if source.json:
                    self._json_place(source)
        for instruction in program.instructions:
            spec = OPCODES[instruction.opcode]
            if not spec.field:
                continue
            source = binding.sources[instruction.field]
            constant = program.constants[instruction.argument] if spec.argument is Argument.CONSTANT else None
            lowered = lower(instruction.opcode, constant, source.type)
            if source.json:
                lowered = replace(lowered, needle=needle(instruction.opcode, constant, _path(source)))
            place = (-1, *self._json_place(source)) if source.json else (self._arrow_place(source), -1, -1)
            self.tests.append((*place, lowered))

    def _column(self, index: int) -> int:
        return self.columns.setdefault(index, len(self.columns))

    def _arrow_place(self, source: Source) -> int:
        own = (-1 if source.column is None else self._column(source.column), _steps(source))
        return self.sources.setdefault(own, len(self.sources))

    def _json_place(self, source: Source) -> tuple[int, int]:
        """The number of the group, and of the path in it."""
        assert source.column is not None
        key = (self._column(source.column), _steps(source))
        number, paths = self.groups.setdefault(key, (len(self.groups), {}))
        return number, paths.setdefault(tuple(map(_utf8, _path(source))), len(paths))


def _steps(source: Source) -> _Steps:
    """The steps through Arrow values: all but a JSON path."""
    return tuple(
        step.child if isinstance(step, StructChild) else _utf8(step.key)
        for step in source.steps
        if isinstance(step, StructChild | MapKey)
    )


def _path(source: Source) -> tuple[str, ...]:
    """The path in a JSON text."""
    last = source.steps[-1]
    assert isinstance(last, JsonPath)
    return last.path


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _in_words(instruction: Instruction, source: Source, constant: Constant | None) -> str:
    if source.column is None:
        return "no column, true on no row"
    if source.json:
        what = "JSON value, found with all others of its text in one pass"
    elif source.type is not None and is_list(source.type) and instruction.mode != Elements.NEVER:
        what = f"elements of {source.type}"
    else:
        what = str(source.type)
    if any(isinstance(step, MapKey) for step in source.steps):
        what += ", looked up in a map"
    return what if constant is None else f"{what} with {type(constant).__name__}"
