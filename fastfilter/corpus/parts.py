"""The files of a folder that is written: rows are given to the file of their partition, files are ended when they are
large enough, and put into place whole."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastfilter.corpus.encodings import Encoding
from fastfilter.corpus.formats import UsageError
from fastfilter.corpus.manifest import Manifest, Part
from fastfilter.corpus.partitions import Partitioning
from fastfilter.corpus.positions import Position, Step
from fastfilter.corpus.reader import Piece
from fastfilter.corpus.writers import ROW_GROUP_BYTES, BatchWriter, cannot_be_written, open_writer, put_into_place
from fastfilter.runtime.selection import take_rows

__all__ = ["FolderOptions", "PartsWriter"]

Numbers = npt.NDArray[np.int64]

_MOST_PARTS = 100_000
_PARTS_A_MANIFEST = 16
"""The manifest is written anew when a part of this many is not named by it: of very many small ones it would else take
longer than they do."""
_BATCH_BYTES = 2048
"""What a batch that waits takes beside its values, about."""


@dataclass(frozen=True, slots=True)
class FolderOptions:
    """How rows are spread over the files of a folder.

    Attributes:
        encoding: how each file is written.
        partition_by: columns whose values name folders.
        max_rows_per_file: the most rows of a file; None is no bound.
        file_size: a file is ended when it has so many bytes.
        checkpoint: all files are ended each time so many bytes of the sources have been read; at each, the run can be
            resumed.
        max_open_files: the most files that are open at once.
    """

    encoding: Encoding
    partition_by: tuple[str, ...] = ()
    max_rows_per_file: int | None = None
    file_size: int = 512_000_000
    checkpoint: int = 4_000_000_000
    max_open_files: int = 100

    @property
    def group_bytes(self) -> int:
        """About the most bytes, in memory, that are written at once."""
        return min(ROW_GROUP_BYTES, self.file_size)


class _OpenPart:
    """A file that gets rows. It is opened when there are enough of them, or when it has to make room."""

    def __init__(self, folder: str, name: str, open: Callable[[str, str], BatchWriter]) -> None:
        self.name = name
        self.path = os.path.join(folder, *name.split("/"))
        self.rows = 0
        self.first: tuple[str, int] | None = None
        self.last: tuple[str, int] | None = None
        self.writer: BatchWriter | None = None
        self.temporary = ""
        self._open = open
        self._placing = contextlib.ExitStack()
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0

    @property
    def buffered_bytes(self) -> int:
        """The memory of its rows that are in no file yet."""
        return self._waiting_bytes + (0 if self.writer is None else self.writer.buffered_bytes)

    @property
    def file_bytes(self) -> int:
        """The bytes that are in the file."""
        return 0 if self.writer is None else os.path.getsize(self.temporary)

    def add(self, batch: pa.RecordBatch, first: tuple[str, int], last: tuple[str, int]) -> None:
        """Adds rows, and says where the first and the last of them come from."""
        self.first = self.first or first
        self.last = last
        self.rows += batch.num_rows
        if self.writer is not None:
            self.writer.write(batch)
        else:
            self._waiting.append(batch)
            self._waiting_bytes += batch.nbytes + _BATCH_BYTES

    def open(self) -> None:
        """Begins the file."""
        if self.writer is None:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            self.temporary = self._placing.enter_context(put_into_place(self.path))
            self.writer = self._open(self.temporary, self.path)
            for batch in self._waiting:
                self.writer.write(batch)
            self._waiting.clear()
            self._waiting_bytes = 0

    def spill(self) -> None:
        """Puts all rows so far into the file."""
        self.open()
        assert self.writer is not None
        self.writer.flush()

    def compact(self) -> None:
        """Lets go of the batches that its waiting rows were cut from."""
        if self._waiting:
            whole = pa.concat_batches(self._waiting)
            every_row = np.arange(whole.num_rows)
            copied = [take_rows(array, every_row) for array in whole.columns]
            self._waiting = [pa.record_batch(copied, schema=whole.schema)]
            self._waiting_bytes = whole.nbytes + _BATCH_BYTES

    def finish(self) -> Part:
        """Ends the file and puts it into place."""
        self.open()
        assert self.writer is not None
        self.writer.close()
        size = os.path.getsize(self.temporary)
        self._placing.close()
        return Part(self.name, self.rows, size, self.first, self.last)

    def abandon(self, error: BaseException) -> None:
        """Throws the file away."""
        with contextlib.suppress(Exception):
            if self.writer is not None:
                self.writer.close()
        with contextlib.suppress(BaseException):
            self._placing.__exit__(type(error), error, error.__traceback__)


class PartsWriter:
    """Writes rows to the files of a folder, and keeps its manifest. A context manager; left by an exception, only the
    files that the manifest names are there.

    How rows are cut into files depends on them, their units and the options alone, and at a position that is in the
    manifest no file is open: so a run that begins there writes the same files as one that came by.

    Args:
        folder: where to write.
        options: how.
        schema: of the rows; of JSONL, that of lines.
        manifest: what is in the folder already; its schema is that of this run.
        buffer_bytes: about the most memory of rows that wait for a file to be opened.
        bad_files: asked what was wrong with files that were passed over so far.
    """

    def __init__(
        self,
        folder: str,
        options: FolderOptions,
        schema: pa.Schema,
        manifest: Manifest,
        buffer_bytes: int,
        bad_files: Callable[[], list[str]],
    ) -> None:
        self._folder = folder
        self._options = options
        self._manifest = manifest
        self._partitioning = Partitioning(schema, options.partition_by)
        self._buffer_bytes = buffer_bytes
        self._bad_files = bad_files
        self._is_in_bad_unit = False
        self._buffered = 0
        self._parts: dict[str, _OpenPart] = {}  # by folder; in the order of their last use, as is the next
        self._opened: dict[str, _OpenPart] = {}
        self._finished: list[Part] = []  # since the manifest was written
        self._counts = Counter(os.path.dirname(part.name) for part in manifest.parts)

    def write_unit(self, step: Step, done: int = 0) -> None:
        """Writes the matching rows of a unit.

        Args:
            step: all of them, and the positions before and after.
            done: how many of the rows are in the folder already.

        Raises:
            UsageError: they cannot be written.
            DataError: a value cannot name a folder.
        """
        number, before, after = 0, step.before, step.after
        self._is_in_bad_unit = step.is_bad
        for piece in step.pieces:
            for chunk in _chunks(piece, self._options.group_bytes):
                missing = _rows(chunk, max(0, done - number))
                if missing.batch.num_rows:
                    self._write(missing, before, max(done, number))
                number += chunk.batch.num_rows
        self._is_in_bad_unit = False
        is_checkpoint = before.bytes_in // self._options.checkpoint < after.bytes_in // self._options.checkpoint
        if is_checkpoint:
            self._finish_all()
        self._commit_if_due(after, is_checkpoint)

    def complete(self, position: Position, rows_in: int) -> Manifest:
        """Ends all files, and says in the manifest that the folder is complete.

        Args:
            position: the last one.
            rows_in: how many rows were filtered.
        """
        self._finish_all()
        if not self._manifest.parts and not self._finished and not self._options.partition_by:
            self._finish("", self._part(""))  # a file without rows still has columns
        self._commit(dataclasses.replace(self._manifest, position=position, rows_in=rows_in, is_complete=True))
        return self._manifest

    def __enter__(self) -> PartsWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        if error is None:
            return
        for part in self._parts.values():
            part.abandon(error)
        try:  # as it is in the folder: the error may have come just when it had been replaced
            found = Manifest.read(self._folder)
        except UsageError:
            return
        named = {part.name for part in found.parts} if found else set()
        for name in [*(part.name for part in self._finished), *(part.name for part in self._parts.values())]:
            if name in named:
                continue
            path = os.path.join(self._folder, name)
            with contextlib.suppress(OSError):
                os.unlink(path)
            with contextlib.suppress(OSError):  # it is not empty
                while (path := os.path.dirname(path)) != self._folder:
                    os.rmdir(path)

    def _write(self, piece: Piece, before: Position, done: int) -> None:
        """Writes rows that are small enough to be written at once; so many of their unit's come before them."""
        for folder, rows, batch in self._partitioning.split(piece.batch):
            numbers = piece.numbers[rows]
            start = 0
            while start < batch.num_rows:
                part = self._part(folder)
                most = self._options.max_rows_per_file
                some = batch.slice(start, None if most is None else most - part.rows)
                end = start + some.num_rows
                self._add(folder, part, some, piece.file.path, numbers[start:end])
                start = end
                if part.rows == most or part.file_bytes >= self._options.file_size:
                    self._finish(folder, part)
                    if not self._options.partition_by:
                        self._commit_if_due(dataclasses.replace(before, matches=done + end))
        self._make_room()

    def _part(self, folder: str) -> _OpenPart:
        """The part that is being written in a folder; it becomes the one that was used last."""
        part = self._parts.pop(folder, None)
        if part is None:
            number = self._counts[folder]
            if number >= _MOST_PARTS:
                path = os.path.join(self._folder, folder)
                raise UsageError(f"{path}: would have more than {_MOST_PARTS:,} files; make them larger")
            self._counts[folder] += 1
            name = f"part-{number:05}{self._options.encoding.ending}"
            part = _OpenPart(self._folder, f"{folder}/{name}" if folder else name, self._open_writer)
        self._parts[folder] = part
        if folder in self._opened:
            self._opened[folder] = self._opened.pop(folder)
        return part

    def _open_writer(self, temporary: str, path: str) -> BatchWriter:
        options = self._options
        return open_writer(temporary, path, self._partitioning.schema, options.encoding, options.group_bytes)

    def _add(self, folder: str, part: _OpenPart, batch: pa.RecordBatch, source: str, numbers: Numbers) -> None:
        with self._accounted(part):
            part.add(batch, (source, int(numbers[0])), (source, int(numbers[-1])))
        if part.buffered_bytes >= self._options.group_bytes:
            self._open(folder, part)

    def _open(self, folder: str, part: _OpenPart) -> None:
        """Opens the file of a part; the one that was used least recently is ended, if there are too many."""
        if folder in self._opened:
            return
        if len(self._opened) >= self._options.max_open_files:
            oldest = next(iter(self._opened))
            self._finish(oldest, self._opened[oldest])
        with self._accounted(part):
            part.open()
        self._opened[folder] = part

    def _make_room(self) -> None:
        """Puts rows that wait into files, those of the largest partitions first, if they take too much memory."""
        if self._buffered <= self._buffer_bytes:
            return
        for part in self._parts.values():
            with self._accounted(part):
                part.compact()
        for folder, part in sorted(self._parts.items(), key=lambda item: -item[1].buffered_bytes):
            if self._buffered <= self._buffer_bytes // 2:
                break
            if self._parts.get(folder) is part:  # not ended to make room for another
                self._open(folder, part)
                with self._accounted(part):
                    part.spill()
                if part.file_bytes >= self._options.file_size:
                    self._finish(folder, part)

    def _finish_all(self) -> None:
        for folder, part in [*self._opened.items(), *self._parts.items()]:
            if folder in self._parts:
                self._finish(folder, part)

    def _finish(self, folder: str, part: _OpenPart) -> None:
        with self._accounted(part):
            finished = part.finish()
        del self._parts[folder]
        self._opened.pop(folder, None)
        self._finished.append(finished)

    @contextlib.contextmanager
    def _accounted(self, part: _OpenPart) -> Iterator[None]:
        """Keeps count of the memory of waiting rows; what the system says of a file gets its name."""
        before = part.buffered_bytes
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise cannot_be_written(part.path, error, part.temporary) from error
        self._buffered += part.buffered_bytes - before

    def _commit_if_due(self, position: Position, is_checkpoint: bool = False) -> None:
        """Writes the manifest anew at a position, if no file is open and it is time."""
        num_named = len(self._manifest.parts)
        if not self._parts and (is_checkpoint or len(self._finished) > num_named // _PARTS_A_MANIFEST):
            self._commit(dataclasses.replace(self._manifest, position=position))

    def _commit(self, manifest: Manifest) -> None:
        parts = [*manifest.parts, *self._finished]
        bad_files = self._bad_files()  # that of the unit belongs behind it: it is met again from a position within
        bad_files = bad_files[:-1] if self._is_in_bad_unit else bad_files
        manifest = dataclasses.replace(manifest, parts=parts, bad_files=bad_files)
        manifest.write(self._folder)
        self._manifest = manifest
        self._finished = []


def _chunks(piece: Piece, most_bytes: int) -> Iterator[Piece]:
    """The piece in parts of so many bytes, about."""
    num_rows = piece.batch.num_rows
    rows = max(1, num_rows * most_bytes // max(piece.batch.nbytes, 1))
    for start in range(0, num_rows, rows):
        yield _rows(piece, start, rows)


def _rows(piece: Piece, start: int, num_rows: int | None = None) -> Piece:
    batch = piece.batch.slice(start, num_rows)
    return dataclasses.replace(piece, batch=batch, numbers=piece.numbers[start : start + batch.num_rows])
