"""Errors: the table of codes, what a message says, and that hostile input raises nothing but FilterError."""

from __future__ import annotations

import collections
import datetime
import enum
import json
import re
import types
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastfilter.compiler import dialects
from fastfilter.compiler.dialects import CODES, parse
from fastfilter.compiler.dialects.base import json_text, shown
from fastfilter.errors import FilterError


def condition(field: object, operator: object, value: object) -> dict[str, object]:
    return {"field": field, "operator": operator, "value": value}


class Unreadable(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        raise RuntimeError("boom")

    def __iter__(self) -> Iterator[str]:
        yield "field"

    def __len__(self) -> int:
        return 1


def fault(filter: Any, dialect: str = "auto", **arguments: Any) -> FilterError:
    with pytest.raises(FilterError) as caught:
        parse(filter, dialect, **arguments)
    error = caught.value
    assert error.code in CODES
    assert not error.pointer or error.pointer.startswith("/")
    assert error.message
    assert str(error).startswith(error.message)
    return error


EXAMPLES: dict[str, tuple[Any, str]] = {
    "invalid_json": ("{", ""),
    "duplicate_key": ('{"and": [{"a": 1}, {"b": {"c~/": 1, "c~/": 1}}]}', "/and/1/b/c~0~1"),
    "not_json": ({"a": {1, 2}}, "/a"),
    "key_not_string": ({5: 1}, ""),
    "unreadable": ({"not": Unreadable()}, "/not"),
    "ambiguous_dialect": ({"query": "x", "user_id": "ada"}, ""),
    "no_dialect": ({"metadata": {}, "a": 1}, "/a"),
    "not_an_object": ({"not": 5}, "/not"),
    "not_an_array": ({"and": {}}, "/and"),
    "empty_array": ({"or": []}, "/or"),
    "empty_object": ({"metadata": {"a": {}}}, "/metadata/a"),
    "missing_key": ({"field": "id"}, ""),
    "unknown_key": ({"$nor": []}, "/$nor"),
    "mixed_shapes": ({"and": [], "or": []}, ""),
    "unknown_field": (condition("contents", "eq", 1), "/field"),
    "scope_field": (condition("user_id", "eq", 1), "/field"),
    "invalid_path": (condition("metadata..a", "eq", 1), "/field"),
    "forbidden_segment": (condition("metadata.__proto__", "eq", 1), "/field"),
    "empty_key": ({"": 1}, "/"),
    "unknown_operator": (condition("importance", "ge", 1), "/operator"),
    "operator_not_allowed": (condition("content", "gt", "a"), "/operator"),
    "wrong_type": (condition("importance", "gt", "1"), "/value"),
    "number_not_finite": ('{"a": 1e400}', "/a"),
    "value_not_allowed": (condition("memory_type", "eq", "facts"), "/value"),
    "invalid_timestamp": (condition("created_at", "gt", "yesterday"), "/value"),
    "too_deep": ('{"not":' * 9 + "{}" + "}" * 9, "/not" * 8),
    "too_many_conditions": ({"metadata": {str(key): 1 for key in range(51)}}, "/metadata"),
    "too_many_children": ({"or": [{}] * 21}, "/or"),
    "too_many_values": (condition("metadata.a", "in", [1] * 101), "/value"),
    "too_many_keys": ({str(key): 1 for key in range(21)}, ""),
    "key_too_long": ({"k" * 129: 1}, "/" + "k" * 129),
    "path_too_long": (condition("metadata." + "k" * 257, "eq", 1), "/field"),
    "string_too_long": ({"a": "x" * 1025}, "/a"),
    "invalid_scope": ({"filters": {}, "user_id": None}, "/user_id"),
    "unknown_scope": ({}, "/scope/user"),
    "scope_conflict": ({"filters": {}, "user_id": "bob"}, "/user_id"),
}
SCOPES = {"unknown_scope": {"user": "ada"}, "scope_conflict": {"user_id": "ada"}}


def test_every_code_has_an_example() -> None:
    assert list(EXAMPLES) == list(CODES)


@pytest.mark.parametrize("code", CODES)
def test_code(code: str) -> None:
    filter, pointer = EXAMPLES[code]
    error = fault(filter, scope=SCOPES.get(code))
    assert (error.code, error.pointer) == (code, pointer)


def test_every_code_in_the_sources_is_in_the_table() -> None:
    sources = "".join(path.read_text() for path in Path(dialects.__file__).parent.glob("*.py"))
    used = set(re.findall(r"(?:fault|over_limit)\(\s*\"(\w+)\"", sources))
    assert used == set(CODES)
    # And no error is made in a way that this test does not see.
    assert sources.count("FilterError(") == 1


@pytest.mark.parametrize(
    ("filter", "parts"),
    [
        (
            condition("importance", "ge", 3),
            ['"ge"', "importance", "eq, ne, in, nin, gt, gte, lt, lte, exists", '"gte"'],
        ),
        (condition("importence", "eq", 3), ['"importence"', "created_at", '"importance"']),
        (condition("channel", "eq", 3), ['"metadata.channel"']),
        (condition("Metadata.a", "eq", 3), ['"metadata.a"']),
        (condition("memory_type", "eq", "Facts"), ['"Facts"', "preference", 'did you mean "fact"']),
        (condition("content", "gt", "x"), ['"gt"', "content", "text field", "contains, icontains"]),
        ({"and": [{"field": "id", "op": "eq", "value": 1}]}, ['"op"', "operator", "/and/0/op"]),
        ({"metadata": {"a": {"eq": 1, "$gt": 2}}}, ['"eq"', "$contains"]),
        ({"metadata": {"a": {"gte": 1}}}, ['"gte"', 'did you mean "$gte"']),
        ({"filters": {}, "userId": "ada"}, ['"userId"', '"user_id"']),
        ({"and": [condition("id", "eq", 1)], "channel": "x"}, ['"channel"', "metadata.KEY"]),
        ('{"a": NaN}', ["NaN"]),
        (b'{"a": "\xff"}', ["UTF-8", "byte 7"]),
        ({"a": "x" * 2000}, ["2000", "1024"]),
        ({"or": [{}] * 21}, ["21", "20"]),
        ({"a": {"b": 1}}, ["an object", '"a"']),
        ({"metadta": {"a": 1}}, ['"metadta"', 'did you mean "metadata"']),
        ({"filter": {"a": 1}}, ['did you mean "filters"']),
        ({"nto": condition("id", "eq", 1)}, ['did you mean "not"']),
        ({"AND": [condition("id", "eq", 1)]}, ['"AND"', 'did you mean "and"']),
        ({"all": [condition("id", "eq", 1)]}, ['did you mean "and"']),
        ({"any": [condition("id", "eq", 1)]}, ['did you mean "or"']),
        ({"field": "id", "op": "eq", "value": 1}, ['"op"', 'did you mean "operator"']),
        (condition("importance", ">=", 1), ['">="', 'did you mean "gte"']),
        ({"importance": {"gte": 1}}, ['{"field": "importance", "operator": "gte", "value": …}']),
        ({"score": {">=": 1}}, ['{"field": "metadata.score", "operator": "gte", "value": …}']),
        ({"tags": ["a", "b"]}, ['{"field": "metadata.tags", "operator": "in", "value": …}']),
        ({"sourceType": {"$gte": 1}}, ['"metadata": {"KEY"', '"field": "metadata.sourceType", "operator": "gte"']),
        ({"and": [{"source": {"$lt": 1}}]}, ["/and/0/source", '"field": "metadata.source", "operator": "lt"']),
        ({"and": [{"metadata": {"a": 1}}]}, ["/and/0/metadata", '"$and"']),
        ({"$AND": [{"metadata": {"a": 1}}]}, ['did you mean "$and"']),
        ({"$and": [condition("id", "eq", 1)]}, ['"field"', "FishMem"]),
    ],
)
def test_message(filter: Any, parts: list[str]) -> None:
    text = str(fault(filter))
    assert [part for part in parts if part not in text] == []


def test_no_condition_is_proposed_that_would_be_refused() -> None:
    for key in ("a b", "é", "a..b"):
        assert '"field"' not in str(fault({key: {"gte": 1}}))


def test_messages_stay_short_and_printable() -> None:
    for value in ("\ud800\x00\n" + "x" * 10**6, -(10**5000), {"x"}, b"x" * 10**6, [[]] * 10**6):
        text = str(fault(condition("importance", "eq", value)))
        text.encode()
        assert len(text) < 300
        assert text.isprintable()
    str(fault({"\ud800": [1]})).encode()
    assert fault({"\ud800": [1]}).pointer == "/\ud800"
    assert '"\\u202egpj.\\u007f"' in str(fault({"$and": [{"\u202egpj.\x7f": 1}]}))


# ---------------------------------------------------------------------------------------------------------------------
# JSON text
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", "{}{}", "{'a': 1}", '{"a": 1,}', '{"a": NaN}', '{"a": Infinity}', '{"a": -Infinity}',
        '{"a": 01}', "\ufeff{}",
        b"\xef\xbb\xbf{}", b'{"a": "\xed\xa0\x80"}', b"\xff\xfe{\x00}\x00", '{"a": "\n"}', "nul",
        '{"a": 1, "a": 2', '{"a": "\\x"}',
    ],
)  # fmt: skip
def test_what_is_no_json(text: Any) -> None:
    for dialect in ("auto", "fishmem", "fishmem-search", "anansi"):
        assert fault(text, dialect).code == "invalid_json"


