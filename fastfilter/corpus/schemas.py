"""One schema for rows of several files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from fastfilter.corpus.formats import UsageError
from fastfilter.errors import DataError

__all__ = ["arrow_file_schema", "conform", "declared_types", "parquet_schema", "unified_schema"]

_TEXT_FIELDS = ("id", "content", "memory_type", "subject", "attribute", "user_id", "agent_id", "run_id")
_TIMESTAMP_FIELDS = ("created_at", "updated_at", "event_date", "last_accessed_at")


def declared_types(fields: Mapping[str, str], metadata: str) -> dict[str, pa.DataType]:
    """The types of built-in fields' columns in formats without types; timestamps stay the text they are.

    Args:
        fields: columns of built-in fields that have another name.
        metadata: the metadata column, which holds JSON text.
    """
    types = {fields.get(name, name): pa.string() for name in (*_TEXT_FIELDS, *_TIMESTAMP_FIELDS)}
    types[fields.get("importance", "importance")] = pa.float64()
    types[fields.get("access_count", "access_count")] = pa.int64()
    types[metadata] = pa.string()
    return types


def unified_schema(schemas: Sequence[tuple[str, pa.Schema]]) -> pa.Schema:
    """The schema that holds the rows of all files: all their columns, each with a type that all its types fit.

    Args:
        schemas: each with the file it comes from.

    Raises:
        UsageError: a column's types do not go together; names the column and the files.
    """
    merged: dict[str, tuple[pa.Field, str]] = {}
    for path, schema in schemas:
        for field in schema:
            so_far = merged.get(field.name)
            if so_far is None:
                merged[field.name] = field, path
            elif not so_far[0].equals(field):
                merged[field.name] = _merged(so_far[0], field, so_far[1], path), so_far[1]
    everywhere = set.intersection(*(set(schema.names) for _, schema in schemas))
    fields = [field if name in everywhere else field.with_nullable(True) for name, (field, _) in merged.items()]
    return pa.schema(fields, metadata=schemas[0][1].metadata)


def _merged(left: pa.Field, right: pa.Field, left_path: str, right_path: str) -> pa.Field:
    """One field for two; values of a type that is only an encoding of the other are decoded."""
    types = [left.type, right.type]
    if left.type != right.type:
        types = [_decoded(type) for type in types]
        types = [_beside(types[0], types[1]), _beside(types[1], types[0])]
    fields = [left.with_type(types[0]), right.with_type(types[1])]
    try:
        field: pa.Field = pa.unify_schemas(
            [pa.schema([field]) for field in fields], promote_options="permissive"
        ).field(0)
        if not any(_changes_kind(type, field.type) for type in types):
            return field
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        pass
    raise UsageError(
        f"{right_path}: column {right.name!r} has type {right.type}, in {left_path} it has {left.type}: one output "
        "cannot hold both; write JSONL, or choose --columns"
    )


_MOST_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
"""The decimal digits of integers by their bits."""


def _beside(type: pa.DataType, other: pa.DataType) -> pa.DataType:
    """An integer type that meets a decimal as the decimal that holds all its values, if there is one."""
    if not (pat.is_integer(type) and pat.is_decimal(other)):
        return type
    digits = _MOST_DIGITS[type.bit_width]
    if digits + other.scale > 76:
        return type
    return pa.decimal128(digits, 0) if digits + other.scale <= 38 else pa.decimal256(digits, 0)


def _changes_kind(type: pa.DataType, merged: pa.DataType) -> bool:
    """Whether a cast that succeeds may not give the same values: decimals rounded to doubles, texts as bytes. (A cast
    between integers and doubles fails where it is not exact.)"""
    if pat.is_nested(type) and pat.is_nested(merged):
        return any(
            _changes_kind(
                field.type, merged.field(merged.get_field_index(field.name) if pat.is_struct(type) else n).type
            )
            for n, field in enumerate(type.field(number) for number in range(type.num_fields))
        )
    return (pat.is_decimal(type) and not pat.is_decimal(merged)) or (_is_text(type) and not _is_text(merged))


def _is_text(type: pa.DataType) -> bool:
    return bool(pat.is_string(type) or pat.is_large_string(type) or pat.is_string_view(type))


def _decoded(type: pa.DataType) -> pa.DataType:
    if pat.is_dictionary(type) or pat.is_run_end_encoded(type):
        return _decoded(type.value_type)
    return pa.string() if pat.is_string_view(type) else type


def parquet_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with types that Parquet keeps every value of: run-end encoding, which it does not know, is decoded,
    and date64, which it cuts to whole days, is a timestamp."""

    def kept(type: pa.DataType, is_nested: bool) -> pa.DataType:
        if pat.is_run_end_encoded(type) and not is_nested:
            return kept(type.value_type, is_nested)
        if pat.is_dictionary(type) and pat.is_date64(type.value_type):
            return pa.dictionary(type.index_type, pa.timestamp("ms"), type.ordered)
        return pa.timestamp("ms") if pat.is_date64(type) else type

    return _with_types(schema, kept)


def arrow_file_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with dictionaries that can be one for all batches: of columns with indices that count the entries of
    all batches together, elsewhere none."""

    def kept(type: pa.DataType, is_nested: bool) -> pa.DataType:
        if not pat.is_dictionary(type):
            return type
        if is_nested:
            return kept(type.value_type, is_nested)
        return pa.dictionary(pa.int32(), type.value_type, type.ordered) if type.index_type.bit_width < 32 else type

    return _with_types(schema, kept)


def _with_types(schema: pa.Schema, kept: Callable[[pa.DataType, bool], pa.DataType]) -> pa.Schema:
    """The schema with each type, also those inside others, put through ``kept``, which is told whether it is inside."""

    def rewritten(type: pa.DataType, is_nested: bool) -> pa.DataType:
        if pat.is_struct(type):
            return pa.struct([inside(field) for field in type])
        if pat.is_map(type):
            return pa.map_(inside(type.key_field), inside(type.item_field), type.keys_sorted)
        if pat.is_fixed_size_list(type):
            return pa.list_(inside(type.value_field), type.list_size)
        if pat.is_list(type):
            return pa.list_(inside(type.value_field))
        if pat.is_large_list(type):
            return pa.large_list(inside(type.value_field))
        return kept(type, is_nested)  # pyarrow casts no views of lists

    def inside(field: pa.Field) -> pa.Field:
        return field.with_type(rewritten(field.type, True))

    return pa.schema([field.with_type(rewritten(field.type, False)) for field in schema], metadata=schema.metadata)


def conform(batch: pa.RecordBatch, schema: pa.Schema, path: str) -> pa.RecordBatch:
    """A batch with the columns and types of a schema; columns it does not have are null.

    Raises:
        DataError: a value does not fit the type exactly; names the file.
    """
    if batch.schema.equals(schema):
        return batch
    arrays = []
    for field in schema:
        position = batch.schema.get_field_index(field.name)
        if position < 0:
            arrays.append(pa.nulls(batch.num_rows, field.type))
            continue
        array = batch.column(position)
        if array.type != field.type:
            try:
                array = pc.run_end_decode(array) if pat.is_run_end_encoded(array.type) else array
                array = array.cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise DataError(f"{path}: column {field.name!r} does not fit type {field.type}: {error}") from error
        arrays.append(array)
    return pa.record_batch(arrays, schema=schema)
