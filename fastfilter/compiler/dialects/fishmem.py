"""The FishMem dialect: the logical expression, the legacy equality map, and the whole body of a search request.

Logical expression: an object with one of the keys ``field``, ``and``, ``or``, ``not``. It is a condition, exactly
``{"field": …, "operator": …, "value": …}``, or exactly one of ``{"and": […]}``, ``{"or": […]}``, ``{"not": {…}}``.
Legacy map: any other object; top-level metadata keys and the scalars they must equal. What the operators mean, and on
which fields they are defined, is in docs/semantics.md.

Search body: ``{"query": …, "user_id": …, "agent_id": …, "run_id": …, "filters": {…}}`` with anything else beside. It is
recognised by ``filters``: an object, or null or a JSON text beside ``query``. Scope keys must be non-empty strings:
a scope that is null or misspelled is an error, since a search that lost its scope shows one user another's memories.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fastfilter.bytecode.constants import Intervals, Text
from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler.dialects.base import (
    Dialect,
    Limits,
    Path,
    Request,
    Scalar,
    array_of,
    fault,
    interval_of,
    is_array,
    is_object,
    is_text,
    number_of,
    object_of,
    over_limit,
    quoted,
    read_json,
    scalar_of,
    shown,
    string_of,
)
from fastfilter.compiler.dialects.fishmem_faults import meant_instead, refused_field, refused_operator, wrong_keys
from fastfilter.compiler.dialects.fishmem_fields import (
    BUILT_IN,
    BUILT_IN_NAMES,
    LOGICAL_KEYS,
    MEMORY_TYPE,
    METADATA,
    METADATA_PATH,
    NUMERIC,
    OPERATORS,
    SCOPE_NAMES,
    TIMESTAMP,
)
from fastfilter.compiler.expr import (
    FALSE,
    TRUE,
    And,
    Contains,
    ContainsIgnoreCase,
    EqualsAny,
    Exists,
    Expression,
    IsNull,
    Not,
    NumberRange,
    Or,
    StringRange,
    TimestampRange,
)
from fastfilter.values import Elements, ScalarSet, StringBound, parse_timestamp

__all__ = [
    "BUILT_IN_NAMES", "FISHMEM", "FISHMEM_SEARCH", "LOGICAL_KEYS", "SCOPE_NAMES", "FishmemLimits", "is_logical",
    "is_search_body", "scope_value",
]  # fmt: skip

_MEMORY_TYPES: Final = ("fact", "preference", "decision", "identity", "event", "observation", "goal", "todo")
_FORBIDDEN_SEGMENTS: Final = frozenset({"__proto__", "prototype", "constructor"})
_RANGES: Final = frozenset({"gt", "gte", "lt", "lte"})
# What JavaScript's trim() takes off, which is not what str.strip() does.
_WHITE_SPACE: Final = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)

# Python finds a member of an enumeration in its class ten times as slowly as a name of a module.
_NEVER: Final = Elements.NEVER
_ALSO: Final = Elements.ALSO
_IN_METADATA: Final = Role.METADATA

_AN_INSTANT: Final = "a full ISO 8601 timestamp such as 2026-07-01T00:00:00.000Z"
_A_SCALAR: Final = "a string, a finite number, true, false or null"

# Keys that a search body may not have, as they read without case and separators: what they were meant to be would be
# lost in silence.
_MISSPELLED: Final = {
    "userid": "user_id",
    "agentid": "agent_id",
    "runid": "run_id",
    "filter": "filters",
    "filters": "filters",
}


@dataclass(frozen=True, slots=True)
class FishmemLimits(Limits):
    """FishMem's documented limits.

    Attributes:
        max_depth: of a logical expression; a lone condition is 1, each and/or/not around it adds 1.
        max_conditions: in a logical expression.
        max_children: of one and/or.
        max_values: of one in/nin.
        max_string_length: of a string to compare with, in code points.
        max_legacy_keys: of a legacy map.
        max_key_length: of a key of a legacy map, trimmed, in code points.
        max_path_length: of a metadata path with its ``metadata.``.
    """

    max_depth: int = 8
    max_conditions: int = 100
    max_children: int = 20
    max_values: int = 100
    max_string_length: int = 1024
    max_legacy_keys: int = 20
    max_key_length: int = 128
    max_path_length: int = 265


def is_logical(filter: dict[str, object]) -> bool:
    """Whether an object is a logical expression, and no equality map: it has one of :data:`LOGICAL_KEYS`."""
    return "and" in filter or "field" in filter or "or" in filter or "not" in filter


def is_search_body(filter: dict[str, object]) -> bool:
    """Whether an object is the whole body of a search, and not a filter."""
    if "filters" not in filter:
        return False
    filters = filter["filters"]
    return is_object(filters) or ("query" in filter and (filters is None or is_text(filters)))


def scope_value(value: object, path: Path, name: str) -> str:
    """The value of a scope as a plain string.

    Raises:
        FilterError: it is no string, or empty; null is no way to leave a scope out.
    """
    if not is_array(value) and not is_object(value):
        scalar = scalar_of(value, path, "a string")
        if type(scalar) is str and scalar:
            return scalar
    raise fault(
        "invalid_scope",
        path,
        f"scope {name} must be a non-empty string, not {shown(value)}; leave it out if there is none",
    )


def _parse(filter: dict[str, object], limits: FishmemLimits) -> Request:
    if is_search_body(filter):
        return _parse_search_body(filter, limits)
    return Request(_parse_filter(filter, None, limits), "fishmem", {}, {})


def _parse_search_body(body: dict[str, object], limits: FishmemLimits) -> Request:
    scope: dict[str, str] = {}
    rest: dict[str, object] = {}
    for key, value in body.items():
        if key in SCOPE_NAMES:
            scope[key] = scope_value(value, (None, key), key)
        elif key in LOGICAL_KEYS:
            raise fault(
                "mixed_shapes", (None, key), f'{quoted(key)} belongs inside "filters" of a search body, not beside it'
            )
        elif key != "filters":
            meant = _MISSPELLED.get(re.sub(r"[\W_]", "", key).lower())
            if meant is not None:
                raise fault(
                    "unknown_key",
                    (None, key),
                    f"unknown key {quoted(key)} in a search body; did you mean {quoted(meant)}?",
                )
            rest[key] = value
    filters, path = body.get("filters"), (None, "filters")
    if is_text(filters):
        filters = read_json(filters, path)
        expression = _parse_filter(object_of(filters, path, "the filter in a JSON text"), path, limits)
    elif filters is None:
        expression = TRUE
    else:
        expression = _parse_filter(object_of(filters, path, '"filters"'), path, limits)
    return Request(expression, "fishmem-search", rest, scope)


def _parse_filter(filter: dict[str, object], path: Path, limits: FishmemLimits) -> Expression:
    if is_logical(filter):
        return _LogicalParser(limits).expression(filter, path, 1)
    return _legacy_map(filter, path, limits)


class _LogicalParser:
    """Reads one logical expression; counts its conditions."""

    __slots__ = ("limits", "num_conditions")

    def __init__(self, limits: FishmemLimits) -> None:
        self.limits = limits
        self.num_conditions = 0

    # One Python frame a level, so that a raised max_depth does not run into the interpreter's own limit too soon.
    def expression(self, node: object, path: Path, depth: int) -> Expression:
        """What ``node``, with ``depth - 1`` logical objects around it, means."""
        limits = self.limits
        node = object_of(node, path, "a filter expression")
        if depth > limits.max_depth:
            raise over_limit("too_deep", path, f"the expression is {depth} levels deep here", limits.max_depth)
        if "field" in node or len(node) != 1:
            if len(node) == 3 and "field" in node and "operator" in node and "value" in node:
                return self.condition(node, path)
            raise wrong_keys(node, path)
        if "not" in node:
            return Not(self.expression(node["not"], (path, "not"), depth + 1))
        key = "and" if "and" in node else "or"
        if key not in node:
            raise wrong_keys(node, path)
        path = (path, key)
        children = array_of(node[key], path, quoted(key))
        if not children:
            raise fault("empty_array", path, f"{quoted(key)} must have at least one child")
        if len(children) > limits.max_children:
            raise over_limit(
                "too_many_children", path, f"{quoted(key)} has {len(children)} children", limits.max_children
            )
        parsed = []
        for position, child in enumerate(children):
            parsed.append(self.expression(child, (path, position), depth + 1))
        return And(tuple(parsed)) if key == "and" else Or(tuple(parsed))

    def condition(self, node: dict[str, object], path: Path) -> Expression:
        """What a condition, an object with exactly the three keys, means."""
        self.num_conditions += 1
        if self.num_conditions > self.limits.max_conditions:
            raise fault(
                "too_many_conditions", path, f"the filter has more than {self.limits.max_conditions} conditions"
            )
        name, operator, value = node["field"], node["operator"], node["value"]
        if type(name) is not str:
            name = string_of(name, (path, "field"), "the name of a field, a string")
        field, field_type = BUILT_IN.get(name) or self.metadata_field(name, (path, "field"))
        if type(operator) is not str:
            operator = string_of(operator, (path, "operator"), "the name of an operator, a string")
        if operator not in OPERATORS[field_type]:
            raise refused_operator(operator, name, field_type, (path, "operator"))
        path = (path, "value")

        if operator == "eq" or operator == "ne":
            equal = EqualsAny(field, _scalar_set((self.literal(value, path, field_type, name),), field_type), _NEVER)
            return equal if operator == "eq" else And((Exists(field), Not(equal)))
        if operator in _RANGES:
            return self.ordered(field, field_type, operator, self.literal(value, path, field_type, name))
        if operator == "in" or operator == "nin":
            constant = _scalar_set(self.literals(value, path, field_type, name), field_type)
            equal = EqualsAny(field, constant, _ALSO)
            return equal if operator == "in" else And((Exists(field), Not(equal)))
        if operator == "exists":
            present = scalar_of(value, path, 'true or false, which "exists" takes')
            if type(present) is not bool:
                raise fault("wrong_type", path, f'"exists" takes true or false, not {shown(value)}', ("true", "false"))
            return Exists(field) if present else Not(Exists(field))
        if type(value) is not str:
            value = string_of(value, path, f"a string, which {quoted(operator)} takes")
        text = self.literal(value, path, field_type, name)
        return (Contains if operator == "contains" else ContainsIgnoreCase)(field, Text(text))  # type: ignore[arg-type]

    def metadata_field(self, name: str, path: Path) -> tuple[Field, str]:
        """The field of a name that is not built in."""
        if METADATA_PATH.fullmatch(name) is None:
            raise refused_field(name, path)
        if len(name) > self.limits.max_path_length:
            raise over_limit(
                "path_too_long", path, f"the metadata path has {len(name)} characters", self.limits.max_path_length
            )
        segments = tuple(name.split(".")[1:])
        if not _FORBIDDEN_SEGMENTS.isdisjoint(segments):
            forbidden = next(segment for segment in segments if segment in _FORBIDDEN_SEGMENTS)
            raise fault(
                "forbidden_segment",
                path,
                f"metadata path {quoted(name)} has the segment {quoted(forbidden)}, which is refused",
            )
        return Field(_IN_METADATA, segments), METADATA

    def literal(self, value: object, path: Path, field_type: str, name: str) -> Scalar:
        """A value that the field may be compared with: numbers in canonical form, an instant as its nanoseconds."""
        scalar = scalar_of(value, path, _A_SCALAR)
        if type(scalar) is str:
            if len(scalar) > self.limits.max_string_length:
                raise over_limit(
                    "string_too_long", path, f"the string has {len(scalar)} characters", self.limits.max_string_length
                )
            if field_type is TIMESTAMP:
                instant = parse_timestamp(scalar)
                if instant is None:
                    message = f"{quoted(scalar)} is not {_AN_INSTANT}, which {name} takes"
                    raise fault("invalid_timestamp", path, message)
                return instant
        elif type(scalar) is int or type(scalar) is float:
            scalar = number_of(scalar, path)
        if field_type is NUMERIC and (type(scalar) is not int and type(scalar) is not float):
            raise fault("wrong_type", path, f"{name} takes only numbers, not {shown(scalar)}")
        if field_type is TIMESTAMP:
            raise fault("wrong_type", path, f"{shown(scalar)} is not {_AN_INSTANT}, which {name} takes")
        if field_type is MEMORY_TYPE and scalar not in _MEMORY_TYPES:
            given = scalar if type(scalar) is str else None
            raise fault("value_not_allowed", path, f"{shown(scalar)} is no memory_type", _MEMORY_TYPES, given)
        return scalar

    def literals(self, value: object, path: Path, field_type: str, name: str) -> list[Scalar]:
        """The values of ``in`` and ``nin``."""
        values = array_of(value, path, 'the value of "in" and "nin"')
        if not values:
            raise fault("empty_array", path, '"in" and "nin" take at least one value')
        if len(values) > self.limits.max_values:
            raise over_limit("too_many_values", path, f"{len(values)} values are listed", self.limits.max_values)
        return [self.literal(item, (path, position), field_type, name) for position, item in enumerate(values)]

    def ordered(self, field: Field, field_type: str, operator: str, scalar: Scalar) -> Expression:
        """What ``gt``, ``gte``, ``lt`` and ``lte`` mean."""
        if type(scalar) is int or type(scalar) is float:
            intervals = Intervals((interval_of(operator, scalar),))
            return TimestampRange(field, intervals) if field_type is TIMESTAMP else NumberRange(field, intervals)
        if type(scalar) is str:
            return StringRange(field, StringBound(operator, scalar))
        # Nothing is ordered with a bool or null: false. The leaf says which field is compared with what, which the
        # program keeps for the binder (FieldUse).
        return And((EqualsAny(field, _scalar_set((scalar,), field_type), _NEVER), FALSE))


def _scalar_set(scalars: Sequence[Scalar], field_type: str) -> ScalarSet:
    if len(scalars) == 1 and type(scalars[0]) is str:
        return ScalarSet(False, False, False, (), (scalars[0],), ())
    numbers: set[int | float] = set()
    strings: set[str] = set()
    others: set[bool | None] = set()
    for scalar in scalars:
        if type(scalar) is str:
            strings.add(scalar)
        elif type(scalar) is int or type(scalar) is float:
            numbers.add(scalar)
        else:
            others.add(scalar)  # type: ignore[arg-type]
    if field_type is TIMESTAMP:
        return ScalarSet(instants=tuple(sorted(numbers)))  # type: ignore[arg-type]
    return ScalarSet(
        None in others, False in others, True in others, tuple(sorted(numbers)), tuple(sorted(strings)), ()
    )


def _legacy_map(filter: dict[str, object], path: Path, limits: FishmemLimits) -> Expression:
    if len(filter) > limits.max_legacy_keys:
        raise over_limit("too_many_keys", path, f"the equality map has {len(filter)} keys", limits.max_legacy_keys)
    parsed: list[Expression] = []
    for key, value in filter.items():
        here = (path, key)
        name = key.strip(_WHITE_SPACE)
        if not name:
            raise fault("empty_key", here, "a key of the equality map is empty, or nothing but white space")
        if len(name) > limits.max_key_length:
            raise over_limit("key_too_long", here, f"the key has {len(name)} characters", limits.max_key_length)
        if is_object(value) or is_array(value):
            raise fault(
                "wrong_type",
                here,
                f"an equality map takes {_A_SCALAR} for key {quoted(key)}, not {shown(value)}"
                + meant_instead(key, value),
            )
        scalar = scalar_of(value, here, _A_SCALAR)
        field = Field(_IN_METADATA, (name,))
        if scalar is None:
            parsed.append(IsNull(field))
            continue
        if type(scalar) is str:
            if len(scalar) > limits.max_string_length:
                raise over_limit(
                    "string_too_long", here, f"the string has {len(scalar)} characters", limits.max_string_length
                )
        elif type(scalar) is int or type(scalar) is float:
            scalar = number_of(scalar, here)
        parsed.append(EqualsAny(field, _scalar_set((scalar,), METADATA), _NEVER))
    if len(parsed) == 1:
        return parsed[0]
    return And(tuple(parsed)) if parsed else TRUE


FISHMEM: Final = Dialect("fishmem", FishmemLimits, _parse)
FISHMEM_SEARCH: Final = Dialect("fishmem-search", FishmemLimits, _parse_search_body, none_matches_all=False)
