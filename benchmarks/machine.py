"""The machine that the figures are of, and how fast its memory is."""

from __future__ import annotations

import os
import pathlib
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fastfilter

__all__ = ["bandwidth", "describe", "target"]


def target() -> str:
    """The CPU target of fastfilter's kernels; "none" where the Python back end runs."""
    if fastfilter.backend != "native":
        return "none"
    from fastfilter import _native

    return str(_native.target())  # type: ignore[attr-defined,unused-ignore]


def describe(threads: int) -> dict[str, Any]:
    """Processor, cores, kernel, Python and what fastfilter runs on."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "backend": fastfilter.backend,
        "target": target(),
        "threads": threads,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def _cpu() -> str:
    information = pathlib.Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def bandwidth(num_bytes: int = 1 << 28, rounds: int = 5) -> float:
    """Bytes a second that one thread can move: the most of NumPy's sum and copy of an array beyond every cache."""
    source = np.ones(num_bytes // 8)
    destination = np.empty_like(source)
    integers = source.view(np.int64)
    by_reading = num_bytes / _best(lambda: source.sum(), rounds)
    by_maximum = num_bytes / _best(lambda: integers.max(), rounds)
    by_copying = 2 * num_bytes / _best(lambda: np.copyto(destination, source), rounds)
    return max(by_reading, by_maximum, by_copying)


def _best(call: Callable[[], object], rounds: int) -> float:
    call()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)
