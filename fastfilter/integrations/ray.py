"""Ray Data: blocks are filtered as Arrow tables, without copying what the object store holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fastfilter.filter import Filter
from fastfilter.integrations.worker import WorkerFilter, named, needed_columns

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["filter_dataset"]

_OURS = ("batch_format", "fn_args", "fn_kwargs", "fn_constructor_args", "fn_constructor_kwargs", "zero_copy_batch")


def filter_dataset(
    dataset: Dataset, flt: Filter, columns: Sequence[str] | None = None, **map_batches_options: Any
) -> Dataset:
    """The rows of a Ray dataset that match, as a dataset that is evaluated when it is consumed.

    Args:
        dataset: the dataset. Its blocks are filtered whole, by one thread each.
        flt: the filter; its program is sent to the workers, and made a Filter once in each.
        columns: the columns to keep, by default all. Those that the filter reads need not be among them, and others are
            not read from files that store columns apart.
        map_batches_options: of :meth:`ray.data.Dataset.map_batches`, such as ``num_cpus``, ``memory``, ``concurrency``.
            With ``batch_size`` blocks are cut or joined into batches of so many rows.

    Returns:
        The rows, with the columns and types they had. They keep their order if Ray is told to keep it
        (``DataContext.get_current().execution_options.preserve_order = True``), else blocks come as they are done.

    Raises:
        BindError: the filter does not fit the dataset's schema, where Ray knows it before it reads; else the worker
            finds out. An error in a worker reaches the consumer as Ray's ``RayTaskError``, whose text has the error's
            own type, the task and row, and the file if the dataset was read with ``include_paths=True``; under
            ``DataContext.get_current().raise_original_map_exception = True`` it is also an instance of that type.

    Example:
        >>> import ray, fastfilter
        >>> from fastfilter.integrations.ray import filter_dataset
        >>> dataset = ray.data.from_items([{"id": "a", "importance": 0.4}, {"id": "b", "importance": 0.9}])
        >>> flt = fastfilter.compile({"field": "importance", "operator": "gte", "value": 0.7})
        >>> filter_dataset(dataset, flt).take_all()
        [{'id': 'b', 'importance': 0.9}]
    """
    import ray.data

    if not isinstance(dataset, ray.data.Dataset):
        raise TypeError(f"dataset must be a ray.data.Dataset, not {type(dataset).__name__}")
    refused = [name for name in _OURS if name in map_batches_options]
    if refused:
        raise TypeError(f"the option {refused[0]} of map_batches is not open: blocks are filtered as Arrow tables")
    block_filter = _BlockFilter(flt, columns)
    found = dataset.schema(fetch_if_missing=columns is not None)
    schema = None if found is None else found.base_schema  # of pandas blocks it is none of Arrow's
    if columns is not None:
        if not columns:
            raise ValueError("columns must name one column or more")
        if not isinstance(schema, pa.Schema):
            raise ValueError("columns can be chosen only of a dataset whose blocks are Arrow tables")
        dataset = dataset.select_columns(needed_columns(flt, schema, columns))
    elif isinstance(schema, pa.Schema):
        flt.columns(schema)
    options = {"batch_size": None, **map_batches_options}
    return dataset.map_batches(block_filter.filter_block, batch_format="pyarrow", zero_copy_batch=True, **options)


class _BlockFilter:
    """What runs in a worker for each block."""

    def __init__(self, flt: Filter, columns: Sequence[str] | None) -> None:
        self._sent = WorkerFilter(flt)
        self._columns = columns

    def filter_block(self, block: pa.Table) -> pa.Table:
        with named(_part(block)):
            kept = self._sent.filter.filter(block, threads=1)
        return kept if self._columns is None else kept.select(self._columns)


def _part(block: pa.Table) -> str:
    """The task that a worker is at, and the files its block came from as far as the block says."""
    from ray.data._internal.execution.interfaces import TaskContext  # no public name tells a task its number

    context = TaskContext.get_current()
    part = "a task" if context is None else f"task {context.task_idx}"
    if "path" not in block.schema.names:
        return part
    paths = block["path"].unique().to_pylist()
    return f"{part}, of {', '.join(map(str, paths[:3]))}{' and others' if len(paths) > 3 else ''}"
