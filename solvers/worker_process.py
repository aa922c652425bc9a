"""One worker process, seen from its parent: start it, ask it in lines of JSON, kill it."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from solvers.deadline import SolveDeadline
from solvers.errors import BackendError
from solvers.problem import PathProblem
from solvers.reading import parse_json
from solvers.solution import PathSolution, Status

REAP_SECONDS = 0.02
"""How long a killed worker is waited for before a thread takes that over."""

_LAST_WORDS_SECONDS = 1.0
"""How long a worker that has closed its pipes is given to end."""

_CHUNK, _ROWS = 1 << 16, 4096
"""Bytes of a pipe, and rows of a problem, that are written at a time."""

_LONGEST_REPLY = 256 * 2**20


def search_limit(left: float) -> float:
    """The limit that a search is given, so that its answer is back by then: a twentieth less than there is."""
    return max(0.95 * left, 1e-3)  # 0 means "no limit" to some solvers


def patience(left: float) -> float:
    """How long its answer is waited for: together with the kill less than a tenth of the limit and 50 ms more."""
    return 1.07 * left + 0.01


def remove_folders() -> None:
    """Removes the folders of this process's workers, for its end: also that of one that was just being started."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix()}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _prefix() -> str:
    return f"tape-solver-{os.getpid()}-"


class OverrunError(BackendError):
    """A worker did not answer in time."""


