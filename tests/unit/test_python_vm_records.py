"""Records that are dicts: what their values are to a filter, where fields are found, and what is an error."""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import types
import uuid
from collections import OrderedDict, UserDict, defaultdict, namedtuple
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program, Role
from fastfilter.errors import BindError, DataError
from fastfilter.runtime.vm.python import run_records
from fastfilter.values import Elements, Instant, Interval, ScalarSet, StringBound, parse_timestamp, point

V = Field(Role.METADATA, ("v",))
CONTENT = Field(Role.COLUMN, ("content",))


def program(
    opcode: Opcode,
    constant: Constant | None = None,
    field: Field = V,
    elements: Elements = Elements.NEVER,
    *others: Field,
) -> Program:
    instructions = (Instruction(opcode, 1, 0, elements, 0, 0), Instruction(Opcode.RETURN, source=1))
    uses = tuple(FieldUse(one, None) for one in (field, *others))
    return Program(instructions, (constant,) if constant is not None else (), uses, 2)


def run(one: Program, records: list[Any], **options: Any) -> list[bool]:
    return run_records(one, records, **{"metadata": "metadata", "columns": {}, "on_invalid_json": "missing", **options})


def true_on(
    values: list[Any], opcode: Opcode, constant: Constant | None = None, elements: Elements = Elements.NEVER
) -> list[int]:
    """The values on which a test is true, each tried as metadata and as a built-in field."""
    in_metadata = run(program(opcode, constant, V, elements), [{"metadata": {"v": value}} for value in values])
    built_in = run(program(opcode, constant, CONTENT, elements), [{"content": value} for value in values])
    assert in_metadata == built_in
    assert all(type(answer) is bool for answer in in_metadata)
    return [place for place, answer in enumerate(in_metadata) if answer]


class Mood(str, enum.Enum):  # noqa: UP042 - its hash is not that of its text, as a StrEnum's is
    GOOD = "good"

    def __str__(self) -> str:
        return "a mood"


class Level(enum.IntEnum):
    HIGH = 3


def test_strings() -> None:
    values = ["good", Mood.GOOD, np.str_("good"), uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001", 5, None]
    assert true_on(values, Opcode.EQUALS_ANY, ScalarSet(strings=("good",))) == [0, 1, 2]
    assert true_on(values, Opcode.CONTAINS, Text("oo")) == [0, 1, 2]
    assert true_on(values, Opcode.TEXT_EQUALS_ANY, Strings(("good",))) == [0, 1, 2]
    assert true_on(values, Opcode.EQUALS_ANY, ScalarSet(strings=("00000000-0000-0000-0000-000000000001",))) == [3, 4]


def test_numbers() -> None:
    values = [
        3,
        3.0,
        Level.HIGH,
        np.int8(3),
        np.uint64(3),
        np.float16(3),
        np.float32(3),
        np.float64(3),
        Decimal(3),
        Decimal("3.00"),
        True,
        "3",
        np.array(3),
    ]
    three = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12]
    assert true_on(values, Opcode.EQUALS_ANY, ScalarSet(numbers=(3,))) == three
    assert true_on(values, Opcode.NUMBER_RANGE, Intervals((Interval(2, False, 3, True),))) == three
    assert true_on(
        [np.float32(0.1), np.float16(0.1), 0.1, Decimal("0.10"), "0.1"], Opcode.TEXT_EQUALS_ANY, Strings(("0.1",))
    ) == [0, 1, 2, 4]
    assert true_on([Decimal("1.50"), 1.5, Decimal("1.5E+0")], Opcode.TEXT_EQUALS_ANY, Strings(("1.50",))) == [0]
    assert true_on([Decimal("1E+3"), 1000], Opcode.TEXT_EQUALS_ANY, Strings(("1000",))) == [0, 1]
    assert true_on(
        [10**5000, 2**64, 2**63], Opcode.NUMBER_RANGE, Intervals((Interval(2**64 - 1, False, None, False),))
    ) == [1]  # as in JSON, what overflows a double is in no interval
    odd = [
        math.nan,
        math.inf,
        np.float32("nan"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-Infinity"),
        decimal.Decimal("1e999999"),
    ]
    assert true_on(odd, Opcode.EXISTS) == list(range(7))
    assert true_on(odd, Opcode.NUMBER_RANGE, Intervals((Interval(None, False, None, False),))) == [6]
    assert true_on(odd, Opcode.EQUALS_ANY, ScalarSet(numbers=(0, math.inf))) == []


def test_bools_are_no_numbers() -> None:
    values = [True, np.True_, 1, False, np.False_, "true", None]
    assert true_on(values, Opcode.EQUALS_ANY, ScalarSet(true=True)) == [0, 1]
    assert true_on(values, Opcode.EQUALS_ANY, ScalarSet(numbers=(0, 1))) == [2]
    assert true_on(values, Opcode.TEXT_EQUALS_ANY, Strings(("true",))) == [0, 1, 5]


NOON = "2026-07-01T12:00:00Z"
SAME_INSTANT = [
    NOON,
    "2026-07-01T14:00:00+02:00",
    datetime.datetime(2026, 7, 1, 12),
    datetime.datetime(2026, 7, 1, 12, tzinfo=datetime.UTC),
    datetime.datetime(2026, 7, 1, 14, tzinfo=ZoneInfo("Europe/Paris")),
    datetime.datetime(2026, 7, 1, 6, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))),
    pd.Timestamp("2026-07-01T12:00:00"),
    pd.Timestamp("2026-07-01T14:00:00", tz="Europe/Paris"),
    *(np.datetime64("2026-07-01T12", unit) for unit in ("h", "m", "s", "ms", "us", "ns")),
    np.datetime64("2026-07-01T12", "6h"),
    Instant(1_782_907_200 * 10**9),
]  # fmt: skip


