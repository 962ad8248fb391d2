"""Physical layouts: how logical rows are laid out in Arrow memory.

A layout is three choices: how the metadata are stored (:data:`METADATA`), how every other column is
(:func:`typed_array`), and how the batch is cut (:data:`SHAPES`). A layout that cannot hold rows raises
:class:`CannotHold` with the reason. Where there is something to choose (a width, a unit, an index type, an offset, what
lies under a null), a *chooser* does: a function from a list of options to one of them, so that the same code serves a
seeded random generator and a Hypothesis test.

A layout may change what the rows are: a struct has a null where an object had no key, and a float32 column has no
spelling. What a batch holds is read back by :func:`oracle.values_of`; :func:`faithful` tells whether that is what was
asked for.
"""

from __future__ import annotations

import bisect
import math
import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import oracle
import pyarrow as pa

from fastfilter.compiler import expr
from fastfilter.values import MISSING, Instant, JsonFloat

Chooser = Callable[[Sequence[Any]], Any]
Record = Mapping[str, Any]


class CannotHold(Exception):
    """A layout cannot hold these rows; the message says why, in few words and without values."""


class NoteType(pa.ExtensionType):
    """A string-backed extension, of which there may be any number."""

    def __init__(self) -> None:
        super().__init__(pa.string(), "fastfilter.tests.note")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    def __hash__(self) -> int:
        return hash(self.extension_name)

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> NoteType:
        return cls()


def seeded(seed: object) -> Chooser:
    """A chooser that repeats itself."""
    return random.Random(str(seed)).choice


# ---------------------------------------------------------------------------------------------------------------------
# JSON text


