"""The dialects, and :func:`parse`, which reads a filter in any of them.

To add a dialect, write one module with a :class:`~fastfilter.compiler.dialects.base.Dialect`, name it in
:data:`DIALECTS`, and say in :func:`_choose` by what shape ``dialect="auto"`` knows it, if by any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler.dialects.anansi import ANANSI, FILTER_KEYS
from fastfilter.compiler.dialects.base import (
    CODES,
    Dialect,
    Limits,
    Path,
    Request,
    fault,
    is_object,
    is_text,
    object_of,
    quoted,
    read_json,
    shown,
)
from fastfilter.compiler.dialects.fishmem import (
    BUILT_IN_NAMES,
    FISHMEM,
    FISHMEM_SEARCH,
    LOGICAL_KEYS,
    SCOPE_NAMES,
    is_logical,
    is_search_body,
    scope_value,
)
from fastfilter.compiler.expr import TRUE, And, EqualsAny, Expression
from fastfilter.errors import FilterError, nearest_name
from fastfilter.values import Elements, ScalarSet

__all__ = ["CODES", "DIALECTS", "Dialect", "Limits", "Request", "check_built_in_field", "parse"]

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {dialect.name: dialect for dialect in (FISHMEM, FISHMEM_SEARCH, ANANSI)}
)
"""Every dialect by its name."""

_DEFAULT_LIMITS: Final = {name: dialect.limits() for name, dialect in DIALECTS.items()}


def parse(
    filter: object,
    dialect: str = "auto",
    scope: Mapping[str, str] | None = None,
    limits: Mapping[str, int] | Limits | None = None,
) -> Request:
    """Reads a filter.

    Args:
        filter: a mapping, a JSON text (``str``, or UTF-8 ``bytes`` or ``bytearray``) of an object, or None, which
            matches everything (but is no search body).
        dialect: a name in :data:`DIALECTS`, or ``"auto"`` to choose by shape, see :func:`_choose`.
        scope: non-empty strings by name (``user_id``, ``agent_id``, ``run_id``); ANDed with the filter, so that nothing
            in the filter can widen it.
        limits: sizes to override, by name; or a whole ``Limits`` of the dialect, which must then be named. With
            ``"auto"`` a name may belong to any dialect, and counts where that dialect is chosen.

    Raises:
        FilterError: the filter or the scope is bad, whatever Python value it is. The pointer leads into the filter; if
            its code is of the scope, ``/scope/NAME`` leads into ``scope``. In a JSON text within a search body it
            leads on into the value of that text.
        ValueError: no such dialect, no such limit, or no value for a limit.

    Example:
        >>> parse('{"metadata": {"score": {"$gte": 0.8}}}').dialect
        'anansi'
    """
    if not isinstance(dialect, str) or (dialect != "auto" and dialect not in DIALECTS):
        raise _unknown("dialect", dialect, ("auto", *DIALECTS))
    if limits is not None:
        _check_limits(limits, dialect)
    outer = {} if scope is None else _read_scope(scope)
    try:
        if filter is None:
            chosen = DIALECTS["fishmem" if dialect == "auto" else dialect]
            if not chosen.none_matches_all:
                raise fault("not_an_object", None, f"a filter of dialect {chosen.name} must be an object, not null")
            request = Request(TRUE, chosen.name, {}, {})
        else:
            value = filter if type(filter) is dict or not is_text(filter) else read_json(filter, None)
            plain = object_of(value, None, "a filter")
            chosen = _choose(plain) if dialect == "auto" else DIALECTS[dialect]
            request = chosen.parse(plain, _limits_of(chosen, limits))
    except RecursionError:
        raise fault("too_deep", None, "the filter nests too deep for this process") from None
    return _with_scope(request, outer) if outer or request.scope else request


def check_built_in_field(name: object) -> None:
    """Checks the name of a top-level column that a filter can be about: a built-in field or a scope.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in BUILT_IN_NAMES:
        raise _unknown("built-in field", name, BUILT_IN_NAMES)


def _unknown(kind: str, name: object, names: Sequence[str]) -> ValueError:
    near = nearest_name(name, names) if isinstance(name, str) else None
    hint = f"; did you mean {near!r}?" if near else ""
    return ValueError(f"unknown {kind} {name!r}; allowed: {', '.join(names)}{hint}")


