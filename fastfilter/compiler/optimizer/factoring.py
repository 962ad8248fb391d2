"""``(a and b) or (a and c)`` → ``a and (b or c)``, and the same with And and Or exchanged."""

from __future__ import annotations

from fastfilter.compiler.expr import And, Expression, Or
from fastfilter.compiler.optimizer.rule import Rule

__all__ = ["RULE", "factor"]


def factor(node: And | Or) -> Expression:
    """Takes the condition that most children share out of them; whatever they still share is found in the next call.

    A child that *is* the shared condition absorbs the others: its rest is empty. Every call leaves fewer conditions, so
    nothing is ever tested twice that was tested once.
    """
    outer: type[And | Or] = type(node)
    inner: type[And | Or] = Or if outer is And else And
    for child in node.children:
        if type(child) is inner:
            break
    else:
        return node
    factors = [child.children if isinstance(child, inner) else (child,) for child in node.children]
    counts: dict[int, int] = {}
    for parts in factors:
        for part in parts:
            counts[id(part)] = counts.get(id(part), 0) + 1
    most = max(counts.values(), default=0)
    if most < 2:
        return node
    shared = next(part for parts in factors for part in parts if counts[id(part)] == most)
    rests: list[Expression] = []
    children: list[Expression] = []
    place = 0
    for child, parts in zip(node.children, factors, strict=True):
        rest = tuple(part for part in parts if part is not shared)
        if len(rest) == len(parts):
            children.append(child)
            continue
        if not rests:
            place = len(children)
        rests.append(inner(rest))
    children.insert(place, inner((shared, outer(tuple(rests)))))
    return outer(tuple(children))


RULE = Rule("factoring", {And: factor, Or: factor})
