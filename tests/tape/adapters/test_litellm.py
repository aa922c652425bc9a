"""The budget of LiteLLM's proxy, its hooks called as the proxy does; the proxy is simulated here.

``test_litellm_proxy.py`` has a real one.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("litellm")
pytest.importorskip("fastapi")

import litellm
from fastapi import HTTPException
from litellm.exceptions import BadRequestError, InternalServerError, RateLimitError

from tape.adapters import litellm_requests as requests
from tape.adapters.litellm import ProxyBudget
from tape.budget import Cap, Resources, StorePayer, open_store
from tape.budget.contract import HoldRecord
from tests.tape.adapters.litellm_router import CHEAP, DEAR, Router

KEY = SimpleNamespace(team_alias=None, team_id="team", key_alias="alice", token="0" * 64)


class Proxy:
    """Calls the hooks, in the order of the proxy."""

    def __init__(self, ledger: Path) -> None:
        self.budget, self.ledger = ProxyBudget(), f"file://{ledger}"

    async def begin(self, sort: str = "acompletion", session: str = "s", **body: Any) -> dict[str, Any]:
        """Up to where it is sent; a field that is ``...`` is left out."""
        asked = {"model": "cheap", "messages": [{"role": "user", "content": "Where?"}], "max_tokens": 100, **body}
        data = {name: value for name, value in asked.items() if value is not ...}
        data["proxy_server_request"] = {"headers": {"X-Tape-Session": session} if session else {}}
        data["metadata"] = {"headers": {}}
        return dict(await self.budget.async_pre_call_hook(KEY, None, data, sort))

    async def send(self, data: dict[str, Any], model: str = "openai/cheap", sort: str = "acompletion") -> Any:
        """Send it to a deployment."""
        kind = SimpleNamespace(value=sort)
        return await self.budget.async_pre_call_deployment_hook({**data, "model": model}, kind)

    async def answer(self, prompt: int | None, completion: int | None) -> None:
        """Answer it."""
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        await self.budget.async_post_call_success_deployment_hook({}, None, None)
        await self.budget.async_post_call_success_hook({}, KEY, SimpleNamespace(usage=usage))

    def ask(self, model: str = "openai/cheap", prompt: int = 20, completion: int = 5, **asked: Any) -> None:
        """A whole call."""

        async def work() -> None:
            await self.send(await self.begin(**asked), model)
            await self.answer(prompt, completion)

        asyncio.run(work())

    def cap(self, account: str, usd: int) -> None:
        """What a person changes in the ledger."""
        store = open_store(self.ledger)
        store.set_cap(Cap(account, "usd", usd), "a person", "changed")
        store.close()

    async def fail(self, error: Exception) -> None:
        """The end of a call that has failed."""
        await self.budget.async_post_call_failure_hook({}, error, KEY)

    def holds(self) -> list[HoldRecord]:
        """All of them, the first one first."""
        while self.budget._ending:
            pass
        store = open_store(self.ledger)
        records = list(store.history())[::-1]
        store.close()
        return records

    def tokens(self) -> list[Any]:
        """What is booked for each, or that it is the worst case, or that it is held."""
        return [
            "held" if hold.state == "held" else "worst" if hold.spent == hold.worst else hold.spent.get("tokens") or 0
            for hold in self.holds()
        ]


@pytest.fixture
def proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    made = Proxy(tmp_path / "ledger")
    settings = {"ledger": made.ledger, "scope": "org", "session": "$0.001"}
    monkeypatch.setattr(litellm, "callback_settings", {"tape": settings})
    router = Router(("cheap", "openai/cheap", CHEAP), ("dear", "openai/dear", DEAR))
    monkeypatch.setattr(requests, "_router", lambda: router)
    yield made
    made.budget._threads.shutdown()
    made.budget._ends.shutdown()


def refusal(work: Awaitable[Any]) -> dict[str, Any]:
    """What the proxy would answer."""

    async def ask() -> dict[str, Any]:
        with pytest.raises(HTTPException) as caught:
            await work
        assert isinstance(caught.value.detail, dict)
        return {"status": caught.value.status_code, **caught.value.detail}

    return asyncio.run(ask())


def test_a_call_is_settled_by_what_is_reported(proxy: Proxy) -> None:
    proxy.ask()
    (hold,) = proxy.holds()
    assert hold.scope == "org/team/alice/s"
    assert hold.spent["tokens"] == 25
    assert hold.spent["usd"] == 30


async def _answers_without_usage(proxy: Proxy) -> None:
    await proxy.answer(None, None)


async def _fails_at_the_provider(proxy: Proxy) -> None:
    await proxy.fail(RateLimitError("busy", llm_provider="openai", model="cheap"))


async def _fails_late_at_the_provider(proxy: Proxy) -> None:
    await proxy.fail(InternalServerError("broken", llm_provider="openai", model="cheap"))


async def _is_stopped_by_the_proxy(proxy: Proxy) -> None:
    await proxy.fail(HTTPException(400, "a word that is not allowed"))


async def _is_stopped_after_the_answer(proxy: Proxy) -> None:
    await proxy.budget.async_post_call_success_deployment_hook({}, None, None)
    await proxy.fail(BadRequestError("a word that is not allowed", llm_provider="openai", model="cheap"))


@pytest.mark.parametrize(
    ("ends", "sent", "booked"),
    [
        (_answers_without_usage, True, "worst"),
        (_fails_at_the_provider, True, 0),
        (_fails_late_at_the_provider, True, "worst"),
        (_is_stopped_by_the_proxy, True, "worst"),
        (_is_stopped_by_the_proxy, False, 0),
        (_is_stopped_after_the_answer, True, "worst"),
    ],
)
def test_what_is_not_reported_is_the_worst_case(
    proxy: Proxy, ends: Callable[[Proxy], Awaitable[None]], sent: bool, booked: Any
) -> None:
    async def work() -> None:
        data = await proxy.begin()
        if sent:
            await proxy.send(data)
        await ends(proxy)

    asyncio.run(work())
    assert proxy.tokens() == [booked]


def test_a_call_that_the_proxy_forgets_is_booked_at_its_worst(proxy: Proxy) -> None:
    async def forgotten() -> None:
        await proxy.send(await proxy.begin())

    asyncio.run(forgotten())
    gc.collect()
    proxy.ask()
    assert proxy.tokens() == ["worst", 25]


def test_a_stream_is_settled_at_its_end_and_its_usage_is_kept_from_who_has_not_asked(proxy: Proxy) -> None:
    end = SimpleNamespace(usage={"prompt_tokens": 20, "completion_tokens": 2}, choices=[])

    async def stream() -> AsyncIterator[Any]:
        for word in ("a", "b"):
            yield SimpleNamespace(usage=None, choices=[{"delta": {"content": word}}])
        yield end

    async def work(*, reads: int, **body: Any) -> int:
        data = await proxy.begin(stream=True, **body)
        assert data["stream_options"]["include_usage"]
        await proxy.send(data)
        index = 0
        passed = proxy.budget.async_post_call_streaming_iterator_hook(KEY, stream(), data)
        async for _ in passed:
            index += 1
            if index == reads:
                await passed.aclose()
                break
        return index

    assert asyncio.run(work(reads=9)) == 2
    assert asyncio.run(work(reads=9, stream_options={"include_usage": True})) == 3
    assert asyncio.run(work(reads=1)) == 1
    assert proxy.tokens() == [22, 22, "worst"]


def test_a_call_is_limited_to_what_fits(proxy: Proxy) -> None:
    async def work() -> tuple[int, Mapping[str, str]]:
        data = await proxy.begin(max_tokens=5000)
        sent = await proxy.send({**data, "max_completion_tokens": 9000})  # as the proxy's YAML may say
        assert sent["max_retries"] == 0
        await proxy.answer(20, 5)
        headers = await proxy.budget.async_post_call_response_headers_hook(data, KEY, None)
        assert sent["max_completion_tokens"] == data["max_tokens"]
        return data["max_tokens"], headers

    limit, headers = asyncio.run(work())
    assert 16 <= limit < 5000
    assert headers == {"x-tape-max-tokens": str(limit)}


def test_a_refusal_says_what_would_do(proxy: Proxy) -> None:
    said = refusal(proxy.begin(model="dear", messages=[{"role": "user", "content": "x" * 200}]))
    assert (said["status"], said["type"], said["resource"]) == (402, "budget_exceeded", "usd")
    assert (said["cap"], said["left"], said["would_fit"]) == (0.001, 0.001, ["cheap"])
    assert said["cap_needed"] == said["requested"] > said["cap"]
    assert said["scope"] == "org/team/alice/s"
    assert proxy.holds() == []


def test_a_part_that_nothing_bounds_is_named_also_where_the_ledger_has_the_cap(proxy: Proxy) -> None:
    proxy.cap("org/team/alice/s", 1000)
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    said = refusal(proxy.begin(messages=[{"role": "user", "content": [image]}]))
    assert (said["status"], said["type"]) == (400, "not_payable")
    assert "image_url" in said["message"]


def test_what_has_just_ended_gives_room(proxy: Proxy) -> None:
    for _ in range(3):
        proxy.ask(max_tokens=300)
    assert proxy.tokens() == [25, 25, 25]
    assert {hold.worst["tokens"] for hold in proxy.holds()} == {proxy.holds()[0].worst["tokens"]}


def test_another_time_and_another_model_are_paid_for(proxy: Proxy) -> None:
    async def again() -> None:
        data = await proxy.begin(max_tokens=20)
        await proxy.send(data)
        error = InternalServerError("broken", llm_provider="openai", model="cheap")
        await proxy.budget.async_log_failure_event({"exception": error}, None, None, None)
        await proxy.send(data)
        await proxy.answer(20, 5)

    async def within() -> None:
        data = await proxy.begin("aresponses", "u", max_tokens=..., max_output_tokens=20, messages=..., input="Where?")
        await proxy.send(data, sort="aresponses")
        await proxy.send(data, "cheap", sort="acompletion")
        await proxy.answer(20, 5)

    asyncio.run(again())
    proxy.ask("openai/dear", 20, 1, session="t", max_tokens=1)
    asyncio.run(within())
    assert proxy.tokens() == ["worst", 25, 0, 21, 25]
    assert [hold.name for hold in proxy.holds()][2:4] == ["openai/cheap", "openai/dear"]


def test_what_nobody_has_paid_for_is_not_sent(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(proxy.send({}))["status"] == 402
    assert asyncio.run(proxy.send({"a": 1}, sort="alist_batches"))["a"] == 1
    monkeypatch.setitem(litellm.callback_settings["tape"], "unreserved", True)
    proxy.budget._settings = None
    assert asyncio.run(proxy.send({"a": 1}))["a"] == 1


def test_calls_without_a_session_share_one_and_a_cap_that_was_changed_holds(proxy: Proxy) -> None:
    proxy.cap("org/team/alice/no-session", 5)
    said = refusal(proxy.begin(session=""))
    assert (said["scope"], said["cap"]) == ("org/team/alice/no-session", 0.000005)


def test_tools_and_models_have_one_budget(proxy: Proxy) -> None:
    proxy.ask(max_tokens=20)
    proxy.holds()
    store = open_store(proxy.ledger)
    payer = StorePayer(store, "org/team/alice/s")  # as tape gateway pays for a tool
    payer.settle(payer.reserve(Resources({"usd": 900})), Resources({"usd": 900}))
    store.close()
    said = refusal(proxy.begin(max_tokens=20))
    assert (said["left"], said["cap"]) == (0.00007, 0.001)


def test_scopes_are_closed_when_they_are_too_many(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tape.adapters.litellm.MOST_GUARDS", 2)

    for session in ("a", "b", "c", "a"):
        proxy.ask(session=session)
    assert len(proxy.budget._guards) == 2
    assert proxy.tokens() == [25] * 4
