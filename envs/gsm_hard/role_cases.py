"""Generated word problems with known answers for every role, of the templates that training has."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from envs.gsm_hard.arithmetic import KINDS, is_right, results
from envs.gsm_hard.chat_examples import chat_format
from envs.gsm_hard.environment import tools
from envs.gsm_hard.errors import ArithmeticToolError
from envs.gsm_hard.generator import draw
from envs.gsm_hard.problem import Problem, Step
from envs.gsm_hard.profiles import PROFILES
from tape.errors import UnknownNameError
from tape.protocols.prompt_format import OfferedPath
from tape.protocols.role_cases import Judged, RoleCase, judged_by, known_role
from tape.seeds import derive
from tape.tools.calls import ANSWER, Call, call, parse
from tape.tools.domain import ToolDomain
from tape.tools.errors import InvalidCallError
from tape.tools.prompts.chat import ChatToolFormat
from tape.tools.state import ToolState

ROLES = ("plan", "act", "score", "select", "answer")

_VARIANT = "exact"
_MOST_STEPS = 3
_LEFT = {"steps": 9}


def role_cases(prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
    """See :class:`tape.protocols.role_cases.ProbedPlugin`."""
    known_role(role, ROLES, "GSM-Hard")
    if prompts != "chat":
        raise UnknownNameError("prompt format of these cases", prompts, ["chat"])
    make: Callable[[Problem, ChatToolFormat, random.Random, str], RoleCase] = {
        "plan": _plan, "act": _act, "score": _score, "select": _select, "answer": _answer,
    }[role]  # fmt: skip
    cases, toolbox = [], tools(PROFILES["priced"])
    for number in range(count):
        rng = random.Random(derive(seed, "role_cases", "gsm_hard", role, number))
        problem = _problem(rng)
        form = chat_format(ToolDomain(problem.text, toolbox))
        cases.append(make(problem, form, rng, f"{seed}-{number}"))
    return cases


def _problem(rng: random.Random) -> Problem:
    while True:
        problem = draw(rng, "train")
        if 1 < problem.operations <= _MOST_STEPS:
            return problem


def _program(problem: Problem) -> tuple[Step, ...]:
    assert problem.program, "generated problems come with their program"
    return problem.program


def _call(step: Step) -> Call:
    values: dict[str, Any] = dict(zip(("a", "b"), step.args, strict=False))
    return call(step.kind, _VARIANT, **values)


def _calls(program: Sequence[Step]) -> list[dict[str, Any]]:
    written = [dict(zip(("a", "b"), step.args, strict=False)) for step in program]
    return [
        {"tool": f"{step.kind}.{_VARIANT}", "arguments": values} for step, values in zip(program, written, strict=True)
    ]


def _value(actions: Sequence[str]) -> float | None:
    """What a plan's answer comes to, with exact tools; None where it comes to nothing."""
    found: list[float] = []
    try:
        for made in map(parse, actions):
            values = made.values(found)
            if made.kind == ANSWER:
                return float(values["value"])
            found.append(KINDS[made.kind](*(float(value) for value in values.values())))
    except (ArithmeticToolError, InvalidCallError, KeyError, TypeError, ValueError):
        return None
    return None


def _plan(problem: Problem, form: ChatToolFormat, rng: random.Random, name: str) -> RoleCase:
    del rng
    start, program = ToolState(), _program(problem)

    def judge(text: str) -> Judged:
        plan = form.read_plan(start, text)
        value = _value(plan.actions) if plan.valid else None
        right = value is not None and is_right(value, problem.target)
        return Judged(plan.valid, right, "; ".join(plan.actions)[:200])

    ideal = json.dumps({"thought": "Step by step.", "calls": _calls(program), "answer": f"#{len(program)}"})
    return RoleCase("plan", name, form.plan_request(start, _LEFT), judge, ideal)


