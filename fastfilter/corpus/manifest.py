"""The manifest of a folder that is written: what run it is from, how far that got, and which files are finished.

It is replaced as a whole, after the files that it names are in place. So a run that was ended, however, is resumed from
it: files it does not name were written after it, and are written again.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import fastfilter
from fastfilter.bytecode.program import Program
from fastfilter.compiler.decompile import decompile
from fastfilter.compiler.describe import describe
from fastfilter.corpus.formats import UsageError
from fastfilter.corpus.positions import Position
from fastfilter.corpus.scan import ScanOptions
from fastfilter.corpus.sources import InputFile
from fastfilter.corpus.writers import put_into_place
from fastfilter.errors import ProgramError
from fastfilter.filter import Filter

__all__ = ["MANIFEST", "Manifest", "Part", "Run", "differences", "run_of"]

MANIFEST = "_fastfilter.json"
"""The manifest's name; what reads folders of data passes over names that begin so."""

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Part:
    """A finished file.

    Attributes:
        name: its path in the folder, with ``/``.
        rows: how many rows it holds.
        bytes: its size.
        first: where its first row comes from: a source, and the row's number there from 1 (of JSONL the line's); None
            if it holds none.
        last: the same of its last row.
    """

    name: str
    rows: int
    bytes: int
    first: tuple[str, int] | None
    last: tuple[str, int] | None


@dataclass(frozen=True, slots=True)
class Run:
    """All that decides what a run writes. A run is resumed by one that is equal.

    Attributes:
        made_by: the versions of this package and of pyarrow, as both decide the bytes of a file.
        filter: the program, as base64 of its serialised form.
        options: how sources are read and files written.
        sources: of each source its path, its size, and when it was changed, in nanoseconds since 1970 (None if its file
            system does not tell).
    """

    made_by: Mapping[str, str]
    filter: str
    options: Mapping[str, Any]
    sources: Sequence[Mapping[str, Any]]


def run_of(flt: Filter, files: Sequence[InputFile], reading: ScanOptions, writing: Mapping[str, Any]) -> Run:
    """What decides the rows and files of a run; how many threads it has does not."""
    options = {**_plain(reading), **_plain(flt.options), **writing}
    options.update(row_number=reading.origins.row_number, source_column=reading.origins.source)
    for name in ("threads", "origins", "record_json"):
        del options[name]
    versions = {"fastfilter": fastfilter.__version__, "pyarrow": pa.__version__}
    program = base64.b64encode(flt.program.to_bytes()).decode()
    return Run(versions, program, json.loads(json.dumps(options)), [_source(file) for file in files])


def _plain(options: Any) -> dict[str, Any]:
    return {each.name: _plain_value(getattr(options, each.name)) for each in dataclasses.fields(options)}


def _plain_value(value: Any) -> Any:
    return _plain(value) if dataclasses.is_dataclass(value) else dict(value) if isinstance(value, Mapping) else value


def _source(file: InputFile) -> dict[str, Any]:
    if file.is_stream:
        return {"path": file.path, "format": file.format.value, "stream": True}
    if file.filesystem is None:
        modified = os.stat(file.path).st_mtime_ns
    else:
        modified = file.filesystem.get_file_info(file.location).mtime_ns
    return {"path": file.path, "format": file.format.value, "bytes": file.num_bytes, "modified": modified}


