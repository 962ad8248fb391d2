"""The arguments and options of the command line, each described where it is declared."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from fastfilter.compiler.dialects import DIALECTS
from fastfilter.corpus.formats import Format

__all__ = [
    "CheckpointOption",
    "ColumnsOption",
    "CompressionOption",
    "DialectOption",
    "ExplainIoOption",
    "FieldOption",
    "FileSizeOption",
    "FilterArgument",
    "InputFormatOption",
    "LimitOption",
    "MaxRowsPerFileOption",
    "MaxRowsPerGroupOption",
    "MemoryOption",
    "MetadataOption",
    "MissingFields",
    "MissingFieldsOption",
    "OptionalSources",
    "OutputFormatOption",
    "OutputOption",
    "PartitionByOption",
    "PruneOption",
    "QuietOption",
    "ResumeOption",
    "RowNumberOption",
    "ScopeOption",
    "SkipBadFilesOption",
    "SourceColumnOption",
    "Sources",
    "StrictJsonOption",
    "ThreadsOption",
    "TrustJsonOption",
]


class MissingFields(enum.Enum):
    """The choices of ``--missing-fields``."""

    ERROR = "error"
    NULL = "null"


FilterArgument = Annotated[
    str, typer.Argument(metavar="FILTER", help="The filter: JSON text, a file with it, or - for standard input.")
]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE",
        help="Files, folders, globs or URLs of Parquet, Arrow IPC, JSONL or CSV; - is standard input (JSONL).",
    ),
]
OptionalSources = Annotated[
    list[str] | None,
    typer.Argument(metavar="SOURCE", help="Files, folders or globs, as of run.", show_default=False),
]
DialectOption = Annotated[
    str, typer.Option("--dialect", help=f"The filter's dialect: auto, {', '.join(DIALECTS)}.", metavar="NAME")
]
ScopeOption = Annotated[
    list[str] | None,
    typer.Option("--scope", metavar="KEY=VALUE", help="A scope ANDed with the filter, as user_id=ada; repeatable."),
]
MetadataOption = Annotated[str, typer.Option("--metadata", metavar="COLUMN", help="The name of the metadata column.")]
FieldOption = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="NAME=COLUMN", help="The column of a built-in field with another name."),
]
MissingFieldsOption = Annotated[
    MissingFields,
    typer.Option("--missing-fields", help="What a built-in field without a column is: an error, or null on every row."),
]
StrictJsonOption = Annotated[
    bool, typer.Option("--strict-json", help="Stop at metadata that is no JSON object; without it, that is missing.")
]
TrustJsonOption = Annotated[
    bool, typer.Option("--trust-json", help="Take JSON texts for well-formed: faster, and no check of broken ones.")
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, help="The most threads to use.", show_default="every core")
]
InputFormatOption = Annotated[
    Format | None,
    typer.Option("--input-format", help="The format of all sources, whatever their names.", show_default="by ending"),
]
PruneOption = Annotated[
    bool, typer.Option("--prune/--no-prune", help="Leave parts unread whose statistics or folders exclude a match.")
]
MemoryOption = Annotated[
    int, typer.Option("--memory-budget", metavar="MB", min=1, help="About how much may be read ahead, in megabytes.")
]
SkipBadFilesOption = Annotated[
    bool,
    typer.Option(
        "--skip-bad-files", help="Report files that cannot be read, and go on (exit code 4); else they are an error."
    ),
]
ExplainIoOption = Annotated[
    bool, typer.Option("--explain-io", help="At the end, say what was read, what was pruned and what was not needed.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no summary.")]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="The file to write, in the format of its ending, or a folder (OUT/) to write files to; without it "
        "standard output: a table on a terminal, JSONL in a pipe.",
    ),
]
OutputFormatOption = Annotated[
    Format | None,
    typer.Option("--output-format", help="The format of the files in a folder.", show_default="parquet"),
]
CompressionOption = Annotated[
    str | None,
    typer.Option(
        "--compression",
        metavar="CODEC[:LEVEL]",
        help="Of Parquet none, snappy, gzip, brotli, zstd or lz4; of Arrow none, lz4 or zstd; around JSONL and CSV in "
        "a folder none, gzip, bz2, zstd or lz4.",
        show_default="zstd for Parquet, else none",
    ),
]
MaxRowsPerGroupOption = Annotated[
    int | None,
    typer.Option(
        "--max-rows-per-group",
        metavar="N",
        min=1,
        help="The most rows of a row group of Parquet (1,048,576, or 64 MB in memory) or a record batch of Arrow.",
        show_default=False,
    ),
]
PartitionByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--partition-by",
        metavar="A,B,...",
        help="Write to folders OUT/A=value/B=value/, as Hive and Spark name them.",
        show_default="none",
    ),
]
MaxRowsPerFileOption = Annotated[
    int | None,
    typer.Option(
        "--max-rows-per-file", metavar="N", min=1, help="Of a folder: the most rows of a file.", show_default="any"
    ),
]
FileSizeOption = Annotated[
    str | None,
    typer.Option(
        "--file-size",
        metavar="SIZE",
        help="Of a folder: about the size at which a file is ended.",
        show_default="512MB",
    ),
]
CheckpointOption = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="SIZE",
        help="Of a folder: end its files each time so much of the sources is read, so that --resume can begin there.",
        show_default="4GB",
    ),
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Of a folder: go on with a run that was ended; the files become the same.")
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option("--columns", metavar="A,B,...", help="The columns to write, in this order.", show_default="all"),
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", min=0, help="Stop after so many matching rows.", show_default="none")
]
RowNumberOption = Annotated[
    str | None, typer.Option("--row-number", metavar="NAME", help="Add a column: each row's number in its file.")
]
SourceColumnOption = Annotated[
    str | None, typer.Option("--source-column", metavar="NAME", help="Add a column: each row's file.")
]
