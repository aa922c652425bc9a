"""Agents of Inspect AI under a guard: the real package, with its mock model following a script."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.agent import Agent, as_solver, as_tool, handoff
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageTool,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    ResponseSchema,
    get_model,
)
from inspect_ai.solver import Solver
from inspect_ai.tool import Tool, ToolDef, ToolInfo, ToolSource, tool
from inspect_ai.util import JSONSchema, LimitExceededError
from tenacity import RetryError, wait_none

from tape.errors import BudgetExceededError, ConfigError, UnknownCostError
from tape.gateway.guard import Guard
from tape.integrations.inspect_agent import bounded_agent, bounded_model, bounded_tools
from tests.tape.integrations.scripted import (
    MODELS,
    TOOLS,
    Truth,
    Turn,
    call,
    exactly,
    image_is_bounded,
    no_overspend,
    truth_of,
)
from tests.tape.integrations.scripted_inspect import scripted, tools_of
from tests.tape.lm.endpoint import Endpoint

DONE = Turn("done")
QUICKLY = GenerateConfig(max_retries=1)


def quick(times: int = 1) -> Turn:
    return Turn(calls=tuple(call("quick", query=str(number)) for number in range(times)))


def guarded(budget: str, **options: Any) -> Guard:
    return Guard(budget, tools=TOOLS, models=MODELS, most_tokens=20, **options)


def loop(truth: Truth, guard: Guard, *tools: Tool | ToolSource) -> list[ChatMessage]:
    """Inspect's own loop of model and tools, without an evaluation around it."""
    bounded = bounded_tools(tools or tools_of(truth), guard)
    messages, _ = asyncio.run(bounded_model(scripted(truth), guard).generate_loop("go", tools=bounded, config=QUICKLY))
    return messages


def samples(solver: Agent | Solver, model: Model, log_dir: Path, number: int = 1) -> list[EvalSample]:
    """The samples of an evaluation without scores."""
    dataset = [Sample(input="go", id=one) for one in range(number)]
    [log] = evaluate(
        Task(dataset=dataset, solver=solver), model=model, display="none", log_dir=str(log_dir), score=False
    )
    assert log.status == "success", log.error
    return log.samples or []


def told(messages: Iterable[ChatMessage]) -> list[str]:
    """What tools have answered, refusals included."""
    return [
        message.error.message if message.error else message.text
        for message in messages
        if isinstance(message, ChatMessageTool)
    ]


def ask(truth: Truth, guard: Guard, **options: Any) -> ModelOutput:
    return asyncio.run(bounded_model(scripted(truth), guard).generate("go", **options))


def test_a_refused_tool_is_told_to_the_model_and_the_run_goes_on() -> None:
    truth, guard = truth_of(quick(), quick(), quick(), DONE), guarded("steps=2, usd=1")
    *_, answer = messages = loop(truth, guard)
    assert answer.text == "done"
    assert truth.called == ["quick", "quick"]
    assert told(messages)[1] == "quick found it"
    assert told(messages)[2].startswith("quick was not called, nothing was spent: steps")
    assert truth.limits == [20] * 4
    exactly(guard, truth)


def test_what_would_fit_is_named() -> None:
    truth, guard = truth_of(Turn(calls=(call("deep", query="x"),)), quick(), DONE), guarded("usd=0.045")
    assert told(loop(truth, guard))[0].endswith('What would fit: quick ({"steps": 1, "usd": 0.01})')
    exactly(guard, truth)


def test_a_refused_model_call_is_a_limit_of_inspect() -> None:
    truth, guard = truth_of(quick(), quick(), quick()), guarded("calls=2")
    with pytest.raises(LimitExceededError, match="model call refused: calls of the guard ledger") as ended:
        loop(truth, guard)
    assert (ended.value.type, ended.value.limit, ended.value.value) == ("custom", 2, 3)
    assert isinstance(ended.value.__cause__, BudgetExceededError)
    exactly(guard, truth)


@pytest.mark.slow
@pytest.mark.parametrize("as_what", [lambda agent: agent, as_solver])
def test_a_sample_whose_budget_is_spent_ends_and_its_log_says_why(as_what: Any, tmp_path: Path) -> None:
    truth, guard = truth_of(*[quick()] * 9), guarded("calls=9")
    solver = as_what(bounded_agent(guard, tools_of(truth), budget="calls=2"))
    for sample in samples(solver, scripted(truth), tmp_path, 2):  # each has two calls of the nine of all
        assert sample.limit is not None
        assert (sample.limit.type, sample.limit.limit) == ("custom", 2)
        assert told(sample.messages) == ["quick found it"] * 2
    assert truth.spent["calls"] == 4
    exactly(guard, truth)


def test_a_model_without_a_price_is_an_error_and_no_limit() -> None:
    truth = truth_of(DONE)
    with pytest.raises(UnknownCostError, match="usd"):
        loop(truth, Guard("usd=1", tools=TOOLS))
    assert truth.spent["calls"] == 0


