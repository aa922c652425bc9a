"""Sokoban for the command line and the runner."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from envs.sokoban.domain import SimulatorWorldModel
from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.errors import SokobanError
from envs.sokoban.level_sets import load_set, names, optimal_length
from envs.sokoban.state import Level
from envs.sokoban.xsb import dumps, parse
from tape.budget import Budget
from tape.protocols import Environment, EnvironmentPlugin, Task, WorldModel
from tape.reading import short

MOST_SLACK = 1_000_000
"""Most moves beyond the shortest solution; an episode of so many would not end."""


class SokobanPlugin(EnvironmentPlugin):
    """Levels of Sokoban."""

    name = "sokoban"
    model = "bundled:mini"
    reads = False
    replayable = True
    prompt_version: Mapping[str, str] = MappingProxyType({"compact": "2", "chat": "3"})
    roles = ("plan", "act", "next", "rollout", "score")
    cases = "envs.sokoban.role_cases"

    def add_arguments(self, parser: Any) -> None:
        """``--levels`` and ``--slack``."""
        parser.add_argument("--levels", default="easy", help=f"{', '.join(names())}, or an XSB file (default: easy)")
        parser.add_argument(
            "--slack", type=int, default=2, help="moves allowed beyond the shortest solution (default: 2)"
        )

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per level; its budget is the shortest solution plus the slack."""
        slack = int(options["slack"])
        if not 0 <= slack <= MOST_SLACK:
            raise SokobanError(f"--slack must be from 0 to {MOST_SLACK}, got {short(slack)}")
        result = []
        levels = load_set(options["levels"])
        for name, level in zip(_names(levels), levels, strict=True):
            best = optimal_length(level)
            text = dumps([level])
            result.append(
                Task(
                    id=name,
                    level_set=str(options["levels"]),
                    budget=Budget({"steps": best + slack}),
                    digest=hashlib.sha256(text.encode()).hexdigest()[:16],
                    facts={"xsb": text, "optimal_length": best, "slack": slack},
                )
            )
        return result

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        [level] = parse(task.facts["xsb"])
        return SokobanEnvironment(level)

    def simulator(self, environment: Environment) -> WorldModel:
        """The exact world model."""
        assert isinstance(environment, SokobanEnvironment)
        return SimulatorWorldModel(environment.level)


def _names(levels: Sequence[Level]) -> list[str]:
    """A name of its own for every level: its title where that is unique, else with its number before it."""
    count = Counter(level.title for level in levels)
    numbered = [f"{i} {level.title}".strip() for i, level in enumerate(levels, 1)]
    names = [
        level.title if level.title and count[level.title] == 1 else name
        for name, level in zip(numbered, levels, strict=True)
    ]
    return names if len(set(names)) == len(names) else numbered


PLUGIN = SokobanPlugin()
