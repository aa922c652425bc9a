"""The process that runs BFCL's Python APIs: ``python -m envs.bfcl.child``. A world is a set of API objects."""

from __future__ import annotations

import copy
import inspect
import json
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from envs.apart.child import Child, serve, shut_off

_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_REFUSED = ("kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run")
"""Names that the official checker refuses to call."""

_CLOCKS = ("_last_modified",)
"""Attributes that hold the time of day."""

World = dict[str, Any]


class ApiChild(Child):
    """Holds the API classes, and worlds of their objects."""

    does = (*Child.does, "load", "world", "call", "same")

    def __init__(self) -> None:
        super().__init__()
        self._classes: dict[str, Any] = {}

    def plain(self, world: World) -> World:
        """All but the times of day."""
        return _without_clocks(world)

    def load(self, modules: Mapping[str, str], classes: Mapping[str, str]) -> None:
        """Run the modules; then shut the process off."""
        parts = _PACKAGE.split(".")
        for end in range(1, len(parts) + 1):
            sys.modules.setdefault(name := ".".join(parts[:end]), ModuleType(name)).__path__ = []
        for name, text in modules.items():
            made = ModuleType(f"{_PACKAGE}.{name}")
            sys.modules[made.__name__] = made
            code = compile(text, f"<{name}>", "exec", dont_inherit=True)
            exec(code, made.__dict__)  # noqa: S102 - only text whose hash is pinned
        self._classes = {name: getattr(sys.modules[f"{_PACKAGE}.{module}"], name) for name, module in classes.items()}
        shut_off()

    def world(self, classes: list[str], config: Mapping[str, Any], long: bool) -> int:
        """A new world; its number."""
        made: World = {}
        for name in classes:
            made[name] = self._classes[name]()
            if hasattr(made[name], "_load_scenario"):
                made[name]._load_scenario(copy.deepcopy(config.get(name, {})), long_context=long)
        return self.kept(made)

    def call(self, world: int, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a function; its result as the official checker writes it, an exception too."""
        for instance in self.worlds[world].values():
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

    def same(self, world: int, other: int) -> list[str]:
        """The public attributes that differ, compared as the official checker compares them."""
        texts = []
        for name, instance in self.worlds[other].items():
            for attribute, value in vars(instance).items():
                if not attribute.startswith("_") and getattr(self.worlds[world][name], attribute) != value:
                    texts.append(f"{name}.{attribute}")
        return texts


def _without_clocks(world: World) -> World:
    """The same world, in which every attribute that holds the time of day is empty."""
    seen: set[int] = set()
    left = [*world.values()]
    while left:
        value = left.pop()
        if id(value) in seen or isinstance(value, str | int | float | bytes | None):
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list | tuple | set):
            left += value
        elif hasattr(value, "__dict__"):
            for name in _CLOCKS:
                if hasattr(value, name):
                    setattr(value, name, None)
            left += vars(value).values()
    return world


if __name__ == "__main__":
    serve(ApiChild())
