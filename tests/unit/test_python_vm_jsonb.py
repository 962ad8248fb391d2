"""JSONB: the text of values, the plain-number guard, and containment."""

from __future__ import annotations

import math
import struct
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fastfilter.runtime.vm.python.json_text import parse_json
from fastfilter.runtime.vm.python.jsonb import NarrowFloat, contains, is_plain_number, iso_text, plain_number, text_of
from fastfilter.values import MISSING, Instant, JsonFloat, parse_timestamp


@pytest.mark.parametrize(
    ("json", "text"),
    [
        ("5", "5"), ("-5", "-5"), ("0", "0"), ("-0", "0"), ("-0.0", "0.0"), ("0.00", "0.00"), ("-0.00e1", "0.0"),
        ("0e5", "0"), ("0e-3", "0.000"),
        ("1.50", "1.50"), ("1.50e1", "15.0"), ("1.50e2", "150"), ("1.50e3", "1500"), ("1e3", "1000"), ("1E+3", "1000"),
        ("5e-1", "0.5"), ("50e-1", "5.0"),
        ("-5e-3", "-0.005"), ("0.001e5", "100"), ("0.001e2", "0.1"), ("123.456e1", "1234.56"),
        ("123.456e-4", "0.0123456"), ("1e0", "1"), ("1.0e-0", "1.0"),
        ("12345678901234567890123", "12345678901234567890123"), ("1e-7", "0.0000001"),
        ("1e20", "100000000000000000000"), ("100", "100"), ("0.10", "0.10"),
        ("1e" + "0" * 50 + "2", "100"), ("1e-" + "0" * 50 + "2", "0.01"),
        ("true", "true"), ("false", "false"), ('"a\\nb\\"c"', 'a\nb"c'), ('""', ""),
        ("[]", "[]"), ("{}", "{}"), ("[1,2]", "[1, 2]"), ('[ "a" , null , true , 1.50e1 ]', '["a", null, true, 15.0]'),
        ('{"a":1}', '{"a": 1}'), ('{"bb":1,"a":2,"c":3,"":4}', '{"": 4, "a": 2, "c": 3, "bb": 1}'),
        ('{"a":1,"a":2}', '{"a": 2}'),
        ('{"é":1,"zz":2,"z":3,"aa":4}', '{"z": 3, "aa": 4, "zz": 2, "é": 1}'),
        ('{"a":[{"b":[]},{}]}', '{"a": [{"b": []}, {}]}'),
        ('["\\u0001\\b\\f\\n\\r\\t\\u001f\\u007f\\"\\\\/é"]', '["\\u0001\\b\\f\\n\\r\\t\\u001f\x7f\\"\\\\/é"]'),
        ('{"k\\"\\n":"\\ud83d\\ude00"}', '{"k\\"\\n": "😀"}'),
    ],
)  # fmt: skip
def test_text_of_json(json: str, text: str) -> None:
    assert text_of(parse_json(json)) == text
    assert text_of(parse_json(json), len(text)) == text
    if text:
        assert text_of(parse_json(json), len(text) - 1) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"), (1.0, "1"), (-0.0, "0"), (0.0, "0"), (1e20, "100000000000000000000"), (1e-7, "0.0000001"),
        (1.5e300, "15" + "0" * 299), (5e-324, "0." + "0" * 323 + "5"),
        (float(2**60), "1152921504606847000"), (-2.5, "-2.5"), (math.nan, "NaN"), (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (10**30, "1" + "0" * 30),
        (Decimal("1.50"), "1.50"), (Decimal("1E+3"), "1000"), (Decimal("-0.00"), "0.00"), (Decimal("-0"), "0"),
        (Decimal("1.5E-10"), "0.00000000015"), (Decimal("NaN"), "NaN"),
        (Decimal("sNaN"), "NaN"), (Decimal("-Infinity"), "-Infinity"),
        (Decimal("123456789012345678901234567890.12"), "123456789012345678901234567890.12"),
        (NarrowFloat(struct.unpack("<f", struct.pack("<f", 0.1))[0], 4), "0.1"),
        (NarrowFloat(16777216.0, 4), "16777216"), (NarrowFloat(-0.0, 4), "0"),
        (NarrowFloat(struct.unpack("<e", struct.pack("<e", 0.1))[0], 2), "0.1"), (NarrowFloat(65504.0, 2), "65500"),
        (NarrowFloat(math.inf, 2), "Infinity"), (NarrowFloat(math.nan, 4), "NaN"),
        (NarrowFloat(3.4028234663852886e38, 4), "34028235" + "0" * 31),
        (NarrowFloat(2.0**-149, 4), "0." + "0" * 44 + "1"),
        ([Instant(0), math.nan, -math.inf, Decimal("1.50"), 2.0, None],
        '["1970-01-01T00:00:00.000Z", "NaN", "-Infinity", 1.50, 2, null]'),
        ({"t": {"u": Instant(1)}}, '{"t": {"u": "1970-01-01T00:00:00.000000001Z"}}'),
        (["\ud83d", {"\ud83d": 1}], '["\ud83d", {"\ud83d": 1}]'),
    ],
)  # fmt: skip
def test_text_of_other_values(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_integers_of_any_length_have_a_text() -> None:
    assert text_of(10**6000) == "1" + "0" * 6000
    assert text_of(-(10**6000)) == "-1" + "0" * 6000
    assert plain_number(10**6000) == math.inf


def test_huge_numbers_are_not_written_out() -> None:
    for value in (
        *map(JsonFloat, ("1e999999999", "-1e-999999999", "0e-999999999", "1e" + "9" * 5_000, "1e-" + "9" * 5_000)),
        Decimal("1e999999"),
        Decimal("1e-999999"),
    ):
        assert text_of(value, 1_000) is None
        assert text_of([{"a": [value]}], 1_000) is None
    assert text_of(JsonFloat("0e999999999"), 1_000) == "0"
    assert text_of([1] * 100, 10) is None


def test_deep_values_have_a_text_and_contain_one_another() -> None:
    deep: Any = 1
    for _ in range(1_024):
        deep = [deep]
    assert text_of(deep) == "[" * 1_024 + "1" + "]" * 1_024
    assert contains(deep, deep)
    objects: Any = 1
    for _ in range(5_000):
        objects = {"k": objects, "x": 2}
    assert contains(objects, objects)
    assert not contains(objects, deep)


@pytest.mark.parametrize("width", [2, 4])
def test_shortest_text_of_narrow_floats(width: int) -> None:
    """Gives the number back in its own width; no shorter one does, nor one as short that is nearer.

    Of halves all are tried, of floats some at both sides of every power of two.
    """
    code, integer, kind = ("<e", "<H", np.float16) if width == 2 else ("<f", "<I", np.float32)
    if width == 2:
        patterns = range(1, 0x7C00)
    else:
        edges = (exponent << 23 for exponent in range(255))
        patterns = [p for edge in edges for p in (edge - 1, edge, edge + 1, edge + 0x2AAAAA) if 0 < p < 0x7F800000]
    for pattern in patterns:
        (value,) = struct.unpack(code, struct.pack(integer, pattern))
        text = text_of(NarrowFloat(value, width))
        assert text is not None
        assert "e" not in text
        expected = np.format_float_positional(kind(value), unique=True, trim="-")
        if text != expected:
            # NumPy may give one of several equally short ones; ours must then be as short, and no farther away.
            assert kind(text) == kind(value)
            digits, expected_digits = text.replace(".", "").strip("0"), expected.replace(".", "").strip("0")
            assert len(digits) <= len(expected_digits), (text, expected)
            if len(digits) == len(expected_digits):
                assert abs(Fraction(text) - Fraction(value)) <= abs(Fraction(expected) - Fraction(value))
        assert text_of(NarrowFloat(-value, width)) == "-" + text


def test_texts_do_not_depend_on_the_decimal_context() -> None:
    with localcontext() as context:
        context.prec = 3
        assert text_of(NarrowFloat(struct.unpack("<f", struct.pack("<f", 0.123456789))[0], 4)) == "0.12345679"
        assert text_of(Decimal("1.23456789")) == "1.23456789"
        assert text_of(10**5000) == "1" + "0" * 5000
        assert contains(Decimal("1.23456789"), JsonFloat("1.23456789"))


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999999999Z"), (1_000, "1970-01-01T00:00:00.000001Z"),
        (1_500_000_000, "1970-01-01T00:00:01.500Z"),
        (parse_timestamp("2000-02-29T23:59:59.120Z"), "2000-02-29T23:59:59.120Z"),
        (parse_timestamp("1900-03-01T00:00:00Z"), "1900-03-01T00:00:00.000Z"),
        (parse_timestamp("0000-01-01T00:00:00Z"), "0000-01-01T00:00:00.000Z"),
        (parse_timestamp("0001-12-31T00:00:00Z"), "0001-12-31T00:00:00.000Z"),
        (parse_timestamp("9999-12-31T24:00:00Z"), "+010000-01-01T00:00:00.000Z"),
        (parse_timestamp("0000-01-01T00:00:00+00:01"), "-000001-12-31T23:59:00.000Z"),
        (2**63 * 10**9, "+292277026596-12-04T15:30:08.000Z"), (-(2**63) * 10**9, "-292277022657-01-27T08:29:52.000Z"),
    ],
)  # fmt: skip
def test_iso_text(nanoseconds: int, text: str) -> None:
    assert iso_text(Instant(nanoseconds)) == text


