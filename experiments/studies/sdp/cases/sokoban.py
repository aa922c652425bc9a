"""Cases for the validator of Sokoban: play on development levels, judged by the board."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.errors import SokobanError
from envs.sokoban.generator import generate
from envs.sokoban.level_sets import load_set
from envs.sokoban.sdp import adapter
from envs.sokoban.simulator import is_solved, step
from envs.sokoban.state import ACTIONS, Level, State
from envs.sokoban.table import CostToGo
from experiments.studies.sdp.cases.case import Case, Chosen
from tape.protocols import Observation
from tape.protocols.predicates import Predicate
from tape.sdp.operators import Outcome, Validate
from tape.sdp.predicate_adapter import PredicateValidate, in_words
from tape.sdp.target import Required, Target

FAMILIES = ("plain", "wrong_object", "negation", "truncated", "several")
GOAL = Target("every box is on a goal", "goal", goal=True)
_MOVES = 30
"""Most moves of random and good play from a level's start."""


@cache
def _domains() -> tuple[SokobanDomain, ...]:
    """Development levels, which have one box, and levels with two that are not held out either."""
    drawn = [generate(seed, (6, 14), boxes=2, held_out=False) for seed in range(10)]
    return tuple(SokobanDomain(level) for level in [*load_set("hard-dev")[:20], *drawn])


def cases(seed: int, n: int) -> list[Case]:
    """``n`` cases, the families in turn."""
    rng = random.Random(f"sdp-cases:sokoban:{seed}")
    return [_case(rng, FAMILIES[i % len(FAMILIES)]) for i in range(n)]


def validators() -> dict[str, Validate]:
    """The one that the environment has."""
    return {"board (deterministic)": Chosen(lambda tail, _: PredicateValidate(_domains()[int(tail[0].field("level"))]))}


def _case(rng: random.Random, family: str) -> Case:
    number = rng.randrange(len(_domains()))
    domain = _domains()[number]
    level = domain.level
    before = _played(level, rng)
    action = _good(level, before) if rng.random() < 0.6 else rng.choice(ACTIONS)
    after = step(level, before, action) or before
    text = domain.observation(after).text
    outcome = Outcome(before, action, Observation(text, after), after, is_solved(level, after))
    if family == "truncated":
        outcome = _cut(domain, outcome, rng)
    wanted = [_requires(domain, family, before, after, rng, place) for place in range(_count(family, rng))]
    fields = (("level", str(number)),)
    targets = [Target(in_words(requires), "move", requires, fields) for requires in wanted]
    tail = (*targets, replace(GOAL, fields=fields))
    return Case(family, tail, outcome, _true(level, tail, after))


def _count(family: str, rng: random.Random) -> int:
    if family == "several":
        return rng.randint(2, 4)
    return rng.randint(0 if family == "plain" else 1, 2)


def _played(level: Level, rng: random.Random) -> State:
    """A state on the way of random and good moves, mixed."""
    state, good = level.start, rng.choice((0.0, 0.5, 0.9, 1.0))
    for _ in range(rng.randint(0, _MOVES)):
        action = _good(level, state) if rng.random() < good else rng.choice(ACTIONS)
        after = step(level, state, action) or state
        if is_solved(level, after):
            break
        state = after
    return state


@cache
def _table(level: Level) -> CostToGo:
    return CostToGo(level)


def _good(level: Level, state: State) -> str:
    """A move of a shortest solution; any move where there is none."""
    table = _table(level)
    left = table[state]
    for action in ACTIONS:
        after = step(level, state, action)
        if left and after is not None and table[after] == left - 1:
            return action
    return ACTIONS[state.player % len(ACTIONS)]


def _cut(domain: SokobanDomain, outcome: Outcome, rng: random.Random) -> Outcome:
    """The same with its text cut off, and what the projector makes of that; where it makes nothing, cut later."""
    text = outcome.observation.text
    for cut in range(rng.randrange(len(text)), len(text) + 1):
        shown = Observation(text[:cut])
        try:
            return replace(outcome, observation=shown, after=domain.project(shown))
        except SokobanError:
            continue
    raise AssertionError("the whole text can be projected")


def _requires(
    domain: SokobanDomain, family: str, before: State, after: State, rng: random.Random, place: int
) -> Required:
    """What a target requires: a board, or single places of a board, right or wrong."""
    here = after if rng.random() < (0.8 if family == "several" else 0.5) else _near(domain.level, before, rng)
    whole = _board(domain, here)
    if family == "wrong_object" and (place or rng.random() < 0.4):
        whole = _moved(whole, rng)
    elif rng.random() < 0.7 or (family == "several" and place):
        whole = tuple(sorted(rng.sample(whole, rng.randint(1, len(whole)))))
    if family == "negation" or (family == "truncated" and rng.random() < 0.5):
        flipped = rng.randrange(len(whole))
        return tuple((p, value != (i == flipped)) for i, (p, value) in enumerate(whole))
    return whole


def _near(level: Level, before: State, rng: random.Random) -> State:
    """Another state that one or two moves lead to."""
    state = before
    for _ in range(rng.randint(0, 2)):
        state = step(level, state, rng.choice(ACTIONS)) or state
    return state


def _board(domain: SokobanDomain, state: State) -> Required:
    return adapter(domain).along([state, state], ["U"])[0].requires


def _moved(requires: Required, rng: random.Random) -> Required:
    """The same predicates of one other cell, or box and player exchanged: right words, wrong object."""
    number = rng.randrange(len(requires))
    predicate, value = requires[number]
    if rng.random() < 0.5:
        other = Predicate("box_at" if predicate.name == "player_at" else "player_at", predicate.args)
    else:
        row, col = map(int, predicate.args[0].strip("()").split(","))
        there = rng.choice([(row, col + 1), (row + 1, col), (col, row), (row * 10 + 1, col)])
        other = Predicate(predicate.name, (f"({there[0]},{there[1]})",))
    return tuple(sorted({**dict(requires[:number] + requires[number + 1 :]), other: value}.items()))


def _true(level: Level, tail: Sequence[Target], state: State) -> int:
    """How many consecutive targets really hold, read off the board without the grounder."""
    for k, target in enumerate(tail):
        if target.goal:
            return k + is_solved(level, state)
        if not all(_is(level, predicate, state) is value for predicate, value in target.requires):
            return k
    return len(tail)


def _is(level: Level, predicate: Predicate, state: State) -> bool:
    cells = [state.player] if predicate.name == "player_at" else list(state.boxes)
    return predicate.args[0] in map(level.coordinate, cells)
