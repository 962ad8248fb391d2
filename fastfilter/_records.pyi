"""The native evaluator of records; fastfilter.runtime.records makes its arguments."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fastfilter.runtime.records import NativeTest

class RecordProgram:
    """A program that runs on records. Immutable; threads that hold the interpreter's lock share it.

    Args:
        first: the number of the step with which the program begins, MATCHES or DIFFERS (fastfilter.runtime.steps).
        steps: for each step the number of its test and of the steps it leads to, which are later ones or the answer.
        metadata: the key of a record under which its metadata are.
        fields: for each field whether it lies in the metadata, and its keys from there or from the record.
        tests: the tests.
        evaluate: what evaluates odd records: ``evaluate(records, rows)`` gives a list of bools, or raises.

    Raises:
        ValueError: the parts do not fit together.
        TypeError: a key is no plain str.
    """

    def __init__(
        self,
        first: int,
        steps: tuple[tuple[int, int, int], ...],
        metadata: str,
        fields: tuple[tuple[bool, tuple[str, ...]], ...],
        tests: tuple[NativeTest, ...],
        evaluate: Callable[[Sequence[Mapping[str, Any]], Sequence[int]], list[bool]],
    ) -> None: ...
    def matches(self, record: Mapping[str, Any]) -> bool:
        """Whether a record matches; raises what ``evaluate`` does."""
    def select(self, records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Those of the records that match, in order; raises what ``evaluate`` does."""
