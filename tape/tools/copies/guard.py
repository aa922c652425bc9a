"""What a tool must not do while it is tried on a copy: reach outside, or change what its whole process shares.

Python tells of most by its audit events, in the thread and the context that cause them; functions that change the
process and tell of nothing are watched by a function in their place. So the guard sees what Python code does, and what
of C extensions tells of it, such as ``sqlite3``; it is no sandbox for code that nobody has read. What was open before,
a thread of a pool that runs already, and what is set in Python's own objects are not seen.
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
from importlib import import_module
from pathlib import Path
from typing import Any

_NETWORK = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "socket.sendmsg",
            "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo")  # fmt: skip
_PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty")
_PATHS: dict[str, tuple[tuple[int, int], ...]] = {
    "os.remove": ((0, 1),), "os.rename": ((0, 2), (1, 3)), "os.mkdir": ((0, 2),), "os.rmdir": ((0, 1),),
    "os.link": ((0, 2), (1, 3)), "os.symlink": ((1, 2),), "os.truncate": ((0, -1),), "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),), "os.utime": ((0, 3),), "shutil.rmtree": ((0, 1),), "shutil.move": ((0, -1), (1, -1)),
    "shutil.copyfile": ((1, -1),), "sqlite3.connect": ((0, -1),),
    "os.setxattr": ((0, -1),), "os.removexattr": ((0, -1),), "os.chflags": ((0, -1),),
}  # fmt: skip
"""The arguments of events that are paths which are written, and those that are the folders these are in."""

_THREADS = ("_thread.start_new_thread", "_thread.start_joinable_thread")
"""A thread that a tool starts would not know that it is tried. Python tells of it from 3.12 on."""

_FOLDER, _VARIABLES, _SIGNALS = "change the working directory", "change the environment", "send or handle signals"
_LIMITS, _RANK, _PIPE = "change limits of the process", "change the rights or priority of the process", "make a pipe"
_PROCESS = {
    "os.chdir": _FOLDER, "os.putenv": _VARIABLES, "os.unsetenv": _VARIABLES, "os.kill": _SIGNALS,
    "os.killpg": _SIGNALS, "signal.pthread_kill": _SIGNALS, "resource.setrlimit": _LIMITS, "resource.prlimit": _LIMITS,
    "syslog.openlog": "write to the system's log", "syslog.syslog": "write to the system's log",
    "socket.sethostname": "change the name of the host",
}  # fmt: skip
"""Events of what all of the process shares: other threads would see it, and after the try too."""
_SILENT = {
    "os.umask": "change the umask", "os.mkfifo": _PIPE, "os.mknod": _PIPE,
    **dict.fromkeys(("os.chroot", "os.nice", "os.setpriority", "os.sched_setaffinity", "os.setuid", "os.seteuid",
                     "os.setgid", "os.setegid", "os.setgroups", "os.setsid", "os.setpgid"), _RANK),
    **dict.fromkeys(("signal.signal", "signal.alarm", "signal.setitimer", "signal.set_wakeup_fd", "signal.raise_signal",
                     "signal.pthread_sigmask", "signal.siginterrupt"), _SIGNALS),
    **dict.fromkeys(("sys.setrecursionlimit", "sys.setswitchinterval", "threading.stack_size"), _LIMITS),
    "locale.setlocale": "change the locale", "time.tzset": "change the time zone",
    "socket.setdefaulttimeout": "change the time limit of sockets",
}  # fmt: skip
"""Functions that change what all of the process shares, and of which no event tells."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


_MUST_NOT = "while a call is tried on a copy it must not"


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
    token, path = _TRIAL.set(begun), [*sys.path]
    try:
        yield
    finally:
        _TRIAL.reset(token)
        if sys.path != path:  # a list, of whose changes nothing tells
            sys.path[:] = path
            begun.touched.append("change sys.path")


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
            awaitable = function(**arguments)
        return _awaited(awaitable, begun) if inspect.isawaitable(awaitable) else awaitable

    return called


async def _awaited(awaitable: Awaitable[Any], begun: Trial) -> Any:
    with trial(begun):
        return await awaitable


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
    for name, what in _SILENT.items():
        module, _, called = name.partition(".")
        owner = import_module(module)
        if (function := getattr(owner, called, None)) is not None:  # not every system has each
            setattr(owner, called, _watched(function, what))


def _watched(function: Callable[..., Any], what: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def watched(*given: Any, **named: Any) -> Any:
        reads = what == "change the locale" and (*given, *named.values())[1:] in ((), (None,))
        if not reads and refuse(what):
            raise OutsideError(f"{_MUST_NOT} {what}")
        return function(*given, **named)

    return watched


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event[0] not in "osr_":  # open, os, s..., resource, _thread; called for all that Python does
        return
    running = _TRIAL.get()
    if running is None:
        return
    what = _touches(event, args, running.roots)
    if what:
        running.touched.append(what)
        raise OutsideError(f"{_MUST_NOT} {what}")


def _touches(event: str, args: tuple[Any, ...], roots: Sequence[Path]) -> str:
    if event in _NETWORK:
        return "use the network"
    if event in _PROGRAMS:
        return "start a program"
    if event in _THREADS:
        return "start a thread"
    if event in _PROCESS and not (event == "resource.prlimit" and args[2] is None):  # that only asks
        return _PROCESS[event]
    if event == "open":
        path, mode, flags = args
        writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & _WRITING)
        paths = [(path, -1)] if writes else []
    else:
        places = _PATHS.get(event, ())
        paths = [(args[index], args[fd] if 0 < fd < len(args) else -1) for index, fd in places if index < len(args)]
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
