"""Small cases with known answers for every role that a general model plays on ALFWorld tasks.

The houses are drawn by the project's own generator with seeds that no set of games has, and all is known of them
from the start, so that every answer can be held against the rules.
"""

from __future__ import annotations

import json
import random
from collections import deque
from dataclasses import dataclass

from envs.alfworld import rules
from envs.alfworld.commands import AlfworldCommand, read_command
from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import TASK_TYPES
from envs.alfworld.game.kinds import LAMPS, TREATMENTS, kind_of
from envs.alfworld.prompts import prompt_format
from envs.alfworld.state import BARE, KEPT, SHUT, Knowledge, Layout
from tape.lm.base import OneOf, Request
from tape.protocols import Plan
from tape.protocols.prompt_format import PromptFormat
from tape.protocols.role_cases import (
    RoleCase,
    choice_case,
    judged_act,
    judged_by,
    judged_plan,
)

_LONGEST = 14
"""Most commands to the goal that are looked for."""

_FOUND = {SHUT: "closed", KEPT: "closed", BARE: "cannot be closed"}
_DONE = {"open": "opened", "close": "closed", "take": "taken", "put": "put", "use": "switched on"}
_DONE |= {"clean": "cleaned", "heat": "heated", "cool": "cooled"}


def role_cases(prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
    """See :meth:`tape.protocols.EnvironmentPlugin.role_cases`."""
    return [_case(prompts, role, random.Random(f"role cases:alfworld:{role}:{seed}:{n}"), n) for n in range(count)]


def _case(prompts: str, role: str, rng: random.Random, number: int) -> RoleCase:
    state, plan = _moment(rng, TASK_TYPES[number % len(TASK_TYPES)], role)
    domain = AlfworldDomain(state.layout)
    written = prompt_format(domain, prompts)
    make = {"plan": _plan, "rollout": _rollout, "next": _next, "score": _score, "act": _act}
    return make[role](_Made(f"{number}", rng, domain, written, state, plan))


@dataclass(frozen=True)
class _Made:
    """A state that a case is made of, and a shortest plan from it."""

    id: str
    rng: random.Random
    domain: AlfworldDomain
    written: PromptFormat
    state: Knowledge
    plan: list[AlfworldCommand]


# --- houses ---------------------------------------------------------------------------------


def _moment(rng: random.Random, task: str, role: str) -> tuple[Knowledge, list[AlfworldCommand]]:
    """A state of a task, and a shortest plan from it to the goal."""
    while True:
        house = draw_house(rng, task, 0.1)
        together: dict[int, list[str]] = {}
        for receptacle in house.receptacles:
            together.setdefault(receptacle.place, []).append(receptacle.name)
        layout = Layout(
            house.goal,
            tuple(receptacle.name for receptacle in house.receptacles),
            tuple(tuple(names) for names in together.values() if len(names) > 1),
        )
        status = tuple(KEPT if receptacle.openable else BARE for receptacle in house.receptacles)
        state = Knowledge(layout, inside=frozenset(house.inside), status=status)
        plan = shortest(state)
        if plan is None:
            continue
        done = rng.randint(0, len(plan) - 1) if role in ("next", "act") else 0
        if role == "score":
            done = rng.choice((0, len(plan) - 2, len(plan) - 1, len(plan)))
        for command in plan[:done]:
            after = rules.apply(state, command)
            assert after is not None
            state = after
        return state, plan[done:]


def shortest(state: Knowledge) -> list[AlfworldCommand] | None:
    """The fewest commands to the goal where all is known; None where that takes more than :data:`_LONGEST`."""
    domain = AlfworldDomain(state.layout)
    known = {domain.key(state)}
    queue = deque([(state, list[AlfworldCommand]())])
    while queue:
        here, path = queue.popleft()
        if rules.satisfied(here):
            return path
        for command in _useful(here) if len(path) < _LONGEST else ():
            after = rules.apply(here, command)
            if after is not None and domain.key(after) not in known:
                known.add(domain.key(after))
                queue.append((after, [*path, command]))
    return None


def _useful(state: Knowledge) -> list[AlfworldCommand]:
    """The commands that a shortest way may be made of."""
    goal, layout = state.layout.goal, state.layout
    appliance = TREATMENTS[goal.treatment][0] if goal.treatment else ""
    there = {where for thing, where in state.inside if kind_of(thing) in goal.kinds}
    places = [r for r in layout.receptacles if r in there or kind_of(r) in (goal.target, appliance)]
    commands = [AlfworldCommand("open", place) for place in state.at]
    if state.holding:
        kind = kind_of(state.holding)
        commands += [AlfworldCommand("put", place, kind) for place in state.at]
        commands += [AlfworldCommand(goal.treatment, place, kind) for place in state.at if goal.treatment]
    else:
        commands += [AlfworldCommand("take", place, goal.thing) for place in state.at]
    commands += [AlfworldCommand("use", place, goal.target) for place in state.at if goal.target in LAMPS]
    return [*commands, *(AlfworldCommand("go", place) for place in places)]


def _result(before: Knowledge, command: AlfworldCommand) -> str:
    """What comes of a command, as the chat format has it written."""
    after = rules.apply(before, command)
    if after is None:
        return f"{command.text} -> nothing"
    if command.verb == "go":
        return f"{command.text} -> arrived, {_FOUND.get(after.of(command.place), 'open')}"
    return f"{command.text} -> {_DONE[command.verb]}"


# --- the roles ----------------------------------------------------------------------------------


def _plan(made: _Made) -> RoleCase:
    request = made.written.plan_request(made.state, {"steps": len(made.plan) + 6})

    def right(plan: Plan) -> bool | str:
        here: Knowledge | None = made.state
        for action in plan.actions:
            command = read_command(action)
            here = None if here is None or command is None else rules.apply(here, command)
            if here is None:
                return f"not possible: {action}"
            if made.domain.satisfied(here):
                return True
        return "the goal is not reached"

    ideal = json.dumps({"thought": "", "actions": [command.text for command in made.plan]})
    return RoleCase("plan", made.id, request, judged_plan(made.written, made.state, right), ideal)


def _rollout(made: _Made) -> RoleCase:
    asked = list(made.plan[:5])
    if made.rng.random() < 0.4:
        del asked[made.rng.randrange(len(asked))]
    asked = asked or list(made.plan[:1])
    actions = [command.text for command in asked]
    request = made.written.rollout_request(made.state, actions)
    assert request is not None, "commands can be rolled out"
    here: Knowledge | None = made.state
    results, expected = dict[str, str](), list[str | None]()
    for i, command in enumerate(asked, 1):
        results[f"step_{i}"] = f"{command.text} -> nothing" if here is None else _result(here, command)
        if here is not None:  # the states up to the first that is not possible
            here = rules.apply(here, command)
            expected.append(_name(made.domain, here))
    judge = judged_by(
        lambda text: [_name(made.domain, after) for after in made.written.read_rollout(made.state, actions, text)],
        lambda texts: texts == expected or f"{sum(a == b for a, b in zip(texts, expected, strict=False))} steps right",
    )
    return RoleCase("rollout", made.id, request, judge, json.dumps(results))


def _name(domain: AlfworldDomain, state: object) -> str | None:
    return None if state is None else domain.key(state)


def _next(made: _Made) -> RoleCase:
    command = made.plan[0]
    if made.rng.random() < 0.5:
        others = [read_command(action) for action in made.domain.admissible(made.state)]
        kinds = ("", *made.state.layout.goal.kinds)
        about = [c for c in others if c is not None and (c.thing and kind_of(c.thing)) in kinds]
        # As often what is impossible as what is possible: most commands that can be written are impossible.
        want = made.rng.random() < 0.3
        about = [c for c in about if (rules.apply(made.state, c) is not None) is want] or about
        command = made.rng.choice(about)
    request = made.written.next_request(made.state, command.text)
    truth = _name(made.domain, rules.apply(made.state, command))
    judge = judged_by(
        lambda text: _name(made.domain, made.written.read_next(made.state, text)),
        lambda name: name == truth or ("called possible" if truth is None else "called impossible or other"),
    )
    return RoleCase("next", made.id, request, judge, _result(made.state, command), chance=_guessed(request))


def _guessed(request: Request) -> float | None:
    return 1 / len(request.constraint.options) if isinstance(request.constraint, OneOf) else None


def _score(made: _Made) -> RoleCase:
    request, _ = made.written.score_request(made.state)
    return choice_case("score", made.id, request, str(len(made.plan)))


def _act(made: _Made) -> RoleCase:
    request = made.written.act_request(made.state, {"steps": len(made.plan) + 3}, None, ())

    def right(action: str) -> bool | str:
        command = read_command(action)
        after = None if command is None else rules.apply(made.state, command)
        if after is None:
            return f"not possible: {action}"
        rest = shortest(after)
        return True if rest is not None and len(rest) < len(made.plan) else f"no nearer to the goal: {action}"

    ideal = json.dumps({"thought": "", "action": made.plan[0].text})
    return RoleCase("act", made.id, request, judged_act(made.written, made.state, right), ideal)
