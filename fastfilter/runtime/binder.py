"""From a program and a schema to a binding: each logical field is found once, and its type is checked once.

docs/semantics.md ("Binding to columns") has the rules. A binding holds no data and may be shared by threads.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
import pyarrow.types as pat

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text, not_timestamp
from fastfilter.bytecode.opcodes import OPCODES, Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program, Role
from fastfilter.errors import BindError, nearest_name
from fastfilter.runtime.arrow_types import (
    MAX_LEVELS,
    field_indices,
    is_instant,
    is_json,
    is_list,
    is_string,
    unsupported_part,
    value_type,
)
from fastfilter.runtime.binding import Binding, JsonPath, MapKey, Source, Step, StructChild
from fastfilter.values import Elements, Interval, ScalarSet, StringBound, parse_timestamp

__all__ = ["BindOptions", "bind"]


@dataclass(frozen=True, slots=True)
class BindOptions:
    """How fields find their columns.

    Attributes:
        fields: columns of built-in fields and scopes whose column has another name than they have.
        metadata: name of the metadata column, and prefix of flattened metadata columns.
        missing_fields: what a built-in field without a column is: an error, or MISSING on every row.
        on_invalid_json: what metadata text that cannot be read does: count as MISSING, or stop with a DataError.
        json: whether JSON texts are validated, or known to be well-formed; then none is an error.
        record_json: the column that holds each whole record as JSON text, or None: fields are then found in that text,
            and a text that is no JSON object is always an error.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    metadata: str = "metadata"
    missing_fields: Literal["error", "null"] = "error"
    on_invalid_json: Literal["missing", "error"] = "missing"
    json: Literal["validate", "trusted"] = "validate"
    record_json: str | None = None


def bind(program: Program, schema: pa.Schema, options: BindOptions) -> Binding:
    """Finds the program's fields in a schema.

    Raises:
        BindError: a built-in field has no column, a path is found in two columns, a column's type cannot be read, or a
            TIMESTAMP column is compared with something that is no timestamp.
    """
    sources = tuple([_source(use, schema, options) for use in program.fields])
    rendered = {step.field for step in program.instructions if step.opcode in _RENDERING}
    for number, (use, source) in enumerate(zip(program.fields, sources, strict=True)):
        _check_type(use, source, schema, number in rendered)
    trusted = options.json == "trusted"
    strict = not trusted and (options.on_invalid_json == "error" or options.record_json is not None)
    return Binding(_compare_instants(program, sources, schema), sources, schema, strict, trusted)


def _source(use: FieldUse, schema: pa.Schema, options: BindOptions) -> Source:
    target = use.field
    if options.record_json is not None:
        path = (options.metadata, *target.path) if target.role is Role.METADATA else (_column_name(target, options),)
        index = _column_index(schema, options.record_json, target)
        if index is None:
            raise BindError(
                f"there is no column {options.record_json!r} with the records' JSON text",
                field=target.name,
                column=options.record_json,
            )
        return Source(index, (JsonPath(path),))
    if target.role is Role.METADATA:
        return _metadata_source(target, schema, options)
    name = _column_name(target, options)
    index = _column_index(schema, name, target)
    if index is None:
        if options.missing_fields == "null":
            return Source(None)
        close = nearest_name(name, schema.names)
        raise BindError(
            f"field {target.name!r} needs a column {name!r}, which the data does not have; its columns are "
            f"{_listing(schema.names)}" + (f"; did you mean fields={{{target.name!r}: {close!r}}}?" if close else "")
            + " (missing_fields='null' makes such a field missing on every row)",
            field=target.name,
            column=name,
        )  # fmt: skip
    found = _descend(schema.field(index).type, (), False, target, name)
    assert found is not None
    return Source(index, *found)


def _column_name(target: Field, options: BindOptions) -> str:
    return options.fields.get(target.path[0], target.path[0])


