"""What the adapters hand to a guard of what a provider's cache had."""

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

PROMPT, CACHED, WRITTEN, COMPLETION = 100, 60, 30, 7


class Recorded:
    """Stands for a charge."""

    def __init__(self) -> None:
        self.seen: tuple[Any, ...] = ()

    def used(self, prompt: Any, completion: Any, *, cached: Any = None, written: Any = None) -> None:
        self.seen = (prompt, completion, cached, written)


def of_langchain(charge: Any) -> None:
    pytest.importorskip("langchain")
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, LLMResult

    from tape.integrations.langchain import GuardCallback

    details = {"cache_read": CACHED, "cache_creation": 0, "ephemeral_5m_input_tokens": WRITTEN}
    usage = {"input_tokens": PROMPT, "output_tokens": COMPLETION, "total_tokens": 107, "input_token_details": details}
    callback, number = GuardCallback(None), uuid4()  # type: ignore[arg-type]
    callback._open[number] = SimpleNamespace(__exit__=lambda *_: None), charge  # type: ignore[assignment]
    answer = ChatGeneration(message=AIMessage("yes", usage_metadata=usage))
    callback.on_llm_end(LLMResult(generations=[[answer]]), run_id=number)


def of_pydantic_ai(charge: Any) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.usage import RequestUsage

    from tape.integrations.pydantic_ai import _used

    usage = RequestUsage(
        input_tokens=PROMPT, cache_read_tokens=CACHED, cache_write_tokens=WRITTEN, output_tokens=COMPLETION
    )
    _used(charge, usage)


def of_openai_agents(charge: Any) -> None:
    pytest.importorskip("agents")
    from tape.integrations.openai_agents import _used

    details = SimpleNamespace(cached_tokens=CACHED, cache_write_tokens=WRITTEN)
    usage = SimpleNamespace(input_tokens=PROMPT, output_tokens=COMPLETION, input_tokens_details=details)
    _used(charge, usage)


def of_dspy(charge: Any) -> None:
    pytest.importorskip("dspy")
    from dspy.lm15 import Usage

    from tape.integrations.dspy import _used

    read = PROMPT - CACHED - WRITTEN  # Anthropic's count leaves out what the cache had
    usage = Usage(input_tokens=read, output_tokens=COMPLETION, cache_read_tokens=CACHED, cache_write_tokens=WRITTEN)
    _used(charge, usage, "anthropic/claude-haiku-4-5")


@pytest.mark.parametrize("adapter", [of_langchain, of_pydantic_ai, of_openai_agents, of_dspy])
def test_the_cached_part_of_a_prompt_is_handed_on(adapter: Any) -> None:
    charge = Recorded()
    adapter(charge)
    assert charge.seen == (PROMPT, COMPLETION, CACHED, WRITTEN)
