"""Plays random schedules: ``python -m experiments.effects simulate --schedules 100000``.

``--seed N --schedules 1`` plays one again; ``--agents`` plays whole agents with a scripted model.
"""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from experiments.effects.campaign import tell
from experiments.effects.schedule import Schedule
from experiments.effects.whole import WholeSchedule

BATCH = 250
"""Schedules that a process plays in one go."""


def played(seeds: Sequence[int], make: Callable[[int], Schedule] = Schedule) -> Counter[str]:
    """Play schedules; what became of them together."""
    total = Counter[str]()
    for seed in seeds:
        try:
            total += make(seed).play()
        except BaseException as error:
            again = f"simulate --schedules 1 --seed {seed}" + " --agents" * (make is not Schedule)
            error.add_note(f"play it again: python -m experiments.effects {again}")
            raise
    return total


def main(argv: Sequence[str] | None = None) -> int:
    """Play schedules and print what became of them."""
    parser = argparse.ArgumentParser(prog="python -m experiments.effects simulate", description=__doc__)
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--agents", action="store_true", help="whole agents with a scripted model")
    parser.add_argument("--out", type=Path, help="a JSON file")
    args = parser.parse_args(argv)
    make = WholeSchedule if args.agents else Schedule
    seeds = range(args.seed, args.seed + args.schedules)
    batches = [seeds[first : first + BATCH] for first in range(0, len(seeds), BATCH)]
    with ProcessPoolExecutor(args.jobs, initializer=logging.disable) as pool:
        total = sum(pool.map(partial(played, make=make), batches), Counter[str]())
    shares = {f"share spent{when}": total[f"spent{when}"] / (total[f"booked{when}"] or 1) for when in (" before", "")}
    tell({**dict(sorted(total.items())), **shares}, args.out)
    return 0
