"""Ctrl-C, SIGTERM and SIGHUP, from the first line of a command to its last.

A command that has its process to itself runs in :func:`own_process`. A signal ends it where it stands: no exception is
raised in code that cannot take one, such as native modules that are being imported. In a block of
:class:`cleaning_up` there is something to finish; there it raises ``KeyboardInterrupt``, and the process ends when the
block is left, when processor time or patience run out, or at a second signal.

Ending where it stands loses nothing: whatever is kept is on the disk as a whole once it is finished, since
``kill -9`` gives no chance to finish. Functions registered with ``atexit`` are called, which remove temporary files,
and children are killed. The interpreter's own end is not waited for: it would join threads (a synchronous tool that
sleeps for an hour) and take torch down.

This module is imported before the guard stands, so it imports next to nothing.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import time

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all the rest

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType
    from typing import IO, Any, NoReturn

SECONDS = 3.0
"""How long a command may clean up after a signal."""
CPU_SECONDS = 0.6
"""How much of a processor it may use for that."""
LAST_SECONDS = 1.0
"""How long the functions registered with ``atexit`` may take then."""
ONE_PRESS = 0.2
"""Signals within so many seconds are one: a terminal and a parent that passes it on both send one."""

_ALL = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_WAKE = 0
"""No signal has this number: the main thread is ready to leave."""


def own_process(name: str, run: Callable[[], int], heard: tuple[signal.Signals, ...] = _ALL) -> int:
    """Run a command that has the process to itself.

    Returns only where no signal came; after one the process ends with status 128 + its number (130 for Ctrl-C), one
    line on standard error, no child and no temporary file. A signal that is ignored, as under ``nohup``, stays so, but
    for SIGINT: a shell starts ``command &`` with it ignored, and ``kill -INT`` should end that too.

    Args:
        name: What the line begins with; without a name no line is written.
        run: The command; returns its exit status.
        heard: What ends it.
    """
    watch = _Watch(name)
    try:
        _secure_standard_files()
        watch.start(heard)
        status = run()
        watch.over(status)
    except BaseException as error:
        if watch.signal is None and not isinstance(error, KeyboardInterrupt):
            code = error.code if isinstance(error, SystemExit) else 1
            watch.over(code if isinstance(code, int) else 1)
            raise
        watch.leave(error)
    if watch.signal is not None:  # the command did not let itself be interrupted, but it has ended
        watch.leave(None)
    return status


def interrupted() -> bool:
    """Whether this process has received a signal that is to end it."""
    return any(watch.signal is not None for watch in _watches)


class cleaning_up:  # noqa: N801 - reads as a statement
    """A ``with`` block that a signal leaves by ``KeyboardInterrupt``, since there is something to finish.

    Args:
        kept: Called after an interrupt; returns what is kept and how to go on.
    """

    def __init__(self, kept: Callable[[], str]) -> None:
        self._kept = kept

    def __enter__(self) -> None:
        _kept.append(self._kept)
        if _watches:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # the only one that asyncio replaces by its own

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            return  # the line is written when all blocks are left
        if _watches and len(_kept) == 1:
            signal.signal(signal.SIGINT, _hold)
        _kept.pop()


def line(name: str, number: int = signal.SIGINT, cause: BaseException | None = None) -> str:
    """The line about an interrupted command, with what the last :class:`cleaning_up` knows."""
    # No import: the main thread may have been stopped in the middle of the same one.
    known = (OSError, getattr(sys.modules.get("tape.errors"), "TapeError", OSError))
    by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
    parts = [f"{name}: interrupted{by}"]
    if _kept:
        parts.append(_kept[-1]())
        _kept.clear()
    if isinstance(cause, known) and not isinstance(cause, BrokenPipeError):
        parts.append(str(cause))
    words = " ".join("; ".join(filter(None, parts)).split())
    printable: Callable[[str], str] = getattr(sys.modules.get("tape.screen"), "printable", str)
    return printable(words)


def end_process(status: int) -> NoReturn:
    """End the process from any thread, with its children and temporary files; nothing that runs is waited for."""
    # Threads without the module `threading`, whose locks a thread that was stopped may hold, as it may hold what the
    # duties wait for.
    try:
        deadline = time.monotonic() + LAST_SECONDS
        for lock in [_begin(duty) for duty in (_flush, atexit._run_exitfuncs)]:
            lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
        _kill_descendants()
    finally:
        os._exit(status)


class _Watch:
    """What is known of the end of this process, and the thread that brings it about.

    Python runs signal handlers in the main thread, between two of its instructions, which may be never. What the
    system writes into this pipe is heard at once.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.signal: int | None = None
        self._status: int | None = None
        self._cause: BaseException | None = None
        self._ready = False
        self._swallowed = False
        self._stderr = -1
        self._pipe = (-1, -1)
        self._finishing = _thread.allocate_lock()

    def start(self, heard: tuple[signal.Signals, ...]) -> None:
        """Take the signals over."""
        for number in heard:
            if number == signal.SIGINT:
                signal.signal(number, _hold)
            elif signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _as_ctrl_c)
        if os.name != "posix":
            signal.signal(signal.SIGINT, signal.default_int_handler)
            return
        import select
        import threading

        atexit.register(_hear_no_more)
        self._pipe = os.pipe()
        os.set_blocking(self._pipe[1], False)
        signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        usual = sys.unraisablehook

        def hook(failure: sys.UnraisableHookArgs) -> None:
            if issubclass(failure.exc_type, KeyboardInterrupt):
                self._swallowed = True
            else:
                usual(failure)

        sys.unraisablehook = hook
        self._select = select.select
        threading.Thread(target=self._watch, args=(heard,), name="tape signals", daemon=True).start()
        _watches.append(self)

    def over(self, status: int) -> None:
        """The command has ended normally; a signal from now on only cuts the interpreter's end short."""
        self._status = status
        if _watches:
            for number in _ALL:
                if callable(signal.getsignal(number)):
                    signal.signal(number, _hold)

    def leave(self, cause: BaseException | None) -> NoReturn:
        """End the process; called in the main thread, which may be interrupted again."""
        while True:
            try:
                self._cause = cause.__cause__ if isinstance(cause, KeyboardInterrupt) else cause
                self._ready = True
                if self not in _watches:
                    self.signal = self.signal or signal.SIGINT
                    self._finish()
                os.write(self._pipe[1], bytes([_WAKE]))
                signal.pause()
            except KeyboardInterrupt:
                continue

    def _watch(self, heard: tuple[signal.Signals, ...]) -> None:
        number = _WAKE
        while number not in heard and not self._ready:
            number = os.read(self._pipe[0], 1)[0]
        began, busy = time.monotonic(), time.process_time()
        self.signal = number or signal.SIGINT
        if self._status is None:
            self._silence()
        pressed = began
        while not self._ready and self._status is None and _kept:
            now = time.monotonic()
            if now - began > SECONDS or time.process_time() - busy > CPU_SECONDS:
                break
            if self._swallowed:  # it was raised where Python only reports it, as in a `__del__`
                self._swallowed, pressed = False, now
                _thread.interrupt_main()
            if self._select([self._pipe[0]], [], [], 0.02)[0]:
                again = os.read(self._pipe[0], 1)[0]
                if again in heard and now - pressed > ONE_PRESS:
                    break
        self._finish()

    def _silence(self) -> None:
        """Lose what is written to standard error while things break off; the line is kept for the end."""
        self._stderr = os.dup(2)
        _point(2)

    def _finish(self) -> NoReturn:
        assert self.signal is not None
        if not self._finishing.acquire(blocking=False):
            while True:
                signal.pause()  # the other thread ends the process
        if self._status is not None:
            end_process(self._status)
        try:
            _begin(self._write_line).acquire(timeout=LAST_SECONDS)  # who listens may have stopped reading
        finally:
            end_process(128 + self.signal)

    def _write_line(self) -> None:
        if not self._name:
            return
        if self._stderr < 0:
            self._silence()
        assert self.signal is not None
        words = line(self._name, self.signal, self._cause).encode(sys.stderr.encoding, "backslashreplace") + b"\n"
        if any(os.isatty(fd) for fd in (1, self._stderr)):
            words = b"\x1b[?25h\n" + words  # displays hide the cursor, and the terminal has written ^C
        if os.isatty(1):
            _point(1)  # they move in threads of their own
        try:  # noqa: SIM105 - contextlib takes longer to import than this module
            os.write(self._stderr, words)
        except OSError:
            pass  # the reader is gone


