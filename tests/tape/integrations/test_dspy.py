"""DSPy under a guard: the real package, with a scripted engine."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import suppress
from typing import Any

import pytest

os.environ.setdefault("DSPY_CACHEDIR", tempfile.mkdtemp(prefix="dspy-"))  # else DSPy makes one in the home directory
pytest.importorskip("dspy")

import dspy
from dspy import lm15
from dspy.clients.cache import Cache
from dspy.utils.dummies import DummyLM
from dspy.utils.exceptions import LMServerError, LMUnexpectedError
from hypothesis import given, settings
from hypothesis import strategies as st

from tape.errors import BudgetExceededError, ConfigError, UnknownCostError
from tape.gateway.guard import Guard
from tape.integrations.dspy import BoundedLM, bounded_tools
from tests.tape.integrations.scripted import (
    MODELS,
    TOOLS,
    Truth,
    Turn,
    exactly,
    image_is_bounded,
    no_overspend,
    truth_of,
)
from tests.tape.integrations.scripted_dspy import ANSWER, ScriptedEngine, lm_of, said, use
from tests.tape.lm.endpoint import Endpoint


def tools_of(truth: Truth) -> list[Any]:
    """Scripted tools."""

    def quick(query: str) -> str:
        """Search."""
        return truth.tool("quick")

    def deep(query: str) -> int:
        """Search, and say how much there is."""
        truth.tool("deep")
        return 7

    def fails(query: str) -> str:
        """Search in vain."""
        raise RuntimeError(f"{truth.tool('fails')} not")

    async def slow(query: str) -> str:
        """Search slowly."""
        return truth.tool("slow")

    return [quick, deep, fails, slow]


def guarded(budget: str, **options: Any) -> Guard:
    return Guard(budget, tools=TOOLS, models=MODELS, most_tokens=20, **options)


def react(truth: Truth, guard: Guard, engine: ScriptedEngine | None = None, **options: Any) -> dspy.Prediction:
    with dspy.context(lm=lm_of(engine or ScriptedEngine(truth), guard, **options)):
        return dspy.ReAct("question -> answer", tools=bounded_tools(tools_of(truth), guard))(question="go")


def test_a_refused_tool_is_told_to_the_model_and_the_run_goes_on() -> None:
    truth, guard = truth_of(use("quick"), use("quick"), use("quick"), use("finish"), ANSWER), guarded("steps=2, usd=1")
    engine = ScriptedEngine(truth)
    assert react(truth, guard, engine).answer == "done"
    assert truth.called == ["quick", "quick"]
    assert "quick was not called, nothing was spent: steps" in engine.heard[3]
    assert truth.limits == [20] * 5
    exactly(guard, truth)


def test_what_would_fit_is_named() -> None:
    truth, guard = truth_of(use("deep"), use("quick"), use("finish"), ANSWER), guarded("usd=0.045")
    engine = ScriptedEngine(truth)
    react(truth, guard, engine)
    assert "What would fit: quick" in engine.heard[1]
    assert truth.called == ["quick"]
    exactly(guard, truth)


def test_a_refused_model_call_raises_out_of_the_program() -> None:
    truth, guard = truth_of(use("quick"), use("quick"), use("quick")), guarded("calls=2")
    with pytest.raises(BudgetExceededError, match="calls of the guard ledger"):
        react(truth, guard)
    exactly(guard, truth)


@pytest.mark.parametrize("limit", [None, 7])
def test_completions_are_limited_to_what_is_paid_for(limit: int | None) -> None:
    truth, guard = truth_of(Turn("x", completion=10**6)), guarded("tokens=3000")
    lm_of(ScriptedEngine(truth), guard, max_tokens=limit)("go")
    assert truth.limits == [limit or 20]
    exactly(guard, truth)


def test_every_attempt_of_a_retry_is_a_call() -> None:
    truth, guard = truth_of(Turn(fails=True), Turn(fails=True), Turn("x")), guarded("calls=3")
    assert lm_of(ScriptedEngine(truth), guard, num_retries=5)("go") == ["x"]
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 3
    no_overspend(guard, truth)  # what failed counts as its worst case


def test_a_retry_that_does_not_fit_is_not_made() -> None:
    truth, guard = truth_of(Turn(fails=True), Turn("x")), guarded("calls=1")
    with pytest.raises(BudgetExceededError):
        lm_of(ScriptedEngine(truth), guard, num_retries=5)("go")
    assert truth.spent["calls"] == 1


def test_errors_of_the_model_stay_what_they_are() -> None:
    truth, guard = truth_of(Turn(fails=True)), guarded("calls=1")
    with pytest.raises(LMServerError, match="overloaded"):
        lm_of(ScriptedEngine(truth), guard)("go")


def test_every_candidate_is_a_call() -> None:
    truth, guard = truth_of(Turn("a"), Turn("b"), Turn("c")), guarded("calls=4")
    lm = lm_of(ScriptedEngine(truth), guard)
    assert lm("go", n=3) == ["a", "b", "c"]
    with pytest.raises(BudgetExceededError):
        lm("go", n=3)
    exactly(guard, truth)


def test_what_is_cached_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(enable_disk_cache=False, enable_memory_cache=True, disk_cache_dir=None)
    monkeypatch.setattr(dspy, "cache", cache)
    truth, guard = truth_of(Turn("only once")), guarded("calls=1")
    lm = lm_of(ScriptedEngine(truth), guard, cache=True)
    assert lm("go") == lm("go") == ["only once"]
    assert truth.spent["calls"] == 1
    exactly(guard, truth)


def test_a_model_that_is_never_cached_is_not_cached() -> None:
    lm = BoundedLM(DummyLM([{"answer": "a"}, {"answer": "b"}]), Guard("calls=2"))
    assert lm("go") != lm("go")


def test_history_usage_and_callbacks_are_those_of_one_call() -> None:
    truth, guard, seen = truth_of(Turn(said(answer="x"))), guarded("calls=1"), []

    class Counted(dspy.utils.BaseCallback):  # type: ignore[misc, name-defined]
        def on_lm_start(self, call_id: str, instance: Any, inputs: Any) -> None:
            seen.append(instance)

    lm = lm_of(ScriptedEngine(truth), guard)
    with dspy.context(lm=lm, track_usage=True, callbacks=[Counted()]):
        answer = dspy.Predict("question -> answer")(question="go")
    assert len(seen) == len(lm.history) == 1
    assert answer.get_lm_usage()["scripted"]["prompt_tokens"] == 40


def test_threads_share_what_is_left() -> None:
    truth, guard = truth_of(*[Turn(said(answer="x"))] * 9), guarded("calls=4")
    with dspy.context(lm=lm_of(ScriptedEngine(truth), guard)):
        pairs = [(dspy.Predict("question -> answer"), {"question": str(number)}) for number in range(9)]
        answers = dspy.Parallel(num_threads=4, max_errors=99, disable_progress_bar=True)(pairs)
    assert sum(answer is not None for answer in answers) == 4
    exactly(guard, truth)


def test_parallel_tools_share_what_is_left() -> None:
    truth, guard = truth_of(), guarded("steps=3")
    [*_, slow] = bounded_tools(tools_of(truth), guard)

    async def together() -> list[str]:
        return await asyncio.gather(*(slow.acall(query="x") for _ in range(5)))

    answers = asyncio.run(together())
    assert sum("was not called" in answer for answer in answers) == 2
    assert truth.called == ["slow"] * 3
    exactly(guard, truth)


def test_a_nested_program_has_to_fit_into_its_own_caps_and_into_the_outer_ones() -> None:
    truth, inner = truth_of(use("ask"), use("finish"), ANSWER), truth_of(*[use("quick")] * 9)
    guard = guarded("calls=9, usd=1")
    helper = guard.within("calls=3", name="helper")

    def ask(query: str) -> str:
        """Ask a helper."""
        truth.tool("ask")
        return str(react(inner, helper))

    engine = ScriptedEngine(truth)
    with dspy.context(lm=lm_of(engine, guard)):
        assert dspy.ReAct("question -> answer", tools=bounded_tools([ask], guard))(question="go").answer == "done"
    assert inner.spent["calls"] == 3
    assert "calls of the helper ledger" in engine.heard[1]
    exactly(guard, truth, inner)


def test_a_stream_is_one_call_and_arrives_in_pieces() -> None:
    truth, guard = truth_of(Turn(said(answer="a long answer in words"))), guarded("calls=1")
    program = dspy.streamify(
        dspy.Predict("question -> answer"),
        stream_listeners=[dspy.streaming.StreamListener(signature_field_name="answer")],
    )

    async def read() -> list[Any]:
        with dspy.context(lm=lm_of(ScriptedEngine(truth), guard)):
            return [chunk async for chunk in program(question="go")]

    *pieces, end = asyncio.run(read())
    assert "".join(piece.chunk for piece in pieces) == end.answer == "a long answer in words"
    exactly(guard, truth)


def test_a_stream_that_breaks_is_not_begun_anew() -> None:
    truth, guard = truth_of(*[Turn(said(answer="x"))] * 3), guarded("calls=3")
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


def test_a_tool_that_fails_is_paid_for_and_told() -> None:
    truth, guard = truth_of(use("fails"), use("finish"), ANSWER), guarded("usd=1")
    engine = ScriptedEngine(truth)
    react(truth, guard, engine)
    assert "fails found it not" in engine.heard[1]
    exactly(guard, truth)


def test_usage_that_is_not_reported_counts_as_its_worst_case() -> None:
    truth, guard = truth_of(Turn("x", reports=False)), guarded("tokens=3000")
    lm_of(ScriptedEngine(truth), guard)("go")
    assert guard.ledger.used["tokens"] > 64 > truth.spent["tokens"]
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


def test_a_cancelled_call_counts_as_its_worst_case() -> None:
    truth, guard = truth_of(Turn("x")), guarded("tokens=3000")

    async def cancel() -> None:
        lm = lm_of(ScriptedEngine(truth), guard, gate=asyncio.Event())
        task = asyncio.create_task(lm.acall("go"))
        while not truth.limits:
            await asyncio.sleep(0.001)
        assert guard.ledger.reserved["tokens"]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert guard.ledger.used["tokens"] > 64
    assert not guard.ledger.reserved["tokens"]
    no_overspend(guard, truth)


def test_an_async_program_is_bounded_too() -> None:
    truth, guard = truth_of(use("slow"), use("slow"), use("finish"), ANSWER), guarded("steps=1, usd=1")
    engine = ScriptedEngine(truth)

    async def run() -> dspy.Prediction:
        with dspy.context(lm=lm_of(engine, guard)):
            return await dspy.ReAct("question -> answer", tools=bounded_tools(tools_of(truth), guard)).acall(
                question="go"
            )

    assert asyncio.run(run()).answer == "done"
    assert "slow was not called" in engine.heard[2]
    exactly(guard, truth)


def test_hints_of_the_model_are_handed_on_and_settings_of_its_client_stay_with_it() -> None:
    lm = dspy.LM("openai/gpt-4o-mini", api_key="no-key", temperature=0.3)
    bounded = BoundedLM(lm, guarded("calls=1"))
    assert bounded.supports_function_calling is lm.supports_function_calling is True
    assert bounded.supports_response_schema == lm.supports_response_schema
    assert "no-key" not in str(bounded.kwargs)
    assert bounded.copy(temperature=0.9).kwargs["temperature"] == 0.9


def test_tools_that_a_provider_runs_are_refused() -> None:
    truth, guard = truth_of(Turn("x")), guarded("calls=1")
    request = lm15.Request("scripted", (lm15.Message.user("go"),), tools=(lm15.BuiltinTool("web_search"),))
    with pytest.raises(ConfigError, match="web_search"):
        lm_of(ScriptedEngine(truth), guard)(request)
    assert truth.spent["calls"] == 0


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.builds(
            use,
            st.sampled_from(["quick", "deep", "fails"]),
            completion=st.integers(0, 60),
            reports=st.booleans(),
            fails=st.booleans(),
        ),
        max_size=8,
    ),
    st.sampled_from(["usd=0.07, tokens=40000", "steps=3, usd=1", "calls=4", "usd=0.02", "calls=5, steps=2, usd=0.1"]),
)
def test_nothing_is_overspent_whatever_happens(turns: list[Turn], budget: str) -> None:
    truth, guard = truth_of(*turns, use("finish"), ANSWER), guarded(budget)
    with suppress(
        BudgetExceededError, LMServerError, dspy.utils.exceptions.AdapterParseError
    ):  # the model has failed, its call did not fit, or its script was over
        react(truth, guard, num_retries=1)
    no_overspend(guard, truth)
    assert all(not amount for amount in guard.ledger.reserved.values())


def test_thinking_that_is_added_to_the_limit_is_paid_for() -> None:
    guard = guarded("calls=1, tokens=99999")
    with Endpoint(lambda body: ["hello"], ["500"]) as endpoint:
        lm = dspy.LM("anthropic/claude-haiku-4-5", api_base=endpoint.url, api_key="none", cache=False, num_retries=0)
        bounded = BoundedLM(lm, guard)
        with pytest.raises(LMServerError):
            bounded("go", max_tokens=9, reasoning_effort="medium")
    assert endpoint.bodies[0]["max_tokens"] == 8192 + 9
    assert (guard.ledger.used["tokens"] or 0) > 8192 + 9


@pytest.mark.parametrize("engine", ["lm15", pytest.param("litellm", marks=pytest.mark.slow)])
def test_the_client_of_a_provider_does_not_retry_behind_the_guard(engine: str) -> None:
    guard = Guard("calls=2", models={"openai/scripted": ("1", "1")})
    with Endpoint(lambda body: ["hello"], ["500"]) as endpoint:
        lm = dspy.LM(
            "openai/scripted", api_base=endpoint.url, api_key="no-key", engine=engine, cache=False, num_retries=0
        )
        bounded = BoundedLM(lm, guard)
        with pytest.raises(LMServerError):
            bounded("go", max_tokens=9)
        assert len(endpoint.bodies) == guard.ledger.used["calls"] == 1
        assert bounded("go", max_tokens=9) == ["hello"]
        assert len(endpoint.bodies) == guard.ledger.used["calls"] == 2
        assert [body.get("max_tokens") or body.get("max_completion_tokens") for body in endpoint.bodies] == [9, 9]


@pytest.mark.parametrize(
    "image", [dspy.Image("https://example.org/river.png"), dspy.Image("data:image/png;base64,iVBORw0KGgo=")]
)
def test_an_image_is_refused_or_bounded(image: dspy.Image) -> None:
    def ask(truth: Truth, guard: Guard) -> str:
        with dspy.context(lm=lm_of(ScriptedEngine(truth), guard)):
            return str(dspy.Predict("image: dspy.Image -> answer")(image=image))

    image_is_bounded(ask)


def test_a_file_by_its_id_is_refused() -> None:
    truth, guard = truth_of(Turn("x")), guarded("usd=1")
    parts = [lm15.TextPart("What is in it?"), lm15.DocumentPart(media_type="application/pdf", file_id="file-1")]
    with pytest.raises(UnknownCostError, match=r'holds document .*content={"file": 1600}'):
        lm_of(ScriptedEngine(truth), guard)(lm15.Request("scripted", (lm15.Message.user(parts),)))
    assert truth.spent["calls"] == 0
