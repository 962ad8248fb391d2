"""``not not a`` → ``a``."""

from __future__ import annotations

from fastfilter.compiler.expr import Expression, Not
from fastfilter.compiler.optimizer.rule import Rule

__all__ = ["RULE", "remove_double_negation"]


def remove_double_negation(node: Not) -> Expression:
    """Logic is two-valued, so two negations are none."""
    return node.child.child if type(node.child) is Not else node


RULE = Rule("double negation", {Not: remove_double_negation})