class WorkerProcess:
    """A child process in a session of its own, so that a terminal's Ctrl-C reaches only the parent.

    It talks JSON lines over pipes. Its temporary files lie in a folder that goes with it. It ends when it is killed,
    and by itself when its standard input ends, as it does however the parent ends. One request at a time.

    Args:
        recipe: What the worker is to build, see `solvers.worker_main.main`.
    """

    def __init__(self, recipe: str) -> None:
        self._folder = tempfile.mkdtemp(prefix=_prefix())
        self._received = bytearray()
        self._ready = False
        paths = [os.path.abspath(path) for path in sys.path]  # an empty one means the current folder
        places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._folder)
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our module
                    [sys.executable, "-m", "solvers.worker_main", recipe, self._folder],
                    bufsize=0,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=self._folder,
                    env={**os.environ, **places, "PYTHONPATH": os.pathsep.join(paths)},
                    start_new_session=True,
                )
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._requests, self._replies = self._process.stdin, self._process.stdout
            os.set_blocking(self._requests.fileno(), False)
        except BaseException:
            if hasattr(self, "_process"):
                self._kill_group()
                self._process.wait()
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    @property
    def _log(self) -> Path:
        return Path(self._folder) / "worker.log"

    @property
    def pid(self) -> int:
        """The process id, which is also the id of the process group."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def wait_until_ready(self, deadline: SolveDeadline) -> bool:
        """Waits for the worker to have loaded its solver; False if the deadline passes first.

        Raises:
            BackendError: If the solver cannot be loaded, or the worker ends.
        """
        if not self._ready:
            try:
                reply = self._receive(deadline)
            except OverrunError:
                return False
            if "error" in reply:
                raise BackendError(reply["error"])
            self._ready = True
        return True

    def ask(self, problem: PathProblem, deadline: SolveDeadline) -> dict[str, Any]:
        """The worker's reply to a problem: `answer`, for `unpack`, or `error`, a message.

        It gets the time that is left.

        Raises:
            LateError: If the deadline passes before the worker has been asked.
            OverrunError: If it does not come back in time.
            BackendError: If the worker ends.
        """
        line = problem_line(problem, deadline)
        deadline.check()
        left = deadline.left()
        waiting = SolveDeadline(None if left is None else patience(left))
        limit = None if left is None else search_limit(left)
        self._send(f"{json.dumps(limit)}\n".encode() + line, waiting)
        return self._receive(waiting)

    def kill(self, patience: float | None = None) -> None:
        """Ends the process and everything that it has started, at once; may be called again, and from any thread.

        A thread that waits in `ask` gets an error: the worker ended.
        """
        if self._process.returncode is None:
            self._kill_group()
            try:
                self._process.wait(patience)
            except subprocess.TimeoutExpired:  # a large process takes a while to give back its memory
                with contextlib.suppress(RuntimeError):  # no thread can be started any more: this process ends, too
                    threading.Thread(target=self._bury, name="reaper of a solver's worker", daemon=True).start()
                return
        shutil.rmtree(self._folder, ignore_errors=True)

    def _bury(self) -> None:
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """Closes the pipes; nothing may be waiting for them."""
        self._requests.close()
        self._replies.close()

    def abandon(self) -> None:
        """Lets go of the process without ending it: for a forked copy of the parent, which does not own it."""
        self.close()
        self._process.returncode = 0  # else subprocess would wait for what is not this process's child

    def _send(self, data: bytes, deadline: SolveDeadline) -> None:
        rest = memoryview(data)
        with selectors.DefaultSelector() as selector:
            selector.register(self._requests, selectors.EVENT_WRITE)
            while rest:
                if not selector.select(deadline.left()):
                    raise OverrunError("the worker process did not take the problem in time")
                try:
                    rest = rest[os.write(self._requests.fileno(), rest[:_CHUNK]) :]
                except BrokenPipeError as error:
                    raise self._ended() from error

    def _receive(self, deadline: SolveDeadline) -> dict[str, Any]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._replies, selectors.EVENT_READ)
            end = self._received.find(b"\n")
            while end < 0:
                if not selector.select(deadline.left()):
                    raise OverrunError("the worker process did not answer in time")
                data = os.read(self._replies.fileno(), _CHUNK)
                if not data:
                    raise self._ended()
                end = data.find(b"\n")
                end += len(self._received) if end >= 0 else 0
                self._received += data
                if len(self._received) > _LONGEST_REPLY:
                    raise BackendError(f"the worker process answered with more than {_LONGEST_REPLY:,} bytes")
        line, self._received = bytes(self._received[:end]), self._received[end + 1 :]
        return read_reply(line)

    def _ended(self) -> BackendError:
        """The error for a worker that has closed its pipes, with the last of what it wrote."""
        written = self._log.read_text(errors="replace")[-500:].strip() if self._log.exists() else ""
        try:
            code = self._process.wait(_LAST_WORDS_SECONDS)
        except subprocess.TimeoutExpired:  # it has closed them, and lives on
            self.kill()
            return BackendError(f"the worker process stopped talking, and was killed; it wrote: {written}")
        self._kill_group()  # a command-line solver may have outlived it
        how = f"exit code {code}" if code >= 0 else f"{signal.Signals(-code).name} (exit code {code})"
        return BackendError(f"the worker process ended with {how}" + (f"; it wrote: {written}" if written else ""))

    def _kill_group(self) -> None:
        # PermissionError is what macOS says of a group in which nothing runs any more.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def problem_line(problem: PathProblem, deadline: SolveDeadline) -> bytes:
    """What `PathProblem.to_json` writes, on one line."""
    return "".join(_pieces(problem, deadline)).encode() + b"\n"


def _pieces(problem: PathProblem, deadline: SolveDeadline) -> Iterator[str]:
    yield "{"
    for place, (name, value) in enumerate(problem.to_dict().items()):
        yield f'{", " if place else ""}"{name}": '
        if not isinstance(value, tuple):
            yield json.dumps(value)
            continue
        yield "["
        for begin in range(0, len(value), _ROWS):
            deadline.check()
            yield (", " if begin else "") + json.dumps(value[begin : begin + _ROWS])[1:-1]
        yield "]"
    yield "}"


def unpack(data: object) -> PathSolution:
    """An answer from its fields; JSON turned its tuples into lists and its status into text.

    Raises:
        BackendError: If it is something else.
    """
    try:
        assert isinstance(data, Mapping)
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        return PathSolution(**(values | {"status": Status(data["status"])}))
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        raise BackendError(f"the worker process answered with something that is no answer: {data!r:.200}") from error


def read_reply(line: bytes) -> dict[str, Any]:
    """A line of a worker: `ready`, `answer`, or `error`, a message.

    Raises:
        BackendError: If it is something else.
    """
    reply = parse_json(line, "the reply of the worker process", BackendError)
    if not isinstance(reply, dict) or not reply.keys() & {"ready", "answer", "error"}:
        raise BackendError(f"the reply of the worker process is none: {reply!r:.200}")
    return reply
