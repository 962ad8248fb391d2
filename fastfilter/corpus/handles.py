"""File handles: how many there may be, and whether an error says that there are no more."""

from __future__ import annotations

import errno
import sys

__all__ = ["is_out_of_handles", "most_open_files"]


def most_open_files() -> int:
    """How many files this process may have open."""
    if sys.platform == "win32":
        return 512  # what its C library allows
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft


def is_out_of_handles(error: BaseException | None) -> bool:
    """Whether an error, or what it was raised from, says that no more files can be opened.

    Example:
        >>> is_out_of_handles(OSError(24, "Too many open files")), is_out_of_handles(OSError(2, "No such file"))
        (True, False)
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            return True
        error = error.__cause__ or error.__context__
    return False
