"""A real PostgreSQL for tests, and a pooler before it, each on a free port, in a folder of its own."""

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
    if text := shutil.which(name):
        return Path(text)
    versions = sorted(Path(PROGRAMS).glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3].split(".")[0]))
    return versions[-1] if versions else None


def missing() -> str | None:
    """Why there is no server; None where there can be one."""
    absent = [name for name in ("initdb", "pg_ctl") if program(name) is None]
    return f"PostgreSQL is not installed (no {' and no '.join(absent)})" if absent else None


def _folder() -> tuple[Path, str | None]:
    """A new folder, and the user that it belongs to where this one is root."""
    folder, user = Path(tempfile.mkdtemp(prefix="tape-postgres-")), None
    if os.geteuid() == 0:
        user = "postgres" if "postgres" in {known.pw_name for known in pwd.getpwall()} else "nobody"
        shutil.chown(folder, user)
    return folder, user


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class Server:
    """The server; an unprivileged user runs it where this one is root, whom it refuses.

    Its folder is none of pytest's, which that user may not enter.
    """

    def __init__(self) -> None:
        self._folder, self._user = folder, _ = _folder()
        self.port = _free_port()
        self._run(
            "initdb", "-D", str(folder / "data"), "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"
        )
        self.start()

    def _run(self, name: str, *arguments: str, check: bool = True) -> None:
        path = program(name)
        assert path is not None
        command: Sequence[str] = [str(path), *arguments]
        done = subprocess.run(
            command, user=self._user, cwd=self._folder, check=False, timeout=100, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert done.returncode == 0 or not check, done.stderr

    def start(self) -> None:
        """Start it, and wait until it answers."""
        # A crash of the server loses nothing that this system has, so that no disk has to be waited for.
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=200"
            " -c fsync=off"
        )
        self._run(
            "pg_ctl", "-D", str(self._folder / "data"), "-w", "-o", options, "-l", str(self._folder / "log"), "start"
        )

    def stop(self, how: str = "fast") -> None:
        """Stop it: ``fast`` cuts connections, ``immediate`` is as a crash."""
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", "-m", how, "stop", check=False)

    def close(self) -> None:
        """Stop it, and remove what it has written, which need not be in order; nobody waits for that."""
        self.stop("immediate")
        subprocess.Popen(["rm", "-rf", str(self._folder)], start_new_session=True)

    def url(self, database: str = "postgres", user: str = USER) -> str:
        """The address of a database."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def database(self, name: str, options: str = "") -> str:
        """A new database; its address."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'create database "{name}" {options}')  # type: ignore[call-overload]
        return self.url(name)


class Pooler:
    """A pgbouncer that gives each transaction any of two sessions with the server.

    Args:
        server: Whose.
        program: Where it is.
    """

    def __init__(self, server: Server, program: str) -> None:
        self._folder, user = _folder()
        self.port = _free_port()
        (self._folder / "users").write_text(f'"{USER}" ""\n', encoding="ascii")
        (self._folder / "settings").write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {self.port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {self._folder}/users\n"
            "pool_mode = transaction\ndefault_pool_size = 2\nlog_connections = 0\nlog_disconnections = 0\n",
            encoding="ascii",
        )
        self._process = subprocess.Popen(
            [program, str(self._folder / "settings")], user=user, cwd=self._folder, stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stderr is not None
        said = ""
        while "process up" not in said:
            line = self._process.stderr.readline()
            assert line, f"pgbouncer has ended: {said}"
            said += line

    def url(self, database: str) -> str:
        """The address of a database through this."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def close(self) -> None:
        """Stop it, and remove what it has written."""
        self._process.terminate()
        self._process.communicate()
        shutil.rmtree(self._folder, ignore_errors=True)
