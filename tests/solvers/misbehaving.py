"""Backends that do what native solvers have been seen to do. The problem's horizon says what."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import ClassVar

from solvers import PathProblem, PathSolution, Status
from solvers.answer import with_path
from solvers.errors import BackendError
from solvers.worker import WorkerSolver

OBEY, HANG, CRASH, EXIT, RAISE, REFUSE, PRINT = range(1, 8)


def problem(deed: int) -> PathProblem:
    """The problem that asks for a deed."""
    return PathProblem(1, [], [1.0], [], [], start=0, terminals=[0], horizon=deed)


class Misbehaving(WorkerSolver):
    """Notes the id of its process, and of one that it starts, in a file before it does anything."""

    name: ClassVar[str] = "test:misbehaving"
    summary: ClassVar[str] = "does as the horizon says"

    def __init__(self, notes: str) -> None:
        super().__init__(notes=notes)
        self._notes = Path(notes)

    def _search(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        with self._notes.open("a") as notes:
            notes.write(f"{os.getpid()}\n")
        if problem.horizon == HANG:
            subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
            print("hanging", flush=True)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
            threading.Event().wait()
        if problem.horizon == CRASH:
            os.write(2, b"assertion failed: 1 == 2")
            os.kill(os.getpid(), signal.SIGSEGV)
        if problem.horizon == EXIT:
            os._exit(7)
        if problem.horizon == RAISE:
            raise ZeroDivisionError("by zero")
        if problem.horizon == REFUSE:
            raise BackendError("not this one")
        if problem.horizon == PRINT:
            print("chatter", flush=True)
            os.write(1, b'{"answer": "of native code"}\n')
            assert sys.stdin.read() == ""
        return with_path(problem, [], Status.OPTIMAL)


class Unloadable(Misbehaving):
    """A backend whose library is missing."""

    def _prepare(self) -> None:
        raise ImportError("no such library")
