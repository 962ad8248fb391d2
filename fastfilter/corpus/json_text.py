"""Arrow columns as JSON text: what JSONL and nested CSV cells are written with. Nothing is rounded or left out.

Numbers are spelled as the shortest decimal that gives them back; NaN and the infinities, which JSON does not have, as
the texts ``"NaN"``, ``"Infinity"`` and ``"-Infinity"`` (as PostgreSQL does); timestamps and dates as ISO 8601 with
``Z``. Types without a form in JSON are refused.
"""

from __future__ import annotations

import datetime
import itertools
import json
from collections.abc import Sequence
from json.encoder import encode_basestring
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from fastfilter.corpus.formats import UsageError

__all__ = ["check_json_columns", "check_json_type", "embedded_json", "json_rows", "json_texts"]

_quoted = encode_basestring
_DEEPEST = 1023
"""Nesting of JSON text that, inside a record, is still no deeper than the 1,024 that JSON text may be."""


def json_rows(batch: pa.RecordBatch, metadata: str) -> list[str]:
    """Each row as a JSON object on one line.

    Args:
        batch: the rows; every type has passed :func:`check_json_type`.
        metadata: the column whose text, where it is JSON, is put in as the value it is. Where it is not there, columns
            named ``metadata.key`` are members of the object that it would be.

    Example:
        >>> json_rows(pa.record_batch({"id": ["a"], "metadata": ['{"n": 1}']}), "metadata")
        ['{"id":"a","metadata":{"n": 1}}']
        >>> json_rows(pa.record_batch({"id": ["a"], "metadata.n": [1], "metadata.s.t": ["x"]}), "metadata")
        ['{"id":"a","metadata":{"n":1,"s":{"t":"x"}}}']
    """
    tree = _tree(batch.schema.names, metadata)
    if not tree:
        return ["{}"] * batch.num_rows
    return _object_texts(tree, batch, metadata)


_Tree = dict[str, "str | _Tree"]


def check_json_columns(schema: pa.Schema, metadata: str) -> None:
    """Refuses columns that have no place in a JSON object.

    Raises:
        UsageError: a type has no form in JSON, or of two flattened metadata columns one leads through the other.
    """
    for field in schema:
        check_json_type(field.type, field.name)
    _tree(schema.names, metadata)


def _tree(names: Sequence[str], metadata: str) -> _Tree:
    """The members of each row's object: the columns they come from, flattened metadata brought back into objects."""
    root: _Tree = {}
    for name in names:
        path = [name]
        if name.startswith(metadata + ".") and metadata not in names:
            path = [metadata, *name.removeprefix(metadata + ".").split(".")]
        node = root
        for key in path[:-1]:
            inner = node.setdefault(key, {})
            if isinstance(inner, str):
                raise _collision(name, inner)
            node = inner
        if path[-1] in node:
            raise _collision(name, node[path[-1]])
        node[path[-1]] = name
    return root


def _collision(name: str, other: str | _Tree) -> UsageError:
    while not isinstance(other, str):
        other = next(iter(other.values()))
    return UsageError(
        f"columns {other!r} and {name!r} cannot both be members of one JSON object: choose with --columns, or write "
        "Parquet or Arrow"
    )


def _object_texts(tree: _Tree, batch: pa.RecordBatch, metadata: str) -> list[str]:
    columns = []
    for key, inner in tree.items():
        if not isinstance(inner, str):
            texts = _object_texts(inner, batch, metadata)
        else:
            array = batch.column(inner)
            texts = embedded_json(array) if inner == metadata and _is_text(array.type) else json_texts(array)
        quoted = _quoted(key)
        columns.append([f"{quoted}:{text}" for text in texts])
    return ["{" + ",".join(row) + "}" for row in zip(*columns, strict=True)]


def embedded_json(array: pa.Array) -> list[str]:
    """Texts, each as the JSON value it spells, on one line; one that is no JSON as a JSON string."""
    return ["null" if text is None else _embedded(text) for text in _plain_texts(array)]


