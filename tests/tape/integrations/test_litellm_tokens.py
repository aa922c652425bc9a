"""A prompt of text alone is bounded by its tokens, where the tokenizer is known; all else by its bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("litellm")
pytest.importorskip("fastapi")

from tape.integrations.litellm_tokens import LONGEST, PromptTokens, _encoding
from tests.profiles import examples

ENCODING = _encoding("openai/gpt-4o-mini")
pytestmark = pytest.mark.skipif(ENCODING is None, reason="this LiteLLM brings no tokenizer of gpt-4o-mini")
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "system", "assistant"]), "content": st.text(max_size=200)},
    optional={"name": st.text("abc", min_size=1, max_size=9)},
)


def counted(messages: list[dict[str, str]]) -> int:
    """As OpenAI publishes it: three tokens for a message, one for a name, three for the answer's beginning."""
    texts = [text for message in messages for text in message.values()]
    return 3 + sum(len(ENCODING.encode(text, disallowed_special=())) for text in texts) + 4 * len(messages)


@given(messages=st.lists(MESSAGE, min_size=1, max_size=6))
@examples(200)
def test_the_bound_is_no_less_than_the_tokens(messages: list[dict[str, str]]) -> None:
    found = PromptTokens({"model": "small", "messages": messages})("openai/gpt-4o-mini")
    assert found is not None
    assert counted(messages) <= found <= counted(messages) + 16 + 24 * len(messages) + 40


def test_a_text_of_words_is_bounded_by_less_than_its_bytes() -> None:
    request = {"model": "small", "messages": [{"role": "user", "content": "reserve the worst case " * 1000}]}
    tokens = PromptTokens(request)
    assert (tokens("openai/gpt-4o-mini") or 0) < 23_000 / 4
    assert tokens("anthropic/claude-sonnet-4-5") is tokens("azure/mine") is tokens("openai/unheard-of") is None
    assert (PromptTokens({"input": ["a text"] * 100})("openai/text-embedding-3-small") or 0) < 1100


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "user", "content": "x", "cache_control": {"type": "ephemeral"}},
        {"role": "user", "content": ["x"]},
        {"role": "user", "content": "x" * (LONGEST + 1)},
    ],
)
def test_what_is_no_text_alone_is_left_to_its_bytes(message: dict[str, Any]) -> None:
    assert PromptTokens({"messages": [message]})("openai/gpt-4o-mini") is None


def test_a_guard_takes_the_better_bound(tmp_path: Path) -> None:
    from dataclasses import replace

    from tape import Guard
    from tape.gateway.charges import ModelRequest

    guard = Guard("$1")
    request = {"model": "small", "messages": [{"role": "user", "content": "reserve the worst case " * 1000}]}
    read = ModelRequest.read(request)
    better = guard.quote("openai/gpt-4o-mini", replace(read, tokens=PromptTokens(request)))
    assert better.prompt < guard.quote("openai/gpt-4o-mini", request).prompt / 4