_watches: list[_Watch] = []
_kept: list[Callable[[], str]] = []


def _hold(_number: int, _frame: FrameType | None) -> None:
    """Keep the main thread from going on; the thread that watches ends the process."""
    if not _watches or _kept:
        raise KeyboardInterrupt
    while True:
        signal.pause()


def _hear_no_more() -> None:
    """Ignore signals from here on, as the last of the functions that are called at exit.

    The interpreter gives each handler back to the system next, and a signal would end the process with a status of its
    own although the command is done.
    """
    import threading

    if threading.current_thread() is threading.main_thread():  # else a signal has come, and the process ends at once
        for number in _ALL:
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_IGN)


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    """Do as at Ctrl-C, for which asyncio may have a handler of its own just now."""
    usual = signal.getsignal(signal.SIGINT)
    (usual if callable(usual) else _hold)(number, frame)


def _secure_standard_files() -> None:
    """Open what a shell has closed (``>&-``), else the next file to be opened would become standard output.

    Standard error that breaks is no reason to end: what is written there is not the command's output.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for the rest of the process
    write, flush = sys.stderr.write, sys.stderr.flush

    def written(text: str) -> int:
        try:
            return write(text)
        except OSError:
            return len(text)

    def flushed() -> None:
        try:  # noqa: SIM105
            flush()
        except OSError:
            pass  # as above

    sys.stderr.write, sys.stderr.flush = written, flushed  # type: ignore[method-assign]


def let_go(stream: IO[Any]) -> None:
    """Point a standard stream whose reader is gone to nowhere, so that the interpreter does not complain at its end."""
    try:
        _point(stream.fileno())
    except (OSError, ValueError):
        return  # it is no file


def _point(fd: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, fd)
    os.close(nowhere)


def _begin(duty: Callable[[], None]) -> _thread.LockType:
    """Call something in a thread of its own; the lock is free once it has returned."""
    running = _thread.allocate_lock()
    running.acquire()

    def run() -> None:
        try:
            duty()
        finally:
            running.release()

    _thread.start_new_thread(run, ())
    return running


def _flush() -> None:
    try:  # noqa: SIM105
        sys.stdout.flush()
    except (OSError, ValueError):
        pass  # the reader is gone


def _kill_descendants() -> None:
    """End what this process has started and what that has, where the system lists it (Linux)."""
    parents: dict[int, list[int]] = {}
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    for number in numbers:
        try:
            with open(f"/proc/{number}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        parents.setdefault(int(fields[1]), []).append(number)
    tracker = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None)
    spared = {getattr(tracker, "_pid", None)}  # it has things to remove when this process is gone, and goes then
    matching_parents = [number for number in parents.get(os.getpid(), []) if number not in spared]
    while matching_parents:
        number = matching_parents.pop()
        matching_parents += parents.get(number, [])
        try:
            os.kill(number, signal.SIGKILL)
        except OSError:
            continue
