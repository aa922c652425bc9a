"""``/metrics``: what Prometheus reads is what was called, refused, spent and held."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Cap, HoldRequest, LedgerError, Period, amount_of, open_store
from tape.gateway.books import scope_of
from tape.gateway.gateway import Caller, Gateway
from tape.gateway.metrics import KIND, Metrics, text_of
from tests.tape.gateway.exposition import parsed
from tests.tape.gateway.helpers import WHO, ask, call, gateway_on, reading, write_config
from tests.tape.gateway.over_http import opened, requested, serving_here
from tests.tape.gateway.test_calls import CONFIG
from tests.tape.gateway.test_http import CONFIG as OF_CLIENTS
from tests.tape.gateway.test_http import TOKENS, in_session
from tests.tape.gateway.test_processes import called

Read = dict[tuple[str, frozenset[tuple[str, str]]], float]


def value(numbers: Read, name: str, **labels: str) -> float | None:
    return numbers.get((f"tape_gateway_{name}", frozenset(labels.items())))


def metrics_of(gateway: Gateway) -> Metrics:
    metrics = Metrics(gateway)
    gateway.watchers.append(metrics)
    return metrics


async def read(metrics: Metrics) -> Read:
    kind, text = await metrics.page()
    assert kind == KIND
    return parsed(text)


def get(address: str, token: str, method: str = "GET", **headers: str) -> tuple[int, str, str]:
    status, given, text = requested(address, method, "/metrics", Authorization=f"Bearer {token}", **headers)
    return status, given.get("content-type", ""), text


def test_a_client_calls_and_prometheus_reads(tmp_path: Path) -> None:
    file = write_config(tmp_path, CONFIG)
    with serving_here(file) as address:
        token = file.with_suffix(".token").read_text().strip()
        dear = ("dear", {"text": "x"})
        called(file, address, dear, ("usage", {"usd": 0.05}), dear, ("no such tool" * 20, {}), ("budget", {}))
        status, kind, text = get(address, token)
        assert (status, kind) == (200, KIND)
        numbers = parsed(text)
        assert get(address, "0" * 43)[0] == 401
        assert get(address, token, Origin="http://example.org")[0] == 403
        assert get(address, token, method="POST")[0] != 200
    assert value(numbers, "calls_begun_total", tool="dear") == 1
    assert value(numbers, "calls_ended_total", tool="usage", state="settled") == 1
    assert value(numbers, "refusals_total", tool="dear", error="budget_exceeded", scope="session") == 1
    assert value(numbers, "refusals_total", tool="(unknown)", error="unknown_tool") == 1
    assert value(numbers, "overspend_total", resource="usd") == 0.02
    assert value(numbers, "call_seconds_count", tool="dear") == 1
    for labels in ({"scope": "run"}, {"scope": "client", "client": "local"}):
        assert value(numbers, "spent", resource="usd", **labels) == 0.09
        assert value(numbers, "spent", resource="steps", **labels) == 2
        assert value(numbers, "held", resource="usd", **labels) == 0
    assert value(numbers, "cap", resource="usd", scope="run") == 0.3
    assert value(numbers, "left", resource="usd", scope="client", client="local") == 0.11
    assert value(numbers, "used_share", resource="usd", scope="run") == 0.3
    assert (value(numbers, "oldest_hold_seconds"), value(numbers, "journal_readable")) == (0, 1)


def test_of_named_clients_only_those_that_watch_may_read(tmp_path: Path) -> None:
    config = OF_CLIENTS.replace('token_env = "TWO"', 'token_env = "TWO"\nwatch = true\nbudget = { steps = 0 }')
    with serving_here(write_config(tmp_path, config), **TOKENS) as address:
        assert in_session(address, opened(address, TOKENS["ONE"])[1]) is None
        assert get(address, TOKENS["ONE"])[0] == 401
        numbers = parsed(get(address, TOKENS["TWO"])[2])
        assert in_session(address, opened(address, TOKENS["TWO"])[1], "TWO") == "client"  # and makes no calls
    assert value(numbers, "spent", resource="usd", scope="client", client="one") == 0.01


async def test_what_is_open_is_held_and_has_an_age(tmp_path: Path) -> None:
    async with gateway_on(tmp_path, CONFIG) as gateway, gateway_on(tmp_path, CONFIG) as other:
        metrics, theirs = metrics_of(gateway), metrics_of(other)
        waiting = asyncio.create_task(call(other, "wait"))
        while value(await read(theirs), "held", resource="usd", scope="run") != 0.04:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        for item in (metrics, theirs):  # of this gateway, or of another one on the same journal
            numbers = await read(item)
            assert value(numbers, "held", resource="usd", scope="client", client="local") == 0.04
            assert value(numbers, "left", resource="usd", scope="run") == 0.26
            assert 0.05 <= (value(numbers, "oldest_hold_seconds") or 0) < 60
        waiting.cancel()
        await asyncio.wait([waiting])
        numbers = await read(theirs)
        assert value(numbers, "calls_ended_total", tool="wait", state="booked") == 1
        assert value(numbers, "oldest_hold_seconds") == 0


async def test_what_the_journal_cannot_say_is_said(tmp_path: Path) -> None:
    async with gateway_on(tmp_path, CONFIG) as gateway:
        metrics = metrics_of(gateway)
        await call(gateway, "dear", text="x")
        await read(metrics)
        (tmp_path / "gateway.journal.jsonl").rename(tmp_path / "away")
        numbers = await read(metrics)
        assert value(numbers, "journal_readable") == 0
        assert value(numbers, "spent", resource="usd", scope="run") == 0.04
        (tmp_path / "away").rename(tmp_path / "gateway.journal.jsonl")
        assert value(await read(metrics), "journal_readable") == 1


async def test_neither_sessions_nor_accounts_nor_strange_tools_become_labels(tmp_path: Path) -> None:
    async with gateway_on(tmp_path, CONFIG) as gateway:
        metrics = metrics_of(gateway)
        for number in range(20):
            await call(gateway, f"tool-{number}", Caller("local", f"session-{number}"))
            await ask(gateway, "cheap", Caller("local", f"session-{number}"), text="x")
        gateway.busy(WHO, "cheap", "too many")

        async def refuse() -> None:
            raise LedgerError("no")

        gateway.gates.append(refuse)
        await call(gateway, "cheap", text="x")
        numbers = await read(metrics)
    assert value(numbers, "refusals_total", tool="(unknown)", error="unknown_tool") == 20
    assert value(numbers, "refusals_total", tool="cheap", error="busy") == 1
    assert value(numbers, "refusals_total", tool="cheap", error="ledger") == 1
    values = {text for _, labels in numbers for name, text in labels if name != "le"}
    assert not [text for text in values if "session-" in text or "tool-" in text or "gateway/" in text]


async def test_the_caps_of_a_shared_ledger_are_among_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"file://{tmp_path}/org.ledger"
    store = open_store(url)
    store.set_cap(Cap("org", "usd", 200_000, Period.parse("day@Europe/Berlin")), "anna", "")
    store.set_cap(Cap("org/desk", "calls", 0), "anna", "")
    names = ("cap", "left", "used_share")
    async with gateway_on(tmp_path, f'{CONFIG}[ledger]\nurl = "{url}"\nscope = "org/desk"\n') as gateway:
        metrics, daily = metrics_of(gateway), {"account": "org", "per": "day@Europe/Berlin", "resource": "usd"}
        store.reserve(HoldRequest("one", "org/other", {"usd": 50_000}))
        store.settle("one", {"usd": 30_000})
        numbers = await read(metrics)
        assert [value(numbers, name, scope="ledger", **daily) for name in names] == [0.2, 0.17, 0.15]
        nothing = {"account": "org/desk", "per": "total", "resource": "calls"}
        assert [value(numbers, name, scope="ledger", **nothing) for name in names] == [0, 0, 1]

        def away(*_: object) -> None:
            raise LedgerError("it does not answer")

        assert gateway.ledgers.payer is not None
        monkeypatch.setattr(gateway.ledgers.payer.store, "read", away)
        numbers = await read(metrics)
        assert value(numbers, "cap", scope="ledger", **daily) is None
        assert value(numbers, "journal_readable") == 1


async def playing(folder: Path, seed: int) -> None:
    """Calls of several sessions at once, some of which are cut off; then compare every sum with the journal's."""
    rng = Random(seed)
    async with gateway_on(folder, CONFIG) as gateway:
        metrics, told = metrics_of(gateway), Counter[str]()

        async def one() -> None:
            tool = rng.choice(["cheap", "dear", "fail", "usage", "wait", "free", "nothing"])
            arguments: dict[str, Any] = {"usd": rng.choice([0.0, 0.02, 0.05])} if tool == "usage" else {"text": "x"}
            who = Caller("local", rng.choice(["a", "b"]))
            fields = call(gateway, tool, who, **arguments)
            try:
                made = await asyncio.wait_for(fields, 0.02 if tool == "wait" else 20)
            except TimeoutError:
                return
            told.update([(made.get("structuredContent") or {}).get("error", "")])

        await asyncio.gather(*(one() for _ in range(rng.randint(1, 25))))
        numbers = await read(metrics)
        run, client = reading(gateway), reading(gateway, scope_of("local"))
    store = open_store(f"file://{folder / 'gateway.journal.jsonl'}")
    holds = store.history("", 10_000)
    store.close()
    for kind in ("usd", "steps"):
        spent = sum(hold.spent.get(kind, 0) for hold in holds)
        for labels, ledger in (({"scope": "run"}, run), ({"scope": "client", "client": "local"}, client)):
            assert (value(numbers, "spent", resource=kind, **labels) or 0) == float(amount_of(kind, spent))
            assert spent == (ledger.spent[kind] or 0)
    over = sum(max(0, hold.spent.get("usd", 0) - (hold.worst.get("usd") or 0)) for hold in holds)
    assert (value(numbers, "overspend_total", resource="usd") or 0) == float(amount_of("usd", over))
    states = Counter((hold.name, hold.state) for hold in holds if hold.spent or hold.state != "voided")
    ended = {
        (dict(labels)["tool"], dict(labels)["state"]): count
        for (name, labels), count in numbers.items()
        if name == "tape_gateway_calls_ended_total"
    }
    assert ended == states
    for error in {*told} - {""}:
        refused = [n for (name, labels), n in numbers.items() if ("error", error) in labels]
        assert sum(refused) == told[error]


@pytest.mark.parametrize("seed", range(6))
def test_all_sums_are_those_of_the_journal(tmp_path: Path, seed: int) -> None:
    asyncio.run(playing(tmp_path, seed))


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,9}", fullmatch=True), st.text(), max_size=4))
def test_any_text_can_be_a_label(labels: dict[str, str]) -> None:
    numbers = parsed(text_of([("spent", tuple(labels.items()), 1.5)]))
    expected = {name: text for name, text in labels.items() if text}  # an empty label is none
    assert value(numbers, "spent", **expected) == 1.5
    assert len(numbers) == 1


@pytest.mark.parametrize("number", [0, 1, 0.1, 1e-7, 1e22, 10**30, 123456789.123456789])
def test_numbers_are_exact(number: float) -> None:
    assert value(parsed(text_of([("spent", (), number)])), "spent") == float(number)
