"""The engines, each started once with two local workers, and the cases that all of them are asked."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

REQUIRED = os.environ.get("FASTFILTER_REQUIRE") == "all"
"""Whether every engine must be there: what would skip a test then fails it."""


def _import(library: str) -> Any:
    """An engine's library; without it the test is skipped, or fails if it is required."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        _absent(f"{library} cannot be imported ({error}); `make test-cluster` installs it")


def _absent(reason: str) -> None:
    if REQUIRED:
        pytest.fail(f"FASTFILTER_REQUIRE=all, but {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def _one_process() -> None:
    """Each engine starts processes of its own; several copies of it would only be in each other's way."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        _absent("the engines are tested without pytest-xdist: `make test-cluster`")


@pytest.fixture(scope="session")
def ray_data() -> Iterator[Any]:
    """``ray.data`` on two workers; blocks keep their order."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray = _import("ray")
    data = _import("ray.data")
    ray.init(
        num_cpus=2,
        object_store_memory=200 * 2**20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
    )
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    yield data
    ray.shutdown()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark session with two cores, in a time zone that is not UTC."""
    sql = _import("pyspark.sql")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        _absent("Spark needs Java 17 (Debian: openjdk-17-jre-headless)")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else the workers run whatever python3 is on the path
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "America/New_York")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "256")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def dask_client() -> Iterator[Any]:
    """A Dask cluster of two processes, which is the default scheduler while it lives."""
    _import("dask.dataframe")
    distributed = _import("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client
