"""What calls of hosted models cost: usage, caps, cancelled calls, prices."""

import asyncio
from contextlib import suppress

import pytest

from tape.budget import Budget, Ledger
from tape.errors import BudgetExceededError, EndpointWarning
from tape.lm.accounting import AccountedLM
from tape.lm.base import FREE, BatchError, Choice, Request, most_completion_tokens, worst_case
from tape.lm.hosted.model import HostedLM
from tape.lm.hosted.providers import OPENAI, is_here
from tests.tape.lm.endpoint import Endpoint
from tests.tape.lm.hosting import PRICE, PROMPT, ask, opened, replies, wrapped

pytest.importorskip("openai")


@pytest.mark.parametrize("fault", ["no usage", "zero usage", "odd usage"])
def test_usage_that_is_missing_or_incredible_is_booked_at_the_worst_case(fault: str) -> None:
    ledger, request = Ledger(Budget({"tokens": 500})), Request(PROMPT, 20)
    with Endpoint(replies("up up up"), [fault]) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="usage"):
            asyncio.run(AccountedLM(model, ledger).generate([request]))
    assert ledger.used["tokens"] == worst_case(model, request)["tokens"]
    assert not ledger.violations


@pytest.mark.parametrize("faults", [["500"], ["ignore"], ["500", "ignore", "cut"], ["hang", "ignore"], ["no usage"]])
@pytest.mark.filterwarnings("ignore::tape.errors.EndpointWarning")
def test_hard_caps_hold_over_retries_and_repairs(faults: list[str]) -> None:
    request = Request(PROMPT, 20, Choice(("up", "down")))
    for factor in (1, 2, 3):
        with Endpoint(wrapped("up"), faults) as endpoint:
            model = opened(endpoint, price=PRICE, timeout=1 if "hang" in faults else 30)
            worst = worst_case(model, request)
            caps = Budget({kind: (worst[kind] or 0) * factor for kind in ("calls", "tokens", "usd")})
            ledger = Ledger(caps)
            with suppress(BatchError):
                asyncio.run(AccountedLM(model, ledger).generate([request]))
        assert not ledger.overspent()
        assert not ledger.violations
        assert len(endpoint.bodies) <= factor
        assert (ledger.used["calls"] or 0) == len(endpoint.bodies)
        assert all(ledger.remaining(kind) == caps[kind] - (ledger.used[kind] or 0) for kind in caps)


def test_a_cancelled_call_is_booked_in_full_and_leaves_nothing_open() -> None:
    async def go(model: HostedLM, ledger: Ledger) -> None:
        task = asyncio.create_task(AccountedLM(model, ledger).generate([Request(PROMPT, 20)]))
        while not endpoint.bodies:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Endpoint(replies("up"), ["hang"]) as endpoint:
        model, ledger = opened(endpoint), Ledger(Budget({"tokens": 500}))
        assert model.price == FREE, "what an endpoint that costs nothing has used is unknown too"
        asyncio.run(go(model, ledger))
    assert ledger.used["tokens"] == worst_case(model, Request(PROMPT, 20))["tokens"]
    assert ledger.remaining("tokens") == 500 - (ledger.used["tokens"] or 0)


def test_a_server_on_this_machine_costs_nothing_unless_a_price_is_given() -> None:
    with Endpoint(replies("up")) as endpoint:
        ledger = Ledger(Budget.of(usd=0, tokens=10_000))
        model = AccountedLM(opened(endpoint), ledger)
        asyncio.run(model.generate([Request(PROMPT, 5)]))
        assert (model.price, ledger.used["usd"]) == (FREE, 0)
        assert ledger.used["tokens"]
        paid = AccountedLM(opened(endpoint, price=PRICE), Ledger(Budget.of(usd=0)))
        with pytest.raises(BudgetExceededError, match="a model call: usd of the episode ledger"):
            asyncio.run(paid.generate([Request(PROMPT, 5)]))
    assert len(endpoint.bodies) == 1


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://LOCALHOST:8000/v1", True),
        ("http://models.localhost/v1", True),
        ("http://127.8.7.6/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://0.0.0.0:8000", False),
        ("http://192.168.0.7:8000/v1", False),
        ("https://localhost.example.com/v1", False),
        ("https://127.0.0.1.example.com/v1", False),
        ("https://api.openai.com/v1", False),
    ],
)
def test_only_loopback_is_this_machine(url: str, here: bool) -> None:
    assert is_here(url) is here
    assert (OPENAI(f"test@{url}").price == FREE) is here


def test_reasoning_adds_to_limit_and_worst_case() -> None:
    with Endpoint(replies("up")) as endpoint:
        model = opened(endpoint, reasoning=1000)
        ask(model)
    assert endpoint.bodies[0]["max_tokens"] == 1020
    assert most_completion_tokens(model, Request(PROMPT, 20, n=2)) == 2040
