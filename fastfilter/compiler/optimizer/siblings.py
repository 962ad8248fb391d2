"""Joining the tests that stand side by side under an And or Or and look at one field in one way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastfilter.bytecode.program import Field
from fastfilter.compiler.expr import And, Expression, Not, Or
from fastfilter.values import Elements

__all__ = ["Merge", "merge_siblings"]


@dataclass(frozen=True, slots=True)
class Merge:
    """How tests of one type are joined.

    Attributes:
        unite: the constant of the test that is true where some of the tests with these constants is.
        intersect: the constant of the test that is true where all are.
        can_intersect: whether a test may be joined by ``intersect``.
        rebuild: a test like the one given, with another constant.
    """

    unite: Callable[[list[Any]], Any]
    intersect: Callable[[list[Any]], Any]
    can_intersect: Callable[[Any], bool]
    rebuild: Callable[[Any, Any], Expression]


def merge_siblings(node: And | Or, merges: dict[type, Merge]) -> Expression:
    """Joins tests of one type, on one field, with one elements mode, each group at the place of its first.

    Under Or tests unite and under And they intersect; negated ones the other way round, inside one negation:
    ``not a and not b`` is ``not (a or b)``.
    """
    is_or = type(node) is Or
    found: list[tuple[int, bool, Any]] = []
    for position, child in enumerate(node.children):
        if type(child) is Not:
            if type(child.child) in merges:
                found.append((position, True, child.child))
        elif type(child) in merges:
            found.append((position, False, child))
    if len(found) < 2:
        return node
    groups: dict[tuple[bool, type, Field, Elements | None], list[int]] = {}
    for position, negated, leaf in found:
        if is_or is not negated or merges[type(leaf)].can_intersect(leaf):
            key = negated, type(leaf), leaf.field, getattr(leaf, "elements", None)
            groups.setdefault(key, []).append(position)
    if len(groups) == sum(map(len, groups.values())):
        return node
    children: list[Expression | None] = list(node.children)
    for (negated, *_), positions in groups.items():
        if len(positions) == 1:
            continue
        siblings: list[Any] = [node.children[position] for position in positions]
        tests = [sibling.child for sibling in siblings] if negated else siblings
        merge = merges[type(tests[0])]
        join = merge.intersect if is_or is negated else merge.unite
        joined = merge.rebuild(tests[0], join([test.constant for test in tests]))
        for position in positions:
            children[position] = None
        children[positions[0]] = Not(joined) if negated else joined
    return type(node)(tuple(child for child in children if child is not None))
