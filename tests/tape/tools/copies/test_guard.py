"""What a call must not touch while it is tried on a copy."""

from __future__ import annotations

import contextlib
import locale
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tape.tools import Tool, tool
from tape.tools.copies import Folder, SQLite
from tests.tape.tools.copies.helpers import model, run


def outside(what: Callable[[Path], object], dry: Any = False) -> Tool:
    @tool(state={"files": "write"}, usd=0, dry_run=dry)
    def touch(files: Path) -> str:
        """Do something outside."""
        what(files)
        return "done"

    return touch


def process() -> tuple[object, ...]:
    """What all of a process shares, as far as it can be asked for."""
    umask = os.umask(0o77)
    os.umask(umask)
    return (
        os.getcwd(), dict(os.environ), umask, signal.getsignal(signal.SIGUSR1), signal.getitimer(signal.ITIMER_VIRTUAL),
        signal.pthread_sigmask(signal.SIG_BLOCK, []), locale.setlocale(locale.LC_ALL), socket.getdefaulttimeout(),
        resource.getrlimit(resource.RLIMIT_CORE), sys.getrecursionlimit(), sys.getswitchinterval(),
        threading.stack_size(), os.getpriority(os.PRIO_PROCESS, 0), [*sys.path],
    )  # fmt: skip


def in_folder(what: Callable[[int], object]) -> Callable[[Path], object]:
    """What is done with an open folder."""

    def done(files: Path) -> None:
        folder = os.open(files, os.O_RDONLY)
        try:
            what(folder)
        finally:
            os.close(folder)

    return done


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda _: socket.create_connection(("127.0.0.1", 9)), "use the network"),
        (lambda _: subprocess.run([sys.executable, "-c", ""], check=False), "start a program"),
        (lambda files: (files.parent / "other").write_text("x"), "write .*other"),
        (lambda files: os.remove(files.parent.parent / "none"), "write .*none"),
        (lambda files: sqlite3.connect(files.parent / "x.sqlite"), "write .*x.sqlite"),
        (os.chdir, "change the working directory"),
        (in_folder(os.fchdir), "change the working directory"),
        (lambda _: os.environ.update(TAPE_TRIED="1"), "change the environment"),
        (lambda _: os.environ.pop("PATH"), "change the environment"),
        (lambda _: os.umask(0), "change the umask"),
        (lambda _: signal.signal(signal.SIGUSR1, signal.SIG_IGN), "send or handle signals"),
        (lambda _: signal.setitimer(signal.ITIMER_VIRTUAL, 900), "send or handle signals"),
        (lambda _: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]), "send or handle signals"),
        (lambda _: os.kill(os.getpid(), 0), "send or handle signals"),
        (lambda files: os.mkfifo(files / "pipe"), "make a pipe"),
        (lambda files: os.mknod(files / "node"), "make a pipe"),
        (lambda _: locale.setlocale(locale.LC_ALL, "C.UTF-8"), "change the locale"),
        (lambda _: socket.setdefaulttimeout(1), "change the time limit of sockets"),
        (lambda _: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)), "change limits of the process"),
        (lambda _: sys.setrecursionlimit(5000), "change limits of the process"),
        (lambda _: sys.setswitchinterval(0.1), "change limits of the process"),
        (lambda _: threading.stack_size(1 << 20), "change limits of the process"),
        (lambda _: os.nice(1), "change the rights or priority of the process"),
        (lambda _: socket.gethostbyname("localhost"), "use the network"),
        (lambda files: sys.path.append(str(files)), "change sys.path"),
    ],
)
def test_a_copy_that_touches_the_outside_is_an_error_and_changes_nothing(
    what: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    def hidden(files: Path) -> None:
        with contextlib.suppress(OSError):  # whatever a tool makes of it
            what(files)

    before = process()
    result = run(model([("touch", {})]), [outside(hidden)], Folder(tmp_path))
    assert result.end_state == "env_error"
    assert re.search(f"touch: tried on a copy it was about to {message}", result.detail)
    assert (process(), [*tmp_path.iterdir()]) == (before, [])


def test_what_only_asks_about_the_process_is_let_through(tmp_path: Path) -> None:
    def asks(files: Path) -> None:
        assert locale.setlocale(locale.LC_ALL) == locale.setlocale(locale.LC_ALL, None)
        assert resource.prlimit(0, resource.RLIMIT_CORE) == resource.getrlimit(resource.RLIMIT_CORE)
        assert (os.getcwd(), os.environ.get("PATH")) != (str(files), None)

    assert run(model([("touch", {})]), [outside(asks)], Folder(tmp_path)).success


def test_inside_the_copy_files_are_written_and_the_folder_is_left_alone(tmp_path: Path) -> None:
    seen: list[bool] = []

    def inside(files: Path) -> None:
        (files / "new").write_text("x")
        seen.append((tmp_path / "new").exists())

    result = run(model([("touch", {})]), [outside(inside)], Folder(tmp_path))
    assert (result.success, seen) == (True, [False, True])


def test_what_is_given_as_dry_run_is_called_in_its_place(tmp_path: Path) -> None:
    made: list[str] = []
    tools = [outside(lambda files: made.append("real"), dry=lambda files: "done")]
    result = run(model([("touch", {})]), tools, Folder(tmp_path))
    assert (result.success, result.mismatches, made) == (True, 0, ["real"])


def test_no_file_is_attached_to_a_copy_of_a_database(tmp_path: Path) -> None:
    @tool(state={"db": "write"}, usd=0)
    def leak(db: sqlite3.Connection, how: str) -> str:
        """Write elsewhere."""
        with contextlib.suppress(sqlite3.Error):
            db.execute(how)
        return "done"

    for how in (f"attach '{tmp_path / 'x.sqlite'}' as other", f"vacuum into '{tmp_path / 'y.sqlite'}'"):
        made = sqlite3.connect(":memory:", check_same_thread=False)
        result = run(model([("leak", {"how": how})]), [leak], SQLite(made))
        assert (result.end_state, "tried on a copy it was about to attach" in result.detail) == ("env_error", True)
        assert [*tmp_path.iterdir()] == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="earlier versions of Python do not tell of new threads")
def test_a_thread_is_not_started_where_it_would_not_be_watched(tmp_path: Path) -> None:
    def start(files: Path) -> None:
        threading.Thread(target=(files.parent / "other").write_text, args=("x",)).start()

    result = run(model([("touch", {})]), [outside(start)], Folder(tmp_path))
    assert "about to start a thread" in result.detail
    assert [*tmp_path.iterdir()] == []


def test_ordinary_file_code_works_in_the_copy(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a").write_text("x")

    def work(files: Path) -> None:
        shutil.rmtree(files / "sub")
        with tempfile.TemporaryDirectory(dir=files) as made:
            (Path(made) / "b").write_text("y")
        (files / "c").write_text("z")
        (files / "c").rename(files / "d")

    result = run(model([("touch", {})]), [outside(work)], Folder(tmp_path))
    assert (result.end_state, [file.name for file in tmp_path.iterdir()]) == ("success", ["d"])
