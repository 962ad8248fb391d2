"""The answers of the two reference systems, on both back ends, on many physical layouts, and record by record."""

from __future__ import annotations

import collections
import functools
import gzip
import json
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import layouts
import oracle
import pyarrow as pa
import pytest
import running

import fastfilter
from fastfilter.compiler import expr
from fastfilter.values import MISSING

DATA = pathlib.Path(__file__).parent.parent / "data"
DIALECTS = ("fishmem", "anansi")

LAYOUTS = (
    ("json", "whole"),
    ("json-large", "sliced-7"),
    ("json-view", "sliced-63"),
    ("json-dictionary", "chunked"),
    ("json-run-end", "sliced-1"),
    ("json-extension", "sliced-9"),
    ("struct", "whole"),
    ("map", "chunked"),
    ("flattened", "sliced-8"),
)


@dataclass(frozen=True)
class Case:
    """A filter, rows, and the system's answer; ``texts`` are the metadata as JSON."""

    name: str
    dialect: str
    filter: dict[str, Any]
    records: list[dict[str, Any]]
    texts: list[bytes | None]
    expect: list[bool]


@functools.cache
def lines(dialect: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / f"{dialect}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@functools.cache
def cases(dialect: str) -> list[Case]:
    return [_case(dialect, line) for line in lines(dialect) if "expect" in line]


def _case(dialect: str, line: dict[str, Any]) -> Case:
    texts: list[bytes | None]
    if dialect == "anansi":
        texts = [text.encode() for text in line["metadata_json"]]
        records = [{"metadata": oracle.parse_json(text)} for text in line["metadata_json"]]
    else:
        ascii_only = len(line["id"]) % 2 == 0
        records = [dict(row) for row in line["rows"]]
        texts = [
            json.dumps(row["metadata"], ensure_ascii=ascii_only).encode() if row.get("metadata") is not None else None
            for row in records
        ]
        for record, text in zip(records, texts, strict=True):
            if text is not None:
                record["metadata"] = oracle.parse_json(text)
    return Case(line["id"], dialect, line["filter"], records, texts, line["expect"])


@functools.cache
def compiled(dialect: str) -> list[tuple[Case, expr.Expression, fastfilter.Filter]]:
    return [
        (case, running.expression_of(case.filter, dialect), fastfilter.compile(case.filter, dialect=dialect))
        for case in cases(dialect)
    ]


def test_the_data_are_whole() -> None:
    counts = {name: (len(cases(name)), sum("valid" in line for line in lines(name))) for name in DIALECTS}
    assert counts == {"fishmem": (3000, 800), "anansi": (3000, 400)}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_oracle_agrees(dialect: str) -> None:
    for case, expression, _ in compiled(dialect):
        assert [oracle.evaluate_record(expression, record) for record in case.records] == case.expect, case.name


@pytest.mark.parametrize(("metadata", "shape"), LAYOUTS, ids=[f"{metadata}-{shape}" for metadata, shape in LAYOUTS])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_batches(dialect: str, metadata: str, shape: str, counted: Callable[[str, int], None]) -> None:
    taken: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    for case, expression, flt in compiled(dialect):
        choose = layouts.seeded((case.name, metadata))
        held = 0
        for rows, batch in batches(case, expression, metadata, choose):
            try:
                data, places = layouts.SHAPES[shape].cut(batch)
            except layouts.CannotHold:
                continue
            held += len(rows)
            want = [case.expect[rows[place]] for place in places]
            for backend in running.BACKENDS:
                answer = running.outcome(flt, data, backend)
                if answer != want:
                    wrong.append(f"{case.name} on {backend}: {answer}, not {want}\n  {case.filter}\n  {batch.schema}")
        taken["whole" if held == len(case.records) else "in part" if held else "not"] += 1
    for amount in ("whole", "in part"):
        counted(f"conformance {dialect}: cases held {amount} by {metadata}, {shape}", taken[amount])
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:5])
    assert taken["whole"] + taken["in part"] >= 1000


def batches(
    case: Case, expression: expr.Expression, metadata: str, choose: layouts.Chooser
) -> Iterator[tuple[list[int], pa.RecordBatch]]:
    """The case's rows as batches of a layout: one for JSON text, one for each set of kinds for a typed layout.

    Only what the filter reads is laid out. Rows that a layout cannot hold are left out.
    """
    fields = {leaf.field for leaf in expr.leaves(expression)}
    columns = sorted(field.path[0] for field in fields if field.role.name == "COLUMN")
    if metadata in layouts.TEXT_KINDS:
        yield list(range(len(case.records))), layouts.lay_out(case.records, metadata, choose, case.texts, columns)
        return
    paths = [field.path for field in fields if field.role.name == "METADATA"]
    apart = any(isinstance(leaf, expr.IsNull | expr.JsonContains) for leaf in expr.leaves(expression))
    records = [{**record, "metadata": projected(record.get("metadata"), paths)} for record in case.records]
    for rows in alike([record["metadata"] for record in records], apart):
        group = [records[row] for row in rows]
        try:
            batch = layouts.lay_out(group, metadata, choose, columns=columns)
            layouts.faithful(expression, group, batch)
        except layouts.CannotHold:
            continue
        yield rows, batch


