"""The endpoint for tests: TAPE's client and OpenAI's get constrained answers from a model over HTTP."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from tape.errors import EndpointWarning
from tape.lm.base import BatchError, JsonSchema, Message, OneOf, Regex, Request
from tape.lm.hosted.forms import form_of
from tape.lm.registry import open_model
from tape.lm.scripted import ScriptedLM
from tape.testing.endpoint import ModelEndpoint, complete, constraint_of
from tests.tape.helpers import tiny_lm
from tests.tape.lm.tiny_general import general_model

openai = pytest.importorskip("openai")

PROMPT = " size: 7x9 wall: none player: (1,1) box: (2,2) goal: (3,3)"


class Deed(BaseModel):
    kind: Literal["push", "move"]
    where: list[Literal["up", "down"]] = Field(min_length=1, max_length=2)
    sure: bool
    far: int = Field(ge=0, le=12)
    cost: float = Field(ge=0)
    share: float = Field(gt=0, lt=1)


@pytest.mark.parametrize(
    ("asked", "allowed"), [(OneOf((" U", " L R")), {" U", " L R"}), (Regex(" [UD]"), {" U", " D"})]
)
@pytest.mark.parametrize("backend", ["openai", "vllm"])
def test_a_bundled_model_obeys_over_http(backend: str, asked: Any, allowed: set[str]) -> None:
    request = Request(PROMPT, 9, asked, n=4, temperature=2.0, seed=3)
    with ModelEndpoint(tiny_lm()) as endpoint:
        hosted = open_model(f"{backend}:any@{endpoint.url}#format=compact")
        [completion] = asyncio.run(hosted.generate([request]))
    assert set(completion.texts) <= allowed
    assert len(completion.texts) == 4
    assert completion.usage.prompt_tokens == 10


def test_a_checkpoint_obeys_a_json_schema_over_http(tmp_path: Path) -> None:
    general_model(tmp_path)
    request = Request((Message("user", "What now?"),), 400, JsonSchema(Deed), n=3, temperature=1.0, seed=4)
    model = open_model(f"hf:{tmp_path}")
    with ModelEndpoint(model) as endpoint, warnings.catch_warnings():
        warnings.simplefilter("error", EndpointWarning)
        hosted = open_model(f"openai:any@{endpoint.url}")
        [completion] = asyncio.run(hosted.generate([request]))
        client = openai.OpenAI(base_url=endpoint.url, api_key="none", max_retries=0)
        words: Any = [{"role": "system", "content": "You play."}, {"role": "user", "content": "What now?"}]
        parsed = client.chat.completions.parse(
            model="any", messages=words, response_format=Deed, max_tokens=400, seed=3, n=2
        )
    assert completion.finish == ("stop",) * 3
    assert len(set(completion.texts)) > 1
    assert all(Deed.model_validate_json(text) for text in completion.texts)
    assert completion.usage.calls == 1
    assert all(choice.message.parsed for choice in parsed.choices)
    assert parsed.usage.total_tokens == parsed.usage.prompt_tokens + parsed.usage.completion_tokens > 0


def test_a_conversation_and_a_schema_reach_the_model() -> None:
    model = ScriptedLM(['{"a": 1}'])
    schema = {"$defs": {"N": {"type": "integer"}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/N"}}}
    messages = [{"role": "system", "content": "x"}, {"role": "user", "content": "y"}]
    body = {"messages": messages, "max_tokens": 7, "response_format": {"json_schema": {"schema": schema}}}
    answer = complete(model, body)
    assert answer["choices"][0]["message"]["content"] == '{"a": 1}'
    [request] = model.requests
    assert request.prompt == (Message("system", "x"), Message("user", "y"))
    assert (request.max_tokens, request.n, request.temperature, request.seed) == (7, 1, 1.0, 0)
    assert isinstance(request.constraint, JsonSchema)
    assert request.constraint.model.model_json_schema() == schema


@pytest.mark.parametrize("asked", [OneOf(("up", "down")), Regex("a|b")])
def test_forms_are_read_as_they_are_written(asked: Any) -> None:
    form = form_of(asked, frozenset())
    read, wrapped = constraint_of({"response_format": {"json_schema": {"schema": form.value}}})
    assert wrapped
    assert read == (asked if isinstance(asked, OneOf) else Regex("^(?:a|b)$"))


def test_what_the_model_cannot_do_is_refused_with_its_words() -> None:
    with ModelEndpoint(tiny_lm()) as endpoint:
        hosted = open_model(f"openai:any@{endpoint.url}")
        request = Request((Message("system", "x"), Message("user", PROMPT)), 9)
        with pytest.raises(BatchError, match="reads single prompts in its own prompt format"):
            asyncio.run(hosted.generate([request]))
