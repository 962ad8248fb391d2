"""The content of a filter as a key: equal keys mean that compile() was asked the same."""

from __future__ import annotations

import contextlib
import io
import pickle
import sysconfig
from collections.abc import Callable
from typing import Any

__all__ = ["content_key", "pickled_key", "plain_key"]

_PROTOCOL = 5
_LONGEST = 1 << 20
"""Bytes of a key: keys are kept, and they are few kilobytes of any filter that is accepted."""

plain_key: Callable[[object], bytes | None] | None = None
"""The native writer of keys (``src/_content.pyx``), which borrows references as a free-threaded interpreter forbids."""
if not sysconfig.get_config_var("Py_GIL_DISABLED"):
    with contextlib.suppress(ImportError):  # a package without extensions, of which fastfilter.runtime.vm speaks
        from fastfilter._content import plain_key


class _PlainPickler(pickle.Pickler):
    """Takes only what pickles by its type and content: no object of a class, whose pickle might not tell all of it."""

    def reducer_override(self, obj: object) -> Any:
        raise pickle.PicklingError(f"{type(obj).__name__} is no plain value")


def content_key(arguments: tuple[object, ...]) -> bytes | None:
    """A key of plain Python values, alike only for values of the same types and content; None if some are not plain, or
    they are very large.

    Example:
        >>> content_key(({"a": 1},)) == content_key(({"a": 1.0},))
        False
    """
    key = None if plain_key is None else plain_key(arguments)
    return pickled_key(arguments) if key is None else key


def pickled_key(arguments: tuple[object, ...]) -> bytes | None:
    """The key where there is no native writer, or one value is too large for it: a pickle, which is made in C as well.

    Two equal filters may have two keys, where one holds a string object twice. No pickle is a key of the native writer:
    they begin with other bytes.
    """
    buffer = io.BytesIO()
    try:
        _PlainPickler(buffer, _PROTOCOL).dump(arguments)
    except Exception:  # also where the pickler gives up, on values that nest too deep; compile() will say what is wrong
        return None
    key = buffer.getvalue()
    return key if len(key) <= _LONGEST else None
