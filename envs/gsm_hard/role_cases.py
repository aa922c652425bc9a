"""Generated word problems with known answers for every role, of the templates that training has."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from envs.gsm_hard.arithmetic import KINDS, is_right, results
from envs.gsm_hard.environment import chat_format, tools
from envs.gsm_hard.errors import ArithmeticToolError
from envs.gsm_hard.generator import draw
from envs.gsm_hard.problem import Problem, ProgramStep
from envs.gsm_hard.profiles import PROFILES
from tape.protocols import Plan
from tape.protocols.role_cases import (
    RoleCase,
    chat_only,
    judged_act,
    judged_by,
    judged_plan,
)
from tape.seeds import derive
from tape.tools.calls import ANSWER, Call, call, parse
from tape.tools.domain import ToolDomain
from tape.tools.errors import InvalidCallError
from tape.tools.prompts.programs import ProgramFormat
from tape.tools.role_cases import program_text, score_case, state_after
from tape.tools.state import ToolState

_VARIANT = "exact"
_MOST_STEPS = 3
_LEFT = {"steps": 9}


def role_cases(prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
    """See :meth:`tape.protocols.EnvironmentPlugin.role_cases`."""
    chat_only(prompts)
    make: Callable[[Problem, ProgramFormat, random.Random, str], RoleCase] = {
        "plan": _plan, "act": _act, "score": _score, "answer": _answer,
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


def _program(problem: Problem) -> tuple[ProgramStep, ...]:
    assert problem.program, "generated problems come with their program"
    return problem.program


def _arguments(step: ProgramStep) -> dict[str, Any]:
    return dict(zip(("a", "b"), step.args, strict=False))


def _calls(program: Sequence[ProgramStep]) -> list[Call]:
    return [call(step.kind, _VARIANT, **_arguments(step)) for step in program]


def _value(actions: Sequence[str]) -> float | None:
    """What a plan's answer comes to, with exact tools; None where it comes to nothing."""
    numbers: list[float] = []
    try:
        for made in map(parse, actions):
            values = made.values(numbers)
            if made.kind == ANSWER:
                return float(values["value"])
            numbers.append(KINDS[made.kind](*(float(value) for value in values.values())))
    except (ArithmeticToolError, InvalidCallError, KeyError, TypeError, ValueError):
        return None
    return None


def _plan(problem: Problem, form: ProgramFormat, rng: random.Random, name: str) -> RoleCase:
    del rng
    start, program = ToolState(), _program(problem)

    def right(plan: Plan) -> bool:
        value = _value(plan.actions)
        return value is not None and is_right(value, problem.target)

    ideal = program_text(_calls(program), f"#{len(program)}")
    return RoleCase("plan", name, form.plan_request(start, _LEFT), judged_plan(form, start, right), ideal)


def _act(problem: Problem, form: ProgramFormat, rng: random.Random, name: str) -> RoleCase:
    program = _program(problem)
    done = rng.randrange(len(program))
    exact = results(program)
    state = state_after(_calls(program[:done]), exact)

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

    ideal = program_text(_calls(program)[done : done + 1], first=done + 1)
    request = form.act_request(state, _LEFT, None, ())
    return RoleCase("act", name, request, judged_act(form, state, right), ideal)


_SWAPPED = {"add": "subtract", "subtract": "add", "multiply": "divide", "divide": "multiply"}


def _erring(program: Sequence[ProgramStep], rng: random.Random) -> tuple[ProgramStep, ...]:
    """A program with one operation that is another one."""
    places = [i for i, step in enumerate(program) if step.kind in _SWAPPED]
    at = rng.choice(places) if places else len(program) - 1
    wrong = ProgramStep(_SWAPPED.get(program[at].kind, "add"), (*program[at].args, 2.0)[:2])
    return (*program[:at], wrong, *program[at + 1 :])


def _score(problem: Problem, form: ProgramFormat, rng: random.Random, name: str) -> RoleCase:
    good = rng.random() < 0.5
    program = _program(problem) if good else _erring(_program(problem), rng)
    return score_case(name, form, _calls(program), good=good)


def _answer(problem: Problem, form: ProgramFormat, rng: random.Random, name: str) -> RoleCase:
    del rng
    program = _program(problem)
    state = state_after(_calls(program), results(program))

    def right(made: Call) -> bool:
        try:
            return is_right(float(made.values(state.values())["value"]), problem.target)
        except (InvalidCallError, TypeError, ValueError):
            return False

    judge = judged_by(lambda text: form.read_answer(state, text), right)
    return RoleCase("answer", name, form.answer_request(state), judge, f"answer(r{len(program)})")
