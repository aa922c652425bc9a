"""Anthropic's wire against a real HTTP endpoint on loopback."""

import asyncio
from typing import Literal

import pytest
from pydantic import BaseModel

from tape.errors import ModelError
from tape.lm.base import BatchError, Choice, Completion, JsonSchema, Message, Request
from tape.lm.registry import open_model
from tests.tape.lm.endpoint import CANARY, Endpoint

pytest.importorskip("anthropic")

PROMPT = (Message("system", "You play."), Message("user", "What next?"))


class Move(BaseModel):
    action: Literal["U", "D"]


def ask(endpoint: Endpoint, request: Request) -> Completion:
    model = open_model(f"anthropic:test@{endpoint.root}#backoff=0,retries=1,timeout=30")
    [completion] = asyncio.run(model.generate([request]))
    return completion


def test_a_schema_is_asked_for_and_the_usage_read() -> None:
    with Endpoint(lambda body: ['{"action":"U"}']) as endpoint:
        completion = ask(endpoint, Request(PROMPT, 20, JsonSchema(Move), n=2, temperature=1.5))
    assert completion.texts == ('{"action":"U"}',) * 2
    assert completion.usage.source == "reported"
    assert completion.usage.calls == 2, "there are no several samples in one call"
    body = endpoint.bodies[0]
    assert (body["system"], body["messages"]) == ("You play.", [{"role": "user", "content": "What next?"}])
    assert body["output_config"]["format"]["schema"]["properties"]["action"]["enum"] == ["U", "D"]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("test", 20, 1.0)
    assert CANARY in str(endpoint.headers[0])


def test_choices_are_wrapped() -> None:
    with Endpoint(lambda body: ['{"answer": "down"}']) as endpoint:
        assert ask(endpoint, Request("Where to?", 20, Choice(("up", "down")))).texts == ("down",)
    assert endpoint.bodies[0]["output_config"]["format"]["schema"]["required"] == ["answer"]


@pytest.mark.parametrize("fault", ["429", "500", "cut", "garbage"])
def test_failures_are_retried(fault: str) -> None:
    with Endpoint(lambda body: ["up"], [fault]) as endpoint:
        assert ask(endpoint, Request(PROMPT, 20)).texts == ("up",)
    assert len(endpoint.bodies) == 2


def test_the_key_is_not_repeated() -> None:
    with Endpoint(lambda body: ["up"], ["echo"]) as endpoint, pytest.raises(BatchError, match="wrong key") as caught:
        ask(endpoint, Request(PROMPT, 20))
    assert CANARY not in str(caught.value)


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY"):
        open_model("anthropic:test")
