"""The small OpenAI-compatible server, asked over HTTP."""

import asyncio
import http.client
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from pydantic import BaseModel, Field
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tape.errors import ConfigError, ConstraintError, EndpointWarning
from tape.lm.base import Choice, JsonSchema, Message, Regex, Request
from tape.lm.registry import open_model
from tape.lm.scripted import ScriptedLM
from tape.lm.serve import constraint_of
from tests.tape.helpers import tiny_lm
from tests.tape.lm.raw_http import PROMPT, served


def post(port: int, body: Any, path: str = "/v1/chat/completions", method: str = "POST") -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    raw = body if isinstance(body, bytes) else json.dumps(body)
    connection.request(method, path, raw, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    read = json.loads(answer.read())
    connection.close()
    return answer.status, read


def wrapper(inner: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"answer": inner}, "required": ["answer"]}
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


def test_a_real_model_obeys_what_it_is_asked_over_http() -> None:
    ask = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 9, "temperature": 2.0, "seed": 3, "n": 4}
    with served(tiny_lm()) as port:
        for inner, allowed in (
            ({"type": "string", "enum": [" U", " L R"]}, {" U", " L R"}),
            ({"type": "string", "pattern": "^(?: [UD])$"}, {" U", " D"}),
        ):
            status, answer = post(port, {**ask, "response_format": wrapper(inner)})
            assert status == 200
            texts = {json.loads(choice["message"]["content"])["answer"] for choice in answer["choices"]}
            assert texts <= allowed
            assert len(answer["choices"]) == 4
        status, answer = post(port, {**ask, "structured_outputs": {"choice": [" R"]}, "n": 1})
        assert answer["choices"][0]["message"]["content"] == " R"
        assert answer["usage"] == {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}


def test_what_cannot_be_served_says_why() -> None:
    user = {"role": "user", "content": PROMPT}
    cases = [
        (b"{", "JSON"),
        ([], "no JSON object"),
        ({}, "messages"),
        ({"messages": [{"role": "user", "content": 3}]}, "content"),
        ({"messages": [user, user]}, "single prompts"),
        ({"messages": [user], "n": "two"}, "whole number"),
        ({"messages": [user], "n": 0}, "n is from 1"),
        ({"messages": [user], "response_format": "json"}, "wrong type"),
        ({"messages": [user], "structured_outputs": {"choice": 5}}, "wrong type"),
        ({"messages": [user], "response_format": {"type": "json_object"}}, "json_object"),
        ({"messages": [user], "response_format": wrapper({"type": "string", "enum": ["banana"]})}, "cannot write"),
        ({"messages": [{"role": "user", "content": "hello"}]}, "cannot write"),
    ]
    with served(tiny_lm()) as port:
        for body, words in cases:
            status, answer = post(port, body)
            assert status == 400
            assert words.lower() in answer["error"]["message"].lower()
        assert post(port, {}, "/v1/completions")[0] == 404
        assert post(port, {}, "/elsewhere", "GET")[0] == 404
        status, listed = post(port, {}, "/v1/models", "GET")
        assert [model["id"] for model in listed["data"]] == ["tiny"]


