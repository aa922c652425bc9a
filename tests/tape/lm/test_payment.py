"""Repeated calls, caches, nested ledgers and a run's ledger together: each call is paid once, from all."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pytest

from tape.budget import Budget, Ledger, Resources
from tape.errors import BudgetExceededError, ModelError
from tape.lm.accounting import AccountedLM
from tape.lm.base import FREE, BatchError, Completion, EndpointError, Request, TokenPrice, Usage
from tape.lm.batching import EpisodeBatch
from tape.lm.cache import CachedLM
from tape.lm.scripted import ScriptedLM
from tape.trace import LedgerEvent
from tests.tape.engine.test_loop import NearSighted
from tests.tape.helpers import CORRIDOR, play

PRICE = TokenPrice(Decimal("1e-6"), Decimal("1e-6"))
REQUEST = Request("one two", 8)
"""Uses at most 10 tokens."""


class Stubborn(ScriptedLM):
    """Makes each call several times and uses all it may, unless the payer refuses a further call.

    Args:
        calls: How many calls each request takes.
        over: Tokens that the first request uses beyond what was reserved.
    """

    def __init__(self, *calls: int, over: int = 0) -> None:
        super().__init__([""], price=PRICE)
        self._calls, self._over = calls, over

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        answers: list[Completion | EndpointError] = []
        for request, wanted in zip(requests, self._calls, strict=True):
            over = 0 if answers else self._over
            usage = Usage(2, 8 + over, source="reported")
            for _ in range(wanted - 1):
                if request.again is not None and not request.again(request):
                    answers.append(EndpointError("no room", usage))
                    break
                usage = usage + Usage(2, 8, source="reported")
            else:
                answers.append(Completion(("a",), ("stop",), (0.0,), usage))
        if any(isinstance(answer, EndpointError) for answer in answers):
            raise BatchError(answers)
        return [answer for answer in answers if isinstance(answer, Completion)]


def caps(calls: int) -> Budget:
    return Budget({"calls": calls, "tokens": 10 * calls, "usd": 10 * calls})


def cost(calls: int) -> Resources:
    return Resources(dict(caps(calls)))


def nested_calls(model: ScriptedLM, requests: int, **caps_: Budget) -> tuple[AccountedLM, list[Ledger]]:
    """Ask within the ledgers of a run, an episode and a part of it."""
    run = Ledger(caps_["run"], name="run")
    episode = Ledger(caps_["episode"], payer=run)
    nested = Ledger(caps_["planning"], episode, name="planning")
    lm, ledgers = AccountedLM(model, episode), [nested, episode, run]
    with lm.within(nested), suppress(BatchError):
        asyncio.run(lm.generate([REQUEST] * requests))
    assert all(ledger.reserved == Resources() and not ledger.violations for ledger in ledgers)
    return lm, ledgers


def test_repeated_calls_are_reserved_everywhere_and_settled_in_full() -> None:
    lm, ledgers = nested_calls(Stubborn(3, 1, 2), 3, planning=caps(6), episode=caps(8), run=caps(9))
    assert all(ledger.used == ledger.paid == cost(6) for ledger in ledgers)
    assert lm.calls.total() == 6


@pytest.mark.parametrize("tight", ["planning", "episode", "run"])
def test_a_repeat_that_any_ledger_refuses_is_not_made_and_what_was_used_is_settled(tight: str) -> None:
    sizes = {name: caps(2 if name == tight else 9) for name in ("planning", "episode", "run")}
    _, ledgers = nested_calls(Stubborn(1, 2), 2, **sizes)
    assert all(ledger.used == cost(2) for ledger in ledgers)


def test_a_call_that_uses_too_much_is_not_excused_by_what_was_reserved_for_others() -> None:
    ledger = Ledger(Budget({"tokens": 100}))
    asyncio.run(AccountedLM(Stubborn(1, 3, over=4), ledger).generate([REQUEST] * 2))
    assert ledger.violations == {"tokens": 1, "usd": 1}
    assert ledger.used == cost(4) + Resources({"tokens": 4, "usd": 4})
    assert ledger.reserved == Resources()


@pytest.mark.parametrize(("price", "booked"), [(PRICE, 3), (FREE, 0)], ids=["metered", "free"])
def test_what_failed_is_booked_with_all_that_was_reserved_for_its_repeats(price: TokenPrice, booked: int) -> None:
    class Down(Stubborn):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            await super().generate(requests)
            raise ModelError("down")

    ledger, model = Ledger(caps(9)), Down(3)
    model.price = price
    with pytest.raises(ModelError, match="down"):
        asyncio.run(AccountedLM(model, ledger).generate([REQUEST]))
    assert ledger.used == (cost(booked) if booked else Resources())
    assert ledger.reserved == Resources()


def test_nothing_is_reserved_for_a_repeat_after_its_episode_has_left() -> None:
    granted = []

    class Slow(ScriptedLM):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            left.set()
            await resumed.wait()
            granted.extend(request.again is not None and request.again(request) for request in requests)
            return [Completion(("a",), ("stop",), (0.0,), Usage(2, 1)) for _ in requests]

    async def go() -> None:
        batch = EpisodeBatch(Slow([""], price=PRICE), 2)
        tasks = [
            asyncio.create_task(AccountedLM(batch.slot(i), ledger).generate([REQUEST]))
            for i, ledger in enumerate(ledgers)
        ]
        await left.wait()
        tasks[0].cancel()
        await asyncio.wait(tasks[:1])
        resumed.set()
        await tasks[1]
        await batch.close()

    left, resumed, ledgers = asyncio.Event(), asyncio.Event(), [Ledger(caps(9)), Ledger(caps(9))]
    asyncio.run(go())
    assert granted == [False, True]
    assert ledgers[0].used == cost(1), "it may have been spent"
    assert ledgers[1].used["tokens"] == 3
    assert all(ledger.reserved == Resources() for ledger in ledgers)


def test_a_cached_answer_that_took_several_calls_counts_all_of_them_and_stays_under_the_caps(tmp_path: Path) -> None:
    def pay(budget: Budget) -> Ledger:
        model, ledger = CachedLM(Stubborn(3), tmp_path / "cache"), Ledger(budget)
        try:
            asyncio.run(AccountedLM(model, ledger).generate([REQUEST]))
        except BudgetExceededError:
            refused.append(budget)
        finally:
            model.close()
        assert not ledger.violations
        assert ledger.reserved == Resources()
        return ledger

    refused: list[Budget] = []
    assert pay(caps(3)).paid == cost(3)
    again = pay(caps(3))
    assert (again.used, again.paid) == (cost(3), Resources())
    assert not refused
    assert pay(caps(2)).used == Resources()
    assert refused == [caps(2)]


def test_a_runs_refusal_while_planning_ends_the_episode() -> None:
    """What a run can no longer pay is no reason to act on a poorer plan."""
    ended = set()
    for tokens in range(20, 400, 10):
        run = Ledger(Budget({"tokens": tokens}), name="run")
        result, events = play(model=NearSighted(CORRIDOR), num_plans=1, payer=run)
        assert (run.refused is not None) == (result.end_state == "budget:tokens")
        recorded = [event.what for event in events if isinstance(event, LedgerEvent)]
        assert "refused" not in recorded[:-1], "nothing is reserved after it"
        ended.add(result.end_state)
    assert ended == {"budget:tokens", "success"}
