"""DSPy under a guard: what it has and other frameworks do not."""

from __future__ import annotations

import asyncio
import gc
import warnings
from typing import Any

import pytest

pytest.importorskip("dspy")

import dspy
from dspy import lm15
from dspy.clients.cache import Cache
from dspy.utils.dummies import DummyLM
from dspy.utils.exceptions import LMServerError, LMUnexpectedError

from tape.adapters.dspy import BoundedLM
from tape.errors import BudgetExceededError, UnknownCostError
from tape.guard.guard import Guard
from tests.tape.adapters.drivers.dspy import ANSWER, ScriptedEngine, formatted, lm_of, react, use
from tests.tape.adapters.drivers.scripted import Turn, exactly, guard_of, no_overspend, truth_of
from tests.tape.lm.endpoint import Endpoint


def test_every_candidate_is_a_call() -> None:
    truth, guard = truth_of(Turn("a"), Turn("b"), Turn("c")), guard_of("calls=4")
    lm = lm_of(ScriptedEngine(truth), guard)
    assert lm("go", n=3) == ["a", "b", "c"]
    with pytest.raises(BudgetExceededError):
        lm("go", n=3)
    exactly(guard, truth)


def test_what_is_cached_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(enable_disk_cache=False, enable_memory_cache=True, disk_cache_dir=None)
    monkeypatch.setattr(dspy, "cache", cache)
    truth, guard = truth_of(Turn("only once")), guard_of("calls=1")
    lm = lm_of(ScriptedEngine(truth), guard, cache=True)
    assert lm("go") == lm("go") == ["only once"]
    assert truth.spent["calls"] == 1
    exactly(guard, truth)


def test_a_model_that_is_never_cached_is_not_cached() -> None:
    lm = BoundedLM(DummyLM([{"answer": "a"}, {"answer": "b"}]), Guard("calls=2"))
    assert lm("go") != lm("go")


def test_history_usage_and_callbacks_are_those_of_one_call() -> None:
    truth, guard, seen = truth_of(Turn(formatted(answer="x"))), guard_of("calls=1"), []

    class Counted(dspy.utils.BaseCallback):  # type: ignore[misc, name-defined]
        def on_lm_start(self, call_id: str, instance: Any, inputs: Any) -> None:
            seen.append(instance)

    lm = lm_of(ScriptedEngine(truth), guard)
    with dspy.context(lm=lm, track_usage=True, callbacks=[Counted()]):
        answer = dspy.Predict("question -> answer")(question="go")
    assert len(seen) == len(lm.history) == 1
    assert answer.get_lm_usage()["scripted"]["prompt_tokens"] == 40


def test_a_stream_that_breaks_is_not_begun_anew() -> None:
    truth, guard = truth_of(*[Turn(formatted(answer="x"))] * 3), guard_of("calls=3")
    engine = ScriptedEngine(truth)
    engine.breaks = True
    program = dspy.streamify(dspy.Predict("question -> answer"))

    async def read() -> None:
        with dspy.context(lm=lm_of(engine, guard, num_retries=2)):
            async for _ in program(question="go"):
                pass

    with pytest.raises(LMUnexpectedError, match="gone"):
        asyncio.run(read())
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 1
    no_overspend(guard, truth)


@pytest.mark.parametrize(
    ("model", "usage", "tokens"),
    [
        ("scripted", {"input_tokens": 40, "output_tokens": 10, "cache_read_tokens": 30}, 50),
        ("scripted", {"input_tokens": 40, "output_tokens": 10, "total_tokens": 57, "reasoning_tokens": 7}, 57),
        ("anthropic/claude-x", {"input_tokens": 10, "output_tokens": 10, "cache_read_tokens": 30}, 50),
    ],
)
def test_tokens_are_counted_as_their_provider_counts(model: str, usage: dict[str, int], tokens: int) -> None:
    guard = Guard("tokens=3000, usd=1", models={model: ("1", "1")}, most_tokens=20)
    engine = ScriptedEngine(truth_of(Turn("x")), usage)
    BoundedLM(dspy.LM(model, engine=engine, cache=False), guard)("go")
    assert guard.ledger.used["tokens"] == guard.ledger.used["usd"] == tokens


def test_hints_of_the_model_are_handed_on_and_settings_of_its_client_stay_with_it() -> None:
    lm = dspy.LM("openai/gpt-4o-mini", api_key="no-key", temperature=0.3)
    bounded = BoundedLM(lm, guard_of("calls=1"))
    assert bounded.supports_function_calling is lm.supports_function_calling is True
    assert bounded.supports_response_schema == lm.supports_response_schema
    assert "no-key" not in str(bounded.kwargs)
    assert bounded.copy(temperature=0.9).kwargs["temperature"] == 0.9


def test_thinking_that_is_added_to_the_limit_is_paid_for() -> None:
    guard = guard_of("calls=1, tokens=99999")
    with Endpoint(lambda body: ["hello"], ["500"]) as endpoint:
        lm = dspy.LM("anthropic/claude-haiku-4-5", api_base=endpoint.url, api_key="none", cache=False, num_retries=0)
        with pytest.raises(LMServerError):
            BoundedLM(lm, guard)("go", max_tokens=9, reasoning_effort="medium")
    assert endpoint.bodies[0]["max_tokens"] == 8192 + 9
    assert (guard.ledger.used["tokens"] or 0) > 8192 + 9


def test_a_file_by_its_id_is_refused() -> None:
    truth, guard = truth_of(Turn("x")), guard_of("usd=1")
    parts = [lm15.TextPart("What is in it?"), lm15.DocumentPart(media_type="application/pdf", file_id="file-1")]
    with pytest.raises(UnknownCostError, match=r'holds document .*content={"file": 1600}'):
        lm_of(ScriptedEngine(truth), guard)(lm15.Request("scripted", (lm15.Message.user(parts),)))
    assert truth.spent["calls"] == 0


def test_copies_of_a_program_spend_the_same_budget() -> None:
    truth, guard = truth_of(*[ANSWER] * 9), guard_of("calls=3, usd=1")
    program = dspy.ChainOfThought("question -> answer")
    program.set_lm(lm_of(ScriptedEngine(truth), guard))
    for item in (program, program.deepcopy(), program.deepcopy().deepcopy()):
        assert item(question="go").answer == "done"
    with pytest.raises(Exception, match="calls of the guard ledger"):
        program.deepcopy()(question="go")
    exactly(guard, truth)


@pytest.mark.parametrize("converted", [False, True])
def test_an_async_tool_is_paid_for_if_it_is_awaited(converted: bool) -> None:
    """DSPy throws the coroutine away where it does not convert: the tool never runs, and nothing stays set aside."""
    truth, guard = truth_of(use("slow"), use("slow"), use("quick"), use("finish"), ANSWER), guard_of("steps=1, usd=1")
    with warnings.catch_warnings(), dspy.context(allow_tool_async_sync_conversion=converted):
        warnings.simplefilter("ignore", RuntimeWarning)  # that it was never awaited
        react(truth, guard)
        gc.collect()
    assert truth.called == ["slow" if converted else "quick"]
    exactly(guard, truth)
