"""What the arguments of the command line mean: filters, names, sizes, folders."""

from __future__ import annotations

import codecs
import os
import re
import sys
from typing import Any, cast

import fastfilter
from fastfilter.cli_options import MissingFields
from fastfilter.corpus.encodings import encoding_of
from fastfilter.corpus.formats import Format, UsageError
from fastfilter.corpus.parts import FolderOptions
from fastfilter.corpus.sources import STANDARD_INPUT
from fastfilter.errors import FilterError

__all__ = ["compile_filter", "folder_options", "names_in", "pairs"]


def compile_filter(
    text: str,
    dialect: str,
    scope: list[str] | None,
    fields: dict[str, str],
    metadata: str,
    missing_fields: MissingFields,
    strict_json: bool,
    trust_json: bool,
    sources: list[str],
) -> fastfilter.Filter:
    """The filter: JSON text, a file with it, or standard input, which can then be no source.

    Raises:
        FilterError: it is bad.
        UsageError: another argument is.
    """
    if text == STANDARD_INPUT:
        if STANDARD_INPUT in sources:
            raise UsageError("standard input can hold the filter or the rows, not both")
        if sys.stdin is None:
            raise UsageError("standard input, where the filter should be, is closed")
        filter: str | bytes = sys.stdin.buffer.read().removeprefix(codecs.BOM_UTF8)
    elif os.path.isfile(text):
        with open(text, "rb") as opened:
            filter = opened.read().removeprefix(codecs.BOM_UTF8)
    elif text.endswith(".json") or os.path.isdir(text):
        raise UsageError(f"{text}: there is no such file")
    else:
        filter = text
    if strict_json and trust_json:
        raise UsageError("--strict-json asks for a check that --trust-json leaves out")
    try:
        return fastfilter.compile(
            filter,
            dialect=cast("Any", dialect),  # compile() names those there are
            scope=pairs("--scope", scope) or None,
            fields=fields,
            metadata=metadata,
            missing_fields=missing_fields.value,
            on_invalid_json="error" if strict_json else "missing",
            json="trusted" if trust_json else "validate",
        )
    except FilterError:
        raise
    except ValueError as error:  # another argument
        raise UsageError(str(error)) from error


def pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """The names and values of a repeated option ``NAME=VALUE``."""
    pairs: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {text}: must have the form NAME=VALUE")
        if name in pairs:
            raise UsageError(f"{option}: {name} is given twice")
        pairs[name] = value
    return pairs


def names_in(option: str, columns: list[str] | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    names = tuple(name for text in columns for name in text.split(","))
    if "" in names or len(set(names)) < len(names):
        raise UsageError(f"{option}: give names with commas between them, none twice")
    return names


def folder_options(
    output: str | None,
    format: Format | None,
    compression: str | None,
    group_rows: int | None,
    partition_by: list[str] | None,
    max_rows_per_file: int | None,
    file_size: str | None,
    checkpoint: str | None,
    resume: bool,
) -> FolderOptions | None:
    """How a folder is written, if the output is one: by its name, because it is there, or because an option says so."""
    given = {
        "--output-format": format, "--partition-by": partition_by, "--max-rows-per-file": max_rows_per_file,
        "--file-size": file_size, "--checkpoint": checkpoint, "--resume": resume or None,
    }  # fmt: skip
    named = [option for option, value in given.items() if value is not None]
    if output in (None, "-"):
        if named:
            raise UsageError(f"{named[0]} is of a folder; --output names one")
        return None
    if not (named or output.endswith("/") or os.path.isdir(output)):
        return None
    if resume and not output.endswith("/") and not os.path.exists(output) and os.path.splitext(output)[1]:
        raise UsageError(f"--resume goes on with a folder, and {output} is named like a file; a folder is {output}/")
    chosen = {
        "partition_by": names_in("--partition-by", partition_by),
        "max_rows_per_file": max_rows_per_file,
        "file_size": _num_bytes("--file-size", file_size),
        "checkpoint": _num_bytes("--checkpoint", checkpoint),
    }
    return FolderOptions(
        encoding_of(format or Format.PARQUET, compression, group_rows),
        **{name: value for name, value in chosen.items() if value is not None},  # type: ignore[arg-type]
    )


_UNITS = {
    unit: factor**power
    for power, letter in enumerate(("", "K", "M", "G", "T"))
    for unit, factor in ((letter + "B", 1000), (letter + "iB", 1024))
}


def _num_bytes(option: str, text: str | None) -> int | None:
    """A size as it is spelled: ``512MB`` is 512 million bytes, ``512MiB`` a little more."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)", text)
    factors = {unit.lower(): factor for unit, factor in _UNITS.items()}
    factor = factors.get((match[2] or "B").lower()) if match else None
    size = int(float(match[1]) * factor) if match and factor else 0
    if size < 1:
        units = ", ".join(unit for unit in _UNITS if unit != "iB")
        raise UsageError(f"{option} {text}: must be a number of bytes, or of {units}, as 512MB")
    return size
