"""The layers below the command line: cutting lines, taking objects apart, JSON text of every type, picking rows."""

from __future__ import annotations

import decimal
import io
import itertools
import json
import random
import uuid
from typing import Any
from unittest import mock

import hypothesis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import fastfilter
from fastfilter.corpus import json_lines
from fastfilter.corpus import lines as corpus_lines
from fastfilter.corpus.csv_reader import CsvReader, infer_types
from fastfilter.corpus.formats import Format
from fastfilter.corpus.json_lines import members
from fastfilter.corpus.json_text import embedded_json, json_texts
from fastfilter.corpus.kinds import Kinds, kind_of_number, type_of
from fastfilter.corpus.lines import cut_lines, lines_of, whole_lines
from fastfilter.corpus.reader import Piece, Request
from fastfilter.corpus.schemas import declared_types
from fastfilter.corpus.sources import InputFile, find_files
from fastfilter.corpus.writers import put_into_place
from fastfilter.runtime.selection import select_rows

LINES = st.lists(st.sampled_from(["", " \t", "x", "{}", '{"a":"é😀"}', "long" * 30, "\r"]), max_size=12)


@hypothesis.given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans(), st.integers(1, 40))
def test_lines_are_cut_the_same_whatever_the_block(
    lines: list[str], ending: str, ended: bool, marked: bool, block_bytes: int
) -> None:
    text = ending.join(lines) + (ending if ended and lines else "")
    data = (b"\xef\xbb\xbf" if marked else b"") + text.encode()
    expected = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip(" \t\r")]
    found = []
    written = b""
    first_line = 1
    for block in whole_lines(io.BytesIO(data), block_bytes):
        batch, numbers, num_lines = cut_lines(block, first_line == 1)
        found += [
            (first_line + number, line.rstrip("\n"))
            for number, line in zip(numbers, batch.column(0).to_pylist(), strict=True)
        ]
        first_line += num_lines
        written += bytes(lines_of(batch))
    assert found == expected
    assert written.decode() == "".join(line + "\n" for _, line in expected)


@hypothesis.given(st.lists(st.sampled_from([b"\n", b"\r\n", b"x", b"\x8a", b"y" * 40, b""]), max_size=60).map(b"".join))
def test_lines_are_found_the_same_natively_and_in_python(data: bytes) -> None:
    text = np.frombuffer(data, np.uint8)
    offsets = corpus_lines.line_offsets(text)
    assert offsets.tolist() == corpus_lines._offsets_in_python(text).tolist()
    assert [data[start:end] for start, end in itertools.pairwise(offsets)] == io.BytesIO(data).readlines()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('a"\\{}[],:\n é'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a"\\{}:,', max_size=3), inner, max_size=3),
    max_leaves=10,
)


@hypothesis.given(st.dictionaries(st.text('ab"\\{}:,é', max_size=4), JSON, max_size=5), st.booleans(), st.booleans())
def test_members_are_found_as_they_are_spelled(record: dict[str, Any], ascii: bool, spaced: bool) -> None:
    text = json.dumps(record, ensure_ascii=ascii, separators=(" , ", "\t:\r ") if spaced else (",", ":"))
    found = members(f" {text}\r\n")
    assert list(found) == list(record)
    assert {key: json.loads(value) for key, value in found.items()} == record


VALUES = st.lists(st.sampled_from(["1", "7", "0.5", "9007199254740993", '"x"', "true", "null", "[1]"]), max_size=4)


@hypothesis.given(st.sampled_from(["access_count", "importance", "subject", "free"]), st.lists(VALUES, max_size=3))
def test_values_of_a_column_are_judged_together_as_they_are_one_by_one(name: str, blocks: list[list[str]]) -> None:
    def outcome() -> list[Any]:
        columns = json_lines.LineColumns(declared_types({}, "metadata"), "metadata", None)
        seen: list[Any] = []
        for values in blocks:
            texts = pa.record_batch(
                {"line": pa.array([f'{{"{name}":{value}}}' for value in values], pa.large_string())}
            )
            piece = Piece(texts, InputFile("a.jsonl", Format.JSONL), np.arange(1, len(values) + 1))
            try:
                seen += [columns.split(piece).to_pylist(), columns.schema, columns.values_missing()]
            except fastfilter.DataError as error:
                return [*seen, error.message]
        return seen

    together = outcome()
    with mock.patch.object(json_lines, "_always_held", return_value=set()):
        assert outcome() == together


