"""The native virtual machine; fastfilter.runtime.vm.native makes its arguments."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from fastfilter.runtime.vm.lowering import Lowered

def targets() -> list[str]:
    """The names of the CPU targets that were compiled in and that this machine can run, the best first."""

def target() -> str:
    """The name of the CPU target whose kernels programs are bound to."""

def use_target(name: str) -> None:
    """Binds programs to the kernels of a target from now on; those that are bound already keep theirs.

    Raises:
        ValueError: there is no such target, or this machine cannot run it.
    """

def adapts() -> bool:
    """Whether programs that are bound from now on adapt the order of their tests to the data."""

def use_adaptive_order(adaptive: bool) -> None:
    """Switches the adaptive order of programs that are bound from now on; it never changes an answer."""

def count_bits(bits: bytearray) -> int:
    """How many bits are set."""

def bits_to_indices(bits: bytearray, first: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The numbers of the set bits, ascending, counted from ``first``."""

def bits_to_array(bits: bytearray, num_rows: int) -> pa.BooleanArray:
    """The first ``num_rows`` bits as an array without nulls; no copy.

    Raises:
        ValueError: there are not so many bits.
    """

def line_offsets(text: np.ndarray[Any, np.dtype[np.uint8]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where each line of a text begins, and where the last one ends: behind its newline, if it has one."""

class BoundProgram:
    """A program with the types of its columns. Immutable, shared by threads.

    Args:
        words: the program's machine words.
        num_registers: how many registers they use.
        schema: of the batches.
        columns: the columns that the program reads, by their indices in the schema.
        sources: for each Arrow field its column (a place in ``columns``, or -1) and its steps: a struct child's
            index, or a map key in UTF-8.
        groups: for each JSON column its column and steps, and the paths read from it, each a tuple of keys.
        tests: for each test instruction, in order: its source (-1 for a JSON value), its group and the path's place in
            that (-1 for an Arrow value), and its constant.
        strict_json: whether every JSON text is checked.
        trusted_json: whether JSON texts are taken for well-formed and not validated.

    Raises:
        ValueError: the parts do not fit together.
        MemoryError: there is no memory.
    """

    def __init__(
        self,
        words: bytes,
        num_registers: int,
        schema: pa.Schema,
        columns: tuple[int, ...],
        sources: tuple[tuple[int, tuple[int | bytes, ...]], ...],
        groups: tuple[tuple[int, tuple[int | bytes, ...], tuple[tuple[bytes, ...], ...]], ...],
        tests: tuple[tuple[int, int, int, Lowered], ...],
        strict_json: bool,
        trusted_json: bool,
    ) -> None: ...
    def attach(self, batch: pa.RecordBatch) -> AttachedBatch:
        """The program with a batch, of which only the columns that it reads are looked at.

        Raises:
            DataError: a column is broken, or is not of the type the program was bound to.
        """

    def evaluate(self, batch: pa.RecordBatch, morsel_rows: int) -> bytearray:
        """The bits of the matching rows of a batch, least bit first, all evaluated on this thread.

        Raises:
            DataError, MemoryError: as attach() and AttachedBatch.run().
        """

class AttachedBatch:
    """A bound program and the columns of one batch. Immutable, shared by threads; made by BoundProgram.attach()."""

    def run(self, ranges: Iterable[tuple[int, int]], out: bytearray, morsel_rows: int) -> None:
        """Evaluates ranges of rows and sets the bits of the matching ones in ``out``, least bit first.

        Args:
            ranges: pairs of a first row and the row after the last; where several threads share ``out``, the first rows
                are multiples of 8.
            out: a bit for each row of the batch, zeroed.
            morsel_rows: how many rows are evaluated together; it never changes an answer.

        Raises:
            DataError: under strict JSON the first row of a range whose text cannot be read; or a column is broken.
            MemoryError: there is no memory.
        """
