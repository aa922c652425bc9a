"""Random walks on the real simulator: what is declared of every command beside what it then shows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from envs.scienceworld.commands import read_command
from envs.scienceworld.engine import ScienceGame
from envs.scienceworld.environment import ScienceWorldEnvironment
from envs.scienceworld.reading import refused
from envs.scienceworld.state import ScienceState
from tape.protocols import Action
from tape.protocols.predicates import Predicate

GOLD = 0.6
"""The share of steps that come from the gold path; the others are drawn among the simulator's valid actions."""


class Contradiction(NamedTuple):
    """A declaration beside what the simulator shows."""

    task: str
    variation: int
    step: int
    command: Action
    what: str
    predicate: Predicate
    declared: bool
    answer: str


def walk(task: str, variation: int, steps: int, seed: int) -> Iterator[tuple[int, list[Contradiction]]]:
    """The contradictions of each step of a walk."""
    rng = random.Random(f"{seed}/{task}/{variation}")
    game = ScienceGame(task, variation, "easy", gold=True)
    gold = game.gold()
    game.close()
    env = ScienceWorldEnvironment(task, variation)
    try:
        env.reset(0)
        for step in range(steps):
            before = env.state
            if before.done:
                return
            command = gold.pop(0) if gold and rng.random() < GOLD else _drawn(env, rng)
            env.step(command)
            pairs = contradictions(env, before, command, env.state)
            where = (task, variation, step, command)
            answer = " ".join(env.state.observation.split())
            yield step, [Contradiction(*where, *pair, answer) for pair in pairs]
    finally:
        env.close()


def _drawn(env: ScienceWorldEnvironment, rng: random.Random) -> Action:
    """A valid action, its verb drawn first: most texts connect, mix or pour."""
    if env.state.choices:
        return str(rng.randrange(len(env.state.choices)))
    by_verb: dict[str, list[Action]] = {}
    for action in env.game.valid_actions():
        command = read_command(action)
        by_verb.setdefault(command.verb if command else "other", []).append(action)
    by_verb.pop("focus on", None)  # a wrong one ends the task
    return rng.choice(by_verb[rng.choice(sorted(by_verb))])


def contradictions(
    env: ScienceWorldEnvironment, before: ScienceState, command: Action, after: ScienceState
) -> list[tuple[str, Predicate, bool]]:
    """Effects that are declared where all preconditions hold and seen not to hold; needs of what was done anyhow."""
    domain = env.domain
    at, then = domain.ground(before), domain.ground(after)
    needs = domain.preconditions(command)
    if all(at.get(p) is value for p, value in needs.items()):
        declared = domain.effects(command, at)
        return [("effect", p, v) for p, v in declared.items() if v is not None and then.get(p) is (not v)]
    # What lives there moves, so a place may change though the command was refused.
    if after.place == before.place or after.rejected or refused(after.observation):
        return []
    return [("need", p, v) for p, v in needs.items() if at.get(p) is (not v)]
