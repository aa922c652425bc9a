"""Repeated calls, caches, nested ledgers and a run's ledger together; backends that answer what they were not asked."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tape.budget import Budget, Ledger, Resources
from tape.errors import BudgetExceededError, ModelError
from tape.lm.accounting import AccountedLM
from tape.lm.base import (
    FREE,
    BatchError,
    Completion,
    EndpointError,
    OneOf,
    Request,
    TokenPrice,
    Usage,
    WrongAnswerError,
)
from tape.lm.batching import EpisodeBatch
from tape.lm.cache import CachedLM
from tape.lm.scripted import ScriptedLM
from tape.trace import LedgerEvent, TraceWriter
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
    for tokens in range(20, 400, 40):
        run = Ledger(Budget({"tokens": tokens}), name="run")
        result, events = play(model=NearSighted(CORRIDOR), num_plans=1, payer=run)
        assert (run.refused is not None) == (result.end_state == "budget:tokens")
        recorded = [event.what for event in events if isinstance(event, LedgerEvent)]
        assert "refused" not in recorded[:-1], "nothing is reserved after it"
        ended.add(result.end_state)
    assert ended == {"budget:tokens", "success"}


PRICED = TokenPrice(prompt=FREE.prompt + 1, completion=FREE.completion + 1)
REQUESTS = [Request("two words", max_tokens=3, n=2, role="plan"), Request("one", max_tokens=3, role="act")]
SCORED = [Request("two words", max_tokens=1, role="score", constraint=OneOf(("a", "b")))]

Change = Callable[[list[Any]], Any]


class Wrong(ScriptedLM):
    """A model whose answers are changed before they are handed over."""

    def __init__(self, change: Change, price: TokenPrice | None = FREE) -> None:
        super().__init__(["a"], price=price)
        self._change = change

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        changed: list[Completion] = self._change(list(await super().generate(requests)))
        return changed

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        changed: list[tuple[tuple[float, ...], Usage]] = self._change(list(await super().score_options(requests)))
        return changed


def each(**fields: Any) -> Change:
    return lambda answers: [replace(answer, **fields) for answer in answers]


def one_error(answers: list[Any]) -> Any:
    raise BatchError([EndpointError("down", Usage(1, 0))])


GENERATED: dict[str, tuple[Change, str]] = {
    "none": (lambda answers: [], "gave 0 answers to 2 requests"),
    "one too many": (lambda answers: [*answers, answers[0]], "gave 3 answers to 2 requests"),
    "nothing": (lambda answers: None, "gave NoneType, no list of answers"),
    "a text": (lambda answers: "ab", "gave str, no list of answers"),
    "scores": (lambda answers: [((1.0,), answer.usage) for answer in answers], "gave tuple as an answer"),
    "too few samples": (each(texts=()), "gave 0 of 2 samples"),
    "a text for samples": (each(texts="ab"), "gave none of 2 samples"),
    "samples that are none": (
        lambda answers: [replace(answer, texts=(None,) * len(answer.texts)) for answer in answers],
        "samples of the wrong type",
    ),
    "no ends": (each(finish=()), "gave 0 ends"),
    "an error for all": (one_error, "gave 1 answers to 2 requests"),
    "no usage": (each(usage=None), "no usage in whole numbers"),
    "broken usage": (each(usage=Usage("many", 2.5)), "no usage in whole numbers"),  # type: ignore[arg-type]
}
SCORES: dict[str, tuple[Change, str]] = {
    "none": (lambda answers: [], "gave 0 answers to 1 requests"),
    "too many": (lambda answers: [((1.0, 0.0, 0.0), answers[0][1])], "gave 3 of 2 scores"),
    "texts": (lambda answers: [(("a", "b"), answers[0][1])], "scores of the wrong type"),
    "no usage": (lambda answers: [((0.5, 0.5), None)], "no usage in whole numbers"),
    "weights alone": (lambda answers: [answers[0][0]], "gave none of 2 scores"),
}


@pytest.mark.parametrize("price", [FREE, PRICED], ids=["free", "priced"])
@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [("generate", *item) for item in GENERATED.values()] + [("score_options", *item) for item in SCORES.values()],
    ids=[*GENERATED, *(f"scores: {name}" for name in SCORES)],
)
def test_answers_to_something_else_are_a_model_error_that_is_booked(
    kind: str, change: Change, message: str, price: TokenPrice
) -> None:
    requests = REQUESTS if kind == "generate" else SCORED
    for wrapped in (False, True):
        ledger, trace = Ledger(Budget.of(calls=10, tokens=100)), TraceWriter("e")
        model = Wrong(change, price)

        inner = EpisodeBatch(model, 1).slot(0) if wrapped else model
        accounted = AccountedLM(inner, ledger, trace)
        ask = accounted.generate if kind == "generate" else accounted.score_options
        with pytest.raises(WrongAnswerError, match=f"scripted .*{message}.*; mend the backend"):
            asyncio.run(ask(requests))
        worst = {"generate": {"calls": 2, "tokens": 12}, "score_options": {"calls": 1, "tokens": 3}}[kind]
        assert {name: ledger.used[name] for name in worst} == worst
        assert not any(dict(ledger.reserved).values())
        assert [event.what for event in trace.events if isinstance(event, LedgerEvent)] == ["reserve", "settle"]


def test_nothing_wrong_is_kept_in_a_cache(tmp_path: Path) -> None:
    cached = CachedLM(Wrong(GENERATED["too few samples"][0]), tmp_path / "cache.sqlite")
    with pytest.raises(ModelError, match="gave 0 of 2 samples"):
        asyncio.run(cached.generate(REQUESTS))
    assert cached._db.execute("SELECT count(*) FROM completions").fetchone() == (0,)
    cached.close()