def test_instants() -> None:
    later = [
        value + datetime.timedelta(microseconds=1) for value in SAME_INSTANT if isinstance(value, datetime.datetime)
    ]
    later.append(pd.Timestamp("2026-07-01T12:00:00.000000001"))
    noon = parse_timestamp(NOON)
    assert noon is not None
    values = SAME_INSTANT + later
    same, after = list(range(len(SAME_INSTANT))), list(range(len(SAME_INSTANT), len(values)))
    assert true_on(values, Opcode.EQUALS_ANY, ScalarSet(instants=(noon,))) == same
    assert true_on(values, Opcode.TIMESTAMP_RANGE, Intervals((point(noon),))) == same
    assert true_on(values, Opcode.TIMESTAMP_RANGE, Intervals((Interval(noon, False, None, False),))) == after


def test_instants_compare_with_text() -> None:
    values = SAME_INSTANT[2:]
    everywhere = list(range(len(values)))
    assert true_on(values, Opcode.EQUALS_ANY, ScalarSet(strings=("2026-07-01T13:00:00+01:00",))) == everywhere
    assert true_on(values, Opcode.STRING_RANGE, StringBound("gte", NOON)) == everywhere
    assert true_on(values, Opcode.STRING_RANGE, StringBound("gt", NOON)) == []
    assert true_on(values, Opcode.STRING_RANGE, StringBound("gte", "2026")) == []
    assert true_on(values, Opcode.TEXT_EQUALS_ANY, Strings(("2026-07-01T12:00:00.000000Z", "x"))) == everywhere
    assert true_on([[value] for value in values], Opcode.CONTAINS, Text(NOON)) == everywhere
    assert (
        true_on([[value] for value in values], Opcode.EQUALS_ANY, ScalarSet(strings=(NOON,)), Elements.ALSO)
        == everywhere
    )
    assert true_on(values, Opcode.JSON_CONTAINS, Json(f'"{NOON}"')) == everywhere
    assert true_on(values, Opcode.EQUALS_ANY, ScalarSet(strings=("noon",))) == []
    assert true_on(values, Opcode.CONTAINS, Text("2026")) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime.date(2024, 2, 29), "2024-02-29T00:00:00Z"),
        (np.datetime64("2024-02-29"), "2024-02-29T00:00:00Z"),
        (np.datetime64("2024-02"), "2024-02-01T00:00:00Z"),
        (np.datetime64("2024"), "2024-01-01T00:00:00Z"),
        (np.datetime64("0000-03"), "0000-03-01T00:00:00Z"),
        (np.datetime64("1969-12"), "1969-12-01T00:00:00Z"),
        (np.datetime64(0, "W"), "1970-01-01T00:00:00Z"),
        (np.datetime64(-5_000, "ps"), "1969-12-31T23:59:59.999999995Z"),
        (np.datetime64(10**12, "as"), "1970-01-01T00:00:00.000001Z"),
        (datetime.datetime.min, "0001-01-01T00:00:00Z"),
        (datetime.datetime.max, "9999-12-31T23:59:59.999999Z"),
        (datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))), "0000-12-31T23:00:00Z"),
        (datetime.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Paris")), "2026-10-25T01:30:00Z"),
        (pd.Timestamp("1970-01-01T00:00:00.123456789"), "1970-01-01T00:00:00.123456789Z"),
    ],
)  # fmt: skip
def test_instants_are_exact(value: Any, text: str) -> None:
    instant = parse_timestamp(text)
    assert instant is not None
    assert true_on([value], Opcode.EQUALS_ANY, ScalarSet(instants=(instant,))) == [0]
    assert true_on([value], Opcode.EQUALS_ANY, ScalarSet(instants=(instant - 1, instant + 1))) == []


