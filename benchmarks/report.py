"""Results as data, and the Markdown report of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.cases import FAMILIES
from benchmarks.measure import Timing

if TYPE_CHECKING:
    from benchmarks.goals import Goal

__all__ = ["OURS", "Result", "Run", "duration", "geometric_mean", "markdown", "summary"]

OURS = "fastfilter"


@dataclasses.dataclass(frozen=True)
class Result:
    """What was measured of one case.

    Attributes:
        family, label, rows: of the case.
        passing: rows that pass.
        bytes_read: size of all that the question names, and of a mask.
        timings: by engine.
        unsupported: why the other engines cannot answer.
    """

    family: str
    label: str
    rows: int
    passing: int
    bytes_read: int
    timings: dict[str, Timing]
    unsupported: dict[str, str]

    @property
    def name(self) -> str:
        """The case's name."""
        return f"{self.family}/{self.label}/{self.rows}"

    @property
    def best_peer(self) -> str | None:
        """The fastest engine that is not fastfilter."""
        peers = [engine for engine in self.timings if not engine.startswith(OURS)]
        return min(peers, key=lambda engine: self.timings[engine].median, default=None)

    @property
    def ratio(self) -> float | None:
        """How many times faster fastfilter is than the best peer; or with two threads than with one."""
        if self.family == "threads":
            many = [timing for engine, timing in self.timings.items() if engine != OURS]
            return self.timings[OURS].median / many[0].median if many and OURS in self.timings else None
        peer = self.best_peer
        if peer is None or OURS not in self.timings:
            return None
        return self.timings[peer].median / self.timings[OURS].median


@dataclasses.dataclass(frozen=True)
class Run:
    """All results of one run, the machine, the engines' versions, and bytes a second of the machine's memory."""

    machine: dict[str, Any]
    versions: dict[str, str]
    bandwidth: float
    compiling: dict[str, Timing]
    results: list[Result]

    def to_json(self) -> dict[str, Any]:
        """Everything, with the ratios."""
        data = dataclasses.asdict(self)
        for written, result in zip(data["results"], self.results, strict=True):
            written.update(name=result.name, best_peer=result.best_peer, ratio=result.ratio)
            written["limit"] = result.bytes_read / self.bandwidth
        return data


def duration(seconds: float) -> str:
    """A time with three digits: ``12.3 ms``."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            value = seconds / size
            return f"{value:.{max(0, 2 - int(math.log10(value)))}f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def geometric_mean(ratios: Iterable[float]) -> float:
    """Of at least one ratio."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms))


def _families(run: Run) -> dict[str, list[Result]]:
    found = {family: [result for result in run.results if result.family == family] for family in FAMILIES}
    return {family: results for family, results in found.items() if results}


def summary(run: Run) -> str:
    """A table with a row for each family: the ratios' geometric mean, least and greatest."""
    lines = ["| family | cases | geometric mean | least | in | greatest |", "|---|--:|--:|--:|---|--:|"]
    for family, results in _families(run).items():
        rated = [(result.ratio, result) for result in results if result.ratio is not None]
        if not rated:
            continue
        ratios = [ratio for ratio, _ in rated]
        least, worst = min(rated, key=lambda pair: pair[0])
        lines.append(
            f"| {family} | {len(rated)} | {_factor(geometric_mean(ratios))} | {_factor(least)} "
            f"| {worst.label}, {worst.rows:,} rows | {_factor(max(ratios))} |"
        )
    return "\n".join(lines)


def markdown(run: Run, goals: Sequence[Goal] = ()) -> str:
    """The whole report, with the goals that the run tells of."""
    facts = [f"{name} {version}" for name, version in run.versions.items()]
    machine = run.machine
    parts = [
        "# Benchmark results",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}; "
        f"fastfilter's {machine['backend']} back end on the target {machine['target']}; {machine['threads']} thread(s) "
        f"for every engine. {', '.join(facts)}. One thread moves {run.bandwidth / 1e9:.1f} GB/s.",
        "Each figure is the median time of a call, in brackets half the distance of its quartiles in per cent. *Ratio* "
        "is the best peer's time divided by fastfilter's. *Moved* is the size of all buffers that the question names, "
        "and of a mask; *limit* is how long moving them takes; narrowing, or a cache that holds the table, goes below.",
        "## Summary",
        summary(run),
    ]
    if run.compiling:
        lines = [f"| {name} | {_cell(timing)} |" for name, timing in run.compiling.items()]
        parts += ["## Compiling a filter", "\n".join(["| | time |", "|---|--:|", *lines])]
    if goals:
        lines = [
            f"| {goal.what} | {goal.wanted} | {goal.found} | {'yes' if goal.met else '**no**'} |" for goal in goals
        ]
        parts += ["## Goals", "\n".join(["| | wanted | found | met |", "|---|--:|--:|---|", *lines])]
    for family, results in _families(run).items():
        parts += [f"## {FAMILIES[family]}", _table(results, run.bandwidth)]
    reasons = sorted({(engine, why) for result in run.results for engine, why in result.unsupported.items()})
    if reasons:
        parts += ["## Not measured", "\n".join(f"* {engine}: {why}" for engine, why in reasons)]
    return "\n\n".join(parts) + "\n"


def _table(results: list[Result], bandwidth: float) -> str:
    engines = list(dict.fromkeys(engine for result in results for engine in result.timings))
    head = ["case", "rows", "pass", *engines, "best peer", "ratio", "moved", "limit"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for result in results:
        ratio = "–" if result.ratio is None else f"**{_factor(result.ratio)}**"
        cells = [result.label, f"{result.rows:,}", f"{result.passing / max(result.rows, 1):.1%}"]
        cells += [_cell(result.timings[engine]) if engine in result.timings else "–" for engine in engines]
        cells += [result.best_peer or "–", ratio, _size(result.bytes_read), duration(result.bytes_read / bandwidth)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(timing: Timing) -> str:
    spread = (timing.high - timing.low) / 2 / timing.median
    return f"{duration(timing.median)} ({spread:.0%})"


def _factor(ratio: float) -> str:
    return f"{ratio:.2f} ×" if 0.1 <= ratio < 10 else f"{ratio:.3g} ×"


def _size(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:,.1f} MB" if num_bytes >= 100_000 else f"{num_bytes / 1e3:,.1f} kB"
