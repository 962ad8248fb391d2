"""JSON conditions on the native machine against the Python machine: every CPU target, with and without the search of
raw bytes in front of the parse, validating and trusting, in every layout of a text column."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import fastfilter
from fastfilter import _native
from fastfilter.runtime.vm import native as native_machine

LITERALS = ["voice", "1", "true", "é€", 'quo"te', "back\\slash", "", "a/b", "new\nline", "[]", "aaab", "null"]

FILTERS: list[dict[str, Any]] = [
    *({"metadata": {"kind": literal}} for literal in LITERALS),
    *({"metadata": {"kind": {"$contains": literal}}} for literal in LITERALS),
    *({"field": "metadata.kind", "operator": "eq", "value": literal} for literal in LITERALS),
    *({"field": "metadata.tags", "operator": "contains", "value": literal} for literal in LITERALS if literal),
    *({"field": "metadata.kind", "operator": "icontains", "value": literal} for literal in LITERALS if literal),
    {"field": "metadata.kind", "operator": "in", "value": ["voice", "1", "é€"]},
    {"field": "metadata.kind", "operator": "ne", "value": "voice"},
    {"field": "metadata.kind", "operator": "nin", "value": ["voice", "x"]},
    {"field": "metadata.kind", "operator": "exists", "value": True},
    {"field": "metadata.kind", "operator": "exists", "value": False},
    {"metadata": {"kind": None}},
    {"metadata": {"score": {"$gte": 0.5}}},
    {"metadata": {"tags": {"$contains": ["voice", "1"]}}},
    {"$and": [{"metadata": {"kind": "voice"}}, {"metadata": {"tags": {"$contains": "1"}, "score": {"$lt": 9}}}]},
    {"$or": [{"metadata": {"kind": "voice"}}, {"metadata": {"nested": {"$contains": "voice"}}}]},
    {"not": {"field": "metadata.nested.kind", "operator": "eq", "value": "voice"}},
    {"field": "metadata.nested.kind", "operator": "eq", "value": "voice"},
]


def spelled(rng: random.Random, text: str) -> str:
    """A string with or without escapes where JSON leaves the choice."""
    must = {'"': '\\"', "\\": "\\\\", "\n": "\\n"}
    way = rng.choice(["raw", "raw", "raw", "some", "all"])
    pieces = []
    for character in text:
        if way == "all" or (way == "some" and rng.random() < 0.3):
            pieces.append(rng.choice([f"\\u{ord(character):04x}", f"\\u{ord(character):04X}"]))
        elif character == "/" and way == "some":
            pieces.append("\\/")
        else:
            pieces.append(must.get(character, character))
    return '"' + "".join(pieces) + '"'


def value(rng: random.Random, depth: int = 0) -> str:
    choice = rng.randrange(10 if depth < 2 else 6)
    if choice < 4:
        return spelled(rng, rng.choice(LITERALS) + rng.choice(["", "", "", "x"]))
    if choice < 6:
        return rng.choice(["1", "0.75", "-3", "1e1", "true", "false", "null", "12345678901234567890", "1.0"])
    if choice < 8:
        return "[" + ", ".join(value(rng, depth + 1) for _ in range(rng.randrange(4))) + "]"
    return document(rng, depth + 1)


def document(rng: random.Random, depth: int = 0) -> str:
    space = rng.choice(["", "", " ", "\n\t"])
    members = []
    for _ in range(rng.randrange(7)):
        key = rng.choice(["kind", "kind", "score", "tags", "nested", "other", "a much longer key than the others are"])
        members.append(f"{spelled(rng, key)}{space}:{space}{value(rng, depth)}")
    return "{" + space + f",{space}".join(members) + space + "}"


def texts(rng: random.Random, num_rows: int, broken: bool) -> list[str | None]:
    rows: list[str | None] = []
    for _ in range(num_rows):
        text = document(rng)
        choice = rng.random()
        if choice < 0.05:
            rows.append(None)
        elif choice < 0.1:
            rows.append(rng.choice(["[]", "null", '"voice"', "7"]))
        elif broken and choice < 0.4:
            at = rng.randrange(len(text))
            rows.append(
                text[:at] + rng.choice(["", '"', "\\", ",", "}", "]", "0", "\x01"]) + text[at + rng.randrange(2) :]
            )
        elif choice < 0.7:
            rows.append('{"kind":"rare","other":[1,2,3],"score":0.25}')
        else:
            rows.append(text)
    return rows


def layouts(rows: list[str | None]) -> Iterator[tuple[str, pa.Array]]:
    """The rows as columns; most lie in the middle of a longer array."""
    padded = ['{"kind":"voice"}', *rows, '"},{"kind":"voice"']
    for type in (pa.string(), pa.large_string()):
        yield f"sliced {type}", pa.array(padded, type).slice(1, len(rows))
    yield "exact", pa.array(rows)
    yield "view", pa.array(rows, pa.string_view())
    yield "dictionary", pa.array(padded).dictionary_encode().slice(1, len(rows))


def bits(flt: fastfilter.Filter, batch: pa.RecordBatch, name: str, morsel_rows: int) -> bytearray:
    flt._machines.clear()
    out = bytearray(batch.num_rows // 8 + 1)
    flt._machine(batch.schema, name).attach(batch).run([(0, batch.num_rows)], out, morsel_rows)
    return out


@pytest.fixture(params=_native.targets())
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each CPU target of this machine in turn."""
    before = _native.target()
    _native.use_target(request.param)
    yield request.param
    _native.use_target(before)


