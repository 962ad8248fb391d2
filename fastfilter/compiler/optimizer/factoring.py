"""``(a and b) or (a and c)`` → ``a and (b or c)``, and the same with And and Or exchanged."""

from __future__ import annotations

from fastfilter.compiler.expr import And, Expression, Or
from fastfilter.compiler.optimizer.rule import Rule

__all__ = ["RULE", "factor"]


def factor(node: And | Or) -> Expression:
    """Takes out of the children what they share: out of each the condition that most have, then of the rests again.

    A child that *is* the shared condition absorbs the others: its rest is empty. Every call leaves fewer tests, so
    nothing is ever tested twice that was tested once.
    """
    outer: type[And | Or] = type(node)
    inner: type[And | Or] = Or if outer is And else And
    for child in node.children:
        if type(child) is inner:
            break
    else:
        return node
    factors = [child.children if type(child) is inner else (child,) for child in node.children]
    uses: dict[int, list[int]] = {}  # which children have a condition, in the order in which conditions come up
    for position, parts in enumerate(factors):
        for part in parts:
            positions = uses.setdefault(id(part), [])
            if position not in positions[-1:]:
                positions.append(position)
    # The condition of most children comes first and the sort is stable, so all who have it take it: it is taken out.
    shared: dict[int, list[int]] = {}
    taken: set[int] = set()
    for condition, positions in sorted(uses.items(), key=_num_uses, reverse=True):
        if len(positions) < 2:
            break
        free = [position for position in positions if position not in taken]
        if len(free) > 1:
            shared[condition] = free
            taken.update(free)
    if not shared:
        return node
    children: list[Expression | None] = list(node.children)
    for condition, positions in shared.items():
        common = next(part for part in factors[positions[0]] if id(part) == condition)
        rests = [inner(tuple([part for part in factors[position] if part is not common])) for position in positions]
        for position in positions:
            children[position] = None
        children[positions[0]] = inner((common, outer(tuple(rests))))
    return outer(tuple([child for child in children if child is not None]))


def _num_uses(use: tuple[int, list[int]]) -> int:
    return len(use[1])


RULE = Rule("factoring", {And: factor, Or: factor}, relates=True)
