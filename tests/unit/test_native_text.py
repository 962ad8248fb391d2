"""src/kernels/text_*.c against Python: order, lower case, search, timestamps, numbers."""

from __future__ import annotations

import datetime
import locale
import math
import re
import struct
from decimal import Decimal
from fractions import Fraction

import native_library
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fastfilter.values import parse_timestamp, utf16_key


@pytest.fixture(scope="module")
def native() -> native_library.Native:
    """The C functions."""
    return native_library.load()


def encoded(text: str) -> bytes:
    """UTF-8, lone surrogates in three bytes."""
    return text.encode("utf-8", "surrogatepass")


# Order

ORDER_CHARACTERS = "az\u07ff\ud7ff\ud800\ud83d\udbff\udc00\ude00\udfff\ue000\uff61\uffff\U00010000\U0001f600\U0010ffff"
order_texts = st.text(st.sampled_from(ORDER_CHARACTERS), max_size=5)


def python_order(left: str, right: str) -> int:
    """The order of two strings by the rule of values.py."""
    left_key, right_key = utf16_key(left), utf16_key(right)
    return int(left_key > right_key) - int(left_key < right_key)


@given(order_texts, order_texts, order_texts)
@example("", "\ud83d", "\U0001f600")
@example("", "\ud83d\ude00", "\U0001f600")
@example("same prefix of more than eight bytes", "\ud83dz", "\U0001f600")
def test_order_is_that_of_utf16_units(native: native_library.Native, prefix: str, left: str, right: str) -> None:
    left, right = prefix + left, prefix + right
    assert native.compare_utf16(encoded(left), encoded(right)) == python_order(left, right)


@given(st.text(), st.text())
def test_order_of_any_texts(native: native_library.Native, left: str, right: str) -> None:
    assert native.compare_utf16(encoded(left), encoded(right)) == python_order(left, right)


@given(st.binary(max_size=12), st.binary(max_size=12))
def test_order_of_any_bytes_is_antisymmetric(native: native_library.Native, left: bytes, right: bytes) -> None:
    assert native.compare_utf16(left, right) == -native.compare_utf16(right, left)
    assert native.compare_utf16(left, left) == 0


# Lower case


def test_every_code_point_alone_and_beside_a_sigma(native: native_library.Native) -> None:
    for first in range(0, 0x110000, 0x1000):
        characters = [chr(code_point) for code_point in range(first, first + 0x1000)]
        for pattern in ("{}\n", "{}Σ\n", "a{}Σ\n", "aΣ{}\n", "aΣ{}a\n", "aΣ'{}.\u0301a\n"):
            text = "".join(pattern.format(character) for character in characters)
            assert native.lower(encoded(text)) == encoded(text.lower()), (first, pattern)


lower_texts = st.text(
    st.one_of(
        st.sampled_from("ΣΣΣσςİIıiAaßẞ.'’:·\u00ad\u0301\u0307\u0345ʰªⓐǅ 5\ud800\ude00Ⱥ\u2126K\U00010400\U0001d7c6"),
        st.characters(),
    )
)


@given(lower_texts, st.sampled_from(["", "0123456", "ABCDEFGHIJ"]))
def test_lower_is_python_lower(native: native_library.Native, text: str, before: str) -> None:
    text = before + text
    assert native.lower(encoded(text), b"KEPT") == b"kept" + encoded(text.lower())


@pytest.mark.parametrize("length", range(40))
def test_lower_of_ascii_of_every_length_and_place(native: native_library.Native, length: int) -> None:
    for start in range(0, 128, 7):
        text = "".join(chr((start + i) % 128) for i in range(length))
        assert native.lower(encoded(text)) == encoded(text.lower())


def lower_but_for_bytes(text: bytes) -> bytes:
    """Runs of characters lower-cased, the byte FF kept; for texts without sigma, whose lower case has no context."""
    pieces = re.split(b"(\xff)", text)
    return b"".join(piece if piece == b"\xff" else encoded(piece.decode().lower()) for piece in pieces)