def json_text(value: Any) -> str:
    """A value as JSON text; numbers keep their spelling.

    Raises:
        CannotHold: there is a NaN, an infinity or an instant in it.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_json_character(character) for character in value) + '"'
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(key)}:{json_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Instant):
        raise CannotHold("JSON has no timestamps")
    if isinstance(value, JsonFloat):
        return value.spelling
    if not math.isfinite(value):
        raise CannotHold("JSON has no NaN or infinity")
    return str(value) if isinstance(value, int) else format(value, "f") if isinstance(value, Decimal) else repr(value)


def _json_character(character: str) -> str:
    if character in '"\\' or character < " " or "\ud800" <= character <= "\udfff":
        return f"\\u{ord(character):04x}"
    return character


def json_columns(texts: Sequence[bytes | None], kind: str, choose: Chooser) -> pa.Array:
    """JSON texts as a column of the given kind, one of :data:`TEXT_KINDS`."""
    if kind == "json-extension":
        storage = _string_array(texts, choose([pa.string(), pa.large_string(), pa.string_view()]), choose)
        return pa.ExtensionArray.from_storage(pa.json_(storage.type), storage)
    if kind == "json-dictionary":
        return _dictionary(texts, lambda entries: _string_array(entries, pa.string(), choose), choose)
    if kind == "json-run-end":
        return _run_ends(texts, lambda entries: _string_array(entries, pa.string(), choose), choose)
    types = {"json": pa.string(), "json-large": pa.large_string(), "json-view": pa.string_view()}
    return _string_array(texts, types[kind], choose)


TEXT_KINDS = ("json", "json-large", "json-view", "json-dictionary", "json-run-end", "json-extension")


def _string_array(texts: Sequence[bytes | str | None], type: pa.DataType, choose: Chooser) -> pa.Array:
    """Strings of a plain layout, from bytes that need not be UTF-8."""
    encoded = [text.encode() if isinstance(text, str) else text for text in texts]
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[type]
    if type == pa.string_view():
        return pa.array(encoded, binary).view(type)
    return _junk_under_nulls(encoded, lambda items: pa.array(items, binary), b"under a null", choose).view(type)


# ---------------------------------------------------------------------------------------------------------------------
# encodings


def _junk_under_nulls(
    values: Sequence[Any], build: Callable[[list[Any]], pa.Array], junk: Any, choose: Chooser
) -> pa.Array:
    """An array of a plain type in whose null slots a value lies that must not count."""
    if None not in values or not choose([True, False]):
        return build(list(values))
    filled = build([junk if value is None else value for value in values])
    validity = pa.array([value is not None for value in values]).buffers()[1]
    return pa.Array.from_buffers(filled.type, len(values), [validity, *filled.buffers()[1:]])


def _dictionary(values: Sequence[Any], build: Callable[[list[Any]], pa.Array], choose: Chooser) -> pa.Array:
    """Dictionary-encoded, with an entry twice, one unused and one null."""
    entries: list[Any] = []
    for value in values:
        if value is not None and not any(_identical(value, entry) for entry in entries):
            entries.append(value)
    places: dict[int, list[int]] = {}
    dictionary = [None] if choose([True, False]) else []
    nulls = [None, *range(len(dictionary))]
    for number, entry in enumerate(entries):
        for _ in range(choose([1, 1, 2])):
            places.setdefault(number, []).append(len(dictionary))
            dictionary.append(entry)
    if entries and choose([True, False]):
        dictionary.append(entries[0])
    index_types = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    indices = [
        choose(nulls)
        if value is None
        else choose(places[next(n for n, entry in enumerate(entries) if _identical(value, entry))])
        for value in values
    ]
    fitting = index_types if len(dictionary) < 128 else [pa.int16(), pa.int32(), pa.int64(), pa.uint16()]
    return pa.DictionaryArray.from_arrays(pa.array(indices, choose(fitting)), build(dictionary))


def _identical(left: Any, right: Any) -> bool:
    return type(left) is type(right) and repr(left) == repr(right)


def _run_ends(values: Sequence[Any], build: Callable[[list[Any]], pa.Array], choose: Chooser) -> pa.Array:
    """Run-end encoded; equal neighbours may be two runs."""
    runs: list[Any] = []
    ends: list[int] = []
    for row, value in enumerate(values):
        if runs and _identical(value, runs[-1]) and choose([True, True, False]):
            ends[-1] = row + 1
        else:
            runs.append(value)
            ends.append(row + 1)
    end_type = choose([pa.int16(), pa.int32(), pa.int64()])
    children = [pa.array(ends, end_type), build(runs)]
    type = pa.run_end_encoded(end_type, children[1].type)
    # Not RunEndEncodedArray.from_arrays, which would look whether strings are UTF-8.
    return pa.Array.from_buffers(type, len(values), [None], children=children)


def _offset(values: Sequence[Any], build: Callable[[list[Any]], pa.Array], choose: Chooser) -> pa.Array:
    """An array that begins somewhere inside its buffers."""
    skip = choose([0, 0, 0, 1, 7, 8, 9]) if values else 0
    if not skip:
        return build(list(values))
    padding = [values[i % len(values)] for i in range(skip)]
    return build([*padding, *values, *padding[:3]]).slice(skip, len(values))


# ---------------------------------------------------------------------------------------------------------------------
# typed columns


def typed_array(values: Sequence[Any], choose: Chooser, encodings: bool = True) -> pa.Array:
    """Values of one kind as a typed array: a type that holds all of them exactly, in any encoding, at any offset.

    Raises:
        CannotHold: the values are of several kinds, or no type holds them.
    """
    kinds = {_kind(value) for value in values if value is not None}
    if len(kinds) > 1:
        raise CannotHold("mixed kinds under one key")
    kind = kinds.pop() if kinds else "null"
    build = _BUILDERS[kind](values, choose)
    encode = (
        choose(["plain", "plain", "dictionary", "run-end"]) if encodings and kind not in ("null", "object") else "plain"
    )
    if encode == "dictionary":
        if kind == "array":
            encode = "plain"
        else:
            return _offset(values, lambda items: _dictionary(items, build, choose), choose)
    if encode == "run-end" and kind != "array":
        return _offset(values, lambda items: _run_ends(items, build, choose), choose)
    return _offset(values, build, choose)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Instant):
        return "instant"
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "object"
    return "number"


Builder = Callable[[list[Any]], pa.Array]


def _build_nulls(values: Sequence[Any], choose: Chooser) -> Builder:
    type = choose([pa.null(), pa.string(), pa.int32(), pa.float64(), pa.bool_()])
    return lambda items: pa.array([None] * len(items), type)


def _build_bools(values: Sequence[Any], choose: Chooser) -> Builder:
    return lambda items: _junk_under_nulls(items, lambda filled: pa.array(filled, pa.bool_()), True, choose)


def _build_strings(values: Sequence[Any], choose: Chooser) -> Builder:
    present = [value for value in values if value is not None]
    if any("\ud800" <= character <= "\udfff" for value in present for character in value):
        raise CannotHold("a lone surrogate outside JSON")
    kinds = ["string", "large", "view", "extension"]
    if all(_is_uuid(value) for value in present):
        kinds.append("uuid")
    kind = choose(kinds)
    if kind == "uuid":
        return lambda items: pa.array([None if item is None else uuid.UUID(item).bytes for item in items], pa.uuid())
    if kind == "extension":
        return lambda items: pa.ExtensionArray.from_storage(NoteType(), _string_array(items, pa.string(), choose))
    type = {"string": pa.string(), "large": pa.large_string(), "view": pa.string_view()}[kind]
    return lambda items: _string_array(items, type, choose)


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
_FLOATS = {pa.float16(): np.float16, pa.float32(): np.float32, pa.float64(): np.float64}
_DECIMALS = ((pa.decimal32, 9), (pa.decimal64, 18), (pa.decimal128, 38), (pa.decimal256, 76))


def number_types(values: Sequence[Any]) -> list[pa.DataType]:
    """Every type that holds these numbers exactly; a JSON number or a double also fits a decimal spelled as it is."""
    present = [value for value in values if value is not None]
    types: list[pa.DataType] = []
    if all(isinstance(value, int) for value in present):
        for type in _INTEGERS:
            bits = type.bit_width
            low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if str(type)[0] == "i" else (0, 2**bits - 1)
            if all(low <= value <= high for value in present):
                types.append(type)
    if all(not isinstance(value, Decimal) for value in present):
        types += [type for type, cast in _FLOATS.items() if all(_fits_float(value, cast) for value in present)]
    if all(math.isfinite(value) for value in present):
        decimals = [_as_decimal(value) for value in present]
        scale = max((max(0, -int(value.as_tuple().exponent)) for value in decimals), default=0)
        whole = max((max(1, value.adjusted() + 1) for value in decimals), default=1)
        types += [make(most, scale) for make, most in _DECIMALS if whole + scale <= most]
    return types


def _fits_float(value: Any, cast: Any) -> bool:
    with np.errstate(over="ignore"):
        if isinstance(value, float) and not math.isfinite(value):
            return not isinstance(value, JsonFloat)
        try:
            narrow = float(cast(value))
        except OverflowError:
            return False
    return math.isfinite(narrow) and (int(narrow) == value if isinstance(value, int) else narrow == value)


def _as_decimal(value: Any) -> Decimal:
    if isinstance(value, Decimal):
        return value
    return Decimal(value) if isinstance(value, int) else Decimal(repr(float(value)))


def _build_numbers(values: Sequence[Any], choose: Chooser) -> Builder:
    types = number_types(values)
    if not types:
        raise CannotHold("no number type holds all of a column")
    type = choose(types)
    if pa.types.is_decimal(type):
        return lambda items: pa.array([None if item is None else _as_decimal(item) for item in items], type)
    if type in _FLOATS:
        cast = _FLOATS[type]
        return lambda items: _junk_under_nulls(
            [None if item is None else cast(item) for item in items],
            lambda filled: pa.array(filled, type),
            cast(1),
            choose,
        )
    return lambda items: _junk_under_nulls(items, lambda filled: pa.array(filled, type), 1, choose)


_UNITS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}
_DAY = 86_400 * 10**9


def instant_types(values: Sequence[Any]) -> list[pa.DataType]:
    """Every type that holds these instants exactly."""
    nanoseconds = [value.nanoseconds for value in values if value is not None]
    types: list[pa.DataType] = []
    for unit, size in _UNITS.items():
        if all(value % size == 0 and -(2**63) <= value // size < 2**63 for value in nanoseconds):
            types += [pa.timestamp(unit, zone) for zone in (None, "UTC", "Europe/Berlin", "-05:30")]
    if all(value % _DAY == 0 and -(2**31) <= value // _DAY < 2**31 for value in nanoseconds):
        types += [pa.date32(), pa.date64()]
    return types


def _build_instants(values: Sequence[Any], choose: Chooser) -> Builder:
    types = instant_types(values)
    if not types:
        raise CannotHold("no timestamp type holds all of a column")
    type = choose(types)
    size = _DAY if type == pa.date32() else 10**6 if type == pa.date64() else _UNITS[type.unit]
    storage = pa.int32() if type == pa.date32() else pa.int64()

    def build(items: list[Any]) -> pa.Array:
        whole = [None if item is None else item.nanoseconds // size for item in items]
        return _junk_under_nulls(whole, lambda filled: pa.array(filled, storage), 0, choose).view(type)

    return build


def _build_arrays(values: Sequence[Any], choose: Chooser) -> Builder:
    present = [value for value in values if value is not None]
    kinds = ["list", "large", "view", "large-view"]
    lengths = {len(value) for value in present}
    if len(lengths) == 1 and min(lengths) > 0:
        kinds.append("fixed")
    kind = choose(kinds)
    size = lengths.pop() if kind == "fixed" else 0
    # The kind of the elements must be one over all rows, so the type is chosen once for all of them.
    element_seed = str(choose(range(1000)))
    typed_array([element for value in present for element in value], seeded(element_seed))

    def build(items: list[Any]) -> pa.Array:
        junk = [present[0][0]] if present and present[0] else []
        filled = [(junk * size if kind == "fixed" else junk) if item is None else item for item in items]
        flat = [element for item in filled for element in item]
        everything = flat + [element for value in present for element in value]
        elements = typed_array(everything, seeded(element_seed)).slice(0, len(flat))
        valid = pa.array([item is None for item in items], pa.bool_())
        starts = np.concatenate([[0], np.cumsum([len(item) for item in filled])])
        if kind == "fixed":
            return pa.FixedSizeListArray.from_arrays(elements, size, mask=valid)
        if kind in ("list", "large"):
            make, offsets = (
                (pa.ListArray, pa.array(starts, pa.int32()))
                if kind == "list"
                else (pa.LargeListArray, pa.array(starts, pa.int64()))
            )
            return make.from_arrays(offsets, elements, mask=valid)
        make, width = (pa.ListViewArray, pa.int32()) if kind == "view" else (pa.LargeListViewArray, pa.int64())
        sizes = [len(item) for item in filled]
        return make.from_arrays(pa.array(starts[:-1], width), pa.array(sizes, width), elements, mask=valid)

    return build


def _build_objects(values: Sequence[Any], choose: Chooser) -> Builder:
    seed = str(choose(range(1000)))
    kinds = ["struct", "map"]
    first = choose(kinds)
    for kind in (first, *(other for other in kinds if other != first)):
        make = _struct if kind == "struct" else _map
        try:
            make(values, seed, values)
        except CannotHold as reason:
            failure = reason
            continue
        return lambda items: make(items, seed, values)
    raise failure


def object_array(values: Sequence[Any], kind: str, choose: Chooser) -> pa.Array:
    """Objects (or None) as a struct or a map."""
    make = _struct if kind == "struct" else _map
    seed = str(choose(range(1000)))
    return _offset(values, lambda items: make(items, seed, values), choose)


def _struct(items: Sequence[Any], seed: str, everything: Sequence[Any]) -> pa.Array:
    """A struct with the keys of ``everything``; under a null struct the children hold what must not count."""
    keys = sorted({key for value in everything if value is not None for key in value})
    if not keys:
        raise CannotHold("a struct without children")
    junk = seeded(seed + "junk")([True, False])
    children = []
    for key in keys:
        if any("\ud800" <= character <= "\udfff" for character in key):
            raise CannotHold("a lone surrogate in a struct's key")
        known = [value.get(key) for value in everything if value is not None]
        under = next((value for value in known if value is not None), None) if junk else None
        column = [under if item is None else item.get(key) for item in items]
        children.append(typed_array([*column, *known], seeded(seed + key)).slice(0, len(column)))
    mask = pa.array([item is None for item in items], pa.bool_())
    return pa.StructArray.from_arrays(children, keys, mask=mask)


def _map(items: Sequence[Any], seed: str, everything: Sequence[Any]) -> pa.Array:
    known = [item for value in everything if value is not None for item in value.values()]
    keys = [key for item in items if item is not None for key in item]
    if any("\ud800" <= character <= "\udfff" for key in keys for character in key):
        raise CannotHold("a lone surrogate in a map's key")
    column = [value for item in items if item is not None for value in item.values()]
    values = typed_array([*column, *known], seeded(seed)).slice(0, len(column))
    key_type = seeded(seed)([pa.string(), pa.large_string(), pa.string_view()])
    offsets = [0]
    for item in items:
        offsets.append(offsets[-1] + len(item or ()))
    entries = pa.StructArray.from_arrays(
        [pa.array(keys, key_type), values],
        fields=[pa.field("key", key_type, nullable=False), pa.field("value", values.type)],
    )
    type = pa.map_(key_type, values.type)
    validity = None if None not in items else pa.array([item is not None for item in items]).buffers()[1]
    buffers = [validity, pa.array(offsets, pa.int32()).buffers()[1]]
    return pa.Array.from_buffers(type, len(items), buffers, children=[entries])


_BUILDERS: dict[str, Callable[[Sequence[Any], Chooser], Builder]] = {
    "null": _build_nulls,
    "bool": _build_bools,
    "string": _build_strings,
    "number": _build_numbers,
    "instant": _build_instants,
    "array": _build_arrays,
    "object": _build_objects,
}


# ---------------------------------------------------------------------------------------------------------------------
# whole batches

METADATA = (*TEXT_KINDS, "struct", "map", "flattened")
"""How the metadata may be stored."""


def lay_out(
    records: Sequence[Record],
    metadata: str,
    choose: Chooser,
    texts: Sequence[bytes | None] | None = None,
    columns: Sequence[str] | None = None,
    instants: bool = True,
) -> pa.RecordBatch:
    """Records as a batch.

    Args:
        records: dicts of values; ``metadata`` a dict, or for the JSON kinds any value.
        metadata: one of :data:`METADATA`.
        choose: makes every smaller choice.
        texts: the metadata's JSON texts, where they are given; else they are written.
        columns: the columns other than metadata to make, in order; else all that occur.
        instants: whether a column of ISO 8601 strings under a timestamp's name may become a typed one.

    Raises:
        CannotHold: this layout cannot hold the records.
    """
    if columns is None:
        columns = sorted({name for record in records for name in record} - {"metadata"})
    arrays: dict[str, pa.Array] = {}
    for name in columns:
        values = [_record_column(record, name) for record in records]
        if instants and name in TIMESTAMPS and choose([True, True, False]):
            values = _instants(values)
        arrays[name] = typed_array(values, choose)
    roots = [record.get("metadata", MISSING) for record in records]
    if metadata in TEXT_KINDS:
        if texts is None:
            texts = [None if root is MISSING or root is None else json_text(root).encode() for root in roots]
        arrays["metadata"] = json_columns(texts, metadata, choose)
    else:
        objects = [None if root is MISSING else root for root in roots]
        if any(not isinstance(root, dict) and root is not None for root in objects):
            raise CannotHold("metadata that is no object")
        if metadata == "flattened":
            keys = sorted({key for root in objects if root is not None for key in root})
            for key in keys:
                arrays[f"metadata.{key}"] = typed_array(
                    [None if root is None else root.get(key) for root in objects], choose
                )
        else:
            arrays["metadata"] = object_array(objects, metadata, choose)
    if not arrays:
        arrays["unused"] = pa.array(range(len(records)), pa.int64())
    return pa.RecordBatch.from_arrays(list(arrays.values()), list(arrays))


TIMESTAMPS = ("created_at", "updated_at", "event_date", "last_accessed_at")


def _record_column(record: Record, name: str) -> Any:
    value = record.get(name)
    return None if value is MISSING else value


def _instants(values: Sequence[Any]) -> list[Any]:
    """ISO 8601 strings as instants, if all are and some type holds them."""
    read = [oracle.instant_of(value) if isinstance(value, str) else None for value in values]
    if any(value is not None and instant is None for value, instant in zip(values, read, strict=True)):
        return list(values)
    instants = [None if instant is None else Instant(instant) for instant in read]
    return instants if instant_types(instants) else list(values)


@dataclass(frozen=True)
class Shape:
    """A way to cut a batch: the data to evaluate, and which of the batch's rows they are."""

    name: str
    cut: Callable[[pa.RecordBatch], tuple[pa.RecordBatch | pa.Table, list[int]]]


