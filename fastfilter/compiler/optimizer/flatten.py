"""``a and (b and c)`` → ``a and b and c``; an And or Or of one child → the child."""

from __future__ import annotations

from fastfilter.compiler.expr import And, Expression, Or
from fastfilter.compiler.optimizer.rule import Rule

__all__ = ["RULE", "flatten"]


def flatten(node: And | Or) -> Expression:
    """Takes the children of nested nodes of the same type, at any depth, into one node."""
    kind = type(node)
    if len(node.children) == 1:
        return node.children[0]
    for child in node.children:
        if type(child) is kind:
            break
    else:
        return node
    flat: list[Expression] = []
    pending = list(reversed(node.children))
    while pending:
        child = pending.pop()
        if type(child) is kind:
            pending.extend(reversed(child.children))
        else:
            flat.append(child)
    return kind(tuple(flat))


# On the way down too, so that a long chain is joined once and not once a level.
RULE = Rule("flatten", {And: flatten, Or: flatten}, descending=True)
