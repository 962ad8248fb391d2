"""Places in a scan, from which another scan of the same files can go on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from fastfilter.corpus.reader import Piece

__all__ = ["Position", "Step"]


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two matching rows of a scan, from which another scan of the same files can go on. Files are cut
    into the same units whenever they are read with the same options, so a unit is known by its number.

    Attributes:
        file: the number of the file, from 0.
        units: how many units of the file are done.
        first_number: the number, in the file, of the first row behind them.
        matches: how many matching rows of the next unit are done.
        rows_in: how many rows were filtered in the units done, of all files.
        rows_out: how many matched of these.
        bytes_in: how many bytes of the files were read for these.
    """

    file: int = 0
    units: int = 0
    first_number: int = 1
    matches: int = 0
    rows_in: int = 0
    rows_out: int = 0
    bytes_in: int = 0


class Step(NamedTuple):
    """What one unit of a scan gave: its matching rows, where the scan is before it and after it, and whether its file
    is passed over from there on, which the report has noted."""

    pieces: Iterable[Piece]
    before: Position
    after: Position
    is_bad: bool = False
