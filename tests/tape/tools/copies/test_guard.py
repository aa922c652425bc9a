"""What a call must not touch while it is tried on a copy."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
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


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda _: socket.create_connection(("127.0.0.1", 9)), "use the network"),
        (lambda _: subprocess.run([sys.executable, "-c", ""], check=False), "start a program"),
        (lambda files: (files.parent / "other").write_text("x"), "write .*other"),
        (lambda files: os.remove(files.parent.parent / "none"), "write .*none"),
        (lambda files: sqlite3.connect(files.parent / "x.sqlite"), "write .*x.sqlite"),
    ],
)
def test_a_copy_that_touches_the_outside_is_an_error(
    what: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    def hidden(files: Path) -> None:
        with contextlib.suppress(OSError):  # whatever a tool makes of it
            what(files)

    result = run(model([("touch", {})]), [outside(hidden)], Folder(tmp_path))
    assert result.end_state == "env_error"
    assert re.search(f"touch: tried on a copy it was about to {message}", result.detail)
    assert [*tmp_path.iterdir()] == []


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
