"""64 rows at once, where words, vectors and ranges begin and end: every CPU target against the Python machine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fastfilter

native = pytest.importorskip("fastfilter._native", reason="the native extension is not built")

Array = np.ndarray[Any, Any]


@pytest.fixture(params=native.targets())
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    before = native.target()
    native.use_target(request.param)
    yield request.param
    native.use_target(before)


def check(filter: Any, batch: pa.RecordBatch) -> list[bool]:
    """The answer, which must be that of the Python machine, whole and from an odd slice."""
    flt = fastfilter.compile(filter)
    expected = flt._evaluate(batch, "python")
    assert flt._evaluate(batch, "native") == expected
    assert flt._evaluate(batch.slice(3), "native", 200) == expected[3:]
    return expected


def condition(operator: str, value: Any, field: str = "metadata.a") -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


def asked_in(share: float, array: pa.Array) -> pa.RecordBatch:
    """The array with a flag on a share of its rows."""
    flags = np.random.default_rng(3).random(len(array)) < share
    return pa.record_batch({"metadata.a": array, "metadata.asked": pa.array(flags)})


SHARES = [1.0, 0.5, 0.02]
ASKED = condition("eq", True, "metadata.asked")


def ends_of(type: pa.DataType) -> tuple[Any, Any]:
    kind = type.to_pandas_dtype()
    information = np.finfo(kind) if pa.types.is_floating(type) else np.iinfo(kind)
    number = float if pa.types.is_floating(type) else int
    return number(information.min), number(information.max)


def around(bounds: list[Any], type: pa.DataType, rows: int) -> pa.Array:
    """Values at bounds, the next ones on both sides, the type's ends, and what is no number."""
    least, greatest = ends_of(type)
    if pa.types.is_floating(type):
        kind = type.to_pandas_dtype()
        near: list[Any] = [least, greatest, 0.0, -0.0, math.nan, math.inf, -math.inf]
        for bound in bounds:
            with np.errstate(over="ignore"):
                own = kind(bound)
                near += [float(own), *(float(np.nextafter(own, kind(end))) for end in (math.inf, -math.inf))]
    else:
        near = [least, greatest, 0]
        near += [at for bound in bounds for at in (bound - 1, bound, bound + 1) if least <= at <= greatest]
    random = np.random.default_rng(len(bounds))
    picked = [near[at] for at in random.integers(0, len(near), rows)]
    return pa.array([None if random.random() < 0.05 else value for value in picked], type)


NUMBER_TYPES = [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
    pa.float16(), pa.float32(), pa.float64(),
]  # fmt: skip


def bounds_in(type: pa.DataType, count: int, seed: int) -> list[Any]:
    """Bounds that ascend, some of them close together."""
    random = np.random.default_rng(seed)
    least, greatest = ends_of(type)
    if pa.types.is_floating(type):
        scale = (1.0, 1e-30, 1e30)[seed % 3]
        return sorted({float(np.float32(at * scale)) for at in random.normal(size=count)})
    low, high = (least, greatest) if seed % 2 else (max(least, -60), 100)
    return sorted({low + int(at * (high - low)) for at in random.random(count)})


@pytest.mark.parametrize("type", NUMBER_TYPES, ids=str)
@pytest.mark.parametrize("count", [2, 8, 10, 36])
def test_intervals_hold_their_bounds_and_nothing_beside_them(target: str, type: pa.DataType, count: int) -> None:
    for seed in range(3):
        bounds = bounds_in(type, count, seed)
        pairs = list(zip(bounds[::2], bounds[1::2], strict=False))
        between = {"or": [{"and": [condition("gte", low), condition("lte", high)]} for low, high in pairs]}
        for share in SHARES[seed:]:
            batch = asked_in(share, around(bounds, type, 460))
            check({"and": [ASKED, between]}, batch)
            check({"and": [ASKED, condition("in", bounds)]}, batch)
            check({"and": [ASKED, {"not": {"or": [condition("lt", bounds[0]), between]}}]}, batch)


