"""src/json/*.c against Python's json, and JSONB text and containment against their plainest definitions."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import native_library
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from json_judges import (
    contains,
    encoded,
    is_well_formed,
    jsonb_string,
    jsonb_text,
    kind_of,
    number_of,
    parsed,
    same_number,
)
from json_texts import BAD, DOCUMENTS, GOOD, KEYS, NUMBER_SPELLINGS, objects, parts, spelled, values
from native_library import ARRAY, MALFORMED, MISSING, NOT_OBJECT, NULL, NUMBER, OBJECT, OK, STRING, Value

CONFORMANCE = Path(__file__).parent.parent / "data" / "anansi.jsonl.gz"


@pytest.fixture(scope="module")
def native() -> native_library.Native:
    """The C functions."""
    return native_library.load()


@pytest.fixture(autouse=True)
def room_for_depth() -> Iterator[None]:
    """Python's json and the judges here recurse."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    yield
    sys.setrecursionlimit(before)


def assert_same(native: native_library.Native, value: Value, expected: Any) -> None:
    """A value found natively is the one Python found."""
    assert value.kind == kind_of(expected)
    if value.kind == STRING:
        assert value.escaped == (b"\\" in value.text)
        assert native.string(value) == encoded(expected)
    elif value.kind == NUMBER:
        assert value.text == expected.encode()
        assert same_number(native.number(value.text), number_of(expected))
    elif value.kind == ARRAY:
        elements = native.elements(value)
        assert len(elements) == len(expected)
        for element, item in zip(elements, expected, strict=True):
            assert_same(native, element, item)
    elif value.kind == OBJECT:
        assert parsed(value.text) == expected
    else:
        assert value.text == {None: b"null", True: b"true", False: b"false"}[expected]


def paths_of(native: native_library.Native) -> native_library.Paths:
    """Paths that make the scan go into objects as well as past them."""
    return native_library.Paths(native, [(), (b"a",), (b"a", b"b"), (b"",), (b"a", "é".encode()), (b"key",)])


def judge(native: native_library.Native, paths: native_library.Paths, text: bytes) -> None:
    """Accepted or refused as by Python's json, both when scanned past and when looked into, and when recorded."""
    expected = is_well_formed(text)
    assert native.is_well_formed(text) == expected, text
    status, values = paths.extract(text)
    assert (status != MALFORMED) == expected, text
    if not expected:
        assert all(value.kind == MISSING for value in values)
    try:
        native_library.Pattern(native, text)
    except ValueError:
        assert not expected, text
    else:
        assert expected, text


@pytest.mark.parametrize("text", GOOD, ids=lambda text: repr(text[:20]))
def test_well_formed(native: native_library.Native, text: bytes) -> None:
    assert is_well_formed(text)
    judge(native, paths_of(native), text)
    assert_same(native, native.value(text), parsed(text))


@pytest.mark.parametrize("text", BAD, ids=lambda text: repr(text[:20]))
def test_malformed(native: native_library.Native, text: bytes) -> None:
    assert not is_well_formed(text)
    judge(native, paths_of(native), text)


@pytest.mark.parametrize("text", BAD + GOOD, ids=lambda text: repr(text[:20]))
def test_inside_another_text(native: native_library.Native, text: bytes) -> None:
    paths = paths_of(native)
    for frame in (b"[%b]", b'{"a":%b}', b'{"z":%b}', b'{"a":{"b":%b,"z":0}}', b'{"key":"%b"}'):
        judge(native, paths, frame % text)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_prefix_and_suffix(native: native_library.Native, document: bytes) -> None:
    paths = paths_of(native)
    for place in range(len(document) + 1):
        judge(native, paths, document[:place])
        judge(native, paths, document[place:])
        judge(native, paths, document[:place] + document[place + 1 :])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_byte_changed(native: native_library.Native, document: bytes) -> None:
    paths = paths_of(native)
    for place in range(len(document)):
        flipped = [document[place] ^ 1 << bit for bit in range(8)]
        for byte in flipped + list(b'\0\x1f "\\,:[]{}-0.eEu\x80\xc2\xed\xf4\xff'):
            judge(native, paths, document[:place] + bytes([byte]) + document[place + 1 :])