def _embedded(text: str) -> str:
    try:
        if text.count("[") + text.count("{") > _DEEPEST and _depth(text) > _DEEPEST:
            return _quoted(text)
        _DECODER.decode(text)
    except (ValueError, RecursionError):
        return _quoted(text)
    # line breaks in well-formed JSON are white space
    return text.replace("\n", " ").replace("\r", " ") if "\n" in text or "\r" in text else text


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


# Only whether it decodes is of interest, and Python refuses to make an int of thousands of digits.
_DECODER = json.JSONDecoder(parse_int=float, parse_constant=_refuse_constant)


def _depth(text: str) -> int:
    """How deeply brackets nest, those in strings counted too: never less than JSON's own nesting."""
    depth = deepest = 0
    for character in text:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def check_json_type(type: pa.DataType, column: str) -> None:
    """Refuses a type that has no form in JSON.

    Raises:
        UsageError: names the column and the type.
    """
    if isinstance(type, pa.BaseExtensionType):
        if type.extension_name != "arrow.uuid":
            check_json_type(type.storage_type, column)
    elif pat.is_dictionary(type) or pat.is_run_end_encoded(type):
        check_json_type(type.value_type, column)
    elif pat.is_nested(type) and not pat.is_union(type):
        for number in range(type.num_fields):
            check_json_type(type.field(number).type, column)
    elif not (
        pat.is_null(type) or pat.is_boolean(type) or pat.is_integer(type) or pat.is_floating(type)
        or pat.is_decimal(type) or _is_text(type) or pat.is_timestamp(type) or pat.is_date(type) or pat.is_time(type)
    ):  # fmt: skip
        raise UsageError(
            f"column {column!r} has type {type}, which has no form in JSON or CSV: leave it out with --columns, or "
            "write Parquet or Arrow"
        )


def json_texts(array: pa.Array) -> list[str]:
    """Each value of an array as JSON text."""
    type = array.type
    if isinstance(type, pa.BaseExtensionType):
        return _extension_texts(array)
    if pat.is_dictionary(type):
        entries = json_texts(array.dictionary)
        return ["null" if index is None else entries[index] for index in array.indices.to_pylist()]
    if pat.is_run_end_encoded(type):
        return json_texts(pc.run_end_decode(array))
    if pat.is_null(type):
        return ["null"] * len(array)
    if _is_text(type):
        return ["null" if text is None else _quoted(text) for text in _plain_texts(array)]
    if pat.is_boolean(type) or pat.is_integer(type) or pat.is_decimal(type):
        return _or_null(array.cast(pa.string()))
    if pat.is_floating(type):
        return _float_texts(array)
    if pat.is_timestamp(type) or pat.is_date(type):
        return _instant_texts(array)
    if pat.is_time(type):
        return [text if text == "null" else f'"{text}"' for text in _or_null(array.cast(pa.string()))]
    if pat.is_struct(type):
        return _struct_texts(array)
    if pat.is_map(type):
        return _map_texts(array)
    return _list_texts(array)


def _is_text(type: pa.DataType) -> bool:
    if pat.is_dictionary(type) or pat.is_run_end_encoded(type):
        return _is_text(type.value_type)
    return bool(pat.is_string(type) or pat.is_large_string(type) or pat.is_string_view(type))


def _plain_texts(array: pa.Array) -> list[str | None]:
    if pat.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    if pat.is_dictionary(array.type):
        array = array.dictionary_decode()
    texts: list[str | None] = array.to_pylist()
    return texts


def _or_null(texts: pa.Array) -> list[str]:
    return ["null" if text is None else text for text in texts.to_pylist()]


def _extension_texts(array: pa.Array) -> list[str]:
    name = array.type.extension_name
    if name == "arrow.uuid":
        return ["null" if value is None else f'"{value}"' for value in array.to_pylist()]
    return embedded_json(array.storage) if name == "arrow.json" else json_texts(array.storage)


