"""fastfilter: the JSON filters of memory and vector-store APIs, evaluated over Arrow data.

One filter, the same rows everywhere: :func:`compile` turns a filter, as the API accepts it, into a :class:`Filter` that
gives the same rows of ten dicts, of a million-row Arrow batch, and of a folder of files. docs/semantics.md says which.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastfilter.bytecode.program import Program
    from fastfilter.corpus.dataset import write_dataset
    from fastfilter.corpus.record_batches import scan
    from fastfilter.corpus.report import ScanReport
    from fastfilter.errors import BindError, DataError, FilterError, ProgramError
    from fastfilter.filter import Filter, compile
    from fastfilter.runtime.vm import backend
else:

    def __getattr__(name: str) -> Any:
        """Imports a public name when it is first asked for: the command line has signals to see to before that."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        value = globals()[name] = getattr(importlib.import_module(home), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "BindError",
    "DataError",
    "Filter",
    "FilterError",
    "Program",
    "ProgramError",
    "ScanReport",
    "__version__",
    "backend",
    "compile",
    "scan",
    "write_dataset",
]

__version__ = "0.1.0"

_HOMES = {
    "BindError": "fastfilter.errors",
    "DataError": "fastfilter.errors",
    "Filter": "fastfilter.filter",
    "FilterError": "fastfilter.errors",
    "Program": "fastfilter.bytecode.program",
    "ProgramError": "fastfilter.errors",
    "ScanReport": "fastfilter.corpus.report",
    "backend": "fastfilter.runtime.vm",
    "compile": "fastfilter.filter",
    "scan": "fastfilter.corpus.record_batches",
    "write_dataset": "fastfilter.corpus.dataset",
}
