"""What the adapters hand to a guard of what a provider's cache had, and of which model has answered."""

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from tape.adapters.usage import Meter

PROMPT, CACHED, WRITTEN, COMPLETION = 100, 60, 30, 7
HOUR, MODEL = 20, "claude-opus-4-1"


class Recorded:
    """Stands for a charge."""

    def __init__(self) -> None:
        self.seen: tuple[Any, ...] = ()

    def used(self, prompt: Any, completion: Any, **more: Any) -> None:
        self.seen = (prompt, completion, *(more.get(name) for name in ("cached", "written", "written_1h", "model")))


def of_langchain(charge: Any) -> None:
    pytest.importorskip("langchain")
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, LLMResult

    from tape.adapters.langchain import GuardCallback

    details = {"cache_read": CACHED, "cache_creation": 0, "ephemeral_5m_input_tokens": WRITTEN - HOUR}
    details["ephemeral_1h_input_tokens"] = HOUR
    usage = {"input_tokens": PROMPT, "output_tokens": COMPLETION, "total_tokens": 107, "input_token_details": details}
    callback, number = GuardCallback(None), uuid4()  # type: ignore[arg-type]
    callback._open[number] = SimpleNamespace(__exit__=lambda *_: None), charge  # type: ignore[assignment]
    answer = ChatGeneration(message=AIMessage("yes", usage_metadata=usage, response_metadata={"model": MODEL}))
    callback.on_llm_end(LLMResult(generations=[[answer]]), run_id=number)


def of_pydantic_ai(charge: Any) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.usage import RequestUsage

    from tape.adapters.pydantic_ai import _used

    usage = RequestUsage(
        input_tokens=PROMPT, cache_read_tokens=CACHED, cache_write_tokens=WRITTEN, output_tokens=COMPLETION,
        details={"ephemeral_1h_input_tokens": HOUR},
    )  # fmt: skip
    _used(charge, usage, MODEL)


def of_openai_agents(charge: Any) -> None:
    pytest.importorskip("agents")
    from tape.adapters.openai_agents import _used

    details = SimpleNamespace(cached_tokens=CACHED, cache_write_tokens=WRITTEN)
    usage = SimpleNamespace(input_tokens=PROMPT, output_tokens=COMPLETION, input_tokens_details=details)
    _used(charge, usage, MODEL)


def of_dspy(charge: Any) -> None:
    pytest.importorskip("dspy")
    from dspy.lm15 import Usage

    from tape.adapters.dspy import _used

    read = PROMPT - CACHED - WRITTEN  # Anthropic's count leaves out what the cache had
    usage = Usage(input_tokens=read, output_tokens=COMPLETION, cache_read_tokens=CACHED, cache_write_tokens=WRITTEN)
    _used(charge, usage, "anthropic/claude-haiku-4-5", MODEL)


def of_smolagents(charge: Any) -> None:
    pytest.importorskip("smolagents")
    from smolagents import ChatMessage
    from smolagents.monitoring import TokenUsage

    from tape.adapters.smolagents import _used

    raw = {"model": MODEL, "usage": {"prompt_tokens": PROMPT, "cache_creation_input_tokens": WRITTEN}}
    raw["usage"]["prompt_tokens_details"] = {"cached_tokens": CACHED}  # type: ignore[index]
    _used(charge, ChatMessage("assistant", "yes", raw=raw, token_usage=TokenUsage(PROMPT, COMPLETION)))


def of_an_answer(charge: Any) -> None:
    usage = {
        "input_tokens": PROMPT - CACHED - WRITTEN,
        "output_tokens": COMPLETION,
        "cache_read_input_tokens": CACHED,
        "cache_creation_input_tokens": WRITTEN,
        "cache_creation": {"ephemeral_1h_input_tokens": HOUR, "ephemeral_5m_input_tokens": WRITTEN - HOUR},
    }
    meter = Meter()
    meter.take({"model": MODEL, "usage": usage})
    meter.usage.settle(charge)


@pytest.mark.parametrize(
    "adapter", [of_langchain, of_pydantic_ai, of_openai_agents, of_dspy, of_smolagents, of_an_answer]
)
def test_the_cached_part_of_a_prompt_is_handed_on(adapter: Any) -> None:
    charge = Recorded()
    adapter(charge)
    hours = HOUR if adapter in (of_langchain, of_pydantic_ai, of_an_answer) else None  # others do not hand it on
    assert charge.seen == (PROMPT, COMPLETION, CACHED, WRITTEN, hours, MODEL)
