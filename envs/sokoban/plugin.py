"""Sokoban for the command line and the runner."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.errors import SokobanError
from envs.sokoban.level_sets import load_set, names, optimal_length
from envs.sokoban.simulator_model import SimulatorWorldModel
from envs.sokoban.xsb import dumps, parse
from tape.budget import Budget
from tape.protocols import Environment, Task, WorldModel


class SokobanPlugin:
    """Implements :class:`tape.protocols.EnvironmentPlugin`."""

    name = "sokoban"
    model = "bundled:mini"
    reads = False
    prompt_version = "2"

    def add_arguments(self, parser: Any) -> None:
        """``--levels`` and ``--slack``."""
        parser.add_argument("--levels", default="easy", help=f"{', '.join(names())}, or an XSB file (default: easy)")
        parser.add_argument(
            "--slack", type=int, default=2, help="moves allowed beyond the shortest solution (default: 2)"
        )

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per level; its budget is the shortest solution plus the slack.

        Raises:
            SokobanError: Negative slack, malformed or unsolvable levels.
        """
        slack = int(options["slack"])
        if slack < 0:
            raise SokobanError(f"--slack must be >= 0, got {slack}")
        found = []
        levels = load_set(options["levels"])
        titles = [level.title for level in levels]
        for i, level in enumerate(levels, 1):
            best = optimal_length(level)
            text = dumps([level])
            found.append(
                Task(
                    id=level.title if level.title and titles.count(level.title) == 1 else f"{i} {level.title}".strip(),
                    level_set=str(options["levels"]),
                    budget=Budget({"steps": best + slack}),
                    digest=hashlib.sha256(text.encode()).hexdigest()[:16],
                    facts={"xsb": text, "optimal_length": best, "slack": slack},
                )
            )
        return found

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        [level] = parse(task.facts["xsb"])
        return SokobanEnvironment(level)

    def simulator(self, environment: Environment) -> WorldModel:
        """The exact world model."""
        assert isinstance(environment, SokobanEnvironment)
        return SimulatorWorldModel(environment.level)


PLUGIN = SokobanPlugin()
