"""The oracle: what an expression means, row by row, on Python values. It is deliberately slow and simple.

It imports the expression's nodes and the plain types of values, and none of the rules the product compares by: numbers
are compared as fractions, timestamps are read with numpy's calendar, JSON with the standard library's parser, and
UTF-16 order, JSONB text and containment are written out here a second time.

A value is ``MISSING``, ``None``, ``bool``, a number (``int``, ``float``, ``JsonFloat``, ``numpy.float16``,
``numpy.float32`` or ``Decimal``), ``str``, ``Instant``, ``list`` or ``dict``; :class:`NullObject` is a null struct.
"""

from __future__ import annotations

import bisect
import contextlib
import datetime
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa

from fastfilter.compiler import expr
from fastfilter.values import MISSING, Elements, Instant, JsonFloat

type_of_number = (int, float, np.floating, Decimal)
Value = object
Lookup = Callable[[expr.Field], Value]


class NullObject(dict):  # type: ignore[type-arg]
    """A null struct: its value is NULL, and its children are there, NULL too."""


# ---------------------------------------------------------------------------------------------------------------------
# expressions


def evaluate(expression: expr.Expression, value_of: Lookup) -> bool:
    """Whether the expression is true on the row whose fields ``value_of`` gives."""
    if isinstance(expression, expr.Literal):
        return expression.value
    if isinstance(expression, expr.And):
        return all(evaluate(child, value_of) for child in expression.children)
    if isinstance(expression, expr.Or):
        return any(evaluate(child, value_of) for child in expression.children)
    if isinstance(expression, expr.Not):
        return not evaluate(expression.child, value_of)
    with _deep():
        return _LEAVES[type(expression)](expression, value_of(expression.field))


