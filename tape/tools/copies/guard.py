"""What a tool must not do while it is tried on a copy: reach the network, start a program, write outside of the copy.

Python tells of these by its audit events, in the thread and the context that cause them. So the guard sees what Python
code does, and what of C extensions tells of it, such as ``sqlite3``; it is no sandbox for code that nobody has read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

_NETWORK = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "socket.sendmsg")
_PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty")
_PATHS = {
    "os.remove": (0,), "os.rename": (0, 1), "os.mkdir": (0,), "os.rmdir": (0,), "os.link": (0, 1), "os.symlink": (1,),
    "os.truncate": (0,), "os.chmod": (0,), "os.chown": (0,), "os.utime": (0,), "shutil.rmtree": (0,),
    "shutil.move": (0, 1), "shutil.copyfile": (1,), "sqlite3.connect": (0,),
}  # fmt: skip
"""The arguments of events that are paths which are written."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class OutsideError(OSError):
    """Raised in a tool that touches what is outside of its copy."""


@dataclass
class Trial:
    """A call on a copy.

    Attributes:
        roots: Where it may write.
        touched: What it touched outside; the call counts for nothing then, whatever it made of the error.
    """

    roots: tuple[Path, ...]
    touched: list[str] = field(default_factory=list)


_TRIAL: ContextVar[Trial | None] = ContextVar("trial", default=None)


@contextmanager
def trial(roots: Sequence[Path]) -> Iterator[Trial]:
    """Let what runs inside touch nothing outside."""
    _install()
    begun = Trial(tuple(roots))
    token = _TRIAL.set(begun)
    try:
        yield begun
    finally:
        _TRIAL.reset(token)


@cache
def _install() -> None:
    """Once for the process: an audit hook cannot be taken away."""
    sys.addaudithook(_audit)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event[0] not in "os":  # open, os, shutil, socket, sqlite3, subprocess; this is called for all that Python does
        return
    running = _TRIAL.get()
    if running is None:
        return
    what = _touches(event, args, running.roots)
    if what:
        running.touched.append(what)
        raise OutsideError(f"while a call is tried on a copy it must not {what}")


def _touches(event: str, args: tuple[Any, ...], roots: Sequence[Path]) -> str:
    if event in _NETWORK:
        return "use the network"
    if event in _PROGRAMS:
        return "start a program"
    if event == "open":
        path, mode, flags = args
        writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & _WRITING)
        paths = [path] if writes else []
    else:
        paths = [args[place] for place in _PATHS.get(event, ()) if place < len(args)]
    for path in paths:
        if isinstance(path, str | bytes | os.PathLike) and not _inside(os.fsdecode(path), roots):
            return f"write {os.fsdecode(path)}"
    return ""


def _inside(path: str, roots: Sequence[Path]) -> bool:
    if path in (":memory:", os.devnull, "") or "__pycache__" in path:
        return True
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(root) for root in roots)
