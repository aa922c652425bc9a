"""What endpoints refuse of a request, and what is sent instead: learnt once, with one warning, booked as reported."""

import asyncio
import re
from typing import Any

import pytest

from tape.budget import Budget, Ledger
from tape.errors import EndpointWarning
from tape.lm.accounting import AccountedLM
from tape.lm.base import BatchError, Message, OneOf, Request, Usage, worst_case
from tape.lm.hosted.concessions import largest_below, room_beside
from tape.lm.hosted.providers import ANTHROPIC, LLAMACPP, OPENAI
from tests.tape.commandline import Tape
from tests.tape.lm.endpoint import Endpoint, Faulty
from tests.tape.lm.hosting import PROMPT, ask, opened, replies, wrapped

pytest.importorskip("openai")


def warned(caught: Any) -> list[str]:
    return [str(item.message) for item in caught if issubclass(item.category, EndpointWarning)]


def test_where_n_is_refused_samples_are_asked_for_singly() -> None:
    words = "'n' : number must be at most 1"
    request = Request(PROMPT, 20, OneOf(("up", "down")), n=3, temperature=0.5)
    with Endpoint(wrapped("up"), refuse=lambda body: words if "n" in body else None) as endpoint:
        model = opened(endpoint, after_error="nothing")
        tight = Ledger(Budget({"tokens": worst_case(model, request)["tokens"] or 0}))
        warning = pytest.warns(EndpointWarning, match="each sample is a call")
        with warning, pytest.raises(BatchError, match="budget does not cover"):
            asyncio.run(AccountedLM(model, tight).generate([request]))
    assert all("response_format" in body for body in endpoint.bodies), "not the choice was refused"
    assert endpoint.refused == 1
    assert not tight.overspent()


@pytest.mark.parametrize("provider", [OPENAI, ANTHROPIC], ids=lambda p: p.name)
def test_a_refused_system_role_is_merged_into_the_users_message(provider: Any) -> None:
    def refuse(body: dict[str, Any]) -> str | None:
        system = "system" in body or body["messages"][0]["role"] == "system"
        return "Conversation roles must alternate user/assistant" if system else None

    with Endpoint(replies("up"), refuse=refuse) as endpoint:
        model = opened(endpoint, provider)
        with pytest.warns(EndpointWarning, match="the user's first message"):
            assert ask(model).texts == ("up",)
        examples = (*PROMPT, Message("assistant", "up"), Message("user", "And now?"))
        for prompt in (examples, examples[:1], examples[2:]):
            asyncio.run(model.generate([Request(prompt, 5)]))
    said = [[message["content"] for message in body["messages"]] for body in endpoint.bodies[1:]]
    texts = [[part if isinstance(part, str) else part[0]["text"] for part in item] for item in said]
    assert texts == [
        ["You play.\n\nWhat next?"],
        ["You play.\n\nWhat next?", "up", "And now?"],
        ["You play."],
        ["up", "And now?"],
    ]


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("max_tokens is too large: 5000. This model supports at most 1024 completion tokens, you provided 5000", 1024),
        ("max_tokens: 5000 > 4096, which is the maximum allowed number of output tokens for claude-3-20240307", 4096),
        ("`max_tokens` must be less than or equal to `4,096`, the maximum value for `max_tokens`", 4096),
        ("max_tokens must be less than 4096", 4095),
        ("it has a maxOutputTokens value of 5000 but the supported range is from 1 to 4097 (exclusive)", 4096),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]", 4096),
        ("max_tokens must be at least 6000", None),
        ("max_tokens is not supported with gpt-4.1 from 2025-04-14", None),
    ],
)
def test_the_limit_that_a_refusal_names_is_read(words: str, limit: int | None) -> None:
    assert room_beside(words.lower()) is None
    assert largest_below(words.lower(), 5000) == limit


def test_the_room_beside_a_prompt_is_read() -> None:
    for words, room in (
        ("maximum context length is 4096 tokens. However, you requested 5100 tokens (100 in the messages", 3996),
        ("max_tokens is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 "
         "input tokens (5000 > 4096 - 100)", 3996),
        ("maximum context length is 4097 tokens, however you requested 5100 (100 in your prompt; 5000 for", 3997),
        ("This model's maximum context length is 4096 tokens. Please reduce the length of the messages", 0),
        ("context window of 10 tokens, and 20 input tokens", -10),
        ("temperature must be 1", None),
    ):  # fmt: skip
        assert room_beside(words.lower()) == room