def test_every_byte_in_every_state(native: native_library.Native) -> None:
    paths = paths_of(native)
    states = [
        b"", b"[", b"[1", b"[1,", b"{", b'{"a"', b'{"a":', b'{"a":1', b'{"a":1,', b'"', b'"\\', b'"\\u', b'"\\u0',
        b"-", b"0", b"1", b"1.", b"1.5", b"1e", b"1e+", b"1e5", b"t", b'"\xc2', b'"\xe0', b'"\xe0\xa0', b'"\xed',
        b'"\xf0', b'"\xf0\x90', b'"\xf4', b"1 ",
    ]  # fmt: skip
    endings = [b"", b"]", b"}", b'"', b'":1}', b"5", b"0]", b'\x80"', b'\x80\x80"']
    for state in states:
        for byte in range(256):
            for ending in endings:
                judge(native, paths, state + bytes([byte]) + ending)


@given(st.lists(st.sampled_from([
    b'"', b"\\", b"[", b"]", b"{", b"}", b",", b":", b"0", b"-", b".", b"e", b"1", b"a", b"true", b"null", b" ",
    b"\\u00", b"41", b"\\ud83d", b"\xc3\xa9", b"\xff", b"\n", b'"a"', b'"a":', b"\0",
]), max_size=14))  # fmt: skip
def test_any_sequence_of_pieces(native: native_library.Native, pieces: list[bytes]) -> None:
    judge(native, paths_of(native), b"".join(pieces))


@given(st.binary(max_size=30))
def test_any_bytes(native: native_library.Native, text: bytes) -> None:
    judge(native, paths_of(native), text)
    judge(native, paths_of(native), b'"' + text + b'"')


PATHS = [
    (), ("a",), ("a", "a"), ("a", "b"), ("a", "b", "a"), ("b",), ("",), ("é",), ("a.b",), ("😀",), ("\ud83d",), ("\n",),
    ('"', "a"), ("nope",), ("a", ""), ("b",),
]  # fmt: skip


def looked_up(value: Any, path: Sequence[str]) -> Any:
    """The value at a path, or ``MISSING``."""
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return MISSING
        value = value[key]
    return value


@given(st.one_of(values, objects))
@example(b'{"a":{"a":1},"a":{"b":2}}')
@example(b'{"a":{"a":1},"a":5}')
@example(b'{"a":{"b":{"a":1}},"a":{"b":7},"\\u0061":{"a":"\\ud83d"}}')
def test_paths(native: native_library.Native, text: bytes) -> None:
    paths = native_library.Paths(native, [[encoded(key) for key in path] for path in PATHS])
    status, found = paths.extract(text)
    value = parsed(text)
    assert status == (OK if isinstance(value, dict) else NOT_OBJECT)
    for path, here in zip(PATHS, found, strict=True):
        expected = looked_up(value, path)
        if expected is MISSING:
            assert here == Value(MISSING, False, b"")
        else:
            assert_same(native, here, expected)


def test_a_path_that_leads_into_no_object_is_missing(native: native_library.Native) -> None:
    paths = native_library.Paths(native, [(b"a", b"b"), (b"a",)])
    for inner in (b"1", b'"b"', b"[1]", b"null", b'["b"]', b'[{"b":1}]'):
        status, (below, here) = paths.extract(b'{"a":' + inner + b"}")
        assert (status, below.kind, here.kind == MISSING) == (OK, MISSING, False)


def test_no_paths_still_validate(native: native_library.Native) -> None:
    paths = native_library.Paths(native, [])
    assert [paths.extract(text)[0] for text in (b"1", b"{}", b"", b"[1,]")] == [OK, OK, MALFORMED, MALFORMED]


