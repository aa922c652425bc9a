"""A prompt is bounded by its tokens, where the tokenizer is known; all else by its bytes, and a refusal says so."""

from __future__ import annotations

import importlib.util
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape import Guard
from tape.errors import BudgetExceededError, ConfigError
from tape.guard.prompt_tokens import LONGEST, counter_of, tokens_of
from tape.testing.endpoint import JsonHandler
from tests.profiles import examples
from tests.tape.gateway.helpers import refused

MODEL = "openai/gpt-4o-mini"
TEXT = st.text(max_size=120) | st.text('"\\\n\t {}[]:,ab1', max_size=60) | st.text("中文字é😀 ", max_size=40)
JSON = st.recursive(
    TEXT | st.integers() | st.booleans() | st.none(), lambda strategy: st.dictionaries(TEXT, strategy, max_size=3)
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "system", "assistant"]), "content": TEXT},
    optional={"name": st.text("abc", min_size=1, max_size=9)},
)
TOOL = st.builds(
    lambda name, about, properties: (name, about, properties),
    st.text("abc_", min_size=1, max_size=12), TEXT,
    st.dictionaries(st.text("abc", min_size=1, max_size=6), st.tuples(st.sampled_from(["string", "integer"]), TEXT)),
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def files() -> Iterator[None]:
    """The files of tiktoken that LiteLLM brings."""
    pytest.importorskip("tiktoken")
    spec = importlib.util.find_spec("litellm")
    folder = Path(spec.origin or "").parent / "litellm_core_utils/tokenizers" if spec else Path()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", os.environ.get("TIKTOKEN_CACHE_DIR") or str(folder))
        if counter_of(MODEL) is None:
            pytest.skip("no files of the tokenizer of gpt-4o-mini are here")
        yield


def length(text: str) -> int:
    import tiktoken

    return len(tiktoken.get_encoding("o200k_base").encode(text, disallowed_special=()))


def bound(request: Any) -> int:
    count = counter_of(MODEL)
    assert count is not None
    index = tokens_of(json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogatepass"), count)
    assert index is not None
    return index


def described(tool: tuple[str, str, dict[str, tuple[str, str]]]) -> tuple[dict[str, Any], str]:
    """A tool as it is sent, and as a prompt has it, by what is known of that."""
    name, about, properties = tool
    fields = {key: {"type": sort, "description": text} for key, (sort, text) in properties.items()}
    lines = "".join(f"// {text}\n{key}?: {sort},\n" for key, (sort, text) in properties.items())
    schema = {"type": "object", "properties": fields}
    shown = f"// {about}\ntype {name} = (_: {{\n{lines}}}) => any;\n\n"
    return {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}, shown


@given(st.lists(MESSAGE, min_size=1, max_size=6), st.lists(TOOL, max_size=3), JSON)
@examples(150)
def test_the_bound_is_no_less_than_the_tokens(
    messages: list[dict[str, str]], tools: list[tuple[str, str, dict[str, tuple[str, str]]]], arguments: Any
) -> None:
    # As OpenAI publishes it: three tokens for a message, one for a name, three for the answer's beginning.
    asked = 3 + sum(length(text) for message in messages for text in message.values()) + 4 * len(messages)
    sent, shown = zip(*map(described, tools), strict=True) if tools else ((), ())
    about = length("# Tools\n\n## functions\n\nnamespace functions {\n\n" + "".join(shown) + "} // namespace functions")
    called = {
        "role": "assistant",
        "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": arguments}}],
    }
    least = asked + (about if tools else 0) + length(json.dumps(arguments, ensure_ascii=False)) + 8
    assert least <= bound({"model": "small", "messages": [*messages, called], "tools": sent})


def test_words_and_tools_are_bounded_by_far_less_than_their_bytes() -> None:
    fields = {
        f"field{i}": {"type": "string", "description": "What the caller wants to know about it"} for i in range(9)
    }
    function = {"name": "look", "description": "Look it up", "parameters": {"type": "object", "properties": fields}}
    request = {
        "messages": [
            {"role": "user", "content": "reserve the worst case " * 1000},
            {"role": "assistant", "tool_calls": []},
        ],
        "tools": [{"type": "function", "function": function}] * 9,
    }
    size, asked = len(json.dumps(request)), Guard("$1").quote(MODEL, request)
    assert asked.prompt < size / 2.4
    assert not asked.by_bytes
    assert Guard("$1").quote(MODEL, "reserve the worst case " * 1000).prompt < 23_000 / 4
    assert Guard("$1", models={"mine": "openai:gpt-4o"}).quote("mine", request).prompt == asked.prompt
    for other in ("anthropic/claude-sonnet-4-5", "azure/mine", "openai/unheard-of", "groq:gpt-4o-mini"):
        assert counter_of(other) is None
    assert Guard("$1").quote(MODEL, b"x" * (LONGEST + 1)).by_bytes


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import requests

    monkeypatch.setattr(requests, "get", lambda *_, **__: pytest.fail("a tokenizer is fetched"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert counter_of(MODEL) is counter_of("mine", "r50k_base") is None
    with pytest.raises(ConfigError, match=r"tokenizers\.mine: 'r50k_base' is no address and no encoding"):
        Guard("$1", tokenizers={"mine": "r50k_base"})


class Tokenizing(JsonHandler):
    """As llama.cpp and vLLM answer: a token for a word."""

    def do_POST(self) -> None:
        assert self.path == "/tokenize"
        body = self.body()
        assert body["content"] == body["prompt"]
        self.reply(200, {"tokens": [1] * len(body["content"].split())} if body["model"] == "mine" else {"error": "?"})


@contextmanager
def serving() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Tokenizing)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_server_is_asked_for_tokens(caplog: pytest.LogCaptureFixture) -> None:
    text = "word " * 500
    with serving() as url:
        guard = Guard(
            "$1", tokenizers={"mine": f"{url}/v1", "other": url}, models={"mine": ("1", "1"), "other": ("1", "1")}
        )
        assert guard.quote("mine", text).prompt == 500 + 64 + 6
        assert guard.quote("other", text).by_bytes
    assert "bounded by its bytes" in caplog.text
    assert guard.quote("mine", text).prompt == 64 + 2500, "the server is gone"


def test_a_refusal_says_that_bytes_were_counted_and_what_would_make_that_less() -> None:
    guard = Guard("100 tokens")
    refused(
        guard.model("mine", "x" * 50),
        BudgetExceededError,
        r'by its bytes: .*tokenizers={"mine": ...}.*bytes_per_token=3',
    )
    with pytest.raises(BudgetExceededError) as caught, guard.model(MODEL, "word " * 50):
        pass
    assert "bytes" not in str(caught.value)
    refused(Guard("calls=0").model("mine", "x"), BudgetExceededError, r"of 0 calls|0 calls")