def test_chat_models_get_the_conversation_and_schemas_become_patterns() -> None:
    model = ScriptedLM(['{"a":1}'])
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    messages = [{"role": "system", "content": "x"}, {"role": "user", "content": "y"}]
    with served(model) as port:
        status, answer = post(
            port,
            {"messages": messages, "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}},
        )
    assert (status, answer["choices"][0]["message"]["content"]) == (200, '{"a":1}')
    request: Request = model.requests[0]
    assert [(m.role, m.content) for m in request.prompt] == [("system", "x"), ("user", "y")]  # type: ignore[union-attr]
    assert isinstance(request.constraint, Regex)
    assert "a" in request.constraint.pattern


def general_model(folder: Path) -> None:
    """Save a tiny random model that can write any text, with a chat template."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    words.train_from_iterator([], trainers.BpeTrainer(special_tokens=["<pad>", "<eos>"], initial_alphabet=alphabet))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>", pad_token="<pad>")
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=len(tokenizer), eos_token_id=1, pad_token_id=0, bos_token_id=None, **sizes)
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def test_a_local_checkpoint_behind_http_obeys_any_json_schema(tmp_path: Path) -> None:
    pytest.importorskip("openai")

    class Deed(BaseModel):
        kind: Literal["push", "move"]
        where: list[Literal["up", "down"]] = Field(min_length=1, max_length=2)
        sure: bool
        far: int = Field(ge=0, le=12)
        cost: float = Field(ge=0)
        share: float = Field(gt=0, lt=1)

    general_model(tmp_path)
    request = Request((Message("user", "What now?"),), 400, JsonSchema(Deed), n=3, temperature=1.0, seed=4)
    with served(open_model(f"hf:{tmp_path}")) as port, warnings.catch_warnings():
        warnings.simplefilter("error", EndpointWarning)
        hosted = open_model(f"openai:any@http://127.0.0.1:{port}/v1")
        [completion] = asyncio.run(hosted.generate([request]))
    assert completion.finish == ("stop",) * 3
    assert len(set(completion.texts)) > 1
    assert all(Deed.model_validate_json(text) for text in completion.texts)
    assert completion.usage.calls == 1


def test_forms_are_read_as_they_are_written() -> None:
    from tape.lm.hosted.forms import form_of

    for constraint in (Choice(("up", "down")), Regex("a|b")):
        form = form_of(constraint, frozenset())
        read, wrapped = constraint_of({"response_format": {"json_schema": {"schema": form.value}}})
        assert wrapped
        assert read == constraint or read == Regex("^(?:a|b)$")


def test_bounds_of_numbers_are_enforced_or_refused_by_name() -> None:
    def asked(**number: object) -> dict[str, object]:
        schema = {"type": "object", "properties": {"a": {"type": "integer", **number}}, "required": ["a"]}
        return {"messages": [{"role": "user", "content": "y"}], "response_format": {"json_schema": {"schema": schema}}}

    constraint, _ = constraint_of(asked(minimum=-1, exclusiveMaximum=12))
    assert isinstance(constraint, Regex)
    for value in range(-3, 15):
        assert bool(re.fullmatch(constraint.pattern, f'{{"a":{value}}}')) is (-1 <= value < 12)
    with served(ScriptedLM(['{"a":7}'])) as port:
        status, answer = post(port, asked(multipleOf=7))
        assert status == 400
        assert "cannot be enforced: multipleOf 7 is enforced where" in answer["error"]["message"]
        assert post(port, asked(minimum=7, maximum=7, multipleOf=7))[0] == 200


def test_the_client_asks_for_less_where_a_bound_is_refused() -> None:
    pytest.importorskip("openai")

    class Deed(BaseModel):
        times: int = Field(multiple_of=7)

    model = ScriptedLM(['{"times": 14}'])
    with served(model) as port:
        hosted = open_model(f"openai:any@http://127.0.0.1:{port}/v1")
        request = Request((Message("user", "How often?"),), 40, JsonSchema(Deed))
        with pytest.warns(EndpointWarning, match="multipleOf 7 is enforced where"):
            [completion] = asyncio.run(hosted.generate([request]))
    assert completion.texts == ('{"times": 14}',)
    [asked] = model.requests
    assert isinstance(asked.constraint, Regex)
    assert "times" in asked.constraint.pattern


def test_a_pattern_may_end_in_an_escaped_dollar() -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string", "pattern": r"^\$\d+\$"}}}
    assert constraint_of({"response_format": {"json_schema": {"schema": schema}}}) == (Regex(r"^\$\d+\$"), True)


@pytest.mark.parametrize(
    ("answer", "required"),
    [
        ({"type": "string", "pattern": "[a-z]+", "maxLength": 3}, ["answer"]),
        ({"type": "string", "enum": ["a"], "not": {"const": "a"}}, ["answer"]),
        ({"type": "string", "enum": ["a"]}, ["answer", "other"]),
    ],
)
def test_what_stands_beside_a_served_answer_is_not_passed_over(answer: dict[str, Any], required: list[str]) -> None:
    schema = {"type": "object", "properties": {"answer": answer}, "required": required}
    with pytest.raises(ConstraintError, match="cannot be enforced"):
        constraint_of({"response_format": {"json_schema": {"schema": schema}}})


def test_null_asks_for_nothing_and_an_empty_schema_for_any_json() -> None:
    assert constraint_of({"structured_outputs": {"choice": None, "regex": None, "json": None}}) == (None, False)
    native, _ = constraint_of({"structured_outputs": {"json": {}}})
    asked, _ = constraint_of({"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}})
    assert native == asked is not None
    with pytest.raises(ConfigError, match="wrong type"):
        constraint_of({"regex": 5})


@pytest.mark.slow
def test_the_command_serves_and_names_its_address() -> None:
    command = [sys.executable, "-m", "tape", "serve", "bundled:nano-750", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "openai:bundled:nano-750@http://127.0.0.1:" in line
        port = int(line.split(":")[-1].split("/")[0])
        status, _ = post(port, {}, "/v1/models", "GET")
        process.terminate()
    assert status == 200
