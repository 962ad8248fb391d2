"""The strict JSON reader: what it accepts, what it refuses, and the values it gives; the fast way and the exact one."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fastfilter.runtime.vm.python import json_text
from fastfilter.runtime.vm.python.json_text import MAX_DEPTH, MalformedJson, parse_json
from fastfilter.values import JsonFloat


@pytest.fixture(params=["fast", "exact"])
def parse(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Any]]:
    """The reader, with the standard library's scanner and without it."""
    if request.param == "exact":
        monkeypatch.setattr(json_text, "_decode", None)
    return parse_json


ACCEPTED: dict[bytes, Any] = {
    b"null": None,
    b"true": True,
    b"false": False,
    b"0": 0,
    b"-0": 0,
    b"17": 17,
    b"-17": -17,
    b"1.5": 1.5,
    b"-0.0": 0.0,
    b"0e0": 0.0,
    b"0E+00": 0.0,
    b"1e1": 10.0,
    b"1E-2": 0.01,
    b"123.456e-789": 0.0,
    b'""': "",
    b'"a"': "a",
    b'"\\u0000"': "\0",
    b'"\\"\\\\\\/\\b\\f\\n\\r\\t"': '"\\/\b\f\n\r\t',
    b'"\\u00e9\\u00E9"': "éé",
    b'"\\ud83d\\ude00"': "😀",
    b'"\\uD83D\\uDE00"': "😀",
    b'"\\ud83d"': "\ud83d",
    b'"\\ude00"': "\ude00",
    b'"\\ude00\\ud83d"': "\ude00\ud83d",
    b'"\\ud83d\\ud83d\\ude00"': "\ud83d😀",
    b'"\\ud83dx"': "\ud83dx",
    b'"\\\\ud83d\\\\ude00"': "\\ud83d\\ude00",
    b'"\\ud83d\\\\ude00"': "\ud83d\\ude00",
    b'"\x7f"': "\x7f",
    '"é😀\u2028\ufeff\uffff"'.encode(): "é😀\u2028\ufeff\uffff",
    b"[]": [],
    b"{}": {},
    b" \t\r\n[ \t\r\n] \t\r\n": [],
    b" { } ": {},
    b"[1,[2,[3]],{}]": [1, [2, [3]], {}],
    b'{"a":1}': {"a": 1},
    b' { "a" : 1 , "b" : [ ] } ': {"a": 1, "b": []},
    b'{"":{"":""}}': {"": {"": ""}},
    b'{"a":1,"a":2}': {"a": 2},
    b'{"a":{"x":1},"a":{"y":2}}': {"a": {"y": 2}},
    b'{"a":1,"\\u0061":2}': {"a": 2},
    b'[{"a":1,"b":{"c":null,"c":[]}}]': [{"a": 1, "b": {"c": []}}],
}

