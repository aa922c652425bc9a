"""Makes the shipped sets of games: ``python -m envs.alfworld.game.make_games [FOLDER]``.

Ten games of each of the six task types, from sparsely furnished to full: ``packaged`` for evaluation and nothing else,
``dev`` for developing agents. The seeds are names, so the files always come out the same.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import TASK_TYPES
from envs.alfworld.game.house import House, dump_house

SETS = ("packaged", "dev")
PER_TASK = 10


def make_set(name: str) -> dict[str, House]:
    """Make the games of a set."""
    return {
        f"{name}-{task}-{i}": draw_house(random.Random(f"alfworld:{name}:{task}:{i}"), task, (i + 1) / PER_TASK)
        for task in TASK_TYPES
        for i in range(PER_TASK)
    }


def set_text(name: str) -> str:
    """The text of a set's file."""
    lines = ",\n".join(dump_house(game, house) for game, house in make_set(name).items())
    return f"[\n{lines}\n]\n"


def main(arguments: list[str]) -> None:
    """Write one file per set into the folder given, or the package's own."""
    folder = Path(arguments[0]) if arguments else Path(__file__).parents[1] / "data"
    for name in SETS:
        (folder / f"{name}.json").write_text(set_text(name), encoding="utf-8")
        print(f"{folder / name}.json: {len(make_set(name))} games")


if __name__ == "__main__":
    main(sys.argv[1:])