def test_a_limit_that_is_too_large_is_lowered_and_no_server_can_lower_it_for_ever() -> None:
    def refuse(body: dict[str, Any]) -> str | None:
        return "max_tokens is too large: at most 16" if body["max_tokens"] > 16 else None

    with Endpoint(replies("up"), refuse=refuse) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="at most 16 tokens") as caught:
            ask(model)
        ask(model)
    assert [body["max_tokens"] for body in endpoint.bodies] == [20, 16, 16]
    assert len(warned(caught)) == 1
    assert model.most_completion_tokens(Request(PROMPT, 20)) == 16, "no more is reserved"
    with Endpoint(replies("up"), refuse=lambda body: f"max_tokens: at most {body['max_tokens'] - 1}") as endpoint:
        model, fails = opened(endpoint), pytest.raises(BatchError, match="at most 16")
        with pytest.warns(EndpointWarning), fails as failed:
            ask(model)
    assert len(endpoint.bodies) == 4
    assert failed.value.answers[0].usage.calls == 0


def test_the_room_beside_one_prompt_is_no_limit_for_others() -> None:
    def refuse(body: dict[str, Any]) -> str | None:
        prompt = len(str(body["messages"]))
        room = f"maximum context length is {prompt + 7} tokens, and {prompt} input tokens"
        return room if body["max_tokens"] > 7 and prompt > 200 else None

    with Endpoint(replies("up"), refuse=refuse) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="no room for a whole answer"):
            asyncio.run(model.generate([Request("long " * 99, 20)]))
        ask(model)
    assert [body["max_tokens"] for body in endpoint.bodies] == [20, 7, 20]


def test_calls_in_flight_that_are_refused_together_warn_once_and_give_up_that_field_alone() -> None:
    def refuse(body: dict[str, Any]) -> str | None:
        return "Only one completion choice is allowed" if "n" in body else None

    with Endpoint(wrapped("up"), refuse=refuse, together=4) as endpoint:
        model = opened(endpoint)
        requests = [Request(PROMPT, 20, OneOf(("up", f"down {i}")), n=2, temperature=0.5) for i in range(4)]
        with pytest.warns(EndpointWarning) as caught:
            answers = asyncio.run(model.generate(requests))
    assert [answer.texts for answer in answers] == [("up", "up")] * 4
    assert all("response_format" in body for body in endpoint.bodies)
    assert len(warned(caught)) == 1


def test_a_format_that_two_schemas_were_refused_for_is_asked_of_none() -> None:
    def refuse(body: dict[str, Any]) -> str | None:
        return "response_format is unavailable" if "response_format" in body else None

    with Endpoint(replies("up"), refuse=refuse) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="in words only"):
            answers = [ask(model, OneOf(("up", f"down {i}"))).texts for i in range(5)]
    assert answers == [("up",)] * 5
    assert endpoint.refused == 2
    assert model.concessions.capabilities()["enforced"] == "schema, but 2 in words"


def thinking(endpoint: Endpoint, finish: str, *texts: str | None) -> None:
    """Let it answer with reasoning, and with these texts."""
    messages = [{"content": text, "reasoning_content": "Up is where the door is."} for text in texts]
    choices = [{"message": message, "finish_reason": finish} for message in messages]
    usage = {"prompt_tokens": 9, "completion_tokens": 20 * len(texts)}
    endpoint.complete = lambda body: {"choices": choices, "usage": usage}  # type: ignore[method-assign]


