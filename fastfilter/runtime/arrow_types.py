"""Arrow types as the semantics see them: encodings looked through, kinds told apart."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.types as pat

__all__ = [
    "MAX_LEVELS",
    "ExactSchema",
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


# By the numbers of types: asking pyarrow.types one by one is most of what binding would cost.
_STRINGS: Final = frozenset(type.id for type in (pa.string(), pa.large_string(), pa.string_view()))
_INSTANTS: Final = frozenset(type.id for type in (pa.timestamp("s"), pa.date32(), pa.date64()))
_LISTS: Final = frozenset(
    make(pa.null(), *size).id
    for make, *size in ((pa.list_,), (pa.list_, 1), (pa.large_list,), (pa.list_view,), (pa.large_list_view,))
)
_ENCODED: Final = frozenset(
    type.id for type in (pa.dictionary(pa.int8(), pa.null()), pa.run_end_encoded(pa.int16(), pa.null()))
)


class ExactSchema:
    """A schema to compare others with. Where a type in it is an extension, equality is not enough: a class decides on
    it, and pyarrow takes dictionaries of one extension for equal whatever their indices are.

    Example:
        >>> ExactSchema(pa.schema([("a", pa.int8())])).fits(pa.schema([("a", pa.int16())]))
        False
    """

    __slots__ = ("_bytes", "_schema")

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._bytes = schema.serialize() if any(map(_has_extension, schema.types)) else None

    def fits(self, schema: pa.Schema) -> bool:
        """Whether another schema has the same columns of the same types, laid out in the same way."""
        if self._schema is schema:
            return True
        same: bool = self._schema.equals(schema)
        return same and (self._bytes is None or self._bytes.equals(schema.serialize()))


def _has_extension(type: pa.DataType) -> bool:
    if isinstance(type, pa.BaseExtensionType):
        return True
    if type.id in _ENCODED:
        return _has_extension(type.value_type)
    return any(_has_extension(type.field(child).type) for child in range(type.num_fields))


def value_type(type: pa.DataType) -> pa.DataType:
    """The type without dictionary encoding, run-end encoding and string-backed extensions.

    ``arrow.json`` and ``arrow.uuid`` stay: they say how the storage is to be read.
    """
    while True:
        if type.id in _ENCODED:
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
    return type.id in _STRINGS


def is_number(type: pa.DataType) -> bool:
    """Whether values of the type are NUMBERs."""
    return bool(pat.is_integer(type) or pat.is_floating(type) or pat.is_decimal(type))


def is_instant(type: pa.DataType) -> bool:
    """Whether values of the type are TIMESTAMPs."""
    return type.id in _INSTANTS


def is_list(type: pa.DataType) -> bool:
    """Whether values of the type are ARRAYs."""
    return type.id in _LISTS


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
