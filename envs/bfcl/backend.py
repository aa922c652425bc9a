"""BFCL's APIs, run in a child process, and their worlds as states that plans are tried on copies of."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from envs.bfcl.source import MODULES, Source
from tape.errors import EnvironmentFaultError
from tape.tools.copies import CopyableState

SECONDS = 60
"""The longest that the process may take for an answer."""

_KEPT = ("PATH", "PYTHONPATH", "SYSTEMROOT", "LANG", "LC_ALL")
"""Environment variables that it gets."""


class Backend:
    """The process; it ends with this one.

    Args:
        source: The wheel that the APIs come from.

    Raises:
        DataError: A file is missing, or another one than the pinned.
    """

    def __init__(self, source: Source) -> None:
        modules = source.modules()
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "envs.bfcl.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            cwd=Path(__file__).parents[2],
        )
        atexit.register(self.close)
        self.ask(do="load", modules=modules, classes=dict(MODULES))

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
                raise EnvironmentFaultError(f"the process of BFCL's APIs has ended: {error}") from error
            finally:
                timer.cancel()
        if not line:
            raise EnvironmentFaultError(f"BFCL's APIs have ended, or took {SECONDS} s for {request['do']}")
        answer = json.loads(line)
        if "error" in answer:
            raise EnvironmentFaultError(f"BFCL's APIs: {request['do']} failed: {answer['error']}")
        return answer["value"]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


@cache
def backend(source: Source) -> Backend:
    """The process of a wheel's APIs; one for all tasks."""
    return Backend(source)


class ApiWorld(CopyableState):
    """The API objects of one task.

    Args:
        apis: The process that has them.
        number: Their number there.
    """

    def __init__(self, apis: Backend, number: int) -> None:
        self._apis, self._number = apis, number
        self.results: list[str] = []
        """What its calls have returned since :meth:`take_results`."""

    @classmethod
    def of(cls, apis: Backend, classes: Sequence[str], config: Mapping[str, Any], *, long: bool) -> ApiWorld:
        """A world as a task begins with it."""
        return cls(apis, apis.ask(do="world", classes=list(classes), config=dict(config), long=long))

    @property
    def value(self) -> ApiWorld:
        """Itself: tools call its functions."""
        return self

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a function; its result as the official checker writes it."""
        self.results.append(str(self._apis.ask(do="call", world=self._number, name=name, arguments=dict(arguments))))
        return self.results[-1]

    def take_results(self) -> list[str]:
        """The results so far, which are forgotten here."""
        taken, self.results = self.results, []
        return taken

    def copy(self) -> ApiWorld:
        """A deep copy, in the same process."""
        return ApiWorld(self._apis, self._apis.ask(do="copy", world=self._number))

    def key(self) -> str:
        """All that the objects hold, hashed; not the times of day."""
        return str(self._apis.ask(do="key", world=self._number))

    def difference(self, after: CopyableState) -> Sequence[str]:
        """Every value that is new, gone or another one."""
        assert isinstance(after, ApiWorld)
        old, new = (dict(self._apis.ask(do="state", world=one._number)) for one in (self, after))
        return [
            f"{place}: {old.get(place, 'nothing')} -> {new.get(place, 'nothing')}"
            for place in dict.fromkeys((*old, *new))
            if old.get(place) != new.get(place)
        ]

    def differs(self, gold: ApiWorld) -> Sequence[str]:
        """The public attributes in which it is not as another world, by the official comparison."""
        return list(map(str, self._apis.ask(do="same", world=self._number, other=gold._number)))

    def close(self) -> None:
        """Forget it."""
        self._apis.ask(do="drop", world=self._number)
