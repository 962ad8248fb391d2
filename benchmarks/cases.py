"""The cases: what is asked of which table."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

from benchmarks.data import LABELS, NUMBERS, Table, number_at
from benchmarks.questions import (
    And,
    Compare,
    Exists,
    HasElement,
    HasText,
    Not,
    OneOf,
    Or,
    Question,
    anansi,
    fields,
    fishmem,
    leaves,
)

__all__ = ["CASES", "FAMILIES", "Case", "compilation_filter", "quick"]

ROWS = 2_000_000

FAMILIES = {
    "typical": "What filters ask",
    "medium": "The same on a middling batch",
    "pool": "The same on what a search found",
    "json": "Metadata that is JSON text",
    "records": "Dicts: what a request handler holds",
    "conditions": "More and more conditions, and deep ones",
    "scaling": "More and more rows",
    "threads": "Two threads against one",
    "matrix": "Every operator on every type, by how many rows pass and how many are null",
}
"""The families, with their titles, in the order of the report."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One question about one table, for every engine that can answer it.

    Attributes:
        family: one of :data:`FAMILIES`.
        label: what is asked, unique within the family and the number of rows.
        table: the data.
        question: what is asked.
        dialect: the dialect of its filter.
        records: the data are dicts instead of Arrow arrays, with metadata as objects.
        threads: if not 0, fastfilter is compared with itself on so many threads.
    """

    family: str
    label: str
    table: Table
    question: Question
    dialect: str = "fishmem"
    records: bool = False
    threads: int = 0

    @property
    def name(self) -> str:
        """Unique, for ``--case``."""
        return f"{self.family}/{self.label}/{self.table.rows}"

    @functools.cached_property
    def filter(self) -> dict[str, Any]:
        """The question as the JSON filter that fastfilter compiles."""
        return anansi(self.question) if self.dialect == "anansi" else fishmem(self.question)

    @property
    def on_json(self) -> bool:
        """Whether some field is in a JSON text."""
        return not self.records and any(self.table.place(field).json for field in fields(self.question))

    def with_rows(self, rows: int) -> Case:
        """The same case on a table of another length."""
        return dataclasses.replace(self, table=dataclasses.replace(self.table, rows=rows))

    def bytes_read(self) -> int:
        """The size of all buffers of the columns that the question names, and of a mask: what reading all costs."""
        batch = self.table.load()
        read = {
            (place.column, None if place.json else place.child)
            for place in map(self.table.place, fields(self.question))
        }
        total = (batch.num_rows + 7) // 8
        for column, child in read:
            array = batch.column(column)
            total += (array if child is None else array.field(child)).nbytes
        return int(total)


def _table(question: Question, rows: int, nulls: int = 0, metadata: str = "struct") -> Table:
    """A table with the columns that a question names, and no others."""
    columns = []
    for field in fields(question):
        nested = field in ("metadata.channel", "metadata.score", "metadata.sourceType") or metadata.startswith("json")
        columns.append(f"metadata:{metadata}" if nested else field)
    return Table(tuple(sorted(set(columns))), rows, nulls)


def _between(field: str, low: Any, high: Any) -> And:
    return And((Compare(field, "gte", low), Compare(field, "lt", high)))


SEED = And(
    (
        Compare("metadata.channel", "eq", "support"),
        Compare("importance", "gte", 0.7),
        Not(HasText("content", "resolved", ignore_case=True)),
    )
)
"""The example in FishMem's documentation."""

ANANSI = And(
    (
        Compare("metadata.sourceType", "eq", "conversation"),
        Compare("metadata.score", "gte", 0.7),
        HasElement("metadata.tags", "urgent"),
    )
)
"""The example in Anansi's documentation with its tags."""

