"""Tool chains as an environment: one problem, its tools made from its offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from pydantic import BaseModel, ConfigDict

from envs.tool_chains.compact import ReadingFormat
from envs.tool_chains.problem import CENT, ChainProblem, Offer
from envs.tool_chains.typed.environment import FORMATS, Change, TypedEnvironment
from envs.tool_chains.words import read
from tape.budget import Resources
from tape.budget.prices import Fixed
from tape.tools.tool import Tool

READERS = ("scripted", "lm")
"""Who reads what is asked for: the script of :mod:`envs.tool_chains.words`, or the model."""

NOTES = {
    "none": "",
    "refused": "",
    "price": "The prices have changed.",
    "wish": "The user has said something new.",
    "length": "The list of tools has changed.",
}
"""The note of a change in an observation; a tool that will refuse is not announced."""


class _Work(BaseModel):
    """What every tool is called with; one model for all, since making one takes longer than playing a step."""

    model_config = ConfigDict(extra="forbid")
    stock: str


@lru_cache(maxsize=4096)
def as_tool(offer: Offer) -> Tool:
    """A tool that works: it writes down what was done to what."""

    def work(stock: str) -> str:
        return f"{stock} > {offer.name}"

    cost = Fixed(Resources({"usd": offer.cents * CENT, "seconds": offer.millis}))
    description = f"Makes {offer.gives} of {offer.takes}."
    return Tool(offer.name, "", work, _Work, description, cost, takes=(offer.takes,), gives=offer.gives)


def as_tools(offers: Sequence[Offer]) -> tuple[Tool, ...]:
    """The tools of some offers."""
    return tuple(map(as_tool, offers))


class ToolChainsEnvironment(TypedEnvironment):
    """One problem."""

    def __init__(self, problem: ChainProblem, reader: str = "scripted") -> None:
        turn = problem.turn
        changes = [] if turn is None else [
            Change(
                turn.after,
                None if turn.offers is None else as_tools(turn.offers),
                turn.refusing,
                turn.request,
                turn.want,
                NOTES[problem.change],
            )
        ]  # fmt: skip
        super().__init__(
            as_tools(problem.offers),
            have={problem.start: problem.start},
            want=problem.want,
            budget=problem.budget,
            request=problem.request,
            goals=problem.goals,
            reader=read if reader == "scripted" else None,
            changes=changes,
            prompt_formats={**FORMATS, "chains": ReadingFormat},
        )
        self.problem = problem

    def measures(self) -> Mapping[str, float]:
        """Beside success.

        ``cheapest``: the calls that succeeded are the oracle's, no more and no others. ``over_least``: what a success
        cost relative to the oracle's; it may be below 1, since the oracle knows no future either. ``read``: whether the
        user's last request was read rightly.
        """
        read = {"read": float(self._state.wanted == self._wanted)} if self._reader is None else {}
        least, done = self.problem.reference, self.success()
        if least is None:
            return {"cheapest": 0.0, **read}
        numbers = {"cheapest": float(done and tuple(self.called) == least.tools), **read}
        if done:
            numbers["over_least"] = (self.used["usd"] or 0) / (least.cents * CENT)
        return numbers
