"""JSON texts: well-formed and malformed ones of every kind, and strategies that spell JSON in every way there is."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from json_judges import Spelling

GOOD = [
    b"null", b"true", b"false", b"0", b"-0", b"-1", b"1.5", b"1e5", b"1E+5", b"1e-5", b"0e0", b"0.0", b'""', b"[]",
    b"{}", b" \t\r\n1 \t\r\n", b"[1,2]", b"[ 1 , 2 ]", b'{"a":1}', b'{ "a" : 1 , "b" : [ ] }', b'{"":0}',
    b'{"a":1,"a":2}', b'"\\u0000"', b'"\\ud83d\\ude00"', b'"\\ud83d"', b'"\\ude00\\ud83d"', b'"\\ud83d\\ud83d\\ude00"',
    b'"\\ud83dx"', b'"\\ud83d\\n"', b'"\\uD83D\\uDE00 \\uabCD"', b'"\\"\\\\\\/\\b\\f\\n\\r\\t"', b'"\x7f"',
    "\"é€😀\ufeff\uffff\u2028\"".encode(), b"[[],[[]],{}]", b"123456789012345678901234567890", b"0.1e999999", b"-0.0",
    b"1e400", b"[null,true,false]", b'{"a":{"b":{"c":[1,{"d":"e"}]}}}', b'["a","b"]', b'"' + b"x" * 100 + b'"',
    b"[" * 1024 + b"]" * 1024, b'{"a":' * 1024 + b"0" + b"}" * 1024, b'[{"a":' * 512 + b"1" + b"}]" * 512,
    "\"\U0010ffff\"".encode(),
]  # fmt: skip

BAD = [
    b"", b" ", b"\xef\xbb\xbf1", b"\xef\xbb\xbf", b"nul", b"nulll", b"True", b"NULL", b"tru", b"fals", b"nan", b"NaN",
    b"Infinity", b"-Infinity", b"-", b"+1", b"01", b"-01", b"00", b"1.", b".5", b"-.5", b"1.e5", b"1e", b"1e+", b"1e-",
    b"1e5.5", b"0x10", b"1_000", b"1 2", b"1,", b"--1", b"1-", b"1+1", "١".encode(), "[１]".encode(), b"0e", b"2.e3",
    b"-a", b"1a", b"1eE2", b'"', b'"a', b'"\\', b'"\\"', b'"\\x"', b'"\\u"', b'"\\u1"', b'"\\u12"', b'"\\u123"',
    b'"\\u12345', b'"\\u12g4"', b'"\\U0041"', b'"\\ud83d\\u"', b'"\\ud83d\\ude0"', b'"\\a"', b'"\\0"', b"\"\\'\"",
    b"'a'", b"a", b'"\n"', b'"\t"', b'"\0"', b'"\x1f"', b'"a" "b"', b'"\\\n"', b'"\x80"', b'"\xbf"', b'"\xc0\xaf"',
    b'"\xc1\xbf"', b'"\xc2"', b'"\xc2', b'"\xc2\\"', b'"\xe0\x80\xaf"', b'"\xe0\x9f\xbf"', b'"\xe2\x82"',
    b'"\xed\xa0\x80"', b'"\xed\xbf\xbf"', b'"\xf0\x80\x80\x80"', b'"\xf0\x8f\xbf\xbf"', b'"\xf0\x9f\x98"',
    b'"\xf4\x90\x80\x80"', b'"\xf5\x80\x80\x80"', b'"\xf8\x88\x80\x80\x80"', b'"\xfe"', b'"\xff"', b'"\xc3\x28"',
    b'"aaaaaaaaaaaaaaa\xc3', b"\xff", b"[\xe9]", b"[", b"]", b"[1", b"[1,", b"[1,]", b"[,]", b"[,1]", b"[1,,2]",
    b"[1 2]", b"[1:2]", b"[1}", b"[]]", b"[[]", b"[}", b"[1;2]", b'["a",\n4,1,', b"[\0]", b"[1\0]", b"[\x0c]",
    b"[\x0b]", b"[\xc2\xa0]", b"[\xe2\x81\xa0]", b"{", b"}", b"{]", b'{"a"', b'{"a"}', b'{"a":', b'{"a":}', b'{"a":1',
    b'{"a":1,', b'{"a":1,}', b"{,}", b"{a:1}", b"{'a':1}", b"{1:1}", b"{null:1}", b"{[]:1}", b'{"a" 1}', b'{"a"::1}',
    b'{"a",1}', b'{"a":1 "b":2}', b'{"a":1,,"b":2}', b'{"a":1:2}', b'{"a":1]', b'{}}', b'{"a":1}}', b'{"a":1} x',
    b'{"a":1,"b"}', b'{"a\n":1}', b'{"\xff":1}', b'{"a":"b"/**/}', b'/**/1', b"//\n1", b"#\n1", b"<null>",
    b"[" * 1025 + b"]" * 1025, b'{"a":' * 1025 + b"0" + b"}" * 1025, b"[" * 100_000, b'[{"":' * 100_000,
    b'{"a":' * 512 + b"[" * 513 + b"]" * 513 + b"}" * 512, b"null\0", b"\0null", b"1\0", b'{"a":1}\0', b"n\0ull",
    "１".encode(), b"\\u0031", b'\\"a\\"', b"[\"a\0b\"]", b"[\"\\ud800\xed\xa0\x80\"]", '{"a":1}'.encode("utf-16-le"),
    '{"a":1}'.encode("utf-16"), b"\xed\xa0\x80",
]  # fmt: skip

DOCUMENTS = [
    '{"a":{"b":[1,-2.5e3,"x\\u00e9\\ud83d\\ude00\\n",true,false,null],"é":"😀ߐ"},"a": {"c":{}} ,"":[[],[{}]]}'.encode(),
    b' [ "0123456789abcdef\\\\\\"", 0, -0.0, 1e-7, {"k\\u0065y":"v","key":"w"} ] ',
    b'"\\ud800\\udc00 \\ud800 \\udc00 \\u0000"',
    '"\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"'.encode(),
    b"-12345678901234567890.0123456789e-10",
]

KEYS = ["a", "b", "", "é", "a.b", "aa", "😀", "\ud83d", "\n", '"', "key"]
NUMBER_SPELLINGS = st.one_of(
    st.sampled_from([
        "0", "-0", "0.0", "-0.0e5", "1", "1.0", "10e-1", "1.50", "1e3", "1000", "1E+2", "5e-1", "0e-3",
        "9007199254740993", "9007199254740992.0", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "-9223372036854775809", "18446744073709551615", "18446744073709551616", "18446744073709551615.0", "1e400",
        "-1e400", "0.1", "0.10", "1e-7", "12.5e-4", "123456789012345678901234567890.10",
    ]),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?", fullmatch=True),
)  # fmt: skip
CHARACTERS = st.one_of(st.sampled_from('az"\\/\b\f\n\r\t\0\x1f\x7fé€😀\ud83d\ude00\uffff'), st.characters())


@st.composite
def spelled_strings(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """A string with a random choice of escapes."""
    spelled = []
    for character in draw(texts):
        code = ord(character)
        must = code < 0x20 or character in '"\\' or 0xD800 <= code <= 0xDFFF
        if must or draw(st.integers(0, 4)) == 0:
            short = {v: k for k, v in zip("bfnrt", "\b\f\n\r\t", strict=True)}.get(character)
            if short is not None and draw(st.booleans()):
                spelled.append("\\" + short)
            elif character in '"\\/' and draw(st.booleans()):
                spelled.append("\\" + character)
            else:
                units = encoded_units(character)
                spelled += [f"\\u{unit:04{draw(st.sampled_from('xX'))}}" for unit in units]
        else:
            spelled.append(character)
    return '"' + "".join(spelled) + '"'


def encoded_units(character: str) -> list[int]:
    """UTF-16 code units."""
    data = character.encode("utf-16-be", "surrogatepass")
    return [data[i] << 8 | data[i + 1] for i in range(0, len(data), 2)]


SPACE = st.sampled_from(["", "", "", " ", "\n\t", "\r  "])


@st.composite
def container(draw: st.DrawFn, children: st.SearchStrategy[str]) -> str:
    """An array or object of spelled values; keys repeat."""
    items = draw(st.lists(children, max_size=4))
    if draw(st.booleans()):
        return "[" + ",".join(draw(SPACE) + item + draw(SPACE) for item in items) + draw(SPACE) + "]"
    members = []
    for item in items:
        key = draw(spelled_strings(st.sampled_from(KEYS)))
        members.append(draw(SPACE) + key + draw(SPACE) + ":" + draw(SPACE) + item + draw(SPACE))
    return "{" + ",".join(members) + draw(SPACE) + "}"


scalars = st.one_of(
    st.sampled_from(["null", "true", "false"]), NUMBER_SPELLINGS, spelled_strings(st.text(CHARACTERS, max_size=6))
)
values = st.recursive(scalars, container, max_leaves=12).map(str.encode)
objects = container(st.recursive(scalars, container, max_leaves=6)).filter(lambda text: text[0] == "{").map(str.encode)


@st.composite
def parts(draw: st.DrawFn, value: Any) -> Any:
    """Something that a value contains, or nearly."""
    if isinstance(value, dict):
        return {key: draw(parts(item)) for key, item in value.items() if draw(st.booleans())}
    if isinstance(value, list) and value:
        return [draw(parts(item)) for item in draw(st.lists(st.sampled_from(value), max_size=3))]
    return draw(st.sampled_from([value, value, value, None, [], {}, Spelling("1"), "a"]))


def spelled(value: Any) -> str:
    """JSON of a parsed value; numbers spelled as they were."""
    if isinstance(value, Spelling):
        return value
    if isinstance(value, list):
        return "[" + ",".join(map(spelled, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{spelled(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)
