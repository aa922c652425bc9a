"""What a tool must not do while it is tried on a copy: reach the network, start a program, write outside of the copy.

Python tells of these by its audit events, in the thread and the context that cause them. So the guard sees what Python
code does, and what of C extensions tells of it, such as ``sqlite3``; it is no sandbox for code that nobody has read. A
connection that was open before, and a thread of a pool that runs already, are not seen.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

_NETWORK = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "socket.sendmsg")
_PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty")
_PATHS: dict[str, tuple[tuple[int, int], ...]] = {
    "os.remove": ((0, 1),), "os.rename": ((0, 2), (1, 3)), "os.mkdir": ((0, 2),), "os.rmdir": ((0, 1),),
    "os.link": ((0, 2), (1, 3)), "os.symlink": ((1, 2),), "os.truncate": ((0, -1),), "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),), "os.utime": ((0, 3),), "shutil.rmtree": ((0, 1),), "shutil.move": ((0, -1), (1, -1)),
    "shutil.copyfile": ((1, -1),), "sqlite3.connect": ((0, -1),),
}  # fmt: skip
"""The arguments of events that are paths which are written, and those that are the folders these are in."""

_THREADS = ("_thread.start_new_thread", "_thread.start_joinable_thread")
"""A thread that a tool starts would not know that it is tried. Python tells of it from 3.12 on."""

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
def trial(begun: Trial) -> Iterator[None]:
    """Let what runs inside touch nothing outside."""
    _install()
    token = _TRIAL.set(begun)
    try:
        yield
    finally:
        _TRIAL.reset(token)


def guarded(function: Callable[..., Any], begun: Trial) -> Callable[..., Any]:
    """A function that is tried: the same, plain or asynchronous."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def waited(**arguments: Any) -> Any:
            with trial(begun):
                return await function(**arguments)

        return waited

    @functools.wraps(function)
    def called(**arguments: Any) -> Any:
        with trial(begun):
            found = function(**arguments)
        return _awaited(found, begun) if inspect.isawaitable(found) else found

    return called


async def _awaited(found: Awaitable[Any], begun: Trial) -> Any:
    with trial(begun):
        return await found


def refuse(what: str) -> bool:
    """Note what a call that is tried was about to do, where no audit event tells of it; whether one is tried."""
    running = _TRIAL.get()
    if running is not None:
        running.touched.append(what)
    return running is not None


@cache
def _install() -> None:
    """Once for the process: an audit hook cannot be taken away."""
    sys.addaudithook(_audit)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event[0] not in "os_":  # open, os, shutil, socket, sqlite3, subprocess, _thread; called for all that Python does
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
    if event in _THREADS:
        return "start a thread"
    if event == "open":
        path, mode, flags = args
        writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & _WRITING)
        paths = [(path, -1)] if writes else []
    else:
        places = _PATHS.get(event, ())
        paths = [(args[one], args[fd] if 0 < fd < len(args) else -1) for one, fd in places if one < len(args)]
    for path, folder in paths:
        if isinstance(path, str | bytes | os.PathLike) and not _inside(os.fsdecode(path), folder, roots):
            return f"write {os.fsdecode(path)}"
    return ""


def _inside(path: str, folder: Any, roots: Sequence[Path]) -> bool:
    if path in (":memory:", os.devnull, "") or "__pycache__" in path:
        return True
    if isinstance(folder, int) and folder >= 0:
        path = os.path.join(os.path.realpath(f"/dev/fd/{folder}"), path)
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(root) for root in roots)
