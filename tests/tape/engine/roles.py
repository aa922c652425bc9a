"""Helpers for tests of the model's roles, in a domain of texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tape.budget import Budget, Ledger, Resources
from tape.engine.context import RoleContext
from tape.lm.accounting import AccountedLM
from tape.lm.base import Message, OneOf, Request, Usage
from tape.lm.scripted import ScriptedLM
from tape.protocols import Action, State
from tape.testing.line import LineDomain, LineFormat
from tape.trace import TraceWriter


class Asking(LineFormat):
    """A format that can ask."""

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        return (Message("user", f"State: {state}\n{question}"),)


class Ways:
    """A domain of texts; an action costs its number in dollars."""

    def key(self, state: State) -> str:
        return str(state)

    def cost(self, state: State, action: Action) -> Resources:
        del state
        return Resources({"steps": 1, "usd": int(action)})


class Weighing(ScriptedLM):
    """Gives the options of every choice these weights."""

    def __init__(self, weights: Callable[[Request, int], Sequence[float]]) -> None:
        super().__init__([""])
        self._weights = weights

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        self.requests += requests
        return [(tuple(self._weights(request, len(options(request)))), Usage(1, 1)) for request in requests]


def options(request: Request) -> tuple[str, ...]:
    assert isinstance(request.constraint, OneOf)
    return request.constraint.options


def context(lm: ScriptedLM, budget: Mapping[str, int] | None = None) -> RoleContext:
    return RoleContext(
        AccountedLM(lm, Ledger(Budget(dict(budget or {})))),
        Asking(LineDomain(3)),
        Ways(),  # type: ignore[arg-type]
        TraceWriter("test", None),
    )
