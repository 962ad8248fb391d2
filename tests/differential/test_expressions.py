"""Random rows in random layouts under random filters: the oracle and both back ends agree on every row."""

from __future__ import annotations

import collections
import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import layouts
import numpy as np
import oracle
import pyarrow as pa
import pytest
import running
import strategies
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from fastfilter.compiler import expr
from fastfilter.values import Instant, JsonFloat

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

_TYPED = ("struct", "map", "flattened")


class LaidOut:
    """A batch, the data cut out of it, which of its rows they are, and what filters on it may be made of."""

    def __init__(
        self, batch: pa.RecordBatch, data: pa.RecordBatch | pa.Table, rows: list[int], words: strategies.Vocabulary
    ) -> None:
        self.batch = batch
        self.data = data
        self.rows = rows
        self.words = words

    def __repr__(self) -> str:
        values = {name: oracle.python_values(self.batch.column(name)) for name in self.batch.schema.names}
        return f"LaidOut({self.batch.schema}\n{values}\nrows {self.rows})"


@st.composite
def laid_out(draw: st.DrawFn) -> LaidOut:
    """Records in any layout."""
    metadata = draw(st.sampled_from([*layouts.METADATA, *_TYPED]))
    records = draw(strategies.typed_records() if metadata in _TYPED else strategies.json_records())
    choose = layouts.seeded(draw(st.integers(0, 2**16)))
    columns = sorted({name for record in records for name in record} - {"metadata"})
    kept = draw(st.lists(st.sampled_from(columns), unique=True, max_size=4)) if columns else []
    texts = None
    if metadata in layouts.TEXT_KINDS:
        random = draw(st.randoms(use_true_random=False))
        roots = [record["metadata"] for record in records]
        texts = [
            None if root is None and random.random() < 0.8 else strategies.spell(root, random).encode()
            for root in roots
        ]
    try:
        batch = layouts.lay_out(records, metadata, choose, texts, columns=kept)
    except layouts.CannotHold as reason:
        event(f"not held by {metadata}: {reason}")
        metadata = "flattened"
        batch = layouts.lay_out(records, metadata, choose, columns=kept)
    shape = draw(st.sampled_from(sorted(layouts.SHAPES)))
    try:
        data, rows = layouts.SHAPES[shape].cut(batch)
    except layouts.CannotHold as reason:
        event(str(reason))
        data, rows = batch, list(range(batch.num_rows))
    event(f"{metadata}, {shape}")
    return LaidOut(batch, data, rows, strategies.vocabulary_of(records, kept))


@pytest.fixture
def tally(counted: Callable[[str, int], None]) -> Any:
    counts: collections.Counter[str] = collections.Counter()
    yield counts
    for name, number in counts.items():
        counted(f"differential: {name}", number)


def agree(expression: expr.Expression, laid: LaidOut, tally: Any) -> None:
    """Makes sure that all answers are the oracle's."""
    want: Any = running.wanted(expression, laid.batch, laid.rows)
    tally["examples"] += 1
    if want is None:
        tally["examples that do not bind"] += 1
    elif any(want) and not all(want):
        tally["examples with rows that match and rows that do not"] += 1
    for optimized in (True, False):
        flt = running.filter_of(expression, optimized)
        for backend in running.BACKENDS:
            for morsel_rows in running.MORSELS:
                answer = running.outcome(flt, laid.data, backend, morsel_rows)
                tally["evaluations"] += 1
                if want is None:
                    assert isinstance(answer, tuple), (backend, answer)
                    assert answer[0] == "BindError", (backend, answer)
                else:
                    assert answer == want, (answer, want, backend, f"optimized: {optimized}", morsel_rows, expression)


def test_single_leaves(tally: Any) -> None:
    @given(st.data())
    def run(data: st.DataObject) -> None:
        laid = data.draw(laid_out())
        agree(data.draw(strategies.leaves(laid.words)), laid, tally)

    run()


def test_expressions(tally: Any) -> None:
    @given(st.data())
    def run(data: st.DataObject) -> None:
        laid = data.draw(laid_out())
        agree(data.draw(strategies.expressions(laid.words)), laid, tally)

    run()


def test_filters(tally: Any) -> None:
    @given(st.data())
    def run(data: st.DataObject) -> None:
        laid = data.draw(laid_out())
        agree(running.expression_of(*data.draw(strategies.filters(laid.words))), laid, tally)

    run()


@pytest.mark.parametrize("metadata", layouts.METADATA)
def test_many_rows(metadata: str, tally: Any) -> None:
    """A few hundred rows, so that morsels of every size have neighbours and selections are dense, sparse and empty."""

    @settings(max_examples=settings.default.max_examples // 4)  # type: ignore[union-attr]
    @given(st.data())
    def run(data: st.DataObject) -> None:
        typed = metadata in _TYPED
        records = data.draw(strategies.typed_records(max_rows=6) if typed else strategies.json_records(max_rows=6))
        assume(records)
        many = data.draw(st.randoms(use_true_random=False)).choices(records, k=data.draw(st.integers(60, 300)))
        columns = ["importance", "content", "created_at"]
        try:
            batch = layouts.lay_out(many, metadata, layouts.seeded(data.draw(st.integers(0, 99))), columns=columns)
        except layouts.CannotHold as reason:
            event(str(reason))
            return
        words = strategies.vocabulary_of(records, columns)
        laid = LaidOut(batch, batch, list(range(len(many))), words)
        agree(data.draw(strategies.expressions(words)), laid, tally)

    run()


def test_records(tally: Any) -> None:
    """Dicts, given one by one and together."""

    @given(st.data())
    def run(data: st.DataObject) -> None:
        records = data.draw(st.one_of(strategies.json_records(), strategies.typed_records()))
        words = strategies.vocabulary_of(records, [*strategies.built_ins, "importance", "access_count", "updated_at"])
        if data.draw(st.booleans()):
            expression = data.draw(strategies.expressions(words))
        else:
            expression = running.expression_of(*data.draw(strategies.filters(words)))
        shown = [as_shown(record) for record in records]
        want = [oracle.evaluate_record(expression, record) for record in shown]
        tally["records"] += len(records)
        for optimized in (True, False):
            flt = running.filter_of(expression, optimized)
            for record, match in zip(shown, want, strict=True):
                assert flt.matches(record) is match, (record, expression)
            kept = [record for record, match in zip(shown, want, strict=True) if match]
            assert list(map(id, flt.select(shown))) == list(map(id, kept))

    run()


def as_shown(value: Any) -> Any:
    """A value as an API would show it: timestamps of Python or NumPy, numbers that keep their digits as Decimal."""
    if isinstance(value, Instant):
        if value.nanoseconds % 1000 == 0:
            try:
                return _EPOCH + datetime.timedelta(microseconds=value.nanoseconds // 1000)
            except OverflowError:
                return np.datetime64(value.nanoseconds // 10**9, "s") if value.nanoseconds % 10**9 == 0 else None
        return np.datetime64(value.nanoseconds, "ns") if abs(value.nanoseconds) < 2**63 else None
    if isinstance(value, JsonFloat):
        return Decimal(value.spelling)
    if isinstance(value, list):
        return [as_shown(element) for element in value]
    return {key: as_shown(item) for key, item in value.items()} if isinstance(value, dict) else value


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