@pytest.mark.parametrize("text", ["0", "-0", "05", "-3", "1.50", "00.00", "9" * 5_000])
def test_plain_numbers(text: str) -> None:
    assert is_plain_number(text)
    assert plain_number(text) == float(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "+3",
        ".8",
        "8.",
        "1e3",
        " 5",
        "5 ",
        "5\n",
        "\n5",
        "1_0",
        "٣",
        "１",
        "NaN",
        "Infinity",
        "0x1",
        "--1",
        "1.2.3",
        "1,5",
    ],
)
def test_other_texts_are_no_plain_numbers(text: str) -> None:
    assert not is_plain_number(text)
    assert plain_number(text) is None


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5.0), (True, None), (None, None), (MISSING, None), ([], None), ({}, None), ([5], None), (Instant(5), None),
        (0.5, 0.5), (math.nan, None), (math.inf, None),
        (JsonFloat("1e3"), 1000.0), (JsonFloat("1e400"), math.inf), (Decimal("1.5"), 1.5), (Decimal("NaN"), None),
        (Decimal("1e999999"), math.inf),
        (NarrowFloat(struct.unpack("<f", struct.pack("<f", 0.1))[0], 4), 0.1), (2**53 + 1, 2.0**53),
    ],
)  # fmt: skip
def test_plain_number_of_values(value: Any, number: float | None) -> None:
    assert plain_number(value) == number


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        ("1", "1", True), ("1", "1.0", True), ("1.0", "1", True), ("1", "2", False), ("1", '"1"', False),
        ('"1"', "1", False), ("true", "true", True), ("true", "1", False),
        ("1", "true", False), ("null", "null", True), ("null", "false", False), ("0", "false", False),
        ("0", "null", False), ('"a"', '"a"', True), ('"ab"', '"a"', False),
        ("9007199254740993", "9007199254740992", False), ("9007199254740993", "9007199254740993", True),
        ("1e400", "1e400", False), ("-0.0", "0", True),
        ("[1,2]", "1", True), ("[1,2]", "3", False), ("[]", "1", False), ("[null]", "null", True),
        ("[[1]]", "1", False), ('[{"a":1}]', "1", False), ('["a"]', '"a"', True),
        ("1", "[1]", False), ("1", "[]", False), ("null", "[]", False), ("null", "{}", False), ('"a"', '["a"]', False),
        ('{"a":1}', '"a"', False), ('{"a":1}', "1", False),
        ("[]", "[]", True), ("[1]", "[]", True), ("{}", "{}", True), ('{"a":1}', "{}", True), ("[]", "{}", False),
        ("{}", "[]", False),
        ("[1,2,3]", "[3,1]", True), ("[1,2,3]", "[1,1,1]", True), ("[1,2]", "[1,4]", False),
        ("[[1,2],3]", "[[1]]", True), ("[[1,2],3]", "[[1],3]", True), ("[[1,2],3]", "[1]", False),
        ("[1,[2]]", "[2]", False), ("[[1],[2]]", "[[1,2]]", False), ("[[[1]]]", "[[1]]", False),
        ("[[1]]", "[[]]", True), ("[1]", "[[]]", False), ("[1]", "[{}]", False),
        ('[{"a":1,"b":2},{"c":3}]', '[{"a":1},{"c":3}]', True), ('[{"a":1},{"b":2}]', '[{"a":1,"b":2}]', False),
        ('[{"a":1}]', '{"a":1}', False), ('{"a":1}', '[{"a":1}]', False),
        ('{"a":1,"b":2}', '{"a":1}', True), ('{"a":1}', '{"a":1,"b":2}', False), ('{"a":1}', '{"a":2}', False),
        ('{"a":null}', '{"a":null}', True), ("{}", '{"a":null}', False),
        ('{"a":{"b":{"c":1}}}', '{"a":{"b":{}}}', True), ('{"a":{"b":1}}', '{"b":1}', False),
        ('{"a":[1,2]}', '{"a":[2]}', True), ('{"a":[1,2]}', '{"a":2}', False), ('{"a":1}', '{"a":[1]}', False),
        ('{"a":[]}', '{"a":{}}', False), ('{"a":1,"a":2}', '{"a":1}', False), ('{"a.b":1}', '{"a.b":1}', True),
    ],
)  # fmt: skip
def test_contains_json(value: str, pattern: str, expected: bool) -> None:
    assert contains(parse_json(value), parse_json(pattern)) is expected


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        (MISSING, "null", False), (None, "null", True), (2.0, "2", True), (math.nan, '"NaN"', True),
        (math.nan, "1", False), (math.inf, '"Infinity"', True), (math.inf, "1e400", False),
        (Decimal("44.4"), "44.4", True), (Decimal("44.40"), "44.4", True), (Decimal("5.00"), "5", True),
        (Decimal("1e30"), "1e30", True), (Decimal("1e999999"), "1e999999", False),
        (Decimal("18446744073709551615"), "18446744073709551615", True),
        (Decimal("18446744073709551615"), "18446744073709551614", False), (10**30, "1e30", True),
        (NarrowFloat(struct.unpack("<f", struct.pack("<f", 0.1))[0], 4), "0.1", True),
        ([NarrowFloat(0.5, 2)], "[0.5]", True),
        (float(2**60), "1152921504606847000", True), (float(2**60), "1152921504606846976", False),
        (Instant(0), '"1970-01-01T00:00:00Z"', True), (Instant(0), '"1970-01-01T01:00:00+01:00"', True),
        (Instant(0), '"x"', False), (Instant(0), "0", False), ([Instant(0)], '"1970-01-01T00:00:00Z"', True),
        ([Instant(0)], '["1970-01-01T00:00:00.000Z"]', True), ([Instant(0)], '["1970-01-01T00:00:00Z"]', False),
        ({"t": Instant(0)}, '{"t":"1970-01-01T00:00:00.000Z"}', True),
    ],
)  # fmt: skip
def test_contains_other_values(value: Any, pattern: str, expected: bool) -> None:
    assert contains(value, parse_json(pattern)) is expected