def _sliced(offset: int) -> Callable[[pa.RecordBatch], tuple[pa.RecordBatch, list[int]]]:
    """The batch again, from somewhere inside a longer one."""

    def cut(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[int]]:
        num_rows = batch.num_rows
        if not num_rows:
            return batch, []
        before = [row % num_rows for row in range(-offset, 0)]
        long = take(batch, [*before, *range(num_rows), *range(min(num_rows, 3))])
        return long.slice(offset, num_rows), list(range(num_rows))

    return cut


def take(batch: pa.RecordBatch, rows: list[int]) -> pa.RecordBatch:
    """Rows of a batch, any number of times, in the same types."""
    arrays = []
    for array in batch.columns:
        pieces = []
        start = 0
        while start < len(rows):
            end = start + 1
            while end < len(rows) and rows[end] == rows[end - 1] + 1:
                end += 1
            pieces.append(array.slice(rows[start], end - start))
            start = end
        arrays.append(_concatenated(pieces) if pieces else array.slice(0, 0))
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _concatenated(pieces: list[pa.Array]) -> pa.Array:
    """Slices of one array, one after the other."""
    type = pieces[0].type
    if pa.types.is_dictionary(type):
        indices = pa.concat_arrays([piece.indices for piece in pieces])
        return pa.DictionaryArray.from_arrays(indices, pieces[0].dictionary)
    if pa.types.is_run_end_encoded(type):
        ends = pieces[0].run_ends.to_pylist()
        rows = [row for piece in pieces for row in range(piece.offset, piece.offset + len(piece))]
        values = [pieces[0].values.slice(bisect.bisect_right(ends, row), 1) for row in rows]
        ends_type = pieces[0].run_ends.type
        return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(rows) + 1), ends_type), _concatenated(values))
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, _concatenated([piece.storage for piece in pieces]))
    try:
        return pa.concat_arrays(pieces)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise CannotHold(f"pyarrow cannot concatenate a type: {error}") from error


