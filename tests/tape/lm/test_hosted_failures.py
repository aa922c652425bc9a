"""Hosted models whose endpoint fails: what is tried again, what is not, and what is left of a batch."""

import asyncio
from typing import Any

import pytest

from tape.budget import Budget, Ledger
from tape.lm.accounting import AccountedLM
from tape.lm.base import BatchError, Completion, EndpointError, OneOf, Request, Usage
from tape.lm.batching import EpisodeBatch
from tape.lm.cache import CachedLM
from tape.lm.hosted.limits import EndpointLimits
from tape.lm.hosted.model import HostedLM
from tests.tape.lm.endpoint import Endpoint
from tests.tape.lm.hosting import PROMPT, ask, opened, replies

pytest.importorskip("openai")


UNREAD = ["html", "garbage", "list", "no choices", "odd choices"]
FAULTS = ["429", "500", "503", "cut", "drop", "hang", *UNREAD]


@pytest.mark.parametrize("fault", FAULTS)
def test_retryable_failures_are_retried(fault: str) -> None:
    tries = 1 if fault in UNREAD else 2
    with Endpoint(replies("up"), [fault] * tries) as endpoint:
        completion = ask(opened(endpoint, timeout=0.5 if fault == "hang" else 30))
    assert completion.texts == ("up",)
    assert len(endpoint.bodies) == tries + 1
    # Only where the endpoint has certainly computed nothing is nothing booked for the failed calls.
    free = fault == "429"
    assert completion.usage.calls == (1 if free else tries + 1)
    assert completion.usage.source == ("reported" if free else "assumed")


@pytest.mark.parametrize(("fault", "reported"), [(fault, False) for fault in UNREAD] + [("billed", True)])
def test_an_answer_that_cannot_be_read_is_asked_for_once_more_at_what_it_reports(fault: str, reported: bool) -> None:
    with Endpoint(replies("up"), [fault], forever=True) as endpoint:
        model = opened(endpoint)
        with pytest.raises(BatchError, match=r"the answer is .*\(tried 2 times\)") as caught:
            ask(model)
    [failure] = caught.value.answers
    once = Usage(40, 3, source="reported") if reported else assumed(model)
    assert (len(endpoint.bodies), failure.usage) == (2, once + once)


def assumed(model: HostedLM) -> Usage:
    prompt = model.prompt_tokens(Request(PROMPT, 20))
    return Usage(prompt, 20, source="assumed", unproven=(prompt, 20))


@pytest.mark.parametrize(
    ("fault", "words"), [("echo", "401"), ("quota", "pay first"), ("bad request", "too long"), ("429 later", "3600")]
)
def test_other_failures_are_not_retried(fault: str, words: str) -> None:
    with Endpoint(replies("up"), [fault]) as endpoint, pytest.raises(BatchError, match=words) as caught:
        ask(opened(endpoint), OneOf(("up", "down")))
    assert len(endpoint.bodies) == 1
    [failure] = caught.value.answers
    assert failure.usage.calls == 0


def test_an_endpoint_that_is_not_there_costs_nothing() -> None:
    with Endpoint(replies("up")) as endpoint:
        model = opened(endpoint, retries=1)
    with pytest.raises(BatchError, match="cannot be reached") as caught:
        ask(model)
    assert caught.value.answers[0].usage.calls == 0


def test_waits_grow_and_retry_after_is_kept() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    with Endpoint(replies("up"), ["500", "500", "500", "503"]) as endpoint:
        limits = EndpointLimits(backoff=1.0, max_wait=3.0)
        ask(HostedLM(opened(endpoint)._wire, name="m", identity="m", limits=limits, sleep=sleep))
    assert 0.5 <= waits[0] <= 1 <= waits[1] <= 2
    assert 1.5 <= waits[2] <= 3
    assert waits[3] == 0


def test_the_others_of_a_batch_keep_their_answers(tmp_path: Any) -> None:
    def refuse(body: dict[str, Any]) -> str | None:
        return "the context is too long" if body["messages"][-1]["content"] == "bad" else None

    async def episode(batch: EpisodeBatch, index: int, text: str, ledger: Ledger) -> list[Completion]:
        try:
            lm = AccountedLM(batch.slot(index), ledger)
            return await lm.generate([Request("fine", 5), Request(text, 5)])
        finally:
            await batch.leave()

    async def play(model: Any) -> list[Any]:
        batch, ledgers = EpisodeBatch(model, 3), [Ledger(Budget({"calls": 9})) for _ in range(3)]
        episodes = [episode(batch, i, text, ledgers[i]) for i, text in enumerate(("first", "bad", "last"))]
        done = await asyncio.gather(*episodes, return_exceptions=True)
        return [*done, *(ledger.used["calls"] for ledger in ledgers)]

    with Endpoint(replies("up"), refuse=refuse) as endpoint:
        cache = CachedLM(opened(endpoint, concurrency=1), tmp_path / "cache")
        first, bad, last, *calls = asyncio.run(play(cache))
        asked = len(endpoint.bodies)
        asyncio.run(play(cache))
        again = len(endpoint.bodies) - asked
        cache.close()
    assert [c.texts for c in first] == [c.texts for c in last] == [("up",), ("up",)]
    assert isinstance(bad, BatchError)
    assert [type(answer) for answer in bad.answers] == [Completion, EndpointError]
    assert calls == [2, 1, 2]
    assert again == 1, "what was answered is in the cache, what failed is asked again"
