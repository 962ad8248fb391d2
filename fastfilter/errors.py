"""The errors of the package, one class for each thing that can be wrong.

A bad *filter* is a :class:`FilterError`, a filter that does not fit a *schema* a :class:`BindError`, a *row* that
cannot be read a :class:`DataError`, and a serialised program that cannot be trusted a :class:`ProgramError`. All are
``ValueError``; nothing else is raised on purpose for user input of the right Python type.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["BindError", "DataError", "FilterError", "ProgramError", "nearest_name", "pointer_of"]


class FilterError(ValueError):
    """The filter is bad.

    Attributes:
        code: a stable, machine-readable name of the fault, such as ``"unknown_operator"``.
        pointer: RFC 6901 JSON pointer into the filter that was given; ``""`` is the whole filter.
        message: the fault in words, with the value, what is allowed, and the nearest allowed name if one is close.
        allowed: the values that would have been accepted, if there is such a list; else empty.

    Example:
        >>> import fastfilter
        >>> try:
        ...     fastfilter.compile({"field": "importance", "operator": "ge", "value": 3})
        ... except fastfilter.FilterError as error:
        ...     print(error.code, error.pointer)
        unknown_operator /operator
    """

    def __init__(self, code: str, pointer: str, message: str, allowed: Sequence[str] = ()) -> None:
        super().__init__(code, pointer, message, tuple(allowed))
        self.code = code
        self.pointer = pointer
        self.message = message
        self.allowed = tuple(allowed)

    def __str__(self) -> str:
        # A key of the filter may hold lone surrogates, which no stream takes.
        pointer = self.pointer.encode("utf-8", "backslashreplace").decode()
        return f"{self.message} (at {pointer or 'the top of the filter'})"


class BindError(ValueError):
    """The filter does not fit the schema of the data.

    Attributes:
        field: the logical field of the filter, such as ``"metadata.score"``.
        column: the column concerned, or None if there is none.
        type: the column's Arrow type as text, or None.
        message: the fault in words.
    """

    def __init__(self, message: str, *, field: str, column: str | None = None, type: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.column = column
        self.type = type

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_bind_error, (self.message, self.field, self.column, self.type)


def _rebuild_bind_error(message: str, field: str, column: str | None, type: str | None) -> BindError:
    return BindError(message, field=field, column=column, type=type)


class DataError(ValueError):
    """A row of the data cannot be read as what it must be, and the caller asked not to pass over it.

    Attributes:
        message: the fault in words, without the row.
        row: number of the first such row in the data given, from 0, or None where rows have no number.
    """

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message, row)
        self.message = message
        self.row = row

    def __str__(self) -> str:
        return self.message if self.row is None else f"row {self.row}: {self.message}"


class ProgramError(ValueError):
    """A serialised or assembled program is damaged, of another version, or does not pass the verifier."""


def nearest_name(name: str, allowed: Iterable[str]) -> str | None:
    """The allowed name closest to ``name``, or None if none is close.

    Example:
        >>> nearest_name("importence", ["importance", "content"])
        'importance'
    """
    names = list(allowed)
    by_lower = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower()[:256], by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def pointer_of(parts: Iterable[str | int]) -> str:
    """An RFC 6901 JSON pointer of object keys and array positions.

    Example:
        >>> pointer_of(["and", 0, "a/b"])
        '/and/0/a~1b'
    """
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
