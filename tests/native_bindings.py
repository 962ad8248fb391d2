"""Hand-built bindings for the tests of the native machine, and the layouts in which it may meet an array."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from fastfilter.bytecode.constants import Constant
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program, Role
from fastfilter.runtime.arrow_types import value_type
from fastfilter.runtime.binding import Binding, JsonPath, MapKey, Source, Step, StructChild
from fastfilter.runtime.vm.native import Machine
from fastfilter.values import Elements, ScalarSet

NEVER, ALSO, ONLY = Elements.NEVER, Elements.ALSO, Elements.ONLY


def single_test(opcode: Opcode, constant: Constant | None, elements: Elements = NEVER) -> Program:
    """A program that is one test of one field."""
    return program_of([Instruction(opcode, 1, 0, elements, 0, 0)], [] if constant is None else [constant])


def program_of(instructions: Sequence[Instruction], constants: Sequence[Constant], num_fields: int = 1) -> Program:
    """The instructions with a RETURN of register 1."""
    fields = tuple(FieldUse(Field(Role.METADATA, (f"f{number}",)), None) for number in range(num_fields))
    return Program((*instructions, Instruction(Opcode.RETURN, 0, 1)), tuple(constants), fields, 3)


def source_of(array: pa.Array, steps: Sequence[Step] = (), column: int = 0) -> Source:
    """The source at the end of steps from an array."""
    kind = value_type(array.type)
    for step in steps:
        if isinstance(step, JsonPath):
            return Source(column, tuple(steps))
        kind = value_type(kind.field(step.child).type if isinstance(step, StructChild) else kind.item_type)
    return Source(column, tuple(steps), kind)


def run(binding: Binding, batch: pa.RecordBatch, morsel_rows: int = 4096) -> list[int]:
    """The rows on which a binding is true."""
    out = bytearray((batch.num_rows + 7) // 8)
    Machine(binding).attach(batch).run([(0, batch.num_rows)], out, morsel_rows)
    return [row for row in range(batch.num_rows) if out[row // 8] >> row % 8 & 1]


def rows(
    array: pa.Array,
    opcode: Opcode,
    constant: Constant | None = None,
    elements: Elements = NEVER,
    steps: Sequence[Step] = (),
    morsel_rows: int = 4096,
) -> list[int]:
    """The rows of an array on which a test is true."""
    batch = pa.record_batch([array], ["c"])
    binding = Binding(single_test(opcode, constant, elements), (source_of(array, steps),), batch.schema, False)
    return run(binding, batch, morsel_rows)


def equal(*scalars: Any, **others: Any) -> ScalarSet:
    """The set of some scalars."""
    return ScalarSet(
        null=None in scalars,
        false=any(scalar is False for scalar in scalars),
        true=any(scalar is True for scalar in scalars),
        numbers=tuple(sorted(x for x in scalars if isinstance(x, int | float) and not isinstance(x, bool))),
        strings=tuple(sorted(x for x in scalars if isinstance(x, str))),
        **others,
    )


# -- layouts ------------------------------------------------------------------------------------------------------


def as_plain(array: pa.Array) -> pa.Array:
    return array


def as_slice(array: pa.Array) -> pa.Array:
    return pa.concat_arrays([array[-1:], array[-1:], array[-1:], array, array[:1]]).slice(3, len(array))


def as_dictionary(array: pa.Array) -> pa.Array:
    """Entries in reverse, each twice; the nulls are now null indices, now null entries."""
    length = len(array)
    dictionary = pa.concat_arrays([array.slice(row, 1) for row in range(length - 1, -1, -1)] * 2)
    indices = [length - 1 - row + (length if row % 2 else 0) for row in range(length)]
    kept = [None if row % 3 == 0 and not array[row].is_valid else index for row, index in enumerate(indices)]
    return pa.DictionaryArray.from_arrays(pa.array(kept, pa.int16()), dictionary)


def as_sliced_dictionary(array: pa.Array) -> pa.Array:
    return as_slice_of(as_dictionary, array)


def as_runs(array: pa.Array) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(array) + 1), pa.int32()), array)


def as_sliced_runs(array: pa.Array) -> pa.Array:
    return as_slice_of(as_runs, array)


def as_runs_of_dictionary(array: pa.Array) -> pa.Array:
    return as_runs(as_dictionary(array))


def as_slice_of(layout: Callable[[pa.Array], pa.Array], array: pa.Array) -> pa.Array:
    longer = pa.concat_arrays([array[-1:], array[:1], array, array[:1]])
    return layout(longer).slice(2, len(array))


LAYOUTS = [
    as_plain, as_slice, as_dictionary, as_sliced_dictionary, as_runs, as_sliced_runs, as_runs_of_dictionary
]  # fmt: skip


def placed(
    array: pa.Array, layout: Callable[[pa.Array], pa.Array] = as_plain
) -> Iterator[tuple[pa.Array, tuple[Step, ...]]]:
    """The values in a layout as a column, as a struct's child (the struct sliced), and as a map's values."""
    yield layout(array), ()
    longer = layout(pa.concat_arrays([array[:1], array, array[:1]]))
    outer = pa.StructArray.from_arrays([pa.array([b"x"] * len(longer)), longer], ["binary", "v"])
    yield outer.slice(1, len(array)), (StructChild(1),)
    keys = pa.array(["k"] * len(array)).dictionary_encode()
    yield pa.MapArray.from_arrays(pa.array(range(len(array) + 1), pa.int32()), keys, layout(array)), (MapKey("k"),)


def check(array: pa.Array, expected: Callable[[Any], bool], opcode: Opcode, constant: Constant | None) -> None:
    """A test is true where ``expected`` is, on every layout of an array."""
    wanted = [row for row, value in enumerate(array.to_pylist()) if value is not None and expected(value)]
    for layout in LAYOUTS:
        for column, steps in placed(array, layout):
            assert rows(column, opcode, constant, steps=steps) == wanted, (layout.__name__, column.type, constant)
