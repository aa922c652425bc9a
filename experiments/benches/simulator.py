"""Steps per second of the simulator beside gym-sokoban's, as ratios from one interleaved run.

``python -m experiments.benches.simulator [--steps 20000] [--repeats 5]``; every repeat times each of the
competitors on the same levels and moves, so a busy machine slows them all alike.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from statistics import median
from time import perf_counter

from envs.sokoban.generator import generate
from envs.sokoban.gym_sokoban_bridge import GymSokobanBridge
from envs.sokoban.simulator import step
from envs.sokoban.state import ACTIONS, Level

Run = Callable[[list[Level], list[str]], float]


def ours(levels: list[Level], moves: list[str]) -> float:
    """Play the moves on every level with the simulator; the seconds that took."""
    began = perf_counter()
    for level in levels:
        state = level.start
        for move in moves:
            state = step(level, state, move) or state
    return perf_counter() - began


def theirs(mode: str | None) -> Run:
    """Play the moves with gym-sokoban's own step, drawing in the given mode (None: not at all)."""

    def run(levels: list[Level], moves: list[str]) -> float:
        envs = [GymSokobanBridge(level, mode).env for level in levels]
        numbers = [ACTIONS.index(move) + 1 for move in moves]
        shown = mode or "tiny_rgb_array"
        began = perf_counter()
        for env in envs:
            for number in numbers:
                env.step(number, observation_mode=shown)
        return perf_counter() - began

    return run


COMPETITORS: dict[str, tuple[Run, int]] = {
    # Name: how to run it, and by how much its number of moves is divided to keep the run short.
    "simulator": (ours, 1),
    "gym-sokoban, no drawing": (theirs(None), 4),
    "gym-sokoban, tiny_rgb_array": (theirs("tiny_rgb_array"), 10),
    "gym-sokoban, rgb_array (default)": (theirs("rgb_array"), 200),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benches.simulator", description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000, help="moves per level and repeat of the simulator")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    levels = [generate(seed, (5, 12), boxes=boxes, held_out=False) for seed, boxes in enumerate((1, 1, 2))]
    rng = random.Random(0)
    moves = [rng.choice(ACTIONS) for _ in range(arguments.steps)]
    rates: dict[str, list[float]] = {name: [] for name in COMPETITORS}
    for _ in range(arguments.repeats):
        for name, (run, divisor) in COMPETITORS.items():
            part = moves[: max(1, len(moves) // divisor)]
            rates[name].append(len(part) * len(levels) / run(levels, part))
    print(f"{len(levels)} levels of 7x9, {len(moves)} random moves each, median of {arguments.repeats} repeats")
    for name, values in rates.items():
        ratios = sorted(own / other for own, other in zip(rates["simulator"], values, strict=True))
        note = f"{median(ratios):8.1f} x slower ({ratios[0]:.1f} to {ratios[-1]:.1f})" if name != "simulator" else ""
        print(f"{name:34s} {median(values):12,.0f} steps/s  n={len(values)}  {note}")


if __name__ == "__main__":
    main()
