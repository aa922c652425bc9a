"""The outside of the process: requests, and the worlds in it as states that plans are tried on copies of."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from tape.errors import EnvironmentFaultError
from tape.tools.copies import CopyableState

SECONDS = 60
"""The longest that the process may take for an answer."""

_KEPT = ("PATH", "PYTHONPATH", "SYSTEMROOT", "LANG", "LC_ALL")
"""Environment variables that it gets."""


class Process:
    """The process; it ends with this one."""

    def __init__(self, module: str, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._process = subprocess.Popen(  # noqa: S603 - this Python and a module of ours
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            cwd=Path(__file__).parents[2],
        )
        atexit.register(self.close)

    def ask(self, **request: Any) -> Any:
        """One request and its answer.

        Raises:
            EnvironmentFaultError: The process has failed, died, or not answered in time.
        """
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with self._lock:
            timer = threading.Timer(SECONDS, process.kill)
            timer.start()
            try:
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
            except OSError as error:
                raise EnvironmentFaultError(f"the process of {self._what} has ended: {error}") from error
            finally:
                timer.cancel()
        if not line:
            raise EnvironmentFaultError(f"{self._what} have ended, or took {SECONDS} s for {request['do']}")
        answer = json.loads(line)
        if "error" in answer:
            raise EnvironmentFaultError(f"{self._what}: {request['do']} failed: {answer['error']}")
        return answer["value"]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


class RemoteWorld(CopyableState):
    """A world in the process."""

    def __init__(self, process: Process, number: int) -> None:
        self.process, self.number = process, number

    @property
    def value(self) -> Self:
        """Itself: tools call its functions."""
        return self

    def copy(self) -> Self:
        """A deep copy, in the same process."""
        return type(self)(self.process, self.process.ask(do="copy", world=self.number))

    def key(self) -> str:
        """All that it holds, hashed."""
        return str(self.process.ask(do="key", world=self.number))

    def difference(self, after: CopyableState) -> Sequence[str]:
        """Every value that is new, gone or another one."""
        assert isinstance(after, RemoteWorld)
        old, new = (dict(self.process.ask(do="state", world=world.number)) for world in (self, after))
        return [
            f"{place}: {old.get(place, 'nothing')} -> {new.get(place, 'nothing')}"
            for place in dict.fromkeys((*old, *new))
            if old.get(place) != new.get(place)
        ]

    def close(self) -> None:
        """Forget it."""
        self.process.ask(do="drop", world=self.number)