def _after(program: Sequence[Step], count: int) -> ToolState:
    state = ToolState()
    for step, value in zip(program[:count], results(program), strict=False):
        state = state.with_call(_call(step), json.dumps(value))
    return state


def _act(problem: Problem, form: ChatToolFormat, rng: random.Random, name: str) -> RoleCase:
    program = _program(problem)
    done = rng.randrange(len(program))
    state, exact = _after(program, done), results(program)

    def right(action: str) -> bool:
        """Whether a call gives a number that the solution needs and that is not there yet."""
        made = parse(action)
        try:
            if made.kind == ANSWER:
                return is_right(float(made.values(state.values())["value"]), problem.target)
            value = KINDS[made.kind](*(float(value) for value in made.values(state.values()).values()))
        except (ArithmeticToolError, InvalidCallError, KeyError, TypeError, ValueError):
            return False
        return any(is_right(value, wanted) for wanted in exact[done:])

    ideal = json.dumps({"thought": "This comes next.", "call": _calls(program)[done]})
    request = form.act_request(state, _LEFT, None, ())
    return RoleCase("act", name, request, judged_by(lambda text: form.read_act(state, text)[1], right), ideal)


_SWAPPED = {"add": "subtract", "subtract": "add", "multiply": "divide", "divide": "multiply"}


def _erring(program: Sequence[Step], rng: random.Random) -> tuple[Step, ...]:
    """A program with one operation that is another one."""
    places = [i for i, step in enumerate(program) if step.kind in _SWAPPED]
    at = rng.choice(places) if places else len(program) - 1
    wrong = Step(_SWAPPED.get(program[at].kind, "add"), (*program[at].args, 2.0)[:2])
    return (*program[:at], wrong, *program[at + 1 :])


def _one_of(options: tuple[str, ...], truth: str) -> Callable[[str], Judged]:
    return lambda text: Judged(text in options, text == truth, text[:60])


def _score(problem: Problem, form: ChatToolFormat, rng: random.Random, name: str) -> RoleCase:
    good = rng.random() < 0.5
    program = _program(problem) if good else _erring(_program(problem), rng)
    state = ToolState()
    for step in program:
        state = state.with_call(_call(step))
    request, values = form.score_request(replace(state, answer=f"#{len(program)}"))
    truth = "right" if good else "wrong"
    return RoleCase("score", name, request, _one_of(tuple(values), truth), truth, 1 / len(values))


def _select(problem: Problem, form: ChatToolFormat, rng: random.Random, name: str) -> RoleCase:
    program = _program(problem)
    offered = [program, _erring(program, rng), program[:-1]]
    order = rng.sample(range(len(offered)), len(offered))
    number = str(order.index(0) + 1)
    request = form.select_request(ToolState(), [_offered(offered[i]) for i in order], _LEFT)
    options = tuple(str(i) for i in range(1, len(order) + 1))
    return RoleCase("select", name, request, _one_of(options, number), number, 1 / len(options))


def _offered(program: Sequence[Step]) -> OfferedPath:
    """A path as the engine shows it; every end is scored alike, so that the model has to judge."""
    actions = (*(_call(step).text for step in program), call(ANSWER, value=f"#{len(program)}").text)
    nodes = (*(f"{i} results" for i in range(1, len(actions))), "answered")
    return OfferedPath(actions, nodes, (*(0.1 for _ in program), 1.0), True, 1.0, {"steps": len(actions)})


def _answer(problem: Problem, form: ChatToolFormat, rng: random.Random, name: str) -> RoleCase:
    del rng
    program = _program(problem)
    state = _after(program, len(program))

    def right(made: Call) -> bool:
        try:
            return is_right(float(made.values(state.values())["value"]), problem.target)
        except (InvalidCallError, TypeError, ValueError):
            return False

    judge = judged_by(lambda text: form.read_answer(state, text), right)
    return RoleCase("answer", name, form.answer_request(state), judge, json.dumps({"answer": f"#{len(program)}"}))
