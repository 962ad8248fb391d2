"""The data of the benchmarks: columns of any length, made with fixed seeds, and the tables put together from them.

Most columns are made from *ranks*, numbers of 0…999, each equally often there: a value is a rank in the column's type,
so that ``>= 900`` is 10 % of rows in every type, and a text is one of a pool whose place modulo 1,000 is its rank.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import functools
import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.questions import Place, Value, locate

__all__ = ["CHANNELS", "LABELS", "NUMBERS", "Table", "forget", "number_at", "records"]

CHANNELS = ("support", "sales", "email", "chat", "phone", "web", "forum", "partner")
LABELS = tuple(f"{rank:03}-{'abcdefghijklmnopqrs'[: rank % 17]}" for rank in range(1000))
"""Texts of 4 to 20 bytes whose order is that of their ranks; the first stands for all ranks under 100."""

_TEXT = (
    "the customer reported that her open support ticket about billing was still waiting for an answer from our team "
    "and asked again whether somebody had looked at the invoice of last month which showed two charges for one order"
)
_WORDS = _TEXT.split()
_EPOCH = datetime.datetime(2025, 1, 1)
_POOL = 5_000

_Random = np.random.Generator


def _ranks(random: _Random, rows: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return random.permutation(np.arange(rows) % 1000)


NUMBERS: Mapping[str, pa.DataType] = {
    "float32": pa.float32(),
    "float64": pa.float64(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.uint8(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "decimal": pa.decimal128(10, 2),
    "timestamp": pa.timestamp("us"),
}
"""Types with an order, by the name of their column ``metadata.…`` (but ``created_at`` for the timestamps)."""


def number_at(kind: str, rank: int) -> Value:
    """The value that stands for a rank in a column of :data:`NUMBERS`; exact in its type, ascending with the rank."""
    if kind in ("int8", "uint8"):
        return 100 if rank == 999 else rank // 10
    if kind == "decimal":
        return decimal.Decimal(rank) / 4
    if kind == "timestamp":
        return _EPOCH + datetime.timedelta(hours=rank)
    return rank * 0.25 if kind.startswith("float") else rank


def _number(kind: str) -> Callable[[_Random, int], pa.Array]:
    def make(random: _Random, rows: int) -> pa.Array:
        values = pa.array([number_at(kind, rank) for rank in range(1000)], NUMBERS[kind])
        return values.take(pa.array(_ranks(random, rows)))

    return make


def _from_pool(texts: list[str], random: _Random, rows: int, kind: pa.DataType | None = None) -> pa.Array:
    """Rows drawn from some texts, which stand in memory once for each row."""
    return pa.array(texts, kind or pa.string()).take(pa.array(random.permutation(np.arange(rows) % len(texts))))


def _labels(kind: pa.DataType) -> Callable[[_Random, int], pa.Array]:
    def make(random: _Random, rows: int) -> pa.Array:
        ranks = _ranks(random, rows)
        ranks[ranks < 100] = 0
        if pa.types.is_dictionary(kind):
            return pa.DictionaryArray.from_arrays(pa.array(ranks.astype(np.int32)), pa.array(LABELS))
        if pa.types.is_string_view(kind):
            return pa.array(LABELS).take(pa.array(ranks)).cast(kind)
        return pa.array(LABELS, kind).take(pa.array(ranks))

    return make


def _content(random: _Random, rows: int) -> pa.Array:
    """About 190 bytes; "quarterly" in 0.1 % of them, "RESOLVED" in 10 %, "Escalation" in 90 %."""
    pool = []
    for place in range(_POOL):
        rank = place % 1000
        text = [_WORDS[word] for word in random.integers(0, len(_WORDS), 34)]
        spots = random.permutation(34)
        if rank < 900:
            text[spots[0]] = "Escalation"
        if rank % 10 == 5:
            text[spots[1]] = "RESOLVED"
        if rank == 7:
            text[spots[2]] = "quarterly"
        pool.append(" ".join(text))
    return _from_pool(pool, random, rows)


def _tags(random: _Random, rows: int) -> pa.Array:
    """Up to seven strings: "active" in 90 % of lists, "urgent" in 10 %, "legal" in 0.1 %, and others."""
    pool = []
    for place in range(_POOL):
        rank = place % 1000
        tags = [LABELS[label] for label in random.integers(100, 1000, int(random.integers(0, 5)))]
        tags += ["active"] * (rank < 900) + ["urgent"] * (rank % 10 == 5) + ["legal"] * (rank == 7)
        random.shuffle(tags)
        pool.append(tags)
    return pa.array(pool, pa.list_(pa.string())).take(pa.array(random.permutation(np.arange(rows) % _POOL)))


def _struct(random: _Random, rows: int) -> pa.Array:
    channel = _from_pool(list(CHANNELS), random, rows)
    return pa.StructArray.from_arrays([channel, pa.array(random.random(rows))], ["channel", "score"])


def _json(extra_words: int) -> Callable[[_Random, int], pa.Array]:
    """JSON objects with keys in any order: score over 0…0.999, sourceType (1 % "interview"), tags (10 % "urgent")."""

    def make(random: _Random, rows: int) -> pa.Array:
        pool = []
        for place in range(_POOL):
            rank = place % 1000
            kind = "interview" if rank % 100 == 50 else ("meeting", "conversation", "voice", "document")[place // 7 % 4]
            score = (rank * 7 + place // 1000) % 1000 / 1000
            pairs: list[tuple[str, Any]] = [
                ("sourceType", kind),
                ("sourceId", f"src_{int(random.integers(10**9)):09}"),
                ("author", f"{random.choice(['alice', 'bob', 'carol'])}@example.com"),
                ("score", score),
                ("wordCount", int(random.integers(10, 4000))),
                (
                    "tags",
                    ["billing", "urgent"] if rank % 10 == 5 else ["billing", "routine"][: int(random.integers(3))],
                ),
                ("language", "en"),
                ("reviewed", bool(rank % 2)),
            ]
            if extra_words:
                words = [_WORDS[word] for word in random.integers(0, len(_WORDS), extra_words)]
                pairs.append(("summary", " ".join(words[: extra_words // 2])))
                spoken = [" ".join(words[at : at + 12]) for at in range(extra_words // 2, extra_words, 12)]
                pairs.append(("segments", [{"at": 7 * at, "text": text} for at, text in enumerate(spoken)]))
            random.shuffle(pairs)
            pool.append(json.dumps(dict(pairs)))
        return _from_pool(pool, random, rows)

    return make


_MAKERS: Mapping[str, Callable[[_Random, int], pa.Array]] = {
    "importance": lambda random, rows: pa.array(random.random(rows)),
    "access_count": lambda random, rows: pa.array(_ranks(random, rows)),
    "created_at": _number("timestamp"),
    "content": _content,
    "metadata.flag": lambda random, rows: pa.array(_ranks(random, rows) < 100),
    "metadata.tags": _tags,
    "metadata.label": _labels(pa.string()),
    "metadata.label_large": _labels(pa.large_string()),
    "metadata.label_view": _labels(pa.string_view()),
    "metadata.label_dictionary": _labels(pa.dictionary(pa.int32(), pa.string())),
    "metadata:struct": _struct,
    "metadata:json": _json(0),
    "metadata:json4k": _json(590),
    **{f"metadata.{kind}": _number(kind) for kind in NUMBERS if kind != "timestamp"},
}


@functools.lru_cache(maxsize=4)
def _column(name: str, rows: int, nulls: int) -> pa.Array:
    random = np.random.default_rng(zlib.crc32(name.encode()))
    values = _MAKERS[name](random, rows)
    if nulls:
        kept = pa.array(np.arange(rows), mask=random.integers(0, 100, rows) < nulls)
        kind = values.type  # views cannot be taken from
        values = values.cast(pa.string()).take(kept).cast(kind) if kind == pa.string_view() else values.take(kept)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return values


@functools.lru_cache(maxsize=1)
def _batch(columns: tuple[str, ...], rows: int, nulls: int) -> pa.RecordBatch:
    arrays = [_column(column, rows, nulls) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, [column.split(":")[0] for column in columns])


@functools.cache
def _schema(columns: tuple[str, ...]) -> pa.Schema:
    random = np.random.default_rng(0)
    return pa.schema([(column.split(":")[0], _MAKERS[column](random, 1).type) for column in columns])


@dataclasses.dataclass(frozen=True, order=True)
class Table:
    """A table to filter: its columns are those of this module, ``name`` or ``name:kind``.

    Attributes:
        columns: the columns.
        rows: how many rows.
        nulls: per cent of nulls in every column.
    """

    columns: tuple[str, ...]
    rows: int
    nulls: int = 0

    def load(self) -> pa.RecordBatch:
        """The data as one batch; the last one made is kept."""
        return _batch(self.columns, self.rows, self.nulls)

    def place(self, field: str) -> Place:
        """Where a field is in it."""
        return locate(self.schema, field)

    @property
    def schema(self) -> pa.Schema:
        """The columns' names and types."""
        return _schema(self.columns)


def forget() -> None:
    """Lets go of the data that are kept."""
    _batch.cache_clear()
    _column.cache_clear()


def records(batch: pa.RecordBatch, parsed: bool = False) -> list[dict[str, Any]]:
    """The rows as dicts, as an API would show them: flattened metadata columns are one dict again.

    Args:
        batch: the rows.
        parsed: metadata that is JSON text becomes the object it spells.
    """
    rows: list[dict[str, Any]] = batch.to_pylist()
    flat = [name for name in batch.schema.names if name.startswith("metadata.")]
    for row in rows:
        if flat:
            row["metadata"] = {name.removeprefix("metadata."): row.pop(name) for name in flat}
        elif parsed and isinstance(row.get("metadata"), str):
            row["metadata"] = json.loads(row["metadata"])
    return rows
