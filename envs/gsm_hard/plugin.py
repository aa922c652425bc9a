"""GSM-Hard for the command line and the runner."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from envs.gsm_hard.environment import GsmHardEnvironment
from envs.gsm_hard.generator import problem_set
from envs.gsm_hard.loader import load
from envs.gsm_hard.problem import Problem
from envs.gsm_hard.profiles import DEFAULT, PROFILES, TIGHTNESSES, budget
from tape.budget import Budget
from tape.protocols import Environment, EnvironmentPlugin, Task


class GsmHardPlugin(EnvironmentPlugin):
    """Word problems solved by calls of a calculator."""

    name = "gsm_hard"
    prompt_version: Mapping[str, str] = MappingProxyType({"chat": "3"})
    roles = ("plan", "act", "score", "answer")
    cases = "envs.gsm_hard.role_cases"
    model = "smollm2"
    built_on = ("tape.tools",)
    reads = False
    replayable = True

    def add_arguments(self, parser: Any) -> None:
        """``--data``, ``--problems``, ``--profile`` and ``--tightness``."""
        parser.add_argument("--data", type=str, help="a JSON Lines file in the public GSM-Hard format")
        parser.add_argument(
            "--problems", default="dev", help="our own problems: dev (100) or test (200) (default: dev)"
        )
        parser.add_argument("--profile", choices=tuple(PROFILES), default=DEFAULT, help=f"tools (default: {DEFAULT})")
        parser.add_argument(
            "--tightness",
            choices=(*TIGHTNESSES, "none"),
            default="none",
            help="a budget made from each problem's number of operations, beside --budget (default: none)",
        )

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per problem."""
        data, profile = options.get("data"), PROFILES[options["profile"]]
        problems = load(Path(data)) if data else problem_set(options["problems"])
        tightness = options["tightness"]
        name = Path(data).stem if data else f"gsm-{options['problems']}"
        return [
            Task(
                id=problem.id,
                level_set=name if tightness == "none" else f"{name}-{tightness}",
                budget=self._budget(problem, profile.name, tightness),
                digest=hashlib.sha256(f"{problem.digest} {profile!r}".encode()).hexdigest()[:16],
                facts={"problem": problem, "profile": profile.name, "split": problem.split, "text": problem.text},
            )
            for problem in problems
        ]

    @staticmethod
    def _budget(problem: Problem, profile: str, tightness: str) -> Budget:
        if tightness == "none":  # an episode needs an end
            return Budget({"steps": 2 * problem.operations + 3})
        return budget(PROFILES[profile], problem.operations, tightness)

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        return GsmHardEnvironment(task.facts["problem"], task.facts["profile"])


PLUGIN = GsmHardPlugin()
