"""Tools, states and strategies that the tests of tool environments share."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tape.budget import Budget
from tape.lm.base import OneOf, Request
from tape.tools import Tool, ToolEnvironment, ToolFailedError, tool
from tape.tools.calls import Call, call
from tape.tools.domain import ToolDomain
from tape.tools.state import ToolState
from tape.tools.toolbox import Toolbox


@tool(kind="multiply", variant="quick", quality=0.8, pure=True, seconds=0.1, usd="0.001")
def multiply_quick(a: float, b: float, rng: random.Random) -> float:
    """Multiply two numbers, more or less."""
    return a * b * (1 if rng.random() < 0.8 else 1.2)


@tool(kind="multiply", variant="exact", quality=1.0, pure=True, seconds=1, usd="0.02")
def multiply_exact(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


@tool(pure=True, seconds=0.1, usd="0.001")
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@tool(pure=True, usd="0.002")
def divide(a: float, b: float) -> float:
    """Divide two numbers."""
    if b == 0:
        raise ToolFailedError("division by zero")
    return a / b


@tool(usd=0)
def note(text: str, tags: list[str] | None = None, urgent: bool = False) -> dict[str, Any]:
    """Write a note."""
    return {"text": text, "tags": tags, "urgent": urgent}


TOOLS: list[Tool] = [multiply_quick, multiply_exact, add, divide, note]


def domain(tools: Sequence[Tool] = TOOLS, task: str = "compute") -> ToolDomain:
    return ToolDomain(task, Toolbox(tools))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["#1", "#2 and #13", "#0", "# 1", "#1000", '"; x(a="', "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)
VARIANTS = st.just("") | st.from_regex(r"[a-z0-9_-]{1,4}", fullmatch=True)
CALLS = st.builds(
    lambda kind, variant, args: call(kind, variant, **args), NAMES, VARIANTS, st.dictionaries(NAMES, JSON, max_size=3)
)

NUMBERS = st.integers(-9, 9)


@st.composite
def plans(draw: st.DrawFn, obtained: int = 0, most: int = 7) -> list[Call]:
    """Plans of ``add`` and ``multiply`` in which every call may use earlier results, duplicates included."""
    calls: list[Call] = []
    for _ in range(draw(st.integers(0, most))):
        known = obtained + len(calls)
        value = NUMBERS if known == 0 else NUMBERS | st.integers(1, known).map(lambda k: f"#{k}")
        kind = draw(st.sampled_from(["add", "multiply"]))
        variant = draw(st.sampled_from(["quick", "exact"])) if kind == "multiply" else ""
        calls.append(call(kind, variant, a=draw(value), b=draw(value)))
    return calls


@st.composite
def actions(draw: st.DrawFn) -> str:
    """Actions of all kinds for :data:`TOOLS`: possible, repeated, malformed, of the wrong type."""
    value = st.sampled_from([0, 1, 2, 3, "#1", "#2", "#3", "two", "sum #1", None, [1]])
    made = st.one_of(
        st.builds(lambda a, b: call("add", a=a, b=b).text, value, value),
        st.builds(
            lambda v, a, b: call("multiply", v, a=a, b=b).text, st.sampled_from(["exact", "quick"]), value, value
        ),
        st.builds(lambda a, b: call("divide", a=a, b=b).text, value, value),
        st.builds(lambda text: call("note", text=text).text, value),
        st.builds(lambda v: call("answer", value=v).text, value),
        st.sampled_from(
            ["add(a=1)", "add(a=1, b=2, c=3)", "power(a=1, b=2)", "answer()", "answer.x(value=1)", "", "?"]
        ),
    )
    return draw(made)


def after(*calls: Call, state: ToolState | None = None) -> ToolState:
    """The predicted state after some calls."""
    state = state or ToolState()
    for made in calls:
        state = state.with_call(made)
    return state


Calls = Sequence[tuple[str, dict[str, Any]]]
"""Names of tools, their variants included, and arguments; ``"#k"`` is the k-th result of the episode."""


def program(calls: Calls, final: Any = None, request: Request | None = None) -> str:
    """A program of some calls and an answer.

    Args:
        calls: The calls.
        final: What it answers; by default the last result. A mapping's items are the fields of the answer, where the
            request shows fields.
        request: What is shown: its results so far are named as they are there, and so are its tools.
    """
    known = [] if request is None else obtained(request)
    first = 1 + max([int(name[1:]) for name in known], default=0)
    names = [*known, *(f"r{number}" for number in range(first, first + len(calls)))]
    shown = "" if request is None else prompt(request)
    lines = [
        f"{name} = {_tool(tool, shown)}({', '.join(f'{key}={_value(value, names)}' for key, value in given.items())})"
        for name, (tool, given) in zip(names[len(known) :], calls, strict=True)
    ]
    return "\n".join([*lines, answering(f"#{len(names)}" if final is None else final, names, shown)])


def answering(final: Any, names: Sequence[str], shown: str = "") -> str:
    """The line that answers."""
    if isinstance(final, dict) and "End with answer(value" not in shown:
        return f"answer({', '.join(f'{key}={_value(value, names)}' for key, value in final.items())})"
    return f"answer({_value(final, names)})"


def _tool(name: str, shown: str) -> str:
    """A tool as programs name it: by its kind, where the prompt shows no name of the variant."""
    kind, _, variant = name.partition(".")
    each = f"{kind}_{variant}"
    return each if variant and (not shown or f"{each}(" in shown) else kind


@dataclass(frozen=True)
class Code:
    """An expression in which each ``#k`` is a result."""

    text: str


