"""Gold paths with what they show: the source of the simulated language model, and of nothing else."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from envs.scienceworld import changes
from envs.scienceworld.engine import ScienceGame
from envs.scienceworld.environment import ScienceWorldEnvironment
from envs.scienceworld.state import ScienceState
from tape.methods.sdp.target import Target
from tape.protocols import Action


@dataclass(frozen=True)
class GoldStep:
    """One step of a gold path.

    Attributes:
        action: The command.
        before: What is known before it.
        after: What is known after it.
        target: What it brings about; None where nothing changes that shows.
    """

    action: Action
    before: ScienceState
    after: ScienceState
    target: Target | None


@functools.lru_cache(maxsize=64)
def gold_path(task: str, variation: int, simplification: str) -> tuple[GoldStep, ...]:
    """The simulator's gold path, played until the task is over.

    Raises:
        ScienceWorldError: There is no such task or variation.
    """
    game = ScienceGame(task, variation, simplification, gold=True)
    actions = game.gold()
    game.close()
    # Played as agents play it: listing valid actions on the way moves the simulator's chance on.
    env = ScienceWorldEnvironment(task, variation, simplification)
    try:
        env.reset(0)
        steps: list[GoldStep] = []
        for action in actions:
            before = env.state
            env.step(action)
            steps.append(GoldStep(action, before, env.state, changes.brought_about(before, env.state)))
            if env.ended():
                break
    finally:
        env.close()
    return tuple(steps)


def position(steps: tuple[GoldStep, ...], history: tuple[Action, ...], dropped: int = 0) -> int:
    """How many steps of a gold path a history has behind it: where its longest matched subsequence ends.

    Steps that change nothing that shows may be left out of the match, others not.

    Args:
        steps: The gold path.
        history: What was done, without what the world refused.
        dropped: How many earlier actions are not in it.
    """
    starts = range(min(dropped, len(steps)) + 1) if dropped else (0,)
    ends = [(_matched(steps, history, start), -abs(start - dropped)) for start in starts]
    return max(ends, key=lambda end: (end[0][0], end[1]))[0][1]


def _matched(steps: tuple[GoldStep, ...], history: tuple[Action, ...], start: int) -> tuple[int, int]:
    """How many actions of a history match the path from a step on, in order; and where that ends."""
    at, count = start, 0
    for action in history:
        for ahead in range(at, len(steps)):
            if steps[ahead].action == action:
                at, count = ahead + 1, count + 1
                break
            if steps[ahead].target is not None:
                break
    return count, at


def predicates(steps: tuple[GoldStep, ...], start: int) -> list[tuple[int, Target]]:
    """What is to become true from a step on, one observable change each, and the step that brings it about.

    Of a way through several rooms only its end counts, and of a series of measurements only the last.
    """
    numbers: list[tuple[int, Target]] = []
    for index, step in enumerate(steps[start:], start):
        if step.target is None:
            continue
        if numbers and step.target.kind == numbers[-1][1].kind and step.target.kind in ("navigate", "measure"):
            numbers.pop()
        numbers.append((index, step.target))
    return numbers
