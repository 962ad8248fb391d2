"""``fastfilter.write_dataset``: the matching rows of a corpus as a folder of files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from fastfilter.corpus.encodings import encoding_of
from fastfilter.corpus.folder import FolderOutput
from fastfilter.corpus.formats import Format
from fastfilter.corpus.parts import FolderOptions
from fastfilter.corpus.record_batches import prepared
from fastfilter.corpus.report import ScanReport
from fastfilter.corpus.scan import Scan
from fastfilter.filter import Filter

__all__ = ["Reading", "write_dataset"]


class Reading(TypedDict, total=False):
    """How sources are read: arguments of :func:`fastfilter.scan`."""

    columns: Sequence[str] | None
    threads: int | None
    batch_rows: int | None
    prune: bool
    memory_budget: int
    limit: int | None
    format: Literal["parquet", "arrow", "arrows", "jsonl", "csv"] | None
    filesystem: Any
    skip_bad_files: bool
    row_number: str | None
    source_column: str | None


def write_dataset(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    filter: Filter | Mapping[str, Any] | str | bytes | None,
    folder: str | os.PathLike[str],
    *,
    output_format: Literal["parquet", "arrow", "arrows", "jsonl", "csv"] = "parquet",
    partition_by: Sequence[str] = (),
    max_rows_per_file: int | None = None,
    file_size: int = 512_000_000,
    max_rows_per_group: int | None = None,
    compression: str | None = None,
    checkpoint: int = 4_000_000_000,
    max_open_files: int = 100,
    resume: bool = False,
    report: ScanReport | None = None,
    **reading: Unpack[Reading],
) -> list[str]:
    """Writes the rows of files that match a filter to a folder of files, in their order, in bounded memory.

    Each file appears under its name when it is whole. A manifest, ``_fastfilter.json``, says what the folder is made
    from and which files are finished; a run that was ended, even killed, is resumed from it and writes the same files.

    Args:
        source: the files to read, as of :func:`fastfilter.scan`.
        filter: a compiled filter, or what :func:`fastfilter.compile` takes.
        folder: where to write: a folder that is empty or not there yet, or, with ``resume``, was begun.
        output_format: the format of the files.
        partition_by: columns whose values name folders in it (``tenant=a/``) and are not in the files; rows of a folder
            keep their order.
        max_rows_per_file: the most rows of a file; None is no bound.
        file_size: about how many bytes a file has.
        max_rows_per_group: the most rows of a row group of Parquet or a record batch of Arrow; None leaves it to
            this package.
        compression: a codec or codec and level (``"zstd:9"``), which the format must have.
        checkpoint: all files are ended each time so many bytes of the sources have been read, so that the run can be
            resumed there. (Without ``partition_by`` it can also behind each file.)
        max_open_files: the most files that are open at once, about.
        resume: go on with the run that began the folder; its filter, options and sources must be the same.
        report: is filled with what was read and what was not.
        **reading: how the sources are read, as of :func:`fastfilter.scan`.

    Returns:
        The paths of all files, in the order in which they were finished.

    Raises:
        FilterError: the filter is bad.
        BindError: it does not fit a file's columns.
        DataError: a source cannot be read, or a value cannot name a folder.
        ValueError: an argument is bad; the folder holds something else; the run that began it was another one; a file
            cannot be written.

    Example:
        >>> import os, tempfile, fastfilter
        >>> folder = tempfile.mkdtemp()
        >>> with open(os.path.join(folder, "chunks.jsonl"), "w") as lines:
        ...     _ = lines.write('{"n": 1, "tenant": "a"}\\n{"n": 2, "tenant": "b"}\\n')
        >>> out = os.path.join(folder, "out")
        >>> files = fastfilter.write_dataset(os.path.join(folder, "chunks.jsonl"), None, out, partition_by=["tenant"])
        >>> [os.path.relpath(file, out) for file in files]
        ['tenant=a/part-00000.parquet', 'tenant=b/part-00000.parquet']
        >>> fastfilter.scan(out, None).read_all().to_pylist()
        [{'n': 1, 'tenant': 'a'}, {'n': 2, 'tenant': 'b'}]
    """
    for name, number in (
        ("max_rows_per_file", max_rows_per_file),
        ("file_size", file_size),
        ("max_rows_per_group", max_rows_per_group),
        ("checkpoint", checkpoint),
        ("max_open_files", max_open_files),
    ):
        if number is not None and (not hasattr(number, "__index__") or number < 1):
            raise ValueError(f"{name} must be a whole number from 1, not {number!r}")
    if isinstance(partition_by, str):
        raise TypeError(f"partition_by must be a sequence of names, not the text {partition_by!r}")
    flt, files, options = prepared(source, filter, **reading)
    encoding = encoding_of(Format(output_format), compression, max_rows_per_group)
    spread = FolderOptions(encoding, tuple(partition_by), max_rows_per_file, file_size, checkpoint, max_open_files)
    named = [os.fspath(path) for path in ([source] if isinstance(source, str | os.PathLike) else source)]
    with FolderOutput(os.fspath(folder), spread, flt, files, options, named, resume) as output:
        if not output.manifest.is_complete:
            output.write(Scan(flt, files, options, report))
        return [os.path.join(os.fspath(folder), part.name) for part in output.manifest.parts]
