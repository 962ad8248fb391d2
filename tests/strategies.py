"""Hypothesis strategies: logical rows of every nasty form, filters of both dialects, and expressions.

Rows and filters draw from the same pools, so that they meet. A *shape* is the kind each metadata key has; rows of one
shape can be laid out as a struct, a map or flattened columns, rows of mixed shape as JSON text only.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import layouts
import numpy as np
import oracle
from hypothesis import strategies as st

from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler import expr
from fastfilter.values import Elements, Instant, Interval, JsonFloat, ScalarSet, StringBound, canonical_number

NUMBERS: tuple[int | float, ...] = (
    0, -0.0, 1, -1, 2, 3, 5, 7, 10, 100, 127, 128, -128, -129, 255, 256, 32767, 32768, 65504, 65536, 16777216, 16777217,
    2**31 - 1, 2**31, -(2**31), 2**32, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63, -(2**63), 2**64 - 1,
    2**63 - 1024, 0.1, 0.5, 0.7, 1.5, -1.5, 33.3, 44.4, 100.225, 0.30000000000000004, 1e-7, 5e-324, 1e300,
    1.7976931348623157e308, 9007199254740993.0, 9223372036854775808.0, 1e20, 0.30000001192092896, 65500, 0.0999755859375,
)  # fmt: skip
"""Numbers that rows and filters share."""

SPELLINGS = (
    "1.50", "1e3", "1E+2", "5e-1", "-0.0", "0.0", "10.0", "1e1", "1e400", "-1e400", "1e-400", "18446744073709551616",
    "-9223372036854775809", "123456789012345678901234567890", "0.10", "1000.000", "9007199254740993.0", "0e5", "1.0e-3",
)  # fmt: skip
"""Spellings of JSON numbers that are no canonical integers."""

ODD_FLOATS = (float("nan"), float("inf"), float("-inf"), -0.0)

STRINGS = (
    "", "a", "A", "b", "ab", "abc", "aab", "aaab", "5", "5.0", "05", "-0", "0", "1e3", " 5", "+3", ".8", "0.5", "1.50", "1000", "true", "false",
    "TRUE", "null", "NaN", "Infinity", "[1, 2]", '{"a": 1}', "[]", "{}", "vip", "VIP", "foo", "needle in a haystack", "needle",
    "abcdefghijkl", "abcdefghijklm", "backend one", "backend two", "a_b", "axb", "50%", "\uff61", "\ue000", "\uffff",
    "\U00010000", "\U0001f600", "z", "İstanbul", "istanbul", "ISTANBUL", "ıstanbul", "i̇stanbul", "STANBUL", "ß", "ẞ", "ss", "Straße",
    "straße", "STRASSE", "Σ", "σ", "ς", "ΑΣ", "ας", "ασ", "ΑΣΑ", "Σ.", "é", "e\u0301", "É", "ǅ", "ŉ", "a\0b", "\0", "\n", "\x7f", '"', "\\",
    "2026-07-01T00:00:00Z", "2026-07-01T02:00:00+02:00", "2026-07-01T00:00:00.000000001Z", "2020-02-28T24:00:00Z",
    "2020-02-29T00:00:00Z", "2021-02-29T00:00:00Z", "2016-12-31T23:59:60Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59",
    "9999-12-31T24:00:00.000Z", "1969-12-31T23:59:59.999999999Z", "1970-01-01", "2026-07-01t00:00:00z", "2026-07-01T00:00:00.1234567890Z",
    "fact", "decision", "123e4567-e89b-12d3-a456-426614174000", "x" * 40,
)  # fmt: skip

SURROGATES = ("\ud800", "\udc00a", "a\ud83d")
"""Strings that only JSON escapes can spell."""

TIMESTAMPS = tuple(text for text in STRINGS if oracle.instant_of(text) is not None)

KEYS = ("a", "b", "c", "x-y", "0", "labels", "source", "a.b", "", "é", "metadata")
PATH_KEYS = ("a", "b", "c", "x-y", "0", "labels", "source")

PATHS = tuple((key,) for key in PATH_KEYS) + (("a", "b"), ("source", "a"), ("source", "b", "c"), ("nope",), ("a", "nope"))

TEXT_FIELDS = ("id", "content", "memory_type", "subject", "attribute")
NUMBER_FIELDS = ("importance", "access_count")
TIMESTAMP_FIELDS = ("created_at", "updated_at", "event_date", "last_accessed_at")

strings = st.one_of(st.sampled_from(STRINGS), st.sampled_from(STRINGS), st.text(max_size=6))
"""Strings a typed column can hold."""

json_strings = st.one_of(strings, st.sampled_from(SURROGATES))

plain_numbers = st.one_of(
    st.sampled_from(NUMBERS),
    st.integers(-(2**63), 2**64 - 1),
    st.integers(-300, 300),
    st.floats(allow_nan=False, allow_infinity=False),
)
"""Numbers that JSON can spell; all doubles and 64-bit integers."""

json_numbers = st.one_of(plain_numbers, st.sampled_from(SPELLINGS).map(oracle.parse_json))


decimals = st.decimals(-(10**9), 10**9, places=2).map(lambda value: Decimal(value)) | st.sampled_from(
    [Decimal("33.3"), Decimal("0"), Decimal("100.23"), Decimal("-0.5"), Decimal(10**30), Decimal("0.1"), Decimal(2**64)]
)

instants = st.one_of(
    st.sampled_from([oracle.instant_of(text) for text in TIMESTAMPS]),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(10**6), 10**6).map(lambda days: days * 86_400 * 10**9),
    st.integers(-(10**10), 10**10).map(lambda seconds: seconds * 10**9),
).map(lambda nanoseconds: Instant(nanoseconds))  # type: ignore[arg-type]

# ---------------------------------------------------------------------------------------------------------------------
# rows

json_scalars = st.one_of(st.none(), st.booleans(), json_numbers, json_strings)

json_values = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
"""Any JSON value, as the oracle holds it."""


def _of_shape(shape: Any) -> st.SearchStrategy[Any]:
    """Values of a shape: a kind's name, ``[shape]`` for arrays, a dict of shapes for objects."""
    if isinstance(shape, list):
        return st.lists(_or_null(_of_shape(shape[0])), max_size=3)
    if isinstance(shape, dict):
        optional = {key: _or_null(_of_shape(inner)) for key, inner in shape.items()}
        return st.fixed_dictionaries({}, optional=optional)
    return {
        "bool": st.booleans(),
        "integer": st.one_of(st.sampled_from([n for n in NUMBERS if isinstance(n, int)]), st.integers(-300, 300)),
        "small": st.sampled_from([0, 1, 2, 5, 10, 127]),
        "float": st.one_of(st.sampled_from([float(n) for n in NUMBERS]), st.sampled_from(ODD_FLOATS), st.floats(width=32)),
        "half": st.sampled_from([0.5, 1.5, 5.0, float(np.float16(0.1)), 65504.0, -0.0, float("nan"), float("inf")]),
        "single": st.floats(width=32) | st.sampled_from([float(np.float32(0.1)), float(np.float32(0.7)), 16777216.0]),
        "decimal": decimals,
        "string": strings,
        "instant": instants,
    }[shape]