_SPECIAL = {"nan": '"NaN"', "-nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def _float_texts(array: pa.Array) -> list[str]:
    if pat.is_float16(array.type):
        values = array.to_numpy(zero_copy_only=False)
        texts = [np.format_float_positional(value, trim="-") if np.isfinite(value) else str(value) for value in values]
        valid = array.is_valid().to_pylist()
        return [_SPECIAL.get(text, text) if ok else "null" for text, ok in zip(texts, valid, strict=True)]
    return [_SPECIAL.get(text, text) for text in _or_null(array.cast(pa.string()))]


def _instant_texts(array: pa.Array) -> list[str]:
    """Instants as ISO 8601 with ``Z``; a column's zone is how it was meant to be shown, not another instant."""
    type = array.type
    unit = type.unit if pat.is_timestamp(type) else "s" if pat.is_date32(type) else "ms"
    instants = array.cast(pa.timestamp(unit))
    numbers = instants.cast(pa.int64())
    bounds = pc.min_max(numbers).as_py()
    in_second = _PER_SECOND[unit]
    if bounds["min"] is None or _FIRST_SECOND * in_second <= bounds["min"] <= bounds["max"] < _LAST_SECOND * in_second:
        texts = _or_null(pc.strftime(instants, format="%Y-%m-%dT%H:%M:%SZ"))
    else:  # strftime counts years in 16 bits
        texts = ["null" if number is None else _instant_text(number, in_second) for number in numbers.to_pylist()]
    return [text if text == "null" else f'"{text}"' for text in texts]


_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_FIRST_SECOND, _LAST_SECOND = -62_167_219_200, 253_402_300_800
"""The years 0 to 9999, which have four digits."""


def _instant_text(number: int, in_second: int) -> str:
    """An instant of any year; one without four digits has a sign and at least six, as in JavaScript.

    Example:
        >>> _instant_text(-62_167_219_201, 1)
        '-000001-12-31T23:59:59Z'
    """
    seconds, fraction = divmod(number, in_second)
    days, second = divmod(seconds, 86_400)
    # The Gregorian calendar repeats every 400 years, which are 146,097 days; datetime knows one such cycle.
    cycles, day = divmod(days, 146_097)
    date = datetime.date(1970, 1, 1) + datetime.timedelta(day)
    year = date.year + 400 * cycles
    shown = f"{year:04}" if 0 <= year <= 9999 else f"{year:+07}"
    digits = f".{fraction:0{len(str(in_second)) - 1}}" if in_second > 1 else ""
    time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"{shown}-{date.month:02}-{date.day:02}T{time}{digits}Z"


def _struct_texts(array: pa.StructArray) -> list[str]:
    type = array.type
    columns = []
    for number in range(type.num_fields):
        key = _quoted(type.field(number).name)
        # field() applies the offset of a slice, and not the nulls of the struct
        columns.append([f"{key}:{text}" for text in json_texts(array.field(number))])
    rows = ["{" + ",".join(row) + "}" for row in zip(*columns, strict=True)] if columns else ["{}"] * len(array)
    return _with_nulls(rows, array)


def _list_texts(array: Any) -> list[str]:
    return _with_nulls(["[" + ",".join(items) + "]" for items in _runs(array, json_texts(array.values))], array)


def _map_texts(array: pa.MapArray) -> list[str]:
    keys = json_texts(array.keys)
    pairs = [
        f"{key if key.startswith(chr(34)) else _quoted(key)}:{item}"
        for key, item in zip(keys, json_texts(array.items), strict=True)
    ]
    return _with_nulls(["{" + ",".join(items) + "}" for items in _runs(array, pairs)], array)


def _runs(array: Any, values: list[str]) -> list[list[str]]:
    """The values of each list; ``values`` are all that its child has."""
    type = array.type
    if pat.is_fixed_size_list(type):
        size = type.list_size
        starts = range(array.offset * size, (array.offset + len(array)) * size, size) if size else [0] * len(array)
        return [values[start : start + size] for start in starts]
    offsets = array.offsets.to_pylist()
    if pat.is_list(type) or pat.is_large_list(type) or pat.is_map(type):
        return [values[start:stop] for start, stop in itertools.pairwise(offsets)]
    return [values[start : start + size] for start, size in zip(offsets, array.sizes.to_pylist(), strict=True)]


def _with_nulls(texts: list[str], array: pa.Array) -> list[str]:
    if not array.null_count:
        return texts
    return [text if valid else "null" for text, valid in zip(texts, array.is_valid().to_pylist(), strict=True)]