def test_a_far_datetime64() -> None:
    year_one_million = np.datetime64(1_000_000 - 1970, "Y")
    days = int(year_one_million.astype("datetime64[D]").astype("int64"))
    assert true_on([year_one_million], Opcode.TIMESTAMP_RANGE, Intervals((point(days * 86_400 * 10**9),))) == [0]


def test_not_a_time_is_null() -> None:
    assert true_on([pd.NaT, np.datetime64("NaT"), np.datetime64("NaT", "s"), None], Opcode.IS_NULL) == [0, 1, 2, 3]


Pair = namedtuple("Pair", "first second")


def test_arrays() -> None:
    values = [
        ["a", None],
        ("a",),
        Pair("b", "a"),
        np.array(["x", "a"]),
        [["a"]],
        [Mood.GOOD],
        [],
        np.array([], dtype="int64"),
        pd.array([1, 2]).to_numpy(),
    ]
    assert true_on(values, Opcode.CONTAINS, Text("a")) == [0, 1, 2, 3]
    assert true_on(values, Opcode.EQUALS_ANY, ScalarSet(null=True), Elements.ALSO) == [0]
    assert true_on(values, Opcode.EQUALS_ANY, ScalarSet(strings=("good",)), Elements.ALSO) == [5]
    assert true_on(values, Opcode.EQUALS_ANY, ScalarSet(numbers=(2,)), Elements.ALSO) == [8]
    assert true_on([np.array([[1, 2], [3, 4]])], Opcode.TEXT_EQUALS_ANY, Strings(("[[1, 2], [3, 4]]",))) == [0]
    assert true_on([np.array(["2026-07-01T12:00"], "datetime64[m]")], Opcode.CONTAINS, Text(NOON)) == [0]


def test_objects() -> None:
    values = [
        {"a": {"b": (1, Mood.GOOD)}},
        OrderedDict(a=UserDict(b=[1, "good"])),
        types.MappingProxyType({"a": {"b": np.array([1, 2])}}),
        {},
    ]
    assert true_on(values, Opcode.JSON_CONTAINS, Json('{"a":{"b":[1]}}')) == [0, 1, 2]
    assert true_on(values, Opcode.TEXT_EQUALS_ANY, Strings(('{"a": {"b": [1, "good"]}}', "{}"))) == [0, 1, 3]
    assert true_on(
        [{"t": datetime.datetime(1970, 1, 1), "n": Decimal("1.50"), "f": 2.0}],
        Opcode.TEXT_EQUALS_ANY,
        Strings(('{"f": 2, "n": 1.50, "t": "1970-01-01T00:00:00.000Z"}',)),
    ) == [0]


@pytest.mark.parametrize(
    "value",
    [
        b"x",
        {1},
        object(),
        1j,
        datetime.time(1),
        datetime.timedelta(1),
        np.timedelta64(1, "s"),
        range(3),
        np.bytes_(b"x"),
        pd.NA,
        np.longdouble(1),
        bytearray(b""),
    ],
)
def test_unsupported_types_are_errors(value: Any) -> None:
    for holder in (value, [value], {"k": [value]}):
        for field, record in ((V, {"metadata": {"v": holder}}), (CONTENT, {"content": holder})):
            with pytest.raises(BindError) as caught:
                run(program(Opcode.EXISTS, None, field), [{"content": "", "metadata": {}}, record])
            assert caught.value.field == field.name
            assert caught.value.type == type(value).__name__
            assert type(value).__name__ in str(caught.value)
            assert field.name in str(caught.value)
    assert run(program(Opcode.EXISTS), [{"content": value, "metadata": {"v": 1, "other": value}}]) == [True]


def test_an_unsupported_type_is_an_error_whatever_the_other_conditions() -> None:
    with pytest.raises(BindError):
        run(program(Opcode.EXISTS, None, V, Elements.NEVER, CONTENT), [{"content": b"x"}])


def test_other_values_that_are_errors() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    for value in (cycle, {1: 2}, {"a": {None: 1}}, np.datetime64(1, "ps")):
        with pytest.raises(BindError) as caught:
            run(program(Opcode.EXISTS), [{"metadata": {"v": value}}])
        assert caught.value.field == "metadata.v"
    deep: Any = 1
    for _ in range(1_024):
        deep = [deep]
    assert run(program(Opcode.EXISTS), [{"metadata": {"v": deep}}]) == [True]
    with pytest.raises(TypeError, match="record 1"):
        run(program(Opcode.EXISTS), [{}, [1]])