def test_many_paths(native: native_library.Native) -> None:
    paths = native_library.Paths(native, [(f"key{i % 300}".encode(), b"x" * (i // 300 + 1)) for i in range(600)])
    text = json.dumps({f"key{i}": {"x": i, "xx": -i, "xxx": 0} for i in range(300)}).encode()
    status, found = paths.extract(text)
    assert status == OK
    assert [native.number(value.text) for value in found] == [*range(300), *(-i for i in range(300))]


def test_depth_counts_objects_on_a_path(native: native_library.Native) -> None:
    paths = native_library.Paths(native, [[b"a"] * 1024, [b"a"] * 1023])
    for depth in (1023, 1024, 1025):
        text = b'{"a":' * depth + b"7" + b"}" * depth
        status, found = paths.extract(text)
        assert status == (OK if depth <= 1024 else MALFORMED)
        expected = {1023: [b"", b"7"], 1024: [b"7", b'{"a":7}'], 1025: [b"", b""]}
        assert [value.text for value in found] == expected[depth]
    for inner in (1022, 1023, 1024):
        status, _ = paths.extract(b'{"a":{"a":' + b"[" * inner + b"]" * inner + b"}}")
        assert status == (OK if inner <= 1022 else MALFORMED)


# Values


@given(NUMBER_SPELLINGS.map(str.lower))
@example("-9223372036854775808")
@example("18446744073709551616")
@example("-18446744073709551615")
@example("99999999999999999999999999999999999999999")
def test_numbers(native: native_library.Native, spelling: str) -> None:
    assert same_number(native.number(spelling.encode()), number_of(spelling))


@given(st.integers(-(2**70), 2**70))
def test_integers(native: native_library.Native, number: int) -> None:
    assert same_number(native.number(str(number).encode()), number_of(str(number)))


@given(values)
def test_values(native: native_library.Native, text: bytes) -> None:
    assert_same(native, native.value(text), parsed(text))


# JSONB text


def assert_text(native: native_library.Native, text: bytes) -> None:
    """The JSONB text is the judge's, within every limit that matters."""
    value, expected = parsed(text), None
    if value is None:
        return
    try:
        expected = jsonb_text(value)
    except ArithmeticError:  # an exponent beyond Python's
        return
    found = native.value(text)
    assert native.jsonb_text(found, before=b"KEPT") == expected, text
    for limit in {0, 1, len(expected) // 2, max(len(expected) - 1, 0), len(expected), len(expected) + 1}:
        assert native.jsonb_text(found, limit, b"k") == (expected if len(expected) <= limit else None), (text, limit)


@given(values)
@example(b'{"b":1,"aa":2,"a":3,"\\u0062":4,"":5,"\xc3\xa9":6,"zz":7}')
@example(b'["a\\u0001\\n\\"\\\\\\/\\u007f\\b\\f\\r\\t\\u001f"]')
@example(b'{"\\n":{"\\n":[],"a":{}},"\\u000a":[{},[]]}')
def test_jsonb_text(native: native_library.Native, text: bytes) -> None:
    assert_text(native, text)
    assert_text(native, b"[" + text + b"]")


@pytest.mark.parametrize(
    ("spelling", "text"),
    [
        ("1e3", "1000"), ("1.50", "1.50"), ("-0", "0"), ("-0.0", "0.0"), ("5e-1", "0.5"), ("0e5", "0"),
        ("0.00e1", "0.0"), ("0e-3", "0.000"), ("1.5e1", "15"), ("0.05e-3", "0.00005"), ("12.5e-4", "0.00125"),
        ("1.25e1", "12.5"), ("-1E+2", "-100"), ("100e-2", "1.00"), ("0.001e2", "0.1"), ("0.001e3", "1"),
        ("0.001e5", "100"), ("-0.001e5", "-100"), ("10.0", "10.0"),
        ("123456789012345678901234567890.10", "123456789012345678901234567890.10"), ("1e30", "1" + "0" * 30),
        ("0e999999999999999999999999", "0"),
    ],
)  # fmt: skip
def test_jsonb_numbers_as_postgresql_prints_them(native: native_library.Native, spelling: str, text: str) -> None:
    assert native.jsonb_text(native.value(spelling.encode())) == text.encode()
    assert native.jsonb_text(native.value(f'{{"a":[{spelling}]}}'.encode())) == f'{{"a": [{text}]}}'.encode()


@pytest.mark.parametrize(
    "spelling",
    [
        "1e999999999",
        "1e-999999999",
        "-1.5e99999999999999999999999",
        "1e-99999999999999999999999",
        "0e-99999999999999999999",
    ],
)
def test_texts_beyond_the_limit_are_not_written_out(native: native_library.Native, spelling: str) -> None:
    for text in (spelling, f"[{spelling}]", f'{{"a":[1,{spelling}]}}'):
        assert native.jsonb_text(native.value(text.encode()), 1_000_000, b"kept") is None


@given(st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 9)), max_size=80))
def test_objects_with_many_repeated_keys(native: native_library.Native, members: list[tuple[str, int]]) -> None:
    text = "{" + ",".join(f"{json.dumps(key)}:{number}" for key, number in members) + "}"
    assert_text(native, text.encode())


# Containment


def assert_contains(native: native_library.Native, value: bytes, wanted: bytes) -> bool:
    """Natively as by the judge."""
    pattern = native_library.Pattern(native, wanted)
    expected = contains(parsed(value), parsed(wanted))
    assert pattern.contained_in(native.value(value)) == expected, (value, wanted)
    return expected


@given(values, values)
def test_containment_of_any_values(native: native_library.Native, value: bytes, wanted: bytes) -> None:
    assert_contains(native, value, wanted)
    assert_contains(native, b"[" + value + b"," + wanted + b"]", wanted)
    assert_contains(native, value, value)


@given(values, st.data())
def test_containment_of_parts(native: native_library.Native, value: bytes, data: st.DataObject) -> None:
    assert_contains(native, value, spelled(data.draw(parts(parsed(value)))).encode())


@pytest.mark.parametrize(
    ("value", "wanted", "expected"),
    [
        ("1", "1.0", True), ("1", "10e-1", True), ("0", "-0.0", True),
        ("9007199254740993", "9007199254740992.0", False), ("9007199254740993", "9007199254740993", True),
        ("18446744073709551615", "18446744073709551616", False),
        ("18446744073709551616", "18446744073709551616.0", True),
        ("9223372036854775807", "9223372036854775808.0", False),
        ("9223372036854775808", "9223372036854775808.0", True),
        ("-9223372036854775808", "-9223372036854775808.0", True), ("1e400", "1e400", False),
        ("[1e400]", "[1e400]", False), ("1", '"1"', False), ("true", "true", True), ("null", "null", True),
        ("null", "{}", False), ("[1,[2,3]]", "2", False), ("[1,[2,3]]", "[[2]]", True), ("[1,[2,3]]", "[2]", False),
        ("[1,2]", "[2,1,1,2]", True), ("[]", "[]", True), ("[[]]", "[]", True), ("[]", "[[]]", False),
        ("[1]", "[]", True), ("1", "[1]", False), ('"a"', '["a"]', False), ('["a"]', '"a"', True),
        ('["\\u0061"]', '"a"', True), ('["a"]', '"\\u0061"', True), ('{"a":[1]}', '{"a":1}', False),
        ('{"a":[1,2]}', '{"a":[2]}', True), ('{"a":1,"b":2}', '{"b":2}', True), ('{"a":1}', "{}", True),
        ('{"a":1}', '{"a":1,"a":2}', False), ('{"a":1,"a":2}', '{"a":2}', True), ('{"a":1,"a":2}', '{"a":1}', False),
        ('{"\\u0061":1}', '{"a":1.0}', True), ('{"a":{"b":{"c":1,"d":2}}}', '{"a":{"b":{"d":2}}}', True),
        ('{"a":{"b":1}}', '{"b":1}', False), ('[{"a":1},{"b":2}]', '[{"b":2},{}]', True),
        ('[{"a":1},{"b":2}]', '[{"a":1,"b":2}]', False), ('[{"a":1}]', '{"a":1}', False), ("[null]", "null", True),
        ("[false]", "true", False), ('{"a":null}', '{"a":null}', True), ("{}", '{"a":null}', False),
        ("{}", "[]", False), ("[]", "{}", False), ('""', '""', True), ('[""]', '""', True),
    ],
)  # fmt: skip
def test_containment_as_postgresql_answers(
    native: native_library.Native, value: str, wanted: str, expected: bool
) -> None:
    assert assert_contains(native, value.encode(), wanted.encode()) == expected
    assert assert_contains(native, f" {value} ".encode(), f"\n{wanted}\t".encode()) == expected


# PostgreSQL's own answers


COMPARISONS = {"$gt": float.__gt__, "$gte": float.__ge__, "$lt": float.__lt__, "$lte": float.__le__}


def anansi_matches(native: native_library.Native, node: dict[str, Any], text: bytes) -> bool:
    """An Anansi filter on one text, by the native functions."""
    keys = list(node.get("metadata", {}))
    status, found = native_library.Paths(native, [[encoded(key)] for key in keys]).extract(text)
    assert status == OK
    return (
        all(leaf_matches(native, node["metadata"][key], value) for key, value in zip(keys, found, strict=True))
        and all(anansi_matches(native, child, text) for child in node.get("$and", []))
        and ("$or" not in node or any(anansi_matches(native, child, text) for child in node["$or"]))
    )


def leaf_matches(native: native_library.Native, wanted: Any, value: Value) -> bool:
    """One entry of an Anansi filter's metadata."""
    if wanted is None:
        return value.kind in (MISSING, NULL)
    text = None if value.kind in (MISSING, NULL) else native.jsonb_text(value)
    number = None if text is None or not native.is_plain_number(text) else native.parse_double(text)
    if isinstance(wanted, bool):
        return text == (b"true" if wanted else b"false")
    if isinstance(wanted, str):
        return text == encoded(wanted)
    if isinstance(wanted, int | float):
        return number == float(wanted)
    for operator, operand in wanted.items():
        if operator == "$contains":
            pattern = native_library.Pattern(native, json.dumps(operand).encode())
            if value.kind == MISSING or not pattern.contained_in(value):
                return False
        elif number is None or not COMPARISONS[operator](number, float(operand)):
            return False
    return True


def test_postgresql_answers(native: native_library.Native) -> None:
    num_rows = 0
    judged: set[str] = set()
    paths = paths_of(native)
    with gzip.open(CONFORMANCE, "rt", encoding="utf-8") as file:
        for case in map(json.loads, file):
            for text, expected in zip(case.get("metadata_json", []), case.get("expect", []), strict=True):
                assert anansi_matches(native, case["filter"], text.encode()) == expected, (case["id"], text)
                num_rows += 1
                if text not in judged and len(judged) < 2000:
                    judged.add(text)
                    judge(native, paths, text.encode())
                    assert_text(native, text.encode())
    assert num_rows > 20_000


# Hostile texts


def test_a_million_keys(native: native_library.Native) -> None:
    number = 1_000_000
    text = b"{" + b",".join(b'"k%d":%d' % (i, i) for i in range(number)) + b"}"
    status, (last,) = native_library.Paths(native, [(b"k999999",)]).extract(text)
    assert (status, last.text) == (OK, b"999999")
    value = native.value(text)
    printed = native.jsonb_text(value)
    assert printed is not None
    assert printed.startswith(b'{"k0": 0, "k1": 1,')
    assert printed.endswith(b', "k999998": 999998, "k999999": 999999}')
    assert native_library.Pattern(native, b'{"k5":5,"k999999":999999}').contained_in(value)


def test_a_key_a_million_times(native: native_library.Native) -> None:
    text = b'{"a":{"b":1}' + b',"a":{"b":1},"\\u0061":[[{"a":"\\n"}]]' * 500_000 + b"}"
    status, (inner, outer) = native_library.Paths(native, [(b"a", b"b"), (b"a",)]).extract(text)
    assert (status, inner.kind, outer.text) == (OK, MISSING, b'[[{"a":"\\n"}]]')
    value = native.value(text)
    assert native.jsonb_text(value, 100) == b'{"a": [[{"a": "\\n"}]]}'
    assert native_library.Pattern(native, b'{"a":[[{"a":"\\n"}]]}').contained_in(value)


@pytest.mark.parametrize("content", [b"x", b"\\n", "é".encode(), b'\\ud83d\\ude00\\"'])
def test_a_huge_string(native: native_library.Native, content: bytes) -> None:
    text = b'{"a":"' + content * 1_000_000 + b'"}'
    status, (value,) = native_library.Paths(native, [(b"a",)]).extract(text)
    assert status == OK
    assert native.string(value) == json.loads(b'"' + content + b'"').encode() * 1_000_000
    assert native.jsonb_text(value, 1000) is None
    printed = native.jsonb_text(native.value(text))
    assert printed == b'{"a": ' + jsonb_string(json.loads(b'"' + content + b'"') * 1_000_000).encode() + b"}"


def test_deep_values(native: native_library.Native) -> None:
    mixed = b'[{"a":' * 512 + b"1" + b"}]" * 512
    for text in (b"[" * 1024 + b"]" * 1024, b'{"a":' * 1023 + b"[]" + b"}" * 1023, mixed):
        assert_text(native, text)
        assert assert_contains(native, text, text)


def test_a_huge_number(native: native_library.Native) -> None:
    digits = b"7" * 1_000_000
    assert native.number(digits) == float("inf")
    assert native.number(b"0." + digits) == 0.7777777777777778
    assert native.jsonb_text(native.value(digits)) == digits
    assert native.jsonb_text(native.value(b"0." + digits + b"e-2"), 4_000_000) == b"0.00" + digits


def test_all_of_this_with_sanitizers() -> None:
    native_library.run_sanitized(__file__)