@pytest.mark.parametrize(("said", "answers", "limit"), [(None, None, 20), (7, None, 7), (7, 3, 7), (None, 4, 5)])
def test_completions_are_limited_to_what_is_paid_for(said: int | None, answers: int | None, limit: int) -> None:
    truth, guard = truth_of(Turn("x", completion=10**6)), guarded("tokens=3000")
    ask(truth, guard, config=GenerateConfig(max_tokens=said, num_choices=answers))
    assert truth.limits == [limit]
    no_overspend(guard, truth)


def test_formats_of_answers_and_answers_that_are_thrown_away_are_paid_for() -> None:
    wide = ResponseSchema(name="wide", json_schema=JSONSchema(type="object", description="x" * 3000))
    truth, guard = truth_of(Turn("x", completion=10**6)), guarded("tokens=3000")
    with pytest.raises(LimitExceededError):
        ask(truth, guard, config=GenerateConfig(response_schema=wide))
    ask(truth, guard, config=GenerateConfig(max_tokens=8, best_of=2))
    assert truth.limits == [8]
    exactly(guard, truth)


def test_parallel_calls_share_what_is_left() -> None:
    truth, guard = truth_of(quick(6), DONE), guarded("steps=4")
    answers = told(loop(truth, guard))
    assert sorted(answer.split()[1] for answer in answers) == ["found"] * 4 + ["was"] * 2
    assert truth.called == ["quick"] * 4
    exactly(guard, truth)


def test_every_attempt_of_a_retry_is_a_call() -> None:
    truth, guard = truth_of(Turn(fails=True), Turn(fails=True), Turn("x")), guarded("calls=3")
    assert ask(truth, guard).completion == "x"
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 3
    no_overspend(guard, truth)  # what failed counts as its worst case


def test_a_retry_that_does_not_fit_is_not_made() -> None:
    truth, guard = truth_of(Turn(fails=True), Turn("x")), guarded("calls=1")
    with pytest.raises(LimitExceededError):
        ask(truth, guard)
    assert truth.spent["calls"] == 1


@pytest.mark.slow
def test_an_agent_as_a_tool_has_to_fit_into_its_own_caps_and_into_the_outer_ones(tmp_path: Path) -> None:
    inner = truth_of(*[quick()] * 9)
    truth = truth_of(Turn(calls=(call("ask", input="x"),)), Turn(calls=(call("submit", answer="done"),)))
    guard = guarded("calls=9, usd=1")
    helper = bounded_agent(guard.within("calls=3", name="helper"), tools_of(inner), scripted(inner))
    asked = ToolDef(as_tool(helper, description="Helps."), name="ask").as_tool()
    [sample] = samples(bounded_agent(guard, [asked]), scripted(truth), tmp_path)
    assert sample.output.completion.endswith("done")
    assert told(sample.messages)[0].startswith("model call refused: calls of the helper ledger")
    assert inner.spent["calls"] == 3
    assert guard.ledger.used["calls"] == 5
    assert guard.ledger.used["steps"] == inner.spent["steps"] + 1  # asking is a step
    no_overspend(guard, truth, inner)


@pytest.mark.slow
def test_a_handoff_ends_where_the_inner_budget_does(tmp_path: Path) -> None:
    inner = truth_of(*[quick()] * 9)
    truth = truth_of(Turn(calls=(call("transfer_to_bounded_agent"),)), Turn(calls=(call("submit", answer="done"),)))
    guard = guarded("calls=9, usd=1")
    helper = bounded_agent(guard.within("calls=2", name="helper"), tools_of(inner), scripted(inner))
    [sample] = samples(bounded_agent(guard, [handoff(helper, description="Helps.")]), scripted(truth), tmp_path)
    assert sample.output.completion.endswith("done")
    assert inner.spent["calls"] == 2
    exactly(guard, truth, inner)


def test_a_source_of_tools_is_bounded() -> None:
    truth, guard = truth_of(quick(), quick(), DONE), guarded("steps=1")

    class Source(ToolSource):
        async def tools(self) -> list[Tool]:
            return tools_of(truth)

    assert told(loop(truth, guard, Source()))[1].startswith("quick was not called")
    exactly(guard, truth)


def test_a_tool_that_has_spent_a_budget_of_its_own_says_so() -> None:
    truth, guard = truth_of(Turn(calls=(call("ask"),)), DONE), guarded("calls=9")
    inner = guard.within("steps=0", name="helper")

    @tool
    def ask() -> Tool:
        async def execute() -> str:
            """Ask for help."""
            with inner.tool("quick", {}):
                return truth.tool("quick")

        return execute

    assert told(loop(truth, guard, ask()))[0].startswith("steps of the helper ledger")
    assert truth.called == []


def test_a_bounded_tool_says_of_itself_what_the_tool_says() -> None:
    [plain, *_] = tools_of(truth_of())
    [bounded] = bounded_tools([plain], guarded("usd=1"))[:1]
    before, after = ToolDef(plain), ToolDef(bounded)  # type: ignore[arg-type]
    for field in ("name", "description", "parameters", "parallel", "max_output"):
        assert getattr(before, field) == getattr(after, field)