def test_paths() -> None:
    field = Field(Role.METADATA, ("a", "b.c", ""))
    records: list[Any] = [
        {"metadata": {"a": {"b.c": {"": 1}}}},
        {"metadata": {"a": {"b.c": {"": None}}}},
        {"metadata": UserDict(a=OrderedDict({"b.c": {"": "x"}}))},
        {"metadata": {"a": {"b.c": None}}},
        {"metadata": {"a": [{"b.c": {"": 1}}]}},
        {"metadata": {"a": "text"}},
        {"metadata": {"a": None}},
        {"metadata": {"a.b.c.": 1}},
        {"metadata": {}},
        {"metadata": None},
        {},
        {"metadata": [1]},
        {"metadata": 5},
        {"metadata": '{"a":{"b.c":{"":2}}}'},
        {"metadata": b'{"a":{"b.c":{"":null}}}'},
        {"a": {"b.c": {"": 1}}},
    ]
    assert run(program(Opcode.EXISTS, None, field), records) == [i in (0, 2, 13) for i in range(len(records))]
    assert run(program(Opcode.IS_NULL, None, field), records) == [i in (1, 14) for i in range(len(records))]


def test_looking_up_adds_nothing_to_a_record() -> None:
    metadata: Any = defaultdict(dict)
    record: Any = defaultdict(str, metadata=metadata)
    assert run(program(Opcode.EXISTS, None, V, Elements.NEVER, CONTENT), [record]) == [False]
    assert set(record) == {"metadata"}
    assert not metadata


def test_built_in_fields_and_renaming() -> None:
    records = [{"content": "x"}, {"content": None}, {}, {"text": "y"}]
    assert run(program(Opcode.EXISTS, None, CONTENT), records) == [True, False, False, False]
    assert run(program(Opcode.IS_NULL, None, CONTENT), records) == [False, True, False, False]
    assert run(program(Opcode.EXISTS, None, CONTENT), records, columns={"content": "text"}) == [
        False,
        False,
        False,
        True,
    ]
    assert run(program(Opcode.EXISTS), [{"meta": {"v": 1}}, {"metadata": {"v": 1}}], metadata="meta") == [True, False]
    # A metadata path is not renamed as a built-in field of that name is.
    content = Field(Role.METADATA, ("content",))
    assert run(program(Opcode.EXISTS, None, content), [{"metadata": {"content": 1}}], columns={"content": "x"}) == [
        True
    ]


def test_json_metadata() -> None:
    texts: list[Any] = [
        '{"v":1.50}',
        b'{"v":1.50}',
        bytearray(b'{"v":1.50}'),
        '{"v":1,"v":1.50}',
        '{"\\u0076":15e-1}',
        "{",
        "[1.50]",
        "null",
        b'{"v":"\xff"}',
        '{"v":"\ud83d"}',
        Mood.GOOD,
    ]
    records = [{"metadata": text} for text in texts]
    assert run(program(Opcode.TEXT_EQUALS_ANY, Strings(("1.50",))), records) == [True] * 4 + [False] * 7
    assert run(program(Opcode.EQUALS_ANY, ScalarSet(numbers=(1.5,))), records) == [True] * 5 + [False] * 6
    assert run(program(Opcode.EXISTS), records) == [True] * 5 + [False] * 6
    # It is never an instant.
    assert run(
        program(Opcode.EQUALS_ANY, ScalarSet(strings=("2026-07-01T13:00:00+01:00",))),
        [{"metadata": f'{{"v":"{NOON}"}}'}],
    ) == [False]


@pytest.mark.parametrize("bad", ["{", "", "[1]", "null", "5", b"\xff", '{"v":"\udc80"}', [1], 5, "[" * 2_000])
def test_invalid_json_may_be_an_error(bad: Any) -> None:
    records: list[Mapping[str, Any]] = [
        {"metadata": {"v": 1}},
        {},
        {"metadata": None},
        {"metadata": '{"v":1}'},
        {"metadata": bad},
        {"metadata": "{"},
    ]
    assert run(program(Opcode.EXISTS), records) == [True, False, False, True, False, False]
    with pytest.raises(DataError) as caught:
        run(program(Opcode.EXISTS), records, on_invalid_json="error")
    assert caught.value.row == 4
    assert "'metadata'" in caught.value.message
    # Where the filter names no metadata they are not looked at.
    assert run(program(Opcode.EXISTS, None, CONTENT), records, on_invalid_json="error") == [False] * 6


def test_many_records() -> None:
    records = [{"metadata": {"v": number % 7}} for number in range(10_000)]
    assert run(program(Opcode.EQUALS_ANY, ScalarSet(numbers=(3,))), records) == [
        number % 7 == 3 for number in range(10_000)
    ]
    records.append({"metadata": "{"})
    with pytest.raises(DataError) as caught:
        run(program(Opcode.EXISTS), records, on_invalid_json="error")
    assert caught.value.row == 10_000
    assert run(program(Opcode.EXISTS), []) == []
