"""What the guard of every framework has to hold: real packages, scripted models and tools.

What one framework alone has is in a file of its own. Where a demand names frameworks, the others have nothing of the
kind: DSPy's programs call one tool after the other, and smolagents and synchronous runs cannot be cancelled.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from tape.errors import ConfigError
from tape.guard.guard import Guard
from tests.places import ROOT
from tests.tape.adapters.drivers import ASYNC, NEEDS, driver_of
from tests.tape.adapters.drivers.base import Driver
from tests.tape.adapters.drivers.scripted import (
    MODELS,
    TOOLS,
    Truth,
    Turn,
    await_what_was_left,
    exactly,
    guard_of,
    no_overspend,
    truth_of,
)
from tests.tape.lm.endpoint import Endpoint

some = pytest.mark.parametrize


def only(*names: str) -> Any:
    """These frameworks alone."""
    return pytest.mark.parametrize("driver", names, indirect=True)


def but(*names: str) -> Any:
    """All but these."""
    return only(*(name for name in NEEDS if name not in names))


def test_every_call_is_counted_exactly(driver: Driver) -> None:
    truth, guard = truth_of(driver.use("quick"), *driver.end(completion=99)), guard_of("usd=1, steps=5")
    played = driver.play(truth, guard)
    assert played.answer == "done"
    assert played.answers[0] == "quick found it"
    assert truth.limits == [20] * truth.spent["calls"]  # the model writes no more than what is paid for
    assert not truth.script
    exactly(guard, truth)


def test_a_refused_tool_is_reported_and_another_one_taken(driver: Driver) -> None:
    truth, guard = truth_of(driver.use("deep"), driver.use("quick"), *driver.end()), guard_of("usd=0.045")
    refused, answered, *_ = driver.play(truth, guard).answers
    assert "deep was not called, nothing was spent" in refused
    assert 'What would fit: quick ({"steps": 1, "usd": 0.01})' in refused
    assert answered == "quick found it"
    assert truth.called == ["quick"]
    exactly(guard, truth)


@some("cap", ["calls=1", "tokens", "usd"])
def test_a_refused_model_call_ends_the_run(driver: Driver, cap: str) -> None:
    budget = {"tokens": f"tokens={driver.tokens}", "usd": f"usd={driver.tokens / 1e6}, steps=99"}.get(cap, cap)
    turns = [driver.use("quick", prompt=500) for _ in range(50)]
    truth, guard = truth_of(*turns), guard_of(budget, tools={"quick": {"usd": 0}})
    refused = driver.play(truth, guard).refused
    assert "nothing was spent" in refused or "of the guard ledger" in refused
    assert cap.partition("=")[0] in refused
    assert 0 < truth.spent["calls"] < 50
    assert guard.ledger.used["calls"] == truth.spent["calls"]
    assert guard.ledger.used["tokens"] == truth.spent["tokens"]


@but("dspy", "dspy:async")
@some("budget", ["steps=4, usd=1", "usd=0.0499, steps=9"])
def test_parallel_calls_share_the_budget(driver: Driver, budget: str) -> None:
    truth, guard = truth_of(driver.use(*["quick"] * 8), *driver.end()), guard_of(budget)
    answers = "\n".join(driver.play(truth, guard).answers)
    assert answers.count("quick found it") == len(truth.called) == 4
    assert answers.count("was not called") == 4
    exactly(guard, truth)


def test_each_attempt_of_a_retry_is_paid_for_and_none_is_made_that_does_not_fit(driver: Driver) -> None:
    truth, guard = truth_of(Turn(fails=True), Turn(fails=True), *driver.end()), guard_of("calls=5")
    assert driver.play(truth, guard, retries=5).answer == "done"
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 2 + len(driver.end())
    no_overspend(guard, truth)  # what failed counts as its worst case
    truth, guard = truth_of(*[Turn(fails=True)] * 9), guard_of("calls=2")
    assert "calls" in driver.play(truth, guard, retries=5).refused
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 2
    no_overspend(guard, truth)


def test_without_retries_a_failed_call_is_one_and_its_error_arrives(driver: Driver) -> None:
    truth, guard = truth_of(*[Turn(fails=True)] * 9), guard_of("calls=9")
    with pytest.raises(driver.failed):
        driver.ask(truth, guard)
    assert truth.spent["calls"] == guard.ledger.used["calls"]
    no_overspend(guard, truth)


@some("tool", ["fails", "broke", "metered"])
def test_a_tool_costs_its_worst_case_or_what_it_reports(driver: Driver, tool: str) -> None:
    truth, guard = truth_of(driver.use(tool), *driver.end()), guard_of("usd=1")
    with suppress(Exception):  # some tell the model of a failure
        driver.play(truth, guard)
    assert truth.called == [tool]
    exactly(guard, truth)


def worst_of(driver: Driver, **options: Any) -> int:
    """The worst case of one call of a model, which counts where it does not report its usage."""
    truth, guard = truth_of(Turn("x", reports=False)), guard_of("calls=1")
    driver.ask(truth, guard, **options)
    no_overspend(guard, truth)
    return guard.ledger.used["tokens"] or 0


@pytest.mark.filterwarnings("ignore:Pydantic serializer")
def test_a_report_that_is_none_is_the_worst_case_and_the_answer_arrives(driver: Driver) -> None:
    worst = worst_of(driver)
    assert worst > 64
    for usage in driver.usages:
        truth, guard = truth_of(Turn("x", usage=usage)), guard_of("usd=1")
        assert "x" in driver.ask(truth, guard).answer, usage
        assert guard.ledger.used["tokens"] == worst, usage
        assert not guard.ledger.reserved["tokens"], usage


@some("limit", [None, 7])
def test_completions_are_limited_to_what_is_paid_for(driver: Driver, limit: int | None) -> None:
    truth, guard = truth_of(Turn("x", completion=10**6)), guard_of("tokens=30000")
    driver.ask(truth, guard, limit=limit)
    assert truth.limits == [limit or 20]
    exactly(guard, truth)


def test_formats_are_part_of_what_is_paid_for(driver: Driver) -> None:
    cap = worst_of(driver) + 1000
    truth, guard = truth_of(Turn('{"place": "Bern"}'), Turn("x")), guard_of(f"tokens={cap}")
    assert "tokens" in driver.ask(truth, guard, wide=True).refused
    assert truth.spent["calls"] == 0
    wider = guard_of(f"tokens={cap + 9000}")
    assert not driver.ask(truth, wider, wide=True).refused
    exactly(wider, truth)
    driver.ask(truth, guard)
    assert guard.ledger.used["calls"] == 1


def test_a_nested_agent_has_to_fit_into_both(driver: Driver) -> None:
    outer, inner = truth_of(driver.use("ask"), *driver.end()), truth_of(*[driver.use("quick")] * 9)
    guard = guard_of("usd=1, calls=9")
    played = driver.nest(outer, guard, inner, guard.within("calls=3", name="helper"))
    assert played.answer.endswith("done")
    assert "calls of the helper ledger" in played.answers[0]
    assert inner.spent["calls"] == 3
    exactly(guard, outer, inner, kinds=("usd", "tokens", "calls"))

    outer, inner = truth_of(driver.use("ask"), *driver.end()), truth_of(*[driver.use("quick")] * 9)
    guard = guard_of("usd=0.025, calls=99")
    played = driver.nest(outer, guard, inner, guard.within("usd=1", name="helper"))
    assert inner.called == ["quick"] * 2
    no_overspend(guard, outer, inner)


def test_a_stream_is_one_call(driver: Driver) -> None:
    truth, guard = truth_of(Turn("here it is"), Turn("more")), guard_of("calls=1, usd=1")
    assert asyncio.run(driver.stream(truth, guard)).strip() == "here it is"
    exactly(guard, truth)
    with suppress(Exception):
        assert "more" not in asyncio.run(driver.stream(truth, guard))
    assert truth.spent["calls"] == 1
    exactly(guard, truth)


@but("inspect", "dspy", "dspy:async")
@pytest.mark.usefixtures("collected")
def test_a_stream_that_is_left_costs_its_worst_case(driver: Driver) -> None:
    truth, guard = truth_of(Turn("a long text without a reader")), guard_of("tokens=90000")
    assert asyncio.run(driver.stream(truth, guard, most=1)).startswith("a")
    await_what_was_left(guard)
    no_overspend(guard, truth)


LEFT = """
import asyncio
from tests.tape.adapters.drivers import driver_of
from tests.tape.adapters.test_guards import Turn, await_what_was_left, guard_of, no_overspend, truth_of