def test_a_tool_that_fails_is_paid_for_and_told() -> None:
    truth, guard = truth_of(Turn(calls=(call("fails", query="x"),)), DONE), guarded("usd=1")
    assert "timed out" in told(loop(truth, guard))[0]
    exactly(guard, truth)


def test_usage_that_is_not_reported_counts_as_its_worst_case() -> None:
    truth, guard = truth_of(Turn("x", reports=False)), guarded("tokens=3000")
    ask(truth, guard)
    assert guard.ledger.used["tokens"] > 64 > truth.spent["tokens"]
    no_overspend(guard, truth)


def test_cached_tokens_of_a_prompt_are_tokens() -> None:
    guard = guarded("tokens=3000")
    output = ModelOutput.from_content("scripted", "x")
    output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=45, input_tokens_cache_read=30)
    model = bounded_model(get_model("mockllm/scripted", custom_outputs=[output]), guard)
    asyncio.run(model.generate("go"))
    assert guard.ledger.used["tokens"] == 45


def test_a_call_that_is_cancelled_or_runs_out_of_time_counts_as_its_worst_case() -> None:
    truth, guard = truth_of(Turn("x"), Turn("y")), guarded("tokens=3000")

    async def cancel() -> None:
        never = asyncio.Event()
        model = bounded_model(scripted(truth, never.wait), guard)
        task = asyncio.create_task(model.generate("go"))
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


def test_a_stream_is_one_call() -> None:
    truth, guard = truth_of(Turn("x")), guarded("calls=1")

    async def note(event: Any) -> None:
        del event

    assert ask(truth, guard, on_stream=note).completion == "x"
    exactly(guard, truth)


def test_a_provider_does_not_compact_beside_the_guard() -> None:
    model = bounded_model(scripted(truth_of()), guarded("calls=1"))
    with pytest.raises(NotImplementedError, match="no budget can bound it"):
        asyncio.run(model.compact([ChatMessageUser(content="go")], [], None))  # type: ignore[arg-type]


def test_the_model_that_was_given_stays_free() -> None:
    truth, guard = truth_of(Turn("x"), Turn("y")), guarded("calls=0")
    model = scripted(truth)
    assert str(bounded_model(model, guard)) == str(model)
    assert asyncio.run(model.generate("go")).completion == "x"


TURNS = st.builds(
    Turn,
    calls=st.lists(
        st.sampled_from([call("quick", query="x"), call("deep", query="x"), call("fails", query="x")]), max_size=3
    ).map(tuple),
    completion=st.integers(0, 60),
    reports=st.booleans(),
    fails=st.booleans(),
)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(TURNS, max_size=8),
    st.sampled_from(["usd=0.07, tokens=40000", "steps=3, usd=1", "calls=4", "usd=0.02", "calls=5, steps=2, usd=0.1"]),
)
def test_nothing_is_overspent_whatever_happens(turns: list[Turn], budget: str) -> None:
    truth, guard = truth_of(*turns, *[DONE] * 9), guarded(budget)
    with suppress(LimitExceededError, RetryError):  # a call did not fit, or has failed too often
        loop(truth, guard)
    no_overspend(guard, truth)
    assert all(not amount for amount in guard.ledger.reserved.values())


@pytest.mark.slow
@pytest.mark.parametrize("api", ["completions", "responses"])
def test_the_client_of_a_provider_asks_nothing_behind_the_guard(api: str) -> None:
    pytest.importorskip("openai")
    with Endpoint(lambda body: ["hello"], ["500"]) as endpoint:
        guard, responses = guarded("calls=1"), api == "responses"
        model = get_model(
            "openai/scripted", base_url=endpoint.url, api_key="no-key", memoize=False, responses_api=responses
        )
        model.api.retry_wait = wait_none  # type: ignore[method-assign]
        with pytest.raises(LimitExceededError):  # Inspect's own second attempt
            asyncio.run(bounded_model(model, guard).generate("go", config=QUICKLY))
        assert len(endpoint.bodies) == guard.ledger.used["calls"] == 1
        assert endpoint.bodies[0]["max_output_tokens" if responses else "max_completion_tokens"] == 20


def test_an_image_is_refused_or_bounded() -> None:
    image = "data:image/png;base64,iVBORw0KGgo="  # Inspect sends no addresses

    def show(truth: Truth, guard: Guard) -> str:
        message = ChatMessageUser(content=[ContentText(text="Where?"), ContentImage(image=image)])
        return asyncio.run(bounded_model(scripted(truth), guard).generate([message])).completion

    image_is_bounded(show, bounded_model(scripted(truth_of()), guarded("usd=1")).name)


def test_tools_that_a_provider_runs_are_refused() -> None:
    truth, guard = truth_of(DONE), guarded("usd=1")
    search = ToolInfo(name="web_search", description="Search.", options={"openai": {}})
    with pytest.raises(ConfigError, match="the provider runs web_search itself"):
        ask(truth, guard, tools=[search], config=QUICKLY)
    assert truth.spent["calls"] == 0
