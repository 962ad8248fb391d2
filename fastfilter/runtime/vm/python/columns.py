"""Arrow arrays to Python values, and the way from a column to a field's value.

A *reader* gives the values of rows ``start`` to ``stop`` of one array. It decodes nothing before it is asked, and of a
struct only the children that are needed. Values are those of :mod:`fastfilter.values`.
"""

from __future__ import annotations

import uuid
from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa

from fastfilter.errors import DataError
from fastfilter.runtime.binding import JsonPath, MapKey, Step, StructChild
from fastfilter.runtime.vm.python.jsonb import NarrowFloat
from fastfilter.values import MISSING, Instant

__all__ = ["Reader", "UnsupportedType", "decode", "follow", "open_json_texts", "open_values"]

Reader = Callable[[int, int], list[Any]]
"""The values of rows ``start`` to ``stop``."""


class UnsupportedType(Exception):
    """A column holds values of a type that has no meaning in a filter.

    Attributes:
        type: the Arrow type.
    """

    def __init__(self, type: pa.DataType) -> None:
        super().__init__(f"values of type {type} cannot be filtered")
        self.type = type


def open_values(array: pa.Array, steps: Sequence[Step] = (), *, whole: bool = True) -> Reader:
    """A reader of the values at the end of ``steps`` (no :class:`JsonPath` among them) from an array.

    Args:
        array: the column.
        steps: the way from the column to the value.
        whole: whether an OBJECT is wanted with all that is in it. Otherwise it is an empty dict, and its children,
            which may be of types that a filter does not know, are not looked at.

    Raises:
        UnsupportedType: the values are of a type that a filter does not know.
    """
    return _open(array, tuple(steps), _open_leaf if whole else _open_opaque)


def open_json_texts(array: pa.Array, steps: Sequence[Step] = ()) -> Reader:
    """As :func:`open_values`, for JSON text at the end of the steps: its bytes, not checked; None where it is null."""
    return _open(array, tuple(steps), _open_bytes)


def decode(array: pa.Array) -> list[Any]:
    """All values of an array.

    Example:
        >>> decode(pa.array([{"a": [1, None]}, None]))
        [{'a': [1, None]}, None]
    """
    return open_values(array)(0, len(array))


def follow(value: Any, path: Sequence[str]) -> Any:
    """The value at a path of literal keys in a JSON value; MISSING where a key is absent or a parent is no object."""
    for key in path:
        if not isinstance(value, dict):
            return MISSING
        value = value.get(key, MISSING)
    return value


def value_of_null(steps: Sequence[Step]) -> Any:
    """What is found at the end of steps from a null: a struct's children are NULL then, all else is MISSING."""
    for step in steps:
        if isinstance(step, MapKey) or (isinstance(step, JsonPath) and step.path):
            return MISSING
    return None


_OpenLeaf = Callable[[pa.Array], "Reader"]
"""Opens an array at the end of the steps, when dictionary and run-end encoding are looked through."""


def _open(array: pa.Array, steps: tuple[Step, ...], open_leaf: _OpenLeaf) -> Reader:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _open_dictionary(array, steps, open_leaf)
    if pa.types.is_run_end_encoded(kind):
        return _open_runs(array, steps, open_leaf)
    if not steps:
        return open_leaf(array)
    if isinstance(kind, pa.BaseExtensionType):
        return _open(array.storage, steps, open_leaf)
    step = steps[0]
    if isinstance(step, StructChild) and pa.types.is_struct(kind):
        child = _open(array.field(step.child), steps[1:], open_leaf)
        return _nulls_as(value_of_null(steps[1:]), array, child)
    if isinstance(step, MapKey) and pa.types.is_map(kind):
        return _open_map_key(array, step.key, steps[1:], open_leaf)
    raise UnsupportedType(kind)


def _nulls_as(null: Any, array: pa.Array, child: Reader) -> Reader:
    """The child's values, but ``null`` where ``array`` is null."""
    if array.null_count == 0:
        return child

    def read(start: int, stop: int) -> list[Any]:
        nulls = array.slice(start, stop - start).is_null().to_pylist()
        return [null if is_null else value for is_null, value in zip(nulls, child(start, stop), strict=True)]

    return read


