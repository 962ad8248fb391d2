"""What the project set out to show, and whether a run shows it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from benchmarks.report import OURS, Result, Run, duration, geometric_mean

__all__ = ["Goal", "goals"]

_REFERENCE_SECONDS = 0.9e-3
"""What pyarrow took for the comparison of 2,000,000 doubles on the machine the bounds were set on."""

_BOUNDS = {
    "float64 at least": 0.35e-3,
    "seed example": 8e-3,
    "substring": 40e-3,
    "substring ignoring case": 30e-3,
    "one of 20 ranges": 3e-3,
    "one of 100 strings": 6e-3,
}
_JSON_FACTORS = {"one number, 200 B": 3.0, "three conditions, 200 B": 4.0, "string that 1% has, 200 B": 10.0}
_TRUSTED = f"{OURS}, trusted JSON"
_TRUSTED_FACTOR = 6.0
_LOOP = "Python loop"


@dataclasses.dataclass(frozen=True)
class Goal:
    """One of them: what is measured, the value wanted and the one found, as text, and whether that is good enough."""

    what: str
    wanted: str
    found: str
    met: bool


def goals(run: Run) -> list[Goal]:
    """Those goals that the run's cases can tell of."""
    by_family: dict[str, list[Result]] = {}
    for result in run.results:
        if OURS in result.timings:
            by_family.setdefault(result.family, []).append(result)
    return [
        *_typical(by_family.get("typical", [])),
        *_json([result for result in by_family.get("json", []) if result.rows > 1_000]),
        *_pool([result for result in by_family.get("pool", []) if result.rows == 1_000]),
        *_threads(by_family.get("threads", [])),
        *_growth(by_family.get("scaling", []), by_family.get("conditions", [])),
        *_compiling(run),
    ]


def _median(result: Result, engine: str = OURS) -> float:
    return result.timings[engine].median


def _at_least(what: str, factor: float, found: float) -> Goal:
    return Goal(what, f"≥ {factor:g} ×", f"{found:.2f} ×", found >= factor)


def _at_most(what: str, bound: float, found: float) -> Goal:
    return Goal(what, f"≤ {duration(bound)}", duration(found), found <= bound)


def _typical(results: list[Result]) -> Iterator[Goal]:
    rated = {result.label: ratio for result in results if (ratio := result.ratio) is not None}
    if rated:
        yield _at_least("typical, geometric mean", 4, geometric_mean(rated.values()))
        worst = min(rated, key=lambda label: rated[label])
        yield _at_least(f"typical, least ({worst})", 1.2, rated[worst])
    measured = {result.label: result for result in results if result.rows == 2_000_000}
    reference = measured.get("float64 at least")
    if reference is not None and "pyarrow" in reference.timings:
        scale = _median(reference, "pyarrow") / _REFERENCE_SECONDS
        for label, bound in _BOUNDS.items():
            if label in measured:
                yield _at_most(f"{label}, scaled by pyarrow's float compare", bound * scale, _median(measured[label]))


def _json(results: list[Result]) -> Iterator[Goal]:
    for result in results:
        ducks = [timing.median for engine, timing in result.timings.items() if engine.startswith("DuckDB")]
        if not ducks or result.label not in _JSON_FACTORS:
            continue
        factor = _JSON_FACTORS[result.label]
        yield _at_least(f"JSON, {result.label}, against DuckDB", factor, min(ducks) / _median(result))
        if _TRUSTED in result.timings:
            factor = max(factor, _TRUSTED_FACTOR)
            yield _at_least(f"the same, trusted: {result.label}", factor, min(ducks) / _median(result, _TRUSTED))


def _pool(results: list[Result]) -> Iterator[Goal]:
    ratios = []
    for result in results:
        peers = [timing.median for engine, timing in result.timings.items() if engine not in (OURS, _TRUSTED, _LOOP)]
        ratios += [min(peers) / _median(result)] if peers else []
        if result.label == "seed example":
            yield _at_most("1,000 rows, seed example", 15e-6, _median(result))
    if ratios:
        yield _at_least("1,000 rows, geometric mean against the best engine", 10, geometric_mean(ratios))
    looped = {result.label: _median(result, _LOOP) / _median(result) for result in results if _LOOP in result.timings}
    if looped:
        worst = min(looped, key=lambda label: looped[label])
        yield _at_least(f"1,000 rows, least against the Python loop ({worst})", 1, looped[worst])


def _threads(results: list[Result]) -> Iterator[Goal]:
    for result in results:
        if result.ratio is not None and _median(result) > 5e-3:
            yield _at_least(f"two threads, {result.label}", 1.7, result.ratio)


def _growth(scaling: list[Result], conditions: list[Result]) -> Iterator[Goal]:
    for label in dict.fromkeys(result.label for result in scaling):
        per_row = [_median(result) / result.rows for result in scaling if result.label == label]
        if len(per_row) > 1:
            growth = max(per_row) / per_row[0]
            yield Goal(f"time a row, most against 100,000 rows: {label}", "≤ 1.5 ×", f"{growth:.2f} ×", growth <= 1.5)
    counted = sorted(
        (int(result.label.split()[0]), _median(result)) for result in conditions if result.label[0].isdigit()
    )
    if len(counted) > 1:
        (few, little), (many, much) = counted[0], counted[-1]
        growth = much / little
        wanted = f"≤ {many / few:g} ×"
        yield Goal(f"time of {many} conditions against {few}", wanted, f"{growth:.1f} ×", growth <= many / few)


def _compiling(run: Run) -> Iterator[Goal]:
    for name, bound in (("the seed example, new", 50e-6), ("the seed example, again", 2e-6)):
        if name in run.compiling:
            yield _at_most(f"compiling {name}", bound, run.compiling[name].median)
