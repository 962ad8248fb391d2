"""Parquet: row groups that may hold a match, of these the columns that the filter reads, and the rest where one is
found.

What decoding costs decides how fast a scan is, so it is put off: a row group without a match costs its tested columns
only, and texts of few distinct values are read as dictionaries and become texts again when most rows are gone.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat

from fastfilter.corpus.parquet_leaves import leaf_paths
from fastfilter.corpus.reader import PIECE_ROWS, Reader, Request, rows_only, validate, with_partitions
from fastfilter.corpus.sources import InputFile
from fastfilter.corpus.units import Found, Outcome, ReadCounts, Unit
from fastfilter.runtime.selection import mask_flags, select_rows

__all__ = ["ParquetReader"]

_BATCH_BYTES = 16 << 20
_BUFFER_BYTES = 1 << 20
_BYTES_A_VALUE = 8
"""What a decoded value takes beside its bytes in the file: an offset, or all of a number that was packed."""
_PLAIN_TEXT_BYTES = 4
"""A text that is stored plainly takes at least so many, for its length; so a chunk with fewer a value is one of a
dictionary, nearly all of it."""
_DICTIONARY_BYTES = 1 << 16

Flags = npt.NDArray[np.bool_]


class ParquetReader(Reader):
    """A Parquet file. A row group is a unit of work; one too large for that is read in parts."""

    def __init__(self, file: InputFile) -> None:
        self._source = file.open()
        self._parquet = pq.ParquetFile(self._source, pre_buffer=False)
        self._metadata = self._parquet.metadata
        self._columns = self._parquet.schema_arrow  # made anew whenever it is asked for
        super().__init__(file, self._columns, self._metadata.num_rows)
        self._leaves = _leaves_of_columns(self._columns, self._metadata)
        self._is_remote = file.filesystem is not None
        self._handles: list[tuple[Any, pq.ParquetFile]] = []
        self._idle: list[pq.ParquetFile] = []
        self._lock = threading.Lock()

    @property
    def columns(self) -> tuple[Any, pa.Schema]:
        """The file's metadata, and its columns as Arrow has them."""
        return self._metadata, self._columns

    @property
    def num_chunks(self) -> int:
        """How many column chunks the file has, whose metadata are in memory while it is open."""
        return int(self._metadata.num_row_groups * self._metadata.num_columns)

    def units(self, request: Request) -> Iterator[Unit]:
        """The row groups, in order."""
        if request.pruner is not None and not request.pruner.can_match():
            counts = ReadCounts(self._metadata.num_row_groups, self._metadata.num_row_groups)
            num_rows = self._metadata.num_rows
            yield Unit.done(Outcome([], 0, num_rows, num_rows, self.file.num_bytes, None, counts, True))
            return
        names = self._columns.names
        tested = [name for name in names if name in request.tested]
        late = [name for name in names if name in (request.kept or ()) and name not in tested]
        num_bytes, num_rows = self.file.num_bytes, max(self._metadata.num_rows, 1)
        num_rows_done = 0
        pruned = ReadCounts()  # the row groups before the one that is looked at
        num_rows_pruned = 0

        def not_read() -> Iterator[Unit]:
            if pruned.row_groups:
                bytes_done = num_bytes * num_rows_done // num_rows
                yield Unit.done(Outcome([], 0, num_rows_pruned, num_rows_pruned, bytes_done, None, pruned))

        try:
            groups = [self._metadata.row_group(number) for number in range(self._metadata.num_row_groups)]
            is_read = [True] * len(groups) if request.pruner is None else request.pruner.row_groups_to_read(groups)
            for number, group in enumerate(groups):
                stored = self._stored_bytes(group, (*tested, *late))
                if not is_read[number]:
                    pruned.row_groups += 1
                    pruned.row_groups_pruned += 1
                    pruned.bytes_pruned += stored
                    num_rows_pruned += group.num_rows
                    num_rows_done += group.num_rows
                    continue
                yield from not_read()
                pruned, num_rows_pruned = ReadCounts(), 0
                num_rows_done += group.num_rows
                counts = ReadCounts(row_groups=1, bytes_read=stored)
                start = Outcome(bytes_done=num_bytes * num_rows_done // num_rows, counts=counts)
                sizes = {name: self._memory_bytes(group, name) for name in (*tested, *late)}
                most = sum(sizes.values())
                if most <= request.memory_budget // 2:
                    working = sum(sizes[name] for name in tested) + max((sizes[name] for name in late), default=0)
                    work = functools.partial(self._whole_group, number, tested, late, request, start)
                    yield Unit(work, working, 0 if request.kept is None else most)
                else:
                    yield from self._group_in_parts(number, tested, late, request, start)
            yield from not_read()
        except Exception as error:
            yield from not_read()
            yield Unit.done(Outcome(error=error))

    def close(self) -> None:
        with self._lock:
            for source, parquet in [*self._handles, (self._source, self._parquet)]:
                parquet.close()
                source.close()
            was_read = bool(self._handles)
            self._handles.clear()
            self._idle.clear()
        if was_read:
            pa.default_memory_pool().release_unused()

    def _batches(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, int]]:
        raise AssertionError("units() does it")

    @functools.cached_property
    def _dictionaries(self) -> list[str]:
        """The columns that are read as dictionaries."""
        return [field.name for field in self._columns if pat.is_string(field.type) and self._has_few(field.name)]

    def _has_few(self, name: str) -> bool:
        """Whether a column of texts has so few distinct ones that it is to be read as a dictionary."""
        (leaf,) = self._leaves.get(name) or (None,)
        if leaf is None:
            return False
        chunks = [self._metadata.row_group(number).column(leaf) for number in range(self._metadata.num_row_groups)]
        return all(
            chunk.has_dictionary_page
            and chunk.total_uncompressed_size <= _PLAIN_TEXT_BYTES * chunk.num_values + _DICTIONARY_BYTES
            and chunk.num_values
            for chunk in chunks
        )

    def _leaves_of(self, name: str) -> Sequence[int]:
        """The numbers of a column's leaves; where they cannot be told, of all."""
        return self._leaves.get(name, range(self._metadata.num_columns))

    def _stored_bytes(self, group: Any, names: Iterable[str]) -> int:
        """What columns of a row group take in the file."""
        return sum([group.column(leaf).total_compressed_size for name in names for leaf in self._leaves_of(name)])

    def _memory_bytes(self, group: Any, name: str) -> int:
        """About what reading a column of a row group takes."""
        return sum(
            chunk.total_compressed_size + chunk.total_uncompressed_size + _BYTES_A_VALUE * chunk.num_values
            for chunk in map(group.column, self._leaves_of(name))
        )

    @contextlib.contextmanager
    def _handle(self) -> Iterator[pq.ParquetFile]:
        """The file, opened for one thread."""
        with self._lock:
            parquet = self._idle.pop() if self._idle else None
        if parquet is None:
            parquet = self._opened(pre_buffer=self._is_remote)
        try:
            yield parquet
        finally:
            with self._lock:
                self._idle.append(parquet)

    def _opened(self, **options: Any) -> pq.ParquetFile:
        source = self.file.open()
        parquet = pq.ParquetFile(source, metadata=self._metadata, read_dictionary=self._dictionaries, **options)
        with self._lock:
            self._handles.append((source, parquet))
        return parquet

    # -- a row group as a whole --------------------------------------------------------------------------------------

    def _whole_group(
        self, number: int, tested: list[str], late: list[str], request: Request, outcome: Outcome
    ) -> Outcome:
        try:
            with self._handle() as parquet:
                num_rows = self._metadata.row_group(number).num_rows
                table = _read(parquet, number, tested, num_rows, num_rows)
                mask = self._mask(table, tested, request, outcome)
                outcome.num_numbers = outcome.num_rows
                outcome.num_matches = mask.true_count
                if request.kept is None:
                    return outcome
                if not outcome.num_matches:
                    self._spare(number, late, outcome)
                    return outcome
                rows = np.flatnonzero(mask_flags(mask))
                mask = mask.slice(0, int(rows[-1]) + 1)  # what is behind the last match need not be decoded
                columns = {name: self._selected(table[name], name, mask) for name in tested if name in request.kept}
                del table
                # Together they are fetched in fewer requests; one after the other they take less memory.
                for names in [late] if self._is_remote and late else [[name] for name in late]:
                    read = _read(parquet, number, names, num_rows, len(mask))
                    columns.update((name, self._selected(read[name], name, mask)) for name in names)
                self._keep(columns, rows, request, outcome)
        except Exception as error:
            outcome.found, outcome.num_matches, outcome.num_rows = [], 0, 0
            outcome.error = error
        return outcome

    def _mask(self, table: pa.Table, tested: list[str], request: Request, outcome: Outcome) -> pa.BooleanArray:
        names = [*tested, *(name for name in self.file.partitions if name in request.tested)]
        masks = []
        for batch in table.to_batches() if tested else [rows_only(table.num_rows)]:
            validate(batch)  # pyarrow does not look whether Parquet's texts are UTF-8
            masks.append(request.masks(with_partitions(batch, names, self.file.partitions), outcome))
            if outcome.error is not None:
                break
        return masks[0] if len(masks) == 1 else pa.concat_arrays([*masks, pa.array([], pa.bool_())])

    def _selected(self, column: pa.ChunkedArray, name: str, mask: pa.BooleanArray) -> pa.ChunkedArray:
        """The rows of a mask, which may be shorter than the column, with the type that the file's schema says."""
        type = self.schema.field(name).type
        chunks = []
        start = 0
        for chunk in column.chunks:
            part = mask.slice(start, len(chunk))
            start += len(chunk)
            if part.true_count:
                chunks.append(_selected(chunk.slice(0, len(part)), part, name, type))
        return pa.chunked_array(chunks, type)

    def _keep(
        self, columns: dict[str, pa.ChunkedArray], rows: npt.NDArray[np.int64], request: Request, outcome: Outcome
    ) -> None:
        """Adds the matching rows to an outcome."""
        kept = request.kept or ()
        stored = [name for name in kept if name not in self.file.partitions]
        if stored:
            table = pa.table([columns[name] for name in stored], schema=_only(self._columns, stored))
            batches = table.to_batches(max_chunksize=request.batch_rows)
        else:
            batches = [
                rows_only(min(request.batch_rows, len(rows) - at)) for at in range(0, len(rows), request.batch_rows)
            ]
        start = 0
        for batch in batches:
            some = rows[start : start + batch.num_rows]
            start += batch.num_rows
            outcome.found.append(Found(with_partitions(batch, list(kept), self.file.partitions), some, some))

    def _spare(self, number: int, late: Sequence[str], outcome: Outcome) -> None:
        """Notes a row group in which nothing matches."""
        group = self._metadata.row_group(number)
        spared = self._stored_bytes(group, late)
        assert outcome.counts is not None
        outcome.counts.row_groups_without_match += 1
        outcome.counts.bytes_read -= spared
        outcome.counts.bytes_spared += spared

    # -- a row group in parts ----------------------------------------------------------------------------------------

    def _group_in_parts(
        self, number: int, tested: list[str], late: list[str], request: Request, outcome: Outcome
    ) -> Iterator[Unit]:
        """The tested columns of a row group are read in parts, and if a row matches, its other columns; in the memory
        of a few pages of each column."""
        group = self._metadata.row_group(number)
        batch_rows = int(min(PIECE_ROWS, max(64, _BATCH_BYTES * group.num_rows // max(group.total_byte_size, 1))))
        # A buffer size makes pyarrow read column chunks in pieces of it, not whole.
        parquet = self._opened(buffer_size=_BUFFER_BYTES, pre_buffer=False)
        masks = []
        for batch in parquet.iter_batches(batch_rows, row_groups=[number], columns=tested):
            masks.append(self._mask(pa.table(batch) if tested else rows_only(batch.num_rows), tested, request, outcome))
            if outcome.error is not None:
                break
        mask = pa.concat_arrays([*masks, pa.array([], pa.bool_())])
        outcome.num_numbers = outcome.num_rows
        if request.kept is None or not mask.true_count:
            outcome.num_matches = mask.true_count
            if request.kept is not None:
                self._spare(number, late, outcome)
            yield Unit.done(outcome)
            return
        stored = [name for name in self._columns.names if name in request.kept]
        start = 0
        for batch in parquet.iter_batches(batch_rows, row_groups=[number], columns=stored):
            part = mask.slice(start, batch.num_rows)
            start += batch.num_rows
            yield Unit(functools.partial(self._part, batch, part, stored, request), 0, batch.nbytes)
        yield Unit.done(Outcome([], 0, 0, 0, outcome.bytes_done, outcome.error, outcome.counts))

    def _part(self, batch: pa.RecordBatch, mask: pa.BooleanArray, stored: list[str], request: Request) -> Outcome:
        outcome = Outcome(num_rows=len(mask), num_numbers=len(mask), num_matches=mask.true_count)
        try:
            if outcome.num_matches:
                columns = {name: self._selected(pa.chunked_array([batch[name]]), name, mask) for name in stored}
                self._keep(columns, np.flatnonzero(mask_flags(mask)), request, outcome)
        except Exception as error:
            return Outcome(error=error)
        return outcome


def _leaves_of_columns(columns: pa.Schema, metadata: Any) -> dict[str, list[int]]:
    """The numbers of each column's leaves; empty if they cannot be told."""
    paths = list(leaf_paths(columns))
    if len(paths) != metadata.num_columns:
        return {}
    leaves = defaultdict(list)
    for number, (path, _) in enumerate(paths):
        leaves[path[0]].append(number)
    return leaves


def _read(parquet: pq.ParquetFile, number: int, columns: list[str], num_rows: int, num_wanted: int) -> Any:
    """Columns of a row group, at least its first rows; without any column, its rows."""
    if not columns:
        return pa.Table.from_batches([rows_only(num_rows)])
    if 2 * num_wanted >= num_rows:  # to stop on the way costs more than it spares
        return parquet.read_row_group(number, columns=columns, use_threads=False)
    batches: list[pa.RecordBatch] = []
    for batch in parquet.iter_batches(num_wanted, row_groups=[number], columns=columns, use_threads=False):
        batches.append(batch)
        num_wanted -= batch.num_rows
        if num_wanted <= 0:
            return pa.Table.from_batches(batches)
    raise pa.ArrowInvalid(f"row group {number} has fewer rows than it says")


def _selected(array: pa.Array, mask: pa.BooleanArray, name: str, type: pa.DataType) -> pa.Array:
    kept = array
    if mask.true_count < len(mask):
        kept = select_rows(pa.record_batch({name: array}), mask).column(0)
    validate(pa.record_batch({name: kept}))  # numbers of a dictionary's entries above all: they would be followed
    if pat.is_dictionary(kept.type) and not pat.is_dictionary(type):
        kept = kept.dictionary_decode()
    return kept


def _only(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([schema.field(name) for name in names], metadata=schema.metadata)
