"""The optimizer: named rules, each of which gives an expression that is true on the same rows.

Logic is two-valued, so a rule that SQL would allow may be wrong here, and the other way round: every condition is true
or false, on missing values too. Each rule is one module; :data:`RULES` is the order in which they are tried.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from fastfilter.compiler.expr import FALSE, TRUE, And, Expression, Literal, Not, Or
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
from fastfilter.compiler.optimizer.rule import Rewrite, Rule
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

_Table = Mapping[type, tuple[tuple[int, Rewrite], ...]]
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
    run = _Run(rules)
    try:
        expression = run.normal(expression)
        seen: dict[int, Expression] = {}  # what each tree rule has last looked at, or made
        for _ in range(_MAX_REWRITES):
            before = expression
            for number, rule in enumerate(rules):
                if rule.tree is not None and seen.get(number) is not expression:
                    rewritten = rule.tree(expression)
                    if rewritten is not expression:
                        run.applied.add(number)
                        expression = run.normal(rewritten)
                    seen[number] = rewritten
            if expression is before:
                break
    except RecursionError:
        raise FilterError("too_deep", "", "the filter is nested too deeply to be compiled") from None
    return expression, tuple(rules[number].name for number in sorted(run.applied))


class _Run:
    """One optimization.

    ``known`` holds one object for all equal expressions, keyed without looking deep: a leaf by itself, a node by its
    type and its children's identities. ``done`` are those that no node rule can improve. Both keep their expressions
    alive, so that no identity is used twice.
    """

    __slots__ = ("applied", "descending", "done", "known", "table")

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.table, self.descending = _tables(rules)
        self.known: dict[object, Expression] = {}
        self.done: dict[int, Expression] = {}
        self.applied: set[int] = set()

    def normal(self, node: Expression) -> Expression:
        """The node after all node rules. (Nothing between two calls of it, so that a level costs one stack frame.)"""
        done = self.done
        for _ in range(_MAX_REWRITES):
            if id(node) in done:
                return node
            key: object = node
            if type(node) is And or type(node) is Or:
                rewritten = self._rewrite(self.descending, node)
                if rewritten is not node:
                    node = rewritten
                    continue
                children = []
                changed = False
                for child in node.children:
                    after = self.normal(child)
                    children.append(after)
                    changed |= after is not child
                key = (type(node), *map(id, children))
                if changed:
                    node = type(node)(tuple(children))
            elif type(node) is Not:
                child = self.normal(node.child)
                key = (Not, id(child))
                node = node if child is node.child else Not(child)
            elif type(node) is Literal:
                return TRUE if node.value else FALSE
            node = self.known.setdefault(key, node)
            if id(node) in done:
                return node
            rewritten = self._rewrite(self.table, node)
            if rewritten is node:
                break
            node = rewritten
        done[id(node)] = node
        return node

    def _rewrite(self, table: _Table, node: Expression) -> Expression:
        """What the first rule makes of the node that improves it, or the node itself if none does."""
        for number, rewrite in table.get(type(node), ()):
            rewritten = rewrite(node)
            if rewritten is not node:
                self.applied.add(number)
                return rewritten
        return node


@functools.lru_cache(maxsize=64)
def _tables(rules: tuple[Rule, ...]) -> tuple[_Table, _Table]:
    """The rewrites that are applied to a node after its children, and before."""
    after: dict[type, tuple[tuple[int, Rewrite], ...]] = {}
    before: dict[type, tuple[tuple[int, Rewrite], ...]] = {}
    for number, rule in enumerate(rules):
        for kind, rewrite in rule.nodes.items():
            after[kind] = (*after.get(kind, ()), (number, rewrite))
            if rule.descending:
                before[kind] = (*before.get(kind, ()), (number, rewrite))
    return after, before
