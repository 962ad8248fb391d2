"""fastfilter: the compiled filter's mask of the batch, or the selected dicts."""

from __future__ import annotations

import inspect
from typing import Any

import fastfilter
from benchmarks.cases import Case
from benchmarks.data import records
from benchmarks.engines.engine import Engine, Query, Unsupported

__all__ = ["Adapter"]


class Adapter(Engine):
    """fastfilter, with validated JSON or with JSON that is known to be valid."""

    def __init__(self, name: str, threads: int, trusted: bool = False) -> None:
        super().__init__(name, threads)
        self._trusted = trusted

    @property
    def version(self) -> str:
        return fastfilter.__version__

    def prepare(self, case: Case) -> Query:
        options: dict[str, Any] = {}
        if self._trusted:
            if not case.on_json:
                raise Unsupported("no JSON text is read")
            if "json" not in inspect.signature(fastfilter.compile).parameters:
                raise Unsupported("this version of fastfilter knows no trusted JSON")
            options["json"] = "trusted"
        flt = fastfilter.compile(case.filter, case.dialect, **options)
        batch = case.table.load()
        if case.records:
            rows = records(batch, parsed=True)
            return lambda: len(flt.select(rows))
        threads = self.threads
        return lambda: flt.mask(batch, threads=threads).true_count
