"""What a rule of the optimizer is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastfilter.compiler.expr import Expression, Leaf

__all__ = ["Price", "Rewrite", "Rule"]

Rewrite = Callable[[Any], Expression]
"""Gives an expression that is true on the same rows, or the very object it was given if there is nothing to improve."""


Price = Callable[[Leaf], int]
"""What a test costs."""


@dataclass(frozen=True, eq=False, slots=True)
class Rule:
    """A named rewrite, sound in two-valued logic.

    A rule looks at one node at a time, or at the whole tree, or says in what order siblings stand. When its rewrite is
    called, everything below the node has been through all rules, and equal expressions are the *same object*: rewrites
    compare by identity and never deeply. What a rewrite returns goes through all rules again, so a rewrite need not
    tidy up after itself.

    Attributes:
        name: the name that ``explain`` shows.
        nodes: the rewrite for each type of node the rule looks at.
        descending: the rule is also applied before the node's children are looked at.
        tree: the rewrite of a whole expression, called when no ``nodes`` rewrite applies any more.
        price: what a test costs. The children of And and Or are put in ascending order of what their tests cost
            together before other rules see them; equally dear ones stay as they stood.
        relates: what the rule does with And, Or and trees needs two tests of one field; it is left out where there are
            none.
    """

    name: str
    nodes: Mapping[type, Rewrite] = field(default_factory=dict)
    descending: bool = False
    tree: Rewrite | None = None
    price: Price | None = None
    relates: bool = False
