"""What calls of hosted models cost: caps, cancelled calls, prices; and what is tried again where an endpoint fails."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.environment import SokobanEnvironment
from tape.agents.open_loop import OpenLoopAgent
from tape.budget import Budget, Ledger, Resources
from tape.errors import BudgetExceededError, ConfigError
from tape.lm.accounting import AccountedLM
from tape.lm.base import (
    FREE,
    BatchError,
    Completion,
    EndpointError,
    OneOf,
    Request,
    Usage,
    cost_of,
    most_completion_tokens,
    worst_case,
)
from tape.lm.batching import EpisodeBatch
from tape.lm.cache import CachedLM
from tape.lm.hosted.limits import EndpointLimits
from tape.lm.hosted.model import HostedLM
from tape.lm.hosted.providers import ANTHROPIC, GEMINI, LLAMACPP, MISTRAL, OLLAMA, OPENAI, SGLANG, VLLM, is_here
from tape.protocols.result import EpisodeResult
from tests.profiles import examples
from tests.tape.helpers import CORRIDOR
from tests.tape.lm.endpoint import Endpoint
from tests.tape.lm.hosting import PRICE, PROMPT, ask, opened, replies

pytest.importorskip("openai")


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
    assert ledger.unproven == Resources({"tokens": ledger.used["tokens"]})


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


BOOKED = ["worst", "prompt", "nothing"]
AFTER = {"after_error": ["500", "503"], "after_no_answer": ["drop", "cut", "hang", "html"]}
REQUEST = Request(PROMPT, 20)


def asked(model: Any, ledger: Ledger) -> None:
    with suppress(BatchError):
        asyncio.run(AccountedLM(model, ledger).generate([REQUEST]))
    assert ledger.reserved == Resources()
    assert not ledger.overspent()
    assert not ledger.violations


def booked_for(model: HostedLM, booked: str, faults: int) -> Resources:
    """What is booked for calls that failed, without the calls."""
    prompt, completion = model.prompt_tokens(REQUEST), 20 if booked == "worst" else 0
    once = Resources() if booked == "nothing" else cost_of(model.price, prompt, completion, calls=0)
    return sum([once] * faults, Resources())


@pytest.mark.parametrize(
    ("provider", "argument", "after_error"),
    [
        (OPENAI, "m", "worst"),
        (MISTRAL, "m", "worst"),
        (ANTHROPIC, "m", "nothing"),
        (GEMINI, "m", "nothing"),
        (ANTHROPIC, "m@http://localhost:4000", "worst"),
        (GEMINI, "m@https://elsewhere.example/v1", "worst"),
        (GEMINI, "m#after_error=prompt", "prompt"),
        (OPENAI, "m@http://localhost:4000/v1", "worst"),
        *((own, "m", "nothing") for own in (VLLM, SGLANG, OLLAMA, LLAMACPP)),
        (VLLM, "m@http://127.0.0.1:9000/v1", "nothing"),
        (VLLM, "m@http://10.0.0.7:8000/v1", "worst"),
        (VLLM, "m@http://10.0.0.7:8000/v1#price=0", "nothing"),
        (OLLAMA, "m#after_error=worst", "worst"),
    ],
)
def test_known_providers_are_declared_at_their_own_address(
    provider: Any, argument: str, after_error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(provider.key, "sk-canary-0123456789abcdef")
    monkeypatch.delenv(provider.url_variable, raising=False)
    limits = provider(argument).limits
    assert (limits.after_error, limits.after_no_answer) == (after_error, "worst")
    assert provider("n@http://localhost:1/v1", PRICE).limits == EndpointLimits(), (
        "whoever wants money may bill anything"
    )


def test_an_unknown_setting_is_refused_in_a_sentence() -> None:
    with pytest.raises(ConfigError, match="one of worst, prompt, nothing; got 'free'"):
        EndpointLimits(after_error="free")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"after_error and after_no_answer=worst\|prompt\|nothing"):
        OPENAI("m#after=nothing")


@given(
    st.lists(st.sampled_from(["", "429", "500", "503", "drop", "cut", "html", "no usage", "bad request"]), max_size=5),
    *[st.sampled_from(BOOKED)] * 2,
    st.integers(1, 4),
)
@examples(60)
@pytest.mark.filterwarnings("ignore::tape.errors.EndpointWarning")
def test_no_sequence_of_faults_exceeds_a_cap(faults: list[str], error: str, no_answer: str, calls: int) -> None:
    with Endpoint(replies("up"), faults) as endpoint:
        model = opened(endpoint, price=PRICE, after_error=error, after_no_answer=no_answer)
        worst = worst_case(model, REQUEST)
        ledger = Ledger(Budget({kind: (worst[kind] or 0) * calls for kind in worst}))
        asked(model, ledger)
    sent = [fault for fault, _ in zip([*faults, ""], endpoint.bodies, strict=False)]
    failed = [sum(fault in AFTER[setting] for fault in sent) for setting in AFTER]
    unreported = booked_for(model, "worst", sent.count("no usage"))
    assert ledger.unproven == booked_for(model, error, failed[0]) + booked_for(model, no_answer, failed[1]) + unreported
    ledger.settle_unproven(ledger.unproven, Resources())
    answer = cost_of(PRICE, 4, 1, calls=0) if sent[-1] == "" else Resources()
    assert Resources({kind: count for kind, count in ledger.used.items() if kind != "calls"}) == answer


def test_a_user_who_learns_what_the_faults_cost_gets_the_rest_back_in_the_enclosing_ledger() -> None:
    team = Ledger(Budget.of(usd="0.10"), name="team")
    with Endpoint(replies("up"), ["503", "drop", "500"], forever=True) as endpoint:
        model = opened(endpoint, price=PRICE, retries=2)
        result = OpenLoopAgent(model, num_plans=1).run(SokobanEnvironment(CORRIDOR, 2), parent=team)
    assert (result.end_state, result.used["calls"]) == ("model_error", 3)
    assert "tried 3 times" in result.detail
    whole = result.used["usd"]
    assert result.unproven == {kind: result.used[kind] for kind in ("tokens", "usd")}
    assert team.unproven == Resources(result.unproven)
    assert team.remaining("usd") == 100_000 - whole
    read = EpisodeResult.model_validate_json(result.model_dump_json())
    with pytest.raises(
        ConfigError, match="seconds: 1 s cannot be settled, since of this episode 0 s is booked without"
    ):
        result.settle({"usd": "0.001", "seconds": 1}, parent=team)
    assert (team.remaining("usd"), result) == (100_000 - whole, read)
    result.settle({"usd": "0.001"}, parent=team)
    assert (result.used["usd"], result.paid["usd"], result.used["tokens"], result.used["calls"]) == (1000, 1000, 0, 3)
    assert (team.used, team.remaining("usd"), team.unproven) == (Resources(result.used), 99_000, Resources())
    assert "unproven" not in result.model_dump()
    for again in (result, read):
        with pytest.raises(ConfigError, match="what is settled once is proven"):
            again.settle({"usd": "0.001"}, parent=team)
    assert team.remaining("usd") == 99_000
    read.budget = {"usd": 1_000}
    read.settle("usd=0.002")
    assert (read.used["usd"], read.budget_violations) == (2_000, ["usd"]), "a bill above a cap shows"


UNREAD = ["html", "garbage", "list", "no choices", "odd choices"]
RETRIED = ["429", "500", "503", "cut", "drop", "hang", *UNREAD]


@pytest.mark.parametrize("fault", RETRIED)
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