@contextlib.contextmanager
def _deep() -> Iterator[None]:
    """Room for recursion over the deepest JSON there may be."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def evaluate_record(expression: expr.Expression, record: Mapping[str, Value]) -> bool:
    """The same for a record, as the API would show it."""
    return evaluate(expression, lambda field: record_value(record, field))


def evaluate_batch(expression: expr.Expression, batch: pa.RecordBatch, **names: object) -> list[bool]:
    """The same for every row of an Arrow batch; ``names`` go to :func:`values_of`."""
    fields = {leaf.field: values_of(batch, leaf.field, **names) for leaf in expr.leaves(expression)}  # type: ignore[arg-type]
    return [
        evaluate(expression, lambda field, row=row: fields[field][row])  # type: ignore[misc]
        for row in range(batch.num_rows)
    ]


def _is_number(value: Value) -> bool:
    return isinstance(value, type_of_number) and not isinstance(value, bool)


def _is_null(value: Value) -> bool:
    return value is None or isinstance(value, NullObject)


def _exists(leaf: expr.Exists, value: Value) -> bool:
    return value is not MISSING and not _is_null(value)


def _is_null_leaf(leaf: expr.IsNull, value: Value) -> bool:
    return _is_null(value)


def _equals_any(leaf: expr.EqualsAny, value: Value) -> bool:
    if value is MISSING or _is_null(value):
        return False
    if isinstance(value, list):
        if leaf.elements is Elements.NEVER:
            return False
        return any(leaf.constant.null if _is_null(element) else _in_set(leaf, element) for element in value)
    return leaf.elements is not Elements.ONLY and _in_set(leaf, value)


def _in_set(leaf: expr.EqualsAny, value: Value) -> bool:
    constant = leaf.constant
    if isinstance(value, bool):
        return constant.true if value else constant.false
    if _is_number(value):
        return any(compare_numbers(value, number) == 0 for number in constant.numbers)
    if isinstance(value, str):
        return value in constant.strings or instant_of(value) in constant.instants
    if isinstance(value, Instant):
        return value.nanoseconds in {*constant.instants, *(instant_of(text) for text in constant.strings)}
    return False


def _in_intervals(intervals: expr.Intervals, compare: Callable[[int | float], int | None]) -> bool:
    """``compare`` says where the value lies from a bound: below zero, zero, above, or None for nowhere."""
    for interval in intervals.values:
        above = below = True
        if interval.lower is not None:
            order = compare(interval.lower)
            above = order is not None and (order > 0 or (order == 0 and interval.lower_closed))
        if interval.upper is not None:
            order = compare(interval.upper)
            below = order is not None and (order < 0 or (order == 0 and interval.upper_closed))
        if above and below:
            return True
    return False


def _number_range(leaf: expr.NumberRange, value: Value) -> bool:
    if not _is_number(value) or not math.isfinite(value):  # type: ignore[arg-type]
        return False
    return _in_intervals(leaf.constant, lambda bound: compare_numbers(value, bound))


def _string_range(leaf: expr.StringRange, value: Value) -> bool:
    left: object
    right: object
    if isinstance(value, str):
        left, right = utf16_units(value), utf16_units(leaf.constant.value)
    elif isinstance(value, Instant):
        left, right = value.nanoseconds, instant_of(leaf.constant.value)
        if right is None:
            return False
    else:
        return False
    return {"gt": left > right, "gte": left >= right, "lt": left < right, "lte": left <= right}[leaf.constant.operator]  # type: ignore[operator]


def _timestamp_range(leaf: expr.TimestampRange, value: Value) -> bool:
    instant = value.nanoseconds if isinstance(value, Instant) else instant_of(value) if isinstance(value, str) else None
    if instant is None:
        return False
    return _in_intervals(leaf.constant, lambda bound: (instant > bound) - (instant < bound))


def _contains(leaf: expr.Contains, value: Value) -> bool:
    text = leaf.constant.value
    if isinstance(value, str):
        return text in value
    if isinstance(value, list):
        return any(
            element == text
            if isinstance(element, str)
            else isinstance(element, Instant) and element.nanoseconds == instant_of(text)
            for element in value
        )
    return False


def _contains_ignore_case(leaf: expr.ContainsIgnoreCase, value: Value) -> bool:
    text = leaf.constant.value.lower()
    if isinstance(value, str):
        return text in value.lower()
    return isinstance(value, list) and any(isinstance(element, str) and element.lower() == text for element in value)


def _text_equals_any(leaf: expr.TextEqualsAny, value: Value) -> bool:
    if isinstance(value, Instant):
        return value.nanoseconds in [instant_of(text) for text in leaf.constant.values]
    return value is not MISSING and not _is_null(value) and jsonb_text(value) in leaf.constant.values


def _text_number_range(leaf: expr.TextNumberRange, value: Value) -> bool:
    if value is MISSING or _is_null(value) or isinstance(value, Instant):
        return False
    text = jsonb_text(value)
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text) or math.isinf(float(text)):
        return False
    number = float(text)
    return _in_intervals(leaf.constant, lambda bound: (number > float(bound)) - (number < float(bound)))


def _json_contains(leaf: expr.JsonContains, value: Value) -> bool:
    pattern = parse_json(leaf.constant.text)
    if value is MISSING:
        return False
    if isinstance(pattern, str):
        if isinstance(value, Instant):
            return value.nanoseconds == instant_of(pattern)
        if isinstance(value, list) and any(isinstance(element, Instant) for element in value):
            return instant_of(pattern) in [element.nanoseconds for element in value if isinstance(element, Instant)]
    value, pattern = as_json(value), as_json(pattern)
    if isinstance(value, list) and not isinstance(pattern, list | dict):
        return any(_same_scalar(element, pattern) for element in value)
    return _contained(pattern, value)


_LEAVES: dict[type, Callable[..., bool]] = {
    expr.Exists: _exists,
    expr.IsNull: _is_null_leaf,
    expr.EqualsAny: _equals_any,
    expr.NumberRange: _number_range,
    expr.StringRange: _string_range,
    expr.TimestampRange: _timestamp_range,
    expr.Contains: _contains,
    expr.ContainsIgnoreCase: _contains_ignore_case,
    expr.TextEqualsAny: _text_equals_any,
    expr.TextNumberRange: _text_number_range,
    expr.JsonContains: _json_contains,
}


# ---------------------------------------------------------------------------------------------------------------------
# numbers, strings, instants


def compare_numbers(value: Value, literal: int | float) -> int | None:
    """Below zero, zero or above as the value lies from a literal, exactly; None if it is ordered with nothing.

    A float literal that is no whole number counts, against a Decimal, as the decimal it is spelled as.
    """
    if not math.isfinite(value):  # type: ignore[arg-type]
        return None
    if math.isinf(literal):
        return -1 if literal > 0 else 1
    spelled = isinstance(value, Decimal) and not float(literal).is_integer()
    exact = Fraction(Decimal(repr(literal))) if spelled else Fraction(literal)
    own = Fraction(value) if isinstance(value, int | float | Decimal) else Fraction(float(value))  # type: ignore[arg-type]
    return (own > exact) - (own < exact)


def utf16_units(text: str) -> list[int]:
    """The UTF-16 code units of a string; a lone surrogate is the unit it is."""
    units: list[int] = []
    for point in map(ord, text):
        if point > 0xFFFF:
            units += [0xD800 + ((point - 0x10000) >> 10), 0xDC00 + ((point - 0x10000) & 0x3FF)]
        else:
            units.append(point)
    return units


def instant_of(text: str) -> int | None:
    """Nanoseconds since the epoch of a full ISO 8601 timestamp, else None."""
    match = re.fullmatch(
        "([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})", text
    )
    if not match:
        return None
    date, hour, minute, second, fraction, zone = match.groups()
    try:
        days = int(np.datetime64(date, "D").astype(np.int64))
    except ValueError:
        return None
    seconds = int(hour) * 3600 + int(minute) * 60 + int(second)
    nanoseconds = int(Fraction("0" + (fraction or ".0")) * 10**9)
    if int(minute) > 59 or int(second) > 59 or seconds > 86_400 or (seconds == 86_400 and nanoseconds):
        return None
    if zone != "Z":
        if int(zone[1:3]) > 23 or int(zone[4:]) > 59:
            return None
        seconds -= (1 if zone[0] == "+" else -1) * (int(zone[1:3]) * 3600 + int(zone[4:]) * 60)
    return (days * 86_400 + seconds) * 10**9 + nanoseconds


def instant_text(instant: int) -> str:
    """An instant as JavaScript's toISOString spells it, with as many thousandths as it needs."""
    seconds, nanoseconds = divmod(instant, 10**9)
    days, second = divmod(seconds, 86_400)
    year, month, day = re.fullmatch(r"(-?\d+)-(\d\d)-(\d\d)", str(np.datetime64(days, "D"))).groups()  # type: ignore[union-attr]
    spelled = f"{int(year):04d}" if 0 <= int(year) <= 9999 else f"{int(year):+07d}"
    fraction = f"{nanoseconds:09d}"
    while len(fraction) > 3 and fraction.endswith("000"):
        fraction = fraction[:-3]
    return f"{spelled}-{month}-{day}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{fraction}Z"


