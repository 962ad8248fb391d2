"""``python -m fastfilter`` and the command ``fastfilter``: the command line, from its first moment on.

What the command line needs takes a while to import, and must not be interrupted halfway: until a command is under way
there is nothing to clean up, so a signal ends the process at once, without a word.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import NoReturn

__all__ = ["main"]


class _WithoutPandas:
    """Keeps pandas out of the process, if it is installed.

    pyarrow imports it at its first conversion, only to know pandas objects when it sees them. That takes longer than
    a short run, and pyarrow drops every exception meanwhile, also the one a signal raises.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("the command line does without pandas", name=name)
        return None


def main() -> NoReturn:
    """The entry point."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks for
            signal.signal(number, _end_at_once)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - closed by who started us
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    sys.meta_path.insert(0, _WithoutPandas)
    try:
        from fastfilter import cli
    except ImportError as error:  # FASTFILTER_BACKEND names none, or the native extension does not load
        if os.environ.get("FASTFILTER_DEBUG") == "1":
            raise
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    cli.main()


def _end_at_once(number: int, _: object) -> NoReturn:
    os._exit(128 + number)


if __name__ == "__main__":
    main()
