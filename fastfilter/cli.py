"""The command line: ``fastfilter run``, ``count``, ``explain``, ``validate`` and ``info``.

Exit codes: 0 something matched (or all is well), 1 nothing matched, 2 a bad filter, bad usage or an output that cannot
be written, 3 bad input, 4 done but for files that were skipped, 130 interrupted. Standard output carries data only; all
else goes to standard error.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, ParamSpec

import pyarrow as pa
import typer

import fastfilter
from fastfilter.cli_arguments import compile_filter, folder_options, names_in, pairs
from fastfilter.cli_options import (
    CheckpointOption,
    ColumnsOption,
    CompressionOption,
    DialectOption,
    ExplainIoOption,
    FieldOption,
    FileSizeOption,
    FilterArgument,
    InputFormatOption,
    LimitOption,
    MaxRowsPerFileOption,
    MaxRowsPerGroupOption,
    MemoryOption,
    MetadataOption,
    MissingFields,
    MissingFieldsOption,
    OptionalSources,
    OutputFormatOption,
    OutputOption,
    PartitionByOption,
    PruneOption,
    QuietOption,
    ResumeOption,
    RowNumberOption,
    ScopeOption,
    SkipBadFilesOption,
    SourceColumnOption,
    Sources,
    StrictJsonOption,
    ThreadsOption,
    TrustJsonOption,
)
from fastfilter.compiler.dialects import DIALECTS
from fastfilter.corpus.folder import FolderOutput
from fastfilter.corpus.formats import UsageError, known_endings
from fastfilter.corpus.origins import Origins
from fastfilter.corpus.output import write_file, write_lines
from fastfilter.corpus.scan import MEMORY_BUDGET, Scan, ScanOptions
from fastfilter.corpus.sources import InputFile, find_files
from fastfilter.corpus.writers import check_is_no_source, check_output
from fastfilter.errors import BindError, DataError, FilterError

__all__ = ["app", "main"]

NOTHING_MATCHED = 1
BAD_USAGE = 2
BAD_INPUT = 3
FILES_SKIPPED = 4
"""whatever matched in the others: as with grep, an answer that may not be whole is not the same as one that is"""
FAULT = 70
"""a fault of this program (EX_SOFTWARE of sysexits.h)"""

app = typer.Typer(
    name="fastfilter",
    help="Evaluates the JSON filters of AI-memory and vector-store APIs over Parquet, Arrow, JSONL and CSV files.",
    epilog="Exit codes: 0 matched, 1 nothing matched, 2 bad filter or usage, 3 bad input, 4 files skipped.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


Parameters = ParamSpec("Parameters")


class _Terminated(BaseException):
    """A signal asked the process to end, while a command was under way."""


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_under_way = False


def _command(function: Callable[Parameters, int]) -> Callable[Parameters, NoReturn]:
    """A command whose result is the exit code, and whose errors are a line on standard error."""

    @functools.wraps(function)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> NoReturn:
        global _under_way
        try:
            _under_way = True
            try:
                code = function(*args, **kwargs)
                sys.stdout.flush()
            finally:
                _under_way = False
        except BrokenPipeError:  # the reader of our output has had enough
            code = 0
        except (KeyboardInterrupt, _Terminated) as ended:
            number = ended.args[0] if isinstance(ended, _Terminated) else signal.SIGINT
            code = _failed("interrupted" if number == signal.SIGINT else "terminated", 128 + number)
        except FilterError as error:
            code = _failed(_filter_error(error), BAD_USAGE, error)
        except BindError as error:
            code = _failed(error.message, BAD_USAGE, error)
        except DataError as error:
            code = _failed(error.message, BAD_INPUT, error)
        except (UsageError, OSError, pa.ArrowException) as error:
            code = _failed(str(error), BAD_USAGE, error)
        except Exception as error:
            code = _failed(f"{type(error).__name__}: {error} (FASTFILTER_DEBUG=1 shows where)", FAULT, error)
        raise typer.Exit(code)

    return run


def _say(message: str) -> None:
    """A line on standard error. That it cannot be written changes nothing: what it is about has happened."""
    with contextlib.suppress(OSError):
        print(message, file=sys.stderr, flush=True)


def _failed(message: str, code: int, error: Exception | None = None) -> int:
    if error is not None and os.environ.get("FASTFILTER_DEBUG") == "1":
        raise error
    _say(f"error: {message}")
    return code


def _filter_error(error: FilterError) -> str:
    allowed = f"; allowed: {', '.join(error.allowed)}" if error.allowed else ""
    return f"{error}\n  code: {error.code}; pointer: {error.pointer or '(the whole filter)'}{allowed}"


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        print(f"fastfilter {fastfilter.__version__}")
        raise typer.Exit(0)


@app.command()
@_command
def run(
    filter: FilterArgument,
    sources: Sources,
    output: OutputOption = None,
    dialect: DialectOption = "auto",
    scope: ScopeOption = None,
    metadata: MetadataOption = "metadata",
    field: FieldOption = None,
    columns: ColumnsOption = None,
    limit: LimitOption = None,
    missing_fields: MissingFieldsOption = MissingFields.ERROR,
    strict_json: StrictJsonOption = False,
    trust_json: TrustJsonOption = False,
    threads: ThreadsOption = None,
    input_format: InputFormatOption = None,
    row_number: RowNumberOption = None,
    source_column: SourceColumnOption = None,
    prune: PruneOption = True,
    memory_budget: MemoryOption = MEMORY_BUDGET >> 20,
    skip_bad_files: SkipBadFilesOption = False,
    explain_io: ExplainIoOption = False,
    output_format: OutputFormatOption = None,
    compression: CompressionOption = None,
    max_rows_per_group: MaxRowsPerGroupOption = None,
    partition_by: PartitionByOption = None,
    max_rows_per_file: MaxRowsPerFileOption = None,
    file_size: FileSizeOption = None,
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
) -> int:
    """Write the rows of the sources that match the filter."""
    fields = pairs("--field", field)
    flt = compile_filter(filter, dialect, scope, fields, metadata, missing_fields, strict_json, trust_json, sources)
    options = ScanOptions(
        names_in("--columns", columns), limit, threads, metadata, fields, strict_json, prune, memory_budget << 20,
        skip_bad_files=skip_bad_files, origins=Origins(row_number, source_column),
    )  # fmt: skip
    folder = folder_options(
        output, output_format, compression, max_rows_per_group, partition_by, max_rows_per_file, file_size, checkpoint,
        resume,
    )  # fmt: skip
    files = find_files(sources, input_format)
    if folder is not None:
        assert output is not None
        with FolderOutput(output, folder, flt, files, options, sources, resume) as into:
            return _run_into_folder(into, flt, files, options, quiet, output, explain_io)
    if output not in (None, "-"):
        check_output(output, files, compression, max_rows_per_group)
    elif compression is not None or max_rows_per_group is not None:
        raise UsageError("--compression and --max-rows-per-group are of files; --output names one")
    else:
        with contextlib.suppress(OSError):  # it may be no file at all
            check_is_no_source(os.fstat(sys.stdout.fileno()), "standard output", files)
    scan = Scan(flt, files, options, on_bad_file=_say_bad_file)
    started = time.perf_counter()
    table = None
    with _progress(scan, quiet):
        if output not in (None, "-"):
            write_file(scan, output, compression, max_rows_per_group)
        elif output is None and sys.stdout.isatty():
            from fastfilter.terminal import TableRows

            table = TableRows(scan)
        else:
            write_lines(scan, sys.stdout.buffer)
            sys.stdout.buffer.flush()
    if table is not None:
        table.show()
    return _finished(scan, started, quiet, output, explain_io)


def _run_into_folder(
    into: FolderOutput,
    flt: fastfilter.Filter,
    files: list[InputFile],
    options: ScanOptions,
    quiet: bool,
    output: str,
    explain_io: bool,
) -> int:
    done = into.manifest
    if done.is_complete:
        if not quiet:
            _say(f"{output} is complete already: {done.num_rows:,} rows in {len(done.parts):,} files; nothing to do")
        return _exit_code(done.num_rows, done.unopened + done.bad_files)
    if done.parts and not quiet:
        _say(f"{output}: going on behind {done.num_rows:,} rows in {len(done.parts):,} files")
    scan = Scan(flt, files, options, on_bad_file=_say_bad_file)
    started = time.perf_counter()
    with _progress(scan, quiet):
        into.write(scan)
    num_files = len(into.manifest.parts)
    return _finished(scan, started, quiet, f"{output} ({num_files:,} file{'s' * (num_files != 1)})", explain_io)


@app.command()
@_command
def count(
    filter: FilterArgument,
    sources: Sources,
    dialect: DialectOption = "auto",
    scope: ScopeOption = None,
    metadata: MetadataOption = "metadata",
    field: FieldOption = None,
    missing_fields: MissingFieldsOption = MissingFields.ERROR,
    strict_json: StrictJsonOption = False,
    trust_json: TrustJsonOption = False,
    threads: ThreadsOption = None,
    input_format: InputFormatOption = None,
    prune: PruneOption = True,
    memory_budget: MemoryOption = MEMORY_BUDGET >> 20,
    skip_bad_files: SkipBadFilesOption = False,
    explain_io: ExplainIoOption = False,
    quiet: QuietOption = False,
) -> int:
    """Print how many rows of the sources match the filter."""
    fields = pairs("--field", field)
    flt = compile_filter(filter, dialect, scope, fields, metadata, missing_fields, strict_json, trust_json, sources)
    files = find_files(sources, input_format)
    options = ScanOptions(
        None, None, threads, metadata, fields, strict_json, prune, memory_budget << 20, skip_bad_files=skip_bad_files
    )
    scan = Scan(flt, files, options, on_bad_file=_say_bad_file)
    started = time.perf_counter()
    with _progress(scan, quiet):
        scan.count()
    print(scan.rows_out, flush=True)
    return _finished(scan, started, quiet, None, explain_io)


@app.command()
@_command
def explain(
    filter: FilterArgument,
    sources: OptionalSources = None,
    dialect: DialectOption = "auto",
    scope: ScopeOption = None,
    metadata: MetadataOption = "metadata",
    field: FieldOption = None,
    missing_fields: MissingFieldsOption = MissingFields.ERROR,
    input_format: InputFormatOption = None,
) -> int:
    """Show what the filter means and how it runs; with a source, also on which columns."""
    fields = pairs("--field", field)
    flt = compile_filter(filter, dialect, scope, fields, metadata, missing_fields, False, False, sources or [])
    print(f"dialect\n  {flt.dialect}")
    if sources:
        files = find_files(sources, input_format)
        print(Scan(flt, files[:1], ScanOptions(None, None, None, metadata, fields)).explain())
    else:
        print(flt.explain())
    return 0


@app.command()
@_command
def validate(
    filter: FilterArgument,
    dialect: DialectOption = "auto",
    scope: ScopeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as a JSON object.")] = False,
) -> int:
    """Say whether the filter is a good one, and if not, where it is bad."""
    try:
        flt = compile_filter(filter, dialect, scope, {}, "metadata", MissingFields.ERROR, False, False, [])
    except FilterError as error:
        if not as_json:
            raise
        found: dict[str, Any] = {"code": error.code, "pointer": error.pointer, "message": error.message}
        print(json.dumps({"valid": False, **found, "allowed": list(error.allowed)}, ensure_ascii=False))
        return BAD_USAGE
    fields = [use.field.name for use in flt.program.fields]
    if as_json:
        print(json.dumps({"valid": True, "dialect": flt.dialect, "fields": fields}, ensure_ascii=False))
    else:
        print(f"ok: {flt.dialect}; fields: {', '.join(fields) or 'none'}")
    return 0


@app.command()
@_command
def info(sources: OptionalSources = None, input_format: InputFormatOption = None) -> int:
    """Show versions, formats and dialects; or the columns of sources."""
    if not sources:
        print(f"fastfilter {fastfilter.__version__}, {fastfilter.backend} back end")
        print(f"Python {platform.python_version()} ({platform.python_implementation()}), pyarrow {pa.__version__}")
        print(f"formats: {known_endings()}")
        print(f"dialects: {', '.join(DIALECTS)}")
        return 0
    files = find_files(sources, input_format)
    scan = Scan(fastfilter.compile(None), files, ScanOptions())
    for file, schema in zip(scan.files, scan.schemas, strict=True):
        print(f"{file.path}: {file.format.value}, {file.num_bytes:,} bytes")
        if schema is None:
            print("  lines of JSON: fields are found in each line")
        for column in schema or ():
            print(f"  {column.name}: {column.type}")
    if scan.num_rows is not None:
        print(f"{scan.num_rows:,} rows")
    return 0


def _progress(scan: Scan, quiet: bool) -> contextlib.AbstractContextManager[None]:
    """Shows the progress of a scan, where there is a terminal to show it on."""
    if quiet or not sys.stderr.isatty():
        return contextlib.nullcontext()
    from fastfilter.terminal import progress_shown

    return progress_shown(scan)


def _say_bad_file(message: str) -> None:
    """Says what is wrong with a file that is passed over; also with ``--quiet``, as its rows are not in the output."""
    _say(f"skipped: {message}")


def _finished(scan: Scan, started: float, quiet: bool, output: str | None, explain_io: bool) -> int:
    """Says in one line what a scan did; its exit code."""
    if explain_io:
        _say(str(scan.report))
    if not quiet:
        seconds = time.perf_counter() - started
        into = f" → {output}" if output not in (None, "-") else ""
        _say(
            f"{scan.rows_out:,} of {scan.rows_in:,} rows matched in {seconds:.2f} s, "
            f"{scan.rows_in / max(seconds, 1e-9):,.0f} rows/s{into}"
        )
        for note in scan.without_metadata[:3]:
            _say(f"note: {note}")
        if scan.rows_out and scan.columns_missing:
            _say(f"note: no matching line has {', '.join(map(repr, sorted(scan.columns_missing)))}")
    return _exit_code(scan.rows_out, scan.report.files_bad)


def _exit_code(num_rows: int, files_bad: list[str]) -> int:
    return FILES_SKIPPED if files_bad else 0 if num_rows else NOTHING_MATCHED


def _terminate(number: int, _: object) -> None:
    if not _under_way:
        os._exit(128 + number)
    for further in _SIGNALS:  # what is done now is the cleaning up
        signal.signal(further, signal.SIG_IGN)
    raise _Terminated(number)


def main() -> NoReturn:
    """The command line as the process's own work: signals, standard streams and the exit code are its."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)
    sys.setrecursionlimit(5_000)  # JSON text may nest to 1,024
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # messages name files and columns that its encoding may not know
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(prog_name="fastfilter", standalone_mode=False)
    except OSError as error:  # --help to a full disk
        code = _failed(str(error), BAD_USAGE)
    except SystemExit:  # --help to a reader that has gone
        code = 0
    except Exception as error:
        if not hasattr(error, "show"):
            raise
        with contextlib.suppress(OSError):
            error.show()  # bad usage, in the words of typer
        code = BAD_USAGE
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # it has been said, or cannot be; at exit it would be tried again, and change the exit code
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)