def _or_null(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, values, st.none())


_SCALAR_SHAPES = st.sampled_from(
    ["bool", "integer", "small", "float", "half", "single", "decimal", "string", "string", "string", "instant"]
)
_SHAPES = st.recursive(
    _SCALAR_SHAPES,
    lambda inner: inner.map(lambda shape: [shape]) | st.dictionaries(st.sampled_from(PATH_KEYS), inner, min_size=1, max_size=3),
    max_leaves=4,
)
metadata_shapes = st.dictionaries(st.sampled_from(KEYS), _SHAPES, min_size=1, max_size=4)

built_ins = {
    "id": st.sampled_from(["", "mem_1", "mem_2", "İ"]),
    "content": strings,
    "memory_type": st.sampled_from(["fact", "decision", "todo", "other"]),
    "subject": strings,
    "attribute": strings,
    "created_at": instants,
    "event_date": st.sampled_from(STRINGS),
    "last_accessed_at": st.sampled_from(TIMESTAMPS),
    "user_id": st.sampled_from(["ada", "bob"]),
}


@st.composite
def typed_records(draw: st.DrawFn, max_rows: int = 12) -> list[dict[str, Any]]:
    """Rows whose metadata keys have one kind each (over all rows), with keys left out and nulls."""
    shape = draw(metadata_shapes)
    columns = {
        **built_ins,
        "importance": _of_shape(draw(st.sampled_from(["float", "single", "half", "decimal", "integer"]))),
        "access_count": _of_shape(draw(st.sampled_from(["integer", "small"]))),
        "updated_at": instants.map(lambda instant: Instant(instant.nanoseconds // 10**9 * 10**9)),
    }
    metadata = _or_null(_of_shape(shape))
    row = st.fixed_dictionaries({**{name: _or_null(values) for name, values in columns.items()}, "metadata": metadata})
    return draw(st.lists(row, max_size=max_rows))


@st.composite
def json_records(draw: st.DrawFn, max_rows: int = 12) -> list[dict[str, Any]]:
    """Rows whose metadata are any JSON, most of them objects."""
    objects = st.dictionaries(st.sampled_from(KEYS), json_values, max_size=4)
    metadata = st.one_of(objects, objects, objects, objects, json_values)
    columns = {**built_ins, "importance": json_numbers.filter(lambda n: not isinstance(n, JsonFloat)).map(float),
               "access_count": st.integers(-300, 300), "updated_at": instants}  # fmt: skip
    row = st.fixed_dictionaries({**{name: _or_null(values) for name, values in columns.items()}, "metadata": metadata})
    return draw(st.lists(row, max_size=max_rows))


# ---------------------------------------------------------------------------------------------------------------------
# JSON texts

_SPACES = ("", "", "", " ", "\n", "\t \r")


@st.composite
def json_spellings(draw: st.DrawFn, values: st.SearchStrategy[Any] = json_values) -> str:
    """A JSON text of a value, with any white space, escapes, and keys that stand twice."""
    return _spell(draw(values), draw(st.randoms(use_true_random=False)))


def _spell(value: Any, random: Any) -> str:
    space = lambda: random.choice(_SPACES)  # noqa: E731
    if isinstance(value, str):
        return '"' + "".join(_spell_character(character, random) for character in value) + '"'
    if isinstance(value, list):
        return "[" + space() + ",".join(space() + _spell(item, random) + space() for item in value) + "]"
    if isinstance(value, dict):
        pairs = [(key, _spell(item, random)) for key, item in value.items()]
        if pairs and random.random() < 0.3:
            pairs.insert(0, (random.choice(pairs)[0], random.choice(['{"a":1}', "null", "[1]", '"first"'])))
        return "{" + space() + ",".join(f"{space()}{_spell(key, random)}{space()}:{space()}{text}{space()}" for key, text in pairs) + "}"  # fmt: skip
    if isinstance(value, JsonFloat):
        return value.spelling
    return json.dumps(value)


def _spell_character(character: str, random: Any) -> str:
    point = ord(character)
    must = character in '"\\' or point < 0x20 or 0xD800 <= point <= 0xDFFF
    if not must and random.random() < 0.9:
        return character
    short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    if character in short and random.random() < 0.5:
        return short[character]
    units = oracle.utf16_units(character)
    return "".join(random.choice([f"\\u{unit:04x}", f"\\u{unit:04X}"]) for unit in units)


@st.composite
def damaged_texts(draw: st.DrawFn) -> bytes:
    """JSON texts good and bad: whole, cut off, with bytes changed, put in or left out, or not UTF-8."""
    objects = st.dictionaries(st.sampled_from(KEYS), json_values, max_size=4)
    text = draw(json_spellings(st.one_of(objects, objects, json_values))).encode("utf-8", "surrogatepass")
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        place = draw(st.integers(0, len(text)))
        piece = draw(st.sampled_from(_PIECES))
        how = draw(st.sampled_from(["cut", "insert", "replace", "delete", "flip"]))
        if how == "cut":
            text = text[:place]
        elif how == "insert":
            text = text[:place] + piece + text[place:]
        elif how == "replace":
            text = text[:place] + piece + text[place + 1 :]
        elif how == "delete":
            text = text[:place] + text[place + 1 :]
        elif text and place < len(text):
            text = text[:place] + bytes([text[place] ^ (1 << draw(st.integers(0, 7)))]) + text[place + 1 :]
    return text


_PIECES = (
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud800", b"\\udc00", b"\\x", b"0", b"-", b"+", b".", b"e", b"1e5", b"01", b"1.",
    b"\x00", b"\x1f", b"\x7f", b"\x80", b"\xc0\xaf", b"\xc3", b"\xc3\xa9", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80",
    b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xe0\x80\x80", b"nul", b"null", b"true", b"NaN", b"Infinity", b"//", b"\xc2\xa0", b" ", b"\x0b",
    b'"a":1,', b'{"a":', b"[" * 1030,
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# filters, as the APIs accept them

_metadata_fields = st.sampled_from([".".join(("metadata", *path)) for path in PATHS])
fishmem_scalars = st.one_of(st.none(), st.booleans(), plain_numbers, json_strings)


@st.composite
def fishmem_conditions(draw: st.DrawFn) -> dict[str, Any]:
    """A valid condition."""
    group = draw(st.sampled_from(["text", "number", "timestamp", "metadata", "metadata", "metadata", "metadata"]))
    equality, ranges, searches = ["eq", "ne", "in", "nin"], ["gt", "gte", "lt", "lte"], ["contains", "icontains"]
    if group == "text":
        field = draw(st.sampled_from(TEXT_FIELDS))
        known = ["fact", "preference", "decision", "identity", "event", "observation", "goal", "todo"]
        values = st.sampled_from(known) if field == "memory_type" else json_strings | strings
        operators = equality + searches
    elif group == "number":
        field, values, operators = draw(st.sampled_from(NUMBER_FIELDS)), plain_numbers, equality + ranges
    elif group == "timestamp":
        field, operators = draw(st.sampled_from(TIMESTAMP_FIELDS)), equality + ranges
        values = st.sampled_from(TIMESTAMPS)
    else:
        field, operators = draw(_metadata_fields), equality + ranges + searches
        values = st.one_of(fishmem_scalars, fishmem_scalars, st.sampled_from(TIMESTAMPS))
    operator = draw(st.sampled_from([*operators, "exists"]))
    value: Any
    if operator == "exists":
        value = draw(st.booleans())
    elif operator in searches:
        value = draw(json_strings)
        if field == "memory_type":
            value = draw(values)
    elif operator in ("in", "nin"):
        value = draw(st.lists(values, min_size=1, max_size=5))
    else:
        value = draw(values)
    return {"field": field, "operator": operator, "value": value}


def fishmem_expressions() -> st.SearchStrategy[dict[str, Any]]:
    """Valid logical expressions, at most four deep."""
    level: st.SearchStrategy[dict[str, Any]] = fishmem_conditions()
    for _ in range(3):
        many = st.lists(level, min_size=1, max_size=3)
        level = st.one_of(
            fishmem_conditions(),
            many.map(lambda children: {"and": children}),
            many.map(lambda children: {"or": children}),
            level.map(lambda child: {"not": child}),
        )
    return level


legacy_maps = st.dictionaries(
    st.sampled_from([key for key in KEYS if key]), st.one_of(st.none(), st.booleans(), plain_numbers, json_strings), max_size=3
)
fishmem_filters = st.one_of(fishmem_expressions(), fishmem_expressions(), fishmem_expressions(), legacy_maps)

_anansi_operators = st.fixed_dictionaries(
    {},
    optional={
        **{name: plain_numbers for name in ("$gt", "$gte", "$lt", "$lte")},
        "$contains": json_values.filter(lambda value: _spellable(value)).map(lambda value: _plain_json(value)),
    },
).filter(bool)


def _spellable(value: Any) -> bool:
    """Whether a JSON value has no number that Python's own JSON would lose."""
    if isinstance(value, list):
        return all(map(_spellable, value))
    if isinstance(value, dict):
        return all(map(_spellable, value.values()))
    return not isinstance(value, JsonFloat) or value - value == 0


def _plain_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain_json(element) for element in value]
    if isinstance(value, dict):
        return {key: _plain_json(element) for key, element in value.items()}
    return float(value) if isinstance(value, JsonFloat) else value


anansi_values = st.one_of(strings, json_strings, plain_numbers, st.booleans(), st.none(), _anansi_operators, _anansi_operators)


def anansi_filters() -> st.SearchStrategy[dict[str, Any]]:
    """Valid filters, at most three levels of $and and $or."""
    metadata = st.dictionaries(st.sampled_from(KEYS), anansi_values, max_size=3)
    level: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries({"metadata": metadata})
    for _ in range(3):
        many = st.lists(level, min_size=1, max_size=2)
        level = st.fixed_dictionaries({}, optional={"metadata": metadata, "$and": many, "$or": many})
    return level


filters = st.one_of(
    fishmem_filters.map(lambda filter: (filter, "fishmem")), anansi_filters().map(lambda filter: (filter, "anansi"))
)
"""A filter, and its dialect."""


# ---------------------------------------------------------------------------------------------------------------------
# expressions

fields = st.one_of(
    st.sampled_from([Field(Role.METADATA, path) for path in (*PATHS, *((key,) for key in KEYS))]),
    st.sampled_from([Field(Role.COLUMN, (name,)) for name in (*TEXT_FIELDS, *NUMBER_FIELDS, *TIMESTAMP_FIELDS)]),
)

_literals = plain_numbers.map(canonical_number)


@st.composite
def intervals(draw: st.DrawFn, bounds: st.SearchStrategy[Any] = _literals) -> expr.Intervals:
    """Disjoint intervals in order: one or two, open or closed, of any extent."""
    points = sorted(set(draw(st.lists(bounds, min_size=1, max_size=4))))
    closed = st.booleans()
    values = []
    if len(points) == 1 or draw(st.booleans()):
        first = points.pop(0)
        values.append(
            Interval(None, False, first, draw(closed))
            if draw(st.booleans())
            else Interval(first, True, first, True)
        )
    while len(points) >= 2:
        values.append(Interval(points.pop(0), draw(closed), points.pop(0), draw(closed)))
    if points and draw(st.booleans()):
        values.append(Interval(points[0], draw(closed), None, False))
    if not values:
        values.append(Interval(None, False, None, False))
    return expr.Intervals(tuple(values))


def _sorted_numbers(numbers: list[Any]) -> tuple[Any, ...]:
    return tuple(sorted(set(numbers)))


scalar_sets = st.builds(
    ScalarSet,
    null=st.booleans(),
    false=st.booleans(),
    true=st.booleans(),
    numbers=st.lists(_literals, max_size=4).map(_sorted_numbers),
    strings=st.lists(json_strings, max_size=4).map(lambda texts: tuple(sorted(set(texts)))),
    instants=st.lists(instants.map(lambda instant: instant.nanoseconds), max_size=2).map(lambda all: tuple(sorted(set(all)))),
)
instant_sets = st.builds(
    ScalarSet, instants=st.lists(instants.map(lambda i: i.nanoseconds), min_size=1, max_size=3).map(lambda all: tuple(sorted(set(all))))
)

_instant_bounds = instants.map(lambda instant: instant.nanoseconds) | st.sampled_from([-(2**70), 2**70])

leaves = st.one_of(
    st.builds(expr.Exists, fields),
    st.builds(expr.IsNull, fields),
    st.builds(expr.EqualsAny, fields, scalar_sets | instant_sets, st.sampled_from(Elements)),
    st.builds(expr.NumberRange, fields, intervals()),
    st.builds(
        expr.StringRange, fields, st.builds(StringBound, st.sampled_from(["gt", "gte", "lt", "lte"]), json_strings)
    ),
    st.builds(expr.TimestampRange, fields, intervals(_instant_bounds)),
    st.builds(expr.Contains, fields, st.builds(expr.Text, json_strings)),
    st.builds(expr.ContainsIgnoreCase, fields, st.builds(expr.Text, json_strings)),
    st.builds(
        expr.TextEqualsAny,
        fields,
        st.lists(json_strings, min_size=1, max_size=3).map(lambda texts: expr.Strings(tuple(sorted(set(texts))))),
    ),
    st.builds(expr.TextNumberRange, fields, intervals()),
    st.builds(expr.JsonContains, fields, json_values.map(lambda value: expr.Json(layouts.json_text(value)))),
)


expressions = st.recursive(
    st.one_of(leaves, leaves, leaves, st.builds(expr.Literal, st.booleans())),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda children: expr.And(tuple(children))),
        st.lists(inner, max_size=4).map(lambda children: expr.Or(tuple(children))),
        inner.map(expr.Not),
    ),
    max_leaves=6,
)
"""Any expression."""
