"""DSPy under a guard, attacked: tools called the wrong way, absurd reports, caches, copies, half-read streams."""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
import warnings
from contextlib import suppress
from random import Random
from typing import Any

import pytest

os.environ.setdefault("DSPY_CACHEDIR", tempfile.mkdtemp(prefix="dspy-"))  # else DSPy makes one in the home directory
pytest.importorskip("dspy")

import dspy
from dspy.clients.cache import Cache

from tape.gateway.guard import Guard
from tape.integrations.dspy import bounded_tools
from tests.tape.integrations.hostile import BUDGETS, judged, swept
from tests.tape.integrations.scripted import MODELS, TOOLS, Truth, Turn, exactly, no_overspend, truth_of
from tests.tape.integrations.scripted_dspy import ANSWER, ScriptedEngine, lm_of, use
from tests.tape.integrations.test_dspy import guarded, react, tools_of


def test_an_async_tool_that_is_called_without_await_was_not_called() -> None:
    """DSPy throws the coroutine away, so the tool never runs: nothing is spent, and nothing stays set aside."""
    truth, guard = truth_of(use("slow"), use("slow"), use("quick"), use("finish"), ANSWER), guarded("steps=1, usd=1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # that it was never awaited
        react(truth, guard)
        gc.collect()
    assert truth.called == ["quick"]
    exactly(guard, truth)


def test_an_async_tool_that_is_converted_is_paid_once() -> None:
    truth, guard = truth_of(use("slow"), use("slow"), use("finish"), ANSWER), guarded("steps=1, usd=1")
    with dspy.context(allow_tool_async_sync_conversion=True):
        react(truth, guard)
    assert truth.called == ["slow"]
    exactly(guard, truth)


@pytest.mark.parametrize(
    "usage", [{"input_tokens": 10**80, "output_tokens": 1}, {"input_tokens": 1, "output_tokens": 2**63}]
)
def test_a_report_that_is_none_is_the_worst_case_and_the_answer_arrives(usage: dict[str, int]) -> None:
    truth, guard = truth_of(Turn("x")), guarded("usd=1")
    assert lm_of(ScriptedEngine(truth, usage), guard)("go") == ["x"]
    assert 64 < (guard.ledger.used["tokens"] or 0) < 1000
    no_overspend(guard, truth)


def test_copies_of_a_program_spend_the_same_budget() -> None:
    truth, guard = truth_of(*[ANSWER] * 9), guarded("calls=3, usd=1")
    program = dspy.ChainOfThought("question -> answer")
    program.set_lm(lm_of(ScriptedEngine(truth), guard))
    copies = [program, program.deepcopy(), program.deepcopy().deepcopy(), program.deepcopy()]
    for number, one in enumerate(copies):
        if number == 3:
            with pytest.raises(Exception, match="calls of the guard ledger"):
                one(question="go")
        else:
            assert one(question="go").answer == "done"
    exactly(guard, truth)


# --- the sweep ------------------------------------------------------------------------------------


def scenario(seed: int) -> dict[str, int]:
    """One guard, and whatever a program, its cache and its reader may do under it."""
    chance, truth = Random(seed), truth_of()
    guard = Guard(chance.choice(BUDGETS), tools=TOOLS, models=MODELS, most_tokens=20)
    usages: list[Any] = [None, {"input_tokens": 10**80, "output_tokens": 1}, {"input_tokens": "4", "output_tokens": 1}]
    for _ in range(4):
        truth.script = [
            use(chance.choice(["quick", "deep", "fails", "slow", "finish"]), reports=chance.random() < 0.7,
                fails=chance.random() < 0.15, completion=chance.randint(0, 60))
            for _ in range(chance.randint(1, 5))
        ] + [ANSWER]  # fmt: skip
        engine = ScriptedEngine(truth, chance.choice(usages))
        engine.breaks = chance.random() < 0.2
        with suppress(Exception):
            play(chance, truth, guard, engine)
        gc.collect()
    return judged(guard, truth)


def play(chance: Random, truth: Truth, guard: Guard, engine: ScriptedEngine) -> None:
    gate = asyncio.Event()
    lm = lm_of(engine, guard, gate, cache=chance.random() < 0.5, num_retries=chance.randint(0, 2))
    program = dspy.ReAct("question -> answer", tools=bounded_tools(tools_of(truth), guard), max_iters=4)
    how = chance.choice(["program", "async", "cancelled", "left half-read", "candidates", "parallel", "copy"])

    async def read() -> None:
        stream = dspy.streamify(dspy.Predict("question -> answer"))(question="go")
        async for _ in stream:
            break
        await stream.aclose()

    async def cancel() -> None:
        task = asyncio.create_task(lm.acall("go"))
        for _ in range(chance.randint(0, 5)):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    if how != "cancelled":
        gate.set()
    with dspy.context(lm=lm, allow_tool_async_sync_conversion=chance.random() < 0.5):
        match how:
            case "program":
                program(question="go")
            case "async":
                asyncio.run(program.acall(question="go"))
            case "cancelled":
                asyncio.run(cancel())
            case "left half-read":
                asyncio.run(read())
            case "candidates":
                lm("go", n=3)
            case "parallel":
                pairs = [(dspy.Predict("question -> answer"), {"question": str(n)}) for n in range(4)]
                dspy.Parallel(num_threads=3, disable_progress_bar=True)(pairs)
            case _:
                program.deepcopy()(question="go")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.slow
def test_nothing_is_overspent_by_what_dspy_may_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dspy, "cache", Cache(enable_disk_cache=False, enable_memory_cache=True, disk_cache_dir=None))
    swept("dspy", scenario, 3)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nothing_is_overspent_by_what_dspy_may_do_40_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dspy, "cache", Cache(enable_disk_cache=False, enable_memory_cache=True, disk_cache_dir=None))
    swept("dspy", scenario, 40, os.environ.get("TAPE_SOAK_RESULTS"))