# ---------------------------------------------------------------------------------------------------------------------
# JSON and JSONB


def parse_json(text: str | bytes) -> Value:
    """A JSON value, by RFC 8259.

    Raises:
        ValueError: the text is not well-formed UTF-8 or JSON, or nests deeper than 1,024.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    depth = deepest = 0
    for mark in re.findall(r'[][{}]|"(?:[^"\\]|\\.)*"', text, re.DOTALL):
        depth += (mark in "[{") - (mark in "]}")
        deepest = max(deepest, depth)
    if deepest > 1024:
        raise ValueError("nested deeper than 1,024")
    with _deep():
        return json.loads(text, parse_int=_json_integer, parse_float=JsonFloat, parse_constant=_refuse_constant)


def _json_integer(digits: str) -> int | JsonFloat:
    if len(digits) <= 20 and -(2**63) <= int(digits) < 2**64:
        return int(digits)
    return JsonFloat(digits)


def _refuse_constant(name: str) -> Value:
    raise ValueError(f"{name} is not JSON")


def number_text(number: Value) -> str:
    """A number in plain digits: a JSON number's and a Decimal's own, else the shortest that give it back."""
    if isinstance(number, JsonFloat):
        spelled = number.spelling
    elif isinstance(number, Decimal):
        if not number.is_finite():
            return {"NaN": "NaN", "sNaN": "NaN", "Infinity": "Infinity", "-Infinity": "-Infinity"}[str(number)]
        spelled = str(number)
    elif not math.isfinite(number):  # type: ignore[arg-type]
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"  # type: ignore[arg-type,operator]
    elif isinstance(number, int):
        return str(int(number))
    elif isinstance(number, np.float16 | np.float32):
        spelled = np.format_float_scientific(number, unique=True, trim="-")
    else:
        spelled = repr(float(number))  # type: ignore[arg-type]
        spelled = spelled.removesuffix(".0")
    sign, whole, fraction, exponent = re.fullmatch(r"(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?", spelled).groups(
        default=""
    )  # type: ignore[union-attr]
    shift = max(-100_000, min(100_000, int(exponent or "0")))
    digits = whole + fraction
    point = len(whole) + shift
    if point > len(digits):
        digits += "0" * (point - len(digits))
    if point < 1:
        digits = "0" * (1 - point) + digits
        point = 1
    plain = digits[:point].lstrip("0") or "0"
    if digits[point:]:
        plain += "." + digits[point:]
    return ("-" if sign and plain.strip("0.") else "") + plain


def jsonb_text(value: Value) -> str:
    """What ``->>`` gives for a value that is neither MISSING nor NULL."""
    if isinstance(value, str):
        return value
    if _is_number(value):
        return number_text(value)
    return jsonb_print(value)


def jsonb_print(value: Value) -> str:
    """A value as JSONB prints it inside an array or object."""
    if value is None or isinstance(value, NullObject):
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(map(jsonb_print, value)) + "]"
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(_utf8(key)), _utf8(key)))
        return "{" + ", ".join(f"{_quote(key)}: {jsonb_print(value[key])}" for key in keys) + "}"
    if isinstance(value, Instant):
        return _quote(instant_text(value.nanoseconds))
    if isinstance(value, str):
        return _quote(value)
    return number_text(value) if math.isfinite(value) or isinstance(value, JsonFloat) else _quote(number_text(value))  # type: ignore[arg-type]


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _quote(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(c, f"\\u{ord(c):04x}" if c < " " else c) for c in text) + '"'


def as_json(value: Value) -> Value:
    """A value as the JSON value it renders as, its numbers as Fraction, or NaN for one that equals nothing."""
    if isinstance(value, list):
        return [as_json(element) for element in value]
    if _is_null(value):
        return None
    if isinstance(value, dict):
        return {key: as_json(element) for key, element in value.items()}
    if isinstance(value, Instant):
        return instant_text(value.nanoseconds)
    if isinstance(value, bool | str):
        return value
    if not isinstance(value, JsonFloat) and not math.isfinite(value):  # type: ignore[arg-type]
        return number_text(value)
    number = value if isinstance(value, JsonFloat) else JsonFloat(number_text(value))
    if re.fullmatch(r"-?\d+", number.spelling):
        number = _json_integer(number.spelling)  # type: ignore[assignment]
    return Fraction(number) if math.isfinite(number) else math.nan


def _same_scalar(left: Value, right: Value) -> bool:
    return type(left) is type(right) and not isinstance(left, list | dict) and left == right


def _contained(pattern: Value, value: Value) -> bool:
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(key in value and _contained(pattern[key], value[key]) for key in pattern)
    if isinstance(pattern, list):
        return isinstance(value, list) and all(
            any(_contained(wanted, element) for element in value) for wanted in pattern
        )
    return _same_scalar(pattern, value)


# ---------------------------------------------------------------------------------------------------------------------
# rows: records, and what an Arrow batch holds


def record_value(record: Mapping[str, Value], field: expr.Field, metadata: str = "metadata") -> Value:
    """The value of a field in a record. A record's metadata may be JSON text."""
    if field.role.name == "COLUMN":
        return plain_value(record.get(field.path[0], MISSING))
    root = record.get(metadata, MISSING)
    if isinstance(root, str | bytes):
        root = _json_or_missing(root)
    return walk(plain_value(root), field.path)


