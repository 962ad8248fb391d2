"""Constants lowered for native kernels: exact at every edge, for every type."""

from __future__ import annotations

import math
import struct
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastfilter.bytecode.constants import Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.runtime.vm.lowering import Lowered, lower, needle
from fastfilter.values import Interval, ScalarSet, StringBound, canonical_number, number_in, point

INT64 = (-(2**63), 2**63 - 1)


def intervals_of(lowered: Lowered) -> list[tuple[Any, Any]]:
    """The closed intervals of the one form that is filled."""
    if lowered.wides:
        limbs = struct.unpack(f"={len(lowered.wides) // 8}Q", lowered.wides)
        parts = [struct.pack("<4Q", *limbs[at : at + 4]) for at in range(0, len(limbs), 4)]
        numbers: tuple[Any, ...] = tuple(int.from_bytes(part, "little", signed=True) for part in parts)
    else:
        packed, code = max(
            (lowered.int64s, "q"), (lowered.uint64s, "Q"), (lowered.doubles, "d"), key=lambda of: len(of[0])
        )
        numbers = struct.unpack(f"={len(packed) // 8}{code}", packed)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def ranges(
    kind: pa.DataType | None, *intervals: Interval, opcode: Opcode = Opcode.NUMBER_RANGE
) -> list[tuple[Any, Any]]:
    return intervals_of(lower(opcode, Intervals(intervals), kind))


def above(bound: float, closed: bool = False) -> Interval:
    return Interval(bound, closed, None, False)


def below(bound: float, closed: bool = False) -> Interval:
    return Interval(None, False, bound, closed)


@pytest.mark.parametrize(
    ("kind", "interval", "expected"),
    [
        (pa.int8(), point(128), []),
        (pa.int8(), below(128), [(-128, 127)]),
        (pa.int8(), above(-200), [(-128, 127)]),
        (pa.int64(), above(2**63 - 1), []),
        (pa.int64(), above(2**63 - 1, True), [(2**63 - 1, 2**63 - 1)]),
        (pa.int64(), below(-(2**63)), []),
        (pa.int64(), above(0.5), [(1, 2**63 - 1)]),
        (pa.int64(), below(-0.5, True), [(-(2**63), -1)]),
        (pa.int64(), Interval(0.25, True, 0.75, True), []),
        (pa.int64(), below(1e300), [INT64]),
        (pa.int64(), above(math.inf), []),
        (pa.uint64(), above(2**63 - 1), [(2**63, 2**64 - 1)]),
        (pa.uint64(), below(0), []),
        (pa.float64(), point(2**53 + 1), []),
        (pa.float64(), above(2**53 + 1), [(2.0**53 + 2, 1.7976931348623157e308)]),
        (pa.float64(), below(2**64 - 1, True), [(-1.7976931348623157e308, math.nextafter(2.0**64, 0))]),
        (pa.float64(), below(0), [(-1.7976931348623157e308, -5e-324)]),
        (pa.float64(), point(math.inf), []),
        (pa.decimal128(18, 0), point(33.3), []),
        (pa.decimal128(18, 1), point(44.4), [(444, 444)]),
        (pa.decimal64(10, 2), above(100.225, True), [(10023, 2**63 - 1)]),
        (pa.decimal32(5, -2), Interval(150, True, 400, False), [(2, 3)]),
        (pa.decimal256(76, 2), point(1e30), [(int(1e30) * 100, int(1e30) * 100)]),
        (pa.decimal256(76, 0), below(-1, True), [(-(2**255), -1)]),
        (pa.decimal32(9, 9), above(1e300), []),
    ],
)
def test_numbers(kind: pa.DataType, interval: Interval, expected: list[tuple[Any, Any]]) -> None:
    assert ranges(kind, interval) == expected


def test_json_numbers_have_all_three_forms() -> None:
    lowered = lower(Opcode.EQUALS_ANY, ScalarSet(numbers=(0.5, 1, 2**64 - 1)), None)
    assert struct.unpack("=2q", lowered.int64s) == (1, 1)
    assert struct.unpack("=4Q", lowered.uint64s) == (1, 1, 2**64 - 1, 2**64 - 1)
    assert struct.unpack("=4d", lowered.doubles) == (0.5, 0.5, 1.0, 1.0)  # no double is 2**64 - 1


