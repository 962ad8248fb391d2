"""fastfilter: the JSON filters of memory and vector-store APIs, evaluated over Arrow data.

One filter, the same rows everywhere: :func:`compile` turns a filter, as the API accepts it, into a :class:`Filter` that
gives the same rows of ten dicts, of a million-row Arrow batch, and of a folder of files. docs/semantics.md says which.
"""

from fastfilter.bytecode.program import Program
from fastfilter.errors import BindError, DataError, FilterError, ProgramError
from fastfilter.filter import Filter, compile
from fastfilter.runtime.vm import backend

__all__ = [
    "BindError",
    "DataError",
    "Filter",
    "FilterError",
    "Program",
    "ProgramError",
    "__version__",
    "backend",
    "compile",
]

__version__ = "0.1.0"
