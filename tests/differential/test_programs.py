"""Random programs, which no compiler would write: both back ends agree on them, whatever the morsels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import layouts
import program_strategies
import pytest
import running
import strategies
from hypothesis import assume, given
from hypothesis import strategies as st

from fastfilter.bytecode.program import Field, Role

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")


def test_programs(counted: Callable[[str, int], None]) -> None:
    seen = {"programs": 0, "programs with rows that match and rows that do not": 0}

    @given(st.data())
    def run(data: st.DataObject) -> None:
        metadata = data.draw(st.sampled_from(layouts.METADATA))
        typed = metadata in ("struct", "map", "flattened")
        records = data.draw(strategies.typed_records() if typed else strategies.json_records())
        choose = layouts.seeded(data.draw(st.integers(0, 2**16)))
        try:
            batch = layouts.lay_out(records, metadata, choose, columns=["importance", "content", "created_at"])
            cut, rows = layouts.SHAPES[data.draw(st.sampled_from(sorted(layouts.SHAPES)))].cut(batch)
        except layouts.CannotHold:
            assume(False)
        words = strategies.vocabulary_of(records, ["importance", "content", "created_at"])
        fields = [Field(Role.METADATA, path) for path in words.paths[:4]]
        fields += [Field(Role.COLUMN, (name,)) for name in ("importance", "content", "created_at")]
        literals = program_strategies.Literals(words.number(), words.string(), words.instant())
        program = data.draw(program_strategies.programs(fields, literals=literals))
        flt = running.filter_of_program(program)
        first: Any = None
        for backend in running.BACKENDS:
            for morsel_rows in running.MORSELS:
                outcome = running.outcome(flt, cut, backend, morsel_rows)
                assert outcome[:1] != ("never to happen",), outcome
                assert first is None or outcome == first, (backend, morsel_rows)
                first = outcome
        assert isinstance(first, tuple) or len(first) == len(rows)
        seen["programs"] += 1
        if isinstance(first, list) and any(first) and not all(first):
            seen["programs with rows that match and rows that do not"] += 1

    run()
    for name, number in seen.items():
        counted(f"differential: random {name}", number)
