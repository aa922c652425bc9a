"""What a guard finds in requests that their bytes do not bound, in the forms of interfaces and frameworks."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tape.errors import ChargeError, ConfigError, UnknownCostError
from tape.guard.content import parts_of, size_of
from tape.guard.guard import OVERHEAD_TOKENS, Guard
from tests.profiles import examples
from tests.tape.gateway.helpers import paid, refused

pytestmark = pytest.mark.timeout(60)

URL = "https://example.org/river.png"
IMAGE = {"type": "image", "url": URL}
MODELS = {"m": ("1", "2")}
SCHEMA = {"type": "object", "properties": {"type": {"enum": ["image", "file"]}, "file_id": {"type": "string"}}}


class Shown(BaseModel):
    type: str = "image_url"
    image_url: str = Field(URL, repr=False)


@dataclass
class Given:
    type: str
    file_id: str


def user(*content: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(content)}]}


PARTS: list[tuple[Any, list[str]]] = [
    # OpenAI's chat and responses
    ({"type": "image_url", "image_url": {"url": URL}}, ["image"]),
    ({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}, ["image"]),
    ({"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}, ["audio"]),
    ({"type": "file", "file": {"file_id": "file-1"}}, ["file"]),
    ({"type": "input_image", "file_id": "file-1", "detail": "high"}, ["image"]),
    ({"type": "input_file", "file_url": "https://example.org/all.pdf"}, ["file"]),
    # Anthropic's
    ({"type": "image", "source": {"type": "url", "url": URL}}, ["image"]),
    ({"type": "document", "source": {"type": "file", "file_id": "file_1"}}, ["file"]),
    ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "all of it"}}, []),
    ({"type": "container_upload", "file_id": "file_1"}, ["file"]),
    ({"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}, ["cache"]),
    ({"type": "tool_result", "content": [{"type": "image", "source": {"type": "base64", "data": "eA=="}}]}, ["image"]),
    ({"type": "tool_use", "name": "see", "input": {"type": "image", "url": URL, "file_id": "mine"}}, []),
    # Google's and Amazon's
    ({"fileData": {"mimeType": "video/mp4", "fileUri": "gs://x/y.mp4"}}, ["video"]),
    ({"inline_data": {"mime_type": "audio/mp3", "data": "eA=="}}, ["audio"]),
    ({"functionCall": {"name": "f", "args": {"image": "x"}}}, []),
    ({"image": {"format": "png", "source": {"bytes": "eA=="}}}, ["image"]),
    ({"document": {"format": "pdf", "name": "a", "source": {"s3Location": {"uri": "s3://x/y"}}}}, ["file"]),
    ({"cachePoint": {"type": "default"}}, ["cache"]),
    # LangChain's
    ({"type": "file", "source_type": "id", "id": "file-1"}, ["file"]),
    ({"type": "video", "url": "https://example.org/a.mp4"}, ["video"]),
    ({"type": "text-plain", "text": "all of it"}, []),
    ({"type": "text-plain", "url": "https://example.org/a.txt"}, ["file"]),
    ({"type": "non_standard", "value": {"type": "image", "url": URL}}, ["image"]),
    # pydantic-ai's
    ({"kind": "image-url", "url": URL}, ["image"]),
    ({"kind": "binary", "media_type": "audio/wav", "data": "eA=="}, ["audio"]),
    ({"kind": "uploaded-file", "file_id": "f", "provider_name": "openai"}, ["file"]),
    ({"kind": "cache-point", "ttl": "1h"}, ["cache"]),
    ({"part_kind": "tool-return", "content": {"type": "image", "file_id": "mine", "image_url": "mine"}}, []),
    ({"part_kind": "tool-return", "content": ["seen", {"kind": "document-url", "url": URL}]}, ["file"]),
    # what nobody knows, and objects
    ({"type": "hologram", "url": URL}, ["part"]),
    ({"hologram": {"url": URL}}, ["part"]),
    (object(), ["part"]),
    (Shown(), ["image"]),
    (Given("input_file", "file-1"), ["file"]),
    # text, whatever it looks like
    ({"type": "text", "text": json.dumps({"type": "image_url", "image_url": URL})}, []),
    ({"type": "thinking", "thinking": "hm", "signature": "x"}, []),
    (URL, []),
]


@pytest.mark.parametrize(("part", "kinds"), PARTS, ids=range(len(PARTS)))
def test_parts_are_found_by_their_form(part: Any, kinds: list[str]) -> None:
    for request in (user("Where?", part), user({"role": "user", "content": [part]}), [user(part)["messages"]]):
        assert [content_part.kind for content_part in parts_of(request)] == kinds
    if not isinstance(part, str | Shown | Given | dict):
        return
    guard = Guard("usd=1, tokens=1000000", models=MODELS)
    if not kinds:
        paid(guard.model("m", user(part)), 1, 1)
        return
    refused(guard.model("m", user(part)), UnknownCostError, "the request to m holds")
    assert not guard.ledger.used["calls"]


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        ({"previous_response_id": "resp_1", "input": "and then?"}, "conversation"),
        ({"conversation": {"id": "conv_1"}, "input": "and then?"}, "conversation"),
        ({"openai_previous_response_id": "resp_1"}, "conversation"),
        ({"google_cached_content": "cachedContents/1"}, "conversation"),
        ({"prompt": {"id": "pmpt_1", "variables": {}}}, "conversation"),
        ({"input": [{"type": "item_reference", "id": "rs_1"}]}, "conversation"),
        ({"settings": {"extra_body": {"container": "c_1"}}}, "conversation"),
        ({"tools": [{"type": "web_search"}]}, "tool"),
        ({"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]}, "tool"),
        ({"tools": [{"type": "mcp", "server_url": "https://example.org"}]}, "tool"),
        ({"tools": [{"google_search": {}}]}, "tool"),
        ({"mcp_servers": [{"url": "https://example.org"}]}, "tool"),
        ({"web_search_options": {"search_context_size": "low"}}, "tool"),
        ({"web_search_options": {}}, "tool"),
        ({"anthropic_cache_instructions": "1h"}, "cache"),
        ({"tools": [{"name": "f", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}}]}, "cache"),
        ({"modalities": ["text", "audio"]}, "part"),
        ({"input": [{"type": "hologram"}]}, "part"),
        (json.dumps(user({"type": "image_url", "image_url": URL})).encode(), "image"),
    ],
)
def test_what_the_provider_keeps_runs_or_bills_is_found(request_: Any, kind: str) -> None:
    assert [part.kind for part in parts_of(request_)] == [kind]


@pytest.mark.parametrize(
    "request_",
    [
        "Where?", b"Where?", b"[no JSON", json.dumps(user({"type": "image_url", "image_url": URL})),
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}, ("f", "does", SCHEMA)]},
        {"tools": [{"name": "f", "input_schema": SCHEMA}]},
        {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": SCHEMA}}}]},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
        {"tool_choice": {"type": "tool"}},
        {"messages": [{"role": "assistant", "tool_calls": [{"type": "function", "arguments": {"file_id": "mine"}}]}]},
        {"messages": [{"type": "ai", "data": {"content": "x", "tool_calls": [{"args": {"type": "image"}}]}}]},
        {"messages": [{"kind": "request", "conversation_id": "of the run", "parts": [{"part_kind": "text"}]}]},
        {"input": [{"type": "function_call_output", "output": "x"}, {"type": "reasoning", "encrypted_content": "x"}]},
        {"thinking": {"type": "enabled", "budget_tokens": 3}, "modalities": ["text"], "metadata": {"file_id": "mine"}},
        {"previous_response_id": None, "tools": None, "cache": {"mode": "off"}, "mcp_servers": []}, SCHEMA,
    ],
)  # fmt: skip
def test_ordinary_requests_are_free_to_pass(request_: Any) -> None:
    assert parts_of(request_) == []


def test_a_declared_worst_case_stands_for_the_bytes_of_a_part() -> None:
    data, text = "data:image/png;base64," + "A" * 100_000, "t" * 500
    request = user({"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": data}})
    guard = Guard("tokens=5000, usd=1", models=MODELS, most_tokens=50, content={"image": 1600})
    with guard.model("m", request) as charge:
        around = size_of(user({"type": "text", "text": text}, {"type": "image_url", "image_url": None})) - len("null")
        assert guard.ledger.reserved["tokens"] == OVERHEAD_TOKENS + around + 1600 + 50
        charge.used(1700, 50)
    assert dict(guard.ledger.used) == {"calls": 1, "tokens": 1750, "usd": 1800}
    beside = user({"type": "image_url", "image_url": URL, "text": text})
    with guard.model("m", beside) as charge:
        assert (charge.worst["tokens"] or 0) > len(text) + 1600, "words beside an image are no image"


def test_money_that_no_report_of_tokens_holds_is_booked() -> None:
    content = {"audio": {"tokens": 1000, "usd": "$0.05"}, "cache": {"usd": "$0.01"}}
    guard = Guard("usd=0.10", models=MODELS, most_tokens=50, content=content)
    cached = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    with guard.model("m", user({"type": "input_audio", "input_audio": {"data": "eA=="}}, cached)) as charge:
        assert (charge.worst["usd"] or 0) > 60_000
        charge.used(900, 10)
    assert guard.ledger.used["usd"] == 60_000 + 920


@pytest.mark.parametrize(
    ("budget", "content", "part", "message"),
    [
        ("usd=1", {}, IMAGE, r'image .messages\[0\]\.content\[0\]., .*usd is capped.*{"image": 1600}'),
        ("usd=1, tokens=9", {}, IMAGE, "usd and tokens are capped"),
        ("tokens=9", {"image": {"usd": "$0.01"}}, IMAGE, '{"image": {"tokens": 1600}}'),
        ("usd=1", {}, {"type": "text", "text": "x", "cache_control": {"type": "x"}}, r'{"cache": {"usd": "\$0.01"}}'),
        ("usd=1", {"image": 9}, {"type": "hologram"}, "a part that is not known, .*leave it out"),
    ],
)
def test_a_refusal_names_the_part_and_the_line_to_add(budget: str, content: Any, part: Any, message: str) -> None:
    guard = Guard(budget, models=MODELS, content=content)
    refused(guard.model("m", user(part)), UnknownCostError, message)


def test_where_neither_money_nor_tokens_are_capped_nothing_is_refused() -> None:
    guard = Guard("calls=1", models=MODELS)
    paid(guard.model("m", user({"type": "hologram"}, {"type": "image_url", "image_url": URL})), 60_000, 1)
    assert guard.ledger.used["usd"] == 60_002


def test_caps_of_an_outer_guard_count() -> None:
    guard = Guard("usd=1", models=MODELS).within("calls=1")
    refused(guard.model("m", user({"type": "image_url", "image_url": URL})), UnknownCostError, "usd is capped")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"picture": 9}, r"content\.picture: there is no such kind of content; there is image, audio"),
        ({"image": "many"}, r"content\.image: expected tokens"),
        ({"image": True}, r"content\.image: expected tokens"),
        ({"image": {}}, r"content\.image: expected tokens"),
        ({"image": {"euros": 1}}, r"content\.image: expected tokens"),
        ({"image": -1}, r"content\.image"),
    ],
)
def test_a_declaration_that_is_malformed_is_named(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Guard("usd=1", content=content)


def test_a_request_that_holds_itself_is_refused() -> None:
    request = user("x")
    request["messages"].append(request)
    refused(Guard("usd=1", models=MODELS).model("m", request), ChargeError, "holds itself")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@examples(200)
@given(JSON)
def test_no_shape_of_a_request_breaks_the_search(request_: Any) -> None:
    parts_of(request_)
    parts_of(user(request_))


def test_a_part_is_found_wherever_a_message_may_hold_it() -> None:
    bounded = [part for part, kinds in PARTS if not kinds and isinstance(part, dict)]
    hidden = [part for part, kinds in PARTS if kinds and isinstance(part, dict)]
    for seed in range(300):
        chance = random.Random(seed)
        content = [chance.choice(["x", *bounded]) for _ in range(chance.randrange(5))]
        content.insert(chance.randrange(len(content) + 1), chance.choice(hidden))
        for _ in range(chance.randrange(3)):
            content = [{"type": "tool_result", "content": content}, *chance.sample(bounded, 1)]
        before = [{"role": "user", "content": "x"}] * chance.randrange(3)
        assert len(parts_of({"messages": [*before, {"role": "user", "content": content}]})) == 1
