"""The server as the official client of OpenAI uses it: schemas, streams, and what is refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from tape.lm.registry import open_model
from tape.lm.serve_chat import UNSERVED
from tests.tape.lm.raw_http import served
from tests.tape.lm.test_serve import general_model

openai = pytest.importorskip("openai")

ASKED: Any = [{"role": "system", "content": "You play."}, {"role": "user", "content": "What now?"}]


class Deed(BaseModel):
    kind: Literal["push", "move"]
    where: list[Literal["up", "down"]] = Field(min_length=1, max_length=2)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("general")
    general_model(folder)
    with served(open_model(f"hf:{folder}")) as port:
        yield openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0)


def test_it_lists_the_model(client: Any) -> None:
    assert [model.id.startswith("hf:") for model in client.models.list()] == [True]


def test_schemas_are_enforced(client: Any) -> None:
    asked = client.chat.completions.parse(
        model="any", messages=ASKED, response_format=Deed, max_tokens=80, seed=3, n=2, temperature=1.0
    )
    assert all(choice.message.parsed.kind in ("push", "move") for choice in asked.choices)
    assert [choice.finish_reason for choice in asked.choices] == ["stop"] * 2
    assert asked.usage.total_tokens == asked.usage.prompt_tokens + asked.usage.completion_tokens > 0


def test_a_stream_brings_the_same_answer(client: Any) -> None:
    asked: Any = {"model": "any", "messages": ASKED, "max_tokens": 12, "seed": 3, "n": 2}
    whole = client.chat.completions.create(**asked)
    chunks = [*client.chat.completions.create(**asked, stream=True)]
    texts = ["", ""]
    for chunk in chunks:
        [choice] = chunk.choices
        texts[choice.index] += choice.delta.content or ""
    assert texts == [choice.message.content for choice in whole.choices]
    assert chunks[0].choices[0].delta.role == "assistant"
    ends = [choice.finish_reason for choice in whole.choices]
    assert [c.choices[0].finish_reason for c in chunks] == [None, ends[0], None, ends[1]]
    assert all(chunk.usage is None for chunk in chunks)
    *_, last = client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    assert (last.choices, last.usage) == ([], whole.usage)


def test_a_stream_that_is_refused_is_an_error_with_a_status(client: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="max_tokens is from 1 to"):
        client.chat.completions.create(model="any", messages=ASKED, max_tokens=10**9, stream=True)


VALUES: dict[str, Any] = {
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
    "tool_choice": "required",
    "functions": [{"name": "look"}],
    "function_call": {"name": "look"},
    "logprobs": True,
    "top_logprobs": 2,
    "stop": ["\n"],
    "logit_bias": {"7": -100},
    "top_p": 0,
    "presence_penalty": 0.5,
    "frequency_penalty": -0.5,
}


@pytest.mark.parametrize("name", UNSERVED)
def test_what_is_not_served_is_refused_with_what_to_do(client: Any, name: str) -> None:
    with pytest.raises(openai.BadRequestError, match=f"{name} is not served: .*leave this out"):
        client.chat.completions.create(model="any", messages=ASKED, max_tokens=2, extra_body={name: VALUES[name]})


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"top_k": 3}, "top_k"),
        ({"repetition_penalty": 1.1}, "repetition_penalty"),
        ({"guided_json": {}}, "guided_json"),
        ({"grammar": 'root ::= "a"'}, "grammar"),
        ({"structured_outputs": {"grammar": 'root ::= "a"'}}, "structured_outputs.grammar"),
    ],
)
def test_what_is_not_known_is_refused_by_name(client: Any, more: dict[str, Any], field: str) -> None:
    with pytest.raises(openai.BadRequestError, match=f"{field} is not served: .*leave this out"):
        client.chat.completions.create(model="any", messages=ASKED, max_tokens=2, extra_body=more)


def test_what_asks_for_nothing_is_no_reason_to_refuse(client: Any) -> None:
    neutral = {
        "tools": [],
        "tool_choice": "none",
        "logprobs": False,
        "stop": None,
        "top_p": 1,
        "presence_penalty": 0.0,
        "user": "me",
        "grammar": None,
    }
    answer = client.chat.completions.create(model="any", messages=ASKED, max_tokens=2, extra_body=neutral)
    assert answer.choices[0].message.content
