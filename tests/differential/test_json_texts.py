"""JSON texts good and bad as metadata: both back ends read, refuse and pass over exactly the same ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import layouts
import oracle
import pyarrow as pa
import pytest
import running
import strategies
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler import expr
from fastfilter.values import MISSING, Elements, ScalarSet

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

Outcome = list[bool] | tuple[Any, ...]


def parsed(text: bytes | None) -> Any:
    """The object in a text; MISSING if there is none."""
    try:
        value = MISSING if text is None else oracle.parse_json(text)
    except ValueError:
        return MISSING
    return value if isinstance(value, dict) else MISSING


def on_both(expression: expr.Expression, data: Any, **options: Any) -> Outcome:
    """The outcome, which must be one and the same: on both back ends, with any morsels, optimized or not."""
    outcomes = [
        running.outcome(running.filter_of(expression, optimized, **options), data, backend, morsel_rows)
        for optimized in (True, False)
        for backend in running.BACKENDS
        for morsel_rows in (2, 64, 4096)
    ]
    for outcome in outcomes[1:]:
        assert outcome == outcomes[0]
    return outcomes[0]


@pytest.mark.parametrize("kind", layouts.TEXT_KINDS)
def test_damaged_texts(kind: str, counted: Callable[[str, int], None]) -> None:
    seen = {"good": 0, "bad": 0}

    @settings(max_examples=settings.default.max_examples // 3)  # type: ignore[union-attr]
    @given(st.data())
    def run(data: st.DataObject) -> None:
        texts = data.draw(
            st.lists(st.one_of(strategies.damaged_texts(), strategies.damaged_texts(), st.none()), max_size=9)
        )
        records = [{"metadata": parsed(text)} for text in texts]
        column = layouts.json_columns(texts, kind, layouts.seeded(data.draw(st.integers(0, 99))))
        batch = pa.record_batch({"metadata": column})
        words = strategies.vocabulary_of(records, [])
        expression = data.draw(st.one_of(strategies.leaves(words), strategies.expressions(words)))
        assert on_both(expression, batch) == oracle.evaluate_batch(expression, batch)
        bad = [row for row, text in enumerate(texts) if text is not None and records[row]["metadata"] is MISSING]
        seen["bad"] += len(bad)
        seen["good"] += len(texts) - len(bad)
        strict = on_both(expression, batch, on_invalid_json="error")
        if bad and any(True for _ in expr.leaves(expression)):
            event("stopped")
            assert strict[:2] == ("DataError", bad[0])
        else:
            assert strict == oracle.evaluate_batch(expression, batch)

    run()
    for name, number in seen.items():
        counted(f"differential: JSON texts, {name}", number)
    assert min(seen.values()) > 30


def _a(text: str | bytes, depth: int = 0) -> bytes:
    return b'{"a":' + (text.encode() if isinstance(text, str) else text) + b"}"


TRICKY = (
    b"", b" ", b"{", b"{}", b"{} ", b"\xef\xbb\xbf{}", b'{"a":1}\x00', b"\x00", b'{"a":1,}', b'{,"a":1}', b'{"a" 1}',
    b'{"a":}', b"{'a':1}", b"[]", b"null",
    b"true", b'"a"', b"5", b"-", b"nul", b"{}{}", b'{"a":1}x', b'{"a":1}//', b'{"a":1 "b":2}', b'{"a":[1,]}',
    b'{"a":[,1]}', b'{"a":[1 2]}', b'{"a":{"b":1},}',
    *map(_a, (
        "01", "-01", "-", "+1", "1.", ".5", "1e", "1e+", "1.e5", "0x1", "1_0", "NaN", "Infinity", "-Infinity", "nan",
        "True", "None", "tru", "truee", "nulll",
        "0", "-0", "-0.0", "0e0", "1E400", "-1e400", "1e-400", "1e99999999999", "18446744073709551615",
        "18446744073709551616", "-9223372036854775809",
        '"', '"\\"', '"\\x"', '"\\u12"', '"\\u12g4"', '"\\u 123"', '"\\ud800"', '"\\udc00"', '"\\ud800\\udc00"',
        '"\\ud800\\u0041"', '"\\uD83D\\uDE00"', '"\\u0000"',
        '"\t"', '"\n"', '"\x7f"', '"\\/\\b\\f\\n\\r\\t\\"\\\\"', "[]]", "[[]", "{}}", '{"b"}', '{"b":1,"b":{"b":2}}',
        "\u00a01", "\x0b1", "\r\n\t 1",
        "1,\"a\":2", "{\"x\":1},\"a\":{\"y\":2}", "1,\"\\u0061\":2", "[" * 1023 + "]" * 1023, "[" * 1024 + "]" * 1024,
        '{"a":' * 1023 + "1" + "}" * 1023,
        '{"a":' * 1024 + "1" + "}" * 1024, "[" * 5000, '{"a":' * 5000, "[{\"a\":" * 511 + "1" + "}]" * 511,
        "[" * 5000 + "]" * 5000,
    )),
    *map(_a, (
        b'"\xc3\xa9"', b'"\xc3"', b'"\xa9"', b'"\xc0\x80"', b'"\xc1\xbf"', b'"\xe0\x80\x80"', b'"\xe0\xa0\x80"',
        b'"\xed\x9f\xbf"', b'"\xed\xa0\x80"', b'"\xed\xbf\xbf"',
        b'"\xee\x80\x80"', b'"\xef\xbf\xbf"', b'"\xf0\x80\x80\x80"', b'"\xf0\x90\x80\x80"', b'"\xf4\x8f\xbf\xbf"',
        b'"\xf4\x90\x80\x80"', b'"\xf5\x80\x80\x80"',
        b'"\xff"', b'"\xfe\xff"', b'"\xf0\x9f\x98"', b'"\xe2\x82"', b"\xc2\xa0 1", b'"\x00"', b'"\x1f"',
        b'"\xe2\x80\xa8"',
    )),
    b'{"\xed\xa0\x80":1}', b'{"\\ud800":1}', b'{"a":1,"\xff":2}', b'{"a\\u0000":1}', b'{"":1}', b'{"a":1}\n\n',
    b'\t{"a":1}', b'{"a":1}\x0c',
)  # fmt: skip


@pytest.mark.parametrize("keep", [1, 16, 64])
def test_tricky_texts(keep: int) -> None:
    """Each text alone, and each at every position in a text that is longer or shorter than a vector."""
    texts = [b" " * pad + text for text in TRICKY for pad in ([0] if keep == 1 else [0, keep - 1, keep])]
    batch = pa.record_batch({"metadata": pa.array(texts, pa.binary()).view(pa.string())})
    field = Field(Role.METADATA, ("a",))
    for leaf in (
        expr.Exists(field),
        expr.IsNull(field),
        expr.EqualsAny(
            field, ScalarSet(numbers=(0, 1, 2, 2**64 - 1), strings=("\0", "é", "\ud800", "\U0001f600")), Elements.ALSO
        ),
        expr.TextEqualsAny(field, expr.Strings(("-0", "0", "0.0", "1", "[]", '{"y": 2}'))),
        expr.TextNumberRange(field, expr.Intervals((expr_interval(-1, 1),))),
        expr.JsonContains(field, expr.Json("[]")),
        expr.JsonContains(field, expr.Json("{}")),
        expr.Exists(Field(Role.METADATA, ("a", "a"))),
        expr.Exists(Field(Role.METADATA, ("a",) * 1024)),
        expr.Exists(Field(Role.METADATA, ("\ud800",))),
        expr.Exists(Field(Role.METADATA, ("",))),
    ):
        want = oracle.evaluate_batch(leaf, batch)
        answer = on_both(leaf, batch)
        assert [text for text, a, b in zip(texts, answer, want, strict=True) if a != b] == [], leaf
    for row, text in enumerate(texts):
        strict = on_both(expr.Exists(field), batch.slice(row, 1), on_invalid_json="error")
        assert (strict[0] == "DataError") is (parsed(text) is MISSING), text


def expr_interval(lower: int, upper: int) -> Any:
    """A closed interval."""
    return strategies.Interval(lower, True, upper, True)


@given(st.lists(st.integers(0, 30), max_size=6), st.integers(0, 130), st.sampled_from(layouts.TEXT_KINDS))
def test_the_first_bad_row_is_named(bad: list[int], offset: int, kind: str) -> None:
    """Under ``on_invalid_json="error"``: counted from the start of the data, whatever the chunks and the condition."""
    texts: list[bytes | None] = [(b"{" if row in bad else None if row % 7 == 3 else b'{"a":1}') for row in range(31)]
    column = layouts.json_columns([b"bad"] * offset + texts, kind, layouts.seeded(offset)).slice(offset)
    batch = pa.record_batch({"metadata": column, "content": pa.array(["x"] * 31)})
    table = pa.Table.from_batches([batch.slice(0, 5), batch.slice(5, 0), batch.slice(5)])
    never = expr.And((expr.EqualsAny(Field(Role.COLUMN, ("content",)), ScalarSet(strings=("y",)), Elements.NEVER),
                      expr.Exists(Field(Role.METADATA, ("a",)))))  # fmt: skip
    for data in (batch, table):
        outcome = on_both(never, data, on_invalid_json="error")
        assert outcome[:2] == ("DataError", min(bad)) if bad else outcome == [False] * 31


@given(st.data())
def test_whole_records_as_text(data: st.DataObject) -> None:
    """Lines of JSONL: every field is found in the text of its record; a line that is no object is an error."""
    values = strategies.json_values
    columns = {"content": values, "importance": strategies.json_numbers, "created_at": strategies.strings}
    records = data.draw(st.lists(st.fixed_dictionaries({}, optional={**columns, "metadata": values}), max_size=8))
    random = data.draw(st.randoms(use_true_random=False))
    lines = [strategies.spell(record, random).encode() for record in records]
    words = strategies.vocabulary_of(records, ["content", "importance", "created_at"])
    expression = data.draw(strategies.expressions(words))
    batch = pa.record_batch({"line": pa.array(lines, pa.string())})
    want = [
        oracle.evaluate_record(expression, {**record, "metadata": opened(record.get("metadata"))}) for record in records
    ]
    for backend in running.BACKENDS:
        flt = running.filter_of(expression).bind_record_json("line")
        assert running.outcome(flt, batch, backend) == want
        broken = pa.record_batch({"line": pa.array([*lines, b"[]"], pa.string())})
        outcome = running.outcome(flt, broken, backend)
        named = any(True for _ in expr.leaves(expression))
        assert outcome[:2] == ("DataError", len(lines)) if named else outcome[: len(lines)] == want


def opened(metadata: Any) -> Any:
    """A string in a line is a string, not a JSON text."""
    return MISSING if isinstance(metadata, str) else metadata


@example([b"\xff", None, b"a\xc3", b"\xed\xa0\x80b", b""], "a")
@given(st.lists(st.none() | st.binary(max_size=12), max_size=12), st.text("aé\U0001f600", max_size=2))
def test_strings_that_are_no_utf8(texts: list[bytes | None], needle: str) -> None:
    """Nothing crashes, and both back ends find the same in such a string. Only its place in an order is undefined."""
    field = Field(Role.COLUMN, ("content",))
    metadata = Field(Role.METADATA, ("a",))
    for type in (pa.string(), pa.large_string(), pa.string_view()):
        binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[
            type
        ]
        column = pa.array(texts, binary).view(type)
        batch = pa.record_batch({"content": column, "metadata.a": column})
        for leaf in (
            expr.Exists(field),
            expr.EqualsAny(field, ScalarSet(strings=(needle,)), Elements.ALSO),
            expr.Contains(field, expr.Text(needle)),
            expr.ContainsIgnoreCase(field, expr.Text(needle)),
            expr.StringRange(field, strategies.StringBound("gt", needle)),
            expr.TextEqualsAny(metadata, expr.Strings((needle,))),
            expr.JsonContains(metadata, expr.Json(layouts.json_text(needle))),
        ):
            if isinstance(leaf, expr.StringRange):
                for backend in running.BACKENDS:
                    assert isinstance(running.outcome(running.filter_of(leaf), batch, backend), list)
                continue
            answer = on_both(leaf, batch)
            if isinstance(leaf, expr.Exists):
                assert answer == [text is not None for text in texts]
