"""Reading from both sides: what is likely anyway does not decide, and only models that weigh options are asked so."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

import pytest

from envs.tool_chains.typed import Change, TypedEnvironment
from tape import TapeAgent
from tape.lm.base import OneOf, Request, Usage
from tape.lm.reading import BLANK, Reading
from tape.lm.scripted import ScriptedLM
from tape.tools import tool

TEXT = "Something sweet, please."
THINGS = ("rye bread", "honey cake")
PRIOR = {"rye bread": 0.0, "honey cake": -9.0}
"""Log-probabilities of naming a thing, whatever was said."""


class Weighing(ScriptedLM):
    """A model of known probabilities, by which sweet things are likelier where something sweet is asked for.

    Args:
        forward: How much likelier, as a logarithm, where the thing is named.
        backward: The same where the text is written.
    """

    weighs = True

    def __init__(self, forward: float, backward: float) -> None:
        super().__init__(["rye bread"], prompt_format="chat")
        self._forward, self._backward = forward, backward

    def _log(self, prompt: str, option: str) -> float:
        thing = next((name for name in THINGS if name in option), None)
        if thing is not None:
            return PRIOR[thing] + (self._forward if thing == "honey cake" and TEXT in prompt else 0.0)
        return -30.0 * (option == TEXT) + (self._backward if option == TEXT and "honey cake" in prompt else 0.0)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        pairs = []
        for request in requests:
            assert isinstance(request.constraint, OneOf)
            self.requests.append(request)
            prompt = request.prompt[-1].content if not isinstance(request.prompt, str) else request.prompt
            likely = [math.exp(self._log(prompt, option)) for option in request.constraint.options]
            pairs.append((tuple(share / sum(likely) for share in likely), Usage(10, 2)))
        return pairs


@pytest.mark.parametrize(
    ("forward", "backward", "right"), [(2.0, 0.0, True), (0.0, 2.0, True), (3.0, -4.0, False), (-4.0, 5.0, True)]
)
def test_the_sum_of_both_sides_decides_and_not_what_is_likely_anyway(
    forward: float, backward: float, right: bool
) -> None:
    text, used = asyncio.run(Reading(TEXT, THINGS).read(Weighing(forward, backward)))
    assert (text == "honey cake") is right
    assert used.calls == 2 + len(THINGS)


def test_a_text_that_asks_for_nothing_has_an_answer_too() -> None:
    text, _ = asyncio.run(Reading(BLANK, THINGS).read(Weighing(2.0, 2.0)))
    assert text in THINGS


@tool(takes="dough", gives="rye bread", usd="0.30")
def rye(dough: str) -> str:
    """Bake rye bread."""
    return dough


@tool(takes="dough", gives="honey cake", usd="0.50")
def honey(dough: str) -> str:
    """Bake a honey cake."""
    return dough


@pytest.mark.parametrize("weighs", [True, False])
def test_the_engine_reads_so_where_the_model_weighs_options(weighs: bool) -> None:
    env = TypedEnvironment(
        [rye, honey], have={"dough": "dough"}, want="honey cake", request=TEXT, goals=THINGS, budget="$1, 5 steps"
    )
    model = Weighing(2.0, 2.0) if weighs else ScriptedLM(["rye bread"], prompt_format="chat")
    result = TapeAgent(model, proposer="declared", scorer="declared").run(env)
    assert result.success is weighs
    assert result.lm_calls == {"project": 4 if weighs else 1}
    listed = [
        request
        for request in model.requests
        if isinstance(request.constraint, OneOf) and request.constraint.options == THINGS
    ]
    assert bool(listed) is not weighs


@pytest.mark.parametrize("again", [True, False])
def test_only_where_the_user_may_ask_again_a_further_reading_is_paid_for_beforehand(again: bool) -> None:
    changes = [Change(1, request="No, bread.", want="rye bread")] if again else []
    env = TypedEnvironment(
        [rye, honey], have={"dough": "dough"}, want="honey cake", request=TEXT, goals=THINGS, changes=changes
    )
    form, state = env.prompt_format("chat"), env.domain.project(env.reset(0))
    assert form.reading(state) == Reading(TEXT, THINGS)
    assert (form.reading(state, "rye()") is not None) is again
    assert (form.longest_project_request(state, "rye()") is not None) is again
