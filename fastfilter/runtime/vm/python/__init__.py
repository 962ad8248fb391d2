"""The virtual machine in Python: the same words over the same columns, with plain loops.

It runs where there is no compiler, and it is what evaluates records that are dicts.
"""

from __future__ import annotations

from fastfilter.runtime.vm.python.machine import Attached, Machine
from fastfilter.runtime.vm.python.records import run_records

__all__ = ["Attached", "Machine", "run_records"]
