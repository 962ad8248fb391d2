"""The leaves of an expression bound to a schema, one at a time, as the stores' renderers want them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.types as pat

from fastfilter.bytecode.constants import Constant
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.compiler.codegen import generate
from fastfilter.compiler.expr import Leaf
from fastfilter.runtime.binder import BindOptions, bind
from fastfilter.runtime.binding import JsonPath, Step, StructChild
from fastfilter.runtime.vm.python.columns import value_of_null
from fastfilter.values import MISSING, Elements

__all__ = ["BoundLeaf", "bind_leaf"]


@dataclass(frozen=True, slots=True)
class BoundLeaf:
    """A test and where its field is found.

    Attributes:
        opcode: the test; on a column of instants one of instants.
        constant: its constant.
        elements: its mode.
        column: name of the top-level column, or None: the field is MISSING on every row.
        column_type: that column's type; the null type if there is none.
        steps: the way from the column to the value.
        type: the value's type, without encodings; None for a JSON value.
    """

    opcode: Opcode
    constant: Constant | None
    elements: Elements
    column: str | None
    column_type: pa.DataType
    steps: tuple[Step, ...]
    type: pa.DataType | None

    @property
    def null_is_missing(self) -> bool:
        """Whether the field is MISSING where the column is null, so that no test is true there."""
        return value_of_null(self.steps) is MISSING

    @property
    def json_path(self) -> tuple[str, ...] | None:
        """The path of keys in a top-level column of JSON, or None if the value is found otherwise."""
        if len(self.steps) == 1 and isinstance(self.steps[0], JsonPath):
            return self.steps[0].path
        return None

    def struct_children(self) -> tuple[list[str], pa.DataType] | None:
        """The names of the children from the column to the value, and the value's type with its encoding.

        None if there is anything but plain structs on the way.
        """
        names: list[str] = []
        type = self.column_type
        for step in self.steps:
            if not isinstance(step, StructChild) or not pat.is_struct(type):
                return None
            child = type.field(step.child)
            names.append(child.name)
            type = child.type
        return names, type


def bind_leaf(leaf: Leaf, schema: pa.Schema, options: BindOptions) -> BoundLeaf:
    """Finds a leaf's field in a schema, by the binder's own rules.

    Raises:
        BindError: it does not fit.
    """
    binding = bind(generate(leaf, leaf), schema, options)
    test, source = binding.program.instructions[0], binding.sources[0]
    constant = binding.program.constants[test.argument] if binding.program.constants else None
    elements = Elements(test.mode)
    if source.column is None:
        return BoundLeaf(Opcode(test.opcode), constant, elements, None, pa.null(), (), None)
    column = schema.field(source.column)
    return BoundLeaf(Opcode(test.opcode), constant, elements, column.name, column.type, source.steps, source.type)