@dataclass(slots=True)
class Manifest:
    """What is known of a folder that is written.

    Attributes:
        run: what decides its content.
        schema: name and type of each column of the rows, those of its folders included; None before that is known, and
            of JSONL.
        position: the place in the sources (or, where JSONL becomes columns, in the rows found) up to which all matching
            rows are in the parts.
        unopened: what was wrong with files that were passed over because they could not be opened.
        bad_files: what was wrong with others that were passed over, up to there.
        parts: the finished files, in the order in which they were finished.
        rows_in: of a complete run, how many rows were filtered.
        is_complete: whether the run came to its end.
    """

    run: Run
    schema: list[list[str]] | None = None
    position: Position = field(default_factory=Position)
    unopened: list[str] = field(default_factory=list)
    bad_files: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    rows_in: int | None = None
    is_complete: bool = False

    @property
    def num_rows(self) -> int:
        """How many rows the parts hold."""
        return sum(part.rows for part in self.parts)

    def write(self, folder: str) -> None:
        """Puts it into the folder, in place of the one before.

        Raises:
            UsageError: it cannot be written.
        """
        with (
            put_into_place(os.path.join(folder, MANIFEST)) as temporary,
            open(temporary, "w", encoding="utf-8") as file,
        ):
            file.writelines(self._text())

    def _text(self) -> Iterator[str]:
        """JSON, with a line for each column, source and part."""
        yield f'{{"manifest": {_VERSION}'
        plain = {**_plain(self.run), **_plain(self), "complete": self.is_complete}
        for name in ("run", "is_complete"):
            del plain[name]
        for name, value in plain.items():
            if isinstance(value, list) and value:
                lines = ",\n  ".join(json.dumps(_plain_value(each)) for each in value)
                yield f",\n {json.dumps(name)}: [\n  {lines}\n ]"
            else:
                yield f",\n {json.dumps(name)}: {json.dumps(value)}"
        yield "\n}\n"

    @staticmethod
    def read(folder: str) -> Manifest | None:
        """The manifest of a folder, or None if it has none.

        Raises:
            UsageError: it is damaged, or of another version.
        """
        path = os.path.join(folder, MANIFEST)
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            if found["manifest"] != _VERSION:
                raise UsageError(
                    f"{path}: is of version {found['manifest']}, not {_VERSION}: another fastfilter wrote it"
                )
            return Manifest(
                Run(found["made_by"], found["filter"], found["options"], found["sources"]),
                found["schema"],
                Position(**found["position"]),
                found["unopened"],
                found["bad_files"],
                [Part(**part) for part in found["parts"]],
                found["rows_in"],
                found["complete"],
            )
        except FileNotFoundError:
            return None
        except UsageError:
            raise
        except (OSError, ValueError, TypeError, KeyError) as error:
            what = f"{type(error).__name__}: {error}"
            raise UsageError(f"{path}: cannot be read ({what}); empty the folder, or write into another") from error


def differences(before: Run, now: Run) -> list[str]:
    """What is not the same in two runs, a line each.

    Example:
        >>> flt = fastfilter.compile(None)
        >>> few = run_of(flt, [], ScanOptions(limit=5), {})
        >>> differences(few, run_of(flt, [], ScanOptions(), {}))
        ['option limit: was 5, is null']
    """
    found = []
    for name in sorted({*before.made_by, *now.made_by}):
        if before.made_by.get(name) != now.made_by.get(name):
            found.append(f"version of {name}: was {before.made_by.get(name)}, is {now.made_by.get(name)}")
    if before.filter != now.filter:
        found.append(f"filter: was [{_meaning(before.filter)}], is [{_meaning(now.filter)}]")
    for name in sorted({*before.options, *now.options}):
        values = [json.dumps(options.get(name)) for options in (before.options, now.options)]
        if values[0] != values[1]:
            found.append(f"option {name}: was {values[0]}, is {values[1]}")
    return found + list(_source_differences(before.sources, now.sources))


def _source_differences(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    paths = [source["path"] for source in before], [source["path"] for source in now]
    if paths[0] != paths[1]:
        known = set(paths[0])
        yield from (f"source {path}: is not there any more" for path in dict.fromkeys(paths[0]) if path not in paths[1])
        yield from (f"source {path}: was not there" for path in dict.fromkeys(paths[1]) if path not in known)
        if set(paths[0]) == set(paths[1]):
            yield "sources: are in another order"
        return
    for old, new in zip(before, now, strict=True):
        for key, shown in (("format", str), ("bytes", "{:,} bytes".format), ("modified", _time)):
            if old.get(key) != new.get(key):
                yield f"source {old['path']}: {key} was {shown(old.get(key))}, is {shown(new.get(key))}"


def _time(nanoseconds: int | None) -> str:
    if nanoseconds is None:
        return "unknown"
    return datetime.datetime.fromtimestamp(nanoseconds / 1e9, datetime.UTC).isoformat()


def _meaning(program: str) -> str:
    try:
        expression = decompile(Program.from_bytes(base64.b64decode(program)))
    except (ValueError, ProgramError):
        return "a program that cannot be read"
    if expression is None:
        return "a program from elsewhere"
    return "; ".join(line.strip() for line in describe(expression).splitlines())
