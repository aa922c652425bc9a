"""Tool chains for the command line and the runner."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from envs.tool_chains.environment import READERS, ToolChainsEnvironment
from envs.tool_chains.errors import ToolChainsError
from envs.tool_chains.generator import LEVELS, TOOLS, ChainSettings, generate
from envs.tool_chains.loader import OwnTask, load, own_tools
from envs.tool_chains.problem import CAPS, CHANGES, ChainProblem
from envs.tool_chains.typed.environment import TypedEnvironment
from tape.protocols import Environment, EnvironmentPlugin, Task
from tape.reading import short
from tape.tools.tool import Tool

DEFAULT_COUNT = 20


class ToolChainsPlugin(EnvironmentPlugin):
    """Requests that chains of typed tools fulfil."""

    name = "tool_chains"
    prompt_version: Mapping[str, str] = MappingProxyType({"declared": "1", "chains": "2", "chat": "2"})
    roles = ("project", "plan", "act", "score")
    cases = "envs.tool_chains.role_cases"
    model = "declared:random"
    built_on = ("tape.tools",)
    reads = True
    replayable = True

    def add_arguments(self, parser: Any) -> None:
        """``--data``, ``--problems``, ``--count``, ``--level``, ``--tools``, ``--change``, ``--caps`` and others."""
        parser.add_argument("--data", type=str, help="a JSON file of typed tools with prices, and of tasks")
        parser.add_argument("--problems", default="dev", help="our own problems: the name of a set (default: dev)")
        parser.add_argument(
            "--count", type=int, default=DEFAULT_COUNT, help="our own problems: how many (default: %(default)s)"
        )
        parser.add_argument(
            "--level", type=int, default=5, help=f"stages to the thing, {LEVELS[0]} to {LEVELS[-1]} (default: 5)"
        )
        parser.add_argument(
            "--tools", type=int, default=40, help=f"tools of a problem, {TOOLS[0]} to {TOOLS[1]} (default: 40)"
        )
        parser.add_argument(
            "--change", choices=CHANGES, default="none", help="the change during an episode (default: none)"
        )
        parser.add_argument(
            "--caps",
            choices=CAPS,
            default="fit",
            help="fit: the cheapest chain fits; tight: it takes too long, a dearer one fits; short: none fits "
            "(default: fit)",
        )
        parser.add_argument(
            "--slack",
            type=float,
            default=0.1,
            help="share by which the caps on money and time exceed the oracle's use (default: %(default)s)",
        )
        parser.add_argument(
            "--reader",
            choices=READERS,
            default="scripted",
            help="the reader of requests: a script that knows our own wordings, or the model (default: scripted)",
        )

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per problem."""
        if options.get("data"):
            path = Path(options["data"])
            return [Task(own.id, path.stem, own.budget, own.digest, {"own": own}) for own in load(path)]
        if not 1 <= options["count"] <= 100_000:
            raise ToolChainsError(f"--count is from 1 to 100,000, got {short(options['count'])}")
        settings = ChainSettings(
            options["level"], options["tools"], options["change"], options["caps"], options["slack"]
        )
        reader = options["reader"]
        name = f"chains-{options['problems']}-{settings.level}-{settings.tools}-{settings.change}"
        name += "" if settings.caps == "fit" else f"-{settings.caps}"
        name += "" if settings.slack == 0.1 else f"-slack{settings.slack:g}"
        name += "-scripted-reader" if reader == "scripted" else ""
        problems = (generate(options["problems"], number, settings) for number in range(options["count"]))
        return [
            Task(
                problem.id,
                name,
                problem.budget,
                f"{problem.digest}-{reader}",
                {"problem": problem, "reader": reader, "text": problem.request},
            )
            for problem in problems
        ]

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        if "own" in task.facts:
            own: OwnTask = task.facts["own"]
            have = {name: f"{name} (from the start)" for name in own.have}
            tools = _own_tools(own.file, own.digest)
            return TypedEnvironment(
                tools, have=have, want=own.want, budget=own.budget, request=own.request, goals=own.goals
            )
        problem: ChainProblem = task.facts["problem"]
        return ToolChainsEnvironment(problem, task.facts["reader"])


@lru_cache(maxsize=4)
def _own_tools(file: str, digest: str) -> list[Tool]:
    """The tools of a file, made once for all of its tasks in a row."""
    del digest  # of what the file held when its tasks were read
    return own_tools(file)


PLUGIN = ToolChainsPlugin()
