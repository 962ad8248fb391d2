"""The native evaluator of records; fastfilter.runtime.records makes its arguments."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fastfilter.runtime.vm.lowering import Lowered

class RecordProgram:
    """A program that runs on records. Immutable; threads that hold the interpreter's lock share it.

    Args:
        words: the program's machine words.
        num_registers: how many registers they use.
        metadata: the key of a record under which its metadata are.
        fields: for each field whether it lies in the metadata, and its keys from there or from the record.
        tests: for each test instruction, in order: its strings, its text (None: none), its constant as it is lowered
            for JSON values, and the test as a function.
        evaluate: what evaluates odd records: ``evaluate(records, rows)`` gives a list of bools, or raises.

    Raises:
        ValueError: the parts do not fit together.
    """

    def __init__(
        self,
        words: bytes,
        num_registers: int,
        metadata: str,
        fields: tuple[tuple[bool, tuple[str, ...]], ...],
        tests: tuple[tuple[frozenset[str], str | None, Lowered, Callable[[Any], bool]], ...],
        evaluate: Callable[[Sequence[Mapping[str, Any]], Sequence[int]], list[bool]],
    ) -> None: ...
    def matches(self, record: Mapping[str, Any]) -> bool:
        """Whether a record matches; raises what ``evaluate`` does."""
    def select(self, records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Those of the records that match, in order; raises what ``evaluate`` does."""
