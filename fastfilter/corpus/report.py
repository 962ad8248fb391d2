"""What a scan read, and what it did not have to."""

from __future__ import annotations

from dataclasses import dataclass, field

from fastfilter.corpus.units import Outcome, ReadCounts

__all__ = ["ScanReport"]


@dataclass(slots=True)
class ScanReport:
    """What a scan did, so far; whole when the scan is at its end.

    Attributes:
        files: how many files were to be read.
        files_pruned: how many were not read, because their folders' names exclude a match.
        files_bad: what was wrong with each file that was passed over, or from a row on, under ``skip_bad_files``.
        rows: how many rows were filtered; those that were not read, because none could match, count too.
        matches: how many matched.
        tested: the columns that the filter reads, by what files have them.
        late: the columns of Parquet that are read only where a row matches.
        parquet: row groups and bytes of Parquet files.

    Example:
        >>> import fastfilter
        >>> report = fastfilter.ScanReport()
        >>> report.parquet.row_groups_pruned
        0
    """

    files: int = 0
    files_pruned: int = 0
    files_bad: list[str] = field(default_factory=list)
    rows: int = 0
    matches: int = 0
    tested: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    parquet: ReadCounts = field(default_factory=ReadCounts)

    def add(self, outcome: Outcome) -> None:
        """Adds what became of a unit."""
        self.rows += outcome.num_rows
        self.matches += outcome.num_matches
        self.files_pruned += outcome.is_pruned_file
        if outcome.counts is not None:
            self.parquet.add(outcome.counts)

    def __str__(self) -> str:
        """The report as text to read."""
        lines = [f"files: {self.files:,}; pruned {self.files_pruned:,}; bad {len(self.files_bad):,}"]
        lines += [f"  {text}" for text in self.files_bad]
        lines.append(f"rows: {self.rows:,}, of which {self.matches:,} matched")
        lines.append(f"columns tested: {', '.join(self.tested) or 'none'}")
        counts = self.parquet
        if counts.row_groups:
            lines.append(f"columns read only where a row matched: {', '.join(self.late) or 'none'}")
            pruned, empty = counts.row_groups_pruned, counts.row_groups_without_match
            lines.append(f"row groups: {counts.row_groups:,}; pruned {pruned:,}; read without a match {empty:,}")
            lines.append(
                f"bytes of column chunks: read {counts.bytes_read:,}; pruned {counts.bytes_pruned:,}; "
                f"not needed {counts.bytes_spared:,}"
            )
        return "\n".join(lines)