truth, guard = truth_of(Turn("a long text without a reader")), guard_of("tokens=90000")
assert asyncio.run(driver_of("dspy").stream(truth, guard, most=1)).startswith("a")
await_what_was_left(guard)
no_overspend(guard, truth)
"""


def test_so_does_one_of_dspy_whose_frames_pytest_keeps() -> None:
    driver_of("dspy")
    subprocess.run([sys.executable, "-c", LEFT], check=True, cwd=ROOT)


@only(*ASYNC)
@some("where", ["model", "tool"])
def test_a_cancelled_call_costs_its_worst_case(driver: Driver, where: str) -> None:
    truth, guard = truth_of(driver.use("slow"), *driver.end()), guard_of("usd=1, tokens=90000")

    async def cancelled() -> None:
        gate = (lambda: asyncio.Event().wait()) if where == "model" else None
        task = asyncio.create_task(driver.run(truth, guard, gate=gate))
        while not (truth.limits if where == "model" else truth.called):
            await asyncio.sleep(0.001)
        assert guard.ledger.reserved["tokens" if where == "model" else "usd"]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    no_overspend(guard, truth)
    assert guard.ledger.used["tokens"] > 64 if where == "model" else truth.called == ["slow"]


def test_threads_share_a_guard(driver: Driver) -> None:
    truth, guard = truth_of(*[Turn("x")] * 40), guard_of("calls=17")

    def ask() -> None:
        while not driver.ask(truth, guard).refused:
            pass

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(ask) for _ in range(4)]:
            done.result()
    assert truth.spent["calls"] == 17
    exactly(guard, truth)


@but("smolagents")
def test_what_the_provider_runs_is_refused(driver: Driver) -> None:
    truth, guard = truth_of(Turn("Never.")), guard_of("calls=1")
    with pytest.raises(ConfigError, match=driver.hosted):
        driver.ask(truth, guard, hosted=True)
    assert truth.spent["calls"] == 0


def test_calls_without_a_price_are_refused(driver: Driver) -> None:
    truth, guard = truth_of(driver.use("quick"), *driver.end()), Guard("usd=1", models=MODELS)
    assert "declare it" in driver.play(truth, guard).answers[0]
    assert not truth.called
    truth, guard = truth_of(*driver.end()), Guard("usd=1", tools=TOOLS)
    assert "usd" in driver.play(truth, guard).refused
    assert truth.spent["calls"] == 0


def test_an_image_is_refused_or_bounded(driver: Driver) -> None:
    """An image costs $0.06 that 50 bytes name: refused under a cap, unless its worst case is declared and fits."""

    def asked(part: Any, budget: str, **more: Any) -> tuple[str, Truth, Guard]:
        truth, guard = truth_of(Turn("A river.", prompt=60_000)), guard_of(budget, **more)
        return driver.ask(truth, guard, part=part).refused, truth, guard

    for part in driver.parts:
        for budget, cap in (("usd=0.02", "usd is capped"), ("tokens=20000", "tokens is capped")):
            refused, truth, guard = asked(part, budget)
            assert cap in refused
            assert 'declare the most that one takes, Guard(..., content={"image": ' in refused
            assert truth.spent["calls"] == 0
            assert not guard.ledger.used["usd"]
        refused, truth, guard = asked(part, "usd=0.02", content={"image": 60_000})
        assert "cap of at least" in refused
        assert truth.spent["calls"] == 0
        for budget, more in (("usd=0.10", {"content": {"image": 60_000}}), ("calls=1", {})):
            refused, truth, guard = asked(part, budget, **more)
            assert not refused
            assert truth.spent["calls"] == 1
            exactly(guard, truth)


CLIENTS = [
    ("pydantic_ai", "chat"), ("pydantic_ai", "responses"), ("openai_agents", "chat"), ("openai_agents", "responses"),
    ("smolagents", "openai"), ("dspy", "lm15"), ("inspect", "completions"), ("inspect", "responses"),
]  # fmt: skip
SLOW_CLIENTS = [("smolagents", "litellm"), ("smolagents", "router"), ("dspy", "litellm")]


@some(
    ("driver", "kind"),
    [*CLIENTS, *(pytest.param(*client, marks=pytest.mark.slow) for client in SLOW_CLIENTS)],
    indirect=["driver"],
)
def test_clients_of_providers_do_not_retry_behind_the_guard(driver: Driver, kind: str) -> None:
    guard = guard_of("calls=1", models=MODELS | {"openai/scripted": ("1", "1")})
    with Endpoint(lambda body: ["hello"], ["500"], forever=True) as endpoint:
        with pytest.raises(Exception, match=r"500|oops|calls of the guard"):
            asyncio.run(driver.client(kind, endpoint.url, guard))
        [body] = endpoint.bodies
    assert guard.ledger.used["calls"] == 1
    assert 20 in (body.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens"))
