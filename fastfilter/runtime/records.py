"""Filtering records that are dicts: the choice of what evaluates them.

The native back end reads dicts of plain values where they lie (``src/_records.pyx``). Records with any other value, or
with metadata that are JSON text, go to the Python machine, so that answers and errors are always that one's.
"""

from __future__ import annotations

import functools
import math
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from fastfilter.bytecode.constants import Constant, Json, Strings, Text
from fastfilter.bytecode.opcodes import OPCODES, Argument, Opcode
from fastfilter.bytecode.program import Field, Instruction, Program, Role
from fastfilter.runtime.binder import BindOptions
from fastfilter.runtime.steps import steps_of
from fastfilter.runtime.vm import backend
from fastfilter.runtime.vm.lowering import Lowered, lower
from fastfilter.runtime.vm.python import run_records
from fastfilter.runtime.vm.python.json_text import parse_json
from fastfilter.runtime.vm.python.jsonb import is_plain_number, text_of
from fastfilter.runtime.vm.python.tests import Test, make_test
from fastfilter.values import INT64_MIN, UINT64_MAX, Elements, ScalarSet, StringBound

__all__ = ["NativeTest", "RecordMatcher", "record_matcher"]

Record = Mapping[str, Any]


class RecordMatcher(Protocol):
    """A program that runs on records; immutable, shared by threads."""

    def matches(self, record: Record) -> bool:
        """Whether a record matches."""

    def select(self, records: Iterable[Record]) -> list[Record]:
        """Those of the records that match, in order."""


_NEEDS_LOCK: Final = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
"""The native evaluator borrows references that a free-threaded interpreter does not keep alive."""


def record_matcher(program: Program, options: BindOptions, name: str = backend) -> RecordMatcher:
    """The program ready to run on records.

    Args:
        program: the compiled filter.
        options: how fields are found in a record.
        name: the back end, as in :data:`fastfilter.runtime.vm.BACKENDS`.
    """
    metadata = _plain(options.metadata)
    columns = {name: _plain(column) for name, column in options.fields.items()}
    evaluate = functools.partial(
        run_records, program, metadata=metadata, columns=columns, on_invalid_json=options.on_invalid_json
    )
    if name == "python" or _NEEDS_LOCK:
        return _PythonMatcher(evaluate)
    from fastfilter._records import RecordProgram

    found = steps_of(program)
    if found is None:
        return _PythonMatcher(evaluate)
    first, steps = found
    fields = tuple(_field(use.field, columns) for use in program.fields)
    tests = [number for number, step in enumerate(program.instructions) if OPCODES[step.opcode].field]
    number_of = {instruction: number for number, instruction in enumerate(tests)}
    return RecordProgram(
        first,
        tuple((number_of[instruction], if_true, if_false) for instruction, if_true, if_false in steps),
        metadata,
        fields,
        tuple(_test(program, program.instructions[number]) for number in tests),
        lambda records, rows: evaluate(records, rows=rows),
    )


class _PythonMatcher:
    def __init__(self, evaluate: Callable[[Sequence[Record]], list[bool]]) -> None:
        self._evaluate = evaluate

    def matches(self, record: Record) -> bool:
        return self._evaluate([record])[0]

    def select(self, records: Iterable[Record]) -> list[Record]:
        given = list(records)
        return [record for record, match in zip(given, self._evaluate(given), strict=True) if match]


def _plain(key: str) -> str:
    """A key as a string of no subclass, and the same object as it is in dicts that are written in code."""
    return sys.intern(str.__str__(key))


def _field(field: Field, columns: Mapping[str, str]) -> tuple[bool, tuple[str, ...]]:
    """Whether a field lies in the metadata, and its keys from there or from the record."""
    if field.role is Role.METADATA:
        return True, tuple(map(_plain, field.path))
    return False, (_plain(columns.get(field.path[0], field.path[0])),)


class NativeTest(NamedTuple):
    """What the native evaluator needs of a test.

    Attributes:
        opcode: which test.
        elements: its elements mode.
        field: the number of its field.
        strings: those that its value may equal.
        text: the only one of them, the text to search for, or the bound; None if there is none.
        json: the JSON value to be contained, alone; empty if there is none.
        lowered: the rest of its constant, for JSON values.
        function: the test in Python, for what is not read natively.
    """

    opcode: int
    elements: int
    field: int
    strings: frozenset[str]
    text: str | None
    json: tuple[Any, ...]
    lowered: Lowered
    function: Test


def _test(program: Program, step: Instruction) -> NativeTest:
    has_constant = OPCODES[step.opcode].argument is Argument.CONSTANT
    constant = program.constants[step.argument] if has_constant else None
    strings = _strings(constant)
    return NativeTest(
        step.opcode,
        step.mode,
        step.field,
        frozenset(strings),
        strings[0] if len(strings) == 1 else _text(step.opcode, constant),
        (parse_json(constant.text),) if isinstance(constant, Json) else (),
        _lower_texts(strings) if isinstance(constant, Strings) else lower(step.opcode, constant, None),
        make_test(step.opcode, constant, Elements(step.mode)),
    )


def _strings(constant: Constant | None) -> tuple[str, ...]:
    if isinstance(constant, ScalarSet):
        return constant.strings
    return constant.values if isinstance(constant, Strings) else ()


def _text(opcode: Opcode, constant: Constant | None) -> str | None:
    if isinstance(constant, Text):
        return constant.value.lower() if opcode is Opcode.CONTAINS_IGNORE_CASE else constant.value
    if isinstance(constant, StringBound):
        return constant.value
    return None


_INTEGER: Final = re.compile("-?[0-9]{1,20}")


def _lower_texts(strings: Sequence[str]) -> Lowered:
    """The values other than strings that have one of some JSONB texts: an int and a double may not share theirs."""
    texts = frozenset(strings)
    integers = [int(text) for text in texts if _INTEGER.fullmatch(text)]
    integers = [number for number in integers if INT64_MIN <= number <= UINT64_MAX and str(number) in texts]
    doubles = [float(text) for text in texts if is_plain_number(text)]
    doubles = [number for number in doubles if math.isfinite(number) and text_of(number) in texts]
    whole = lower(Opcode.EQUALS_ANY, ScalarSet(numbers=tuple(integers)), None)
    return Lowered(
        false="false" in texts,
        true="true" in texts,
        int64s=whole.int64s,
        uint64s=whole.uint64s,
        doubles=lower(Opcode.EQUALS_ANY, ScalarSet(numbers=tuple(doubles)), None).doubles,
    )