@given(st.lists(st.one_of(st.just(b"\xff"), st.text("ABÉİẞ").map(encoded)), max_size=6).map(b"".join))
def test_bytes_that_are_no_characters_are_kept(native: native_library.Native, text: bytes) -> None:
    assert native.lower(text) == lower_but_for_bytes(text)


@given(st.binary())
def test_lower_takes_any_bytes(native: native_library.Native, text: bytes) -> None:
    lowered = native.lower(text)
    if all(byte < 0x80 or byte in (0xC0, 0xC1) or byte >= 0xF5 for byte in text):
        assert lowered == text.lower()


# Search


@given(st.binary(max_size=40), st.binary(max_size=4))
def test_find_any_bytes(native: native_library.Native, text: bytes, needle: bytes) -> None:
    assert native.find(text, needle) == (needle in text)


@given(st.text("ab", max_size=60), st.text("ab", max_size=8))
def test_find_in_texts_of_two_letters(native: native_library.Native, text: str, needle: str) -> None:
    assert native.find(text.encode(), needle.encode()) == (needle in text)


@pytest.mark.parametrize("needle", ["a" * 500 + "b", "b" + "a" * 500, "ab" * 250 + "b", "a" * 250 + "b" + "a" * 250])
@pytest.mark.parametrize("found", [False, True])
def test_find_where_every_place_looks_promising(native: native_library.Native, needle: str, found: bool) -> None:
    text = "a" * 20_000 + "ab" * 10_000 + ("a" * 249 + "b" + "a" * 250) * 50
    text += needle if found else ""
    assert native.find(text.encode(), needle.encode()) == (needle in text)
    assert (needle in text) or not found


