"""What is wrong with a FishMem filter, in words, and what was probably meant."""

from __future__ import annotations

from typing import Final

from fastfilter.compiler.dialects.base import OPERATOR_SIGNS, Path, fault, quoted
from fastfilter.compiler.dialects.fishmem_fields import (
    BUILT_IN,
    CONDITION_KEYS,
    LOGICAL_KEYS,
    METADATA,
    METADATA_PATH,
    OPERATORS,
    SCOPE_NAMES,
)
from fastfilter.errors import FilterError, nearest_name

__all__ = ["meant_instead", "refused_field", "refused_operator", "wrong_keys"]


def meant_instead(key: str, value: object) -> str:
    """What was probably meant by an object or array in an equality map, for the end of the message."""
    if key in ("metadata", "$and", "$or"):
        return '; an Anansi filter is given alone, with dialect="anansi"'
    if type(value) is list:
        if not any(type(item) is dict for item in value):
            return _as_condition("to match some of several values say", key, "in")
        near = _SYNONYMS.get(key.lower()) or nearest_name(key, ("and", "or"))
    else:
        for operator in value if type(value) is dict else ():
            if type(operator) is str and operator.startswith("$"):
                meant = operator[1:] if operator[1:] in OPERATORS[METADATA] else "eq"
                return (
                    '; conditions of an Anansi filter stand in "metadata", as {"metadata": {"KEY": {"$gte": 1}}}'
                    + _as_condition("in FishMem say", key, meant)
                )
            meant = OPERATOR_SIGNS.get(operator, operator) if type(operator) is str else ""
            if meant in OPERATORS[METADATA]:
                return _as_condition("say", key, meant)
        near = nearest_name(key, ("not", "metadata", "filters"))
    return "" if near is None else f"; did you mean {quoted(near)}?"


_SYNONYMS: Final = {"all": "and", "any": "or"}


def _as_condition(words: str, key: str, operator: str) -> str:
    """The condition on a key of the metadata, or on the built-in field of its name; empty where there is none."""
    field = key if key in BUILT_IN or key.startswith("metadata.") else f"metadata.{key}"
    if field not in BUILT_IN and METADATA_PATH.fullmatch(field) is None:
        return ""
    return f'; {words} {{"field": {quoted(field)}, "operator": "{operator}", "value": …}}'


def wrong_keys(node: dict[str, object], path: Path) -> FilterError:
    """Why an object with these keys is no logical expression."""
    present = [key for key in LOGICAL_KEYS if key in node]
    if len(present) > 1:
        both = " and ".join(quoted(key) for key in present)
        return fault("mixed_shapes", path, f"{both} stand in one object, where only one may: nest them instead")
    if not present:
        if "operator" in node or "value" in node:
            return fault("missing_key", path, 'the condition has no key "field"', CONDITION_KEYS)
        if not node:
            return fault("missing_key", path, "the expression is empty", LOGICAL_KEYS)
        key, value = next(iter(node.items()))
        message = f"unknown key {quoted(key)} in a logical expression"
        if key in ("metadata", "$and", "$or"):
            message += '; an Anansi filter joins its parts with "$and" and "$or"'
        elif type(value) is dict and nearest_name(key, LOGICAL_KEYS) is None:
            message += meant_instead(key, value)
        return fault("unknown_key", (path, key), message, LOGICAL_KEYS, key)
    if present[0] != "field":
        key = next(key for key in node if key != present[0])
        if key in CONDITION_KEYS:
            return fault(
                "mixed_shapes", (path, key), f"{quoted(key)} of a condition stands beside {quoted(present[0])}"
            )
        return fault(
            "mixed_shapes",
            (path, key),
            f"{quoted(key)} stands beside {quoted(present[0])}, which must stand alone; in a logical expression "
            'a metadata key is the field "metadata.KEY" of a condition',
        )
    unknown = [key for key in node if key not in CONDITION_KEYS]
    missing = [key for key in CONDITION_KEYS if key not in node]
    if unknown:
        key = unknown[0]
        meant = missing[0] if len(missing) == len(unknown) == 1 else key
        return fault("unknown_key", (path, key), f"unknown key {quoted(key)} in a condition", CONDITION_KEYS, meant)
    return fault("missing_key", path, f"the condition has no key {quoted(missing[0])}", CONDITION_KEYS)


def refused_field(name: str, path: Path) -> FilterError:
    allowed = (*BUILT_IN, "metadata.KEY")
    if name in SCOPE_NAMES:
        return fault(
            "scope_field",
            path,
            f"{name} is scope and no field to filter on; give it with scope= or at the top of a search body",
            allowed,
        )
    if name == "metadata" or name.startswith("metadata."):
        return fault(
            "invalid_path",
            path,
            f'{quoted(name)} is no metadata path: after "metadata." come segments of A-Z a-z 0-9 _ - joined by dots',
        )
    message = f"unknown field {quoted(name)}"
    if name.lower().startswith("metadata."):
        message += f"; did you mean {quoted('metadata' + name[8:])}?"
    elif METADATA_PATH.fullmatch("metadata." + name):
        message += f"; a key of the metadata is spelled {quoted('metadata.' + name)}"
    return fault("unknown_field", path, message, allowed, name)


def refused_operator(operator: str, name: str, field_type: str, path: Path) -> FilterError:
    allowed = OPERATORS[field_type]
    if operator in OPERATORS[METADATA]:
        return fault(
            "operator_not_allowed",
            path,
            f"operator {quoted(operator)} is not defined on {name}, a {field_type}",
            allowed,
        )
    meant = OPERATOR_SIGNS.get(operator, operator)
    return fault("unknown_operator", path, f"unknown operator {quoted(operator)} on {name}", allowed, meant)
