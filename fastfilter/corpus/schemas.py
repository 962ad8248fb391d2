"""One schema for rows of several files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from fastfilter.corpus.formats import UsageError
from fastfilter.errors import DataError

__all__ = ["conform", "declared_types", "unified_schema", "without_run_ends"]

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
    fields = [left.with_type(types[0]), right.with_type(types[1])]
    try:
        merged = pa.unify_schemas([pa.schema([field]) for field in fields], promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        raise UsageError(
            f"{right_path}: column {right.name!r} has type {right.type}, in {left_path} it has {left.type}: one output "
            "cannot hold both; write JSONL, or choose --columns"
        ) from None
    field: pa.Field = merged.field(0)
    return field


def _decoded(type: pa.DataType) -> pa.DataType:
    if pat.is_dictionary(type) or pat.is_run_end_encoded(type):
        return _decoded(type.value_type)
    return pa.string() if pat.is_string_view(type) else type


def without_run_ends(schema: pa.Schema) -> pa.Schema:
    """The schema with run-end encoded columns decoded, for formats that do not know the encoding."""
    for number, field in enumerate(schema):
        if pat.is_run_end_encoded(field.type):
            schema = schema.set(number, field.with_type(field.type.value_type))
    return schema


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
