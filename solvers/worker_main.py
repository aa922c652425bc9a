"""The worker process itself: `python -m solvers.worker_main RECIPE FOLDER`, started by `solvers.worker_process`.

It builds the solver that the recipe names and says that it is ready; then it answers requests of two lines of JSON each
(the time that is left, the problem) with one line each, until its standard input ends.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import shutil
import signal
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, BinaryIO

from solvers.answer import without_path
from solvers.errors import LateError, SolverError
from solvers.problem import PathProblem
from solvers.solution import Status
from solvers.worker import WorkerSolver


def main(recipe: str, folder: str) -> None:
    """Serves requests; never returns.

    Args:
        recipe: A JSON object: `target` is `module:attribute` of what makes the solver, `options` its arguments.
        folder: The folder for temporary files, removed at the end.
    """
    requests, replies = _own_pipes()
    lines: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, lines, folder), daemon=True).start()
    try:
        solver = _build(json.loads(recipe))
        solver._prepare()
    except Exception as error:
        _send(replies, {"error": f"it could not be loaded: {_message(error)}"})
        _end(folder)
    _send(replies, {"ready": True})
    while True:
        began, line = lines.get()
        limit = json.loads(line)
        _, problem = lines.get()
        _send(replies, _reply(solver, problem, began, limit))


def _own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Takes the pipes away from descriptors 0 and 1, where native code would read and write: it gets stderr, a log."""
    pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return pipes


def _listen(requests: BinaryIO, lines: queue.SimpleQueue[tuple[float, bytes]], folder: str) -> None:
    """Hands lines on. The end of input means that the parent is gone, however it went, even while a search runs."""
    for line in requests:
        lines.put((time.monotonic(), line))
    _end(folder)


def _end(folder: str) -> None:
    """Ends this process at once, with whatever the solver has started (command-line solvers)."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _build(recipe: Mapping[str, Any]) -> WorkerSolver:
    module, _, path = recipe["target"].partition(":")
    make: Any = importlib.import_module(module)
    for name in path.split("."):
        make = getattr(make, name)
    solver = make(**recipe["options"])
    if not isinstance(solver, WorkerSolver):
        raise TypeError(f"{recipe['target']} makes {solver!r}, which is not a WorkerSolver")
    return solver


def _reply(solver: WorkerSolver, problem: bytes, began: float, limit: float | None) -> dict[str, Any]:
    """The answer to a problem that was sent at `began`; reading it counts, too."""
    try:
        asked = PathProblem.from_json(problem, "the problem as the worker process got it")
        if limit is not None:
            limit -= time.monotonic() - began
            if limit <= 0:
                raise LateError("the time was up when the worker process had read the problem")
        return {"answer": vars(solver._search(asked, limit))}
    except LateError as error:
        return {"answer": vars(without_path(Status.TIMEOUT, message=str(error)))}
    except Exception as error:  # the parent raises it again
        return {"error": _message(error)}


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, SolverError) else f"{type(error).__name__}: {error}"


def _send(replies: BinaryIO, reply: Mapping[str, Any]) -> None:
    replies.write(json.dumps(reply).encode() + b"\n")
    replies.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
