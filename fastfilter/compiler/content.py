"""The content of a filter as a key: equal keys mean that compile() was asked the same."""

from __future__ import annotations

import io
import pickle
from typing import Any

__all__ = ["content_key"]

_PROTOCOL = 5
_STACK_GLOBAL = pickle.STACK_GLOBAL[0]


class _PlainPickler(pickle.Pickler):
    """Takes only what pickles by its type and content: no object of a class, whose pickle might not tell all of it."""

    def reducer_override(self, obj: object) -> Any:
        raise pickle.PicklingError(f"{type(obj).__name__} is no plain value")


def content_key(arguments: tuple[object, ...]) -> bytes | None:
    """A key of plain Python values, alike only for values of the same types and content; None if some are not plain.

    A pickle is that, and is made in C. (Two equal filters may have two keys, where one holds a string object twice.)

    Example:
        >>> content_key(({"a": 1},)) == content_key(({"a": 1.0},))
        False
    """
    try:
        key = pickle.dumps(arguments, _PROTOCOL)
        if _STACK_GLOBAL in key:  # a class, or the same byte in a text
            buffer = io.BytesIO()
            _PlainPickler(buffer, _PROTOCOL).dump(arguments)
    except Exception:  # whatever a stranger's object raises; compile() will say what is wrong with it
        return None
    return key
