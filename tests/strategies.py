"""Hypothesis strategies: logical rows of every nasty form, filters of both dialects, and expressions.

Rows and filters draw from the same pools, so that they meet. A *shape* is the kind each metadata key has; rows of one
shape can be laid out as a struct, a map or flattened columns, rows of mixed shape as JSON text only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    1.7976931348623157e308, 9007199254740993.0, 9223372036854775808.0, 1e20, 0.30000001192092896, 65500,
    0.0999755859375,
)  # fmt: skip
"""Numbers that rows and filters share."""

SPELLINGS = (
    "1.50", "1e3", "1E+2", "5e-1", "-0.0", "0.0", "10.0", "1e1", "1e400", "-1e400", "1e-400", "18446744073709551616",
    "-9223372036854775809", "123456789012345678901234567890", "0.10", "1000.000", "9007199254740993.0", "0e5", "1.0e-3",
)  # fmt: skip
"""Spellings of JSON numbers that are no canonical integers."""

ODD_FLOATS = (float("nan"), float("inf"), float("-inf"), -0.0)

STRINGS = (
    "", "a", "A", "b", "ab", "abc", "aab", "aaab", "5", "5.0", "05", "-0", "0", "1e3", " 5", "+3", ".8", "0.5",
    "1.50", "1000", "true", "false",
    "TRUE", "null", "NaN", "Infinity", "[1, 2]", '{"a": 1}', "[]", "{}", "vip", "VIP", "foo", "needle in a haystack",
    "needle",
    "abcdefghijkl", "abcdefghijklm", "backend one", "backend two", "a_b", "axb", "50%", "\uff61", "\ue000", "\uffff",
    "\U00010000", "\U0001f600", "z", "İstanbul", "istanbul", "ISTANBUL", "ıstanbul", "i̇stanbul", "STANBUL", "ß", "ẞ",
    "ss", "Straße",
    "straße", "STRASSE", "Σ", "σ", "ς", "ΑΣ", "ας", "ασ", "ΑΣΑ", "Σ.", "é", "e\u0301", "É", "ǅ", "ŉ", "a\0b", "\0",
    "\n", "\x7f", '"', "\\",
    "2026-07-01T00:00:00Z", "2026-07-01T02:00:00+02:00", "2026-07-01T00:00:00.000000001Z", "2020-02-28T24:00:00Z",
    "2020-02-29T00:00:00Z", "2021-02-29T00:00:00Z", "2016-12-31T23:59:60Z", "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T24:00:00.000Z", "1969-12-31T23:59:59.999999999Z", "1970-01-01", "2026-07-01t00:00:00z",
    "2026-07-01T00:00:00.1234567890Z",
    "fact", "decision", "123e4567-e89b-12d3-a456-426614174000", "x" * 40,
)  # fmt: skip

SURROGATES = ("\ud800", "\udc00a", "a\ud83d")
"""Strings that only JSON escapes can spell."""

TIMESTAMPS = tuple(text for text in STRINGS if oracle.instant_of(text) is not None)

KEYS = ("a", "b", "c", "x-y", "0", "labels", "source", "a.b", "", "é", "metadata")
PATH_KEYS = ("a", "b", "c", "x-y", "0", "labels", "source")

PATHS = (
    *((key,) for key in PATH_KEYS),
    ("a", "b"),
    ("source", "a"),
    ("source", "b", "c"),
    ("nope",),
    ("a", "nope"),
)

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

_INSTANTS = tuple(instant for text in TIMESTAMPS if (instant := oracle.instant_of(text)) is not None)

fine_instants = st.one_of(
    st.sampled_from([instant for instant in _INSTANTS if abs(instant) < 2**63]), st.integers(1 - 2**63, 2**63 - 1)
).map(Instant)
"""Instants that a column of nanoseconds holds."""

coarse_instants = st.one_of(
    st.sampled_from([instant for instant in _INSTANTS if instant % 10**9 == 0]),
    st.integers(-(10**6), 10**6).map(lambda days: days * 86_400 * 10**9),
    st.integers(-(10**10), 10**10).map(lambda seconds: seconds * 10**9),
).map(Instant)
"""Instants that a column of seconds holds, some of them far off."""

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
        values = {key: _or_null(_of_shape(inner)) for key, inner in shape.items()}
        return st.one_of(st.fixed_dictionaries(values), st.fixed_dictionaries({}, optional=values))
    return {
        "bool": st.booleans(),
        "integer": st.one_of(st.sampled_from([n for n in NUMBERS if isinstance(n, int)]), st.integers(-300, 300)),
        "small": st.sampled_from([0, 1, 2, 5, 10, 127]),
        "float": st.one_of(
            st.sampled_from([float(n) for n in NUMBERS]), st.sampled_from(ODD_FLOATS), st.floats(width=32)
        ),
        "half": st.sampled_from([0.5, 1.5, 5.0, float(np.float16(0.1)), 65504.0, -0.0, float("nan"), float("inf")]),
        "single": st.floats(width=32) | st.sampled_from([float(np.float32(0.1)), float(np.float32(0.7)), 16777216.0]),
        "decimal": decimals,
        "string": strings,
        "fine instant": fine_instants,
        "coarse instant": coarse_instants,
    }[shape]


def _or_null(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, values, st.none())


_SCALAR_SHAPES = st.sampled_from(
    [
        "bool",
        "integer",
        "small",
        "float",
        "half",
        "single",
        "decimal",
        "string",
        "string",
        "string",
        "fine instant",
        "coarse instant",
    ]
)
_SHAPES = st.recursive(
    _SCALAR_SHAPES,
    lambda inner: (
        inner.map(lambda shape: [shape]) | st.dictionaries(st.sampled_from(PATH_KEYS), inner, min_size=1, max_size=3)
    ),
    max_leaves=4,
)
metadata_shapes = st.dictionaries(st.sampled_from(KEYS), _SHAPES, min_size=1, max_size=4)

built_ins = {
    "id": st.sampled_from(["", "mem_1", "mem_2", "İ"]),
    "content": strings,
    "memory_type": st.sampled_from(["fact", "decision", "todo", "other"]),
    "subject": strings,
    "attribute": strings,
    "created_at": fine_instants,
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
        "updated_at": coarse_instants,
    }
    metadata = _or_null(_of_shape(shape)) if draw(st.booleans()) else _of_shape(shape)
    row = st.fixed_dictionaries({**{name: _or_null(values) for name, values in columns.items()}, "metadata": metadata})
    return draw(st.lists(row, min_size=draw(st.sampled_from([0, max_rows // 2, max_rows])), max_size=max_rows))


@st.composite
def json_records(draw: st.DrawFn, max_rows: int = 12) -> list[dict[str, Any]]:
    """Rows whose metadata are any JSON, most of them objects."""
    objects = st.dictionaries(st.sampled_from(KEYS), json_values, max_size=4)
    metadata = st.one_of(objects, objects, objects, objects, json_values)
    columns = {**built_ins, "importance": json_numbers.filter(lambda n: not isinstance(n, JsonFloat)).map(float),
               "access_count": st.integers(-300, 300), "updated_at": coarse_instants}  # fmt: skip
    row = st.fixed_dictionaries({**{name: _or_null(values) for name, values in columns.items()}, "metadata": metadata})
    return draw(st.lists(row, min_size=draw(st.sampled_from([0, max_rows // 2, max_rows])), max_size=max_rows))


# ---------------------------------------------------------------------------------------------------------------------
# JSON texts

_SPACES = ("", "", "", " ", "\n", "\t \r")


@st.composite
def json_spellings(draw: st.DrawFn, values: st.SearchStrategy[Any] = json_values) -> str:
    """A JSON text of a value, with any white space, escapes, and keys that stand twice."""
    return spell(draw(values), draw(st.randoms(use_true_random=False)))


def spell(value: Any, random: Any) -> str:
    """A JSON text of a value, as a random generator has it."""
    space = lambda: random.choice(_SPACES)  # noqa: E731
    if isinstance(value, str):
        return '"' + "".join(_spell_character(character, random) for character in value) + '"'
    if isinstance(value, list):
        return "[" + space() + ",".join(space() + spell(item, random) + space() for item in value) + "]"
    if isinstance(value, dict):
        pairs = [(key, spell(item, random)) for key, item in value.items()]
        if pairs and random.random() < 0.3:
            pairs.insert(0, (random.choice(pairs)[0], random.choice(['{"a":1}', "null", "[1]", '"first"'])))
        members = [f"{space()}{spell(key, random)}{space()}:{space()}{text}{space()}" for key, text in pairs]
        return "{" + space() + ",".join(members) + "}"
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
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud800", b"\\udc00", b"\\x", b"0", b"-", b"+", b".",
    b"e", b"1e5", b"01", b"1.",
    b"\x00", b"\x1f", b"\x7f", b"\x80", b"\xc0\xaf", b"\xc3", b"\xc3\xa9", b"\xed\xa0\x80", b"\xef\xbb\xbf",
    b"\xf0\x9f\x98\x80",
    b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xe0\x80\x80", b"nul", b"null", b"true", b"NaN", b"Infinity",
    b"//", b"\xc2\xa0", b" ", b"\x0b",
    b'"a":1,', b'{"a":', b"[" * 1030,
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# what filters are made of


@dataclass(frozen=True)
class Vocabulary:
    """The fields and literals that a filter is made of."""

    paths: tuple[tuple[str, ...], ...] = PATHS + tuple((key,) for key in KEYS)
    columns: tuple[str, ...] = (*TEXT_FIELDS, *NUMBER_FIELDS, *TIMESTAMP_FIELDS)
    numbers: tuple[int | float, ...] = NUMBERS
    strings: tuple[str, ...] = (*STRINGS, *SURROGATES)
    instants: tuple[int, ...] = _INSTANTS
    values: tuple[Any, ...] = (None, [], {})

    def number(self) -> st.SearchStrategy[int | float]:
        return _mostly(self.numbers, plain_numbers)

    def string(self) -> st.SearchStrategy[str]:
        return _mostly(self.strings, json_strings)

    def instant(self) -> st.SearchStrategy[int]:
        return _mostly(self.instants, st.sampled_from([*_INSTANTS, -(2**70), 2**70]))

    def timestamp(self) -> st.SearchStrategy[str]:
        spelled = tuple(
            oracle.instant_text(instant)
            for instant in self.instants
            if oracle.instant_of(oracle.instant_text(instant)) is not None
        )
        return _mostly(spelled, st.sampled_from(TIMESTAMPS))

    def json(self) -> st.SearchStrategy[Any]:
        return _mostly(self.values, json_values)

    def scalar(self) -> st.SearchStrategy[Any]:
        return st.one_of(self.number(), self.string(), self.string(), st.booleans(), st.none())

    def needle(self) -> st.SearchStrategy[str]:
        """A text to search for: a string, a part of one, or one in another case."""
        parts = st.tuples(self.string(), st.integers(0, 3), st.integers(1, 4)).map(
            lambda cut: cut[0][cut[1] : cut[1] + cut[2]]
        )
        return st.one_of(self.string(), parts, parts, self.string().map(str.upper), parts.map(str.swapcase))


def _mostly(known: Sequence[Any], others: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A strategy that draws from what is known, and now and then something else."""
    return st.one_of(*[st.sampled_from(known)] * 4, others) if known else others


