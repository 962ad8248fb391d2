"""A folder of files as output: begun, refused, resumed, completed."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import glob
import os
import re
import tempfile
import urllib.parse
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from fastfilter.corpus.filesystems import is_url, local_path, matches_glob
from fastfilter.corpus.formats import Format, UsageError
from fastfilter.corpus.lines import LINE_SCHEMA
from fastfilter.corpus.manifest import MANIFEST, Manifest, Run, differences, run_of
from fastfilter.corpus.output import JsonLines
from fastfilter.corpus.parts import FolderOptions, PartsWriter
from fastfilter.corpus.positions import Position, Step
from fastfilter.corpus.scan import Scan, ScanOptions
from fastfilter.corpus.schemas import conform
from fastfilter.corpus.sources import InputFile
from fastfilter.corpus.spool import Spool
from fastfilter.filter import Filter

__all__ = ["FolderOutput", "check_folder_options"]

_PART_NAME = r"part-[0-9]{5}%s"
_TEMPORARY_NAME = re.compile(rf"\.(?:part-[0-9]{{5}}\..*|{re.escape(MANIFEST)})\.[0-9a-f]{{16}}\.part")


def check_folder_options(options: FolderOptions) -> None:
    """Refuses options that do not go together.

    Raises:
        UsageError: says which.
    """
    if options.partition_by and options.encoding.format is Format.JSONL:
        raise UsageError(
            "partition by columns: lines of JSON cannot have columns that folders give; parquet, arrow, arrows, csv can"
        )
    if len(set(options.partition_by)) < len(options.partition_by) or "" in options.partition_by:
        raise UsageError("partition by columns: give names, none twice")


class FolderOutput:
    """A folder that the matching rows of a scan are written to. A context manager, which holds a lock on the folder.

    Attributes:
        path: the folder.
        manifest: what is known of it.

    Args:
        path: the folder; it is made if it is not there.
        options: how rows are spread over its files.
        flt: the filter, and ``files`` what it is applied to, and ``reading`` how.
        sources: what the user names them by, to refuse a folder inside one.
        resume: whether to go on with a run that was ended; without one, a new one begins.

    Raises:
        UsageError: the folder holds something else, or what another run wrote; it cannot be made or is in use.
    """

    def __init__(
        self,
        path: str,
        options: FolderOptions,
        flt: Filter,
        files: Sequence[InputFile],
        reading: ScanOptions,
        sources: Sequence[str] = (),
        resume: bool = False,
    ) -> None:
        check_folder_options(options)
        self.path = os.path.realpath(path)
        self._shown = path
        self._is_new = False
        self._options = options
        self._check_sources(files, sources)
        run = run_of(flt, files, reading, _recorded(options))
        if resume and any(source.get("stream") for source in run.sources):
            raise UsageError("resume: a source is a stream, which cannot be read a second time; give files")
        with contextlib.ExitStack() as stack:
            self._lock(stack)
            self.manifest = self._begun_or_resumed(run, resume)
            self._held = stack.pop_all()

    def __enter__(self) -> FolderOutput:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_new:
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(self.path)
        self._held.close()

    def write(self, scan: Scan) -> None:
        """Writes the matching rows that are missing, and completes the folder.

        Raises:
            UsageError: a column cannot be written or name folders; the disk is full.
            DataError: see :meth:`Scan.matches`.
        """
        manifest = self.manifest
        before, num_at_opening = manifest.bad_files, len(scan.report.files_bad)
        with contextlib.ExitStack() as stack:
            if self._options.encoding.format is Format.JSONL:
                schema, steps = LINE_SCHEMA, _steps_of_lines(scan, manifest.position)
            elif None in scan.schemas:
                spool = Spool(scan, stack.enter_context(tempfile.TemporaryFile(dir=self.path)))
                before = []  # the scan has met them again
                schema, steps = spool.schema, _steps_of_spool(spool, manifest.position)
            else:
                schema = scan.unified_schema() if scan.schemas else pa.schema([])
                steps = _steps_of_columns(scan, schema, manifest.position)
            if manifest.parts and manifest.unopened != scan.report.files_bad[:num_at_opening]:
                raise UsageError(
                    f"{self._shown}: cannot be resumed: files that could not be opened were "
                    f"{manifest.unopened}, are {scan.report.files_bad[:num_at_opening]}"
                )
            manifest.unopened = scan.report.files_bad[:num_at_opening]
            scan.report.files_bad += before
            columns = None if schema is LINE_SCHEMA else [[field.name, str(field.type)] for field in schema]
            if manifest.schema not in (None, columns):
                raise UsageError(f"{self._shown}: cannot be resumed: columns were {manifest.schema}, are {columns}")
            manifest.schema = columns
            position = manifest.position
            with PartsWriter(
                self.path, self._options, schema, manifest, scan.options.memory_budget // 2,
                lambda: scan.report.files_bad[num_at_opening:],
            ) as writer:  # fmt: skip
                if not manifest.parts:
                    manifest.write(self.path)
                for step in steps:
                    done = manifest.position.matches if step.before == _unit_of(manifest.position) else 0
                    writer.write_unit(step, done)
                    position = step.after
                self.manifest = writer.complete(position, scan.rows_in)

    def _check_sources(self, files: Sequence[InputFile], sources: Sequence[str]) -> None:
        local = [file.path for file in files if file.filesystem is None and not file.is_stream]
        for path in local:
            if os.path.realpath(path).startswith(self.path + os.sep):
                raise UsageError(f"{self._shown}: holds a source, {path}; write into another folder")
        for source in sources:
            if self._would_be_in(local_path(source) or source):
                raise UsageError(
                    f"{self._shown}: is in the source {source}, whose files the next run would find it among; "
                    "write into another folder"
                )

    def _would_be_in(self, source: str) -> bool:
        """Whether the next run would find this folder's files in a source, a folder or a glob of this file system."""
        if os.path.isdir(source):
            root = os.path.realpath(source)
            inside = os.path.relpath(self.path, root).split(os.sep)
            return self.path == root or not any(name.startswith((".", "_")) for name in inside)
        if is_url(source) or not glob.has_magic(source):
            return False
        names = os.path.abspath(source).split(os.sep)
        magic = next(at for at, name in enumerate(names) if glob.has_magic(name))
        pattern = os.path.join(os.path.realpath(os.sep.join(names[:magic]) or os.sep), *names[magic:])
        part = os.path.join(self.path, *(f"{name}=x" for name in self._options.partition_by), "part-00000")
        return matches_glob(part + self._options.encoding.ending, pattern)

    def _lock(self, stack: contextlib.ExitStack) -> None:
        try:
            if os.path.lexists(self.path) and not os.path.isdir(self.path):
                raise UsageError(f"{self._shown}: is a file; an output in several files is a folder")
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.path)
                self._is_new = True
            handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{self._shown}: another run is writing to it") from None
        except FileNotFoundError:
            raise UsageError(f"{self._shown}: there is no folder {os.path.dirname(self.path)}") from None
        except OSError as error:
            raise UsageError(f"{self._shown}: {error.strerror}") from error

    def _begun_or_resumed(self, run: Run, resume: bool) -> Manifest:
        manifest = Manifest.read(self.path)
        if manifest is None:
            others = [name for name in sorted(os.listdir(self.path)) if not _TEMPORARY_NAME.fullmatch(name)]
            if others:
                shown = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
                raise UsageError(
                    f"{self._shown}: is not empty ({shown}), and has no {MANIFEST}, so it is not the output of a run; "
                    "empty it, or write into another folder"
                )
            self._remove_strays(Manifest(run))
            return Manifest(run)
        if not resume:
            state = "the output of a run" if manifest.is_complete else "the output of a run that did not end"
            does = "finds it complete" if manifest.is_complete else "goes on with it"
            advice = f"; resuming (--resume) {does}"
            raise UsageError(f"{self._shown}: holds {state}{advice}; empty it, or write into another folder")
        found = differences(manifest.run, run)
        if found:
            raise UsageError(
                f"{self._shown}: cannot be resumed, as another run began it:\n  "
                + "\n  ".join(found)
                + "\n  resume it with what it was begun with, or write into another folder"
            )
        for part in manifest.parts:
            path = os.path.join(self.path, part.name)
            size = os.path.getsize(path) if os.path.isfile(path) else None
            if size != part.bytes:
                what = "is not there any more" if size is None else f"had {part.bytes:,} bytes, has {size:,}"
                raise UsageError(f"{self._shown}: cannot be resumed: its file {part.name} {what}; begin anew elsewhere")
        if not manifest.is_complete:
            self._remove_strays(manifest)
        return manifest

    def _remove_strays(self, manifest: Manifest) -> None:
        """Removes files that a run which was ended left behind, and that the manifest does not name."""
        named = {part.name for part in manifest.parts}
        part_name = re.compile(_PART_NAME % re.escape(self._options.encoding.ending))
        columns = [urllib.parse.quote(name, safe="") + "=" for name in self._options.partition_by]
        for folder in _folders(self.path, "", columns):
            for name in os.listdir(os.path.join(self.path, folder)):
                is_part = part_name.fullmatch(name) and folder.count("=") == len(columns)
                if _TEMPORARY_NAME.fullmatch(name) or (is_part and os.path.join(folder, name) not in named):
                    os.unlink(os.path.join(self.path, folder, name))


