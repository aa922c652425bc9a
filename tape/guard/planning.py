"""The tool ``plan``: which tools to call for some steps, or which sub-agents to start, the best under what is left."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Protocol

from tape.budget import Resources, amount_of, kind_of
from tape.choice import Choice, select
from tape.choice.amounts import WIDE, caps_of, written
from tape.errors import ChargeError, ConfigError
from tape.guard.left import ScopeReading, amount
from tape.lm.fanout import MOST_AGENTS, MOST_COUNT, MOST_MODELS, Prices, fan_out, listed_price
from tape.reading import short

MOST_STEPS = 50
_MOST_ANY_OF = 20
_ALTERNATIVES = 3

_NAMES = {"type": "array", "items": {"type": "string"}, "minItems": 1}
_WHOLE = {"type": "integer", "minimum": 0}
_SIZES: dict[str, Any] = {
    "prompt": _WHOLE | {"description": "Tokens of the prompt of a call, at most."},
    "completion": _WHOLE | {"description": "Tokens of its completion, at most."},
    "calls": {"type": "integer", "minimum": 1, "description": "Calls of one sub-agent, at most; one."},
}
_VARIANT = {"type": "object", "properties": {"model": {"type": "string"}, "quality": {"type": "number"}}}
_AGENTS: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "maxItems": MOST_AGENTS,
    "description": "Sub-agents that you want to start, before you start one; instead of tools.",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "count": {"type": "integer", "minimum": 1, "maximum": MOST_COUNT, "description": "How many equal ones."},
            "models": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_MODELS,
                "items": {"anyOf": [{"type": "string"}, _VARIANT]},
                "description": "Any of which may do it, the one you want first; quality is above 0 and at most 1.",
            },
            **_SIZES,
            "expected": {"type": "object", "properties": _SIZES, "description": "The same as you expect them."},
            "value": {"type": "number", "minimum": 0, "description": "Of one that is served; 1."},
            "at_least": _WHOLE | {"description": "How many have to be served; 0."},
            "cost": {"type": "object", "description": 'What one takes beside its models, such as {"steps": 4}.'},
        },
        "required": ["name", "count", "models", "prompt", "completion"],
    },
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tools": {
            **_NAMES,
            "maxItems": MOST_STEPS,
            "description": "Tools, or kinds of tools, in the order in which you want to call them; one twice if you "
            "want to call it twice. Interchangeable tools are swapped where that is better.",
        },
        "goal_steps": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_STEPS,
            "description": "The same in more detail, instead of tools.",
            "items": {
                "type": "object",
                "properties": {
                    "any_of": {
                        **_NAMES,
                        "maxItems": _MOST_ANY_OF,
                        "description": "Tools or kinds, any of which does the step.",
                    },
                    "times": {"type": "integer", "minimum": 1, "maximum": MOST_STEPS, "description": "Calls; one."},
                    "arguments": {"type": "object", "description": "Of the call, where the price depends on them."},
                },
                "required": ["any_of"],
            },
        },
        "agents": _AGENTS,
        "budget": {
            "type": "object",
            "description": 'A limit for this plan beside what is left, by resource, for instance {"usd": "0.05"}.',
        },
        "proof": {"type": "boolean", "description": "Also hand over a proof that nothing better fits; not of agents."},
    },
}


class PlanError(Exception):
    """What was asked for cannot be read; the message is the reason."""


class PlannedTool(Protocol):
    """A tool as far as a plan is concerned."""

    @property
    def name(self) -> str:
        """As calls name it."""

    @property
    def kind(self) -> str:
        """What it does; tools of one kind are interchangeable."""

    @property
    def quality(self) -> float | None:
        """Probability that a result is what was asked for; None where it is unknown."""

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The most that a call takes; see :class:`~tape.budget.prices.Cost`."""


@dataclass(frozen=True)
class _Step:
    """A call that is to be made.

    Attributes:
        options: The tools that may make it, with their worst cases, by label.
    """

    options: Mapping[str, tuple[PlannedTool, Resources]]


def of_kind(tools: Mapping[str, PlannedTool], kind: str) -> list[PlannedTool]:
    """The tools of a kind."""
    return [tool for tool in tools.values() if tool.kind == kind]


def fitting(
    tools: Mapping[str, PlannedTool], book: ScopeReading, instead_of: str, arguments: Mapping[str, Any] | None
) -> dict[str, PlannedTool]:
    """What does the same as a tool and would fit now, by name; with arguments None for any call."""
    planned_tools = {}
    for tool in of_kind(tools, tools[instead_of].kind):
        try:
            fits = tool.name != instead_of and book.fits(tool.worst(arguments))
        except ChargeError:
            continue
        if fits:
            planned_tools[tool.name] = tool
    return planned_tools