@pytest.mark.parametrize("searching", [True, False])
def test_same_answers_as_the_python_machine(target: str, searching: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not searching:
        monkeypatch.setattr(native_machine, "needle", lambda opcode, constant, path: b"")
    rng = random.Random(11)
    broken, valid = texts(rng, 300, broken=True), texts(rng, 300, broken=False)
    for rows, modes in ((broken, ("validate",)), (valid, ("validate", "trusted"))):
        for layout, column in layouts(rows):
            batch = pa.record_batch({"metadata": column})
            for condition in FILTERS if layout.startswith("sliced") else FILTERS[::5]:
                expected = bits(fastfilter.compile(condition), batch, "python", 4096)
                for mode in modes:
                    flt = fastfilter.compile(condition, json=mode)  # type: ignore[arg-type]
                    for morsel_rows in (64, 65, 4096):
                        assert bits(flt, batch, "native", morsel_rows) == expected, (condition, layout, mode)


def test_the_first_text_that_is_no_object_is_named(target: str) -> None:
    """Under ``on_invalid_json="error"``, wherever it is among good ones, and whatever text a null hides."""
    rng = random.Random(23)
    good = [text for text in texts(rng, 400, broken=False) if text is None or text.startswith("{")][:200]
    strict = [fastfilter.compile(each, on_invalid_json="error") for each in FILTERS[::20]]
    bad = ["", "{", '{"kind":}', '{"kind":1}}', "[]", "7", " [", '{"kind":"\x01"}', "[" * 2000]
    for number, text in enumerate([None, *bad]):
        at = (67 * number + 5) % len(good)
        rows = [*good[:at], text, *good[at + 1 :], *bad]
        for layout, column in layouts(rows):
            batch = pa.record_batch({"metadata": column})
            for flt in strict:
                for morsel_rows in (64, 65, 4096):
                    found = []
                    for machine in ("python", "native"):
                        with pytest.raises(fastfilter.DataError) as caught:
                            bits(flt, batch, machine, morsel_rows)
                        found.append((caught.value.row, caught.value.message))
                    assert found[0] == found[1], (layout, text)
                    assert found[1][0] == (len(good) if text is None else at)
                    expected = bits(flt, batch.slice(0, at), "python", morsel_rows)
                    assert bits(flt, batch.slice(0, at), "native", morsel_rows) == expected
    hidden = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x02"), *pa.array(["{", "{}"]).buffers()[1:]])
    assert strict[0].count(pa.record_batch({"metadata": hidden})) == 0


def test_a_search_that_spares_nothing_pauses_and_comes_back(target: str) -> None:
    """Where it stands in every text, in none, and in every text again: the answers do not tell."""
    rows = (
        ['{"kind":"voice"}'] * 5000
        + ['{"kind":"x"}'] * 5000
        + ['{"k\\u0069nd":"voice"}'] * 2000
        + ['{"kind":"x"}'] * 100
    )
    flt = fastfilter.compile({"metadata": {"kind": "voice"}})
    batch = pa.record_batch({"metadata": rows})
    assert flt.indices(batch, threads=1).tolist() == [*range(5000), *range(10_000, 12_000)]
    backwards = pa.record_batch({"metadata": rows[::-1]})
    assert flt.count(backwards, threads=1) == 7000


def test_trusting_reads_nothing_outside(target: str) -> None:
    """Texts wrongly trusted get some answer; this is for the sanitizers, and for a crash."""
    rng = random.Random(5)
    cut = '{"kind":"voice"}'
    rows = [*texts(rng, 2000, broken=True), *(cut[:length] for length in range(len(cut))), '{"kind":"\\', "{]", "{}}"]
    batch = pa.record_batch({"metadata": rows})
    for condition in FILTERS:
        mask = fastfilter.compile(condition, json="trusted").mask(batch, threads=1)
        assert len(mask) == len(rows)


def test_json_is_validate_or_trusted() -> None:
    with pytest.raises(ValueError, match="json must be"):
        fastfilter.compile(None, json="fast")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="leaves out"):
        fastfilter.compile(None, json="trusted", on_invalid_json="error")


def test_containment_of_deep_values_needs_little_stack() -> None:
    arrays: Any = []
    objects: Any = {}
    for _ in range(699):
        arrays, objects = [arrays], {"k": objects}
    texts = ["[]", "[" * 700 + "]" * 700, '{"k":' * 699 + "{}" + "}" * 699, "[" * 699 + "]" * 699]
    batch = pa.record_batch({"metadata": pa.array([f'{{"a":{text}}}' for text in texts])})
    filters = [fastfilter.compile({"metadata": {"a": {"$contains": value}}}) for value in (arrays, objects)]
    expected = [[False, True, False, False], [False, False, True, False]]
    assert [flt._evaluate(batch, "native") for flt in filters] == expected  # what Python recurses over is prepared now
    answers: list[list[bool]] = []
    before = threading.stack_size(128 * 1024)
    try:
        thread = threading.Thread(target=lambda: answers.extend(flt._evaluate(batch, "native") for flt in filters))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert answers == expected