@pytest.mark.parametrize("text", ["null", "5", '"x"', "[]", "true", '"{}"'])
def test_json_that_is_no_object(text: str) -> None:
    assert fault(text).code == "not_an_object"


@pytest.mark.parametrize(
    "opening", ["[", '{"not":', '{"$and":[', '{"metadata":{"a":{"$contains":[', '{"filters":{"a":']
)
def test_a_text_that_nests_without_end(opening: str) -> None:
    for text in (opening * 100_000, (opening * 100_000).encode()):
        assert fault(text).code in ("too_deep", "invalid_json")


def test_a_duplicate_key_is_found_at_any_depth() -> None:
    assert fault('{"metadata": {"a": {"$contains": [0, {"x": 1, "x": 1}]}}}').pointer == "/metadata/a/$contains/1/x"
    assert fault('{"a": 1, "\\u0061": 2}').pointer == "/a"
    assert fault('{"query": "x", "options": {"a": 1, "a": 1}, "filters": {}}').pointer == "/options/a"


def test_lone_surrogates_are_characters() -> None:
    assert parse('{"\\ud800": "\\udfff"}') == parse({"\ud800": "\udfff"})


def test_long_integers() -> None:
    assert fault('{"a": ' + "9" * 5000 + "}").code == "number_not_finite"
    assert parse('{"a": 1' + "0" * 300 + "}") == parse({"a": 1e300})
    assert parse('{"query": ' + "9" * 5000 + ', "filters": {}}').rest["query"] == Decimal("9" * 5000)