def _open_dictionary(array: Any, steps: tuple[Step, ...], open_leaf: _OpenLeaf) -> Reader:
    indices, dictionary, null = array.indices, array.dictionary, value_of_null(steps)
    entry_reader = _open(dictionary, steps, open_leaf)
    entries: list[Any] = []  # decoded once, when first needed; two threads that both do so write the same

    def read(start: int, stop: int) -> list[Any]:
        if not entries and len(dictionary):
            entries[:] = entry_reader(0, len(dictionary))
        rows = indices.slice(start, stop - start).to_pylist()
        used = set(rows) - {None}
        if used and not (min(used) >= 0 and max(used) < len(entries)):
            raise DataError("a column cannot be read: a dictionary index is out of range")
        return [null if index is None else entries[index] for index in rows]

    return read


def _open_runs(array: Any, steps: tuple[Step, ...], open_leaf: _OpenLeaf) -> Reader:
    runs = _open(array.values, steps, open_leaf)
    run_ends: list[int] = []

    def read(start: int, stop: int) -> list[Any]:
        if start == stop:
            return []
        if not run_ends:
            run_ends[:] = array.run_ends.to_pylist()
        # Run ends count from the start of the array that this one may be a slice of.
        position, end = array.offset + start, array.offset + stop
        first = bisect_right(run_ends, position)
        values: list[Any] = []
        for run, value in enumerate(runs(first, bisect_right(run_ends, end - 1) + 1), first):
            run_end = min(run_ends[run], end)
            values += [value] * (run_end - position)
            position = run_end
        return values

    return read


def _open_map_key(array: Any, key: str, steps: tuple[Step, ...], open_leaf: _OpenLeaf) -> Reader:
    entries = array.values
    keys, items = open_values(entries.field(0)), _open(entries.field(1), steps, open_leaf)
    spans = _spans(array)

    def read(start: int, stop: int) -> list[Any]:
        rows = spans(start, stop)
        low, high = _extent(rows)
        all_keys, all_items = keys(low, high), items(low, high)
        values = []
        for span in rows:
            value: Any = MISSING
            if span is not None:
                for position in range(span[1] - 1 - low, span[0] - 1 - low, -1):  # the last entry of a key wins
                    if all_keys[position] == key:
                        value = all_items[position]
                        break
            values.append(value)
        return values

    return read


_Spans = Callable[[int, int], list[tuple[int, int] | None]]
"""Where in the child array the elements of rows ``start`` to ``stop`` stand; None for a null row."""


def _spans(array: Any) -> _Spans:
    kind = array.type
    if pa.types.is_fixed_size_list(kind):
        size, offset = kind.list_size, array.offset

        def bounds(start: int, stop: int) -> list[tuple[int, int]]:
            return [((offset + row) * size, (offset + row + 1) * size) for row in range(start, stop)]

    elif pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        offsets, sizes = array.offsets, array.sizes

        def bounds(start: int, stop: int) -> list[tuple[int, int]]:
            begins = offsets.slice(start, stop - start).to_pylist()
            lengths = sizes.slice(start, stop - start).to_pylist()
            return [(begin, begin + length) for begin, length in zip(begins, lengths, strict=True)]

    else:
        offsets = array.offsets

        def bounds(start: int, stop: int) -> list[tuple[int, int]]:
            edges = offsets.slice(start, stop - start + 1).to_pylist() if stop > start else []
            return list(pairwise(edges))

    return _nulls_as(None, array, bounds)