def plan(
    tools: Mapping[str, PlannedTool], book: ScopeReading, arguments: Mapping[str, Any], price: Prices = listed_price
) -> dict[str, Any]:
    """The answer of the tool.

    Args:
        tools: What may be called, by name.
        book: What is left.
        arguments: Of the tool.
        price: What tokens of a model cost.

    Raises:
        PlanError: The arguments are malformed.
    """
    left = book.left()
    caps: dict[str, Decimal] = {kind: amount_of(kind, count) for kind, count in left.items()}
    for kind, cap in _own_caps(arguments.get("budget")).items():
        caps[kind] = min(cap, caps.get(kind, cap))
    if "agents" in arguments:
        return _fanned_out(arguments, caps, price)
    steps = [_options(tools, pair, number, caps) for number, pair in enumerate(_asked(arguments), 1)]
    if missing := [number for number, step in enumerate(steps, 1) if not step.options]:
        return {
            "fits": False,
            "why": f"the price of the tools of step {missing[0]} is not declared, and its resource is capped; "
            "declare it in the gateway's configuration",
            "would_do": {},
        }
    table = {label: option for step in steps for label, option in step.options.items()}
    choice = select(
        [list(range(len(steps)))],
        cost={label: _units(worst, caps) for label, (_, worst) in table.items()},
        value={label: math.log(tool.quality or 1.0) for label, (tool, _) in table.items()},
        budget=caps,
        variants={number: list(step.options) for number, step in enumerate(steps)},
        k=1 + _ALTERNATIVES,
        proof=arguments.get("proof") is True,
    )
    proven = {} if choice.proof is None else {"proof": {"problem": choice.proof.problem, "proof": choice.proof.text}}
    if not choice:
        would_do = {"would_do": _would_do(book, choice, caps), "more": _more(book, choice, table, caps)}
        return {"fits": False, "why": str(choice.why), **would_do, **proven}
    more = _more(book, choice, table, caps)
    return {
        "fits": True,
        **_described(choice, table),
        "alternatives": [_described(other, table) for other in choice.alternatives],
        "more": more,
        "why": _why(choice, caps, more),
        **proven,
    }


def _fanned_out(arguments: Mapping[str, Any], caps: Mapping[str, Decimal], price: Prices) -> dict[str, Any]:
    """The answer for sub-agents: the fields of :class:`~tape.lm.fanout.FanOut`."""
    if others := sorted(arguments.keys() - {"agents", "budget"}):
        raise PlanError(f"agents: they are planned alone, with a budget; leave {short(others[0])} out")
    counts = {kind: int(WIDE.divide_int(cap, amount_of(kind, 1))) for kind, cap in caps.items()}
    try:
        result = fan_out(arguments["agents"], counts, price)
    except ConfigError as error:
        raise PlanError(str(error)) from None
    answer: dict[str, Any] = json.loads(json.dumps(asdict(result), default=_number))
    return answer


def _why(choice: Choice, caps: Mapping[str, Decimal], more: Mapping[str, Any]) -> str:
    if not caps:
        return "Nothing is capped."
    if not choice.why.short:
        return "No budget stood in the way: without them no plan has a higher quality."
    sentences = [f"{' and '.join(choice.why.short)} stood in the way of a plan of higher quality."]
    for kind, item in more.items():
        cap, by = (written(kind, amount) for amount in (choice.why.more[kind].cap, choice.why.more[kind].by))
        sentences.append(f"With {kind} at {cap} ({by} more) one of quality {item['quality']:g} would fit.")
    return " ".join(sentences)


def _own_caps(given: Any) -> dict[str, Decimal]:
    """The limits of this plan alone."""
    if given is not None and not isinstance(given, str | Mapping):
        raise PlanError(f"budget: expected amounts by resource, got {short(given)}")
    try:
        for kind in given if isinstance(given, Mapping) else ():
            kind_of(kind)
        return caps_of(given)
    except ConfigError as error:
        raise PlanError(f"budget: {str(error).partition('. Use tape.')[0]}") from None


def _asked(arguments: Mapping[str, Any]) -> list[tuple[list[str], Any]]:
    """The steps: names of what may do each, and the arguments where they are known."""
    tools, steps = arguments.get("tools"), arguments.get("goal_steps")
    if (tools is None) == (steps is None):
        raise PlanError('give either tools, a list of names, or goal_steps, a list of {"any_of": [names]}; or agents')
    if unknown := sorted(arguments.keys() - SCHEMA["properties"].keys()):
        raise PlanError(
            f"there is no argument {short(unknown[0])}; there is tools, goal_steps, agents, budget and proof"
        )
    given = tools if tools is not None else steps
    if not isinstance(given, list) or not 0 < len(given) <= MOST_STEPS:
        raise PlanError(f"a plan has 1 to {MOST_STEPS} steps, in a list")
    asked: list[tuple[list[str], Any]] = []
    for number, step in enumerate(given, 1):
        if tools is not None:
            step = {"any_of": [step]}  # noqa: PLW2901 - the short form of a step
        if not isinstance(step, Mapping) or step.keys() - {"any_of", "times", "arguments"}:
            raise PlanError(f"step {number} is no object of any_of, times and arguments")
        names, times, values = step.get("any_of"), step.get("times", 1), step.get("arguments")
        if (
            not isinstance(names, list)
            or not 0 < len(names) <= _MOST_ANY_OF
            or not all(isinstance(n, str) for n in names)
        ):
            raise PlanError(f"step {number}: any_of is a list of 1 to {_MOST_ANY_OF} names of tools or kinds")
        if isinstance(times, bool) or not isinstance(times, int) or not 0 < times <= MOST_STEPS:
            raise PlanError(f"step {number}: times is a whole number from 1 to {MOST_STEPS}")
        if values is not None and not isinstance(values, Mapping):
            raise PlanError(f"step {number}: arguments is an object")
        asked += [(names, values)] * times
    if len(asked) > MOST_STEPS:
        raise PlanError(f"a plan has at most {MOST_STEPS} calls, these steps have {len(asked)}")
    return asked


