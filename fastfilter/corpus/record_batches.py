"""``fastfilter.scan``: a corpus as a stream of the record batches of its matching rows."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from fastfilter.corpus.formats import Format, UsageError
from fastfilter.corpus.origins import Origins
from fastfilter.corpus.reader import PIECE_ROWS
from fastfilter.corpus.report import ScanReport
from fastfilter.corpus.scan import MEMORY_BUDGET, Scan, ScanOptions
from fastfilter.corpus.schemas import conform
from fastfilter.corpus.sources import InputFile, find_files
from fastfilter.corpus.spool import Spool
from fastfilter.filter import Filter, compile

__all__ = ["prepared", "scan"]


def scan(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    filter: Filter | Mapping[str, Any] | str | bytes | None,
    columns: Sequence[str] | None = None,
    threads: int | None = None,
    batch_rows: int | None = None,
    prune: bool = True,
    memory_budget: int = MEMORY_BUDGET,
    limit: int | None = None,
    format: Literal["parquet", "arrow", "arrows", "jsonl", "csv"] | None = None,
    filesystem: Any = None,
    skip_bad_files: bool = False,
    row_number: str | None = None,
    source_column: str | None = None,
    report: ScanReport | None = None,
) -> pa.RecordBatchReader:
    """The rows of files that match a filter, in the order of the files, in bounded memory.

    Files are read, filtered and handed over at once, on several threads. Of Parquet, row groups whose statistics
    exclude a match are not read, nor are files whose folders (``year=2026``) do; the filter's columns are read first,
    and the others only where a row matches.

    Args:
        source: a file, folder or glob, as a path or a URL (``s3://bucket/chunks/``), or several of them: Parquet, Arrow
            IPC, JSONL or CSV. Folders named ``column=value`` give their files a column of text.
        filter: a compiled filter, or what :func:`fastfilter.compile` takes.
        columns: the columns of the result, in this order; None is all. Other files than JSONL must have them.
        threads: the most threads to use; None is every core.
        batch_rows: the most rows of a batch; None is 65,536.
        prune: whether parts are left unread that hold no match for certain. The rows are the same; but what is wrong
            with a part that is not read is not noticed.
        memory_budget: bytes that may be read ahead of what is asked for, about. A row group of more than half of it is
            read in parts.
        limit: stop after so many rows.
        format: what every file holds, whatever its name says.
        filesystem: the pyarrow or fsspec file system that the source's paths are in.
        skip_bad_files: pass over files that cannot be read, and over what is behind the damage in one; they are named
            in the report. Without it, such a file is an error.
        row_number: name of a column to add, with each row's number in its file, from 1.
        source_column: name of a column to add, with each row's file.
        report: is filled with what was read and what was not.

    Returns:
        A reader of the matching rows, with all columns that some file has, each of a type that holds the values of all
        files. Of JSONL, whose types only the last line decides, the matching lines are kept in a temporary file first.

    Raises:
        FilterError: the filter is bad.
        BindError: it does not fit a file's columns.
        DataError: a file cannot be read; also when the damage is met, while batches are taken from the reader.
        ValueError: an argument is bad: a column that is not there, columns whose types do not go together.

    Example:
        >>> import os, tempfile, fastfilter
        >>> folder = tempfile.mkdtemp()
        >>> with open(os.path.join(folder, "chunks.jsonl"), "w") as lines:
        ...     _ = lines.write('{"n": 1, "metadata": {"tier": "gold"}}\\n{"n": 2, "metadata": {"tier": "tin"}}\\n')
        >>> fastfilter.scan(folder, {"metadata": {"tier": "gold"}}, columns=["n"]).read_all().to_pylist()
        [{'n': 1}]
    """
    flt, files, options = prepared(
        source, filter, columns, threads, batch_rows, prune, memory_budget, limit, format, filesystem, skip_bad_files,
        row_number, source_column,
    )  # fmt: skip
    scan = Scan(flt, files, options, report)
    if not scan.files:
        return pa.RecordBatchReader.from_batches(pa.schema([]), iter(()))
    if None in scan.schemas:
        return _typed_lines(scan)
    schema = scan.unified_schema()
    batches = (conform(piece.batch, schema, piece.file.path) for piece in scan.matches())
    return pa.RecordBatchReader.from_batches(schema, batches)


def prepared(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    filter: Filter | Mapping[str, Any] | str | bytes | None,
    columns: Sequence[str] | None = None,
    threads: int | None = None,
    batch_rows: int | None = None,
    prune: bool = True,
    memory_budget: int = MEMORY_BUDGET,
    limit: int | None = None,
    format: str | None = None,
    filesystem: Any = None,
    skip_bad_files: bool = False,
    row_number: str | None = None,
    source_column: str | None = None,
) -> tuple[Filter, list[InputFile], ScanOptions]:
    """What the arguments of :func:`scan` come to, which are checked."""
    flt = filter if isinstance(filter, Filter) else compile(filter)
    paths = [source] if isinstance(source, str | os.PathLike) else list(source)
    for name, number, least in (
        ("threads", threads, 1),
        ("batch_rows", batch_rows, 1),
        ("memory_budget", memory_budget, 1),
        ("limit", limit, 0),
    ):
        if number is not None and (not hasattr(number, "__index__") or number < least):
            raise ValueError(f"{name} must be a whole number from {least}, not {number!r}")
    if isinstance(columns, str):
        raise TypeError(f"columns must be a sequence of names, not the text {columns!r}")
    if columns is not None and len(set(columns)) < len(columns):
        raise UsageError("columns: a name is given twice")
    options = ScanOptions(
        columns=None if columns is None else tuple(columns),
        limit=limit,
        threads=threads,
        metadata=flt.options.metadata,
        fields=flt.options.fields,
        strict_json=flt.options.on_invalid_json == "error",
        prune=prune,
        memory_budget=memory_budget,
        batch_rows=PIECE_ROWS if batch_rows is None else batch_rows,
        skip_bad_files=skip_bad_files,
        origins=Origins(row_number, source_column),
    )
    files = find_files([os.fspath(path) for path in paths], None if format is None else Format(format), filesystem)
    return flt, files, options


def _typed_lines(scan: Scan) -> pa.RecordBatchReader:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the reader is at its end, or is thrown away
    try:
        spool = Spool(scan, file)
    except BaseException:
        file.close()
        raise

    def batches() -> Iterator[pa.RecordBatch]:
        with file:
            for piece in spool.pieces():
                yield piece.batch

    return pa.RecordBatchReader.from_batches(spool.schema, batches())
