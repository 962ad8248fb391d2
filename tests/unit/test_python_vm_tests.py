"""The tests of the Python virtual machine: tables of values for each test opcode."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

import pytest

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import OPCODES, Opcode
from fastfilter.runtime.vm.python.jsonb import NarrowFloat
from fastfilter.runtime.vm.python.tests import TESTS, make_test
from fastfilter.values import (
    MISSING,
    Elements,
    Instant,
    Interval,
    JsonFloat,
    ScalarSet,
    StringBound,
    parse_timestamp,
    point,
)

NOON = "2026-07-01T12:00:00Z"
NOON_INSTANT = parse_timestamp(NOON)
assert NOON_INSTANT is not None
TENTH = NarrowFloat(struct.unpack("<f", struct.pack("<f", 0.1))[0], 4)

EVERY_KIND: list[Any] = [
    MISSING, None, True, False, 0, 1, -1, 0.5, JsonFloat("1e400"), math.nan, math.inf, Decimal("1.50"), Decimal("NaN"),
    "", "a", "true", "1", NOON,
    Instant(0), Instant(NOON_INSTANT), [], [None], ["a"], [1, [2]], {}, {"a": 1},
]  # fmt: skip


def true_on(
    opcode: Opcode, constant: Constant | None, values: list[Any], elements: Elements = Elements.NEVER
) -> list[int]:
    test = make_test(opcode, constant, elements)
    answers = [test(value) for value in values]
    assert all(type(answer) is bool for answer in answers)
    return [place for place, answer in enumerate(answers) if answer]


def test_there_is_one_for_every_test_opcode() -> None:
    assert set(TESTS) == {opcode for opcode, spec in OPCODES.items() if spec.field}


CONSTANTS: dict[Opcode, Constant | None] = {
    Opcode.EXISTS: None,
    Opcode.IS_NULL: None,
    Opcode.EQUALS_ANY: ScalarSet(True, True, True, (0, 0.5, 1), ("", NOON, "a"), (0,)),
    Opcode.NUMBER_RANGE: Intervals((Interval(None, False, None, False),)),
    Opcode.STRING_RANGE: StringBound("gte", ""),
    Opcode.TIMESTAMP_RANGE: Intervals((Interval(None, False, None, False),)),
    Opcode.CONTAINS: Text(""),
    Opcode.CONTAINS_IGNORE_CASE: Text(""),
    Opcode.TEXT_EQUALS_ANY: Strings(("", "1", "true")),
    Opcode.TEXT_NUMBER_RANGE: Intervals((Interval(None, False, None, False),)),
    Opcode.JSON_CONTAINS: Json("[]"),
}


@pytest.mark.parametrize("opcode", TESTS, ids=lambda opcode: opcode.name)
def test_every_kind_has_an_answer_and_missing_is_false(opcode: Opcode) -> None:
    for elements in Elements if OPCODES[opcode].elements else (Elements.NEVER,):
        true = true_on(opcode, CONSTANTS[opcode], EVERY_KIND, elements)
        assert 0 not in true
        assert (1 in true) == (opcode is Opcode.IS_NULL)
        assert true


@pytest.mark.parametrize(
    "opcode", [opcode for opcode, spec in OPCODES.items() if spec.constant is not None], ids=lambda opcode: opcode.name
)
def test_a_constant_of_another_type_is_refused(opcode: Opcode) -> None:
    with pytest.raises(TypeError):
        make_test(opcode, None, Elements.NEVER)
    wrong: Constant = Json("1") if opcode is not Opcode.JSON_CONTAINS else Text("1")
    with pytest.raises(TypeError):
        make_test(opcode, wrong, Elements.NEVER)


def test_exists_and_is_null() -> None:
    assert true_on(Opcode.EXISTS, None, EVERY_KIND) == list(range(2, len(EVERY_KIND)))
    assert true_on(Opcode.IS_NULL, None, EVERY_KIND) == [1]


def test_equals_any_kinds() -> None:
    values = [
        True,
        False,
        1,
        1.0,
        JsonFloat("1.0"),
        Decimal("1.000"),
        NarrowFloat(1.0, 2),
        "1",
        "true",
        0,
        -0.0,
        Decimal("-0"),
        [1],
        {"a": 1},
        None,
    ]
    one = [2, 3, 4, 5, 6]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(numbers=(1,)), values) == one
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(numbers=(0,)), values) == [9, 10, 11]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(true=True), values) == [0]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(false=True), values) == [1]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(strings=("1",)), values) == [7]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(null=True), values) == []
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(true=True, numbers=(0, 1), strings=("true",)), values) == [
        0,
        *one,
        8,
        9,
        10,
        11,
    ]


def test_equals_any_numbers_are_exact() -> None:
    big = 2**53
    values = [
        big,
        big + 1,
        float(big),
        2**64 - 1,
        float(2**64),
        Decimal(2**64 - 1),
        TENTH,
        0.1,
        Decimal("0.1"),
        Decimal("44.4"),
        Decimal("33"),
    ]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(numbers=(big,)), values) == [0, 2]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(numbers=(big + 1,)), values) == [1]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(numbers=(2**64 - 1,)), values) == [3, 5]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(numbers=(float(2**64),)), values) == [4]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(numbers=(0.1,)), values) == [7, 8]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(numbers=(33.3, 44.4)), values) == [9]
    infinite = [
        math.inf,
        -math.inf,
        math.nan,
        JsonFloat("1e400"),
        JsonFloat("-1e400"),
        Decimal("Infinity"),
        Decimal("NaN"),
        Decimal("sNaN"),
    ]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(numbers=(-math.inf, math.inf)), infinite) == []


def test_equals_any_elements() -> None:
    values = ["a", ["a"], ["b", None], [None], [], None, MISSING, [["a"]], [{"a": "a"}], {"a": "a"}, [1, True], [False]]
    a = ScalarSet(strings=("a",))
    assert true_on(Opcode.EQUALS_ANY, a, values, Elements.NEVER) == [0]
    assert true_on(Opcode.EQUALS_ANY, a, values, Elements.ALSO) == [0, 1]
    assert true_on(Opcode.EQUALS_ANY, a, values, Elements.ONLY) == [1]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(null=True), values, Elements.ALSO) == [2, 3]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(null=True), values, Elements.ONLY) == [2, 3]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(true=True), values, Elements.ALSO) == [10]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(false=True, numbers=(1,)), values, Elements.ALSO) == [10, 11]


def test_equals_any_instants() -> None:
    values = [
        Instant(NOON_INSTANT),
        NOON,
        "2026-07-01T14:00:00.000+02:00",
        "2026-07-01 12:00:00Z",
        NOON_INSTANT,
        Instant(NOON_INSTANT + 1),
        [Instant(NOON_INSTANT)],
        [NOON],
    ]
    instants = ScalarSet(instants=(NOON_INSTANT,))
    assert true_on(Opcode.EQUALS_ANY, instants, values) == [0, 1, 2]
    assert true_on(Opcode.EQUALS_ANY, instants, values, Elements.ALSO) == [0, 1, 2, 6, 7]
    # Literals that are strings are instants to a TIMESTAMP only.
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(strings=("2026-07-01T13:00:00+01:00",)), values) == [0]
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(strings=("noon",)), values) == []
    assert true_on(Opcode.EQUALS_ANY, ScalarSet(strings=("2026-07-01T13:00:00+01:00",)), values, Elements.ONLY) == [6]


def test_number_range() -> None:
    values = [
        -1,
        0,
        1,
        2,
        0.5,
        JsonFloat("1.5"),
        Decimal("0.5"),
        NarrowFloat(0.5, 4),
        True,
        "1",
        math.nan,
        math.inf,
        -math.inf,
        JsonFloat("1e400"),
        [1],
        None,
        MISSING,
        Instant(1),
    ]
    everything = Interval(None, False, None, False)
    assert true_on(Opcode.NUMBER_RANGE, Intervals((everything,)), values) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert true_on(Opcode.NUMBER_RANGE, Intervals((Interval(0, False, None, False),)), values) == [2, 3, 4, 5, 6, 7]
    assert true_on(Opcode.NUMBER_RANGE, Intervals((Interval(0, True, 1, False),)), values) == [1, 4, 6, 7]
    assert true_on(
        Opcode.NUMBER_RANGE, Intervals((Interval(None, False, 0, True), Interval(1, False, None, False))), values
    ) == [0, 1, 3, 5]
    assert true_on(Opcode.NUMBER_RANGE, Intervals((point(0), point(2))), values) == [1, 3]
    assert true_on(Opcode.NUMBER_RANGE, Intervals(()), values) == []
    assert true_on(Opcode.NUMBER_RANGE, Intervals((Interval(None, False, math.inf, True),)), values) == [
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
    ]


def test_number_range_is_exact() -> None:
    top = 2**63 - 1
    values = [
        top,
        top + 1,
        float(2**63),
        0,
        -(2**63),
        Decimal(top),
        TENTH,
        Decimal("100.22"),
        Decimal("100.23"),
        Decimal("1e999999"),
    ]
    assert true_on(Opcode.NUMBER_RANGE, Intervals((Interval(top, False, None, False),)), values) == [1, 2, 9]
    assert true_on(Opcode.NUMBER_RANGE, Intervals((Interval(top, True, None, False),)), values) == [0, 1, 2, 5, 9]
    assert true_on(Opcode.NUMBER_RANGE, Intervals((Interval(None, False, -(2**63), False),)), values) == []
    assert true_on(Opcode.NUMBER_RANGE, Intervals((Interval(0.1, False, 1, False),)), values) == [6]
    assert true_on(Opcode.NUMBER_RANGE, Intervals((Interval(100.225, True, 200, False),)), values) == [8]


def test_string_range_is_in_utf16_order() -> None:
    values = [
        "\uff61",
        "😀",
        "z",
        "",
        "\uff61a",
        "\ud83d",
        "one",
        "abcdefghijkl",
        "abcdefghijklm",
        5,
        None,
        MISSING,
        ["z"],
        True,
    ]
    assert true_on(Opcode.STRING_RANGE, StringBound("lt", "\uff61"), values) == [1, 2, 3, 5, 6, 7, 8]
    assert true_on(Opcode.STRING_RANGE, StringBound("gt", "\uff61"), values) == [4]
    assert true_on(Opcode.STRING_RANGE, StringBound("gte", "\uff61"), values) == [0, 4]
    assert true_on(Opcode.STRING_RANGE, StringBound("lte", ""), values) == [3]
    assert true_on(Opcode.STRING_RANGE, StringBound("gt", "abcdefghijkl"), values) == [0, 1, 2, 4, 5, 6, 8]
    assert true_on(Opcode.STRING_RANGE, StringBound("lt", "😀"), values) == [2, 3, 5, 6, 7, 8]


def test_string_range_of_instants() -> None:
    values = [Instant(NOON_INSTANT), Instant(NOON_INSTANT - 1), [Instant(0)], "2026-07-01T13:00:00+02:00"]
    assert true_on(Opcode.STRING_RANGE, StringBound("gte", "2026-07-01T14:00:00+02:00"), values) == [0]
    assert true_on(Opcode.STRING_RANGE, StringBound("lt", "2026-07-01T14:00:00+02:00"), values) == [1, 3]
    assert true_on(Opcode.STRING_RANGE, StringBound("gt", ""), values) == [3]


def test_timestamp_range() -> None:
    values = [
        Instant(NOON_INSTANT),
        Instant(NOON_INSTANT + 1),
        NOON,
        "2026-07-01T12:00:00.000000001Z",
        "2026-06-30T24:00:00Z",
        "2026-07-01",
        "",
        5,
        None,
        MISSING,
        [Instant(0)],
    ]
    assert true_on(Opcode.TIMESTAMP_RANGE, Intervals((Interval(NOON_INSTANT, False, None, False),)), values) == [1, 3]
    assert true_on(Opcode.TIMESTAMP_RANGE, Intervals((Interval(None, False, NOON_INSTANT, True),)), values) == [0, 2, 4]
    assert true_on(Opcode.TIMESTAMP_RANGE, Intervals((point(NOON_INSTANT),)), values) == [0, 2]
    huge = [Instant(10**40), Instant(-(10**40))]
    assert true_on(Opcode.TIMESTAMP_RANGE, Intervals((Interval(0, True, None, False),)), huge) == [0]


def test_contains() -> None:
    values = [
        "abcd",
        "xxcdefxx",
        "cdecdef",
        "",
        "cdef",
        None,
        MISSING,
        ["cdef"],
        ["xcdef"],
        [None, "cdef"],
        [["cdef"]],
        [],
        {"cdef": 1},
        5,
        ["CDEF"],
    ]
    assert true_on(Opcode.CONTAINS, Text("cdef"), values) == [1, 2, 4, 7, 9]
    assert true_on(Opcode.CONTAINS, Text(""), values) == [0, 1, 2, 3, 4]
    assert true_on(Opcode.CONTAINS, Text("a_b"), ["a_b", "axb"]) == [0]
    assert true_on(Opcode.CONTAINS, Text("50%"), ["50%", "500"]) == [0]
    assert true_on(Opcode.CONTAINS, Text("é"), ["café", "cafe\u0301"]) == [0]
    assert true_on(Opcode.CONTAINS, Text(NOON), [[Instant(NOON_INSTANT)], Instant(NOON_INSTANT), [NOON], NOON]) == [
        0,
        2,
        3,
    ]
    assert true_on(Opcode.CONTAINS, Text("2026-07-01T13:00:00+01:00"), [[Instant(NOON_INSTANT)], [NOON]]) == [0]


def test_contains_ignore_case() -> None:
    cities = ["İstanbul", "istanbul", "ISTANBUL", "ıstanbul"]
    assert true_on(Opcode.CONTAINS_IGNORE_CASE, Text("istanbul"), cities) == [1, 2]
    assert true_on(Opcode.CONTAINS_IGNORE_CASE, Text("İSTANBUL"), cities) == [0]
    assert true_on(Opcode.CONTAINS_IGNORE_CASE, Text("stanbul"), cities) == [0, 1, 2, 3]
    streets = ["Straße", "STRASSE", "STRAẞE"]
    assert true_on(Opcode.CONTAINS_IGNORE_CASE, Text("strasse"), streets) == [1]
    assert true_on(Opcode.CONTAINS_IGNORE_CASE, Text("straße"), streets) == [0, 2]
    assert true_on(Opcode.CONTAINS_IGNORE_CASE, Text("ΟΔΟΣ"), ["οδος", "ΟΔΟΣ", "οδοσ", "ΟΔΟΣ Α", "ΟΔΟΣΑ"]) == [0, 1, 3]
    assert true_on(
        Opcode.CONTAINS_IGNORE_CASE,
        Text("Vip"),
        [["VIP"], ["vips"], [None, "vip"], [["vip"]], [5], "my VIPs", None, MISSING, 5, {"vip": 1}],
    ) == [0, 2, 5]
    assert true_on(
        Opcode.CONTAINS_IGNORE_CASE, Text(NOON), [[Instant(NOON_INSTANT)], Instant(NOON_INSTANT), NOON.lower()]
    ) == [2]


def test_text_equals_any() -> None:
    values = [
        5,
        "5",
        5.0,
        JsonFloat("5.0"),
        JsonFloat("5e0"),
        Decimal("5.0"),
        [5],
        None,
        MISSING,
        True,
        "true",
        {"a": 1},
        JsonFloat("1e999999999"),
    ]
    assert true_on(Opcode.TEXT_EQUALS_ANY, Strings(("5",)), values) == [0, 1, 2, 4]
    assert true_on(Opcode.TEXT_EQUALS_ANY, Strings(("5.0",)), values) == [3, 5]
    assert true_on(Opcode.TEXT_EQUALS_ANY, Strings(("true",)), values) == [9, 10]
    assert true_on(Opcode.TEXT_EQUALS_ANY, Strings(("[5]", '{"a": 1}', "null")), values) == [6, 11]
    assert true_on(Opcode.TEXT_EQUALS_ANY, Strings(("0.1",)), [TENTH, 0.1, "0.1", "0.10"]) == [0, 1, 2]
    assert true_on(Opcode.TEXT_EQUALS_ANY, Strings(("NaN",)), [math.nan, "NaN", math.inf]) == [0, 1]
    assert true_on(Opcode.TEXT_EQUALS_ANY, Strings(("",)), ["", 0, [], {}, None]) == [0]
    instants = [Instant(NOON_INSTANT), NOON, "2026-07-01T12:00:00.000Z"]
    assert true_on(Opcode.TEXT_EQUALS_ANY, Strings((NOON,)), instants) == [0, 1]
    assert true_on(Opcode.TEXT_EQUALS_ANY, Strings(("2026-07-01T12:00:00.000Z",)), instants) == [0, 2]
    assert true_on(Opcode.TEXT_EQUALS_ANY, Strings(("noon",)), instants) == []


def test_text_number_range() -> None:
    values = [
        100,
        "N/A",
        "200",
        {"v": 1},
        MISSING,
        None,
        JsonFloat("1e3"),
        "1e3",
        " 75",
        "+75",
        ".8",
        "075",
        "75.",
        True,
        "true",
        [75],
        math.inf,
        Instant(75),
        JsonFloat("1e400"),
        "9" * 400,
    ]
    assert true_on(Opcode.TEXT_NUMBER_RANGE, Intervals((Interval(50, False, None, False),)), values) == [0, 2, 6, 11]
    assert true_on(Opcode.TEXT_NUMBER_RANGE, Intervals((point(75),)), values) == [11]
    assert true_on(Opcode.TEXT_NUMBER_RANGE, Intervals((point(0.1),)), [TENTH, "0.1", "0.10", 0.1, Decimal("0.1")]) == [
        0,
        1,
        2,
        3,
        4,
    ]
    # As doubles, on both sides.
    assert true_on(
        Opcode.TEXT_NUMBER_RANGE, Intervals((point(2**53 + 1),)), [2**53, 2**53 + 1, str(2**53), 2**53 + 2]
    ) == [0, 1, 2]
    assert true_on(Opcode.TEXT_NUMBER_RANGE, Intervals((point(0),)), ["-0", "-0.0", -0.0, JsonFloat("-0.0")]) == [
        0,
        1,
        2,
        3,
    ]


def test_json_contains() -> None:
    values = [["a", "b"], "a", ["b"], {"a": 1}, [["a"]], None, MISSING, [None], True]
    assert true_on(Opcode.JSON_CONTAINS, Json('"a"'), values) == [0, 1]
    assert true_on(Opcode.JSON_CONTAINS, Json('["b","a"]'), values) == [0]
    assert true_on(Opcode.JSON_CONTAINS, Json("null"), values) == [5, 7]
    assert true_on(Opcode.JSON_CONTAINS, Json('{"a":1.0}'), values) == [3]
    assert true_on(Opcode.JSON_CONTAINS, Json("true"), values) == [8]