REFUSED: list[bytes] = [
    # nothing, or something around the value
    b"", b" ", b"\n", b"1 2", b"[] []", b"{}x", b"[]]", b"{}}", b"null,", b"\xef\xbb\xbf1", b"\xef\xbb\xbf{}", b"1\0",
    b"\0",
    b"\x0b1", b"\x0c1", b"\xc2\xa01", b"\xe2\x80\xa81", b"/**/1", b"1//", b"#\n1",
    # literals
    b"nul", b"nulll", b"True", b"TRUE", b"tru", b"truE", b"none", b"undefined", b"NaN", b"nan", b"-NaN", b"Infinity",
    b"-Infinity", b"inf", b"[NaN]", b'{"a":Infinity}', b"[-Infinity]",
    # numbers
    b"01", b"-01", b"00", b"-", b"+1", b".5", b"-.5", b"1.", b"1.e1", b"1e", b"1e+", b"1E-", b"0x10", b"0b1", b"1_000",
    b"1,000",
    b"--1", b"1.2.3", b"1e1.5", b"1e1e1", b"- 1", b"1 .5", b"1f", "１".encode(), "1٣".encode(), "1.٣".encode(),
    "1e٣".encode(), b"0e", b"-e",
    # strings
    b'"', b'"a', b"'a'", b"a", b'"\\"', b'"\\x41"', b'"\\a"', b'"\\u"', b'"\\u12"', b'"\\u123"', b'"\\u123g"',
    b'"\\u 123"', b'"\\u+123"',
    b'"\\u1_23"', b'"\\U0041"', b'"\\ud83d\\u"', b'"\\ud83d\\ude0"', b'"\\ud83d\\', b'"\\', b'"\\\n"', b'"\n"', b'"\t"',
    b'"\r"', b'"\0"',
    b'"\x1f"', b'"a"b"', b'"\\v"', b'"\\0"', '"\\u００４１"'.encode(),
    # UTF-8
    b"\xff", b'"\xff"', b'"\xc3"', b'"\xc0\x80"', b'"\xc1\xbf"', b'"\xe0\x80\x80"', b'"\xf0\x80\x80\x80"',
    b'"\xed\xa0\x80"', b'"\xed\xbf\xbf"',
    b'"\xed\xa0\xbd\xed\xb8\x80"', b'"\xf4\x90\x80\x80"', b'"\xf5\x80\x80\x80"', b'"\xe2\x82"', b'"\x80"',
    b'"\xf0\x9f\x98"', b'{"\xff":1}', b'"a"\xff',
    "1".encode("utf-16"), "[1]".encode("utf-16-le"),
    # arrays
    b"[", b"]", b"[1", b"[1,", b"[1,]", b"[,1]", b"[,]", b"[1,,2]", b"[1 2]", b"[1;2]", b"[1:2]", b"[[", b"[[]", b"[}",
    b"[1}", b'["a" "b"]', b"(1)", b"[...]",
    # objects
    b"{", b"}", b'{"a"', b'{"a":', b'{"a":1', b'{"a":1,', b'{"a":1,}', b"{,}", b'{,"a":1}', b'{"a"}', b'{"a",1}',
    b'{"a" 1}', b'{"a"::1}', b'{"a":1:2}',
    b'{"a":1 "b":2}', b'{"a":1,,"b":2}', b"{a:1}", b"{'a':1}", b"{1:1}", b"{null:1}", b'{["a"]:1}', b'{"a":}', b'{:1}',
    b'{"a":1]', b"{]", b'{"a":1;}', b'{"a":1}}',
]  # fmt: skip


@pytest.mark.parametrize("text", ACCEPTED, ids=repr)
def test_accepts(parse: Callable[[Any], Any], text: bytes) -> None:
    value = parse(text)
    assert value == ACCEPTED[text]
    assert type(value) is (JsonFloat if isinstance(ACCEPTED[text], float) else type(ACCEPTED[text]))
    assert parse(text.decode()) == value


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_refuses(parse: Callable[[Any], Any], text: bytes) -> None:
    with pytest.raises(MalformedJson):
        parse(text)


@pytest.mark.parametrize("text", ['"\ud83d"', '"\ud83d\ude00"', "\udcff", '{"\udc80":1}', "\ufeff1"], ids=ascii)
def test_refuses_a_str_that_is_no_unicode_text(parse: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(MalformedJson):
        parse(text)


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", 2**63),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9007199254740993", 2**53 + 1),
    ],
)
def test_integers_are_exact(parse: Callable[[Any], Any], spelling: str, value: int) -> None:
    number = parse(spelling)
    assert type(number) is int
    assert number == value


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("18446744073709551616", 2.0**64),
        ("-9223372036854775809", -(2.0**63)),
        ("10.0", 10.0),
        ("1.50", 1.5),
        ("-0.0", -0.0),
        ("-0e1", -0.0),
        ("1e400", math.inf),
        ("-1e400", -math.inf),
        ("1e-400", 0.0),
        ("1e99999999999999999999", math.inf),
        ("1" * 5_000, math.inf),
        ("-" + "9" * 5_000, -math.inf),
        ("0." + "1" * 5_000, 1 / 9),
        ("1e" + "0" * 5_000 + "2", 100.0),
    ],
    ids=lambda value: str(value)[:30],
)
def test_other_numbers_keep_their_spelling(parse: Callable[[Any], Any], spelling: str, value: float) -> None:
    for text in (spelling, spelling.encode(), f"[{spelling}]"):
        number = parse(text)
        number = number[0] if isinstance(number, list) else number
        assert isinstance(number, JsonFloat)
        assert number.spelling == spelling
        assert float(number) == pytest.approx(value, rel=1e-15)
        assert math.copysign(1, number) == math.copysign(1, value)


