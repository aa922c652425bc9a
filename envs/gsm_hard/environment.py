"""GSM-Hard as an environment: arithmetic by tools of several prices and qualities (TAPE appendix E.1)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

from envs.gsm_hard.arithmetic import ARITY, KINDS, is_right, perturbed
from envs.gsm_hard.errors import ArithmeticToolError
from envs.gsm_hard.problem import Problem
from envs.gsm_hard.profiles import DEFAULT, PROFILES, Profile
from tape.budget import Resources
from tape.budget.chances import Uniform
from tape.tools.domain import ToolDomain
from tape.tools.environment import ToolEnvironment
from tape.tools.errors import ToolFailedError
from tape.tools.making import make_tool
from tape.tools.prompts.programs import ProgramFormat
from tape.tools.tool import Tool
from tape.tools.toolbox import Toolbox

EXAMPLES = (
    (
        "Task: A hall has 34 rows of 28 seats. 59 seats are broken. How many people can sit down?\n"
        "End with answer(value: Any)",
        "all_seats = 34 * 28\nusable_seats = all_seats - 59\nanswer(usable_seats)",
    ),
    (
        "Task: Ann earns 12 dollars an hour, half as much as Tom. Tom works 40 hours and 25% of what he earns is tax. "
        "What is left to Tom?\nEnd with answer(value: Any)",
        "ann_per_hour = 12\ntom_per_hour = ann_per_hour * 2\ntom_earns = tom_per_hour * 40\n"
        "tax = tom_earns * 25 / 100\nanswer(tom_earns - tax)",
    ),
)
"""Problems and their programs. Names say what is computed: with comments the model computes in these, and wrongly."""


def chat_format(domain: ToolDomain) -> ProgramFormat:
    """The ``chat`` prompt format, with examples of arithmetic where the operators are tools."""
    operators = domain.words(()).operators
    return ProgramFormat(domain, EXAMPLES) if {"+", "-", "*", "/"} <= operators.keys() else ProgramFormat(domain)


OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**"}
"""The operators that are calls of tools."""


def tools(profile: Profile) -> Toolbox:
    """The tools of a profile: every kind in every variant, with results that are wrong as often as declared."""
    return Toolbox([_tool(kind, number, profile) for kind in profile.kinds for number in range(len(profile.variants))])


def _tool(kind: str, number: int, profile: Profile) -> Tool:
    variant = profile.variants[number]
    quality = variant.quality or 1.0
    exact = KINDS[kind]

    def once(rng: random.Random, *numbers: float) -> float:
        try:
            return perturbed(exact(*numbers), quality, rng)
        except ArithmeticToolError as error:
            raise ToolFailedError(str(error)) from None

    def unary(a: float, rng: random.Random) -> float:
        return once(rng, a)

    def binary(a: float, b: float, rng: random.Random) -> float:
        return once(rng, a, b)

    function: Callable[..., Any] = unary if ARITY[kind] == 1 else binary
    function.__doc__ = exact.__doc__
    worst = Resources({name: count for name, count in variant.worst.items() if name != "steps"})
    cost = Uniform(worst, profile.least_seconds_share)
    return make_tool(
        function,
        kind=kind,
        variant=variant.name,
        cost=cost,
        quality=variant.quality,
        pure=True,
        operator=OPERATORS.get(kind, ""),
    )


class GsmHardEnvironment(ToolEnvironment):
    """One word problem."""

    def __init__(self, problem: Problem, profile: str = DEFAULT) -> None:
        super().__init__(
            problem.text,
            tools(PROFILES[profile]),
            judge=lambda answer: _number(answer) and is_right(float(answer), problem.target),
            prompt_formats={"chat": chat_format},
        )
        self.problem = problem


def _number(answer: Any) -> bool:
    """Whether an answer is a number, or text that is one."""
    try:
        return not isinstance(answer, bool) and math.isfinite(float(answer))
    except (TypeError, ValueError, OverflowError):
        return False