def _chunked(batch: pa.RecordBatch) -> tuple[pa.Table, list[int]]:
    """Three chunks, the middle one empty; the last one's dictionaries are turned round."""
    half = batch.num_rows // 2
    last = batch.slice(half)
    turned = [_turned(array) if pa.types.is_dictionary(array.type) else array for array in last.columns]
    chunks = [batch.slice(0, half), batch.slice(0, 0), pa.RecordBatch.from_arrays(turned, schema=batch.schema)]
    return pa.Table.from_batches(chunks), list(range(batch.num_rows))


def _turned(array: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same values with the dictionary in reverse order."""
    size = len(array.dictionary)
    indices = [None if index is None else size - 1 - index for index in array.indices.to_pylist()]
    pieces = [array.dictionary.slice(entry, 1) for entry in reversed(range(size))]
    dictionary = _concatenated(pieces) if pieces else array.dictionary
    return pa.DictionaryArray.from_arrays(pa.array(indices, array.indices.type), dictionary)


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("whole", lambda batch: (batch, list(range(batch.num_rows)))),
        *(Shape(f"sliced-{offset}", _sliced(offset)) for offset in (1, 7, 8, 9, 63, 65)),
        Shape(
            "tail", lambda batch: (batch.slice(batch.num_rows // 3), list(range(batch.num_rows // 3, batch.num_rows)))
        ),
        Shape("chunked", _chunked),
        Shape("empty", lambda batch: (batch.slice(batch.num_rows // 2, 0), [])),
    )
}
"""The ways to cut a batch."""


# ---------------------------------------------------------------------------------------------------------------------
# what a batch holds


def faithful(expression: expr.Expression, records: Sequence[Record], batch: pa.RecordBatch) -> None:
    """Makes sure that a batch gives the fields of an expression the values the records have.

    NULL counts for MISSING unless the expression tells them apart.

    Raises:
        CannotHold: the layout changed a value.
    """
    apart = any(isinstance(leaf, expr.IsNull | expr.JsonContains) for leaf in expr.leaves(expression))
    text = any(
        isinstance(leaf, expr.TextEqualsAny | expr.TextNumberRange | expr.JsonContains)
        for leaf in expr.leaves(expression)
    )
    for field in {leaf.field for leaf in expr.leaves(expression)}:
        for record, value in zip(records, oracle.values_of(batch, field), strict=True):
            _same(oracle.record_value(record, field), value, apart, text)


def _same(wanted: Any, held: Any, apart: bool, text: bool) -> None:
    """Raises unless two values are the same; ``text`` says that a number's text counts."""
    if apart and (wanted is MISSING) != (held is MISSING):
        raise CannotHold("a missing key became null")
    if wanted is MISSING or wanted is None or held is MISSING or held is None or isinstance(held, oracle.NullObject):
        if (wanted is MISSING or wanted is None) and (
            held is MISSING or held is None or isinstance(held, oracle.NullObject)
        ):
            return
        raise AssertionError(f"a layout made {held!r} of {wanted!r}")
    if isinstance(held, Instant) and isinstance(wanted, str) and oracle.instant_of(wanted) == held.nanoseconds:
        return
    if _kind(wanted) != _kind(held):
        raise AssertionError(f"a layout made {held!r} of {wanted!r}")
    if isinstance(wanted, list):
        if len(wanted) != len(held):
            raise AssertionError(f"a layout made {held!r} of {wanted!r}")
        for left, right in zip(wanted, held, strict=True):
            _same(left, right, apart, text)
    elif isinstance(wanted, dict):
        if text and wanted.keys() != held.keys():
            raise CannotHold("a missing key became null")
        for key in wanted:
            _same(wanted[key], held[key], apart, text)
    elif _kind(wanted) == "number":
        if text and oracle.number_text(wanted) != oracle.number_text(held):
            raise CannotHold("a number's spelling")
        exact = math.isfinite(wanted) and math.isfinite(held) and _as_decimal(wanted) == _as_decimal(held)
        if not exact and wanted != held and (wanted == wanted or held == held):
            raise AssertionError(f"a layout made {held!r} of {wanted!r}")
    elif wanted != held:
        raise AssertionError(f"a layout made {held!r} of {wanted!r}")
