"""The truth that adapters are held against: what scripted models and tools did, counted by themselves.

Nothing here asks a guard. A model call costs a millionth of a dollar for each token of prompt and completion, also
where it fails or does not report its usage; a tool call costs what :data:`PRICES` says from its first moment.
"""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tape.gateway.guard import Guard

PRICES = {"quick": 10_000, "deep": 50_000, "fails": 10_000, "slow": 10_000, "ask": 0}
"""Millionths of a dollar that a call of a tool costs."""

TOOLS: dict[str, Any] = {
    "quick": {"price": {"usd": "$0.01"}, "quality": 0.6, "kind": "search"},
    "deep": {"price": {"usd": "$0.05"}, "quality": 0.9, "kind": "search"},
    "fails": {"usd": "$0.01"},
    "slow": {"usd": "$0.01"},
    "ask": {"usd": 0},
}

MODELS = {"scripted": ("1", "1")}


@dataclass(frozen=True)
class Turn:
    """What a scripted model does when it is called.

    Attributes:
        text: What it says.
        calls: Tools that it calls, with arguments.
        prompt: Tokens of the prompt that it counts.
        completion: Tokens that it would like to write; no more than the limit of the call.
        reports: Whether it reports its usage.
        fails: Whether it fails after all that.
    """

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    prompt: int = 40
    completion: int = 10
    reports: bool = True
    fails: bool = False


def call(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """A call of a tool."""
    return name, arguments


class ScriptError(Exception):
    """What a turn that fails raises."""


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


def failing_client(asked: list[str]) -> Any:
    """A real client of a provider whose server fails at every request, which it would repeat twice by itself.

    Args:
        asked: Gets the address of each request that is really made.
    """
    openai = pytest.importorskip("openai")
    client = openai.DefaultAsyncHttpxClient
    http = importlib.import_module(client.__mro__[1].__module__.partition(".")[0])

    def fail(request: Any) -> Any:
        asked.append(str(request.url))
        return http.Response(500, json={"error": {"message": "scripted"}})

    return openai.AsyncOpenAI(api_key="none", http_client=client(transport=http.MockTransport(fail)))


def truth_of(*turns: Turn) -> Truth:
    """A truth at its beginning."""
    return Truth(list(turns))


def image_is_bounded(ask: Callable[[Truth, Guard], Any], name: str = "scripted") -> None:
    """An image costs $0.06 that 50 bytes name: refused under a cap, unless its worst case is declared and fits.

    Args:
        ask: Shows a scripted model an image under a guard.
        name: How the guard knows the model.
    """

    def asked(budget: str, **more: Any) -> tuple[str, Truth, Guard]:
        truth = truth_of(Turn("A river.", prompt=60_000))
        guard = Guard(budget, models={name: ("1", "1")}, most_tokens=20, **more)
        try:
            return str(ask(truth, guard)), truth, guard
        except Exception as error:
            return f"{error} {error.__cause__}", truth, guard

    for budget, cap in (("usd=0.02", "usd is capped"), ("tokens=20000", "tokens is capped")):
        said, truth, guard = asked(budget)
        assert cap in said
        assert 'declare the most that one takes, Guard(..., content={"image": ' in said
        assert truth.spent["calls"] == 0
        assert not guard.ledger.used["usd"]
        no_overspend(guard, truth)
    said, truth, guard = asked("usd=0.02", content={"image": 60_000})
    assert "cap of at least" in said
    assert truth.spent["calls"] == 0
    for budget, more in (("usd=0.10", {"content": {"image": 60_000}}), ("calls=1", {})):
        _, truth, guard = asked(budget, **more)
        assert truth.spent["calls"] == 1
        exactly(guard, truth)


def no_overspend(guard: Guard, *truths: Truth) -> None:
    """What really was spent is within every cap, and the guard knows of at least that."""
    used, left = guard.ledger.used, guard.left()["left"]
    for kind in truths[0].spent:
        spent = sum(truth.spent[kind] for truth in truths)
        assert spent <= (used[kind] or 0), (kind, spent, json.dumps(guard.left()))
    assert not guard.ledger.overspent()
    assert all(amount >= 0 for amount in left.values())


def exactly(guard: Guard, *truths: Truth) -> None:
    """The guard counted what really was spent, to the last unit, and holds nothing back."""
    no_overspend(guard, *truths)
    for kind in truths[0].spent:
        assert guard.ledger.used[kind] == sum(truth.spent[kind] for truth in truths), kind
        assert not guard.ledger.reserved[kind]
