"""What siblings decide: in ``a and (not a or b)`` the inner ``a`` is true, in ``a or (a and b)`` it is false.

An And is looked at only where all its children are true, so in each child the others may be taken as true; in a child
of an Or, the others may be taken as false. Only facts from children that were dealt with before are used, so two
children never justify each other away.

Besides, every test that is true tells that its field is there: ``exists(f) and f = 1`` is ``f = 1``.
"""

from __future__ import annotations

from fastfilter.bytecode.program import Field
from fastfilter.compiler.expr import (
    FALSE,
    TRUE,
    And,
    Exists,
    Expression,
    IsNull,
    JsonContains,
    Leaf,
    Literal,
    Not,
    Or,
    leaves,
)
from fastfilter.compiler.optimizer.rule import Rule

__all__ = ["RULE", "use_known_facts"]


def use_known_facts(expression: Expression) -> Expression:
    """Replaces every condition that the conditions around it decide."""
    return _Facts().simplify(expression) if _has_related_tests(expression) else expression


def _has_related_tests(expression: Expression) -> bool:
    """Whether some test stands in the expression twice, or beside a test of whether its field is there."""
    tests = leaves(expression)
    if len({test.field for test in tests}) == len(tests):
        return False
    if len(set(map(id, tests))) < len(tests):
        return True
    asked = {test.field for test in tests if type(test) is Exists or type(test) is IsNull}
    return bool(asked) and sum([test.field in asked for test in tests]) > len(asked)


class _Facts:
    """What is known at the place that is being looked at.

    ``truth`` is keyed by the identity of conditions, ``present`` by field. ``undo`` lists their keys in the order they
    came, so that leaving a node takes back what was learnt inside it.
    """

    __slots__ = ("present", "truth", "undo")

    def __init__(self) -> None:
        self.truth: dict[int, bool] = {}
        self.present: dict[Field, bool] = {}
        self.undo: list[int | Field] = []

    def simplify(self, node: Expression) -> Expression:
        """The node, with what is known put in. (One function, so that a level of nesting costs one stack frame.)"""
        known = self.truth.get(id(node))
        if known is not None:
            return TRUE if known else FALSE
        if isinstance(node, Literal):
            return node
        if isinstance(node, Not):
            child = self.simplify(node.child)
            return node if child is node.child else Not(child)
        if isinstance(node, (And, Or)):
            truth = isinstance(node, And)
            children = list(node.children)
            changed = False
            mark = len(self.undo)
            ranks = [_rank(child, truth) for child in children]
            order = sorted(range(len(children)), key=ranks.__getitem__)
            for position in order:
                child = node.children[position]
                children[position] = self.simplify(child)
                changed |= children[position] is not child
                if position != order[-1]:
                    self.assume(child, truth)
            self._forget(mark)
            return type(node)(tuple(children)) if changed else node
        present = self.present.get(node.field)
        if present is None:
            return node
        if isinstance(node, Exists):
            return TRUE if present else FALSE
        if isinstance(node, IsNull):
            return FALSE if present else node
        return FALSE if not present and _tells_presence(node) else node

    def assume(self, node: Expression, truth: bool) -> None:
        """Learns that a condition is true, or false, and what follows for its parts."""
        pending = [(node, truth)]
        while pending:
            node, truth = pending.pop()
            if id(node) not in self.truth:
                self.truth[id(node)] = truth
                self.undo.append(id(node))
            if isinstance(node, Not):
                pending.append((node.child, not truth))
            elif isinstance(node, (And, Or)):
                if truth is isinstance(node, And):
                    pending.extend((child, truth) for child in node.children)
            elif not isinstance(node, Literal) and node.field not in self.present:
                present = _presence(node, truth)
                if present is not None:
                    self.present[node.field] = present
                    self.undo.append(node.field)

    def _forget(self, mark: int) -> None:
        for key in self.undo[mark:]:
            if isinstance(key, int):
                del self.truth[key]
            else:
                del self.present[key]
        del self.undo[mark:]


def _tells_presence(test: Leaf) -> bool:
    """Whether a test is false on every MISSING and NULL value."""
    return not (isinstance(test, IsNull) or (isinstance(test, JsonContains) and test.constant.text == "null"))


def _presence(test: Leaf, truth: bool) -> bool | None:
    """Whether the field is neither MISSING nor NULL, given a test's answer; None if that does not follow."""
    if isinstance(test, Exists):
        return truth
    if truth:
        return False if isinstance(test, IsNull) else True if _tells_presence(test) else None
    return None


def _rank(child: Expression, truth: bool) -> int:
    """The order in which siblings are dealt with: those that decide others before those they may decide."""
    while isinstance(child, Not):
        child, truth = child.child, not truth
    if isinstance(child, (And, Or, Literal)):
        return 4
    if isinstance(child, Exists):
        return 2
    if truth:
        return 1 if isinstance(child, IsNull) else 0
    return 3


RULE = Rule("known facts", tree=use_known_facts, relates=True)