_TYPICAL: dict[str, Question] = {
    "float64 at least": Compare("importance", "gte", 0.7),
    "three numbers": And(
        (
            Compare("importance", "gte", 0.85),
            Compare("access_count", "gte", 850),
            Compare("metadata.int32", "lt", 150),
        )
    ),
    "string equals": Compare("metadata.label", "eq", LABELS[500]),
    "dictionary string equals": Compare("metadata.label_dictionary", "eq", LABELS[500]),
    "one of 100 strings": OneOf("metadata.label", LABELS[100::9]),
    "substring": HasText("content", "RESOLVED"),
    "substring ignoring case": HasText("content", "resolved", ignore_case=True),
    "seed example": SEED,
    "list contains": HasElement("metadata.tags", "urgent"),
    "one of 20 ranges": Or(tuple(_between("importance", at / 20, at / 20 + 0.01) for at in range(20))),
    "struct child equals": Compare("metadata.channel", "eq", "support"),
}

_ON_JSON: dict[str, Question] = {
    "one number": Compare("metadata.score", "gte", 0.7),
    "three conditions": ANANSI,
    "string that 1% has": Compare("metadata.sourceType", "eq", "interview"),
}


def _conditions(groups: int) -> Question:
    """Five conditions a group, none of which makes another needless."""
    return Or(
        tuple(
            And(
                (
                    Compare("importance", "gte", group / 21),
                    Compare("importance", "lt", group / 21 + 0.04),
                    Compare("access_count", "gte", 40 * group),
                    Compare("metadata.int32", "lt", 999 - 30 * group),
                    Compare("metadata.label", "ne", LABELS[100 + group]),
                )
            )
            for group in range(groups)
        )
    )


def _deep() -> Question:
    """Eight levels: a condition, and seven of and, or and not around it."""
    level: Question = Compare("importance", "gte", 0.5)
    level = And((level, Compare("access_count", "lt", 700)))
    level = Or((level, Compare("metadata.label", "eq", LABELS[0])))
    level = Not(level)
    level = And((level, Compare("metadata.int32", "gte", 200)))
    level = Or((level, Compare("metadata.label", "gte", LABELS[950])))
    level = And((level, Compare("importance", "lt", 0.9)))
    return Or((level, Compare("access_count", "eq", 3)))


def _field(kind: str) -> str:
    return "created_at" if kind == "timestamp" else f"metadata.{kind}"


_FIRST_RANK = {"0.1": 999, "10": 900, "90": 100}
"""Per cent of rows that pass, and the rank from which they do."""


def _matrix() -> Iterator[tuple[str, Question]]:
    for kind in NUMBERS:
        field = _field(kind)
        for share, rank in _FIRST_RANK.items():
            yield f"{kind} gte, {share}% pass", Compare(field, "gte", number_at(kind, rank))
        if kind in ("float64", "int32", "int64", "timestamp"):
            yield f"{kind} eq, 0.1% pass", Compare(field, "eq", number_at(kind, 500))
            yield f"{kind} ne, 99.9% pass", Compare(field, "ne", number_at(kind, 500))
            for share, first, stop in (("0.1", 500, 501), ("10", 450, 550), ("90", 50, 950)):
                low, high = number_at(kind, first), number_at(kind, stop)
                yield f"{kind} gte and lt, {share}% pass", _between(field, low, high)
            values = tuple(number_at(kind, rank) for rank in range(0, 1000, 10))
            yield f"{kind} in 100, 10% pass", OneOf(field, values)
            yield f"{kind} nin 100, 90% pass", OneOf(field, values, negated=True)
            yield f"{kind} exists", Exists(field)
    yield "bool eq, 10% pass", Compare("metadata.flag", "eq", True)
    for kind in ("label", "label_dictionary", "label_view", "label_large"):
        field = f"metadata.{kind}"
        yield f"{kind} eq, 0.1% pass", Compare(field, "eq", LABELS[500])
        yield f"{kind} eq, 10% pass", Compare(field, "eq", LABELS[0])
        yield f"{kind} ne, 90% pass", Compare(field, "ne", LABELS[0])
        if kind in ("label", "label_dictionary"):
            some = (LABELS[500], *(f"{label}!" for label in LABELS[100:199]))
            yield f"{kind} in 100, 0.1% pass", OneOf(field, some)
            yield f"{kind} in 100, 10% pass", OneOf(field, LABELS[100:200])
            yield f"{kind} nin 2, 89.9% pass", OneOf(field, (LABELS[0], LABELS[500]), negated=True)
            for share, rank in _FIRST_RANK.items():
                yield f"{kind} gte, {share}% pass", Compare(field, "gte", LABELS[rank])
            yield f"{kind} contains, 5% pass", HasText(field, "klmnop")
            yield f"{kind} exists", Exists(field)
    for share, word in (("0.1", "quarterly"), ("10", "RESOLVED"), ("90", "Escalation")):
        yield f"content contains, {share}% pass", HasText("content", word)
        yield f"content icontains, {share}% pass", HasText("content", word.swapcase(), ignore_case=True)
    for share, tag in (("0.1", "legal"), ("10", "urgent"), ("90", "active")):
        yield f"list contains, {share}% pass", HasElement("metadata.tags", tag)
    yield "struct child eq, 12.5% pass", Compare("metadata.channel", "eq", "support")


