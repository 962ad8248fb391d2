"""What all engines share: how a filter gets to a worker, and how an error says which part of the data it is about."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import pickle
from collections.abc import Iterator, Sequence

import pyarrow as pa

from fastfilter.bytecode.program import Program
from fastfilter.errors import BindError, DataError
from fastfilter.filter import Filter

__all__ = ["WorkerFilter", "named", "needed_columns"]


class WorkerFilter:
    """A filter on its way to workers: its serialised program, made a Filter once in each process that uses it.

    However often an engine unpickles it, for every task or every partition, the process keeps one Filter, and so its
    bindings to the schemas it has seen. A program of another version of the format is a ProgramError there.

    Example:
        >>> import fastfilter
        >>> sent = pickle.dumps(WorkerFilter(fastfilter.compile({"metadata": {"tier": "gold"}})))
        >>> pickle.loads(sent).filter is pickle.loads(sent).filter
        True
    """

    __slots__ = ("_content",)

    def __init__(self, flt: Filter) -> None:
        if not isinstance(flt, Filter):
            raise TypeError(f"flt must be a Filter, which fastfilter.compile() gives, not {type(flt).__name__}")
        self._content = pickle.dumps((flt.program.to_bytes(), flt._options))

    @property
    def filter(self) -> Filter:
        """The filter of this process."""
        return _build(self._content)


@functools.lru_cache(maxsize=64)
def _build(content: bytes) -> Filter:
    program, options = pickle.loads(content)
    return Filter(Program.from_bytes(program), options)


@contextlib.contextmanager
def named(part: str, first_row: int = 0) -> Iterator[None]:
    """Makes an error about data name the part of the data it arose in; its type stays.

    Args:
        part: the part in words, such as ``"partition 3"``.
        first_row: the row of the part at which the data begin that are worked on.

    Example:
        >>> with named("partition 3", first_row=100):
        ...     raise DataError("the metadata is no JSON object", 7)
        Traceback (most recent call last):
        fastfilter.errors.DataError: row 107: the metadata is no JSON object (in partition 3)
    """
    try:
        yield
    except DataError as error:
        row = None if error.row is None else error.row + first_row
        raise DataError(f"{error.message} (in {part})", row) from None
    except BindError as error:
        message = f"{error.message} (in {part})"
        raise BindError(message, field=error.field, column=error.column, type=error.type) from None


def needed_columns(flt: Filter, schema: pa.Schema, columns: Sequence[str] = ()) -> list[str]:
    """The columns to be read so that the filter can be evaluated and these columns returned, in the schema's order.

    The filter's are all that it may read by their names, whatever their types: a part of the data may have a key in its
    metadata, or a type at all, that the schema does not know of.

    Raises:
        BindError: the filter does not fit the schema.
        ValueError: there is no column of one of the names.

    Example:
        >>> import fastfilter
        >>> flt = fastfilter.compile({"metadata": {"tier": "gold"}})
        >>> needed_columns(flt, pa.schema([("id", pa.int64()), ("n", pa.int64()), ("metadata", pa.struct([]))]), ["id"])
        ['id', 'metadata']
    """
    if isinstance(columns, str):
        raise TypeError(f"columns must be a sequence of names, not {columns!r}")
    unknown = [name for name in columns if name not in schema.names]
    if unknown:
        raise ValueError(f"there is no column {unknown[0]!r}; the columns are {', '.join(schema.names)}")
    flt.columns(schema)
    lenient = Filter(flt.program, dataclasses.replace(flt._options, missing_fields="null"))
    return [name for name in schema.names if name in columns or lenient.columns(pa.schema([(name, pa.json_())]))]
