"""ScienceWorld for the command line and the runner."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from envs.scienceworld.engine import require_playable
from envs.scienceworld.environment import ScienceSimulator, ScienceWorldEnvironment
from envs.scienceworld.errors import ScienceWorldError
from envs.scienceworld.tasks import GROUPS, SPLITS, TaskInfo, chosen, named
from tape.budget import Budget
from tape.protocols import Environment, EnvironmentPlugin, Task, WorldModel

LIMIT = 500
"""Steps of an episode: the global cap of SDP table 8."""


class ScienceWorldPlugin(EnvironmentPlugin):
    """Tasks of ScienceWorld."""

    name = "scienceworld"
    model = "simulated:scienceworld"
    reads = False
    replayable = True
    prompt_version = "2"
    roles = ("plan", "next", "score", "act")
    cases = "envs.scienceworld.role_cases"

    def add_arguments(self, parser: Any) -> None:
        """Which tasks and variations, and how they are played."""
        parser.add_argument(
            "--task", default="all", help=f"a task, or one of {', '.join(GROUPS)}; several by commas (default: all)"
        )
        parser.add_argument(
            "--split", default="dev", help=f"official variations: {', '.join(SPLITS)}; several by commas (default: dev)"
        )
        parser.add_argument(
            "--variations",
            default="1",
            help="of every task: so many of the split, for instance 3; or these very ones, as in 3,7-9 (default: 1)",
        )
        parser.add_argument("--skip", type=int, default=0, help="leave out so many of each split first (default: 0)")
        parser.add_argument(
            "--simplification",
            default="easy",
            help="simplifications of the simulator, by commas; none: the full game (default: easy)",
        )
        parser.add_argument("--limit-steps", type=int, default=LIMIT, help=f"steps of an episode (default: {LIMIT})")

    def require_installed(self) -> None:
        """ScienceWorld's package, and Java."""
        require_playable()

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per variation; the simulator is not needed for that."""
        limit = int(options.get("limit_steps", LIMIT))
        if limit < 1:
            raise ScienceWorldError(f"--limit-steps must be at least 1, got {limit}")
        skip, simplification = int(options.get("skip", 0)), options.get("simplification", "easy")
        simplification = "" if simplification == "none" else simplification
        return [
            task_of(info, variation, simplification, limit)
            for info in named(options.get("task", "all"))
            for split in options.get("split", "dev").split(",")
            for variation in chosen(info, split, str(options.get("variations", "1")), skip)
        ]

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        facts = task.facts
        return ScienceWorldEnvironment(facts["task"], facts["variation"], facts["simplification"])

    def simulator(self, environment: Environment) -> WorldModel:
        """The simulator itself: it brings a second game into the state and takes the action there."""
        assert isinstance(environment, ScienceWorldEnvironment)
        return ScienceSimulator(environment.task)


def task_of(info: TaskInfo, variation: int, simplification: str = "easy", limit: int = LIMIT) -> Task:
    """The task of playing a variation."""
    where = next(name for name in SPLITS if variation in info.split(name))
    mode = simplification or "no simplifications"
    return Task(
        id=f"{info.name} {variation}",
        level_set=f"scienceworld-{where}, {mode}",
        budget=Budget({"steps": limit}),
        digest=hashlib.sha256(f"1.2/{info.name}/{variation}/{simplification}".encode()).hexdigest()[:16],
        facts={
            "task": info.name,
            "variation": variation,
            "simplification": simplification,
            "group": info.group,
            "split": where,
            "gold_length": round(info.mean_length, 1),
        },
    )


PLUGIN = ScienceWorldPlugin()
