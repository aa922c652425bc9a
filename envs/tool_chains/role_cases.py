"""Cases with known answers, by which it is measured what a model can do here; every answer is the oracle's."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace

from envs.tool_chains.environment import ToolChainsEnvironment
from envs.tool_chains.generator import ChainSettings, generate
from envs.tool_chains.oracle import dijkstra
from envs.tool_chains.problem import ChainProblem
from envs.tool_chains.typed.domain import TypedDomain, TypedState, as_typed
from envs.tool_chains.typed.prompts.chat import ChatTypedFormat
from tape.protocols import Action
from tape.protocols.role_cases import (
    RoleCase,
    chat_only,
    choice_case,
    judged_act,
    judged_plan,
)

_SETTINGS = ChainSettings(level=5, tools=20)
_LEFT = {"steps": 12}


def role_cases(prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
    """Cases of a role.

    Args:
        prompts: ``chat``.
        role: ``project``: which thing a request names. ``plan``: any chain that works. ``act``: a call that leads on.
            ``score``: whether a thing is what was asked for.
        count: How many.
        seed: Any integer.

    Raises:
        UnknownNameError: There is no such role or prompt format.
    """
    chat_only(prompts)
    build: Callable[[str, _Case], RoleCase] = _BUILD[role]
    return [build(f"{seed}-{number}", _Case(generate(f"probe-{seed}", number, _SETTINGS))) for number in range(count)]


class _Case:
    """A problem with its prompts, at the start and with the request read."""

    def __init__(self, problem: ChainProblem) -> None:
        self.problem = problem
        self.asked = ToolChainsEnvironment(problem, "lm")
        self.unread: TypedState = as_typed(self.asked.domain.project(self.asked.reset(0)))
        self.domain: TypedDomain = self.asked.domain
        self.form = ChatTypedFormat(self.domain, self.asked.goals)
        self.state = self.unread.read(problem.want)
        self.rng = random.Random(f"tool chains: cases: {problem.id}")

    def works(self, actions: tuple[Action, ...]) -> bool:
        """Whether a plan can be followed to its end."""
        state = self.state
        for action in actions:
            after = self.domain.outcome(state, action).state
            if after is None:
                return False
            state = as_typed(after)
        return state.handed_in == self.problem.want


def _project(name: str, case: _Case) -> RoleCase:
    request = case.form.project_request(case.unread)
    assert request is not None, "the request is unread"
    role_case = choice_case("project", name, request, case.problem.want)
    return replace(role_case, reading=case.form.reading(case.unread))


def _plan(name: str, case: _Case) -> RoleCase:
    cheapest = dijkstra(case.problem.offers, [case.problem.start], case.problem.want)
    assert cheapest is not None, "every problem has a chain"
    ideal = json.dumps({"thought": "The cheapest chain.", "tools": list(cheapest.tools)})
    judge = judged_plan(case.form, case.state, lambda plan: case.works(plan.actions))
    return RoleCase("plan", name, case.form.plan_request(case.state, _LEFT), judge, ideal)


def _act(name: str, case: _Case) -> RoleCase:
    cheapest = dijkstra(case.problem.offers, [case.problem.start], case.problem.want)
    assert cheapest is not None, "every problem has a chain"

    def leads_on(action: Action) -> bool:
        after = case.domain.outcome(case.state, action).state
        left = [] if after is None else as_typed(after).at_hand
        return bool(left) and dijkstra(case.problem.offers, left, case.problem.want) is not None

    request = case.form.act_request(case.state, _LEFT, None, ())
    ideal = json.dumps({"thought": "It comes first.", "call": cheapest.tools[0]})
    return RoleCase("act", name, request, judged_act(case.form, case.state, leads_on), ideal)


def _score(name: str, case: _Case) -> RoleCase:
    right = case.rng.random() < 0.5
    other = case.rng.choice([goal for goal in case.problem.goals if goal != case.problem.want])
    ended = replace(case.state, handed_in=case.problem.want if right else other)
    request, _ = case.form.score_request(ended)
    return choice_case("score", name, request, "right" if right else "wrong")


_BUILD = {"project": _project, "plan": _plan, "act": _act, "score": _score}
