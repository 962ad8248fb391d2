"""Row groups and files that need not be read: what Parquet's statistics and the names of folders tell of their values.

Nothing is taken for granted that a writer may leave out: what is missing, damaged, or of another type than the column
tells nothing. Bounds are only ever bounds, never values that are there, so shortened ones are as good as exact ones.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

from fastfilter.corpus.parquet_leaves import leaf_paths
from fastfilter.corpus.possible import ANYTHING, MISSING_EVERYWHERE, Values, can_match, together
from fastfilter.runtime.arrow_types import is_string
from fastfilter.runtime.binding import Binding, JsonPath, Source, StructChild

__all__ = ["Pruner"]


class Pruner:
    """Judges the parts of one file by a filter.

    Args:
        binding: the filter, bound to the columns of the file, those its folders give included.
        partitions: the values of columns that the folders give; None is null.
        parquet: the file's metadata and its columns as Arrow has them, if it is a Parquet file.
    """

    def __init__(
        self,
        binding: Binding,
        partitions: Mapping[str, str | None],
        parquet: tuple[Any, pa.Schema] | None = None,
    ) -> None:
        self._binding = binding
        # Under strict_json every text is looked at, and a broken one is an error also where no row could match.
        self._may_prune = not (self._binding.strict_json and any(source.json for source in self._binding.sources))
        self._partitions = partitions
        self._leaves: list[int | None] = [None] * len(self._binding.sources)
        if parquet is not None:
            metadata, columns = parquet
            paths = list(leaf_paths(columns))
            if [".".join(path) for path, _ in paths] == [
                metadata.schema.column(number).path for number in range(metadata.num_columns)
            ]:
                numbers = {indices: number for number, (_, indices) in enumerate(paths)}
                self._leaves = [numbers.get(_indices(source)) for source in self._binding.sources]

    def can_match(self) -> bool:
        """Whether a row of the file may match, by its folders alone."""
        return not self._may_prune or can_match(self._binding.program, self._all_values(None))

    def row_groups_to_read(self, row_groups: Sequence[Any]) -> list[bool]:
        """Whether a row of each row group may match, given the metadata of all.

        Of most files either all row groups are to be read or none, which they show when they are judged together.
        """
        if not self._may_prune or not row_groups:
            return [True] * len(row_groups)
        of_groups = [self._all_values(row_group) for row_group in row_groups]
        program = self._binding.program
        if not can_match(program, [together(parts) for parts in zip(*of_groups, strict=True)]):
            return [False] * len(row_groups)
        return [can_match(program, values) for values in of_groups]

    def _all_values(self, row_group: Any) -> list[Values]:
        """What is known of every field; of the whole file without a row group."""
        return [
            self._values(source, leaf, row_group)
            for source, leaf in zip(self._binding.sources, self._leaves, strict=True)
        ]

    def _values(self, source: Source, leaf: int | None, row_group: Any) -> Values:
        if source.column is None:
            return MISSING_EVERYWHERE
        name = self._binding.schema.names[source.column]
        if name in self._partitions and not source.steps:
            text = self._partitions[name]
            if text is None:
                return Values(source.type, may_be_present=False)
            return Values(source.type, may_be_null=False, lower=text, upper=text)
        if leaf is None or row_group is None:
            return ANYTHING
        chunk = row_group.column(leaf)
        if source.json:
            num_nulls = _num_nulls(chunk)
            is_in_text = isinstance(source.steps[-1], JsonPath) and source.steps[-1].path
            return MISSING_EVERYWHERE if is_in_text and num_nulls == row_group.num_rows else ANYTHING
        values = _values(chunk, source.type, row_group.num_rows)
        # Writers (pyarrow for one, of dictionaries) may leave nulls of the structs around a value out of the count.
        return dataclasses.replace(values, may_be_null=True) if source.steps else values


def _indices(source: Source) -> tuple[int | None, ...]:
    """The way to a leaf by the numbers of a schema's columns and structs' children; of no leaf, one that is none."""
    steps = source.steps[:-1] if source.json else source.steps
    children = [step.child if isinstance(step, StructChild) else None for step in steps]
    return (source.column, *children)


def _num_nulls(chunk: Any) -> int | None:
    statistics = chunk.statistics if chunk.is_stats_set else None
    return statistics.null_count if statistics is not None and statistics.has_null_count else None


def _values(chunk: Any, type: pa.DataType | None, num_rows: int) -> Values:
    """What the statistics of a column chunk, of one value a row, tell."""
    num_nulls = _num_nulls(chunk)
    if num_nulls is not None and not 0 <= num_nulls <= num_rows:
        return ANYTHING
    lower, upper = _bounds(chunk, type)
    return Values(type, num_nulls != 0, num_nulls != num_rows, lower, upper)


def _bounds(chunk: Any, type: pa.DataType | None) -> tuple[Any, Any]:
    nothing = None, None
    statistics = chunk.statistics if chunk.is_stats_set else None
    if statistics is None or not statistics.has_min_max or type is None:
        return nothing
    if pat.is_timestamp(type) or pat.is_date(type):
        return _instants(statistics)
    lower: Any
    upper: Any
    try:
        lower, upper = statistics.min, statistics.max
    except Exception:  # a bound may be shortened within a character, or be no number that Python has
        return nothing
    wanted = _python_type(type)
    if wanted is None or builtins.type(lower) is not wanted or builtins.type(upper) is not wanted:
        return nothing
    return (lower, upper) if lower <= upper else nothing  # NaN is no bound either


def _python_type(type: pa.DataType) -> type | None:
    if pat.is_boolean(type):
        return bool
    if pat.is_integer(type):
        return int
    if pat.is_float32(type) or pat.is_float64(type):
        return float
    if pat.is_decimal(type):
        return Decimal
    return str if is_string(type) else None


_NANOSECONDS = {"seconds": 1_000_000_000, "milliseconds": 1_000_000, "microseconds": 1_000, "nanoseconds": 1}
_NANOSECONDS_A_DAY = 86_400_000_000_000


def _instants(statistics: Any) -> tuple[int, int] | tuple[None, None]:
    """Bounds of instants in nanoseconds; an instant without a zone counts as UTC, as everywhere."""
    lower, upper = statistics.min_raw, statistics.max_raw
    scale = _scale(statistics.physical_type, statistics.logical_type.to_json())
    if scale is None or not isinstance(lower, int) or not isinstance(upper, int) or lower > upper:
        return None, None
    return lower * scale, upper * scale


@functools.lru_cache(maxsize=64)
def _scale(physical_type: str, logical_type: str) -> int | None:
    """Nanoseconds in one of an instant's stored numbers; None where these are no instants."""
    stored = json.loads(logical_type)
    if (physical_type, stored.get("Type")) == ("INT64", "Timestamp"):
        return _NANOSECONDS.get(stored.get("timeUnit"))
    return _NANOSECONDS_A_DAY if (physical_type, stored.get("Type")) == ("INT32", "Date") else None
