"""Makes the shipped level sets: ``python -m envs.sokoban.make_levels [FOLDER]``.

Ten levels a set, 7x9 with one box, on boards reserved for evaluation, no board (or mirror image of
one) twice in any of the sets. The seeds are fixed, so the files always come out the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

from envs.sokoban import xsb
from envs.sokoban.generator import generate
from envs.sokoban.level import Level
from envs.sokoban.level_sets import optimal_length

LENGTHS = {"easy": (6, 6), "hard": (10, 10), "xhard": (14, 18)}
"""Lowest and highest T* of each set."""

SIZE = 10
FIRST_SEED = 1000


def make_sets() -> dict[str, list[Level]]:
    """Make the levels of every set, titled ``NAME-NN T*=N``."""
    sets: dict[str, list[Level]] = {}
    boards: set[str] = set()
    for name, lengths in LENGTHS.items():
        levels: list[Level] = []
        seed = FIRST_SEED
        while len(levels) < SIZE:
            level = generate(seed, lengths, held_out=True)
            seed += 1
            if level.board_hash in boards:
                continue
            boards.add(level.board_hash)
            title = f"{name}-{len(levels):02d} T*={optimal_length(level)}"
            levels.append(level.with_start(level.start, title))
        sets[name] = levels
    return sets


def main(arguments: list[str]) -> None:
    """Write one file per set into the folder given, or the package's own."""
    folder = Path(arguments[0]) if arguments else Path(__file__).parent / "levels"
    for name, levels in make_sets().items():
        xsb.write(folder / f"{name}.xsb", levels)
        print(f"{folder / name}.xsb: {len(levels)} levels")


if __name__ == "__main__":
    main(sys.argv[1:])