def _choose(filter: dict[str, object]) -> Dialect:
    """The dialect of a filter by its shape. The first row that fits counts:

    ====================================================================  ==================================
    shape                                                                 reading
    ====================================================================  ==================================
    ``{}``                                                                fishmem (matches everything)
    a key beginning with ``$``, or ``metadata`` an object, and            refused: ``no_dialect``
    with it one of ``field``, ``and``, ``or``, ``not``, ``filters``
    a key beginning with ``$``                                            anansi
    ``metadata`` an object, alone                                         anansi
    ``metadata`` an object, beside other keys                             refused: ``no_dialect``
    ``filters`` an object; null or a text, beside ``query``               fishmem-search
    one of ``field``, ``and``, ``or``, ``not``                            fishmem (logical expression)
    a scope key beside ``query`` or ``filters``                           refused: ``ambiguous_dialect``
    ``operator`` and ``value``, without ``field``                         refused: ``ambiguous_dialect``
    anything else                                                         fishmem (legacy equality map)
    ====================================================================  ==================================

    Raises:
        FilterError: none does.
    """
    metadata_object = "metadata" in filter and is_object(filter["metadata"])
    dollar = None
    for key in filter:
        if key.startswith("$"):
            dollar = key
            break
    if dollar is not None or metadata_object:
        theirs = next((key for key in (*LOGICAL_KEYS, "filters") if key in filter), None)
        if theirs is not None:
            raise _no_dialect(dollar or "metadata", theirs)
        if dollar is not None or len(filter) == 1:
            return ANANSI
        raise _no_dialect("metadata", next(key for key in filter if key not in FILTER_KEYS))
    if is_search_body(filter):
        return FISHMEM_SEARCH
    if is_logical(filter):
        return FISHMEM
    if ("query" in filter or "filters" in filter) and any(key in filter for key in SCOPE_NAMES):
        raise fault(
            "ambiguous_dialect",
            None,
            'this may be a search body whose "filters" is missing, or an equality map on metadata keys; '
            'say dialect="fishmem-search" for the one, dialect="fishmem" for the other',
            ("fishmem-search", "fishmem"),
        )
    if "operator" in filter and "value" in filter:
        others = [key for key in filter if key not in ("operator", "value")]
        near = f'; did you mean "field" by {others[0]!r}?' if others else ""
        raise fault(
            "ambiguous_dialect",
            None,
            'this looks like a condition, but has no "field"'
            + near
            + " If it is an equality map on metadata keys, say "
            'dialect="fishmem"',
            ("field", "operator", "value"),
        )
    return FISHMEM


def _no_dialect(of_anansi: str, of_other: str) -> FilterError:
    return fault(
        "no_dialect",
        (None, of_other),
        f"{quoted(of_anansi)} and {quoted(of_other)} do not stand together in any dialect: anansi needs an object of "
        'only "metadata" (an object), "$and" and "$or" (arrays); fishmem needs "field", "operator" and "value", or one '
        'of "and", "or", "not", or a map from keys to scalars; fishmem-search needs a body with "filters"',
        ("fishmem", "fishmem-search", "anansi"),
    )


def _check_limits(limits: object, dialect: str) -> None:
    if isinstance(limits, Limits):
        if dialect == "auto" or not isinstance(limits, DIALECTS[dialect].limits):
            raise ValueError(
                f"a {type(limits).__name__} needs its dialect named, which {dialect!r} is not; or give a mapping"
            )
        return
    if not isinstance(limits, Mapping):
        raise ValueError(f"limits must be a mapping or a Limits, not {type(limits).__name__}")
    chosen = DIALECTS.values() if dialect == "auto" else (DIALECTS[dialect],)
    names = list(dict.fromkeys(name for each in chosen for name in each.limits.names()))
    for name in limits:
        if name not in names:
            raise _unknown("limit", name, names)
    for each in chosen:
        _limits_of(each, limits)


def _limits_of(dialect: Dialect, limits: Mapping[str, int] | Limits | None) -> Limits:
    if limits is None:
        return _DEFAULT_LIMITS[dialect.name]
    if isinstance(limits, Limits):
        return limits
    names = dialect.limits.names()
    return dialect.limits(**{name: value for name, value in limits.items() if name in names})


def _read_scope(scope: object) -> dict[str, str]:
    path: Path = (None, "scope")
    if not is_object(scope):
        raise fault("invalid_scope", path, f"scope must be a mapping, not {shown(scope)}", SCOPE_NAMES)
    read: dict[str, str] = {}
    for name, value in object_of(scope, path, "scope").items():
        if name not in SCOPE_NAMES:
            raise fault("unknown_scope", (path, name), f"unknown scope {quoted(name)}", SCOPE_NAMES, name)
        read[name] = scope_value(value, (path, name), name)
    return read


def _with_scope(request: Request, outer: dict[str, str]) -> Request:
    """The request with its own scope and the caller's, ANDed in front of the expression."""
    for name, value in outer.items():
        if request.scope.get(name, value) != value:
            raise fault(
                "scope_conflict",
                (None, name),
                f"the search body says {name} is {quoted(request.scope[name])}, scope= says {quoted(value)}",
            )
    given = request.scope | outer
    scope: dict[str, str] = {name: given[name] for name in SCOPE_NAMES if name in given}
    parts: list[Expression] = [
        EqualsAny(Field(Role.COLUMN, (name,)), ScalarSet(strings=(value,)), Elements.NEVER)
        for name, value in scope.items()
    ]
    return Request(And((*parts, request.expression)), request.dialect, request.rest, scope)
