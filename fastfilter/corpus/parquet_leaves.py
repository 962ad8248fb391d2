"""The leaves of a Parquet file, which are what it stores, and the columns they are parts of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

__all__ = ["leaf_paths"]


def leaf_paths(columns: pa.Schema) -> Iterator[tuple[tuple[str, ...], tuple[int | None, ...]]]:
    """The leaves of a Parquet file in their order: the names that lead to each, and the numbers, None through a list or
    a map (whose leaf has not one value a row)."""

    def below(field: pa.Field, names: tuple[str, ...], indices: tuple[int | None, ...]) -> Iterator[Any]:
        type = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
        names = (*names, field.name)
        if pat.is_struct(type):
            for number, child in enumerate(type):
                yield from below(child, names, (*indices, number))
        elif pat.is_map(type):
            inside = (*names, "key_value")
            yield from below(type.key_field.with_name("key"), inside, (*indices, None))
            yield from below(type.item_field.with_name("value"), inside, (*indices, None))
        elif pat.is_list(type) or pat.is_large_list(type) or pat.is_fixed_size_list(type):
            yield from below(type.value_field.with_name("element"), (*names, "list"), (*indices, None))
        else:
            yield names, indices

    for number, field in enumerate(columns):
        yield from below(field, (), (number,))
