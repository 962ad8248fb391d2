"""The Anansi dialect: ``{"metadata": {…}, "$and": […], "$or": […]}``, every part optional, all present ones ANDed.

A key of ``metadata`` is one literal top-level key. A value is a string, a finite number, a bool or null, or a non-empty
object of ``$gt``, ``$gte``, ``$lt``, ``$lte`` and ``$contains``, ANDed. All but ``null`` and ``$contains`` compare the
value's JSONB *text*, as PostgreSQL's ``->>`` gives it; docs/semantics.md says how.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fastfilter.bytecode.constants import Intervals, Json, Strings
from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler.dialects.base import (
    OPERATOR_SIGNS,
    Dialect,
    Limits,
    Path,
    Request,
    array_of,
    fault,
    interval_of,
    is_array,
    is_object,
    json_text,
    number_of,
    object_of,
    over_limit,
    quoted,
    scalar_of,
    shown,
)
from fastfilter.compiler.expr import (
    TRUE,
    And,
    Exists,
    Expression,
    JsonContains,
    Not,
    Or,
    TextEqualsAny,
    TextNumberRange,
)
from fastfilter.errors import FilterError
from fastfilter.values import point

__all__ = ["ANANSI", "FILTER_KEYS", "AnansiLimits"]

FILTER_KEYS: Final = ("metadata", "$and", "$or")
_OPERATORS: Final = ("$gt", "$gte", "$lt", "$lte", "$contains")
_METADATA: Final = Role.METADATA
_A_VALUE: Final = "a string, a finite number, true, false, null, or an object of operators"


@dataclass(frozen=True, slots=True)
class AnansiLimits(Limits):
    """Anansi's documented limits.

    Attributes:
        max_depth: of $and/$or in each other; the whole filter is at 0, each $and/$or adds 1.
        max_conditions: metadata keys in the whole filter.
    """

    max_depth: int = 5
    max_conditions: int = 50


def _parse(filter: dict[str, object], limits: AnansiLimits) -> Request:
    return Request(_Parser(limits).filter(filter, None, 0), "anansi", {}, {})


class _Parser:
    """Reads one filter; counts its metadata keys."""

    __slots__ = ("limits", "num_conditions")

    def __init__(self, limits: AnansiLimits) -> None:
        self.limits = limits
        self.num_conditions = 0

    # One Python frame a level, so that a raised max_depth does not run into the interpreter's own limit too soon.
    def filter(self, node: object, path: Path, depth: int) -> Expression:
        """What ``node``, with ``depth`` $and/$or around it, means."""
        node = object_of(node, path, "a filter")
        if depth > self.limits.max_depth:
            raise over_limit("too_deep", path, f"the filter is {depth} levels deep here", self.limits.max_depth)
        for key in node:
            if key not in FILTER_KEYS:
                raise _unknown_key(node, (path, key), key)
        parts: list[Expression] = []
        if "metadata" in node:
            self.metadata(node["metadata"], (path, "metadata"), parts)
        for key in ("$and", "$or"):
            if key in node:
                here = (path, key)
                children = array_of(node[key], here, quoted(key))
                if not children:
                    raise fault("empty_array", here, f"{quoted(key)} must have at least one filter")
                parsed = []
                for position, child in enumerate(children):
                    parsed.append(self.filter(child, (here, position), depth + 1))
                parts.append(And(tuple(parsed)) if key == "$and" else Or(tuple(parsed)))
        if len(parts) == 1:
            return parts[0]
        return And(tuple(parts)) if parts else TRUE

    def metadata(self, value: object, path: Path, parts: list[Expression]) -> None:
        """Adds what ``metadata`` means to ``parts``."""
        metadata = object_of(value, path, '"metadata"')
        self.num_conditions += len(metadata)
        if self.num_conditions > self.limits.max_conditions:
            raise fault(
                "too_many_conditions",
                path,
                f"the filter has more than {self.limits.max_conditions} metadata keys, counted over all of it",
            )
        for key, item in metadata.items():
            field = Field(_METADATA, (key,))
            if is_object(item):
                _operators(field, item, (path, key), parts)
            else:
                parts.append(_equal(field, item, (path, key)))


def _equal(field: Field, value: object, path: Path) -> Expression:
    if is_array(value):
        raise fault(
            "wrong_type", path, f'an array is not {_A_VALUE}; for "contains all of these" say {{"$contains": […]}}'
        )
    scalar = scalar_of(value, path, _A_VALUE)
    if scalar is None:
        return Not(Exists(field))
    if type(scalar) is str:
        return TextEqualsAny(field, Strings((scalar,)))
    if type(scalar) is bool:
        return TextEqualsAny(field, Strings(("true" if scalar else "false",)))
    return TextNumberRange(field, Intervals((point(_double(scalar, path)),)))  # type: ignore[arg-type]


def _operators(field: Field, value: object, path: Path, parts: list[Expression]) -> None:
    operators = object_of(value, path, "an object of operators")
    if not operators:
        raise fault("empty_object", path, "the object of operators is empty", _OPERATORS)
    for operator, operand in operators.items():
        here = (path, operator)
        if operator == "$contains":
            parts.append(JsonContains(field, Json(json_text(operand, here))))
            continue
        if operator not in _OPERATORS:
            raise _unknown_operator(operator, here)
        scalar = scalar_of(operand, here, f"a finite number, which {operator} takes")
        if type(scalar) is not int and type(scalar) is not float:
            raise fault("wrong_type", here, f"{operator} takes a finite number, not {shown(scalar)}")
        parts.append(TextNumberRange(field, Intervals((interval_of(operator[1:], _double(scalar, here)),))))


def _unknown_key(node: dict[str, object], path: Path, key: str) -> FilterError:
    message = f"unknown key {quoted(key)} in a filter"
    if "field" in node and "operator" in node:
        message += '; a condition with "field" and "operator" is FishMem\'s, whose "and" and "or" have no "$"'
        return fault("unknown_key", path, message, FILTER_KEYS)
    if not key.startswith("$") and key.lower() not in ("and", "or", "metadata"):
        message += f'; if it is a key of the metadata, it stands in "metadata": {{"metadata": {{{quoted(key)}: …}}}}'
    return fault("unknown_key", path, message, FILTER_KEYS, key)


def _unknown_operator(operator: str, path: Path) -> FilterError:
    message = f"unknown operator {quoted(operator)}"
    meant = OPERATOR_SIGNS.get(operator, operator.removeprefix("$").lower())
    if meant == "eq":
        message += "; to be equal to a value, give the value itself instead of the object"
    return fault("unknown_operator", path, message, _OPERATORS, "$" + meant)


def _double(number: int | float, path: Path) -> int | float:
    """The double nearest to a finite number, in canonical form: texts are compared as doubles."""
    return number_of(float(number_of(number, path)), path)


ANANSI: Final = Dialect("anansi", AnansiLimits, _parse)