@pytest.mark.parametrize("type", [pa.int64(), pa.uint64(), pa.float64()], ids=str)
def test_many_intervals_far_apart_and_crowded(target: str, type: pa.DataType) -> None:
    least, greatest = ends_of(type)
    wide = [least, 1, 2, 3, 5, 8, 9, 11, 60, 2**52, 2**53 - 1, 2**62, greatest]
    batch = pa.record_batch({"metadata.a": around(wide, type, 700)})
    check(condition("in", wide), batch)
    check({"or": [condition("in", wide[1:-2]), condition("lte", wide[1]), condition("gte", wide[-2])]}, batch)
    if pa.types.is_floating(type):
        tiny = [at * 5e-324 for at in range(0, 40, 3)]
        check(condition("in", tiny), pa.record_batch({"metadata.a": around(tiny, type, 300)}))
        huge = [at * 1.7e307 for at in range(-10, 11)]
        check(condition("in", huge), pa.record_batch({"metadata.a": around(huge, type, 300)}))


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("share", SHARES)
def test_strings_that_differ_in_one_byte(target: str, type: pa.DataType, share: float) -> None:
    random = np.random.default_rng(11)
    wholes = ["q" * length for length in (0, 1, 4, 7, 8, 9, 12, 15, 16, 17, 24, 25, 62, 63, 64, 65)]
    changed = [text[:at] + "Q" + text[at + 1 :] for text in wholes for at in range(len(text))]
    pool = [*wholes, *changed]
    for rows in (640, 331, 64):
        values = [pool[at] for at in random.integers(0, len(pool), rows)]
        values[::3] = [wholes[at] for at in random.integers(0, len(wholes), len(values[::3]))]
        batch = asked_in(share, pa.array(values, type))
        for whole in wholes:
            check({"and": [ASKED, condition("eq", whole)]}, batch)
        check({"and": [ASKED, condition("in", wholes)]}, batch)
        check({"and": [ASKED, condition("in", changed[::5])]}, batch)


@pytest.mark.parametrize("share", SHARES)
def test_a_needle_at_every_distance_from_the_ends_of_texts(target: str, share: float) -> None:
    random = np.random.default_rng(12)
    endings = ["needle", "NEEDLE", "needl", "need\u212a", "n", "\u212a", "\u0130", "é", ""]
    values = ["." * at + endings[at % len(endings)] + "," * int(random.integers(0, 70)) for at in range(300)]
    values += [endings[at % len(endings)] + "." * at for at in range(150)]
    values += [""] * 70 + ["k", "\u212a", "a\u212a", "needk"]
    random.shuffle(values)
    for type in (pa.string(), pa.large_string(), pa.string_view()):
        batch = asked_in(share, pa.array(values, type))
        for needle in ("needle", "k", "needk", ".n", "e,", "." * 80, "i", "..\u212a", "needle" + "," * 66):
            check({"and": [ASKED, condition("contains", needle)]}, batch)
            check({"and": [ASKED, condition("icontains", needle)]}, batch)


@pytest.mark.parametrize("place", range(1, 140, 23))
def test_a_letter_whose_lower_case_is_ascii_is_met_wherever_it_stands(target: str, place: int) -> None:
    plain = "x" * 150
    for letter, needle in (("\u212a", "k"), ("\u0130", "i"), ("\u212a", "xk"), ("\u212a", "kx")):
        values = [plain] * 63 + [plain[:place] + letter + plain[place:], plain[:place] + letter] + [plain] * 64
        assert sum(check(condition("icontains", needle), pa.record_batch({"metadata.a": pa.array(values)}))) > 0


