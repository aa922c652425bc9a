"""Model servers that deviate from the protocol: a run succeeds, or ends in their words, at their bill."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tape.budget import Budget, Ledger
from tape.lm.accounting import AccountedLM
from tape.lm.base import BatchError, Message, OneOf, Request
from tape.lm.hosted.model import HostedLM
from tape.lm.hosted.providers import ANTHROPIC, OPENAI, PROVIDERS, Provider
from tests.tape.conftest import Keep
from tests.tape.lm.deviations import CHOSEN, DEVIATIONS, FREE, Run, Servers

pytest.importorskip("openai")
pytest.importorskip("anthropic")

PROMPT = (Message("system", "You play with a small board."), Message("user", "Where do you go next?"))
FREELY = Request(PROMPT, 200, n=3, temperature=0.7, seed=5)
PICK = Request((PROMPT[0], Message("user", "Up or down, once?")), 200, OneOf((CHOSEN, "down")))
REQUESTS = [(FREELY, FREE), (PICK, CHOSEN), (FREELY, FREE)]
LASTING = ("window", "busy once", "slow down once")
"""Deviations that are not learnt for the next request."""
NO_LIMIT = {frozenset(("no max_tokens", "no max_completion_tokens")): ["Extra inputs are not permitted"]}
"""A server that takes no limit at all is none to spend on."""
UNTOLD = {frozenset(("used up", "no finish"))}
"""Nothing in the answer tells that it was cut off."""


async def play(model: HostedLM, run: Run, names: tuple[str, ...]) -> str:
    """Ask one server three times; ``succeeded`` or ``ended``, and what is wrong is a failed assertion."""
    ledger = Ledger(Budget({"tokens": 10**6, "calls": 200}))
    accounted, deviations = AccountedLM(model, ledger), run.deviations
    ends = [deviation.ends for deviation in deviations if deviation.ends] or NO_LIMIT.get(frozenset(names), [])
    outcome, refused = "succeeded", 0
    for number, (request, text) in enumerate(REQUESTS):
        refused = run.refused
        try:
            [completion] = await accounted.generate([request])
        except BatchError as error:
            if not any(words in str(error) for words in ends):
                raise AssertionError(f"ended: {error}") from error
            outcome = "ended"
            break
        if "refusal" in names:
            assert set(completion.finish) == {"refusal"}
        else:
            told = frozenset(names) not in UNTOLD
            assert not told or [item.strip() for item in completion.texts] == [text] * request.n, completion
            assert set(completion.finish) == {"stop"}
        assert number < 2 or run.refused == refused or set(names) & set(LASTING), "what was refused is not remembered"
    assert len(run.asked) <= 24
    check_booking(model, ledger, run)
    assert not ledger.violations
    return outcome


def check_booking(model: HostedLM, ledger: Ledger, run: Run) -> None:
    """What is booked is the bill, or where that is not reported at least the bill."""
    booked = ledger.used["tokens"] or 0
    assert booked >= run.bill, f"{booked} booked of {run.bill}"
    reported = not any(deviation.inexact for deviation in run.deviations)
    assert not reported or booked == run.bill, f"{booked} booked of {run.bill}, which was reported"


def opened(provider: Provider, root: str) -> HostedLM:
    path = "" if provider.package == "anthropic" else "/v1"
    model = provider(f"test@{root}{path}#backoff=0,timeout=30")
    assert isinstance(model, HostedLM)
    return model


def sweep(cases: Sequence[tuple[Provider, tuple[str, ...]]]) -> dict[str, Any]:
    """Play against each server, and count what came of it."""
    counted: Counter[str] = Counter()
    wrong: list[str] = []

    async def all_of_them() -> None:
        for provider, names in cases:
            run, root = servers.start(*names)
            try:
                counted[await play(opened(provider, root), run, names)] += 1
            except AssertionError as error:
                wrong.append(f"{provider.name}, {' + '.join(names)}: {str(error).splitlines()[0]}")
            counted["requests"] += len(run.asked)
            counted["refused"] += run.refused

    with Servers() as servers:
        asyncio.run(all_of_them())
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:60])
    assert counted["succeeded"] + counted["ended"] == len(cases)
    return {"servers": len(cases), **counted}


SINGLE = [(), *((name,) for name in DEVIATIONS)]
PAIRS = list(itertools.combinations(DEVIATIONS, 2))
ALL: dict[str, list[tuple[Provider, tuple[str, ...]]]] = {
    "alone": [*itertools.product(PROVIDERS, SINGLE)],
    "in pairs": [*itertools.product(PROVIDERS, PAIRS)],
}


@pytest.mark.filterwarnings("ignore::tape.errors.EndpointWarning")
@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda p: p.name)
def test_a_server_with_one_deviation_and_some_with_two(provider: Provider) -> None:
    assert len(DEVIATIONS) >= 40
    r, whole = random.Random(provider.name), provider in (OPENAI, ANTHROPIC)  # the others speak as OpenAI does
    sweep([(provider, names) for names in (*(SINGLE if whole else r.sample(SINGLE, 8)), *r.sample(PAIRS, 4))])


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::tape.errors.EndpointWarning")
def test_all_deviations_alone_and_in_pairs(keep_figures: Keep) -> None:
    keep_figures("model_servers", {"deviations": len(DEVIATIONS)} | {name: sweep(ALL[name]) for name in ALL})