def plain_value(value: Value) -> Value:
    """A record's value with its datetimes as instants."""
    if isinstance(value, datetime.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        since = aware - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        return Instant((since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000)
    if isinstance(value, datetime.date):
        return Instant((value - datetime.date(1970, 1, 1)).days * 86_400 * 10**9)
    if isinstance(value, np.datetime64):
        return Instant(int(value.astype(np.int64)) * {"s": 10**9, "ns": 1}[np.datetime_data(value.dtype)[0]])
    if isinstance(value, list):
        return [plain_value(element) for element in value]
    if isinstance(value, dict) and not isinstance(value, NullObject):
        return {key: plain_value(element) for key, element in value.items()}
    return value


def walk(value: Value, path: Sequence[str]) -> Value:
    """The value at a path of literal keys."""
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return MISSING
        value = value[key]
    return value


def _json_or_missing(text: str | bytes) -> Value:
    try:
        return parse_json(text)
    except ValueError:
        return MISSING


def values_of(
    batch: pa.RecordBatch,
    field: expr.Field,
    *,
    metadata: str = "metadata",
    columns: Mapping[str, str] | None = None,
) -> list[Value]:
    """The logical values of a field, one for each row of a batch."""
    names = batch.schema.names
    if field.role.name == "COLUMN":
        name = (columns or {}).get(field.path[0], field.path[0])
        return python_values(batch.column(name)) if name in names else [MISSING] * batch.num_rows
    found = places(batch.schema, field, metadata)
    if not found:
        return [MISSING] * batch.num_rows
    ((name, path),) = found
    column = batch.column(name)
    if name == metadata and is_text(column.type):
        return [MISSING if text is None else walk(_json_or_missing(text), path) for text in texts_of(column)]
    return [walk(value, path) for value in python_values(column)]


def places(schema: pa.Schema, field: expr.Field, metadata: str = "metadata") -> list[tuple[str, tuple[str, ...]]]:
    """The columns in which a metadata field may be found, each with the path inside it; two are an ambiguity."""
    found = []
    for end in range(len(field.path) + 1):
        name = ".".join((metadata, *field.path[:end]))
        if name in schema.names:
            type = schema.field(name).type
            if (end == 0 and is_text(type)) or type_at(type, field.path[end:]) is not None:
                found.append((name, field.path[end:]))
    return found


def type_at(type: pa.DataType, path: Sequence[str]) -> pa.DataType | None:
    """The type at a path inside a type; None if there is no such path. What is inside JSON has the type of JSON."""
    type = plain_type(type)
    for key in path:
        if pa.types.is_struct(type) and type.get_field_index(key) >= 0:
            type = plain_type(type.field(key).type)
        elif pa.types.is_map(type):
            type = plain_type(type.item_type)
        elif not isinstance(type, pa.BaseExtensionType) or type.extension_name != "arrow.json":
            return None
    return type


def plain_type(type: pa.DataType) -> pa.DataType:
    """A type without encodings, and without the extensions over strings that say nothing."""
    while True:
        if pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
            type = type.value_type
        elif isinstance(type, pa.BaseExtensionType) and type.extension_name not in ("arrow.json", "arrow.uuid"):
            type = type.storage_type
        else:
            return type


def type_of(schema: pa.Schema, field: expr.Field, metadata: str = "metadata") -> pa.DataType | None:
    """The type of a field's values; None if it has no column, or its values are JSON."""
    if field.role.name == "COLUMN":
        return plain_type(schema.field(field.path[0]).type) if field.path[0] in schema.names else None
    for name, path in places(schema, field, metadata):
        type = type_at(schema.field(name).type, path)
        if type is not None and not isinstance(type, pa.BaseExtensionType) and not (name == metadata and is_text(type)):
            return type
    return None


def is_text(type: pa.DataType) -> bool:
    """Whether a metadata column of this type is JSON text."""
    while pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
        type = type.value_type
    if isinstance(type, pa.BaseExtensionType):
        return type.extension_name == "arrow.json" or is_text(type.storage_type)
    return pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type)


def texts_of(array: pa.Array) -> list[bytes | None]:
    """The texts of a column, as bytes."""
    type = array.type
    if isinstance(type, pa.BaseExtensionType):
        return texts_of(array.storage)
    if pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
        return _decode(array, texts_of)
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[type]
    return array.view(binary).to_pylist()  # type: ignore[no-any-return]


def _decode(array: pa.Array, values: Callable[[pa.Array], list[object]]) -> list[object]:
    if pa.types.is_dictionary(array.type):
        entries = values(array.dictionary)
        return [None if index is None else entries[index] for index in array.indices.to_pylist()]
    runs = values(array.values)
    ends = array.run_ends.to_pylist()
    return [runs[bisect.bisect_right(ends, row)] for row in range(array.offset, array.offset + len(array))]


def python_values(array: pa.Array) -> list[Value]:
    """The logical values of an Arrow array."""
    type = array.type
    if isinstance(type, pa.BaseExtensionType):
        if type.extension_name == "arrow.json":
            return [None if text is None else _json_or_missing(text) for text in texts_of(array)]
        return [str(value) for value in array.to_pylist()] if _is_uuid(type) else python_values(array.storage)
    if pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
        return _decode(array, python_values)
    if pa.types.is_struct(type):
        children = {type.field(i).name: python_values(array.field(i)) for i in range(type.num_fields)}
        return [
            {name: values[row] for name, values in children.items()} if valid else _null_object(type)
            for row, valid in enumerate(array.is_valid().to_pylist())
        ]
    if pa.types.is_map(type):
        keys, items = python_values(array.keys), python_values(array.items)
        return _slices(array, lambda i, j: dict(zip(keys[i:j], items[i:j], strict=True)))
    if pa.types.is_fixed_size_list(type):
        values, size = python_values(array.values), type.list_size
        starts = [(array.offset + row) * size for row in range(len(array))]
        return [
            values[i : i + size] if ok else None for i, ok in zip(starts, array.is_valid().to_pylist(), strict=True)
        ]
    if pa.types.is_list_view(type) or pa.types.is_large_list_view(type):
        values = python_values(array.values)
        spans = zip(array.offsets.to_pylist(), array.sizes.to_pylist(), array.is_valid().to_pylist(), strict=True)
        return [values[i : i + size] if ok else None for i, size, ok in spans]
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        values = python_values(array.values)
        return _slices(array, lambda i, j: values[i:j])
    return [None if value is None else _scalar(type, value) for value in _plain(array).to_pylist()]


def _is_uuid(type: pa.DataType) -> bool:
    return bool(type.extension_name == "arrow.uuid")


def _null_object(type: pa.DataType) -> NullObject:
    children = {child.name: child.type for child in (type.field(i) for i in range(type.num_fields))}
    return NullObject({name: _null_object(of) if pa.types.is_struct(of) else None for name, of in children.items()})


def _slices(array: pa.Array, take: Callable[[int, int], Value]) -> list[Value]:
    offsets = array.offsets.to_pylist()
    return [take(offsets[i], offsets[i + 1]) if ok else None for i, ok in enumerate(array.is_valid().to_pylist())]


def _plain(array: pa.Array) -> pa.Array:
    """Instants as integers of their unit."""
    if pa.types.is_timestamp(array.type) or pa.types.is_date64(array.type):
        return array.view(pa.int64())
    return array.view(pa.int32()) if pa.types.is_date32(array.type) else array


def _scalar(type: pa.DataType, value: Value) -> Value:
    if pa.types.is_timestamp(type):
        return Instant(value * {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[type.unit])  # type: ignore[operator]
    if pa.types.is_date64(type):
        return Instant(value * 10**6)  # type: ignore[operator]
    if pa.types.is_date32(type):
        return Instant(value * 86_400 * 10**9)  # type: ignore[operator]
    if pa.types.is_float16(type):
        return np.float16(value)  # type: ignore[arg-type]
    if pa.types.is_float32(type):
        return np.float32(value)  # type: ignore[arg-type]
    if pa.types.is_decimal(type):
        sign, digits, exponent = value.as_tuple()  # type: ignore[attr-defined]
        while exponent < 0 and len(digits) > 1 and digits[-1] == 0:
            digits, exponent = digits[:-1], exponent + 1
        return Decimal(0) if digits == (0,) else Decimal((sign, digits, exponent))
    return value
