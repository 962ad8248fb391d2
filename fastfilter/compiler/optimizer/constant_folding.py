"""Conditions whose answer is known without a row: literals, sets that nothing can match, repeats, contradictions."""

from __future__ import annotations

from fastfilter.compiler.expr import (
    FALSE,
    TRUE,
    And,
    EqualsAny,
    Expression,
    Literal,
    Not,
    NumberRange,
    Or,
    TextEqualsAny,
    TextNumberRange,
    TimestampRange,
)
from fastfilter.compiler.optimizer.rule import Rule
from fastfilter.values import Elements, ScalarSet

__all__ = ["RULE"]

_NEVER = Elements.NEVER


def _fold_siblings(node: And | Or) -> Expression:
    """And: TRUE and repeats go; FALSE, or a condition beside its own negation, makes it FALSE. Or: the other way."""
    neutral, deciding = (TRUE, FALSE) if type(node) is And else (FALSE, TRUE)
    if not node.children:
        return neutral
    kept = {id(child): child for child in node.children}
    kept.pop(id(neutral), None)
    if id(deciding) in kept:
        return deciding
    for child in node.children:
        if type(child) is Not and id(child.child) in kept:
            return deciding
    if len(kept) == len(node.children):
        return node
    return type(node)(tuple(kept.values())) if kept else neutral


def _fold_negation(node: Not) -> Expression:
    child = node.child
    if type(child) is Literal:
        return FALSE if child.value else TRUE
    return node


def _fold_equality(node: EqualsAny) -> Expression:
    """A null in the set equals nothing but elements of an ARRAY."""
    null, false, true, numbers, strings, instants = constant = node.constant
    if null and node.elements is _NEVER:
        constant = ScalarSet(False, false, true, numbers, strings, instants)
    if not any(constant):
        return FALSE
    return node if constant is node.constant else EqualsAny(node.field, constant, node.elements)


def _fold_set(node: NumberRange | TextEqualsAny | TextNumberRange | TimestampRange) -> Expression:
    return node if node.constant.values else FALSE


RULE = Rule(
    "constant folding",
    {
        And: _fold_siblings,
        Or: _fold_siblings,
        Not: _fold_negation,
        EqualsAny: _fold_equality,
        NumberRange: _fold_set,
        TextEqualsAny: _fold_set,
        TextNumberRange: _fold_set,
        TimestampRange: _fold_set,
    },
)
