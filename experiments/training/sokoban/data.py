"""Training text for the bundled Sokoban LM, from our own simulator and cost-to-go tables.

A training sequence is one state followed by several queries; each query sees the state and itself
only, exactly as at inference. Only boards that are not held out are used.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from envs.sokoban.generator import random_board
from envs.sokoban.prompts import compact_text as compact
from envs.sokoban.state import ACTIONS, Level, State, is_held_out, is_push, step
from envs.sokoban.table import CostToGo
from experiments.training.packing import EOS, PAD, Batch, Sequence, collate

WORDS = [PAD, EOS, *compact.vocabulary()]
ID = {word: i for i, word in enumerate(WORDS)}
ACTION_IDS = [ID[a] for a in ACTIONS]


@dataclass(frozen=True)
class Kind:
    """One kind of board in the mix: its share of the batches and how it is drawn."""

    share: float
    rows: tuple[int, int]
    cols: tuple[int, int]
    boxes: int
    max_length: int


MIXES = {
    "nano": (Kind(0.9, (7, 7), (9, 9), 1, 20), Kind(0.1, (5, 10), (5, 10), 1, 24)),
    "mini": (Kind(0.85, (7, 7), (9, 9), 1, 20), Kind(0.15, (5, 10), (5, 10), 1, 24)),
    "base": (
        Kind(0.55, (7, 7), (9, 9), 1, 20),
        Kind(0.15, (5, 10), (5, 10), 1, 24),
        Kind(0.30, (5, 10), (5, 10), 2, 26),
    ),
}


def optimal_actions(level: Level, table: CostToGo, state: State) -> list[str]:
    """Actions that start a shortest solution."""
    here = table[state]
    if not here:
        return []
    texts = []
    for action in ACTIONS:
        after = step(level, state, action)
        if after is not None and table[after] == here - 1:
            texts.append(action)
    return texts


def optimal_plan(rng: random.Random, level: Level, table: CostToGo, state: State) -> tuple[list[str], list[int]]:
    """A shortest solution with random ties, and the mask of optimal actions at each of its steps."""
    plan, masks = [], []
    current: State = state
    while options := optimal_actions(level, table, current):
        action = rng.choice(options)
        plan.append(action)
        masks.append(sum(1 << ACTIONS.index(option) for option in options))
        after = step(level, current, action)
        assert after is not None
        current = after
    return plan, masks


def _interest(level: Level, state: State, action: str) -> float:
    """How often an action is asked about: blocked ones by inner walls and boxes most."""
    after = step(level, state, action)
    if after is not None:
        return 2.0 if after.boxes != state.boxes else 1.0
    target = level.neighbours[action][state.player]
    if target >= 0:
        return 4.0
    row, col = divmod(state.player, level.cols)
    edge = {"U": row == 1, "D": row == level.rows - 2, "L": col == 1, "R": col == level.cols - 2}
    return 1.0 if edge[action] else 4.0


def sequence(rng: random.Random, level: Level, table: CostToGo, state: State) -> Sequence:
    """One packed sequence for a state."""
    out = Sequence(ID)
    out.prefix(compact.state_words(level, state))
    left = table[state]
    if left:
        plan, masks = optimal_plan(rng, level, table, state)
        out.query(compact.plan_query(left + rng.choice((0, 1, 2, 2, 3, 4, 8))), plan, masks)
        if rng.random() < 0.5:
            out.query(compact.act_query(left + rng.choice((0, 1, 2, 2, 3, 4))), _thought(level, state, plan[0]))
        if rng.random() < 0.12:
            hint = plan
            if rng.random() < 0.25:
                hint = [rng.choice(ACTIONS) for _ in range(rng.randint(1, 8))]
            follow = hint[0] if hint[0] in optimal_actions(level, table, state) else plan[0]
            out.query(compact.act_query(left + rng.choice((0, 1, 2, 2, 3)), hint), _thought(level, state, follow))
    weights = [_interest(level, state, a) for a in ACTIONS]
    asked = {rng.choices(ACTIONS, weights)[0], rng.choices(ACTIONS, weights)[0]}
    for action in sorted(asked):
        after = step(level, state, action)
        out.query(compact.next_query(action), compact.outcome_words(level, after))
    if rng.random() < 0.5:
        score = "hopeless" if left is None else "solved" if left == 0 else "open"
        out.query(compact.score_query(), [score])
    if rng.random() < 0.5:
        out.query(compact.left_query(), ["dead" if left is None else compact.number(left)])
    return out


def _thought(level: Level, state: State, action: str) -> list[str]:
    return ["next:", "push" if is_push(level, state, action) else "move", action, "action:", action]


def draw_states(rng: random.Random, level: Level, table: CostToGo, count: int, max_length: int) -> list[State]:
    """States of a board: lengths spread evenly, half beside an inner wall, some hopeless, some solved."""
    values = table.distance
    by_length = [np.flatnonzero(values == d) for d in range(min(int(values.max()), max_length) + 1)]
    inner = set(level.inner_walls)
    states: list[State] = []
    for _ in range(count):
        roll = rng.random()
        state: State | None = None
        for attempt in range(4):
            if roll < 0.10:
                flat = rng.randrange(len(values))
                if values[flat] >= 0 or not table.is_state(flat):
                    continue
            elif roll < 0.15:
                flat = int(rng.choice(by_length[0]))
            else:
                pool = by_length[rng.randint(1, len(by_length) - 1)] if len(by_length) > 1 else by_length[0]
                flat = int(rng.choice(pool))
            state = table.state(flat)
            cell = state.player
            if attempt or rng.random() < 0.5 or inner & {cell - 1, cell + 1, cell - level.cols, cell + level.cols}:
                break
        if state is not None:
            states.append(state)
    return states


def batch(seed: int, size: str, count: int, index: int) -> Batch:
    """A batch of states of boards, see :class:`experiments.training.families.Family`."""
    mix = MIXES[size]
    rng = random.Random(f"lm-data:{seed}:{index}")
    kind = rng.choices(mix, [k.share for k in mix])[0]
    per_board = 8 if kind.boxes == 1 else 32
    rows: list[Sequence] = []
    while len(rows) < count:
        level = random_board(
            rng, rng.randint(*kind.rows), rng.randint(*kind.cols), kind.boxes, rng.choice((0.05, 0.08, 0.08, 0.12))
        )
        if is_held_out(level):
            continue
        table = CostToGo(level)
        rows += [sequence(rng, level, table, s) for s in draw_states(rng, level, table, per_board, kind.max_length)]
    return collate(rows[:count], ID[PAD])
