"""Guards under attack: at random, whatever agents, clients and readers of a framework may do under a budget."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from tape.guard.guard import Guard
from tests.tape.adapters.drivers import ASYNC, driver_of
from tests.tape.adapters.drivers.base import Ask, Driver
from tests.tape.adapters.drivers.scripted import Truth, Turn, await_what_was_left, guard_of, no_overspend, truth_of
from tests.tape.gateway.helpers import record

BUDGETS = (
    "usd=0.07, tokens=60000", "steps=3, usd=1", "calls=7", "usd=0.03", "calls=9, steps=2, usd=0.1", "usd=0",
    "usd=0.07, tokens=40000", "calls=4",
)  # fmt: skip
NAMES = ("langchain", *ASYNC, "smolagents", "dspy")


def script(driver: Driver, chance: Random) -> list[Turn]:
    """What a model does: tools, failures, missing and absurd reports, and an end."""
    turns = []
    for _ in range(chance.randint(0, 5)):
        most = 1 if driver.one_by_one else 4
        names = chance.choices(("quick", "deep", "fails", "metered", "broke", *driver.more), k=chance.randint(1, most))
        usage = chance.choice(driver.usages) if chance.random() < 0.1 else None
        options = {"completion": chance.randint(0, 60), "reports": chance.random() < 0.7, "usage": usage}
        turns.append(driver.use(*names, fails=chance.random() < 0.15, **options))
    return turns + driver.end() * 3


async def cancelled(driver: Driver, chance: Random, truth: Truth, guard: Guard) -> None:
    """A run that is cancelled at some moment."""
    gate = asyncio.Event().wait if chance.random() < 0.3 else None
    task = asyncio.create_task(driver.run(truth, guard, retries=1, gate=gate))
    for _ in range(chance.randint(0, 40)):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def together(driver: Driver, chance: Random, truth: Truth, guard: Guard) -> None:
    """Several runs at once."""
    runs = [driver.run(truth, guard, retries=chance.randint(0, 2)) for _ in range(3)]
    await asyncio.gather(*runs, return_exceptions=True)


def scenario(name: str, seed: int) -> dict[str, int]:
    """One guard, and four things that are done under it."""
    driver, chance, truth, inner = driver_of(name), Random(seed), truth_of(), truth_of()
    guard = guard_of(chance.choice(BUDGETS))
    for _ in range(4):
        truth.script, inner.script = script(driver, chance), script(driver, chance)
        # pytest keeps the frames of a stream of DSPy that is left: test_guards leaves one in a process of its own.
        how = chance.choice(["run", "call", "nested", "stream", "stream" if "dspy" in name else "left", *driver.ways,
                             *(["cancelled"] * 2 + ["together"] if name in ASYNC else [])])  # fmt: skip
        work: Any
        match how:
            case "run":
                work = driver.run(truth, guard, retries=chance.randint(0, 2))
            case "call":
                work = driver.call(truth, guard, Ask(limit=chance.choice([None, 7]), wide=chance.random() < 0.2))
            case "nested":
                truth.script[0] = driver.use("ask")
                work = driver.nested(truth, guard, inner, guard.within("calls=3, usd=0.05", name="helper"))
            case "stream" | "left":
                work = driver.stream(truth, guard, most=1 if how == "left" else None)
            case "cancelled":
                work = cancelled(driver, chance, truth, guard)
            case "together":
                work = together(driver, chance, truth, guard)
            case _:
                work = driver.ways[how](chance, truth, guard)
        with suppress(Exception):
            asyncio.run(asyncio.wait_for(work, 60))
        await_what_was_left(guard)
        no_overspend(guard, truth, inner)
    return {kind: truth.spent[kind] + inner.spent[kind] for kind in ("calls", "steps")}


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Pydantic serializer")
@pytest.mark.usefixtures("collected")
@pytest.mark.parametrize("scenarios", [2, pytest.param(40, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_overspent_whatever_happens(name: str, scenarios: int) -> None:
    counts = Counter[str]()
    for seed in range(scenarios):
        counts.update(scenario(name, seed))
    assert counts["calls"] > 4
    assert counts["steps"] > 0
    figures = {"scenarios": scenarios, "model calls": counts["calls"], "tool calls": counts["steps"], "above a cap": 0}
    record(f"guard_{name.replace(':', '_')}", figures)