def test_a_length_that_reasoning_used_up_is_said_with_the_setting_that_raises_it() -> None:
    with Endpoint(replies("up")) as endpoint:
        thinking(endpoint, "length", None)
        words = r"uses up the length of an answer \(20 tokens\) by reasoning.*reasoning=N in.*now 0.*#reasoning=2048"
        with pytest.raises(BatchError, match=words) as caught:
            ask(opened(endpoint))
        assert caught.value.answers[0].usage == Usage(9, 20, source="reported")
        with pytest.warns(EndpointWarning, match=r"\(1020 tokens\) by reasoning.*now 1000.*#reasoning=4000"):
            assert ask(opened(endpoint, reasoning=1000)).finish == ("length",), "it usually thinks less"
        thinking(endpoint, "length", None, "up")
        with pytest.warns(EndpointWarning, match="by reasoning"):
            assert ask(opened(endpoint), n=2).texts == ("", "up")
        thinking(endpoint, "length", "", "")
        with pytest.raises(BatchError, match="now 1000"):
            ask(opened(endpoint, reasoning=1000), n=2)
        thinking(endpoint, "stop", None)
        assert ask(opened(endpoint)).texts == ("Up is where the door is.",), "some servers take all for reasoning"


def test_a_usage_of_the_first_sample_alone_is_completed_by_a_bound_on_the_others() -> None:
    long = "up " * 40

    def complete(body: dict[str, Any]) -> dict[str, Any]:
        choices = [{"message": {"content": text}, "finish_reason": "stop"} for text in ("up", "up up", long)]
        usage = {"prompt_tokens": 9, "completion_tokens": 3}
        return {"choices": choices[: body.get("n", 1)], "usage": usage, "timings": {"predicted_n": 3}}

    with Endpoint(replies("up")) as endpoint:
        endpoint.complete = complete  # type: ignore[method-assign]
        model, ledger = opened(endpoint, LLAMACPP), Ledger(Budget({"tokens": 900}))
        [completion] = asyncio.run(AccountedLM(model, ledger).generate([Request(PROMPT, 30, n=3, temperature=0.5)]))
        assert ask(model).usage == Usage(9, 3, source="reported")
    rest = len("up up") + 16 + 30
    assert completion.usage == Usage(9, 3 + rest, source="assumed", unproven=(0, rest))
    assert ledger.used["tokens"] == 12 + rest


def test_the_tokens_of_the_other_samples_are_counted_where_the_server_counts() -> None:
    class Counting(Faulty):
        def do_POST(self) -> None:
            if not self.path.endswith("/tokenize"):
                return super().do_POST()
            words = self.body()["content"].split()
            return self.reply(200, {"tokens": [*range(len(words))]})

    def complete(body: dict[str, Any]) -> dict[str, Any]:
        choices = [{"message": {"content": text}, "finish_reason": "stop"} for text in ("up", "up up", "up " * 9)]
        usage = {"prompt_tokens": 9, "completion_tokens": 2}
        return {"choices": choices[: body.get("n", 1)], "usage": usage, "timings": {"predicted_n": 2}}

    with Endpoint(replies("up")) as endpoint:
        endpoint._server.RequestHandlerClass = type("Bound", (Counting,), {"endpoint": endpoint})
        endpoint.complete = complete  # type: ignore[method-assign]
        assert ask(opened(endpoint, LLAMACPP), n=3).usage == Usage(9, 2 + (2 + 1) + (9 + 1), source="reported")


def test_tape_models_shows_what_an_endpoint_takes(tape: Tape) -> None:
    declared = tape("models", "mistral:m@http://127.0.0.1:9/v1")
    assert (declared.code, "length limit  max_tokens\n" in declared.out) == (0, True)
    assert "samples       several in a call\n" in declared.out
    with Endpoint(
        wrapped("yes"), refuse=lambda body: "temperature must be 1" if "temperature" in body else None
    ) as endpoint:
        with pytest.warns(EndpointWarning, match="temperature"):
            asked = tape("models", "--ask", f"openai:m@{endpoint.url}")
        assert asked.code == 0
        assert "temperature   not taken\n" in asked.out
        assert re.search(r"asked         1 calls, \d+ tokens\n", asked.out)
    with Endpoint(replies("up"), ["bad request"]) as refusing:
        failed = tape("models", "--ask", f"openai:m@{refusing.url}")
    assert (failed.code, "HTTP 400: the context is too long" in failed.err) == (2, True)
    assert "length limit  max_tokens\n" in failed.out
    assert "only endpoints refuse" in tape("models", "declared:first").err
