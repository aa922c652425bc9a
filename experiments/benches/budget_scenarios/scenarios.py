"""The twelve scenarios: caps, what the scripted model says, and what goes wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PROMPT_TOKENS, COMPLETION_TOKENS = 300, 50
"""Of every call of the model, as the scripted provider counts."""
MODEL = "mock-budget-llm"
MODEL_PRICE = ("1", "2")
"""US dollars per million tokens of prompts and completions."""
TOOL_USD = 0.01
"""What one call of a tool costs."""
USER = (
    "Look at every place that you are told of, one after the other, and say what you have found there. Take the tool "
    "for each of them; do not answer before you have seen them all. The places are north, south, east, west, the "
    "river, the hill, the bridge, the mill, the church, the market, the harbour and the station. What is it that they "
    "have in common, and which of them is unlike the others? Say so in one sentence, and name the places that you have "
    "not seen. Where a place cannot be seen, try it again before you go on to the next; where nothing can be seen at "
    "all, say that there is nothing to be seen, and why you think so. Be brief: the answer is read aloud, and nobody "
    "likes to wait."
)
"""The request; with what every framework adds, more than three bytes for each token that the provider counts."""


@dataclass(frozen=True)
class Turn:
    """What the scripted model says at one call.

    Attributes:
        looks: Calls of the tool ``look``, at once.
        research: Calls of ``research``, which asks the inner agent.
    """

    looks: int = 0
    research: int = 0


LOOK, END = Turn(looks=1), Turn()


@dataclass(frozen=True)
class Scenario:
    """One situation.

    Attributes:
        about: In words.
        caps: The budget: ``tokens`` and ``calls`` of the model, ``steps`` (calls of tools), ``usd``.
        turns: What the model says, call by call; with an inner agent, in the order in which both ask.
        stream: The answer is streamed.
        nested: The agent has ``research``, whose agent has ``look``; else it has ``look`` itself.
        tool: ``works``, ``fails`` after it has worked, or is ``slow``.
        usage: Whether the provider reports tokens.
        cancel: The first run is cancelled while its tool works; then it is run again under the same budget.
        crash_at: The process dies within that call of the tool; then it is run again under the same budget.
        processes: That run at once under one budget.
        retries: Times that the framework is told to try a failing tool again by itself, where it can.
    """

    about: str
    caps: Mapping[str, float]
    turns: Sequence[Turn]
    stream: bool = False
    nested: bool = False
    tool: str = "works"
    usage: bool = True
    cancel: bool = False
    crash_at: int = 0
    processes: int = 1
    retries: int = 0


_EIGHT = (*[LOOK] * 8, END)

SCENARIOS: Mapping[str, Scenario] = {
    "single": Scenario("one call of the model takes more tokens than there are", {"tokens": 200}, (END,)),
    "aggregate": Scenario("nine calls of the model add up", {"tokens": 2400}, _EIGHT),
    "parallel": Scenario("six calls of a tool at once", {"steps": 4}, (Turn(looks=6), END)),
    "retry": Scenario("a tool that fails is tried again", {"steps": 3}, (*[LOOK] * 4, END), tool="fails", retries=2),
    "nested agent": Scenario(
        "an agent's tool is another agent", {"calls": 5}, (Turn(research=1), *[LOOK] * 6, END, END), nested=True
    ),
    "streaming": Scenario("the same nine calls, streamed", {"tokens": 2400}, _EIGHT, stream=True),
    "failing tool": Scenario("a tool that is paid and then fails", {"usd": 0.045}, _EIGHT, tool="fails"),
    "late usage": Scenario("the provider reports no tokens", {"tokens": 2400}, _EIGHT, usage=False),
    "cancellation": Scenario(
        "cancelled while a tool works, then run again", {"steps": 1}, (LOOK, LOOK, LOOK, END), tool="slow", cancel=True
    ),
    "crash": Scenario("killed while a tool works, then run again", {"steps": 3}, (*[LOOK] * 6, END), crash_at=2),
    "two processes": Scenario("two at once under one budget", {"steps": 4}, (*[LOOK] * 7, END), processes=2),
    "mixed resources": Scenario(
        "money, tokens and calls of tools, of which money runs out", {"usd": 0.05, "tokens": 20000, "steps": 8}, _EIGHT
    ),
}