def _options(
    tools: Mapping[str, PlannedTool], asked: tuple[list[str], Any], number: int, caps: Mapping[str, Decimal]
) -> _Step:
    """The tools that may make a call, without those whose cost in a capped resource is unknown."""
    names, arguments = asked
    any_of: dict[str, PlannedTool] = {}
    for name in names:
        known = tools.get(name)
        same = of_kind(tools, name if known is None else known.kind)
        if not same:
            raise PlanError(f"step {number}: there is no tool or kind {short(name)}; there is: {_some(tools)}")
        any_of |= {tool.name: tool for tool in same}
    options: dict[str, tuple[PlannedTool, Resources]] = {}
    problem = ""
    for tool in any_of.values():
        try:
            worst = tool.worst(arguments)
        except ChargeError as error:
            problem = f"step {number}: {tool.name}: {error}"
            continue
        if all(worst[kind] is not None for kind in caps):
            # With arguments of its own a step's cost is its own.
            options[tool.name if arguments is None else f"{tool.name} (step {number})"] = (tool, worst)
    if not options and problem:
        raise PlanError(problem)
    return _Step(options)


def _some(tools: Mapping[str, PlannedTool]) -> str:
    return ", ".join(sorted({*tools, *(tool.kind for tool in tools.values())})[:40])


def _units(worst: Resources, caps: Mapping[str, Decimal]) -> dict[str, Decimal]:
    known = {kind: count for kind, count in worst.items() if count is not None}
    return {kind: amount_of(kind, count) for kind, count in known.items()} | {
        kind: Decimal(0) for kind in caps if kind not in known
    }


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _described(choice: Choice, table: Mapping[str, tuple[PlannedTool, Resources]]) -> dict[str, Any]:
    steps = []
    for number, label in enumerate(choice.plan or [], 1):
        tool, worst = table[label]
        most = {kind: amount(kind, count) for kind, count in worst.items()}
        steps.append({"step": number, "tool": tool.name, "at_most": most, "quality": tool.quality})
    return {
        "plan": steps,
        "cost_at_most": {kind: _number(value) for kind, value in choice.spent.items() if value},
        "left_after": {kind: _number(value) for kind, value in choice.left.items()},
        "quality": _quality(choice),
    }


def _quality(choice: Choice) -> float:
    return round(math.exp(choice.value or 0.0), 9)


def _would_do(book: ScopeReading, choice: Choice, caps: Mapping[str, Decimal]) -> dict[str, Any]:
    """How much more of each budget would do alone, or, where none would, of several together."""
    least = {kind: value for kind, value in choice.why.least.items() if value is not None}
    alone = bool(least)
    missing: dict[str, Any] = {}
    for kind, value in (least or choice.why.together).items():
        missing[kind] = _raised(book, caps, kind, value)
    return {"any_one_of" if alone else "all_of": missing} if missing else {}


def _raised(book: ScopeReading, caps: Mapping[str, Decimal], kind: str, value: Decimal) -> dict[str, Any]:
    """A larger amount of a budget, and whose caps are below it."""
    binding = [(limit.ledger, amount_of(kind, limit.left)) for limit in book.limits if limit.kind == kind]
    scopes = [name for name, left in binding if left <= caps[kind] and left < value]
    return {"given": _number(caps[kind]), "would_do": _number(value), "scopes": scopes or ["the plan's budget"]}


def _more(
    book: ScopeReading, choice: Choice, table: Mapping[str, tuple[PlannedTool, Resources]], caps: Mapping[str, Decimal]
) -> dict[str, Any]:
    """For each budget the next amount that alone buys a plan of higher quality, and that plan."""
    now = _quality(choice) if choice else -1.0
    mapping = {}
    for kind, item in choice.why.more.items():
        quality = round(math.exp(item.value), 9)
        if quality > now:
            tools = [table[label][0].name for label in item.plan]
            mapping[kind] = {**_raised(book, caps, kind, item.cap), "quality": quality, "tools": tools}
    return mapping