def projected(value: Any, paths: Sequence[tuple[str, ...]]) -> Any:
    """An object with no more in it than some paths need."""
    if not isinstance(value, dict) or () in paths:
        return value
    below: dict[str, list[tuple[str, ...]]] = collections.defaultdict(list)
    for path in paths:
        below[path[0]].append(path[1:])
    return {key: projected(value[key], rest) for key, rest in below.items() if key in value}


def alike(values: Sequence[Any], apart: bool) -> list[list[int]]:
    """Rows in groups of which each has one kind under each key; ``apart``: and the same keys."""
    groups: list[tuple[Any, list[int]]] = []
    for row, value in enumerate(values):
        for place, (kind, rows) in enumerate(groups):
            merged = _merged(kind, value, apart)
            if merged is not _CLASH:
                groups[place] = (merged, [*rows, row])
                break
        else:
            groups.append((_merged(None, value, apart), [row]))
    return [rows for kind, rows in groups if kind is not _CLASH]


_CLASH = object()


def _merged(kind: Any, value: Any, apart: bool) -> Any:
    """The kind of what had ``kind`` (None: nothing yet) and a value: kinds by key, a list of one, a name; or _CLASH."""
    if value is None:
        return kind
    if isinstance(value, dict):
        if kind is not None and (not isinstance(kind, dict) or (apart and kind.keys() != value.keys())):
            return _CLASH
        merged = {key: _merged((kind or {}).get(key), item, apart) for key, item in value.items()}
        return _CLASH if _CLASH in merged.values() else {**(kind or {}), **merged}
    if isinstance(value, list):
        if kind is not None and not isinstance(kind, list):
            return _CLASH
        element = kind[0] if kind else None
        for item in value:
            element = _merged(element, item, apart)
            if element is _CLASH:
                return _CLASH
        return [element]
    name = "bool" if isinstance(value, bool) else "string" if isinstance(value, str) else "number"
    return name if kind in (None, name) else _CLASH


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("form", ["values", "text"])
def test_records(dialect: str, form: str, counted: Callable[[str, int], None]) -> None:
    wrong = []
    for case, _, flt in compiled(dialect):
        records = [_record(case, row, form) for row in range(len(case.records))]
        answer = [flt.matches(record) for record in records]
        selected = flt.select(records)
        kept = [record for record, match in zip(records, case.expect, strict=True) if match]
        if answer != case.expect or [id(record) for record in selected] != [id(record) for record in kept]:
            wrong.append(f"{case.name}: {answer}, not {case.expect}\n  {case.filter}")
    counted(f"conformance {dialect}: cases record by record, metadata as {form}", len(cases(dialect)))
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:5])


def _record(case: Case, row: int, form: str) -> Mapping[str, Any]:
    """A record as a user holds it: metadata as Python objects (numbers that keep their digits), or as JSON text."""
    record = dict(case.records[row])
    text = case.texts[row]
    if text is not None:
        record["metadata"] = text.decode() if form == "text" else json.loads(text, parse_float=Decimal)
    return {name: value for name, value in record.items() if value is not MISSING}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("form", ["object", "text"])
def test_validation(dialect: str, form: str, counted: Callable[[str, int], None]) -> None:
    wrong = []
    # As an object, None is no filter at all, which is allowed; as JSON text it is a null where an object must be.
    validations = [
        line for line in lines(dialect) if "valid" in line and (form == "text" or line["filter"] is not None)
    ]
    for line in validations:
        given = line["filter"] if form == "object" else json.dumps(line["filter"])
        try:
            fastfilter.compile(given, dialect=dialect)
            valid = True
        except fastfilter.FilterError as error:
            valid = False
            assert error.code and error.message and isinstance(error.pointer, str)
        if valid is not line["valid"]:
            wrong.append(f"{line['id']}: {'accepted' if valid else 'refused'}: {given}"[:500])
    counted(f"conformance {dialect}: validations of a filter as {form}", len(validations))
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:5])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_dialect_is_found_by_its_shape(dialect: str) -> None:
    """A filter whose keys are of one dialect only is read in it; `{}` means the same in both."""
    for case in cases(dialect):
        if case.filter:
            assert fastfilter.compile(case.filter).dialect == dialect, (case.name, case.filter)