def _column_index(schema: pa.Schema, name: str, target: Field) -> int | None:
    """Index of the column of a name, None if there is none; two are an error."""
    indices = field_indices(schema, name)
    if len(indices) > 1:
        raise BindError(
            f"field {target.name!r} is ambiguous: the data has {len(indices)} columns named {name!r}",
            field=target.name,
            column=name,
        )
    return indices[0] if indices else None


def _metadata_source(target: Field, schema: pa.Schema, options: BindOptions) -> Source:
    """The one place in the metadata column, or in columns named ``metadata.…``, where the path is found."""
    candidates: list[tuple[str, Source]] = []
    for num_keys in range(len(target.path) + 1):
        name = ".".join((options.metadata, *target.path[:num_keys]))
        index = _column_index(schema, name, target)
        if index is not None:
            found = _descend(schema.field(index).type, target.path[num_keys:], num_keys == 0, target, name)
            if found is not None:
                candidates.append((name, Source(index, *found)))
    if len(candidates) > 1:
        names = " and ".join(repr(name) for name, _ in candidates)
        raise BindError(
            f"field {target.name!r} is ambiguous: it may be read from the columns {names}",
            field=target.name,
            column=candidates[0][0],
        )
    return candidates[0][1] if candidates else Source(None)


def _descend(
    type: pa.DataType, path: Sequence[str], is_metadata: bool, target: Field, column: str
) -> tuple[tuple[Step, ...], pa.DataType | None] | None:
    """The steps from a column to the value at a path of keys, and its type; None if the type has no such path."""
    steps: list[Step] = []
    remaining = list(path)
    inner = value_type(type)
    if is_metadata and not _can_be_metadata(inner):
        raise BindError(
            f"the metadata column {column!r} has type {type}; it must be JSON text, a struct or a map of strings",
            field=target.name,
            column=column,
            type=str(type),
        )
    if is_metadata and is_string(inner):
        return (JsonPath(tuple(remaining)),), None
    while True:
        if is_json(inner):
            return (*steps, JsonPath(tuple(remaining))), None
        if not remaining:
            return tuple(steps), inner
        if pat.is_struct(inner):
            indices = field_indices(inner, remaining[0])
            if len(indices) > 1:
                raise BindError(
                    f"field {target.name!r} is ambiguous: a struct in column {column!r} has {len(indices)} children "
                    f"named {remaining[0]!r}",
                    field=target.name,
                    column=column,
                    type=str(type),
                )
            if not indices:
                return None
            steps.append(StructChild(indices[0]))
            inner = value_type(inner.field(indices[0]).type)
        elif pat.is_map(inner):
            if not is_string(value_type(inner.key_type)):
                raise BindError(
                    f"field {target.name!r} leads into a map in column {column!r} whose keys are {inner.key_type}, not "
                    "strings",
                    field=target.name,
                    column=column,
                    type=str(type),
                )
            steps.append(MapKey(remaining[0]))
            inner = value_type(inner.item_type)
        else:
            return None
        del remaining[0]


def _can_be_metadata(type: pa.DataType) -> bool:
    return bool(is_string(type) or is_json(type) or pat.is_struct(type) or pat.is_map(type) or pat.is_null(type))


_RENDERING = frozenset((Opcode.TEXT_EQUALS_ANY, Opcode.TEXT_NUMBER_RANGE, Opcode.JSON_CONTAINS))


def _check_type(use: FieldUse, source: Source, schema: pa.Schema, rendered: bool) -> None:
    """Refuses a column that the tests of a field cannot read; ``rendered``: some of them read whole values as text."""
    if source.column is None:
        return
    column = schema.field(source.column)
    if source.json:
        if isinstance(source.steps[0], JsonPath) and not (
            is_string(value_type(column.type)) or is_json(value_type(column.type))
        ):
            raise BindError(
                f"column {column.name!r} has type {column.type}, which is no JSON text",
                field=use.field.name,
                column=column.name,
                type=str(column.type),
            )
        return
    assert source.type is not None
    part = unsupported_part(source.type, whole=rendered, levels=MAX_LEVELS - len(source.steps))
    if part is not None:
        inside = "" if part == source.type else f" (because of the {part} in it)"
        raise BindError(
            f"field {use.field.name!r}: column {column.name!r} has type {column.type}, which no condition can read"
            f"{inside}",
            field=use.field.name,
            column=column.name,
            type=str(column.type),
        )
    if use.not_timestamp is not None and _holds_instants(source.type):
        raise _no_timestamp(use.field, use.not_timestamp, column)


