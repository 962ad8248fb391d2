"""The answers of Anansi, given by PostgreSQL to the SQL that a filter generates."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_conformance import cases

import fastfilter

psycopg = pytest.importorskip("psycopg", reason="psycopg, PostgreSQL's driver, is not installed")


def test_postgresql_decides_every_case_alone(postgres: str, counted: Callable[[str, int], None]) -> None:
    anansi = cases("anansi")
    wrong = []
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE chunks (collection int, number int, metadata jsonb)")
        with connection.cursor().copy("COPY chunks FROM STDIN") as copy:
            for collection, case in enumerate(anansi):
                for number, text in enumerate(case.texts):
                    copy.write_row((collection, number, text and text.decode()))
        connection.execute("CREATE INDEX ON chunks (collection)")
        for collection, case in enumerate(anansi):
            asked = fastfilter.compile(case.filter, dialect="anansi").sql("postgres", table="chunks")
            assert asked.exact and asked.residual is None
            query = f"SELECT number FROM chunks WHERE collection = %s AND {asked.text}"
            rows = {number for (number,) in connection.execute(query, [collection, *asked.parameters])}
            if [number in rows for number in range(len(case.texts))] != case.expect:
                wrong.append(f"{case.name}: {rows}, not {case.expect}\n  {case.filter}\n  {query}")
    counted("conformance anansi: cases decided by PostgreSQL", len(anansi))
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:5])
