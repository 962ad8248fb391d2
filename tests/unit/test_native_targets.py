"""Every CPU target of this machine answers as the Python machine does, and the one that is forced is in use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fastfilter

native = pytest.importorskip("fastfilter._native", reason="the native extension is not built")
TARGETS: list[str] = native.targets()


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    before = native.target()
    native.use_target(request.param)
    assert native.target() == request.param
    yield request.param
    native.use_target(before)


def check(filter: Any, batch: pa.RecordBatch) -> list[bool]:
    """The answer, which must be that of the Python machine, whole and from odd slices."""
    flt = fastfilter.compile(filter)
    expected = flt._evaluate(batch, "python")
    for morsel_rows in (4096, 100):
        assert flt._evaluate(batch, "native", morsel_rows) == expected
    for start in (1, 7, 65):
        assert flt._evaluate(batch.slice(start), "native") == expected[start:]
    return expected


def condition(operator: str, value: Any) -> dict[str, Any]:
    return {"field": "metadata.a", "operator": operator, "value": value}


def batch_of(array: pa.Array) -> pa.RecordBatch:
    return pa.record_batch({"metadata.a": array})


def with_nulls(values: Any, type: pa.DataType, seed: int) -> pa.Array:
    random = np.random.default_rng(seed)
    return pa.array([None if random.random() < 0.2 else value for value in values], type)


@pytest.mark.parametrize(
    "type",
    [
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        pa.float16(), pa.float32(), pa.float64(), pa.decimal32(8, 1), pa.decimal64(12, 2), pa.decimal128(20, 3),
    ],
    ids=str,
)  # fmt: skip
def test_numbers(target: str, type: pa.DataType) -> None:
    random = np.random.default_rng(5)
    numbers = random.integers(0, 120, 331).tolist()
    batch = batch_of(with_nulls(numbers, pa.int16(), 1).cast(type))
    assert any(check(condition("gte", 60), batch))
    check(condition("lt", 0), batch)
    check(condition("lt", 1e300), batch)
    check(condition("eq", 7.5), batch)
    for count in (2, 20, 100):
        check(condition("in", list(range(count))), batch)
    many = [{"and": [condition("gt", 6 * at), condition("lte", 6 * at + 2.5)]} for at in range(20)]
    assert any(check({"or": many}, batch))
    check({"and": [condition("lt", 4), condition("ne", 2), condition("gte", 1)]}, batch)  # few candidates


@pytest.mark.parametrize("type", [pa.float32(), pa.float64()], ids=str)
def test_floats_at_their_ends(target: str, type: pa.DataType) -> None:
    ends = np.finfo(type.to_pandas_dtype())
    values = [0.1, -0.0, 0.0, float(ends.max), float(ends.min), float(ends.tiny), np.nan, np.inf, -np.inf] * 20
    batch = batch_of(pa.array(values, type))
    for literal in (0.1, 0, float(ends.max), float(ends.min), 3.5e38, -3.5e38, float(np.float32(0.1)), 5e-324):
        for operator in ("eq", "ne", "lt", "lte", "gt", "gte"):
            check(condition(operator, literal), batch)


STRING_TYPES = [pa.string(), pa.large_string(), pa.string_view()]
WORDS = ["", "a", "ab", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghijklmnop", "abcdefghijklmnopq", "support",
         "SUPPORT",
         "x" * 70, "x" * 70 + "y", "é", "éa", "Support\0", "abcdefgH"]  # fmt: skip


@pytest.mark.parametrize("type", STRING_TYPES, ids=str)
def test_equal_strings(target: str, type: pa.DataType) -> None:
    random = np.random.default_rng(6)
    values = [WORDS[at] for at in random.integers(0, len(WORDS), 400)]
    batch = batch_of(with_nulls(values, type, 2))
    for word in [*WORDS, "absent", "abcdefgz"]:
        check(condition("eq", word), batch)
    check(condition("in", WORDS[::2]), batch)
    check(condition("in", [*WORDS[1::3], "absent"]), batch)
    check(condition("in", [f"word {at}" for at in range(99)] + ["support"]), batch)
    check({"metadata": {"a": "support"}}, batch)


TEXTS = [
    "", "n", "needle", "NEEDLE", "a needle", "needles and Needles", "need", "eedle needl", "x" * 63 + "needle",
    "x" * 64 + "needle", "x" * 61 + "needle" + "y" * 70,
    "é needle", "NEEDLÉ",
    "\u212aelvin", "Kelvin kelvin", "\u0130stanbul",
    "istanbul", "i\u0307stanbul", "STRASSE stra\u00dfe",
    "\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2", "aaaaaaaaab",
    "ab" * 40,
    "\u2122 needle", "[NEEDLE]", "{needle}", "@needle", "`needle",
]  # fmt: skip


@pytest.mark.parametrize("type", STRING_TYPES, ids=str)
@pytest.mark.parametrize("share", [1.0, 0.05])
def test_texts_in_strings(target: str, type: pa.DataType, share: float) -> None:
    random = np.random.default_rng(7)
    values = [TEXTS[at] for at in random.integers(0, len(TEXTS), 500)]
    candidates = pa.array(random.random(500) < share)
    batch = pa.record_batch({"metadata.a": with_nulls(values, type, 3), "metadata.b": candidates})
    asked = {"field": "metadata.b", "operator": "eq", "value": True}
    needles = ["needle", "n", "e", "le n", "kelvin", "istanbul", "i\u0307", "stra\u00df", "\u03c3", "aab", "aaaa",
               "baba", "[", "{n", "@", "`",
               "x" * 40, "ab" * 39, "xneedley", "\u00e9", "needles and needles", "z" * 600]  # fmt: skip
    for needle in needles:
        for operator in ("contains", "icontains"):
            check({"and": [asked, condition(operator, needle)]}, batch)
            check(condition(operator, needle.upper()), batch)


def test_needles_made_to_waste_time(target: str) -> None:
    values = ["ab" * 2000, "a" * 4000, "a" * 2000 + "b" + "a" * 2000, "ba" * 2000] * 20
    batch = batch_of(pa.array(values))
    for needle in ("ab" * 400 + "b", "a" * 800 + "b", "b" + "a" * 900, "ab" * 500):
        check(condition("contains", needle), batch)
        check(condition("icontains", needle), batch)


@pytest.mark.parametrize(
    "index", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()], ids=str
)
@pytest.mark.parametrize("num_entries", [1, 5, 32, 33, 100])
def test_dictionaries(target: str, index: pa.DataType, num_entries: int) -> None:
    random = np.random.default_rng(8)
    entries = pa.array([None if at == 3 else f"entry {at}" for at in range(num_entries)])
    codes = with_nulls(random.integers(0, num_entries, 400).tolist(), index, 4)
    batch = batch_of(pa.DictionaryArray.from_arrays(codes, entries))
    check(condition("in", ["entry 0", "entry 4", "entry 31", "entry 32", "entry 99"]), batch)
    check(condition("exists", False), batch)
    check({"not": condition("contains", "entry 1")}, batch)


def test_a_dictionary_index_out_of_range_is_an_error(target: str) -> None:
    for index in (pa.array([0, 1, 9] * 40, pa.int8()), pa.array([0, -1, 1] * 40, pa.int32())):
        broken = pa.DictionaryArray.from_arrays(index, pa.array(["a", "b"]), safe=False)
        with pytest.raises(fastfilter.DataError, match="out of range"):
            fastfilter.compile(condition("eq", "a"))._evaluate(batch_of(broken), "native")


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list, pa.list_view], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "element", [pa.string(), pa.int32(), pa.float64(), pa.bool_(), pa.dictionary(pa.int8(), pa.string())], ids=str
)
def test_lists(target: str, kind: Any, element: pa.DataType) -> None:
    random = np.random.default_rng(9)
    pool: list[Any] = [None, 0, 1, 2, 3]
    if pa.types.is_boolean(element):
        pool = [None, True, False]
    elif not pa.types.is_integer(element) and not pa.types.is_floating(element):
        pool = [None, "", "vip", "eu", "a longer label"]
    lists = [[pool[at] for at in random.integers(0, len(pool), random.integers(0, 5))] for _ in range(300)]
    lists[100] = [pool[1]] * 5000
    plain = element.value_type if pa.types.is_dictionary(element) else element
    array = with_nulls(lists, kind(plain), 5)
    if plain != element and kind is not pa.list_view:  # pyarrow casts no views
        array = array.cast(kind(element))
    batch = batch_of(array)
    for values in ([pool[2]], pool, [None], ["absent", 7]):
        check(condition("in", values), batch)
        check(condition("nin", values), batch)
    check(condition("contains", "vip"), batch)
    check(condition("icontains", "VIP"), batch)


@pytest.mark.parametrize("name", TARGETS)
def test_the_forced_target_is_in_use(name: str) -> None:
    script = "from fastfilter import _native; print(_native.target())"
    environment = {**os.environ, "FASTFILTER_CPU": name}
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == name


def test_a_target_that_is_not_there_is_an_error() -> None:
    environment = {**os.environ, "FASTFILTER_CPU": "z80"}
    ran = subprocess.run(
        [sys.executable, "-c", "import fastfilter"], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode != 0
    assert "FASTFILTER_CPU: there is no CPU target 'z80'" in ran.stderr
    with pytest.raises(ValueError, match="scalar"):
        native.use_target("z80")
