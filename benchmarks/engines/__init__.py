"""The engines that are compared, each behind an adapter with one interface."""

from __future__ import annotations

import importlib
import importlib.util

from benchmarks.engines.engine import Engine, Query

__all__ = ["NAMES", "Engine", "Query", "load"]

_ADAPTERS: dict[str, tuple[str, str, dict[str, object]]] = {
    "fastfilter": ("fastfilter_filter", "fastfilter", {}),
    "fastfilter, trusted JSON": ("fastfilter_filter", "fastfilter", {"trusted": True}),
    "pyarrow": ("pyarrow_compute", "pyarrow", {}),
    "Polars": ("polars_frame", "polars", {}),
    "DuckDB": ("duckdb_sql", "duckdb", {"own_table": True}),
    "DuckDB on Arrow": ("duckdb_sql", "duckdb", {"own_table": False}),
    "DataFusion": ("datafusion_sql", "datafusion", {}),
    "numexpr": ("numexpr_arrays", "numexpr", {}),
    "Python loop": ("python_loop", "json", {}),
}

NAMES = tuple(_ADAPTERS)
"""The engines, in the order of the report's columns."""


def load(name: str, threads: int = 1) -> Engine | None:
    """The adapter of an engine, or None where the engine is not installed.

    Args:
        name: one of :data:`NAMES`.
        threads: how many threads it may use. Polars takes the number from its environment when it is imported.
    """
    module, library, options = _ADAPTERS[name]
    if importlib.util.find_spec(library) is None:
        return None
    adapter: type[Engine] = importlib.import_module(f"benchmarks.engines.{module}").Adapter
    return adapter(name, threads, **options)
