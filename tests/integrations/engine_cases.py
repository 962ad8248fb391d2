"""What every engine is asked: a table in uneven partitions, its metadata laid out in four ways, and filters on it."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import fastfilter

NUM_ROWS = 3000
CUTS = (0, 0, 1, 900, 900, 1500, 1900, NUM_ROWS)
"""Where partitions begin and end: the first and the fourth are empty, the second has one row."""

ALL_NULL = range(1500, 1900)
"""The rows of one partition that have nothing but an id and a user."""

CHANNELS = ("support", "sales", "email", "Zürich", "")
LABELS = ("vip", "eu", "urgent")


def _record(choose: random.Random, number: int) -> dict[str, Any]:
    record: dict[str, Any] = {"id": f"mem_{number:05}", "user_id": choose.choice(("ada", "bob", "eve"))}
    if number in ALL_NULL:
        return record
    metadata = {
        "channel": choose.choice((*CHANNELS, None)),
        "score": choose.choice((None, choose.randrange(10), round(choose.random(), 2))),
        "labels": choose.choice((None, choose.sample(LABELS, choose.randrange(3)))),
        "source": choose.choice((None, {"system": choose.choice(("crm", "web"))})),
    }
    return {
        **record,
        "content": f"Ticket {choose.choice(('open', 'RESOLVED', 'resolved'))} {number}",
        "memory_type": choose.choice(("fact", "decision", None)),
        "importance": choose.choice((None, choose.randrange(1000))),
        "created_at": 1_767_225_600_000_000 + choose.randrange(365 * 86_400_000_000),
        "event_date": choose.choice((None, 20_454 + choose.randrange(365))),
        "metadata": choose.choice((metadata, metadata, metadata, None)),
    }


def _records() -> list[dict[str, Any]]:
    choose = random.Random(5)
    return [_record(choose, number) for number in range(NUM_ROWS)]


def _metadata(layout: str, values: list[dict[str, Any] | None]) -> dict[str, pa.Array]:
    if layout == "json":
        texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
        return {"metadata": pa.array(texts, pa.string())}
    if layout == "map":
        entries = [None if value is None else _texts(value) for value in values]
        return {"metadata": pa.array(entries, pa.map_(pa.string(), pa.string()))}
    children = {
        "channel": pa.string(),
        "score": pa.float64(),
        "labels": pa.list_(pa.string()),
        "source": pa.struct({"system": pa.string()}),
    }
    if layout == "struct":
        return {"metadata": pa.array(values, pa.struct(children))}
    rows = [value or {} for value in values]
    return {f"metadata.{key}": pa.array([row.get(key) for row in rows], type) for key, type in children.items()}


def _texts(value: dict[str, Any]) -> list[tuple[str, str]]:
    return [(key, text) for key, text in value.items() if isinstance(text, str)]


LAYOUTS = ("json", "struct", "map", "flattened")


def memories(layout: str) -> pa.Table:
    """The table with its metadata in one of the layouts."""
    records = _records()

    def column(name: str, type: pa.DataType) -> pa.Array:
        return pa.array([record.get(name) for record in records], type)

    importance = pc.divide(pc.cast(column("importance", pa.int64()), pa.float64()), 1000.0)
    return pa.table(
        {
            "id": column("id", pa.string()),
            "user_id": column("user_id", pa.string()),
            "content": column("content", pa.string()),
            "memory_type": column("memory_type", pa.string()),
            "subject": pa.nulls(NUM_ROWS, pa.string()),
            "importance": importance if layout == "json" else importance.cast(pa.decimal128(10, 3)),
            "created_at": column("created_at", pa.int64()).cast(pa.timestamp("us", "UTC")),
            "event_date": column("event_date", pa.int32()).cast(pa.date32()),
            **_metadata(layout, [record.get("metadata") for record in records]),
        }
    )  # fmt: skip


def partitions(table: pa.Table) -> list[pa.Table]:
    """The table cut at :data:`CUTS`."""
    return [table.slice(first, last - first) for first, last in itertools.pairwise(CUTS)]


_FISHMEM: tuple[Mapping[str, Any], ...] = (
    {"field": "metadata.channel", "operator": "eq", "value": "support"},
    {"field": "metadata.channel", "operator": "in", "value": ["Zürich", ""]},
    {"field": "metadata.labels", "operator": "contains", "value": "vip"},
    {"field": "metadata.score", "operator": "gt", "value": 3},
    {"field": "metadata.source.system", "operator": "ne", "value": "crm"},
    {"field": "content", "operator": "icontains", "value": "resolved"},
    {"field": "importance", "operator": "gte", "value": 0.7},
    {"field": "created_at", "operator": "lt", "value": "2026-06-01T00:00:00-04:00"},
    {"field": "event_date", "operator": "gte", "value": "2026-05-01T00:00:00Z"},
    {"field": "memory_type", "operator": "nin", "value": ["fact"]},
    {"field": "subject", "operator": "exists", "value": False},
)
_ANANSI: tuple[Mapping[str, Any], ...] = (
    {"metadata": {"channel": "support"}},
    {"metadata": {"score": {"$gte": 5}}},
    {"metadata": {"labels": {"$contains": ["vip"]}}},
    {"metadata": {"channel": None}},
)


def _filters() -> dict[str, Mapping[str, Any] | None]:
    """Single conditions that find little, all and nothing, and random trees of conditions in both dialects."""
    choose = random.Random(8)
    filters: dict[str, Mapping[str, Any] | None] = {
        "everything": None,
        "nothing": {"field": "id", "operator": "eq", "value": "nobody"},
        "one row": {"field": "id", "operator": "eq", "value": "mem_00000"},
        "all null": {"not": {"field": "content", "operator": "exists", "value": True}},
    }
    for number in range(3):
        leaves = choose.sample(_FISHMEM, 4)
        filters[f"fishmem {number}"] = {"or": [{"and": leaves[:2]}, {"and": [leaves[2], {"not": leaves[3]}]}]}
    filters["anansi contains"] = _ANANSI[2]
    for number in range(2):
        leaves = choose.sample(_ANANSI, 3)
        filters[f"anansi {number}"] = {"$or": [{"$and": leaves[:2]}, leaves[2]]}
    return filters


FILTERS = _filters()


def cases(layout: str) -> Iterator[tuple[str, fastfilter.Filter]]:
    """The filters to ask of a layout, every second one within the scope of one user; of JSON also the simplest ones."""
    wanted = [name for name in FILTERS if layout == "json" or name.startswith(("fishmem", "anansi"))]
    for number, name in enumerate(wanted, LAYOUTS.index(layout)):
        scope = {"user_id": "ada"} if number % 2 else None
        yield f"{name}, {'scoped' if scope else 'unscoped'}", fastfilter.compile(FILTERS[name], scope=scope)


def expected(flt: fastfilter.Filter, table: pa.Table, name: str) -> pa.Table:
    """The rows of the whole table; those of a scoped filter are the scope's."""
    rows = flt.filter(table)
    if name.endswith(", scoped"):
        assert set(rows["user_id"].to_pylist()) <= {"ada"}
    return rows


def broken() -> tuple[pa.Table, fastfilter.Filter]:
    """A table with metadata that is no JSON at row 420 of its third partition (after an empty one and one of one row),
    and a filter that calls this an error."""
    table = memories("json").select(["id", "metadata"])
    texts = table["metadata"].to_pylist()
    texts[421] = '{"channel": '
    flt = fastfilter.compile({"metadata": {"channel": "support"}}, on_invalid_json="error")
    return table.set_column(1, "metadata", pa.array(texts)), flt
