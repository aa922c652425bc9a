"""Worker processes of this machine."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from multiprocessing.context import SpawnProcess
from typing import Any

from tape.errors import BudgetExceededError
from tape.interrupts import end_process, own_process
from tape.lm.registry import open_model as open_by_name
from tape.runner.play import Models, Opener, Pool, WorkerError, WorkReply, answer
from tape.runner.run_ledger import RunLedger
from tape.runner.work import HOW_FAR, Keep, Played, Watcher, Work
from tape.screen import guard
from tape.trace import Event

PATIENCE = 5.0
"""Seconds that a worker has to end before it is killed."""


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: connection.Connection
    work: Work | None = None


class Processes(Pool):
    """Plays batches in worker processes, which open the models themselves and keep them between runs.

    The processes are started when they are first needed. They leave Ctrl-C to the parent, and end with it however it
    ends; their child processes and temporary files go with them.
    """

    def __init__(self, count: int, open_model: Opener = open_by_name) -> None:
        self._count, self._opener = count, open_model
        self._workers: list[_Worker] = []

    def play(self, work: Sequence[Work], watcher: Watcher, keep: Keep, run: RunLedger | None = None) -> None:
        """See :class:`~tape.runner.play.Pool`."""
        waiting = list(reversed(work))
        try:
            self._start(min(self._count, len(waiting)))
            while True:
                if run is not None and run.refused:
                    waiting.clear()
                for worker in self._workers:
                    if worker.work is None and waiting:
                        self._hand_out(worker, waiting.pop(), watcher)
                busy = {worker.pipe: worker for worker in self._workers if worker.work is not None}
                if not busy:
                    return
                for pipe in connection.wait(list(busy)):
                    worker = busy[pipe]  # type: ignore[index]  # only pipes were waited for
                    assert worker.work is not None
                    match self._receive(worker):
                        case Played() as played:
                            keep(worker.work, played)
                        case WorkReply(error=error, refused=refused):
                            done, worker.work = worker.work, None
                            if error is not None:
                                raise WorkerError(f"{done.configuration}: {error}")
                            if refused is not None and run is not None:
                                run.refused = BudgetExceededError(*refused)
                        case key, event:
                            watcher.event(key, event)
        finally:
            # Batches in flight when something is raised are dropped; what they hold counts as spent.
            self._end([worker for worker in self._workers if worker.work is not None])

    def close(self) -> None:
        """End the processes."""
        self._end(list(self._workers))

    def _start(self, count: int) -> None:
        self._end([worker for worker in self._workers if not worker.process.is_alive()])
        context = multiprocessing.get_context("spawn")
        while len(self._workers) < count:
            ours, theirs = context.Pipe()
            process = context.Process(target=_main, args=(theirs, self._opener), daemon=True)
            with _interrupts_held_back():
                process.start()
            theirs.close()
            self._workers.append(_Worker(process, ours))

    @staticmethod
    def _hand_out(worker: _Worker, work: Work, watcher: Watcher) -> None:
        worker.work = work
        watcher.started(work)
        try:
            worker.pipe.send(work)
        except OSError:
            raise _died(worker) from None

    @staticmethod
    def _receive(worker: _Worker) -> Any:
        """One message of a worker: an episode or an event of one, or the end of a batch."""
        try:
            return worker.pipe.recv()
        except (EOFError, OSError):  # also a truncated answer
            raise _died(worker) from None

    def _end(self, workers: Sequence[_Worker]) -> None:
        """Terminate some of the workers; kill those that do not end."""
        for worker in workers:
            self._workers.remove(worker)
            worker.pipe.close()
            worker.process.terminate()
        for worker in workers:
            worker.process.join(PATIENCE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.process.close()


def _died(worker: _Worker) -> WorkerError:
    worker.process.join(PATIENCE)
    code = worker.process.exitcode
    if code is not None and code < 0:
        how = f"was killed by signal {-code}" + (", perhaps for want of memory" if code == -signal.SIGKILL else "")
    else:
        how = f"ended with exit code {code}"
    configuration = f" while it played {worker.work.configuration!r}" if worker.work else ""
    return WorkerError(
        f"a worker process {how}{configuration}. Finished episodes are kept: repeat the command to go on, with fewer "
        "--workers if memory is short"
    )


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Block Ctrl-C while a child starts; the child inherits the mask until it ignores the signal itself."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its own start would lift the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _main(pipe: connection.Connection, opener: Opener) -> None:
    """Run a worker process."""
    guard()  # its warnings may contain text of models
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    ends = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
    own_process("", lambda: _work(pipe, opener), tuple(ends))


def _work(pipe: connection.Connection, opener: Opener) -> int:
    """Play batches until the parent closes the pipe."""
    models = Models(opener)

    def show(key: str, event: Event) -> None:
        if isinstance(event, HOW_FAR):
            with suppress(OSError):  # the parent has closed the pipe, and ends this process
                pipe.send((key, event))

    while True:
        try:
            work = pipe.recv()
            pipe.send(answer(work, models, pipe.send, show))
        except (EOFError, OSError):  # the parent has closed the pipe
            models.close()
            return 0


def _end_with_parent() -> None:
    """Exit at once when the parent is gone, even in the middle of a batch."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    end_process(1)
