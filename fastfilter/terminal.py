"""What the command line shows on a terminal: a table of the first matching rows, and a progress bar."""

from __future__ import annotations

import contextlib
import json
import unicodedata
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from fastfilter.corpus.formats import UsageError
from fastfilter.corpus.json_lines import members
from fastfilter.corpus.json_text import check_json_type, json_texts
from fastfilter.corpus.reader import Piece
from fastfilter.corpus.scan import Scan

__all__ = ["TableRows", "progress_shown"]

_SHOWN_ROWS = 20
_SHOWN_CHARACTERS = 300
_NAMED_COLUMNS = 20
_COLUMN_WIDTH = 14
_BORDER = 3


class TableRows:
    """The first of a scan's matching rows, to be shown when it is done.

    Making it runs the scan.
    """

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._rows: list[dict[str, str]] = []
        for piece in scan.matches():
            if len(self._rows) < _SHOWN_ROWS:
                self._rows.extend(_cells(piece.first(_SHOWN_ROWS - len(self._rows))))

    def show(self) -> None:
        """Shows them as a table on standard output, and says what is not shown."""
        if not self._rows:
            return
        console = Console()
        names = list(self._scan.options.output_columns or dict.fromkeys(name for row in self._rows for name in row))
        wanted = [max(cell_len(_clean(row.get(name, ""))) for row in (*self._rows, {name: name})) for name in names]
        widths = _widths(wanted, console.width - 1)
        table = Table(header_style="bold")
        for name, width in zip(names, widths, strict=False):
            table.add_column(Text(_clean(name)), width=width, no_wrap=True, overflow="ellipsis")
        num_shown = len(widths)
        for row in self._rows:
            table.add_row(*(Text(_clean(row.get(name, ""))) for name in names[:num_shown]))
        console.print(table)
        if num_shown < len(names):
            hidden = ", ".join(_clean(name) for name in names[num_shown : num_shown + _NAMED_COLUMNS])
            unnamed = len(names) - num_shown - _NAMED_COLUMNS
            hidden += f" and {unnamed:,} more" if unnamed > 0 else ""
            console.print(Text(f"not shown: {hidden} (--columns chooses)", style="dim"))
        if self._scan.rows_out > len(self._rows):
            more = self._scan.rows_out - len(self._rows)
            console.print(Text(f"… and {more:,} more rows; -o FILE writes them all", style="dim"))


def _widths(wanted: list[int], room: int) -> list[int]:
    """The widths of as many columns as there is room for: each what it wants or a little, the rest shared evenly."""
    widths: list[int] = []
    for want in wanted:
        width = min(want, _COLUMN_WIDTH)
        if widths and width + _BORDER > room:
            break
        widths.append(width)
        room -= width + _BORDER
    wider = [number for number, width in enumerate(widths) if wanted[number] > width]
    for place, number in enumerate(sorted(wider, key=lambda number: wanted[number])):
        share = max(0, room) // (len(wider) - place)
        more = min(share, wanted[number] - widths[number])
        widths[number] += more
        room -= more
    return widths


def _cells(piece: Piece) -> Iterator[dict[str, str]]:
    """The rows as texts to show, by column."""
    if piece.is_lines:
        for line in piece.batch.column(0).to_pylist():
            yield {name: _bare(text) for name, text in members(line).items()}
        return
    columns = {}
    for field, array in zip(piece.batch.schema, piece.batch.columns, strict=True):
        try:
            check_json_type(field.type, field.name)
            columns[field.name] = [_bare(text) for text in json_texts(array)]
        except UsageError:
            columns[field.name] = [f"<{field.type}>"] * len(array)
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def _bare(text: str) -> str:
    if text == "null":
        return ""
    return str(json.loads(text)) if text.startswith('"') else text


def _clean(text: str) -> str:
    """A text that cannot move the cursor or colour the terminal, and is not too long."""
    if len(text) > _SHOWN_CHARACTERS:
        text = text[:_SHOWN_CHARACTERS] + "…"
    return "".join(" " if unicodedata.category(character)[0] in "CZ" else character for character in text)


@contextlib.contextmanager
def progress_shown(scan: Scan) -> Iterator[None]:
    """Shows a bar on standard error while the scan runs, and takes it away at the end."""
    progress = Progress(
        BarColumn(),
        TextColumn("{task.fields[rows_in]:,} rows in"),
        TextColumn("{task.fields[rows_out]:,} out"),
        TextColumn("{task.fields[rate]:,.0f} rows/s"),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = progress.add_task("rows", total=scan.num_bytes or None, rows_in=0, rows_out=0, rate=0.0)

    def update() -> None:
        elapsed = progress.tasks[0].elapsed or 0.0
        rate = scan.rows_in / elapsed if elapsed else 0.0
        completed = scan.bytes_in if scan.num_bytes else None
        progress.update(task, completed=completed, rows_in=scan.rows_in, rows_out=scan.rows_out, rate=rate)

    scan.on_progress = update
    with progress:
        yield
        update()
