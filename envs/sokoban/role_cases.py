"""Small boards with known answers for every role, from boards that are not held out for evaluation."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.generator import generate
from envs.sokoban.oracle import oracle_for
from envs.sokoban.prompts import chat_text, prompt_format
from envs.sokoban.state import ACTIONS, Level, State, is_push, is_solved, step
from tape.protocols import Plan
from tape.protocols.prompt_format import PromptFormat
from tape.protocols.role_cases import (
    JudgedAnswer,
    RoleCase,
    chat_only,
    choice_case,
    judged_act,
    judged_by,
    judged_plan,
)
from tape.seeds import derive

SLACK = 2
"""Moves that a plan may take beyond the fewest."""

_LENGTHS = (3, 8)
"""Moves that the boards take."""

_ROLLOUT = 4
"""Moves of a rollout."""


def role_cases(prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
    """See :meth:`tape.protocols.EnvironmentPlugin.role_cases`."""
    chat_only(prompts)
    make: Callable[[Level, PromptFormat, random.Random, str], RoleCase] = {
        "plan": _plan, "act": _act, "next": _next, "rollout": _rollout, "score": _score,
    }[role]  # fmt: skip
    cases = []
    for number in range(count):
        drawn = derive(seed, "role_cases", "sokoban", role, number)
        rng = random.Random(drawn)
        level = generate(drawn % 10**9, _LENGTHS, rows=6, cols=7, held_out=False)
        cases.append(make(level, prompt_format(SokobanDomain(level), prompts), rng, f"{seed}-{number}"))
    return cases


def _solution(level: Level, state: State) -> list[str]:
    moves = oracle_for(level).solve(state)
    assert moves, "generated boards can be solved, and are not solved yet"
    return moves


def _words(actions: Sequence[str]) -> list[str]:
    return [chat_text.WORDS[action] for action in actions]


def _plan(level: Level, form: PromptFormat, rng: random.Random, name: str) -> RoleCase:
    del rng
    best = _solution(level, level.start)
    steps = len(best) + SLACK
    judge = judged_plan(form, level.start, lambda plan: _solves(level, plan, steps))
    answer = json.dumps({"thought": "I go behind the box and push it to the goal.", "actions": _words(best)})
    return RoleCase("plan", name, form.plan_request(level.start, {"steps": steps}), judge, answer)


def _solves(level: Level, plan: Plan, steps: int) -> bool:
    here = level.start
    for action in plan.actions[:steps]:
        here = step(level, here, action) or here
        if is_solved(level, here):
            return True
    return False


def _act(level: Level, form: PromptFormat, rng: random.Random, name: str) -> RoleCase:
    del rng
    best = _solution(level, level.start)
    oracle = oracle_for(level)

    def good(action: str) -> bool:
        after = step(level, level.start, action)
        return after is not None and oracle.viable(after, len(best) - 1)

    request = form.act_request(level.start, {"steps": len(best)}, None, ())
    answer = json.dumps({"thought": "This is the way to the box.", "action": chat_text.WORDS[best[0]]})
    chance = sum(map(good, ACTIONS)) / len(ACTIONS)
    return RoleCase("act", name, request, judged_act(form, level.start, good), answer, chance)


def _somewhere(level: Level, rng: random.Random) -> State:
    """A state on the way to the goal."""
    here, moves = level.start, _solution(level, level.start)
    for action in moves[: rng.randrange(len(moves))]:
        here = step(level, here, action) or here
    return here


def _next(level: Level, form: PromptFormat, rng: random.Random, name: str) -> RoleCase:
    wanted = rng.choice(("walk", "walk", "push", "push", "blocked"))
    while True:
        here, action = _somewhere(level, rng), rng.choice(ACTIONS)
        after = step(level, here, action)
        kind = "blocked" if after is None else "push" if is_push(level, here, action) else "walk"
        if kind == wanted:
            break
        if rng.random() < 0.02:  # not every board has each kind on the way
            wanted = kind
    judge = judged_by(lambda text: form.read_next(here, text), lambda result: result == after)
    answer = json.dumps(chat_text.outcome(level, here, action))
    return RoleCase("next", name, form.next_request(here, action), judge, answer)


def _rollout(level: Level, form: PromptFormat, rng: random.Random, name: str) -> RoleCase:
    moves = _solution(level, level.start)
    first = rng.randrange(max(1, len(moves) - _ROLLOUT + 1))
    here = level.start
    for action in moves[:first]:
        here = step(level, here, action) or here
    actions = moves[first : first + _ROLLOUT]
    if rng.random() < 0.4:  # a plan that errs
        actions[-1] = rng.choice(ACTIONS)
    truth: list[State | None] = []
    outcomes: dict[str, object] = {}
    at = here
    for number, action in enumerate(actions, 1):
        outcomes[str(number)] = chat_text.outcome(level, at, action)
        after = step(level, at, action)
        if truth[-1:] != [None]:
            truth.append(after)
        at = after or at
    request = form.rollout_request(here, actions)
    assert request is not None, "general models predict whole plans"

    def judge(text: str) -> JudgedAnswer:
        verdict = judged_by(lambda text: form.read_rollout(here, actions, text), lambda result: result == truth)(text)
        states = form.read_rollout(here, actions, text) if verdict.valid else []
        # A rollout goes to its end, or to a blocked move.
        whole = len(states) == len(actions) or states[-1:] == [None]
        return verdict if whole else JudgedAnswer(False, False, verdict.why)

    return RoleCase("rollout", name, request, judge, json.dumps(outcomes))


def _score(level: Level, form: PromptFormat, rng: random.Random, name: str) -> RoleCase:
    truth = rng.choice(("solved", "possible", "hopeless"))
    here = level.start
    if truth == "solved":
        for action in _solution(level, here):
            here = step(level, here, action) or here
        others = [cell for cell in level.floor if cell not in here.boxes]
        here = State(rng.choice(others), here.boxes)
    elif truth == "hopeless":
        corners = [cell for cell in sorted(level.dead_squares) if cell in level.floor and cell != here.player]
        if corners:
            here = State(here.player, (rng.choice(corners),))
        else:
            truth = "possible"
    return choice_case("score", name, form.score_request(here)[0], truth)
