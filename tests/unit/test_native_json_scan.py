"""The JSON scan of every CPU target against the one that goes byte by byte, wherever a text lies in memory."""

from __future__ import annotations

import json
import random

import native_library
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_texts import BAD, DOCUMENTS, GOOD, objects
from native_library import MALFORMED, Native, Paths

PATHS = [
    (), (b"a",), (b"a", b"b"), (b"",), (b"score",), (b"tags",), (b"key",), ("é".encode(),), (b"x" * 62,), (b"a", b"a"),
]  # fmt: skip
JUDGE = "scalar"
BYTES = b'"\\{}[]:, \t\n\x00\x1f019.-+eEtfnau/\x7f\x80\xbf\xc1\xc3\xe0\xed\xf0\xf4\xff'


@pytest.fixture(scope="module")
def native() -> Native:
    """The C functions."""
    return native_library.load()


@pytest.fixture(scope="module")
def scans(native: Native) -> dict[str, Paths]:
    """Paths for each target; for the judge as well."""
    made = {}
    for name in native.targets():
        native.use_target(name)
        made[name] = Paths(native, PATHS)
    native.use_target(native.targets()[0])
    assert JUDGE in made
    return made


@pytest.fixture(scope="module")
def trusting(native: Native) -> dict[str, Paths]:
    """The same without validation."""
    made = {}
    for name in native.targets():
        native.use_target(name)
        made[name] = Paths(native, PATHS, trusted=True)
    native.use_target(native.targets()[0])
    return made


def judge(scans: dict[str, Paths], text: bytes, before: bytes = b"", behind: bytes = b"") -> int:
    """Every target finds what the judge finds. The status."""
    expected = scans[JUDGE].extract(text)
    for name, paths in scans.items():
        assert paths.extract(text, before, behind) == expected, (name, text, before, behind)
    return expected[0]


def trust(scans: dict[str, Paths], trusting: dict[str, Paths], text: bytes) -> None:
    """On a valid text every target finds the same without validation; on another it gives some answer."""
    expected = scans[JUDGE].extract(text)
    for name, paths in trusting.items():
        found = paths.extract(text)
        assert expected[0] == MALFORMED or found == expected, (name, text)


def documents() -> list[bytes]:
    """Objects of up to a few hundred bytes, compact and spaced, with everything in them that JSON has."""
    samples: list[object] = [
        {},
        {"a": 1},
        {"a": {"b": [1, {"b": 2}], "a": None}, "score": 0.25, "tags": ["billing", "x,y", "[{"]},
        {"score": -12.5e-3, "x": True, "key": False, "": "e", "a": []},
        {"é": "ü€😀", "tags": {}, "a": {"a": '\\"', "b": "\n"}},
        {"x" * 62: "long key", "x" * 63: 1, "y" * 70: {"a": [[[[]]]]}, "score": 1e300},
        {f"k{i}": i if i % 3 else str(i) for i in range(12)} | {"score": 7, "tags": list(range(9))},
        {"k" * 130: "é€😀" * 16, "a": "c\\" * 70},
        {"a": "word " * 30, "key": ["deep", ["deeper", {"key": [{}]}]], "score": "0.5"},
    ]
    compact = [json.dumps(sample, separators=(",", ":"), ensure_ascii=False).encode() for sample in samples]
    spaced = [json.dumps(sample, indent=1).encode() for sample in samples]
    twice = [
        b'{"a":1,"a":{"b":2},"score":1,"a":{"b":3,"b":4},"score":2}',
        b'{"a":{"b":1},"a":2}',
        rb'{"\u0061":1,"a":2}',
    ]
    return compact + spaced + twice


@pytest.mark.parametrize("text", documents())
def test_every_prefix(scans: dict[str, Paths], trusting: dict[str, Paths], text: bytes) -> None:
    for length in range(len(text) + 1):
        status = judge(scans, text[:length], behind=text[length:] + b" " * 64)
        assert (status != MALFORMED) == (length == len(text))
        judge(scans, text[:length])
        trust(scans, trusting, text[:length])


