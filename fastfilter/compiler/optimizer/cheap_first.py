"""Children of And and Or in ascending order of what they cost, so that dear ones see few rows."""

from __future__ import annotations

import operator

from fastfilter.bytecode.constants import Intervals, Strings
from fastfilter.bytecode.opcodes import OPCODES
from fastfilter.bytecode.program import Role
from fastfilter.compiler.expr import And, Expression, Leaf, Literal, Not, Or, constant_of
from fastfilter.compiler.optimizer.rule import Rule
from fastfilter.values import ScalarSet

__all__ = ["RULE", "cost_of_test", "order_by_cost"]

_METADATA_COST = 10
"""Added for a field of the metadata, which may have to be dug out of a JSON text: dearer than comparing any column's
values, cheaper than searching its texts."""


_price = operator.itemgetter(1)


def order_by_cost(expression: Expression) -> Expression:
    """Sorts the children of every And and Or; equally dear ones stay as they stood."""
    return _ordered(expression)[0]


def _ordered(node: Expression) -> tuple[Expression, int]:
    """The node with its children in order, and its cost."""
    if isinstance(node, Not):
        child, cost = _ordered(node.child)
        return (node if child is node.child else Not(child)), cost
    if isinstance(node, (And, Or)):
        priced: list[tuple[Expression, int]] = []
        total = last = 0
        sorted_already = unchanged = True
        for child in node.children:
            entry = _ordered(child)
            priced.append(entry)
            unchanged &= entry[0] is child
            sorted_already &= entry[1] >= last
            last = entry[1]
            total += last
        if unchanged and sorted_already:
            return node, total
        priced.sort(key=_price)
        return type(node)(tuple([child for child, _ in priced])), total
    return node, 0 if isinstance(node, Literal) else cost_of_test(node)


def cost_of_test(test: Leaf) -> int:
    """Rough cost per row, in the unit of :attr:`fastfilter.bytecode.opcodes.OpcodeSpec.cost`."""
    cost = OPCODES[test.opcode].cost
    if test.field.role is Role.METADATA:
        cost += _METADATA_COST
    constant = constant_of(test)
    if isinstance(constant, (Intervals, Strings)):
        cost += len(constant.values).bit_length() - 1
    elif isinstance(constant, ScalarSet):
        cost += (len(constant.numbers) + len(constant.strings) + len(constant.instants)).bit_length()
    return cost


RULE = Rule("cheap conditions first", tree=order_by_cost)