# ---------------------------------------------------------------------------------------------------------------------
# Python objects
# ---------------------------------------------------------------------------------------------------------------------


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Text(str):
    def __str__(self) -> str:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError


class Number(float):
    def __float__(self) -> float:
        raise RuntimeError


class Items(list):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[object]:
        raise RuntimeError

    def __len__(self) -> int:
        return 10**9


@pytest.mark.parametrize(
    ("given_value", "plain"),
    [
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Text("x"), "x"),
        (Number(2.5), 2.5),
        (np.str_("x"), "x"),
        (np.float64(0.5), 0.5),
        (np.float32(0.5), 0.5),
        (np.float16(0.5), 0.5),
        (np.int64(5), 5),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.int8(-1), -1),
        (np.bool_(True), True),
        (np.False_, False),
        (Decimal("2.50"), 2.5),
        (Decimal("1E+3"), 1000),
        (Decimal(2**63), 2**63),
        (Decimal("-0"), 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_with_a_plain_form(given_value: object, plain: object) -> None:
    assert parse({"a": given_value}) == parse({"a": plain})
    assert parse({"metadata": {"a": given_value}}) == parse({"metadata": {"a": plain}})
    listed = (given_value, 1)
    assert parse(condition("metadata.a", "in", listed)) == parse(condition("metadata.a", "in", [plain, 1]))
    contained = {"metadata": {"a": {"$contains": {"b": listed}}}}
    assert parse(contained) == parse({"metadata": {"a": {"$contains": {"b": [plain, 1]}}}})


def test_mappings_and_arrays_with_a_plain_form() -> None:
    plain = {"and": [condition("metadata.a", "in", [1, 2])]}
    inner = collections.OrderedDict(condition(Text("metadata.a"), Text("in"), Items([1, 2])))
    assert parse(types.MappingProxyType({Text("and"): (collections.UserDict(inner),)})) == parse(plain)


@pytest.mark.parametrize(
    "value",
    [
        {1}, frozenset(), b"x", bytearray(b"x"), memoryview(b"x"), object(), object,
        datetime.datetime(2026, 7, 1), 1j, Fraction(1, 2),
        np.array(1), np.array([1, 2]), np.longdouble(1), np.timedelta64(1), np.datetime64("2026-07-01"),
        np.complex128(1), range(3),
        iter([]), collections.deque(), ..., NotImplemented, len,
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_values_without_one(value: object) -> None:
    if not isinstance(value, bytes | bytearray):
        assert fault(value).code == "not_json"
    for filter in (
        {"a": value},
        {"metadata": {"a": value}},
        {"metadata": {"a": {"$contains": [value]}}},
        {"metadata": {"a": {"$gt": value}}},
        {"$and": value},
        {"and": [value]},
        {"and": value},
        {"not": value},
        condition(value, "eq", 1),
        condition("id", value, 1),
        condition("id", "eq", value),
        condition("id", "in", value),
        condition("id", "in", [value]),
        condition("id", "exists", value),
        condition("id", "contains", value),
        {"filters": {}, "user_id": value},
    ):
        assert fault(filter).code == "not_json"


def test_non_finite_decimals() -> None:
    for text in ("NaN", "sNaN", "Infinity", "-Infinity", "1E+999999", "-1E+400"):
        assert fault({"a": Decimal(text)}).code == "number_not_finite"
    assert parse({"a": Decimal("1E-999999")}) == parse({"a": 0})


def test_objects_that_contain_themselves() -> None:
    for key in ("not", "and", "or", "$and", "$or"):
        filter: dict[str, Any] = {}
        filter[key] = filter if key == "not" else [filter]
        assert fault(filter).code == "too_deep"
        limits = {"max_depth": 10**6, "max_conditions": 10**6}
        assert fault(filter, limits=limits).code == "too_deep"
    filter = {}
    filter["metadata"] = filter
    assert fault(filter).code == "unknown_operator"
    filter = {}
    filter["filters"] = filter
    assert fault(filter).code == "wrong_type"


class Lying:
    """Claims to be whatever it is asked."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError


def test_liars() -> None:
    for filter in (Lying(), {"a": Lying()}, {"metadata": {"a": {"$contains": Lying()}}}, {"not": Lying()}):
        assert fault(filter).code == "not_json"
    for mapping in (Unreadable(), {"metadata": Unreadable()}, {"metadata": {"a": {"$contains": Unreadable()}}}):
        assert fault(mapping).code == "unreadable"
    assert fault({}, scope=Unreadable()).code == "unreadable"


def test_a_key_given_twice_by_a_mapping() -> None:
    class Twice(Unreadable):
        def items(self) -> Any:
            return [("a", 1), ("a", 2)]

    class Odd(Unreadable):
        def items(self) -> Any:
            return [("a", 1, 2)]

    assert fault(Twice()).code == "duplicate_key"
    assert fault(Odd()).code == "unreadable"


# ---------------------------------------------------------------------------------------------------------------------
# anything at all
# ---------------------------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        "field", "operator", "value", "and", "or", "not", "metadata", "$and", "$or", "$gt", "$contains",
        "filters", "query",
        "user_id", "agent_id", "eq", "in", "gt", "exists", "contains", "importance", "created_at",
        "memory_type", "metadata.a",
        "2026-07-01T00:00:00Z", "{}", '{"a": 1}', "null", "",
    ]
)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text() | st.decimals() | st.binary(max_size=8)
)
KEYS = WORDS | st.text(max_size=4)
PYTHON = st.recursive(
    SCALARS | st.just(object()) | st.sets(st.integers()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS | st.integers() | st.none(), inner, max_size=4)
        | st.builds(condition, inner, inner, inner)
        | st.tuples(inner)
    ),
    max_leaves=20,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.builds(condition, WORDS, WORDS, inner)
    ),
    max_leaves=20,
)
DIALECT_NAMES = st.sampled_from(["auto", *dialects.DIALECTS])


def only_filter_errors(filter: Any, dialect: str, scope: Any = None) -> None:
    try:
        parse(filter, dialect, scope)
    except FilterError as error:
        assert error.code in CODES
        str(error)


@given(PYTHON, DIALECT_NAMES, st.none() | PYTHON)
def test_any_python_value(filter: Any, dialect: str, scope: Any) -> None:
    only_filter_errors(filter, dialect, scope)


@given(JSON, DIALECT_NAMES)
def test_any_json_text(filter: Any, dialect: str) -> None:
    only_filter_errors(json.dumps(filter), dialect)


@given(st.text() | st.binary(), DIALECT_NAMES)
def test_any_text(text: Any, dialect: str) -> None:
    only_filter_errors(text, dialect)


@given(JSON.filter(lambda value: value is not None), DIALECT_NAMES)
def test_text_and_object_mean_the_same(filter: Any, dialect: str) -> None:
    text = json.dumps(filter)
    if "NaN" in text or "Infinity" in text or isinstance(filter, str):
        return
    outcomes = []
    for form in (filter, text):
        try:
            outcomes.append(repr(parse(form, dialect)))
        except FilterError as error:
            outcomes.append(f"{error.code} {error.pointer} {error}")
    assert outcomes[0] == outcomes[1]


@given(JSON)
def test_json_text_is_what_json_reads_back(value: Any) -> None:
    try:
        text = json_text(value, None)
    except FilterError as error:
        assert error.code == "number_not_finite"
        return
    assert json.loads(text) == value


@given(PYTHON)
def test_any_value_can_be_shown(value: Any) -> None:
    assert len(shown(value)) < 100


@pytest.mark.parametrize(
    ("filter", "dialect", "code", "hint"),
    [
        ({"sourceType": {"$gte": 1}}, "auto", "wrong_type", 'stand in "metadata"'),
        ({"sourceType": {"$gte": 1}}, "anansi", "unknown_key", '{"metadata": {"sourceType": …}}'),
        ({"$and": [{"sourceType": "a"}]}, "auto", "unknown_key", '{"metadata": {"sourceType": …}}'),
        ({"$and": [condition("id", "eq", 1)]}, "auto", "unknown_key", 'have no "$"'),
        ({"AND": [condition("id", "eq", 1)]}, "auto", "wrong_type", 'did you mean "and"?'),
        ({"Not": condition("id", "eq", 1)}, "auto", "wrong_type", 'did you mean "not"?'),
        ({"$AND": [{"metadata": {"a": 1}}]}, "auto", "unknown_key", 'did you mean "$and"?'),
        ({"AND": [{"metadata": {"a": 1}}]}, "anansi", "unknown_key", 'did you mean "$and"?'),
        (condition("importance", ">=", 1), "auto", "unknown_operator", 'did you mean "gte"?'),
        (condition("importance", "$gte", 1), "auto", "unknown_operator", 'did you mean "gte"?'),
        (condition("id", "==", "a"), "auto", "unknown_operator", 'did you mean "eq"?'),
        (condition("id", "<>", "a"), "auto", "unknown_operator", 'did you mean "ne"?'),
        ({"metadata": {"a": {">=": 1}}}, "auto", "unknown_operator", 'did you mean "$gte"?'),
        ({"metadata": {"a": {"gte": 1}}}, "auto", "unknown_operator", 'did you mean "$gte"?'),
        ({"metadata": {"a": {"==": 1}}}, "auto", "unknown_operator", "give the value itself"),
        ({"metadata": {"a": {"$eq": 1}}}, "auto", "unknown_operator", "give the value itself"),
    ],
)
def test_what_was_probably_meant(filter: Any, dialect: str, code: str, hint: str) -> None:
    error = fault(filter, dialect)
    assert error.code == code
    assert hint in error.message
