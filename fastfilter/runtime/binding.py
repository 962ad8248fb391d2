"""What the binder gives a virtual machine: a program, and where in a batch each of its fields is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from fastfilter.bytecode.program import Program

__all__ = ["Binding", "JsonPath", "MapKey", "Source", "Step", "StructChild"]


class StructChild(NamedTuple):
    """From a struct to one of its children. A null struct makes the child NULL, a missing one MISSING."""

    child: int


class MapKey(NamedTuple):
    """From a map to the value of a key, the last if it stands twice. MISSING if it is not there or the map is null."""

    key: str


class JsonPath(NamedTuple):
    """From JSON text to the value at a path of literal keys in it (the whole value if empty). Always the last step."""

    path: tuple[str, ...]


Step = StructChild | MapKey | JsonPath


@dataclass(frozen=True, slots=True)
class Source:
    """Where a field's values come from.

    Attributes:
        column: index of the top-level column, or None: the field is MISSING on every row.
        steps: the way from the column to the value. Dictionary and run-end encoding and extension types are looked
            through before every step and at the end.
        type: the value's type without encodings (no dictionary, run-end encoding or extension but ``arrow.uuid``), or
            None where it is MISSING or a JSON value.
    """

    column: int | None
    steps: tuple[Step, ...] = ()
    type: pa.DataType | None = None

    @property
    def json(self) -> bool:
        """Whether the values are JSON values."""
        return bool(self.steps) and isinstance(self.steps[-1], JsonPath)


@dataclass(frozen=True, slots=True)
class Binding:
    """A program bound to a schema.

    Attributes:
        program: the program, with tests on TIMESTAMP columns turned into tests of instants.
        sources: one for each of ``program.fields``.
        schema: the schema it was bound to.
        strict_json: stop at the first row (not null) whose JSON text cannot be read as it must be, whether or not a
            condition would have looked at it: DataError with the row's number. Otherwise such a text's values are
            MISSING.
        trusted_json: every JSON text is known to be well-formed and need not be validated. A machine may make use of it
            or not; of a text that is not well-formed after all, some answer comes.
    """

    program: Program
    sources: tuple[Source, ...]
    schema: pa.Schema
    strict_json: bool
    trusted_json: bool = False