def test_instants() -> None:
    def units(kind: pa.DataType, interval: Interval) -> list[tuple[Any, Any]]:
        return ranges(kind, interval, opcode=Opcode.TIMESTAMP_RANGE)

    assert units(pa.timestamp("s"), above(-1)) == [(0, 2**63 - 1)]
    assert units(pa.timestamp("s"), above(-1, True)) == [(0, 2**63 - 1)]
    assert units(pa.timestamp("s"), below(-1, True)) == [(-(2**63), -1)]
    assert units(pa.timestamp("ns"), below(10**30)) == [INT64]
    assert units(pa.timestamp("ns"), above(10**30)) == []
    assert units(pa.date32(), Interval(1, True, 2 * 86_400 * 10**9, True)) == [(1, 2)]
    assert units(pa.date64(), below(1_000_000)) == [(-(2**63), 0)]
    text = lower(Opcode.TIMESTAMP_RANGE, Intervals((Interval(-1, True, 1, False),)), pa.string())
    assert struct.unpack("=4q", text.instants) == (-1, 999_999_999, 0, 0)
    assert lower(Opcode.EQUALS_ANY, ScalarSet(instants=(5,)), pa.list_(pa.timestamp("ns"))).int64s == struct.pack(
        "=2q", 5, 5
    )
    assert lower(Opcode.EQUALS_ANY, ScalarSet(instants=(10**40,)), None).instants == b""


def test_texts() -> None:
    strings = lower(Opcode.TEXT_EQUALS_ANY, Strings(("aa", "b", "\ud800")), None).strings
    assert strings == (b"b", b"aa", b"\xed\xa0\x80")
    assert lower(Opcode.CONTAINS_IGNORE_CASE, Text("ΑΣ"), pa.string()).text == "ας".encode()
    assert lower(Opcode.CONTAINS, Text("ΑΣ"), pa.string()).text == "ΑΣ".encode()
    assert lower(Opcode.STRING_RANGE, StringBound("gte", "x"), pa.string()).sides == (False, True, True)
    assert lower(Opcode.JSON_CONTAINS, Json("[1]"), None).json == b"[1]"
    assert lower(Opcode.EXISTS, None, pa.string()) == Lowered()


def test_bounds_of_texts_count_as_doubles() -> None:
    assert ranges(pa.int64(), point(2**53 + 1), opcode=Opcode.TEXT_NUMBER_RANGE) == [(2.0**53, 2.0**53)]
    assert ranges(None, Interval(2**53, False, 2**53 + 1, True), opcode=Opcode.TEXT_NUMBER_RANGE) == []


BOUNDS = st.one_of(st.integers(-(2**66), 2**66), st.floats(allow_nan=False)).map(canonical_number)


@st.composite
def drawn_intervals(draw: st.DrawFn) -> Interval:
    lower_bound, upper_bound = sorted((draw(BOUNDS), draw(BOUNDS)))
    return Interval(lower_bound, draw(st.booleans()), upper_bound, draw(st.booleans()))


@given(drawn_intervals(), st.data())
def test_a_stored_number_lies_in_the_lowered_interval_exactly_if_it_lies_in_the_given(
    interval: Interval, data: st.DataObject
) -> None:
    kind = data.draw(
        st.sampled_from([pa.int16(), pa.int64(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64(),
                         pa.decimal64(18, 3), pa.decimal256(76, 20)])
    )  # fmt: skip
    if pa.types.is_floating(kind):
        value: Any = data.draw(st.floats(width=kind.bit_width))
        stored: Any = value
    else:
        signed = not pa.types.is_unsigned_integer(kind)
        largest = 10**76 - 1 if kind.bit_width == 256 else 2 ** (kind.bit_width - signed) - 1
        near = [math.floor(bound) for bound in (interval.lower, interval.upper) if abs(bound) < 2**70]  # type: ignore[arg-type, type-var, operator]
        scale = kind.scale if pa.types.is_decimal(kind) else 0
        stored = data.draw(st.one_of(st.integers(-largest if signed else 0, largest), st.sampled_from([0, *near])))
        stored = max(-largest if signed else 0, min(largest, stored * 10**scale))
        value = Decimal(stored).scaleb(-scale, Context(prec=100)) if scale else stored
    inside = any(first <= stored <= last for first, last in ranges(kind, interval))
    assert inside == number_in(float(np.float64(value)) if isinstance(value, float) else value, interval)


def test_a_pattern_nested_more_deeply_than_python_reads_has_its_key_as_needle() -> None:
    deep = Json("[" * 100_000 + "]" * 100_000)
    assert needle(Opcode.JSON_CONTAINS, deep, ("tags",)) == b'"tags"'
    assert needle(Opcode.JSON_CONTAINS, Json('[{"ab":["abc"]}]'), ("t",)) == b'"abc"'
