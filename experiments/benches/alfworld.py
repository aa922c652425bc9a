"""How fast ALFWorld tasks are played: the accelerated engine against TextWorld as it is, in one run.

``python -m experiments.benches.alfworld`` plays the same random commands on both and prints a table. It is for running
by hand: the original takes minutes for what the other does in seconds. What both say is compared at every step.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from envs.alfworld.errors import GameError
from envs.alfworld.game.games import PACKAGED, SPLITS, Game, load_games
from envs.alfworld.game.textworld_game import GameView, TextWorldGame


@dataclass
class Played:
    """What one engine did.

    Attributes:
        starts: Seconds that each game took to load and reset.
        stepping: Seconds that all steps took.
        views: What it said, of the game at hand.
    """

    starts: list[float] = field(default_factory=list)
    stepping: float = 0.0
    views: list[GameView] = field(default_factory=list)


def play(game: Game, commands: Sequence[str] | None, steps: int, played: Played, *, fast: bool) -> list[str]:
    """Play the given commands, or draw them; returns them."""
    rng = random.Random(f"bench:{game.name}")
    data = game.data()
    begun = time.perf_counter()
    engine = TextWorldGame(data, fast=fast)
    played.views = [engine.reset()]
    played.starts.append(time.perf_counter() - begun)
    given: list[str] = []
    for number in range(steps):
        command = rng.choice(played.views[-1].admissible) if commands is None else commands[number]
        given.append(command)
        begun = time.perf_counter()
        played.views.append(engine.step(command))
        played.stepping += time.perf_counter() - begun
    engine.close()
    return given


def compare(games: Sequence[Game], steps: int) -> str:
    """Play all games on both engines; the table.

    Raises:
        GameError: They differ.
    """
    ours, theirs = Played(), Played()
    for game in games:
        commands = play(game, None, steps, ours, fast=True)
        play(game, commands, steps, theirs, fast=False)
        if ours.views != theirs.views:
            raise GameError(f"{game.name}: the engines differ")
    total = steps * len(games)
    lines = [f"{len(games)} games, {total} steps on each engine, all answers equal", ""]
    lines.append(f"{'engine':<14}{'steps/s':>10}{'start, s':>12}")
    for name, played in (("TextWorld", theirs), ("accelerated", ours)):
        lines.append(f"{name:<14}{total / played.stepping:>10.1f}{sum(played.starts) / len(played.starts):>12.3f}")
    starts = sum(theirs.starts) / sum(ours.starts)
    lines.append(f"{'ratio':<14}{theirs.stepping / ours.stepping:>10.1f}{starts:>12.1f}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benches.alfworld",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--games", default="packaged", choices=[*PACKAGED, *SPLITS], help="set of games")
    parser.add_argument("--data", help="folder of official games")
    parser.add_argument("--limit", type=int, default=30, help="most games (default: 30)")
    parser.add_argument("--steps", type=int, default=50, help="steps in each (default: 50)")
    options = parser.parse_args(arguments)
    print(compare(load_games(options.games, options.data, options.limit), options.steps))


if __name__ == "__main__":
    main(sys.argv[1:])
