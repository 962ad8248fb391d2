"""Fixtures that run a test on both back ends, and the counts at the end of a run."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import postgres_server
import pytest
import running

hypothesis.settings.register_profile(
    "short",
    max_examples=200,
    derandomize=True,
    deadline=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.reuse, hypothesis.Phase.generate, hypothesis.Phase.shrink],
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.register_profile(
    "long", parent=hypothesis.settings.get_profile("short"), max_examples=5000, derandomize=False, print_blob=True
)
hypothesis.settings.load_profile("long" if os.environ.get("FASTFILTER_LONG") else "short")


@pytest.fixture(params=running.BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each back end in turn."""
    return str(request.param)


@pytest.fixture
def counted(record_property: Callable[[str, object], None]) -> Callable[[str, int], None]:
    """Adds to a count that the run prints at its end: ``counted(name, number)``."""
    return lambda name, number: record_property("count", (name, number))


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server of this run's own."""
    pytest.importorskip("psycopg", reason="psycopg, PostgreSQL's driver, is not installed")
    binaries = postgres_server.programs()
    if binaries is None:
        pytest.skip("PostgreSQL's server is not installed (on Debian: apt-get install postgresql)")
    with postgres_server.server(binaries) as address:
        yield address


def pytest_report_header() -> str:
    """Says which back ends are tested."""
    return f"fastfilter back ends under test: {', '.join(running.BACKENDS)}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints the counts of all tests, from this process and any others."""
    totals: collections.Counter[str] = collections.Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) != "teardown":
                continue  # only then a test's properties are complete
            for name, value in report.user_properties:
                if name == "count":
                    totals[value[0]] += value[1]
    if totals:
        terminalreporter.section("counts")
        width = max(map(len, totals))
        for name, number in sorted(totals.items()):
            terminalreporter.write_line(f"{name.ljust(width)}  {number:>9,}")
