"""The two virtual machines, and the choice between them, made once when the package is imported.

``native`` is the Cython VM, ``python`` the pure-Python one; both run the same programs with the same answers.
``FASTFILTER_BACKEND`` forces one. A native extension that is there but does not load is an error, and one that is
missing without having been left out on purpose speaks: silence would be a thousandfold slowdown.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from collections.abc import Callable, Iterable
from typing import Protocol

import pyarrow as pa

from fastfilter.runtime.binding import Binding

__all__ = ["BACKENDS", "Attached", "Machine", "backend", "load_machine"]

BACKENDS = ("native", "python")


class Attached(Protocol):
    """A program bound to one batch; immutable, shared by the threads that evaluate it."""

    def run(self, ranges: Iterable[tuple[int, int]], out: bytearray, morsel_rows: int) -> None:
        """Evaluates ranges of rows and sets the bits of the matching ones in ``out``, least bit first.

        Args:
            ranges: pairs of a first row and the row after the last; where several threads share ``out``, the first rows
                are multiples of 8. The next is asked for when one is done.
            out: a bit for each row of the batch, zeroed.
            morsel_rows: how many rows are evaluated together; it never changes an answer.

        Raises:
            DataError: under ``strict_json``, with the first row of a range whose JSON text cannot be read.
        """


class Machine(Protocol):
    """A virtual machine with a bound program; immutable, shared by threads.

    Attributes:
        kernels: one line for each test instruction: its place, opcode, field, and what it compares.
        range_rows: how many rows are worth another thread, and are taken at a time by each; a multiple of 8.
    """

    kernels: list[str]
    range_rows: int

    @property
    def attach(self) -> Callable[[pa.RecordBatch], Attached]:
        """The program with the columns of a batch, which must have the binding's schema."""

    @property
    def evaluate(self) -> Callable[[pa.RecordBatch, int], bytearray]:
        """The bits of the rows of a batch that match, evaluated so many together, on the calling thread."""


def load_machine(name: str) -> Callable[[Binding], Machine]:
    """The machine class of a back end, by its name in :data:`BACKENDS`."""
    module = importlib.import_module(f"fastfilter.runtime.vm.{name}")
    machine: Callable[[Binding], Machine] = module.Machine
    return machine


def _choose() -> str:
    forced = os.environ.get("FASTFILTER_BACKEND", "")
    if forced:
        if forced not in BACKENDS:
            raise ImportError(f"FASTFILTER_BACKEND is {forced!r}; it must be one of {', '.join(BACKENDS)}")
        if forced == "native" and importlib.util.find_spec("fastfilter._native") is None:
            raise ImportError("FASTFILTER_BACKEND is 'native', but this installation has no native extension")
        return forced
    if importlib.util.find_spec("fastfilter._native") is not None:
        return "native"
    if importlib.util.find_spec("fastfilter._pure_python") is None:
        warnings.warn(
            "fastfilter's native extension is not there, so filters run in pure Python, far slower; build it, or set "
            "FASTFILTER_BACKEND=python if that is meant",
            RuntimeWarning,
            stacklevel=2,
        )
    return "python"


backend: str = _choose()
"""The back end in use: ``"native"`` or ``"python"``."""
load_machine(backend)
