"""A PostgreSQL server for the length of a test run: in a temporary folder, on a Unix socket, reached by nobody else."""

from __future__ import annotations

import glob
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def programs() -> pathlib.Path | None:
    """The folder of PostgreSQL's programs; Debian keeps them off the path."""
    found = shutil.which("initdb")
    if found is not None:
        return pathlib.Path(found).resolve().parent
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return pathlib.Path(folders[-1]).parent if folders else None


def _user() -> dict[str, Any]:
    """Whom to run the server as: it refuses to be root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@contextmanager
def server(binaries: pathlib.Path) -> Iterator[str]:
    """A running server; gives the connection string.

    Its default collation is not the order of bytes, where the server knows another.
    """
    user = _user()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fastfilter-pg-"))
    try:
        if user:
            os.chown(folder, user["user"], user["group"])
        data = folder / "data"
        create = [binaries / "initdb", "-D", data, "-U", "fastfilter", "-A", "trust", "-E", "UTF8", "--no-sync"]
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        collated = [*create, "--locale-provider=icu", "--icu-locale=en"]
        for command in (collated, create):
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, **user)
            if done.returncode == 0:
                break
            shutil.rmtree(data, ignore_errors=True)
        assert done.returncode == 0, done.stderr
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [binaries / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"],
                stdout=log,
                stderr=log,
                cwd=folder,
                env=environment,
                **user,
            )
        try:
            address = f"host={folder} user=fastfilter dbname=postgres"
            _wait_for(address, process, folder / "log")
            yield address
        finally:
            process.send_signal(2)  # SIGINT: fast shutdown
            process.wait(60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(address: str, process: subprocess.Popen[bytes], log: pathlib.Path) -> None:
    import psycopg

    for _ in range(600):
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text(errors="replace")
            time.sleep(0.1)
    raise AssertionError(f"PostgreSQL does not answer: {log.read_text(errors='replace')}")
