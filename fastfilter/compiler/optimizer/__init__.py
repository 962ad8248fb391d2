"""The optimizer: named rules, each of which gives an expression that is true on the same rows.

Logic is two-valued, so a rule that SQL would allow may be wrong here, and the other way round: every condition is true
or false, on missing values too. Each rule is one module; :data:`RULES` is the order in which they are tried.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import get_args

from fastfilter.compiler.expr import FALSE, TRUE, And, Expression, Leaf, Literal, Not, Or, leaves
from fastfilter.compiler.optimizer import (
    cheap_first,
    constant_folding,
    double_negation,
    factoring,
    flatten,
    known_facts,
    merge_equalities,
    merge_ranges,
)
from fastfilter.compiler.optimizer.rule import Price, Rewrite, Rule
from fastfilter.errors import FilterError

__all__ = ["RULES", "Rule", "optimize"]

RULES: tuple[Rule, ...] = (
    flatten.RULE,
    double_negation.RULE,
    constant_folding.RULE,
    merge_equalities.RULE,
    merge_ranges.RULE,
    factoring.RULE,
    known_facts.RULE,
    cheap_first.RULE,
)
"""The rules, in the order in which they are tried."""

_MAX_REWRITES = 100
"""How often one node is rewritten at most, and the whole tree gone over: far more than rules ever need, since each
leaves less than it found; what is left when it is reached is still right."""

_Rewrites = Mapping[type, tuple[tuple[int, Rewrite], ...]]
"""For each type of node, the rewrites for it, each with the number of its rule."""


def optimize(expression: Expression, rules: tuple[Rule, ...] = RULES) -> tuple[Expression, tuple[str, ...]]:
    """The expression with the rules applied until none has anything to improve.

    Returns:
        the expression, true on the same rows, and the names of the rules that changed something, in the order of
        ``rules``.

    Raises:
        FilterError: the expression is nested too deeply (``too_deep``): by many hundreds of levels.

    Example:
        >>> from fastfilter.compiler.expr import Exists, Not
        >>> from fastfilter.bytecode.program import Field, Role
        >>> optimize(Not(Not(Exists(Field(Role.COLUMN, ("subject",))))))
        (Exists(field=Field(role=<Role.COLUMN: 0>, path=('subject',))), ('double negation',))
    """
    tests = leaves(expression)
    run = _Run(rules, related=len({test.field for test in tests}) < len(tests))
    try:
        expression = run.normal(expression)
        for _ in range(_MAX_REWRITES):
            before = expression
            for number, rewrite in run.table.trees:
                rewritten = rewrite(expression)
                if rewritten is not expression:
                    run.applied.add(number)
                    expression = run.normal(rewritten)
            if expression is before:
                break
    except RecursionError:
        raise FilterError("too_deep", "", "the filter is nested too deeply to be compiled") from None
    return expression, tuple([rules[number].name for number in sorted(run.applied)])


class _Table:
    """Rules by what they look at, all or without those that relate tests of one field.

    Attributes:
        before: rewrites of a node before its children are looked at.
        after: rewrites of a node whose children are done.
        trees: rewrites of a whole expression.
        price: the cost by which children are ordered: of every test the same if they are to stay as they stand.
        price_number: the number of its rule.
    """

    __slots__ = ("after", "before", "price", "price_number", "trees")

    def __init__(self, rules: tuple[Rule, ...], related: bool) -> None:
        before: dict[type, tuple[tuple[int, Rewrite], ...]] = dict.fromkeys((And, Or), ())
        after: dict[type, tuple[tuple[int, Rewrite], ...]] = dict.fromkeys((And, Or, Not, *get_args(Leaf)), ())
        self.price: Price = lambda test: 0
        self.price_number = -1
        self.trees: list[tuple[int, Rewrite]] = []
        for number, rule in enumerate(rules):
            left_out = rule.relates and not related
            for kind, rewrite in rule.nodes.items():
                if not (left_out and kind in before):
                    after[kind] += ((number, rewrite),)
                    if rule.descending:
                        before[kind] += ((number, rewrite),)
            if rule.tree is not None and not left_out:
                self.trees.append((number, rule.tree))
            if rule.price is not None:
                self.price, self.price_number = rule.price, number
        self.before: _Rewrites = before
        self.after: _Rewrites = after


_table = functools.lru_cache(maxsize=64)(_Table)


class _Run:
    """One optimization.

    Attributes:
        related: whether two tests look at one field. If not, no two can be equal, nor does any rule apply that relates
            tests, which is most rules.

    ``known`` holds one object for all equal expressions, keyed without looking deep: a leaf by itself, a node by its
    type and its children's identities. ``done`` are those that no node rule can improve, and ``costs`` what they cost,
    by identity. The first two keep their expressions alive, so that no identity is used twice.
    """

    __slots__ = ("applied", "costs", "done", "known", "related", "table")

    def __init__(self, rules: tuple[Rule, ...], related: bool) -> None:
        self.related = related
        self.table = _table(rules, related)
        self.known: dict[object, Expression] = {}
        self.done: dict[int, Expression] = {id(TRUE): TRUE, id(FALSE): FALSE}
        self.costs: dict[int, int] = {id(TRUE): 0, id(FALSE): 0}
        self.applied: set[int] = set()

    def normal(self, node: Expression) -> Expression:
        """The node after all node rules. (Nothing between two calls of it, so that a level costs one stack frame.)"""
        done, costs, table, related = self.done, self.costs, self.table, self.related
        cost = 0
        for _ in range(_MAX_REWRITES):
            if id(node) in done:
                return node
            key: object = node
            if type(node) is And or type(node) is Or:
                rewritten = self._rewrite(table.before, node)
                if rewritten is not node:
                    node = rewritten
                    continue
                children = []
                changed = unsorted = False
                cost = last = 0
                for child in node.children:
                    if id(child) not in done:
                        before = child
                        child = self.normal(before)
                        changed |= child is not before
                    children.append(child)
                    unsorted |= costs[id(child)] < last
                    last = costs[id(child)]
                    cost += last
                if unsorted:
                    children.sort(key=lambda child: costs[id(child)])
                    self.applied.add(table.price_number)
                if changed or unsorted:
                    node = type(node)(tuple(children))
                if related:
                    key = (type(node), *map(id, children))
            elif type(node) is Not:
                child = self.normal(node.child)
                cost = costs[id(child)]
                if child is not node.child:
                    node = Not(child)
                if related:
                    key = (Not, id(child))
            elif type(node) is Literal:
                return TRUE if node.value else FALSE
            else:
                cost = table.price(node)
            if related:
                node = self.known.setdefault(key, node)
                if id(node) in done:
                    return node
            rewritten = self._rewrite(table.after, node)
            if rewritten is node:
                break
            node = rewritten
        done[id(node)] = node
        costs[id(node)] = cost
        return node

    def _rewrite(self, rewrites: _Rewrites, node: Expression) -> Expression:
        """What the first rule makes of the node that improves it, or the node itself if none does."""
        for number, rewrite in rewrites[type(node)]:
            rewritten = rewrite(node)
            if rewritten is not node:
                self.applied.add(number)
                return rewritten
        return node