@dataclass(frozen=True)
class Filled:
    """A text in which each ``#k`` is filled by a result."""

    text: str


def _value(value: Any, names: Sequence[str]) -> str:
    """A value in a program; a number of no result becomes a name that is not there."""
    if isinstance(value, Code):
        return re.sub(r"#[0-9]+", lambda match: _value(match[0], names), value.text)
    if isinstance(value, Filled):
        return f"f{re.sub(r'#[0-9]+', lambda match: f'{{{_value(match[0], names)}}}', value.text)!r}"
    if isinstance(value, str) and re.fullmatch(r"#\d+", value):
        number = int(value[1:])
        return names[number - 1] if 1 <= number <= len(names) else f"r{900 + number}"
    if isinstance(value, list):
        return f"[{', '.join(_value(item, names) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_value(item, names)}' for key, item in value.items())}}}"
    return repr(value)


def script(
    *plans: Calls,
    answers: Sequence[Any] = (),
    score: str = "right",
    select: str = "1",
    act: Callable[[Request], str] | None = None,
    project: Callable[[Request], str] | None = None,
) -> Callable[[Request, int], str]:
    """A scripted model for the chat prompt format.

    All samples of a planning round are its plan; after the last plan it goes on with that. Requests of one history at
    other temperatures than the first are of its round. A plan's answer is its last result unless given. ``act`` answers
    act requests whose action is not fixed, ``project`` requests to read.
    """
    rounds: list[tuple[str, float]] = []

    def reply(request: Request, sample: int) -> str:
        if request.role == "plan":
            this = asked(request).partition("\n\n(Budget left")[0], request.temperature
            if not rounds or this[0] != rounds[-1][0] or (sample == 0 and this == rounds[-1]):
                rounds.append(this)
            number = min(len(rounds), len(plans)) - 1
            return program(plans[number], answers[number] if number < len(answers) else None, request)
        if request.role == "act":
            fixed = fixed_action(request)
            if fixed is not None:
                return fixed
            assert act is not None, "an action was asked for"
            return act(request)
        if request.role == "project":
            assert project is not None, "a reading was asked for"
            return project(request)
        if request.role == "answer":
            return answering("#1", obtained(request))
        return {"score": score, "select": select}[request.role]

    return reply


def prompt(request: Request) -> str:
    """What the model is shown."""
    assert not isinstance(request.prompt, str)
    return "\n".join(message.content for message in request.prompt)


def asked(request: Request) -> str:
    """What the model is asked now, after the rules and the worked examples."""
    assert not isinstance(request.prompt, str)
    return request.prompt[-1].content


def fixed_action(request: Request) -> str | None:
    """The action that an act request asks for, if it asks for one."""
    return request.constraint.options[0] if isinstance(request.constraint, OneOf) else None


def obtained(request: Request) -> list[str]:
    """The names of the results so far, as the prompt has them: in one message, or one in the message of each line."""
    if isinstance(request.prompt, str):
        return []
    turns = [re.match(r"(r\d+) = .*\nNext line", message.content) for message in request.prompt]
    return [turn[1] for turn in turns if turn] or re.findall(r"^(r\d+) = .*  # -> ", asked(request), re.MULTILINE)


def follow(plan: Calls, final: Any = None) -> Callable[[Request], str]:
    """Answers act requests by the next call of a plan, counting the results in the prompt; then answers."""

    def act(request: Request) -> str:
        done = len(obtained(request))
        if done < len(plan):
            return program(plan[done : done + 1], None, request).partition("\n")[0]
        return answering(final or f"#{done}", obtained(request), prompt(request))

    return act


def computing(**caps: Any) -> ToolEnvironment:
    """A task whose right answer is 89, under some caps."""
    return ToolEnvironment(
        "What is 3 * 4 * 7 + 5?", TOOLS, budget=Budget.of(**caps), judge=lambda value: abs(value - 89) < 1e-6
    )
