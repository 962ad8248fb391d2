"""``a = 1 or a = 2`` → ``a in {1, 2}``; ``a in {1, 2} and a in {2, 3}`` → ``a in {2}``."""

from __future__ import annotations

from fastfilter.bytecode.constants import Strings
from fastfilter.compiler.expr import And, EqualsAny, Expression, Or, TextEqualsAny
from fastfilter.compiler.optimizer.rule import Rule
from fastfilter.compiler.optimizer.siblings import Merge, merge_siblings
from fastfilter.values import Elements, ScalarSet, parse_timestamp

__all__ = ["RULE"]


def _unite_scalars(constants: list[ScalarSet]) -> ScalarSet:
    return ScalarSet(
        any(constant.null for constant in constants),
        any(constant.false for constant in constants),
        any(constant.true for constant in constants),
        tuple(sorted({number for constant in constants for number in constant.numbers})),
        tuple(sorted({string for constant in constants for string in constant.strings})),
        tuple(sorted({instant for constant in constants for instant in constant.instants})),
    )


def _intersect_scalars(constants: list[ScalarSet]) -> ScalarSet:
    first, *others = constants
    return ScalarSet(
        all(constant.null for constant in constants),
        all(constant.false for constant in constants),
        all(constant.true for constant in constants),
        tuple(sorted(set(first.numbers).intersection(*(constant.numbers for constant in others)))),
        tuple(sorted(set(first.strings).intersection(*(constant.strings for constant in others)))),
    )


def _can_intersect_scalars(test: EqualsAny) -> bool:
    """Whether a value that the test accepts equals just one scalar, whatever other scalars there are.

    Not so for an ARRAY, of which different elements may satisfy two tests. Nor for timestamps: a STRING may equal both
    an instant and a string of another spelling, and on a TIMESTAMP column strings count as the instants they spell.
    """
    constant = test.constant
    return test.elements is Elements.NEVER and not constant.instants and _spell_no_timestamp(constant.strings)


def _can_intersect_texts(test: TextEqualsAny) -> bool:
    """As for scalars: a value has one text, but on a TIMESTAMP column several texts spell one instant."""
    return _spell_no_timestamp(test.constant.values)


def _spell_no_timestamp(strings: tuple[str, ...]) -> bool:
    return all(parse_timestamp(string) is None for string in strings)


def _unite_strings(constants: list[Strings]) -> Strings:
    return Strings(tuple(sorted({string for constant in constants for string in constant.values})))


def _intersect_strings(constants: list[Strings]) -> Strings:
    first, *others = constants
    return Strings(tuple(sorted(set(first.values).intersection(*(constant.values for constant in others)))))


_MERGES: dict[type, Merge] = {
    EqualsAny: Merge(
        _unite_scalars,
        _intersect_scalars,
        _can_intersect_scalars,
        lambda test, constant: EqualsAny(test.field, constant, test.elements),
    ),
    TextEqualsAny: Merge(
        _unite_strings,
        _intersect_strings,
        _can_intersect_texts,
        lambda test, constant: TextEqualsAny(test.field, constant),
    ),
}


def _merge(node: And | Or) -> Expression:
    return merge_siblings(node, _MERGES)


RULE = Rule("merge equalities", {And: _merge, Or: _merge}, relates=True)