def _extent(spans: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    """The part of the child array that the spans lie in."""
    filled = [span for span in spans if span is not None and span[0] < span[1]]
    return min((span[0] for span in filled), default=0), max((span[1] for span in filled), default=0)


def _open_opaque(array: Any) -> Reader:
    if _is_list(array.type):
        return _open_list(array, _open_opaque)
    if pa.types.is_struct(array.type) or pa.types.is_map(array.type):
        return _nulls_as(None, array, lambda start, stop: [{} for _ in range(start, stop)])
    return _open_leaf(array)


def _open_leaf(array: Any) -> Reader:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return _mapped(array.storage, lambda content: str(uuid.UUID(bytes=content)))
        if kind.extension_name == "arrow.json":
            raise UnsupportedType(kind)  # its values are read through a JsonPath
        return open_values(array.storage)
    if _is_string(kind):
        return _open_strings(array)
    if pa.types.is_struct(kind):
        return _open_struct(array)
    if pa.types.is_map(kind):
        return _open_map(array)
    if _is_list(kind):
        return _open_list(array, _open_leaf)
    if pa.types.is_timestamp(kind):
        return _instants(array.view(pa.int64()), _NANOSECONDS[kind.unit])
    if pa.types.is_date32(kind):
        return _instants(array.view(pa.int32()), 86_400 * _NANOSECONDS["s"])
    if pa.types.is_date64(kind):
        return _instants(array.view(pa.int64()), _NANOSECONDS["ms"])
    if pa.types.is_float16(kind):
        return _mapped(array, lambda number: NarrowFloat(number, 2))
    if pa.types.is_float32(kind):
        return _mapped(array, lambda number: NarrowFloat(number, 4))
    if pa.types.is_decimal(kind):
        return _mapped(array, _without_trailing_zeros)
    if pa.types.is_null(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_float64(kind):
        return lambda start, stop: array.slice(start, stop - start).to_pylist()
    raise UnsupportedType(kind)


_NANOSECONDS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_EXACT: Final = Context(prec=100, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Wide enough for every decimal256."""


def _without_trailing_zeros(number: Decimal) -> Decimal:
    """The same number; an Arrow decimal's trailing zeros come from the column's scale, not from the value."""
    return number.normalize(_EXACT)


def _mapped(array: pa.Array, function: Callable[[Any], Any]) -> Reader:
    def read(start: int, stop: int) -> list[Any]:
        values = array.slice(start, stop - start).to_pylist()
        return [None if value is None else function(value) for value in values]

    return read


def _instants(numbers: pa.Array, nanoseconds: int) -> Reader:
    return _mapped(numbers, lambda number: Instant(number * nanoseconds))


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_list(kind: pa.DataType) -> bool:
    return any(
        test(kind)
        for test in (
            pa.types.is_list,
            pa.types.is_large_list,
            pa.types.is_fixed_size_list,
            pa.types.is_list_view,
            pa.types.is_large_list_view,
        )
    )


def _open_bytes(array: Any) -> Reader:
    """The UTF-8 bytes of a string array, as they are."""
    if isinstance(array.type, pa.BaseExtensionType):
        return open_json_texts(array.storage)
    if not _is_string(array.type):
        raise UnsupportedType(array.type)
    if pa.types.is_large_string(array.type):
        binary = array.view(pa.large_binary())
    else:
        binary = array.view(pa.binary() if pa.types.is_string(array.type) else pa.binary_view())
    return lambda start, stop: binary.slice(start, stop - start).to_pylist()


def _open_strings(array: pa.Array) -> Reader:
    contents = _open_bytes(array)

    def read(start: int, stop: int) -> list[Any]:
        try:
            strings: list[Any] = array.slice(start, stop - start).to_pylist()
            return strings
        except UnicodeDecodeError:
            return [None if content is None else _lenient(content) for content in contents(start, stop)]

    return read


def _lenient(content: bytes) -> str:
    """Bytes as a string, lossless even if not UTF-8: encoded surrogates stay, other bytes become surrogates."""
    for errors in ("strict", "surrogatepass"):
        try:
            return content.decode("utf-8", errors)
        except UnicodeDecodeError:
            continue
    return content.decode("utf-8", "surrogateescape")


def _open_struct(array: Any) -> Reader:
    names = [array.type.field(index).name for index in range(array.type.num_fields)]
    children = [open_values(array.field(index)) for index in range(len(names))]

    def read(start: int, stop: int) -> list[Any]:
        if not children:
            return [{} for _ in range(start, stop)]
        columns = [child(start, stop) for child in children]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    return _nulls_as(None, array, read)


def _open_map(array: Any) -> Reader:
    entries = array.values
    key_type = array.type.key_type
    while pa.types.is_dictionary(key_type) or pa.types.is_run_end_encoded(key_type):
        key_type = key_type.value_type
    if not _is_string(key_type):
        raise UnsupportedType(array.type)
    keys, items = open_values(entries.field(0)), open_values(entries.field(1))
    spans = _spans(array)

    def read(start: int, stop: int) -> list[Any]:
        rows = spans(start, stop)
        low, high = _extent(rows)
        pairs = list(zip(keys(low, high), items(low, high), strict=True))
        return [None if span is None else dict(pairs[span[0] - low : span[1] - low]) for span in rows]

    return read


def _open_list(array: Any, open_leaf: _OpenLeaf) -> Reader:
    elements = _open(array.values, (), open_leaf)
    spans = _spans(array)

    def read(start: int, stop: int) -> list[Any]:
        rows = spans(start, stop)
        low, high = _extent(rows)
        # Views may lie anywhere: where they are few in a large child, each is read by itself.
        if high - low > 2 * sum(span[1] - span[0] for span in rows if span is not None) + 64:
            return [None if span is None else elements(*span) for span in rows]
        values = elements(low, high)
        return [None if span is None else values[span[0] - low : span[1] - low] for span in rows]

    return read