def _no_timestamp(target: Field, literal: str, column: pa.Field) -> BindError:
    return BindError(
        f"field {target.name!r} is compared with {literal}, but column {column.name!r} has type {column.type}: give a "
        'full ISO 8601 timestamp such as "2026-07-01T00:00:00Z"',
        field=target.name,
        column=column.name,
        type=str(column.type),
    )


def _holds_instants(type: pa.DataType) -> bool:
    return is_instant(type) or (is_list(type) and is_instant(value_type(type.value_type)))


def _compare_instants(program: Program, sources: Sequence[Source], schema: pa.Schema) -> Program:
    """The program with every test of strings on a TIMESTAMP column turned into one of instants."""
    if not any(source.type is not None and _holds_instants(source.type) for source in sources):
        return program
    instructions = list(program.instructions)
    constants = list(program.constants)
    for position, instruction in enumerate(instructions):
        if OPCODES[instruction.opcode].constant is None:
            continue
        source = sources[instruction.field]
        if source.column is None or source.type is None or not _holds_instants(source.type):
            continue
        literal = not_timestamp(instruction.opcode, constants[instruction.argument])
        if literal is not None:  # of a program whose table of fields does not say so
            raise _no_timestamp(program.fields[instruction.field].field, literal, schema.field(source.column))
        changed = _instant_test(instruction, constants[instruction.argument])
        if changed is not None:
            opcode, constant, elements = changed
            instructions[position] = Instruction(
                opcode, instruction.destination, instruction.source, elements, instruction.field, len(constants)
            )
            constants.append(constant)
    if len(constants) == len(program.constants):
        return program
    return dataclasses.replace(program, instructions=tuple(instructions), constants=tuple(constants))


def _instant_test(instruction: Instruction, constant: Constant) -> tuple[Opcode, Constant, Elements] | None:
    """The test of instants that stands for a test of strings; None where the test stays as it is."""
    opcode = instruction.opcode
    if opcode is Opcode.EQUALS_ANY and isinstance(constant, ScalarSet) and constant.strings:
        instants = _instants(constant.strings)
        return opcode, constant._replace(strings=(), instants=instants), Elements(instruction.mode)
    if opcode is Opcode.STRING_RANGE and isinstance(constant, StringBound):
        return Opcode.TIMESTAMP_RANGE, Intervals((_interval(constant),)), Elements.NEVER
    if opcode is Opcode.TEXT_EQUALS_ANY and isinstance(constant, Strings):
        return Opcode.EQUALS_ANY, ScalarSet(instants=_instants(constant.values)), Elements.NEVER
    if opcode is Opcode.CONTAINS and isinstance(constant, Text):
        return Opcode.EQUALS_ANY, ScalarSet(instants=_instants([constant.value])), Elements.ONLY
    if opcode is Opcode.JSON_CONTAINS and isinstance(constant, Json) and constant.text != "null":
        return Opcode.EQUALS_ANY, ScalarSet(instants=_instants([json.loads(constant.text)])), Elements.ALSO
    return None


def _instants(texts: Sequence[str]) -> tuple[int, ...]:
    """The instants of texts, all of which are timestamps (not_timestamp was asked before)."""
    return tuple(sorted({instant for text in texts if (instant := parse_timestamp(text)) is not None}))


def _interval(bound: StringBound) -> Interval:
    instant = parse_timestamp(bound.value)
    closed = bound.operator in ("gte", "lte")
    if bound.operator in ("gt", "gte"):
        return Interval(instant, closed, None, False)
    return Interval(None, False, instant, closed)


def _listing(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:40])
    return (shown or "none") + (f", and {len(names) - 40} more" if len(names) > 40 else "")
