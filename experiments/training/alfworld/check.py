"""Draws every household of a training run again and reports whether any of them is shipped as a game.

``python -m experiments.training.alfworld.check --steps 1900``
"""

from __future__ import annotations

import argparse
import sys

from envs.alfworld.game.games import held_out
from experiments.training.alfworld.data import games
from experiments.training.train import SIZES


def main() -> int:
    """Compare by hash; exit code 1 if a shipped game was trained on."""
    parser = argparse.ArgumentParser(prog="python -m experiments.training.alfworld.check", description=__doc__)
    parser.add_argument("--steps", type=int, default=SIZES["household"]["steps"])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    shipped, count, index = held_out(), 0, 0
    for house in games(args.seed, args.batch, args.steps):
        count += 1
        index += house.digest() in shipped
    print(f"{count:,} games trained on, {len(shipped)} shipped games, {index} in both")
    return int(index > 0)


if __name__ == "__main__":
    sys.exit(main())
