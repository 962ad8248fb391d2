"""Compiling takes work in proportion to the filter's size: counted in the interpreter's steps, not in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from interpreter_steps import steps

import fastfilter

LIMITS = dict.fromkeys(("max_depth", "max_conditions", "max_children", "max_values", "max_legacy_keys"), 10_000)


def test(field: str, operator: str, value: object) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


test.__test__ = False  # type: ignore[attr-defined]


def nested(size: int) -> dict[str, Any]:
    filter = test("metadata.last", "exists", True)
    for level in range(size):
        filter = {"and" if level % 2 else "or": [test(f"metadata.f{level % 7}", "eq", level), filter]}
    return filter


def negated(size: int) -> dict[str, Any]:
    filter = test("metadata.last", "exists", True)
    for level in range(size):
        kind = "and" if level % 2 else "or"
        filter = {"not": {kind: [test(f"metadata.f{level}", "ne", 1), filter, test("id", "eq", str(level))]}}
    return filter


WIDE: dict[str, Callable[[int], dict[str, Any]]] = {
    "and of ranges of one field": lambda n: {"and": [test("importance", "gt", i) for i in range(n)]},
    "or of ranges of one field": lambda n: {"or": [test("importance", "lt", i) for i in range(n)]},
    "or of equalities of one field": lambda n: {"or": [test("metadata.a", "eq", f"v{i}") for i in range(n)]},
    "and of inequalities of one field": lambda n: {"and": [test("metadata.a", "ne", i) for i in range(n)]},
    "or of inequalities of one field": lambda n: {"or": [test("metadata.a", "ne", i) for i in range(n)]},
    "and of many fields": lambda n: {"and": [test(f"metadata.f{i}", "eq", i) for i in range(n)]},
    "and of inequalities of many fields": lambda n: {"and": [test(f"metadata.f{i}", "ne", i) for i in range(n)]},
    "or of searches": lambda n: {"or": [test("content", "contains", f"word {i}") for i in range(n)]},
    "and of negations": lambda n: {"and": [{"not": test("metadata.a", "eq", i)} for i in range(n)]},
    "presence beside a test": lambda n: {
        "and": [test(f"metadata.f{i // 2}", *(("exists", True) if i % 2 else ("gt", i))) for i in range(n)]
    },
    "one list": lambda n: test("metadata.a", "in", [f"v{i}" for i in range(n)]),
    "one list of numbers": lambda n: test("importance", "nin", list(range(n))),
    "and of lists of one field": lambda n: {
        "and": [test("metadata.a", "in", [i, i + 1, f"v{i}"]) for i in range(n)],
    },
    "or of ands that share a condition": lambda n: {
        "or": [{"and": [test("id", "eq", "a"), test("metadata.a", "gt", i), test("subject", "eq", str(i))]}
               for i in range(n)]
    },
    "or of ands that share one with the next": lambda n: {
        "or": [{"and": [test("metadata.a", "contains", str(i)), test("metadata.a", "contains", str(i + 1))]}
               for i in range(n)]
    },
    "and of ors of ranges of one field": lambda n: {
        "and": [{"or": [test("importance", "lt", 2 * i), test("importance", "gt", 2 * i + 1)]} for i in range(n)]
    },
    "legacy map": lambda n: {f"k{i}": i for i in range(n)},
    "anansi keys": lambda n: {"metadata": {f"k{i}": {"$gte": i, "$lt": i + 5} for i in range(n)}},
    "anansi or": lambda n: {"$or": [{"metadata": {"a": f"v{i}"}} for i in range(n)]},
    "anansi or of objects": lambda n: {"$or": [{"metadata": {"a": {"$contains": [i]}}} for i in range(n)]},
    "containment of a long list": lambda n: {"metadata": {"a": {"$contains": list(range(n))}}},
}  # fmt: skip
DEEP: dict[str, Callable[[int], dict[str, Any]]] = {
    "and and or by turns": nested,
    "negations of both": negated,
    "negations alone": lambda n: eval('{"not":' * n + 'test("id", "eq", "a")' + "}" * n),
}


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        *(pytest.param(shape, (10, 100, 400), id=name) for name, shape in WIDE.items()),
        *(pytest.param(shape, (5, 20, 80), id=name) for name, shape in DEEP.items()),
    ],
)
def test_work_is_in_proportion_to_size(shape: Callable[[int], dict[str, Any]], sizes: tuple[int, ...]) -> None:
    def work(size: int) -> int:
        filter = shape(size)
        return steps(lambda: fastfilter.compile(filter, limits=LIMITS))

    work(sizes[0] + 1)  # what is made once and kept, and not the filter that is measured
    few, some, many = (work(size) / size for size in sizes)
    assert some <= 1.2 * few
    assert many <= 1.2 * some