@given(st.lists(st.sampled_from(["a", "b", "ab", "aab", "abab"]), min_size=1, max_size=30).map("".join), st.data())
def test_find_periodic_needles_after_many_near_misses(
    native: native_library.Native, needle: str, data: st.DataObject
) -> None:
    pieces = data.draw(st.lists(st.sampled_from([needle[1:], needle[:-1], needle[: len(needle) // 2], "a", "b"])))
    text = (needle[:-1] + "c" + needle[1:]) * 300 + "".join(pieces) + data.draw(st.sampled_from(["", needle]))
    assert native.find(text.encode(), needle.encode()) == (needle in text)


# Timestamps

TIMESTAMPS = [
    "1970-01-01T00:00:00Z", "1969-12-31T23:59:59.999999999Z", "2024-02-29T12:00:00+05:30", "2023-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "0000-02-29T00:00:00Z", "0000-01-01T00:00:00+23:59",
    "9999-12-31T24:00:00-23:59", "2020-02-28T24:00:00Z", "2020-02-28T24:00:00.000Z", "2020-02-28T24:00:01Z",
    "2020-02-28T24:00:00.000000001Z", "2020-02-28T24:01:00Z", "2020-02-28T25:00:00Z", "2016-12-31T23:59:60Z",
    "2020-01-01T00:60:00Z", "2020-01-01T00:00:00.1Z", "2020-01-01T00:00:00.123456789Z",
    "2020-01-01T00:00:00.1234567890Z", "2020-01-01T00:00:00.Z", "2020-01-01T00:00:00,5Z", "2020-01-01T00:00:00",
    "2020-01-01T00:00:00z", "2020-01-01t00:00:00Z", "2020-01-01 00:00:00Z", "2020-01-01T00:00:00+0530",
    "2020-01-01T00:00:00+24:00", "2020-01-01T00:00:00+23:60", "2020-01-01T00:00:00-00:00", "2020-13-01T00:00:00Z",
    "2020-00-01T00:00:00Z", "2020-01-00T00:00:00Z", "2020-04-31T00:00:00Z", "2020-1-01T00:00:00Z",
    "+2020-01-01T00:00:00Z", " 2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z ", "2020-01-01T00:00:00Z\n",
    "2020-01-01T00:00:00Z\0", "2020-01-01", "", "٢٠٢٠-01-01T00:00:00Z", "2020-01-01T00:00:00ZZ",
]  # fmt: skip


@pytest.mark.parametrize("text", TIMESTAMPS)
def test_timestamps_read_as_in_python(native: native_library.Native, text: str) -> None:
    for end in range(len(text) + 1):
        assert native.parse_timestamp(encoded(text[:end])) == parse_timestamp(text[:end])
    for place in range(len(text)):
        for byte in "09:-TZ+./ ":
            changed = text[:place] + byte + text[place + 1 :]
            assert native.parse_timestamp(encoded(changed)) == parse_timestamp(changed), changed


@given(
    st.tuples(*(st.integers(0, greatest) for greatest in (9999, 13, 32, 25, 60, 60))),
    st.sampled_from(["", ".5", ".25", ".000000001", ".123456789"]),
    st.sampled_from(["Z", "+00:00", "-23:59", "+14:00", "+24:00"]),
)
def test_timestamps_of_any_fields(
    native: native_library.Native, fields: tuple[int, ...], fraction: str, zone: str
) -> None:
    text = "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}".format(*fields) + fraction + zone
    assert native.parse_timestamp(text.encode()) == parse_timestamp(text)


def test_every_day_of_the_calendar(native: native_library.Native) -> None:
    day = datetime.date(1, 1, 1)
    while day.year < 2100:
        text = f"{day.isoformat()}T00:00:00Z"
        seconds = (day.toordinal() - datetime.date(1970, 1, 1).toordinal()) * 86_400
        assert native.parse_timestamp(text.encode()) == seconds * 10**9
        assert native.timestamp_text(seconds, 0) == text.replace("Z", ".000Z")
        day += datetime.timedelta(days=1 if 1895 < day.year < 2005 else 13)


@given(st.integers(-62_167_219_200, 253_402_300_799), st.integers(0, 999_999_999))
def test_timestamps_written_read_back(native: native_library.Native, seconds: int, nanoseconds: int) -> None:
    text = native.timestamp_text(seconds, nanoseconds)
    assert native.parse_timestamp(text.encode()) == seconds * 10**9 + nanoseconds
    digits = 3 if nanoseconds % 10**6 == 0 else 6 if nanoseconds % 1000 == 0 else 9
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{{digits}}}Z", text)


@pytest.mark.parametrize(
    ("seconds", "nanoseconds", "text"),
    [
        (0, 0, "1970-01-01T00:00:00.000Z"),
        (1_782_864_000, 120_000_000, "2026-07-01T00:00:00.120Z"),
        (-1, 999_999_000, "1969-12-31T23:59:59.999999Z"),
        (0, 1, "1970-01-01T00:00:00.000000001Z"),
        (253_402_300_799, 0, "9999-12-31T23:59:59.000Z"),
        (253_402_300_800, 0, "+010000-01-01T00:00:00.000Z"),
        (-62_167_219_201, 0, "-000001-12-31T23:59:59.000Z"),
        (8_640_000_000_000, 0, "+275760-09-13T00:00:00.000Z"),
        (-8_640_000_000_000, 0, "-271821-04-20T00:00:00.000Z"),
        (2**63 - 1, 0, "+292277026596-12-04T15:30:07.000Z"),
        (-(2**63), 0, "-292277022657-01-27T08:29:52.000Z"),
    ],
)
def test_timestamps_as_javascript_spells_them(
    native: native_library.Native, seconds: int, nanoseconds: int, text: str
) -> None:
    assert native.timestamp_text(seconds, nanoseconds) == text


# Numbers read

NUMBERS = [
    "0", "-0", "0.0", "-0.0e5", "1", "10", "0.1", "-1.5", "00012", "000.5000", "1e0", "1E+2", "1e-2", "0e999999999999",
    "123456789012345678901234567890", "9007199254740993", "9007199254740992.99999999999999999999", "1e22", "1e23",
    "9007199254740993e1", "8.5e-27", "1844674407370955161500000e-27", "9999999999999999999e27",
    "9999999999999999999e28", "9999999999999999999e-27", "1e308", "1.7976931348623157e308", "1.7976931348623158e308",
    "1.7976931348623159e308", "1" + str(2**1024 - 2**970)[1:], str(2**1024 - 2**970 - 1), "1e309", "-1e309", "1e400",
    "1e999999999999999999999999", "1e-400", "-1e-999999999999999999999999", "5e-324", "4.9406564584124654e-324",
    "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072014e-308", "2.2250738585072011e-308",
    "2.2250738585072012e-308", "0." + "0" * 400 + "1e400", "1" + "0" * 400 + "e-400", "0." + "0" * 400 + "1",
    "1" + "0" * 400, "2.4703282292062327208299e-324",
]  # fmt: skip


def same_double(left: float, right: float) -> bool:
    """Equal to the bit."""
    return struct.pack("d", left) == struct.pack("d", right)


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_read_as_in_python(native: native_library.Native, text: str) -> None:
    assert same_double(native.parse_double(text.encode()), float(text))


@given(
    st.booleans(), st.text("0123456789", min_size=1, max_size=40), st.text("0123456789", max_size=40),
    st.one_of(st.none(), st.integers(-30, 30), st.integers(-380, 380)),
)  # fmt: skip
def test_any_number_reads_as_in_python(
    native: native_library.Native, negative: bool, whole: str, fraction: str, exponent: int | None
) -> None:
    text = "-" * negative + whole + ("." + fraction if fraction else "") + ("" if exponent is None else f"e{exponent}")
    assert same_double(native.parse_double(text.encode()), float(text))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_read_back(native: native_library.Native, number: float) -> None:
    assert same_double(native.parse_double(repr(number).replace("+", "").encode()), number)


@given(st.floats(min_value=0, allow_nan=False, allow_infinity=False), st.integers(-1, 1))
@example(0.0, 0)
@example(0.0, 1)
@example(2.2250738585072014e-308, -1)
def test_halfway_between_two_doubles(native: native_library.Native, number: float, nudge: int) -> None:
    above = math.nextafter(number, math.inf)
    if math.isinf(above):
        return
    middle = (Fraction(number) + Fraction(above)) / 2
    shift = 1100
    digits = middle.numerator * 10**shift // middle.denominator * 10 + nudge  # exact: no double has more places
    text = f"{digits}e-{shift + 1}"
    assert same_double(native.parse_double(text.encode()), float(Fraction(digits, 10 ** (shift + 1))))
    assert same_double(native.parse_double(text.encode()), float(text))


def test_numbers_do_not_follow_the_locale(native: native_library.Native) -> None:
    before = locale.setlocale(locale.LC_NUMERIC)
    tried = []
    try:
        for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C"):
            try:
                locale.setlocale(locale.LC_NUMERIC, name)
            except locale.Error:
                continue
            tried.append(name)
            assert native.parse_double(b"1.5e-320") == 1.5e-320
            assert native.double_text(0.30000000000000004) == "0.30000000000000004"
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)
    assert tried


@pytest.mark.parametrize(
    "text",
    ["0", "-0", "5", "05", "-12.50", "0.5", "", "-", "+3", ".8", "8.", "-.5", "1e3", " 5", "5 ", "5\n", "1.2.3", "--5",
     "1_000", "٣", "NaN", "Infinity", "0x10", "5-", "1,5", "5\0", "1" * 1000, "1." + "2" * 1000],
)  # fmt: skip
def test_plain_numbers(native: native_library.Native, text: str) -> None:
    assert native.is_plain_number(encoded(text)) == bool(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text))


@given(st.text("-+.e015 ", max_size=6))
def test_plain_numbers_of_any_spelling(native: native_library.Native, text: str) -> None:
    assert native.is_plain_number(text.encode()) == bool(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text))


# Numbers written


def plain(number: float) -> str:
    """repr, which is the shortest, in plain digits."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    text = format(Decimal(repr(number)), "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


DOUBLES = [
    0.0, -0.0, 1.0, -1.0, 0.1, 0.3, 0.30000000000000004, 1.5, 44.4, 1e15, 1e16, 1e17, 1e20, 1e21, 1e22, 1e23, -1e23,
    123456789012345680.0, 2.0**53, 2.0**53 - 1, 2.0**53 + 2, -(2.0**53), 2.0**63, 2.0**64, 5e-324, 1e-323,
    2.2250738585072014e-308, 2.225073858507201e-308, 1.7976931348623157e308, 1e-7, 5.684341886080802e-14, 9.5e-7,
    float("nan"), float("inf"), float("-inf"), 9007199254740993.0, 4.35, 0.1 + 0.7, 1 / 3, 2 / 3, 100.0, 1e-5,
]  # fmt: skip


@pytest.mark.parametrize("number", DOUBLES)
def test_doubles_written(native: native_library.Native, number: float) -> None:
    assert native.double_text(number) == plain(number)


@given(st.floats())
def test_any_double_is_written_shortest(native: native_library.Native, number: float) -> None:
    assert native.double_text(number) == plain(number)


def test_powers_of_two_and_their_neighbours(native: native_library.Native) -> None:
    for exponent in range(-1074, 1024):
        number = math.ldexp(1.0, exponent)
        for near in (number, math.nextafter(number, 0), math.nextafter(number, math.inf)):
            assert native.double_text(near) == plain(near)


def shortest(exact: Fraction, below: Fraction, above: Fraction, ends: bool) -> str:
    """The definition: of the decimals with fewest digits between the midpoints, the one closest to the value."""
    power = 0
    while 10**power > above:
        power -= 1
    while 10 ** (power + 1) <= above:
        power += 1
    for places in range(-power, 60 - power):
        scale = Fraction(10) ** places
        floor = exact * scale // 1
        found = [
            (abs(digits - exact * scale), digits % 2, digits)
            for digits in (floor, floor + 1)
            if (below < digits / scale < above or (ends and digits / scale in (below, above)))
        ]
        if found:
            return plain_decimal(min(found)[2], places)
    raise AssertionError(exact)


def plain_decimal(digits: int, places: int) -> str:
    """digits / 10^places in plain digits."""
    text = format(Decimal(digits).scaleb(-places), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def narrow_text(code: str, bits: int) -> tuple[float, str]:
    """A positive float of a narrow format given by its bits, and its shortest text by the definition."""
    size = struct.calcsize(code)
    integer = {2: "H", 4: "I"}[size]

    def value(pattern: int) -> Fraction:
        return Fraction(struct.unpack("<" + code, struct.pack("<" + integer, pattern))[0])

    largest = {2: 0x7BFF, 4: 0x7F7FFFFF}[size]
    exact, previous = value(bits), value(bits - 1)
    following = value(bits + 1) if bits < largest else 2 * exact - previous
    return float(exact), shortest(exact, (exact + previous) / 2, (exact + following) / 2, bits % 2 == 0)


def test_every_half_is_written_shortest(native: native_library.Native) -> None:
    for bits in range(1, 0x7C00):
        number, text = narrow_text("e", bits)
        assert native.half_text(number) == text
        assert native.half_text(-number) == "-" + text
    assert native.half_text(-0.0) == "0"
    assert native.half_text(float("inf")) == "Infinity"
    assert native.half_text(float("nan")) == "NaN"


@given(st.integers(1, 0x7F7FFFFF))
@example(1)
@example(0x7F7FFFFF)
@example(0x00800000)
def test_any_float_is_written_shortest(native: native_library.Native, bits: int) -> None:
    number, text = narrow_text("f", bits)
    assert native.float_text(number) == text
    assert native.float_text(-number) == "-" + text


def test_powers_of_two_as_floats(native: native_library.Native) -> None:
    for exponent in range(1, 255):
        for bits in (exponent << 23, (exponent << 23) - 1, (exponent << 23) + 1):
            number, text = narrow_text("f", bits)
            assert native.float_text(number) == text
    assert native.float_text(struct.unpack("f", struct.pack("f", 0.1))[0]) == "0.1"


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1))
@example(-(2**63), 2**64 - 1)
@example(0, 0)
def test_integers_written(native: native_library.Native, signed: int, unsigned: int) -> None:
    assert native.int64_text(signed) == str(signed)
    assert native.uint64_text(unsigned) == str(unsigned)


def test_all_of_this_with_sanitizers() -> None:
    native_library.run_sanitized(__file__)
