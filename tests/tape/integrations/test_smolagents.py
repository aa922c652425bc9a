"""smolagents under a guard: the real package, with a scripted model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

pytest.importorskip("smolagents")

from hypothesis import given, settings
from hypothesis import strategies as st
from smolagents import (
    ChatMessage,
    ChatMessageStreamDelta,
    CodeAgent,
    LiteLLMModel,
    LiteLLMRouterModel,
    Model,
    OpenAIModel,
    Tool,
    ToolCallingAgent,
    tool,
)
from smolagents.models import REMOVE_PARAMETER, ApiModel, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
from smolagents.monitoring import TokenUsage
from smolagents.utils import AgentGenerationError

from tape.errors import BudgetExceededError, ConfigError
from tape.gateway.guard import Guard
from tape.integrations.smolagents import BoundedModel, bounded_tools
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
from tests.tape.lm.endpoint import Endpoint

DONE = Turn(calls=(call("final_answer", answer="done"),))


class ScriptedModel(Model):
    """A scripted model."""

    def __init__(self, truth: Truth, **options: Any) -> None:
        super().__init__(model_id="scripted", **options)
        self.truth = truth
        self.heard: list[str] = []

    def generate(self, messages: Any, stop_sequences: Any = None, **options: Any) -> ChatMessage:
        self.heard.append(str(messages[-1].content))
        turn, completion = self.truth.model(options.get("max_tokens", self.kwargs.get("max_tokens")))
        if turn.fails:
            raise RuntimeError("429 too many requests")
        calls = [
            ChatMessageToolCall(ChatMessageToolCallFunction(name=name, arguments=given), f"call-{number}", "function")
            for number, (name, given) in enumerate(turn.calls)
        ]
        usage = TokenUsage(turn.prompt, completion) if turn.reports else None
        return ChatMessage(MessageRole.ASSISTANT, turn.text, calls or None, token_usage=usage)


class ScriptedStream(ScriptedModel):
    """A scripted model that streams; what it used comes last."""

    def generate_stream(self, messages: Any, **options: Any) -> Iterator[ChatMessageStreamDelta]:
        message = self.generate(messages, **options)
        for letter in message.content:
            yield ChatMessageStreamDelta(content=letter)
        if message.token_usage:
            yield ChatMessageStreamDelta(token_usage=message.token_usage)


class ScriptedApi(ApiModel):
    """A scripted model that retries as those of smolagents do, without waiting."""

    def __init__(self, truth: Truth) -> None:
        super().__init__(model_id="scripted")
        self.retryer.wait_seconds = 0
        self.script = ScriptedModel(truth)

    def create_client(self) -> object:
        return object()

    def generate(self, messages: Any, **options: Any) -> ChatMessage:
        return self.retryer(self.script.generate, messages, **options)


def tools_of(truth: Truth, *, counts: bool = False) -> list[Tool]:
    """Scripted tools; ``deep`` says that it answers by a number if it ``counts``."""

    @tool
    def quick(query: str) -> str:
        """Search.

        Args:
            query: What for.
        """
        return truth.tool("quick")

    @tool
    def deep(query: str) -> str:
        """Search well.

        Args:
            query: What for.
        """
        return truth.tool("deep")

    @tool
    def fails(query: str) -> str:
        """Search in vain.

        Args:
            query: What for.
        """
        raise RuntimeError(f"{truth.tool('fails')} not")

    if counts:
        deep.output_type = "integer"
    return [quick, deep, fails]


def guarded(budget: str, **options: Any) -> Guard:
    return Guard(budget, tools=TOOLS, models=MODELS, most_tokens=20, **options)


def agent_of(
    truth: Truth, guard: Guard, model: Model | None = None, *, counts: bool = False, **options: Any
) -> ToolCallingAgent:
    tools = bounded_tools(tools_of(truth, counts=counts), guard)
    return ToolCallingAgent(tools, BoundedModel(model or ScriptedModel(truth), guard), verbosity_level=0, **options)


def quick(times: int = 1) -> Turn:
    return Turn(calls=tuple(call("quick", query=str(number)) for number in range(times)))


def test_a_refused_tool_is_told_to_the_model_and_the_run_goes_on() -> None:
    truth, guard = truth_of(quick(), quick(), quick(), DONE), guarded("steps=2, usd=1")
    model = ScriptedModel(truth)
    assert agent_of(truth, guard, model).run("go") == "done"
    assert truth.called == ["quick", "quick"]
    assert "quick found it" in model.heard[2]
    assert "quick was not called, nothing was spent: steps" in model.heard[3]
    assert truth.limits == [20] * 4
    exactly(guard, truth)


@pytest.mark.parametrize("counts", [False, True])
def test_what_would_fit_is_named(counts: bool) -> None:
    truth, guard = truth_of(Turn(calls=(call("deep", query="x"),)), quick(), DONE), guarded("usd=0.045")
    model = ScriptedModel(truth)
    agent_of(truth, guard, model, counts=counts).run("go")
    assert "What would fit: quick" in model.heard[1]
    assert ("ChargeError" in model.heard[1]) == counts  # no text can stand for a number
    assert truth.called == ["quick"]
    exactly(guard, truth)


def test_a_refused_model_call_ends_the_run_and_says_which_cap_binds() -> None:
    truth, guard = truth_of(quick(), quick(), quick()), guarded("calls=2")
    with pytest.raises(AgentGenerationError, match="calls of the guard ledger") as ended:
        agent_of(truth, guard).run("go")
    assert isinstance(ended.value.__cause__, BudgetExceededError)
    exactly(guard, truth)


@pytest.mark.parametrize("said", [{}, {"max_tokens": 7}])
def test_completions_are_limited_to_what_is_paid_for(said: dict[str, int]) -> None:
    truth, guard = truth_of(Turn("x", completion=10**6)), guarded("tokens=30000")
    BoundedModel(ScriptedModel(truth, **said), guard).generate([ChatMessage(MessageRole.USER, "go")])
    assert truth.limits == [said.get("max_tokens", 20)]
    exactly(guard, truth)


def test_a_limit_that_the_model_does_not_know_is_not_sent() -> None:
    truth, guard = truth_of(Turn("x")), guarded("calls=1")
    inner, sent = ScriptedModel(truth, max_tokens=REMOVE_PARAMETER), []
    inner.generate = lambda messages, **options: sent.append(options) or ChatMessage(MessageRole.ASSISTANT, "x")
    BoundedModel(inner, guard).generate([ChatMessage(MessageRole.USER, "go")])
    assert sent == [{"max_completion_tokens": 20}]


def test_candidates_are_paid_for_together() -> None:
    guard = guarded("calls=1, tokens=3000")
    truth = truth_of(Turn("x", completion=10**6))
    BoundedModel(ScriptedModel(truth, n=4), guard).generate([ChatMessage(MessageRole.USER, "go")])
    assert truth.limits == [5]


def test_parallel_calls_share_what_is_left() -> None:
    truth, guard = truth_of(quick(6), DONE), guarded("steps=4")
    model = ScriptedModel(truth)
    agent_of(truth, guard, model).run("go")
    assert truth.called == ["quick"] * 4
    assert (model.heard[1].count("quick found it"), model.heard[1].count("was not called")) == (4, 2)
    exactly(guard, truth)


def test_every_attempt_of_a_retry_is_a_call() -> None:
    truth, guard = truth_of(Turn(fails=True), Turn(fails=True), DONE), guarded("calls=3, tokens=60000")
    agent_of(truth, guard, ScriptedApi(truth)).run("go")
    assert truth.spent["calls"] == guard.ledger.used["calls"] == 3
    no_overspend(guard, truth)  # what failed counts as its worst case


def test_a_retry_that_does_not_fit_is_not_made() -> None:
    truth, guard = truth_of(Turn(fails=True), DONE), guarded("calls=1")
    with pytest.raises(AgentGenerationError) as ended:
        agent_of(truth, guard, ScriptedApi(truth)).run("go")
    assert isinstance(ended.value.__cause__, BudgetExceededError)
    assert truth.spent["calls"] == 1


def test_an_amount_that_looks_like_a_status_is_not_retried() -> None:
    truth, guard = truth_of(), guarded("tokens=429")
    with pytest.raises(BudgetExceededError, match="429"):
        BoundedModel(ScriptedApi(truth), guard).generate([ChatMessage(MessageRole.USER, "x" * 429)])
    assert truth.spent["calls"] == 0


def test_a_managed_agent_has_to_fit_into_its_own_caps_and_into_the_outer_ones() -> None:
    truth, inner = truth_of(Turn(calls=(call("helper", task="t"),)), DONE), truth_of(*[quick()] * 9)
    guard = guarded("calls=9, usd=1")
    helper = agent_of(inner, guard.within("calls=3", name="helper"), name="helper", description="Helps.")
    model = ScriptedModel(truth)
    assert agent_of(truth, guard, model, managed_agents=[helper]).run("go") == "done"
    assert inner.spent["calls"] == 3
    assert "calls of the helper ledger" in model.heard[1]
    exactly(guard, truth, inner)


def test_a_stream_is_one_call_and_settled_by_what_comes_last() -> None:
    truth, guard = truth_of(Turn('{"name": "final_answer", "arguments": {"answer": "done"}}')), guarded("calls=1")
    agent = agent_of(truth, guard, ScriptedStream(truth), stream_outputs=True)
    assert list(agent.run("go", stream=True))[-1].output == "done"
    exactly(guard, truth)


@pytest.mark.parametrize("reports", [True, False])
def test_a_stream_that_is_cut_off_counts_as_its_worst_case(reports: bool) -> None:
    truth, guard = truth_of(Turn("a long text", reports=reports)), guarded("tokens=30000")
    stream = BoundedModel(ScriptedStream(truth), guard).generate_stream([ChatMessage(MessageRole.USER, "go")])
    if reports:
        next(stream)
        stream.close()
    else:
        assert len(list(stream)) == len("a long text")
    assert guard.ledger.used["tokens"] > 64 > truth.spent["tokens"]
    no_overspend(guard, truth)


def test_agents_see_whether_a_model_streams() -> None:
    truth, guard = truth_of(), guarded("calls=1")
    with pytest.raises(ValueError, match="generate_stream"):
        agent_of(truth, guard, stream_outputs=True)


def test_a_tool_that_fails_is_paid_for_and_told() -> None:
    truth, guard = truth_of(Turn(calls=(call("fails", query="x"),)), DONE), guarded("usd=1")
    model = ScriptedModel(truth)
    agent_of(truth, guard, model).run("go")
    assert "fails found it not" in model.heard[1]
    exactly(guard, truth)


def test_usage_that_is_not_reported_counts_as_its_worst_case() -> None:
    truth, guard = truth_of(Turn("x", reports=False)), guarded("tokens=30000")
    BoundedModel(ScriptedModel(truth), guard).generate([ChatMessage(MessageRole.USER, "go")])
    assert guard.ledger.used["tokens"] > 64 > truth.spent["tokens"]
    no_overspend(guard, truth)


def test_an_interrupted_tool_counts_as_its_worst_case() -> None:
    truth, guard = truth_of(quick(), DONE), guarded("usd=1")

    @tool
    def slow(query: str) -> str:
        """Search slowly.

        Args:
            query: What for.
        """
        truth.tool("slow")
        raise KeyboardInterrupt

    truth.script[0] = Turn(calls=(call("slow", query="x"),))
    agent = ToolCallingAgent(bounded_tools([slow], guard), BoundedModel(ScriptedModel(truth), guard), verbosity_level=0)
    with pytest.raises(KeyboardInterrupt):
        agent.run("go")
    exactly(guard, truth)


def test_code_that_calls_tools_by_position_is_bounded() -> None:
    code = '<code>\nfor number in range(9):\n    print(quick("x"))\nfinal_answer(deep("y"))\n</code>'
    truth = truth_of(Turn(code), Turn("<code>\nfinal_answer('done')\n</code>"))
    price = {"each": {"usd": "$0.01"}, "per": "argument", "argument": "query", "at_most": 10}
    guard = Guard("usd=1, steps=5", tools={**TOOLS, "quick": price}, models=MODELS, most_tokens=20)
    model = ScriptedModel(truth)
    agent = CodeAgent(bounded_tools(tools_of(truth, counts=True), guard), BoundedModel(model, guard), verbosity_level=0)
    assert agent.run("go") == "done"
    assert truth.called.count("quick") == 5
    assert truth.called.count("deep") == 0
    assert "deep was not called" in model.heard[1]
    exactly(guard, truth)


def test_a_guarded_tool_cannot_leave_the_process() -> None:
    [one, *_] = bounded_tools(tools_of(truth_of()), guarded("usd=1"))
    with pytest.raises(ConfigError, match="the tool quick is under a guard"):
        one.to_dict()


def test_threads_share_a_guard() -> None:
    truth, guard = truth_of(*[Turn("x")] * 40), guarded("calls=17")
    model = BoundedModel(ScriptedModel(truth), guard)

    def ask() -> None:
        for _ in range(10):
            try:
                model.generate([ChatMessage(MessageRole.USER, "go")])
            except BudgetExceededError:
                return

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert truth.spent["calls"] == 17
    exactly(guard, truth)


TURNS = st.builds(
    Turn,
    calls=st.lists(
        st.sampled_from([call("quick", query="x"), call("deep", query="x"), call("fails", query="x")]),
        min_size=1,
        max_size=3,
    ).map(tuple),
    completion=st.integers(0, 60),
    reports=st.booleans(),
    fails=st.booleans(),
)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(TURNS, max_size=8),
    st.sampled_from(["usd=0.07, tokens=40000", "steps=3, usd=1", "calls=4", "usd=0.02", "calls=5, steps=2, usd=0.1"]),
)
def test_nothing_is_overspent_whatever_happens(turns: list[Turn], budget: str) -> None:
    truth, guard = truth_of(*turns, DONE), guarded(budget)
    with suppress(AgentGenerationError):  # the model has failed, or its call did not fit
        agent_of(truth, guard, ScriptedApi(truth), max_steps=6).run("go")
    no_overspend(guard, truth)
    assert all(not amount for amount in guard.ledger.reserved.values())


def openai(url: str) -> Model:
    pytest.importorskip("openai")
    return OpenAIModel("scripted", url, "no-key", max_tokens=9)


def litellm(url: str) -> Model:
    pytest.importorskip("litellm")
    return LiteLLMModel("openai/scripted", url, "no-key", max_tokens=9)


def router(url: str) -> Model:
    pytest.importorskip("litellm")
    group = [{"model_name": "some", "litellm_params": {"model": "openai/scripted"}}]
    model = LiteLLMRouterModel("some", group, max_tokens=9)
    model.api_base, model.api_key = url, "no-key"
    return model


@pytest.mark.parametrize(
    "model_at", [openai, pytest.param(litellm, marks=pytest.mark.slow), pytest.param(router, marks=pytest.mark.slow)]
)
def test_clients_do_not_retry_behind_the_guard(model_at: Callable[[str], Model]) -> None:
    with Endpoint(lambda body: ["hello"], ["500"], forever=True) as endpoint:
        model, guard = model_at(endpoint.url), guarded("tokens=60000, calls=1")
        before = dict(model.kwargs)
        with pytest.raises(Exception, match=r"500|oops"):
            BoundedModel(model, guard).generate([ChatMessage(MessageRole.USER, "go")])
        assert len(endpoint.bodies) == guard.ledger.used["calls"] == 1
        assert endpoint.bodies[0]["max_tokens"] == 9
        assert model.kwargs == before  # the model that was given is as it was


def test_an_image_is_refused_or_bounded() -> None:
    def ask(truth: Truth, guard: Guard) -> str:
        content = [
            {"type": "text", "text": "Where?"},
            {"type": "image_url", "image_url": {"url": "https://example.org/river.png"}},
        ]
        return str(BoundedModel(ScriptedModel(truth), guard).generate([ChatMessage(MessageRole.USER, content)]).content)

    image_is_bounded(ask)


def test_an_image_that_is_given_to_an_agent_is_refused_or_bounded() -> None:
    image = pytest.importorskip("PIL.Image").new("RGB", (4000, 4000))

    def ask(truth: Truth, guard: Guard) -> str:
        agent = ToolCallingAgent(
            tools=[], model=BoundedModel(ScriptedModel(truth), guard), max_steps=1, verbosity_level=0
        )
        return str([step.error or step.observations for step in agent.run("go", images=[image], stream=True)])

    truth = truth_of(DONE)
    with pytest.raises(AgentGenerationError, match="declare the most that one takes"):
        ask(truth, guarded("usd=1"))
    assert truth.spent["calls"] == 0
