"""The ratio to the best peer of each case, as horizontal bars on a logarithmic axis."""

from __future__ import annotations

import pathlib

from benchmarks.cases import FAMILIES
from benchmarks.report import Result

__all__ = ["draw"]

_FASTER, _SLOWER, _INK = "#2f6f8f", "#c0563b", "#333333"


def draw(results: list[Result], title: str, path: pathlib.Path) -> list[pathlib.Path]:
    """Writes the chart as SVG and PNG beside each other.

    Args:
        results: those without a ratio are left out.
        title: above the chart.
        path: of the files, without an ending.

    Returns:
        The files; none where matplotlib is not installed or no case has a ratio.
    """
    rated = [(result, result.ratio) for result in results if result.ratio is not None]
    try:
        import matplotlib
    except ImportError:
        return []
    if not rated:
        return []
    matplotlib.use("Agg")
    from matplotlib import pyplot

    positions: list[float] = []
    heads: list[tuple[float, str]] = []
    at, family = 0.0, ""
    for result, _ in rated:
        if result.family != family:
            family = result.family
            at += 1.4
            heads.append((at - 0.95, _head(family, [other for other, _ in rated])))
        positions.append(at)
        at += 1
    ratios = [ratio for _, ratio in rated]
    figure, axes = pyplot.subplots(figsize=(10, 1.2 + 0.24 * at))
    colors = [_FASTER if ratio >= 1 else _SLOWER for ratio in ratios]
    axes.barh(positions, [ratio - 1 for ratio in ratios], left=1, height=0.72, color=colors)
    axes.set_xscale("log")
    axes.set_xlim(min(0.8, min(ratios) / 1.6), max(ratios) * 4)
    axes.set_ylim(at - 0.3, -0.1)
    axes.axvline(1, color=_INK, linewidth=1)
    axes.set_yticks(positions, [_label(result) for result, _ in rated], fontsize=8, color=_INK)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for position, (result, ratio) in zip(positions, rated, strict=True):
        peer = "one thread" if result.family == "threads" else result.best_peer
        axes.text(max(ratio, 1) * 1.04, position, f"{ratio:.3g}× {peer}", va="center", fontsize=7.5, color=_INK)
    for place, text in heads:
        axes.text(0, place, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8.5, fontweight="bold")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(title, loc="left", fontsize=11, color=_INK)
    files = [path.with_suffix(".svg"), path.with_suffix(".png")]
    for file in files:
        figure.savefig(file, dpi=130, bbox_inches="tight", metadata={"Date": None} if file.suffix == ".svg" else None)
    pyplot.close(figure)
    return files


def _head(family: str, results: list[Result]) -> str:
    rows = {result.rows for result in results if result.family == family}
    return f"{FAMILIES[family]}, {rows.pop():,} rows" if len(rows) == 1 else FAMILIES[family]


def _label(result: Result) -> str:
    return f"{result.label}, {result.rows:,} rows" if result.family in ("json", "scaling") else result.label