def test_members_of_deep_and_repeated_keys() -> None:
    assert members('{"a":1,"a":' + "[" * 5000 + "]" * 5000 + "}") == {"a": "[" * 5000 + "]" * 5000}


@pytest.mark.parametrize(
    ("texts", "type"),
    [
        ([], pa.null()), (["1", "-9223372036854775808"], pa.int64()), (["1", "0.5", "1e3"], pa.float64()),
        (["9223372036854775808"], None), (["1e400"], None), (["9007199254740993", "0.5"], None),
        (["9007199254740992", "0.5"], pa.float64()), (["1" * 5000], None), (["-0"], pa.int64()),
    ],
)  # fmt: skip
def test_the_type_of_numbers_is_one_that_holds_them_all(texts: list[str], type: pa.DataType | None) -> None:
    kinds = Kinds.NONE
    for text in texts:
        kinds |= kind_of_number(text)
    assert type_of(kinds) == type


VALUES: list[tuple[pa.Array, list[Any]]] = [
    (pa.array([1, None, -3], pa.int8()), [1, None, -3]),
    (pa.array([2**64 - 1, None], pa.uint64()), [2**64 - 1, None]),
    (pa.array([0.1, None, float("nan")], pa.float32()), [0.1, None, "NaN"]),
    (pa.array([np.float16(0.1), None, np.float16("-inf")], pa.float16()), [0.1, None, "-Infinity"]),
    (pa.array([decimal.Decimal("1.50"), None], pa.decimal128(10, 2)), [1.5, None]),
    (pa.array([1, None], pa.timestamp("us", "Asia/Tokyo")), ["1970-01-01T00:00:00.000001Z", None]),
    (pa.array([-1, None], pa.timestamp("ns")), ["1969-12-31T23:59:59.999999999Z", None]),
    (pa.array([1, None], pa.date32()), ["1970-01-02T00:00:00Z", None]),
    (pa.array([1, None], pa.time64("us")), ["00:00:00.000001", None]),
    (pa.array(['a"\n', None, "é"], pa.string_view()), ['a"\n', None, "é"]),
    (pa.array([[1, None], None, [], [3]], pa.list_(pa.int64())), [[1, None], None, [], [3]]),
    (pa.array([[1, None], None, [2, 3]], pa.list_(pa.int64(), 2)), [[1, None], None, [2, 3]]),
    (pa.array([[1], None, []], pa.list_view(pa.int64())), [[1], None, []]),
    (pa.array([[("a", 1)], None, [("b", None)]], pa.map_(pa.string(), pa.int64())), [{"a": 1}, None, {"b": None}]),
    (pa.array([[(1, 1)]], pa.map_(pa.int32(), pa.int64())), [{"1": 1}]),
    (pa.array([{"a": ["x"]}, None, {"a": None}]), [{"a": ["x"]}, None, {"a": None}]),
    (pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array(["x", None])), ["x", None, None]),
    (pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["a", None])), ["a", "a", None]),
    (pa.array([uuid.UUID(int=5).bytes, None], pa.uuid()), [str(uuid.UUID(int=5)), None]),
    (pa.array(['{"a":1}', None, "x{"], pa.json_()), [{"a": 1}, None, "x{"]),
    (pa.array([{}, None], pa.struct([])), [{}, None]),
    (pa.nulls(2), [None, None]),
    (pa.array([True, None]), [True, None]),
]  # fmt: skip


@pytest.mark.parametrize(("array", "expected"), VALUES, ids=lambda value: str(getattr(value, "type", "")))
def test_every_type_has_its_json_text_also_in_slices(array: pa.Array, expected: list[Any]) -> None:
    for start in range(len(array)):
        assert [json.loads(text) for text in json_texts(array.slice(start))] == expected[start:]


def test_only_json_is_embedded_as_json() -> None:
    texts = ["NaN", '{"a":NaN}', "5", '{"a":\r\n1,"a":2}', "[[", "[" * 5000 + "]" * 5000, "9" * 5000, "", None]
    embedded = embedded_json(pa.array(texts))
    assert [json.loads(text) for text in embedded[:5]] == ["NaN", '{"a":NaN}', 5, {"a": 2}, "[["]
    assert embedded[5].startswith('"[')
    assert embedded[6:] == ["9" * 5000, '""', "null"]
    assert not any("\n" in text or "\r" in text for text in embedded)


