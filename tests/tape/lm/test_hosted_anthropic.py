"""Anthropic's wire against a real HTTP endpoint on loopback."""

import pytest

from tape.errors import ModelError
from tape.lm.base import BatchError, JsonSchema
from tape.lm.hosted.providers import ANTHROPIC
from tests.tape.lm.endpoint import CANARY, Endpoint
from tests.tape.lm.hosting import MOVE, Move, ask, opened, replies

pytest.importorskip("anthropic")


def test_a_schema_is_asked_for_and_the_usage_read() -> None:
    with Endpoint(replies(MOVE)) as endpoint:
        completion = ask(opened(endpoint, ANTHROPIC), JsonSchema(Move), n=2, temperature=1.5)
    assert completion.texts == (MOVE,) * 2
    assert completion.usage.source == "reported"
    assert completion.usage.calls == 2, "there are no several samples in one call"
    body = endpoint.bodies[0]
    assert (body["system"], body["messages"]) == ("You play.", [{"role": "user", "content": "What next?"}])
    assert body["output_config"]["format"]["schema"]["properties"]["action"]["enum"] == ["U", "D"]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("test", 20, 1.0)
    assert CANARY in str(endpoint.headers[0])


def test_the_key_is_not_repeated_and_a_missing_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with Endpoint(replies("up"), ["echo"]) as endpoint, pytest.raises(BatchError, match="wrong key") as caught:
        ask(opened(endpoint, ANTHROPIC))
    assert CANARY not in str(caught.value)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY"):
        ANTHROPIC("test")