def _all() -> Iterator[Case]:
    for family, rows in (("typical", ROWS), ("medium", 100_000), ("pool", 1_000)):
        for label, question in _TYPICAL.items():
            yield Case(family, label, _table(question, rows), question)
    for label, question in _ON_JSON.items():
        for kind, size, rows in (("json", "200 B", ROWS), ("json4k", "4 KB", 100_000), ("json", "200 B", 1_000)):
            table = _table(question, rows, metadata=kind)
            yield Case("json", f"{label}, {size}", table, question, dialect="anansi")
    for label in ("float64 at least", "string equals", "seed example"):
        question = _TYPICAL[label]
        yield Case("records", label, _table(question, 1_000), question, records=True)
    yield Case("records", "Anansi example", _table(ANANSI, 1_000, metadata="json"), ANANSI, "anansi", records=True)
    for groups in (1, 2, 5, 10, 20):
        question = _conditions(groups)
        yield Case("conditions", f"{len(leaves(question))} conditions", _table(question, ROWS), question)
    yield Case("conditions", "eight levels", _table(_deep(), ROWS), _deep())
    for rows in (100_000, 1_000_000, 10_000_000, 50_000_000):
        for label, question in (
            ("float64 at least", _TYPICAL["float64 at least"]),
            ("int32 between", _between("metadata.int32", 100, 200)),
            ("three numbers", _TYPICAL["three numbers"]),
        ):
            yield Case("scaling", label, _table(question, rows), question)
    for label in ("substring", "substring ignoring case", "seed example", "list contains", "one of 100 strings"):
        yield Case("threads", label, _table(_TYPICAL[label], ROWS), _TYPICAL[label], threads=2)
    question = _conditions(20)
    yield Case("threads", "100 conditions", _table(question, ROWS), question, threads=2)
    for label, question in _ON_JSON.items():
        table = _table(question, ROWS, metadata="json")
        yield Case("threads", f"JSON: {label}", table, question, "anansi", threads=2)
    for label, question in _matrix():
        for nulls in (0, 30):
            yield Case("matrix", f"{label}, {nulls}% null", _table(question, ROWS, nulls), question)


CASES: tuple[Case, ...] = tuple(_all())
"""Every case, in the order of the report."""

_QUICK = ("typical", "pool", "json", "records")


def quick() -> list[Case]:
    """The cases that two minutes are enough for."""
    return [case for case in CASES if case.family in _QUICK]


def compilation_filter(number: int) -> dict[str, Any]:
    """The seed example with another number in it, so that no cache of filters knows it."""
    head, _, tail = SEED.children
    return fishmem(And((head, Compare("importance", "gte", number / 1e9), tail)))