def nested(kind: pa.DataType) -> list[tuple[pa.DataType, Any]]:
    choose = random.Random(3)

    def leaf() -> str | None:
        return choose.choice([None, "", "a", f"longer than twelve bytes {choose.random()}"])

    return [
        (kind, leaf),
        (pa.struct([("x", kind), ("y", pa.int8())]), lambda: choose.choice([None, {"x": leaf(), "y": 1}])),
        (pa.list_(kind), lambda: choose.choice([None, [], [leaf(), leaf()], [leaf()]])),
        (pa.large_list(kind), lambda: choose.choice([None, [], [leaf(), leaf()]])),
        (pa.list_(kind, 2), lambda: choose.choice([None, [leaf(), leaf()]])),
        (pa.list_view(kind), lambda: choose.choice([None, [], [leaf(), leaf()]])),
        (pa.large_list_view(kind), lambda: choose.choice([None, [], [leaf()]])),
        (pa.map_(pa.string(), pa.list_(kind)), lambda: choose.choice([None, [], [("k", [leaf()]), ("l", None)]])),
        (pa.list_(pa.list_(kind)), lambda: choose.choice([None, [[leaf()], None], []])),
    ]


def arrays_to_pick_from() -> list[pa.Array]:
    arrays = [pa.array([make() for _ in range(50)], type) for type, make in nested(pa.string_view())]
    views = pa.array(["a", None, "b"], pa.string_view())
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([3, 10, 50], pa.int32()), views)
    indices = pa.array([0, 1, None, 2, 0] * 10, pa.int8())
    return [
        *arrays,
        pa.array([b"x" * 20, None] * 25, pa.binary_view()),
        runs,
        pa.RunEndEncodedArray.from_arrays(pa.array([3, 10, 50], pa.int16()), pa.array([1, None, 2])),
        pa.DictionaryArray.from_arrays(indices, views),
        pa.StructArray.from_arrays([arrays[0], runs], names=["a", "b"]),
        pa.array(list(range(50))),
    ]


@pytest.mark.parametrize("array", arrays_to_pick_from(), ids=lambda array: str(array.type))
def test_rows_of_every_type_are_picked(array: pa.Array) -> None:
    choose = random.Random(5)
    for part in (array, array.slice(7, 20), array.slice(3, 0)):
        for density in (0.0, 0.3, 1.0):
            mask = [choose.random() < density for _ in range(len(part))]
            picked = select_rows(pa.record_batch({"c": part}), pa.array(mask, pa.bool_()))
            picked.validate(full=True)
            assert picked.schema.field(0).type == array.type
            assert picked.column(0).to_pylist() == [v for v, keep in zip(part.to_pylist(), mask, strict=True) if keep]


def test_types_of_csv_are_those_of_all_files(tmp_path: Any) -> None:
    (tmp_path / "a.csv").write_text("id,n,zip,flag,none\n1,1,7,true,\n")
    (tmp_path / "b.csv").write_text("zip,n\n007,0.5\n")
    types = infer_types(find_files([str(tmp_path / "*.csv")]), declared_types({}, "metadata"), raised)
    assert types == {
        "id": pa.string(), "n": pa.float64(), "zip": pa.string(), "flag": pa.bool_(), "none": pa.string(),
    }  # fmt: skip


def test_a_row_of_csv_longer_than_a_block(tmp_path: Any) -> None:
    (tmp_path / "a.csv").write_text("id,n\n" + "x,1\n" * 10 + '"' + "y\n" * 5_000_000 + '",2\nz,3\n')
    (file,) = find_files([str(tmp_path / "a.csv")])
    everything = Request(lambda batch: pa.array([True] * batch.num_rows), kept=["n"])
    with CsvReader(file, infer_types([file], {}, raised)) as reader:
        outcomes = [unit.work() for unit in reader.units(everything)]
    assert [outcome.error for outcome in outcomes if outcome.error] == []
    assert sum(outcome.num_rows for outcome in outcomes) == 12
    found = [found for outcome in outcomes for found in outcome.found]
    assert [value for each in found for value in each.batch.column(0).to_pylist()] == [1] * 10 + [2, 3]


def raised(error: Exception) -> None:
    raise error


def test_what_fails_leaves_the_old_file(tmp_path: Any) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("old")

    def interrupted() -> None:
        with put_into_place(str(target)) as temporary, open(temporary, "w") as out:
            out.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out.jsonl", "old")]


def test_an_input_file_knows_its_size(tmp_path: Any) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n")
    (file,) = find_files([str(tmp_path / "a.jsonl")])
    assert file.num_bytes == 3
    assert InputFile("-", file.format, is_stream=True).num_bytes == 0
