"""`WorkerSolver`: the base class of backends whose search runs in a worker process.

Native solvers ignore Ctrl-C, overrun their time limits, crash, print, and do not always get on with each other in one
process. In a worker they can do no harm: it is killed where it does not obey, and a new one is started. A worker is
started when it is first needed and then kept, so that its solver stays loaded; threads that solve at the same time
have one each.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import threading
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

from solvers.answer import without_path
from solvers.base import Solver, missing_package
from solvers.deadline import SolveDeadline
from solvers.errors import BackendError, LateError
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status
from solvers.worker_process import REAP_SECONDS, OverrunError, WorkerProcess, remove_folders, unpack

Option = str | int | float | bool | None

_PATIENCE = 0.3
"""Seconds."""


class WorkerSolver(Solver):
    """A backend that implements `_search` in place of `_solve`; it runs in a worker process.

    The worker makes the solver anew from its class, which it must be able to import, and its options.

    Args:
        options: What the constructor is to be called with in the worker.

    Attributes:
        library: The module that `_search` needs, if any: without it the solver cannot run, and the worker imports it
            before the first time limit starts to run there.
    """

    library: ClassVar[str] = ""

    def __init__(self, **options: Option) -> None:
        self._options = options

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Whether the library is installed."""
        return missing_package(cls.library.partition(".")[0]) if cls.library else None

    def _prepare(self) -> None:
        """Imports what `_search` needs. Called once in the worker, before the first time limit starts to run there."""
        if self.library:
            importlib.import_module(self.library)

    @abstractmethod
    def _search(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        """As `Solver._solve`, called in the worker.

        It is killed when it overruns the limit: it is told a little less than the caller's, and gets a little more
        (`solvers.worker_process.patience`).
        """

    def _recipe(self) -> tuple[str, Mapping[str, Option]]:
        """What makes this solver in the worker: `module:attribute`, and the arguments."""
        made = type(self)
        if made.__module__ == "__main__" or "<" in made.__qualname__:
            raise BackendError(
                f"a worker process cannot import {made.__qualname__} from {made.__module__}; "
                "define it at the top level of a module that can be imported"
            )
        return f"{made.__module__}:{made.__qualname__}", self._options

    def _solve(self, problem: PathProblem, time_limit: float | None) -> PathSolution:
        deadline = SolveDeadline(time_limit)
        target, options = self._recipe()
        try:
            with _workers.borrow(json.dumps({"target": target, "options": options})) as worker:
                if not worker.wait_until_ready(deadline):  # it goes on starting, for the next solve
                    return without_path(Status.TIMEOUT, message="the time was up before the solver had been loaded")
                reply = worker.ask(problem, deadline)
        except LateError as error:
            return without_path(Status.TIMEOUT, message=str(error))
        except OverrunError:
            return without_path(Status.TIMEOUT, message="killed: it did not stop at its time limit")
        if "error" in reply:
            raise BackendError(str(reply["error"]))
        return unpack(reply.get("answer"))


def stop_workers() -> None:
    """Ends all worker processes; a solve that waits for one in another thread comes back with ERROR."""
    _workers.stop()


class _Workers:
    """The worker processes of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: set[WorkerProcess] = set()
        self._idle: defaultdict[str, list[WorkerProcess]] = defaultdict(list)

    @contextmanager
    def borrow(self, recipe: str) -> Iterator[WorkerProcess]:
        """A worker for one request. Whatever goes wrong, Ctrl-C at any moment included, ends it."""
        taken: list[WorkerProcess] = []
        try:
            self._take(recipe, taken)
            yield taken[-1]
            with self._lock:
                self._idle[recipe].append(taken[-1])
        except BaseException:
            for worker in taken:
                self._discard(worker)
            raise

    def stop(self) -> None:
        """Ends all of them. The pipes of one that is lent out are left to the thread that waits for it."""
        # At the end of the process the thread that holds the lock may have been stopped for good.
        held = self._lock.acquire(timeout=_PATIENCE)
        workers, idle = list(self._all), [worker for lot in self._idle.values() for worker in lot]
        self._idle.clear()
        self._all.clear()
        if held:
            self._lock.release()
        for worker in workers:
            worker.kill(_PATIENCE)
        for worker in idle:
            worker.close()

    def forget(self) -> None:
        """In a forked copy of this process: the workers belong to the original."""
        for worker in self._all:
            worker.abandon()
        self.__init__()  # type: ignore[misc]

    def _take(self, recipe: str, taken: list[WorkerProcess]) -> None:
        """Put an idle or a new worker into a list, where the caller finds it also after an interrupt."""
        while True:
            with self._lock:
                idle = self._idle[recipe]
                taken += idle[-1:]  # not by pop(): an interrupt between two calls would lose it
                del idle[-1:]
            if not taken:
                break
            if taken[-1].is_alive():
                return
            self._discard(taken.pop())
        taken.append(WorkerProcess(recipe))
        with self._lock:
            self._all.add(taken[-1])

    def _discard(self, worker: WorkerProcess) -> None:
        try:
            self._end(worker)
        except KeyboardInterrupt:  # it came while one that had overrun its limit was being ended
            self._end(worker)
            raise

    def _end(self, worker: WorkerProcess) -> None:
        worker.kill(patience=REAP_SECONDS)
        worker.close()
        with self._lock:
            self._all.discard(worker)
            for idle in self._idle.values():
                if worker in idle:  # an interrupt came just when it was given back
                    idle.remove(worker)


_workers = _Workers()
atexit.register(remove_folders)
atexit.register(stop_workers)  # called before the other
os.register_at_fork(after_in_child=_workers.forget)
