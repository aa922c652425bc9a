"""A real PostgreSQL for tests, on a free port, in a folder of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

PROGRAMS = "/usr/lib/postgresql"
USER = "tape"


def program(name: str) -> Path | None:
    """Where a program of PostgreSQL is; None where it is not installed."""
    if found := shutil.which(name):
        return Path(found)
    versions = sorted(Path(PROGRAMS).glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3].split(".")[0]))
    return versions[-1] if versions else None


def missing() -> str | None:
    """Why there is no server; None where there can be one."""
    absent = [name for name in ("initdb", "pg_ctl") if program(name) is None]
    return f"PostgreSQL is not installed (no {' and no '.join(absent)})" if absent else None


class Server:
    """The server; an unprivileged user runs it where this one is root, whom it refuses.

    Its folder is none of pytest's, which that user may not enter.
    """

    def __init__(self) -> None:
        self._folder = folder = Path(tempfile.mkdtemp(prefix="tape-postgres-"))
        self._user = None
        if os.geteuid() == 0:
            known = {one.pw_name for one in pwd.getpwall()}
            self._user = "postgres" if "postgres" in known else "nobody"
            shutil.chown(folder, self._user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._run(
            "initdb", "-D", str(folder / "data"), "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"
        )
        self.start()

    def _run(self, name: str, *arguments: str, check: bool = True) -> None:
        found = program(name)
        assert found is not None
        command: Sequence[str] = [str(found), *arguments]
        done = subprocess.run(
            command, user=self._user, cwd=self._folder, check=False, timeout=100, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert done.returncode == 0 or not check, done.stderr

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=200"
        self._run(
            "pg_ctl", "-D", str(self._folder / "data"), "-w", "-o", options, "-l", str(self._folder / "log"), "start"
        )

    def stop(self, how: str = "fast") -> None:
        """Stop it: ``fast`` cuts connections, ``immediate`` is as a crash."""
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", "-m", how, "stop", check=False)

    def close(self) -> None:
        """Stop it, and remove what it has written."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str = "postgres", user: str = USER) -> str:
        """The address of a database."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def database(self, name: str) -> str:
        """A new database; its address."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'create database "{name}"')  # type: ignore[call-overload]
        return self.url(name)