def test_depth(parse: Callable[[Any], Any]) -> None:
    for opening, middle, closing in (("[", "1", "]"), ("[", "", "]"), ('{"a":', "1", "}"), ('{"a":[', "1", "]}")):
        per_unit = opening.count("[") + opening.count("{")
        fits = MAX_DEPTH // per_unit
        parse(opening * fits + middle + closing * fits)
        parse((opening * fits + middle + closing * fits).encode())
        for units in (fits + 1, 5_000, 200_000):
            with pytest.raises(MalformedJson):
                parse(opening * units + middle + closing * units)
            with pytest.raises(MalformedJson):
                parse(opening * units)
    with pytest.raises(MalformedJson):
        parse("[" * MAX_DEPTH + "{}" + "]" * MAX_DEPTH)
    with pytest.raises(MalformedJson):
        parse("[" * MAX_DEPTH + "[]" + "]" * MAX_DEPTH)
    # Brackets that follow one another, or stand in strings, nest nothing.
    assert parse("[" + "[]," * 5_000 + "0]")[-1] == 0
    assert parse('"' + "[{" * 5_000 + '"') == "[{" * 5_000


def test_depth_does_not_depend_on_the_recursion_limit(parse: Callable[[Any], Any]) -> None:
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(20_000)
        with pytest.raises(MalformedJson):
            parse("[" * 1_025 + "]" * 1_025)
        parse("[" * 1_024 + "]" * 1_024)
    finally:
        sys.setrecursionlimit(limit)


def test_no_recursion_error_deep_in_the_callers_stack() -> None:
    text = '{"a":' + "[" * 900 + "1.5" + "]" * 900 + "}"

    def nested(remaining: int) -> Any:
        return nested(remaining - 1) if remaining else (parse_json(text), parse_json("[[1], 2.5]"))

    depth = 0
    frame = sys._getframe()
    while frame is not None:
        depth += 1
        frame = frame.f_back  # type: ignore[assignment]
    value, short = nested(sys.getrecursionlimit() - depth - 30)
    assert short == [[1], 2.5]
    for _ in range(900):
        value = value["a"] if isinstance(value, dict) else value[0]
    assert value == [1.5]


DOCUMENTS: list[bytes] = [
    '{"a":[1,-2.5e+10,true,false,null],"é😀":{"\\u00e9\\ud83d\\ude00":"\\n\\\\x"}, "a" : "z" }'.encode(),
    b' [ { "k" : [ ] } , [ [ { } ] , 0 ] , "" , -0 ] ',
    b'"\\ud83d\\ude00\\ud83d\\u0041\xc3\xa9"',
    b"-12.50E-07",
]


def outcome(text: bytes) -> Any:
    try:
        return shape(parse_json(text))
    except MalformedJson:
        return MalformedJson


def shape(value: Any) -> Any:
    """A value with the types and spellings that ``==`` does not look at."""
    if isinstance(value, list):
        return [shape(element) for element in value]
    if isinstance(value, dict):
        return {key: shape(element) for key, element in value.items()}
    return type(value), value, getattr(value, "spelling", None)


def damaged(document: bytes) -> Iterator[bytes]:
    for end in range(len(document) + 1):
        yield document[:end]
        yield document[end:]
        yield document[:end] + document[end + 1 :]
    for position in range(len(document)):
        for byte in {*b'\0\x1f "\\/{}[],:09-+.eEunrtx', 0x80, 0xC0, 0xED, 0xF5, 0xFF} | {
            document[position] ^ 1 << bit for bit in range(8)
        }:
            yield document[:position] + bytes([byte]) + document[position + 1 :]


@pytest.mark.parametrize("document", DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_damaged_documents_are_malformed_or_read_alike_both_ways(
    document: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = list(dict.fromkeys(damaged(document)))
    fast = [outcome(text) for text in texts]
    monkeypatch.setattr(json_text, "_decode", None)
    exact = [outcome(text) for text in texts]
    assert fast == exact
    assert MalformedJson in fast
    assert any(result is not MalformedJson for result in fast)