@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int16(), pa.uint32(), pa.int64(), pa.uint64()], ids=str)
@pytest.mark.parametrize("num_entries", [1, 65, 200, 300])
@pytest.mark.parametrize("share", SHARES)
def test_dictionaries_of_any_length(target: str, index: pa.DataType, num_entries: int, share: float) -> None:
    random = np.random.default_rng(13)
    most = min(num_entries, 2 ** (index.bit_width - 1) if pa.types.is_signed_integer(index) else 2**index.bit_width)
    entries = pa.array([None if at % 50 == 3 else f"entry {at}" for at in range(num_entries + 5)]).slice(5)
    codes = pa.array(random.integers(0, most, 500), index, mask=random.random(500) < 0.1)
    batch = asked_in(share, pa.DictionaryArray.from_arrays(codes, entries))
    for entry in (5, 69, 132, num_entries + 4):
        check({"and": [ASKED, condition("eq", f"entry {entry}")]}, batch)
        check({"and": [ASKED, condition("ne", f"entry {entry}")]}, batch)
    check({"and": [ASKED, condition("in", [f"entry {at}" for at in range(0, 300, 7)])]}, batch)
    check({"and": [ASKED, condition("contains", "entry 1")]}, batch)
    check({"and": [ASKED, condition("exists", False)]}, batch)
    numbers = pa.array([None if at % 50 == 3 else at // 3 for at in range(num_entries)], pa.int32())
    check({"and": [ASKED, condition("gte", 30)]}, asked_in(share, pa.DictionaryArray.from_arrays(codes, numbers)))


def test_a_null_slot_of_a_dictionary_may_hold_any_number(target: str) -> None:
    codes = np.array([0, 77, -5, 1] * 50, np.int32)
    indices = pa.array(codes, mask=(codes > 1) | (codes < 0))
    null_bits = pa.Array.from_buffers(pa.int32(), 200, [indices.buffers()[0], pa.py_buffer(codes)])
    array = pa.DictionaryArray.from_arrays(null_bits, pa.array(["a", "b"]), safe=False)
    assert sum(check(condition("eq", "a"), pa.record_batch({"metadata.a": array}))) == 50
    assert sum(check(condition("ne", "a"), pa.record_batch({"metadata.a": array}))) >= 50


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("longest", [2, 64, 400])
@pytest.mark.parametrize("share", SHARES)
def test_one_element_anywhere_in_lists_of_any_length(target: str, kind: Any, longest: int, share: float) -> None:
    random = np.random.default_rng(longest)
    lists: list[list[str | None]] = [["other"] * int(length) for length in random.integers(0, longest + 1, 331)]
    for row, elements in enumerate(lists):
        if elements and row % 3 == 0:
            elements[(0, -1, len(elements) // 2)[row % 9 // 3]] = None if row % 2 else "wanted"
    batch = asked_in(share, pa.array(lists, kind(pa.string())))
    for value in (["wanted"], [None], ["other", "wanted"], ["absent"]):
        check({"and": [ASKED, condition("in", value)]}, batch)
        check({"and": [ASKED, condition("nin", value)]}, batch)
    check({"and": [ASKED, condition("contains", "wanted")]}, batch)


def test_views_of_texts_too_long_to_be_gathered(target: str) -> None:
    lengths = [0, 5, 12, 13, 8191, 3, 8192, 8193, 20_000, 1, 4096, 4096, 4097]
    values = [end * (length > 0) + "." * (length - 1) for length in lengths for end in "xXé\u212a"]
    values += ["." * (length - 1) + "needle"[:length] for length in lengths]
    batch = pa.record_batch({"metadata.a": pa.array(values, pa.string_view())})
    for needle in ("x", "k", ".needle", "é.", "." * 1000):
        for operator in ("contains", "icontains"):
            check(condition(operator, needle), batch)


def test_a_view_outside_its_buffers_is_an_error(target: str) -> None:
    good = pa.array(["a string that is longer than a view"] * 70, pa.string_view())
    entries = np.frombuffer(good.buffers()[1], np.int32).copy()
    entries[4 * 66 + 2] = 7  # the number of its buffer
    broken = pa.Array.from_buffers(pa.string_view(), 70, [None, pa.py_buffer(entries), *good.buffers()[2:]])
    for filter in (condition("eq", good[0].as_py()), condition("contains", "longer"), condition("icontains", "x")):
        with pytest.raises(fastfilter.DataError, match="string view"):
            fastfilter.compile(filter)._evaluate(pa.record_batch({"metadata.a": broken}), "native")


@pytest.mark.parametrize("type", [type for type in NUMBER_TYPES if pa.types.is_integer(type)], ids=str)
def test_many_integers_near_together_and_numbers_far_from_them(target: str, type: pa.DataType) -> None:
    least, greatest = ends_of(type)
    for start in (least, max(least, -20), greatest - 60):
        near = [start + step for step in (0, 1, 2, 7, 9, 20, 21, 40, 60)]
        values = around(
            [*near, least, greatest, min(greatest, start + 16_383), min(greatest, start + 16_384)], type, 500
        )
        for share in SHARES:
            batch = asked_in(share, values)
            check({"and": [ASKED, condition("in", near)]}, batch)
            check({"and": [ASKED, condition("in", [*near, min(greatest, start + 16_383)])]}, batch)
            check({"and": [ASKED, condition("in", [*near, min(greatest, start + 16_384)])]}, batch)
            check(
                {"and": [ASKED, {"or": [condition("in", near), condition("lt", near[3]), condition("gte", near[5])]}]},
                batch,
            )


@pytest.mark.parametrize("type", [pa.int64(), pa.uint64(), pa.float64(), pa.timestamp("us")], ids=str)
def test_many_values_far_apart_and_values_before_and_behind_them(target: str, type: pa.DataType) -> None:
    marks = [10**15 + at * 36 * 10**8 for at in range(100)]
    pool = [mark + step for mark in marks for step in (-1, 0, 1)] + [0, 1, 2**53, *marks]
    random = np.random.default_rng(16)
    drawn = pa.array([pool[at] for at in random.integers(0, len(pool), 1000)], pa.int64()).cast(type)
    wanted: list[Any] = list(marks)
    if pa.types.is_timestamp(type):
        wanted = [f"{moment.isoformat()}Z" for moment in pa.array(marks, pa.int64()).cast(type).to_pylist()]
    for share in SHARES:
        flags = pa.array(random.random(1000) < share)
        for values in (drawn, pa.array(drawn.to_pylist(), type, mask=random.random(1000) < 0.3)):
            batch = pa.record_batch({"created_at": values, "metadata.a": values, "metadata.asked": flags})
            field = "created_at" if pa.types.is_timestamp(type) else "metadata.a"
            found = check({"and": [ASKED, condition("in", wanted, field)]}, batch)
            assert share < 0.5 or sum(found) > 50
            outer = [condition("lt", wanted[3], field), condition("gt", wanted[90], field)]
            check({"and": [ASKED, {"or": [condition("in", wanted[5:80], field), *outer]}]}, batch)


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("share", SHARES)
def test_few_strings_of_equal_and_of_other_lengths(target: str, type: pa.DataType, share: float) -> None:
    random = np.random.default_rng(17)
    pool = ["", "a", "b", "ab", "abcdefgh", "abcdefgX", "abcdefghi", "abcdefghX", "abcdefghijkl", "abcdefghijklm",
            "abcdefghijkln", "\0", "é"]  # fmt: skip
    for rows in (640, 150):
        values = [None if random.random() < 0.2 else pool[at] for at in random.integers(0, len(pool), rows)]
        batch = asked_in(share, pa.array(values, type))
        for count in (2, 3, 4, 5, 8):
            for start in range(0, len(pool), 3):
                wanted = [pool[(start + 2 * at) % len(pool)] for at in range(count)]
                check({"and": [ASKED, condition("in", wanted)]}, batch)
                check({"and": [ASKED, condition("nin", wanted)]}, batch)


@pytest.mark.parametrize("share", SHARES)
def test_booleans_and_what_is_there_at_every_offset(target: str, share: float) -> None:
    random = np.random.default_rng(18)
    flags = pa.array(random.random(400) < 0.5, mask=random.random(400) < 0.3)
    for offset in (0, 1, 7, 8, 63, 64, 65):
        for array in (flags.slice(offset), pa.array(flags.slice(offset).to_pylist()).fill_null(False)):
            batch = asked_in(share, array)
            for wanted in (condition("eq", True), condition("eq", False), condition("in", [True, False]),
                           condition("ne", True), condition("exists", True), condition("exists", False)):  # fmt: skip
                check({"and": [ASKED, wanted]}, batch)


@pytest.mark.parametrize("entries", [["a", "b", None], ["a", "b", "c"], [None, None, None]], ids=str)
def test_what_is_there_in_a_dictionary_with_null_entries_and_null_rows(target: str, entries: list[str | None]) -> None:
    codes = pa.array([0, 1, 2, None, 1, 0, None] * 30, pa.int8())
    for values in (pa.array(entries, pa.string()), pa.array(entries, pa.string()).dictionary_encode()):
        batch = pa.record_batch({"metadata.a": pa.DictionaryArray.from_arrays(codes, values)})
        found = check(condition("exists", True), batch)
        assert [not there for there in found] == check(condition("exists", False), batch)
        assert sum(found) == sum(30 for code in [0, 1, 2, 1, 0] if entries[code] is not None)


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("share", SHARES)
def test_order_of_strings_around_a_bound(target: str, type: pa.DataType, share: float) -> None:
    random = np.random.default_rng(14)
    bounds = ["", "a", "abc", "abcd", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghijkl", "abcdefghijklm", "ab\0",
              "abcdefgh\0", "é", "aé", "abcdefgé", "\ud7ff", "\ue000", "a\uffff", "a\U00010000", "abc\U0010ffff",
              "abcdefgh\ue000", "abcdefgh\U00010000", "\x7f", "2026-07-01T12:00:00Z"]  # fmt: skip
    pool = [bound + end for bound in bounds for end in ("", "\0", "a", "\uffff", "\U00010000", "longer than a view")]
    pool += [bound[:-1] + chr(max(ord(bound[-1]) + step, 0)) for bound in bounds[1:14] for step in (-1, 1)]
    pool += [bound[:-1] for bound in bounds]
    for rows in (640, 200):
        batch = asked_in(share, pa.array([pool[at] for at in random.integers(0, len(pool), rows)], type))
        for bound in bounds:
            for operator in ("lt", "lte", "gt", "gte"):
                check({"and": [ASKED, condition(operator, bound)]}, batch)
        check({"and": [condition("gte", "abc"), condition("lt", "abcdefghj"), ASKED]}, batch)


@pytest.mark.parametrize("share", SHARES)
def test_wide_decimals_around_bounds(target: str, share: float) -> None:
    random = np.random.default_rng(15)
    marks = [0, 1, 7, 2**53, 2**63, 2**64, 2**64 + 1, 2**65, 10**27, 2**64 * 7]
    pool = [sign * mark + step for mark in marks for sign in (1, -1) for step in (-1, 0, 1)]
    values = [pool[at] for at in random.integers(0, len(pool), 331)]
    for rows in (values, [None if at % 9 == 0 else value for at, value in enumerate(values)]):
        batch = asked_in(share, pa.array(rows, pa.decimal128(38, 0)))
        for bound in (0, 7, -7, 2**53, -(2**53), float(2**63), float(2**64), -float(2**64), 1e27):
            for operator in ("eq", "ne", "lt", "lte", "gt", "gte"):
                check({"and": [ASKED, condition(operator, bound)]}, batch)
        for low, high in ((-7, 7), (-(2**53), float(2**64)), (float(2**64), float(2**65)), (7, 2**53),
                          (-float(2**65), float(2**64 * 7)), (float(2**64 * 7), 0)):  # fmt: skip
            check({"and": [ASKED, condition("gte", low), condition("lt", high)]}, batch)
            check({"and": [ASKED, {"or": [condition("lt", low), condition("gt", high)]}]}, batch)
        check({"and": [ASKED, condition("in", [0, 7, float(2**64), -7])]}, batch)
        check({"and": [ASKED, condition("in", [0, 1, 2, 6, 7, 8, -7, float(2**64)])]}, batch)
