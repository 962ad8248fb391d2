"""Arrow types as the semantics see them: encodings looked through, kinds told apart."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pat

__all__ = [
    "MAX_LEVELS",
    "field_indices",
    "is_instant",
    "is_json",
    "is_list",
    "is_number",
    "is_string",
    "is_uuid",
    "unsupported_part",
    "value_type",
]


def value_type(type: pa.DataType) -> pa.DataType:
    """The type without dictionary encoding, run-end encoding and string-backed extensions.

    ``arrow.json`` and ``arrow.uuid`` stay: they say how the storage is to be read.
    """
    while True:
        if pat.is_dictionary(type) or pat.is_run_end_encoded(type):
            type = type.value_type
        elif isinstance(type, pa.BaseExtensionType) and not (is_json(type) or is_uuid(type)):
            if not is_string(value_type(type.storage_type)):
                return type
            type = type.storage_type
        else:
            return type


def field_indices(parent: pa.Schema | pa.StructType, name: str) -> list[int]:
    """The indices of a schema's columns or a struct's children of a name; a name that is no Unicode text has none."""
    try:
        return list(parent.get_all_field_indices(name))
    except UnicodeEncodeError:
        return []


def is_json(type: pa.DataType) -> bool:
    """Whether the type is the ``arrow.json`` extension."""
    return isinstance(type, pa.BaseExtensionType) and type.extension_name == "arrow.json"


def is_uuid(type: pa.DataType) -> bool:
    """Whether the type is the ``arrow.uuid`` extension."""
    return isinstance(type, pa.BaseExtensionType) and type.extension_name == "arrow.uuid"


def is_string(type: pa.DataType) -> bool:
    """Whether the type is a string of any layout."""
    return bool(pat.is_string(type) or pat.is_large_string(type) or pat.is_string_view(type))


def is_number(type: pa.DataType) -> bool:
    """Whether values of the type are NUMBERs."""
    return bool(pat.is_integer(type) or pat.is_floating(type) or pat.is_decimal(type))


def is_instant(type: pa.DataType) -> bool:
    """Whether values of the type are TIMESTAMPs."""
    return bool(pat.is_timestamp(type) or pat.is_date(type))


def is_list(type: pa.DataType) -> bool:
    """Whether values of the type are ARRAYs."""
    return bool(
        pat.is_list(type)
        or pat.is_large_list(type)
        or pat.is_fixed_size_list(type)
        or pat.is_list_view(type)
        or pat.is_large_list_view(type)
    )


MAX_LEVELS = 100
"""How deep the type of a column may nest down to a value that is read; the native views go a little deeper."""


def unsupported_part(type: pa.DataType, whole: bool, levels: int = MAX_LEVELS) -> pa.DataType | None:
    """The first part of a type that no condition can read, or None.

    Args:
        type: the type of a field's values.
        whole: whether a condition reads an OBJECT as a whole, children and all, rather than as one opaque value. Its
            children must then have names of their own, which the Arrow C data interface can carry.
        levels: how deep the type may nest.
    """
    pending = [(type, 0)]
    while pending:
        part, level = pending.pop()
        part = value_type(part)
        if level >= levels:
            return part
        if is_list(part):
            pending.append((part.value_type, level + 1))
        elif pat.is_struct(part):
            if whole:
                names = [child.name for child in part.fields]
                if len(set(names)) < len(names) or any("\0" in name for name in names):
                    return part
                pending.extend((child.type, level + 1) for child in part.fields)
        elif pat.is_map(part):
            if whole:
                if not is_string(value_type(part.key_type)):
                    return part
                pending.append((part.item_type, level + 2))
        elif not (
            pat.is_null(part)
            or pat.is_boolean(part)
            or is_number(part)
            or is_string(part)
            or is_uuid(part)
            or is_instant(part)
        ):
            return part
    return None