def vocabulary_of(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Vocabulary:
    """The fields that records have and the values under them, so that filters made of it match some of them."""
    paths: dict[tuple[str, ...], None] = {}
    numbers: list[int | float] = []
    texts: list[str] = []
    moments: list[int] = []
    values: list[Any] = []

    def gather(value: Any, path: tuple[str, ...] | None) -> None:
        if path:
            paths[path] = None
            values.append(value)
        if isinstance(value, dict):
            for key, item in value.items():
                gather(item, None if path is None else (*path, key))
        elif isinstance(value, list):
            for item in value:
                gather(item, None)
        elif isinstance(value, str):
            texts.append(value)
            instant = oracle.instant_of(value)
            if instant is not None:
                moments.append(instant)
        elif isinstance(value, Instant):
            moments.append(value.nanoseconds)
        elif isinstance(value, int | float | Decimal) and not isinstance(value, bool) and abs(value) <= 1e308:
            numbers.append(float(value) if isinstance(value, float | Decimal) else value)

    for record in records:
        gather(record.get("metadata"), ())
        for name in columns:
            gather(record.get(name), None)
    numbers = [number for number in numbers if isinstance(number, float) or -(2**63) <= number < 2**64]
    kept = [name for name in columns if name in Vocabulary.columns]
    return Vocabulary(
        paths=tuple(paths) or (("a",),),
        columns=tuple(kept),
        numbers=tuple(numbers),
        strings=tuple(texts),
        instants=tuple(moments),
        values=tuple(value for value in values if _is_plain(value)),
    )


def _is_plain(value: Any) -> bool:
    """Whether a value can be a literal of JSON that Python's own JSON keeps as it is."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return not isinstance(value, Instant | Decimal | JsonFloat) and (not isinstance(value, float) or value - value == 0)


# ---------------------------------------------------------------------------------------------------------------------
# filters, as the APIs accept them

_SEGMENT = re.compile("[A-Za-z0-9_-]+")
MEMORY_TYPES = ("fact", "preference", "decision", "identity", "event", "observation", "goal", "todo")


@st.composite
def fishmem_conditions(draw: st.DrawFn, words: Vocabulary) -> dict[str, Any]:
    """A valid condition."""
    paths = [path for path in words.paths if all(map(_SEGMENT.fullmatch, path))] or [("a",)]
    field = draw(st.sampled_from([".".join(("metadata", *path)) for path in paths] * 2 + list(words.columns)))
    equality, ranges, searches = ["eq", "ne", "in", "nin"], ["gt", "gte", "lt", "lte"], ["contains", "icontains"]
    needles: st.SearchStrategy[str] = words.needle()
    values: st.SearchStrategy[Any]
    if field == "memory_type":
        operators, values, needles = equality + searches, st.sampled_from(MEMORY_TYPES), st.sampled_from(MEMORY_TYPES)
    elif field in TEXT_FIELDS:
        operators, values = equality + searches, words.string()
    elif field in NUMBER_FIELDS:
        operators, values = equality + ranges, words.number()
    elif field in TIMESTAMP_FIELDS:
        operators, values = equality + ranges, words.timestamp()
    else:
        operators, values = equality + ranges + searches, st.one_of(words.scalar(), words.scalar(), words.timestamp())
        if draw(st.integers(0, 3)) == 0:  # timestamps alone, which a typed column wants
            values = needles = words.timestamp()
    operator = draw(st.sampled_from([*operators, "exists"]))
    value: Any
    if operator == "exists":
        value = draw(st.booleans())
    elif operator in searches:
        value = draw(needles)
    elif operator in ("in", "nin"):
        value = draw(st.lists(values, min_size=1, max_size=5))
    else:
        value = draw(values)
    return {"field": field, "operator": operator, "value": value}


def fishmem_expressions(words: Vocabulary) -> st.SearchStrategy[dict[str, Any]]:
    """Valid logical expressions, at most four deep."""
    condition = fishmem_conditions(words)
    level: st.SearchStrategy[dict[str, Any]] = condition
    for _ in range(3):
        many = st.lists(level, min_size=1, max_size=3)
        level = st.one_of(
            condition,
            many.map(lambda children: {"and": children}),
            many.map(lambda children: {"or": children}),
            level.map(lambda child: {"not": child}),
        )
    return level


def legacy_maps(words: Vocabulary) -> st.SearchStrategy[dict[str, Any]]:
    """Valid equality maps."""
    keys = [path[0] for path in words.paths if path[0].strip() and path[0] not in ("field", "and", "or", "not")] or [
        "a"
    ]
    return st.dictionaries(st.sampled_from(keys), words.scalar(), max_size=3)


def anansi_filters(words: Vocabulary) -> st.SearchStrategy[dict[str, Any]]:
    """Valid filters, at most three levels of $and and $or."""
    operators = st.fixed_dictionaries(
        {},
        optional={
            **{name: words.number() for name in ("$gt", "$gte", "$lt", "$lte")},
            "$contains": words.json().filter(_is_plain),
        },
    ).filter(bool)
    texts = st.one_of(words.string(), words.number().map(oracle.number_text), words.json().map(oracle.jsonb_print))
    values = st.one_of(texts, words.number(), st.booleans(), st.none(), operators, operators)
    metadata = st.dictionaries(st.sampled_from([path[0] for path in words.paths]), values, max_size=3)
    level: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries({"metadata": metadata})
    for _ in range(3):
        many = st.lists(level, min_size=1, max_size=2)
        level = st.fixed_dictionaries({}, optional={"metadata": metadata, "$and": many, "$or": many})
    return level


def filters(words: Vocabulary) -> st.SearchStrategy[tuple[dict[str, Any], str]]:
    """A valid filter, and its dialect."""
    return st.one_of(
        fishmem_expressions(words).map(lambda filter: (filter, "fishmem")),
        fishmem_expressions(words).map(lambda filter: (filter, "fishmem")),
        legacy_maps(words).map(lambda filter: (filter, "fishmem")),
        anansi_filters(words).map(lambda filter: (filter, "anansi")),
        anansi_filters(words).map(lambda filter: (filter, "anansi")),
    )


# ---------------------------------------------------------------------------------------------------------------------
# expressions


@st.composite
def intervals(draw: st.DrawFn, bounds: st.SearchStrategy[Any]) -> expr.Intervals:
    """Disjoint intervals in order: up to three, open or closed, of any extent, single points among them."""
    points = sorted(draw(st.sets(bounds, min_size=1, max_size=4)))
    closed = st.booleans()
    values = []
    if draw(st.booleans()):
        first = points.pop(0)
        values.append(Interval(None, False, first, draw(closed)))
    while points:
        lower = points.pop(0)
        how = draw(st.sampled_from(["point", "span", "open"]))
        if how == "span" and points:
            values.append(Interval(lower, draw(closed), points.pop(0), draw(closed)))
        elif how == "open":
            values.append(Interval(lower, draw(closed), None, False))
            break
        else:
            values.append(Interval(lower, True, lower, True))
    return expr.Intervals(tuple(values))


def _sorted(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))


def _scalar_set(**parts: Any) -> ScalarSet:
    """A set of these parts alone: Hypothesis would draw the others too, from no more than their types."""
    return ScalarSet(**parts)


def scalar_sets(words: Vocabulary) -> st.SearchStrategy[ScalarSet]:
    """Sets of scalars of any kinds, and sets of instants alone."""
    numbers = st.lists(words.number().map(canonical_number), max_size=4).map(_sorted)
    texts = st.lists(words.string(), max_size=4).map(_sorted)
    moments = st.lists(words.instant(), max_size=2).map(_sorted)
    return st.one_of(
        st.builds(
            _scalar_set,
            null=st.booleans(),
            false=st.booleans(),
            true=st.booleans(),
            numbers=numbers,
            strings=texts,
            instants=moments,
        ),
        st.builds(
            _scalar_set, null=st.booleans(), strings=st.lists(words.timestamp(), min_size=1, max_size=3).map(_sorted)
        ),
        st.builds(_scalar_set, strings=texts),
        st.builds(_scalar_set, numbers=numbers),
        st.builds(_scalar_set, instants=st.lists(words.instant(), min_size=1, max_size=3).map(_sorted)),
    )


def leaves(words: Vocabulary) -> st.SearchStrategy[expr.Leaf]:
    """Any leaf."""
    fields = st.sampled_from(
        [Field(Role.METADATA, path) for path in words.paths] * 2
        + [Field(Role.COLUMN, (name,)) for name in words.columns]
    )
    numbers = words.number().map(canonical_number)
    strings = st.one_of(words.string(), words.string(), words.timestamp())
    needles = st.one_of(words.needle(), words.needle(), words.timestamp()).map(expr.Text)
    texts = st.one_of(
        words.string(), words.timestamp(), words.number().map(oracle.number_text), words.json().map(oracle.jsonb_print),
        st.sampled_from(["true", "false"]),
    )  # fmt: skip
    bounds = st.builds(StringBound, st.sampled_from(["gt", "gte", "lt", "lte"]), strings)
    json_constants = st.one_of(words.json(), words.json(), words.scalar(), words.timestamp())
    return st.one_of(
        st.builds(expr.Exists, fields),
        st.builds(expr.IsNull, fields),
        st.builds(expr.EqualsAny, fields, scalar_sets(words), st.sampled_from(Elements)),
        st.builds(expr.NumberRange, fields, intervals(numbers)),
        st.builds(expr.StringRange, fields, bounds),
        st.builds(expr.TimestampRange, fields, intervals(words.instant())),
        st.builds(expr.Contains, fields, needles),
        st.builds(expr.ContainsIgnoreCase, fields, needles),
        st.builds(expr.TextEqualsAny, fields, st.lists(texts, min_size=1, max_size=3).map(_sorted).map(expr.Strings)),
        st.builds(expr.TextNumberRange, fields, intervals(numbers)),
        st.builds(expr.JsonContains, fields, json_constants.map(layouts.json_text).map(expr.Json)),
    )


def expressions(words: Vocabulary) -> st.SearchStrategy[expr.Expression]:
    """Any expression."""
    leaf = leaves(words)
    return st.recursive(
        st.one_of(leaf, leaf, leaf, st.builds(expr.Literal, st.booleans())),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4).map(lambda children: expr.And(tuple(children))),
            st.lists(inner, max_size=4).map(lambda children: expr.Or(tuple(children))),
            inner.map(expr.Not),
        ),
        max_leaves=6,
    )
