"""The inside of the process: JSON lines in and out. Worlds are copied and hashed here; no object leaves it."""

from __future__ import annotations

import copy
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tape.errors import error_text
from tape.tools.copies import PythonObject

_OUTSIDE = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.remove", "os.rename", "os.mkdir", "os.rmdir")
"""Audit events."""


class Child:
    """Answers requests. ``do`` of a request names one of the methods in ``does``; the rest are its arguments."""

    does: ClassVar[tuple[str, ...]] = ("copy", "drop", "key", "state")

    def __init__(self) -> None:
        self.worlds: dict[int, Any] = {}
        self._next = 0

    def answer(self, request: Mapping[str, Any]) -> Any:
        """What a request comes to."""
        if request["do"] not in self.does:
            raise ValueError(f"nothing here does {request['do']}")
        do: Callable[..., Any] = getattr(self, request["do"])
        return do(**{name: value for name, value in request.items() if name != "do"})

    def kept(self, world: Any) -> int:
        """Keep a world; its number."""
        self._next += 1
        self.worlds[self._next] = world
        return self._next

    def plain(self, world: Any) -> Any:
        """What of a world makes it equal to another one."""
        return world

    def copy(self, world: int) -> int:
        """A copy; its number."""
        return self.kept(copy.deepcopy(self.worlds[world]))

    def drop(self, world: int) -> None:
        """Forget a world."""
        self.worlds.pop(world, None)

    def key(self, world: int) -> str:
        """All that a world holds, hashed."""
        return PythonObject(self.plain(self.worlds[world])).key()

    def state(self, world: int) -> list[tuple[str, str]]:
        """All that a world holds, by its place, for people."""
        return [*PythonObject(self.plain(self.worlds[world])).items()]


def shut_off() -> None:
    """From here on nothing reaches out of the process; it cannot be undone."""
    sys.addaudithook(_refuse)


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    opened = event == "open" and args[1] is not None and any(letter in str(args[1]) for letter in "wax+")
    if opened or event.partition(".")[0] in ("socket", "subprocess", "shutil") or event in _OUTSIDE:
        raise PermissionError(f"{event} is not allowed here")


def serve(child: Child) -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the code prints is no answer
    for line in sys.stdin:
        try:
            answer = {"value": child.answer(json.loads(line))}
        except Exception as error:
            answer = {"error": error_text(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
