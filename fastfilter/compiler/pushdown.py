"""From an expression to what a store can be asked safely, and what is left to decide on the rows that come back.

A store is a database or a file reader with conditions of its own. Its logic has three values, ours two: here a
condition *holds* on a row where the store finds it true, and does not hold where it finds it false or null.

What a store cannot decide exactly it may still bound from both sides. Both bounds are needed, because a negation turns
them round: what holds on every row that ``not x`` matches is the negation of what holds on no row but those of ``x``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from fastfilter.compiler.expr import And, Expression, Leaf, Literal, Not, Or

__all__ = ["Bounds", "Split", "Store"]

Condition = TypeVar("Condition")


@dataclass(frozen=True, slots=True)
class Bounds(Generic[Condition]):
    """What a store can say of an expression; a bool is a condition that holds on every row, or on none.

    Attributes:
        upper: holds on every row that matches.
        lower: holds on no row but those that match.
    """

    upper: Condition | bool
    lower: Condition | bool

    @property
    def exact(self) -> bool:
        """Whether the store decides the expression: both bounds are one condition."""
        return self.upper is self.lower

    @staticmethod
    def exactly(condition: Condition | bool) -> Bounds[Condition]:
        """The bounds of what the store decides."""
        return Bounds(condition, condition)


@dataclass(frozen=True, slots=True)
class Split(Generic[Condition]):
    """An expression in two parts, which together are true on exactly its rows.

    Attributes:
        condition: what the store is asked.
        residual: what is still to be evaluated on the rows that the store gives; None if nothing is.
    """

    condition: Condition | bool
    residual: Expression | None


_MAX_DEPTH = 100
"""Expressions nested deeper are not pushed: stores have limits of their own, and some crash beyond them."""


class Store(ABC, Generic[Condition]):
    """How conditions are made for one kind of store."""

    @abstractmethod
    def leaf(self, leaf: Leaf) -> Bounds[Condition]:
        """The bounds of one test."""

    @abstractmethod
    def conjunction(self, conditions: Sequence[Condition]) -> Condition:
        """Holds where all of two or more conditions do."""

    @abstractmethod
    def disjunction(self, conditions: Sequence[Condition]) -> Condition:
        """Holds where one of two or more conditions does."""

    @abstractmethod
    def negation(self, condition: Condition) -> Condition:
        """Holds where the condition does not, be it false or null there."""

    def split(self, expression: Expression) -> Split[Condition]:
        """Divides an expression between the store and the one who asks it.

        Of a conjunction each part that the store decides is left to it alone.
        """
        parts = expression.children if isinstance(expression, And) else (expression,)
        bounded = [self.bounds(part, depth=2) for part in parts]
        condition = self.all_of(bounded).upper
        left = tuple(part for part, limits in zip(parts, bounded, strict=True) if not limits.exact)
        if not left or condition is False:
            return Split(condition, None)
        return Split(condition, left[0] if len(left) == 1 else And(left))

    def bounds(self, expression: Expression, depth: int = 1) -> Bounds[Condition]:
        """What the store can say of an expression, which has ``depth - 1`` others around it."""
        if isinstance(expression, Literal):
            return Bounds.exactly(expression.value)
        if depth > _MAX_DEPTH:
            return Bounds(True, False)
        if isinstance(expression, Not):
            child = self.bounds(expression.child, depth + 1)
            upper = self._negated(child.lower)
            return Bounds(upper, upper if child.exact else self._negated(child.upper))
        if isinstance(expression, And | Or):
            children = [self.bounds(child, depth + 1) for child in expression.children]
            return self.all_of(children) if isinstance(expression, And) else self.any_of(children)
        return self.leaf(expression)

    def all_of(self, children: Sequence[Bounds[Condition]]) -> Bounds[Condition]:
        """The bounds of a conjunction."""
        return self._combined(children, True, self.conjunction)

    def any_of(self, children: Sequence[Bounds[Condition]]) -> Bounds[Condition]:
        """The bounds of a disjunction."""
        return self._combined(children, False, self.disjunction)

    def _negated(self, condition: Condition | bool) -> Condition | bool:
        return not condition if isinstance(condition, bool) else self.negation(condition)

    def _combined(
        self,
        children: Sequence[Bounds[Condition]],
        is_conjunction: bool,
        combine: Callable[[Sequence[Condition]], Condition],
    ) -> Bounds[Condition]:
        def combined(conditions: Sequence[Condition | bool]) -> Condition | bool:
            # A bool either decides the whole or adds nothing to it.
            if any(condition is not is_conjunction for condition in conditions if isinstance(condition, bool)):
                return not is_conjunction
            asked = [condition for condition in conditions if not isinstance(condition, bool)]
            if not asked:
                return is_conjunction
            return asked[0] if len(asked) == 1 else combine(asked)

        upper = combined([child.upper for child in children])
        if all(child.exact for child in children):
            return Bounds.exactly(upper)
        return Bounds(upper, combined([child.lower for child in children]))
