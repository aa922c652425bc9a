"""ALFWorld games for the command line and the runner."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from envs.alfworld.domain import RulesWorldModel
from envs.alfworld.environment import MODES, AlfworldEnvironment
from envs.alfworld.errors import AlfworldError
from envs.alfworld.game.games import PACKAGED, SPLITS, AlfworldGame, load_games
from envs.alfworld.game.oracle import shortest
from envs.alfworld.game.textworld_game import require_installed
from envs.alfworld.noisy_environment import NoisyEnvironment
from tape.budget import Budget
from tape.protocols import Environment, EnvironmentPlugin, Task, WorldModel
from tape.seeds import derive

SLACK = {"tight": 2, "loose": 10}
"""Commands beyond the fewest that solve the game."""

CUSTOMARY = 50
"""The usual cap of an episode on ALFWorld (AEC section 4.1)."""


class AlfworldPlugin(EnvironmentPlugin):
    """Games of ALFWorld."""

    name = "alfworld"
    model = "bundled:household"
    reads = False
    replayable = True
    prompt_version: Mapping[str, str] = MappingProxyType({"household": "1", "chat": "2"})
    roles = ("plan", "rollout", "next", "score", "act")
    cases = "envs.alfworld.role_cases"

    def add_arguments(self, parser: Any) -> None:
        """``--games``, ``--data``, ``--count`` and how they are played."""
        parser.add_argument(
            "--games",
            choices=(*PACKAGED, *SPLITS),
            help="a set of games (default: packaged, with --data valid_unseen)",
        )
        parser.add_argument("--data", help="a folder of official games (default: the variable ALFWORLD_DATA)")
        parser.add_argument("--count", type=int, help="most games (default: all of the set)")
        parser.add_argument(
            "--observation",
            choices=MODES,
            default="partial",
            help="full: the first observation lists what is in every receptacle (default: partial, the original game)",
        )
        parser.add_argument(
            "--commands",
            choices=("hidden", "shown"),
            default="hidden",
            help="shown: every agent sees which commands the engine admits (default: hidden)",
        )
        parser.add_argument(
            "--tightness",
            choices=(*SLACK, "customary"),
            default="customary",
            help="commands allowed: the fewest possible + 2 (tight) or + 10 (loose), or 50 (default: customary)",
        )
        parser.add_argument(
            "--query-errors",
            type=float,
            default=0.0,
            metavar="RATE",
            help="simulated: how often what comes to light after the start is reported wrongly, to test theorem 3.4 of "
            "AEC (default: 0)",
        )

    def require_installed(self) -> None:
        """TextWorld, which plays the games."""
        require_installed()

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per game."""
        data = options.get("data")
        split = options.get("games") or ("valid_unseen" if data else "packaged")
        if data and split in PACKAGED:
            raise AlfworldError(f"--data is for official games, and {split} ships with the package: give one")
        games = load_games(split, data, options.get("count"))
        observation, tightness = options.get("observation", "partial"), options.get("tightness", "customary")
        shown = options.get("commands", "hidden") == "shown"
        return [
            task_of(game, observation, tightness, shown=shown, errors=options.get("query_errors", 0.0))
            for game in games
        ]

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        facts = task.facts
        environment = AlfworldEnvironment(facts["game"], facts["observation"], shown=facts["shown"])
        rate = facts["query_errors"]
        if not rate:
            return environment
        return NoisyEnvironment(environment, rate, derive(0, task.id, rate))

    def simulator(self, environment: Environment) -> WorldModel:
        """The rules of the game on what is known and assumed; it knows no more of the house than the agent."""
        environment = getattr(environment, "inner", environment)  # behind simulated errors of its queries
        assert isinstance(environment, AlfworldEnvironment)
        return RulesWorldModel(environment.domain)


def task_of(
    game: AlfworldGame,
    observation: str = "partial",
    tightness: str = "customary",
    *,
    shown: bool = False,
    errors: float = 0.0,
) -> Task:
    """The task of playing a game; the arguments are the environment's options."""
    fewest = len(shortest(game.house))
    steps = CUSTOMARY if tightness == "customary" else fewest + SLACK[tightness]
    noise = f", simulated query errors {errors:g}" if errors else ""
    mode = f"{observation}{', commands shown' if shown else ''}{noise}"
    return Task(
        id=game.name,
        level_set=f"{game.split}, {mode}, {tightness}",
        budget=Budget({"steps": steps}),
        digest=f"{game.house.digest()[:16]}-{observation}-{shown:d}{noise.replace(', ', '-')}",
        facts={
            "game": game,
            "observation": observation,
            "shown": shown,
            "query_errors": errors,
            "optimal_length": fewest,
            "task": game.house.goal.task,
        },
    )


PLUGIN = AlfworldPlugin()
