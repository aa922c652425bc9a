"""Held-out accuracy of every role of a bundled LM: ``experiments.training.ship`` asks for it.

States come from held-out boards only (their hashes never occur in training). Everything is asked
through the same prompts, constraints and decoding loop as in a run, greedily.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.generator import random_board
from envs.sokoban.prompts.compact import CompactFormat
from envs.sokoban.prompts.compact_text import left_query, text
from envs.sokoban.simulator import is_solved, replay, step
from envs.sokoban.state import ACTIONS, Level, State, is_held_out
from envs.sokoban.table import CostToGo
from experiments.training.sokoban.data import draw_states, optimal_actions
from tape.errors import InvalidOutputError
from tape.lm.base import LanguageModel, Regex, Request
from tape.lm.bundled import load_folder
from tape.statistics import wilson

KINDS = {"7x9, one box": (7, 9, 1, 18), "10x10, one box": (10, 10, 1, 22), "8x8, two boxes": (8, 8, 2, 22)}
KINDS["10x10, two boxes"] = (10, 10, 2, 26)


def samples(kind: str, count: int, seed: int) -> list[tuple[Level, CostToGo, State]]:
    """Held-out states of one kind of board, at most four per board."""
    rows, cols, boxes, longest = KINDS[kind]
    rng = random.Random(f"eval-lm:{kind}:{seed}")
    found: list[tuple[Level, CostToGo, State]] = []
    while len(found) < count:
        level = random_board(rng, rows, cols, boxes)
        if is_held_out(level):
            table = CostToGo(level)
            found += [(level, table, state) for state in draw_states(rng, level, table, 4, longest)]
    return found[:count]


class Tally:
    """Correct answers per role."""

    def __init__(self) -> None:
        self.right: dict[str, int] = defaultdict(int)
        self.asked: dict[str, int] = defaultdict(int)

    def add(self, role: str, right: bool) -> None:
        """Count one answer."""
        self.asked[role] += 1
        self.right[role] += right

    def report(self) -> dict[str, dict[str, float | int | list[float]]]:
        """Accuracy, interval and n per role."""
        return {
            role: {
                "accuracy": round(self.right[role] / n, 4),
                "ci95": [round(x, 4) for x in wilson(self.right[role], n)],
                "n": n,
            }
            for role, n in sorted(self.asked.items())
        }


async def evaluate(lm: LanguageModel, kind: str, count: int, seed: int = 0) -> Tally:
    """Ask every role about held-out states."""
    tally = Tally()
    drawn = samples(kind, count, seed)
    prompt_formats = [CompactFormat(SokobanDomain(level)) for level, _, _ in drawn]
    alive = [(d, *item) for d, item in zip(prompt_formats, drawn, strict=True) if item[1][item[2]]]
    plans = await lm.generate([d.plan_request(s, {"steps": (t[s] or 0) + 2}) for d, _, t, s in alive])
    for (d, level, table, state), completion in zip(alive, plans, strict=True):
        length = table[state] or 0
        actions = d.read_plan(state, completion.texts[0]).actions[: length + 2]
        solved = any(is_solved(level, after) for after in replay(level, actions, state))
        tally.add("plan: solves within the shortest + 2", solved)
        bucket = "1-6" if length <= 6 else "7-12" if length <= 12 else "13+"
        tally.add(f"plan, shortest {bucket}", solved)
    acts = await lm.generate([d.act_request(s, {"steps": (t[s] or 0) + 2}, None, ()) for d, _, t, s in alive])
    for (d, level, table, state), completion in zip(alive, acts, strict=True):
        try:
            _, action = d.read_act(state, completion.texts[0])
        except InvalidOutputError:
            action = ""
        tally.add("act: action is optimal", action in optimal_actions(level, table, state))
    everywhere = list(zip(prompt_formats, drawn, strict=True))
    asked = [(d, level, state, action) for d, (level, _, state) in everywhere for action in ACTIONS]
    outcomes = await lm.generate([d.next_request(state, action) for d, _, state, action in asked])
    for (d, level, state, action), completion in zip(asked, outcomes, strict=True):
        truth = step(level, state, action)
        try:
            right = d.read_next(state, completion.texts[0]) == truth
        except InvalidOutputError:
            right = False
        tally.add(f"next: {_situation(level, state, action)}", right)
        tally.add("next: all", right)
    scores = await lm.score_options([d.score_request(s)[0] for d, (_, _, s) in everywhere])
    for (d, (_, table, state)), (weights, _) in zip(everywhere, scores, strict=True):
        _, values = d.score_request(state)
        left = table[state]
        truth_value = -1.0 if left is None else 1.0 if left == 0 else 0.0
        best = max(range(len(weights)), key=lambda i, w=weights: w[i])  # type: ignore[misc]
        name = {-1.0: "hopeless", 0.0: "open", 1.0: "solved"}[truth_value]
        tally.add(f"score: {name}", list(values.values())[best] == truth_value)
    lefts = await lm.generate([_left_request(d, s) for d, (_, _, s) in everywhere])
    for (_, (_, table, state)), completion in zip(everywhere, lefts, strict=True):
        left = table[state]
        tally.add("left: exact", completion.texts[0].strip() == ("dead" if left is None else str(left)))
    return tally


def _left_request(prompt_format: CompactFormat, state: State) -> Request:
    base, _ = prompt_format.score_request(state)
    assert isinstance(base.prompt, str)
    prompt = base.prompt.removesuffix(text(["<score>", "->"])) + text(left_query())
    return replace(base, prompt=prompt, constraint=Regex(r" dead| [0-9]+"), role="left")


def _situation(level: Level, state: State, action: str) -> str:
    after = step(level, state, action)
    if after is not None:
        return "push" if after.boxes != state.boxes else "free move"
    target = level.neighbours[action][state.player]
    if target >= 0:
        return "blocked push"
    dr, dc = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}[action]
    wall = state.player + dr * level.cols + dc
    return "bump, inner wall" if wall in level.inner_walls else "bump, border"


def report(folder: Path, count: int, kinds: Sequence[str]) -> dict[str, object]:
    """Evaluate one checkpoint on the kinds of boards."""
    lm = load_folder(folder, f"hf:{folder.name}")
    return {kind: asyncio.run(evaluate(lm, kind, count)).report() for kind in kinds}
