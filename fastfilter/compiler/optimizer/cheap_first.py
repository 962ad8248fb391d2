"""Children of And and Or in ascending order of what they cost, so that dear ones see few rows."""

from __future__ import annotations

from fastfilter.bytecode.opcodes import OPCODES
from fastfilter.bytecode.program import Role
from fastfilter.compiler.expr import EqualsAny, Leaf, NumberRange, TextEqualsAny, TextNumberRange, TimestampRange
from fastfilter.compiler.optimizer.rule import Rule

__all__ = ["RULE", "cost_of_test"]

_METADATA_COST = 10
"""Added for a field of the metadata, which may have to be dug out of a JSON text: dearer than comparing any column's
values, cheaper than searching its texts."""

_METADATA = Role.METADATA
_COSTS = {opcode: spec.cost for opcode, spec in OPCODES.items()}


def cost_of_test(test: Leaf) -> int:
    """Rough cost per row, in the unit of :attr:`fastfilter.bytecode.opcodes.OpcodeSpec.cost`."""
    cost: int = _COSTS[test.opcode]
    if test.field.role is _METADATA:
        cost += _METADATA_COST
    if type(test) is EqualsAny:
        _, _, _, numbers, strings, instants = test.constant
        cost += (len(numbers) + len(strings) + len(instants)).bit_length()
    elif (
        type(test) is NumberRange
        or type(test) is TextEqualsAny
        or type(test) is TextNumberRange
        or type(test) is TimestampRange
    ):
        cost += len(test.constant.values).bit_length() - 1
    return cost


RULE = Rule("cheap conditions first", price=cost_of_test)