@pytest.mark.parametrize("text", documents())
def test_at_every_place_in_a_block(scans: dict[str, Paths], trusting: dict[str, Paths], text: bytes) -> None:
    for spaces in range(130):
        padded = text.replace(b":", b":" + b" " * spaces, 1)
        assert judge(scans, padded, before=b"}" * (spaces % 7), behind=b'","a":1}' * (spaces % 20)) != MALFORMED
        trust(scans, trusting, padded)
        assert judge(scans, b" " * spaces + text + b"\n" * spaces) != MALFORMED
        judge(scans, padded[:-1] + b"x" + padded[-1:])


@pytest.mark.parametrize("text", documents())
def test_every_byte_changed(scans: dict[str, Paths], trusting: dict[str, Paths], text: bytes) -> None:
    random_bytes = random.Random(len(text))
    for position in range(len(text)):
        for byte in [*random_bytes.sample(BYTES, 5), text[position] ^ 1 << random_bytes.randrange(8)]:
            changed = text[:position] + bytes([byte]) + text[position + 1 :]
            inserted = text[:position] + bytes([byte]) + text[position:]
            for broken in (changed, inserted):
                judge(scans, broken, before=text[: position % 9], behind=text[: random_bytes.choice([0, 3, 64, 90])])
                trust(scans, trusting, broken)


@pytest.mark.parametrize("part", sorted(BAD) + sorted(GOOD))
def test_good_and_bad_values_at_every_place(scans: dict[str, Paths], part: bytes) -> None:
    for spaces in range(66):
        judge(scans, b'{"a":' + b" " * spaces + part + b"}")
        judge(scans, b'{"a":[1,' + b" " * spaces + part + b"]}")


CHARACTERS = """
    c280 dfbf e0a080 ed9fbf f0908080 f48fbfbf
    c080 c1bf e09fbf eda080 f08f8080 f4908080 f5808080 c2 e180 f18080 80 c28080
"""
"""The first and last characters of each length, and what is no character, in hexadecimal."""


@pytest.mark.parametrize("character", [bytes.fromhex(character) for character in CHARACTERS.split()])
def test_characters_at_every_place(scans: dict[str, Paths], character: bytes) -> None:
    for letters in range(70):
        judge(scans, b'{"score":1,"a":"' + b"x" * letters + character + b'"}')
        judge(scans, b'{"score":1,"a":"' + b"x" * letters + character)
        judge(scans, b'{"score":1,"a":"' + b"x" * letters + character + b'x"}')


@pytest.mark.parametrize("depth", [1, 2, 63, 64, 65, 1022, 1023, 1024, 1025])
@pytest.mark.parametrize("opening", [b'{"a":', b"[", b'[{"a":', b'{"b":['])
def test_depth(scans: dict[str, Paths], depth: int, opening: bytes) -> None:
    closing = opening[::-1].translate(bytes.maketrans(b"{[", b"}]")).replace(b':"a"', b"").replace(b':"b"', b"")
    for outer in (b"%b", b'{"a":%b}', b'{"score":1,"tags":%b,"a":2}'):
        assert judge(scans, outer % (opening * depth + b"1" + closing * depth)) in (0, 1, 2)
        judge(scans, outer % (opening * depth + b"1" + closing * (depth - 1)))
        judge(scans, outer % (opening * depth + closing * depth))


@settings(max_examples=300, deadline=None)
@given(text=objects, spaces=st.integers(0, 64))
def test_random_documents(scans: dict[str, Paths], trusting: dict[str, Paths], text: bytes, spaces: int) -> None:
    padded = b" " * spaces + text
    judge(scans, padded, behind=padded)
    trust(scans, trusting, padded)


@pytest.mark.parametrize("text", DOCUMENTS)
def test_documents(scans: dict[str, Paths], trusting: dict[str, Paths], text: bytes) -> None:
    judge(scans, text)
    trust(scans, trusting, text)


def test_with_sanitizers() -> None:
    native_library.run_sanitized(__file__)
