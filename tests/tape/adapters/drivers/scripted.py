"""The truth that adapters are held against: what scripted models and tools did, counted by themselves.

Nothing here asks a guard. A model call costs a millionth of a dollar for each token of prompt and completion, also
where it fails or does not report its usage; a tool call costs its price in :data:`PRICES` from its first moment.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from tape.errors import BudgetExceededError
from tape.guard.guard import Guard

PRICES = {
    "quick": 10_000, "deep": 50_000, "fails": 10_000, "slow": 10_000, "ask": 0, "metered": 20_000, "broke": 10_000,
}  # fmt: skip
"""Millionths of a dollar that a call of a tool costs."""

TOOLS: dict[str, Any] = {
    "quick": {"price": {"usd": "$0.01"}, "quality": 0.6, "kind": "search"},
    "deep": {"price": {"usd": "$0.05"}, "quality": 0.9, "kind": "search"}, "fails": {"usd": "$0.01"},
    "slow": {"usd": "$0.01"}, "ask": {"usd": 0}, "metered": {"worst": {"usd": "$0.10"}, "reported": "cost"},
    "broke": {"usd": "$0.01"},
}  # fmt: skip

MODELS = {"scripted": ("1", "1")}

Usage = tuple[Any, Any]
"""Reported tokens of prompt and completion."""

USAGES: list[Usage] = [
    (None, None), ("40", "10"), (40, "10"), (float("nan"), 1), (40.0, 10.0), (-1, 3), (40, -(10**9)), (10**80, 1),
    (2**63, 1), (True, True), ([40], {}),
]  # fmt: skip
"""Reports that are none."""

NUMBERS = [usage for usage in USAGES if all(isinstance(count, int | float) for count in usage)]
"""Those that frameworks let through which count themselves."""


@dataclass(frozen=True)
class Turn:
    """What a scripted model does when it is called.

    Attributes:
        text: Its answer.
        calls: Tools that it calls, with arguments.
        prompt: Tokens of the prompt that it counts.
        completion: Tokens that it would like to write; no more than the limit of the call.
        reports: Whether it reports its usage.
        usage: What it reports in the place of the truth.
        fails: Whether it fails after all that.
    """

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    prompt: int = 40
    completion: int = 10
    reports: bool = True
    usage: Usage | None = None
    fails: bool = False

    def reported(self, completion: int) -> Usage | None:
        """The report of a call that wrote so many tokens."""
        return (self.usage or (self.prompt, completion)) if self.reports else None


def call(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """A call of a tool."""
    return name, arguments


class Wide(BaseModel):
    """A format with a long description."""

    __doc__ = "x" * 3000
    place: str = "Bern"


class ScriptError(Exception):
    """What a turn or a tool that fails raises."""


@dataclass
class Truth:
    """What really happened.

    Attributes:
        script: The turns that are left.
        spent: By resource, as guards name them; money in millionths of a dollar.
        called: The tools, in order of their start.
        limits: The limits of completion tokens of the model's calls.
    """

    script: list[Turn]
    spent: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("usd", "tokens", "calls", "steps"), 0))
    called: list[str] = field(default_factory=list)
    limits: list[int | None] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)

    def model(self, most_tokens: int | None) -> tuple[Turn, int]:
        """A call of the model: the turn and the tokens that it writes."""
        with self.lock:
            self.limits.append(most_tokens)
            turn = self.script.pop(0) if self.script else Turn("The script is at its end.")
            completion = turn.completion if most_tokens is None else min(turn.completion, most_tokens)
            for kind, amount in (("calls", 1), ("tokens", turn.prompt + completion), ("usd", turn.prompt + completion)):
                self.spent[kind] += amount
        return turn, completion

    def tool(self, name: str) -> str:
        """A call of a tool."""
        with self.lock:
            self.called.append(name)
            self.spent["steps"] += 1
            self.spent["usd"] += PRICES[name]
        return f"{name} found it"


DOES = {
    "quick": "Search.", "deep": "Search well.", "fails": "Search in vain.",
    "metered": "Search, and report what it cost.", "broke": "Run out of a budget that is another's.",
}  # fmt: skip
"""The tools that all frameworks get, and their descriptions."""


def functions_of(truth: Truth) -> dict[str, Callable[[str], Any]]:
    """The tools as plain functions."""

    def made(name: str) -> Callable[[str], Any]:
        def function(query: str) -> Any:
            tool = truth.tool(name)
            if name == "fails":
                raise ScriptError(f"{tool} not")
            if name == "broke":
                raise BudgetExceededError("usd", 1, 1, 1, "own")
            return {"cost": 0.02} if name == "metered" else tool

        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"{DOES[name]}\n\nArgs:\n    query: What for."
        if name != "metered":
            function.__annotations__["return"] = str
        return function

    return {name: made(name) for name in DOES}


def awaited_functions_of(truth: Truth) -> dict[str, Callable[[str], Any]]:
    """The same, ``await``-ed but for one, and one that never ends."""

    async def slow(query: str) -> str:
        """Search for ever.

        Args:
            query: What for.
        """
        truth.tool("slow")
        await asyncio.Event().wait()
        return "never"

    plain = functions_of(truth)
    return {name: function if name == "deep" else awaited(function) for name, function in plain.items()} | {
        "slow": slow
    }


def awaited(function: Callable[[str], Any]) -> Callable[[str], Any]:
    """The same function, asynchronous."""

    @functools.wraps(function)
    async def answer(query: str) -> Any:
        result = function(query)
        await asyncio.sleep(0)
        return result

    return answer


def truth_of(*turns: Turn) -> Truth:
    """A truth at its beginning."""
    return Truth(list(turns))


def guard_of(budget: str, **options: Any) -> Guard:
    """A guard that knows the tools and the model."""
    return Guard(budget, **{"tools": TOOLS, "models": MODELS, "most_tokens": 20, **options})


def no_overspend(guard: Guard, *truths: Truth) -> None:
    """What really was spent is within every cap, and the guard knows of at least that; nothing stays set aside."""
    used, left = guard.ledger.used, guard.left()["left"]
    for kind in truths[0].spent:
        spent = sum(truth.spent[kind] for truth in truths)
        assert spent <= guard.ledger.budget.get(kind, spent), (kind, spent)
        assert spent <= (used[kind] or 0), (kind, spent, json.dumps(guard.left()))
        assert not guard.ledger.reserved[kind], kind
    assert not guard.ledger.overspent()
    assert all(amount >= 0 for amount in left.values())
    assert sum(len(truth.called) for truth in truths) == sum(truth.spent["steps"] for truth in truths)


def exactly(guard: Guard, *truths: Truth, kinds: Iterable[str] = ("usd", "tokens", "calls", "steps")) -> None:
    """The guard counted what really was spent, to the last unit."""
    no_overspend(guard, *truths)
    for kind in kinds:
        assert guard.ledger.used[kind] == sum(truth.spent[kind] for truth in truths), kind


def await_what_was_left(guard: Guard) -> None:
    """Wait until what reads no further is collected, and threads that still run for it are done."""
    for _ in range(500):
        gc.collect()
        if not any(guard.ledger.reserved.values()):
            break
        time.sleep(0.01)
