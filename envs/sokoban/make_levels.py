"""Makes the shipped level sets: ``python -m envs.sokoban.make_levels [FOLDER]``.

7x9 with one box, on boards reserved for evaluation, no board (or mirror image of one) twice in any of
the sets: ``easy``, ``hard`` and ``xhard`` are ten levels each, the paper's size; ``hard-dev`` is for
developing agents, ``hard-test``, ``easy-fresh`` and ``hard-fresh`` (:data:`envs.sokoban.level_sets.TEST_SETS`) for
comparing them and for nothing else. The seeds are fixed, so the files always come out the same.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from envs.sokoban import xsb
from envs.sokoban.generator import generate
from envs.sokoban.level_sets import optimal_length
from envs.sokoban.state import Level


class Kind(NamedTuple):
    """What a set is made of: lowest and highest T*, number of levels, first seed tried."""

    lengths: tuple[int, int]
    size: int = 10
    first_seed: int = 1000


KINDS = {
    "easy": Kind((6, 6)),
    "hard": Kind((10, 10)),
    "xhard": Kind((14, 18)),
    "hard-dev": Kind((10, 10), 100, 20_000),
    "hard-test": Kind((10, 10), 200, 50_000),
    "easy-fresh": Kind((6, 6), 200, 1_100_000),
    "hard-fresh": Kind((10, 10), 200, 1_700_000),
}


def make_sets(kinds: Mapping[str, Kind] = KINDS) -> dict[str, list[Level]]:
    """Make the levels of sets, titled ``NAME-NN T*=N``; a board is in one of them alone."""
    sets: dict[str, list[Level]] = {}
    boards: set[str] = set()
    for name, kind in kinds.items():
        levels: list[Level] = []
        digits = len(str(kind.size - 1))
        seed = kind.first_seed
        while len(levels) < kind.size:
            level = generate(seed, kind.lengths, held_out=True)
            seed += 1
            if level.board_hash in boards:
                continue
            boards.add(level.board_hash)
            title = f"{name}-{len(levels):0{max(2, digits)}d} T*={optimal_length(level)}"
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
