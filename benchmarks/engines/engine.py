"""What an adapter of an engine is."""

from __future__ import annotations

import abc
from collections.abc import Callable

from benchmarks.cases import Case

__all__ = ["Engine", "Query", "Unsupported"]

Query = Callable[[], int]
"""Answers the question anew and gives the number of rows that pass."""


class Unsupported(Exception):
    """The engine cannot answer; the message says why."""


class Engine(abc.ABC):
    """One way to answer questions.

    What can be done once for many calls is done by :meth:`prepare`: the data are registered, the expression is built,
    the statement is prepared. A call of the query evaluates it on every row and counts the rows that pass.

    Attributes:
        name: as in the report.
        threads: how many threads it may use.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self.threads = threads

    @property
    @abc.abstractmethod
    def version(self) -> str:
        """The version of the library."""

    @abc.abstractmethod
    def prepare(self, case: Case) -> Query:
        """The case, ready to be asked again and again.

        Raises:
            Unsupported: the engine cannot answer it.
        """

    def supports(self, case: Case) -> str | None:
        """None, or why the engine cannot answer the case; tried on eight rows."""
        try:
            self.prepare(case.with_rows(8))()
        except Unsupported as error:
            return str(error)
        finally:
            self.release()
        return None

    def release(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Lets go of the data of the last case."""
