"""The process that runs BFCL's Python APIs: JSON lines in and out, no network, no programs, no files.

``python -m envs.bfcl.child``. A world is a set of API objects; worlds are copied, compared and hashed here, so that no
object leaves the process.
"""

from __future__ import annotations

import copy
import inspect
import json
import os
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, TextIO

from tape.errors import error_text
from tape.tools.copies import PythonObject

_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_REFUSED = ("kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run")
"""Names that the official checker refuses to call."""

_CLOCKS = ("_last_modified",)
"""Attributes that hold the time of day."""

_OUTSIDE = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.remove", "os.rename", "os.mkdir", "os.rmdir")
"""Audit events."""

World = dict[str, Any]


class Child:
    """Answers requests."""

    def __init__(self) -> None:
        self._classes: dict[str, Any] = {}
        self._worlds: dict[int, World] = {}
        self._next = 0

    def answer(self, request: Mapping[str, Any]) -> Any:
        """What a request comes to; its ``do`` names one of the methods below."""
        methods = (self.load, self.world, self.copy, self.drop, self.call, self.key, self.state, self.same)
        do: dict[str, Any] = {method.__name__: method for method in methods}
        return do[request["do"]](**{name: value for name, value in request.items() if name != "do"})

    def load(self, modules: Mapping[str, str], classes: Mapping[str, str]) -> None:
        """Run the modules; then shut the process off."""
        parts = _PACKAGE.split(".")
        for end in range(1, len(parts) + 1):
            sys.modules.setdefault(name := ".".join(parts[:end]), ModuleType(name)).__path__ = []
        for name, text in modules.items():
            made = ModuleType(f"{_PACKAGE}.{name}")
            sys.modules[made.__name__] = made
            exec(compile(text, f"<{name}>", "exec"), made.__dict__)  # noqa: S102 - only text whose hash is pinned
        self._classes = {name: getattr(sys.modules[f"{_PACKAGE}.{module}"], name) for name, module in classes.items()}
        sys.addaudithook(_refuse)

    def world(self, classes: list[str], config: Mapping[str, Any], long: bool) -> int:
        """A new world; its number."""
        made: World = {}
        for name in classes:
            made[name] = self._classes[name]()
            if hasattr(made[name], "_load_scenario"):
                made[name]._load_scenario(copy.deepcopy(config.get(name, {})), long_context=long)
        return self._kept(made)

    def _kept(self, world: World) -> int:
        self._next += 1
        self._worlds[self._next] = world
        return self._next

    def copy(self, world: int) -> int:
        """A copy; its number."""
        return self._kept(copy.deepcopy(self._worlds[world]))

    def drop(self, world: int) -> None:
        """Forget a world."""
        self._worlds.pop(world, None)

    def call(self, world: int, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a function; its result as the official checker writes it, an exception too."""
        for instance in self._worlds[world].values():
            if not name.startswith("_") and inspect.ismethod(method := getattr(instance, name, None)):
                break
        else:
            raise KeyError(f"there is no function {name}")
        try:
            if name in _REFUSED:
                raise ValueError(f"Function call {name} is not allowed.")
            result = method(**arguments)
            if isinstance(result, str):
                return result
            if isinstance(result, dict):
                try:
                    return json.dumps(result)
                except (TypeError, ValueError):
                    return str(result)
            return str(result)
        except Exception as error:
            return f"Error during execution: {error}"

    def key(self, world: int) -> str:
        """All that a world holds, hashed; not the times of day."""
        return PythonObject(_without_clocks(self._worlds[world])).key()

    def state(self, world: int) -> list[tuple[str, str]]:
        """All that a world holds, by its place, for people."""
        return [*PythonObject(_without_clocks(self._worlds[world])).items()]

    def same(self, world: int, other: int) -> list[str]:
        """The public attributes that differ, compared as the official checker compares them."""
        found = []
        for name, instance in self._worlds[other].items():
            for attribute, value in vars(instance).items():
                if not attribute.startswith("_") and getattr(self._worlds[world][name], attribute) != value:
                    found.append(f"{name}.{attribute}")
        return found


def _without_clocks(world: World) -> World:
    """The same world, in which every attribute that holds the time of day is empty."""
    seen: set[int] = set()
    left = [*world.values()]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, str | int | float | bytes | None):
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list | tuple | set):
            left += one
        elif hasattr(one, "__dict__"):
            for name in _CLOCKS:
                if hasattr(one, name):
                    setattr(one, name, None)
            left += vars(one).values()
    return world


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    """Refuse what reaches out of the process."""
    opened = event == "open" and args[1] is not None and any(letter in str(args[1]) for letter in "wax+")
    if opened or event.partition(".")[0] in ("socket", "subprocess", "shutil") or event in _OUTSIDE:
        raise PermissionError(f"{event} is not allowed here")


def main(asked: TextIO, answers: TextIO) -> None:
    """Answer until the input ends."""
    child = Child()
    for line in asked:
        try:
            answer = {"value": child.answer(json.loads(line))}
        except Exception as error:
            answer = {"error": error_text(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an API prints is no answer
    main(sys.stdin, out)