def _folders(root: str, folder: str, columns: Sequence[str]) -> Iterator[str]:
    """The folder and the folders of partitions below it."""
    yield folder
    if columns:
        for name in sorted(os.listdir(os.path.join(root, folder))):
            path = os.path.join(root, folder, name)
            is_folder = os.path.isdir(path) and not os.path.islink(path)  # a link leads elsewhere
            if name.startswith(columns[0]) and is_folder:
                yield from _folders(root, os.path.join(folder, name), columns[1:])


def _recorded(options: FolderOptions) -> dict[str, Any]:
    encoding = options.encoding
    recorded = {
        **dataclasses.asdict(options),
        "output_format": encoding.format.value,
        "compression": encoding.compression,
        "max_rows_per_group": encoding.group_rows,
    }
    del recorded["encoding"]
    return recorded


def _unit_of(position: Position) -> Position:
    return dataclasses.replace(position, matches=0)


def _steps_of_columns(scan: Scan, schema: pa.Schema, start: Position) -> Iterator[Step]:
    for step in scan.steps(start):
        pieces = (
            dataclasses.replace(piece, batch=conform(piece.batch, schema, piece.file.path)) for piece in step.pieces
        )
        yield step._replace(pieces=pieces)


def _steps_of_lines(scan: Scan, start: Position) -> Iterator[Step]:
    lines = JsonLines(scan)
    for step in scan.steps(start):
        yield step._replace(pieces=(part for piece in step.pieces for part in lines.as_lines(piece)))


def _steps_of_spool(spool: Spool, start: Position) -> Iterator[Step]:
    """A step for each piece in a spool; its positions are in the spool."""
    before = Position()
    for piece in spool.pieces():
        after = Position(units=before.units + 1, bytes_in=spool.position)
        if before.units >= start.units:
            yield Step([piece], before, after)
        before = after
