"""Hosted models against a real HTTP endpoint on loopback: what is asked, and answers that are repaired."""

import asyncio
import json
import sys
import warnings
from typing import Any

import pytest

from tape.errors import ConfigError, EndpointWarning, ModelError
from tape.lm.base import BatchError, Constraint, Forced, Grammar, JsonSchema, OneOf, Regex, Request, Usage
from tape.lm.batching import EpisodeBatch
from tape.lm.bundled import sizes
from tape.lm.hosted.providers import ANTHROPIC, OLLAMA, OPENAI, PROMPT_FORMATS, PROVIDERS, SGLANG, VLLM
from tests.tape.lm.endpoint import CANARY, Endpoint
from tests.tape.lm.hosting import MOVE, PROMPT, Move, ask, opened, replies, wrapped

pytest.importorskip("openai")
pytest.importorskip("anthropic")


def test_a_free_answer_with_its_usage() -> None:
    with Endpoint(replies("go up")) as endpoint:
        completion = ask(opened(endpoint), n=2, temperature=0.5, seed=7)
    assert (completion.texts, completion.finish) == (("go up", "go up"), ("stop", "stop"))
    assert completion.usage == Usage(4, 4, source="reported")
    [body] = endpoint.bodies
    assert body["messages"] == [{"role": "system", "content": "You play."}, {"role": "user", "content": "What next?"}]
    assert (body["model"], body["n"], body["temperature"], body["seed"], body["max_tokens"]) == ("test", 2, 0.5, 7, 20)
    assert "response_format" not in body
    assert endpoint.headers[0]["authorization"] == f"Bearer {CANARY}"


@pytest.mark.parametrize(
    ("constraint", "answer", "inner"),
    [
        (OneOf(("up", "down")), "down", {"type": "string", "enum": ["up", "down"]}),
        (Forced("go"), "go", {"type": "string", "enum": ["go"]}),
        (Regex(" [UD]{2}"), " UD", {"type": "string", "pattern": "^(?: [UD]{2})$"}),
    ],
)
def test_what_an_endpoint_does_not_know_is_wrapped_in_a_schema(
    constraint: Constraint, answer: str, inner: dict[str, Any]
) -> None:
    with Endpoint(wrapped(answer)) as endpoint, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ask(opened(endpoint), constraint).texts == (answer,)
    asked = endpoint.bodies[0]["response_format"]["json_schema"]
    assert asked["strict"] is True
    assert asked["schema"]["properties"] == {"answer": inner}
    assert asked["schema"]["additionalProperties"] is False


def test_a_schema_is_asked_for_without_tuples() -> None:
    with Endpoint(replies(MOVE)) as endpoint:
        assert ask(opened(endpoint), JsonSchema(Move)).texts == (MOVE,)
    schema = endpoint.bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["cell"]["items"] == {"type": "integer"}
    assert "prefixItems" not in json.dumps(schema)


@pytest.mark.parametrize(
    ("provider", "constraint", "asked"),
    [
        (VLLM, OneOf(("up", "down")), {"structured_outputs": {"choice": ["up", "down"]}}),
        (VLLM, Regex("up|down"), {"structured_outputs": {"regex": "(up|down)"}}),
        (SGLANG, Regex("up|down"), {"regex": "(up|down)"}),
        (VLLM, Grammar('start: "up"'), {"structured_outputs": {"grammar": 'start: "up"'}}),
    ],
)
def test_servers_with_native_forms_are_asked_in_them(provider: Any, constraint: Constraint, asked: Any) -> None:
    with Endpoint(replies("up")) as endpoint:
        ask(opened(endpoint, provider), constraint)
        assert asked.items() <= endpoint.bodies[0].items()
        with pytest.raises(BatchError, match="grammar"):
            ask(opened(endpoint), Grammar('start: "up"'))
    assert len(endpoint.bodies) == 1


def test_a_choice_is_scored_by_asking_for_it() -> None:
    request = Request(PROMPT, 1, OneOf(("solved", "possible")))
    with Endpoint(wrapped("possible")) as endpoint:
        model = opened(endpoint)
        [(weights, usage)] = asyncio.run(model.score_options([request]))
    assert weights == (0.0, 1.0)
    assert usage.source == "reported"
    # Room for the longest option and the wrapper, whatever the request allows.
    assert endpoint.bodies[0]["max_tokens"] == model.scoring_tokens(request) == len('"possible"') + 16
    with Endpoint(replies("no idea")) as endpoint, pytest.warns(EndpointWarning, match="ignores the schema"):
        [(weights, usage)] = asyncio.run(opened(endpoint).score_options([request]))
    assert weights == (0.0, 0.0)
    assert usage.calls == 2


@pytest.mark.parametrize("provider", [p for p in PROVIDERS if p.package == "openai"], ids=lambda p: p.name)
def test_every_provider_of_this_wire_sends_its_own_key_and_fields(provider: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv(provider.key, f"key-of-{provider.name}")
    with Endpoint(replies("up")) as endpoint:
        assert ask(opened(endpoint, provider), OneOf(("up", "down")), temperature=0.5, seed=2**40 + 7).texts == ("up",)
    body, headers = endpoint.bodies[0], endpoint.headers[0]
    assert headers["authorization"] == f"Bearer key-of-{provider.name}"
    assert {name for name in body if "seed" in name} == {"gemini": set(), "mistral": {"random_seed"}}.get(
        provider.name, {"seed"}
    )
    short = provider.name in ("mistral", "ollama", "llamacpp")
    assert all(body[name] == (7 if short else 2**40 + 7) for name in body if "seed" in name)
    assert "max_tokens" in body
    assert ("structured_outputs" in body) == (provider.name == "vllm")


def test_openai_itself_takes_the_newer_name_of_the_limit() -> None:
    wires = [OPENAI("m"), OPENAI("m@http://127.0.0.1:1/v1")]
    assert [w._wire.length_fields[0] for w in wires] == ["max_completion_tokens", "max_tokens"]  # type: ignore[attr-defined]


def test_samples_are_asked_for_one_by_one_where_the_server_gives_one() -> None:
    with Endpoint(lambda body: [str(body["seed"] % 2**31)]) as endpoint:
        many = ask(opened(endpoint), n=3, temperature=1.0, seed=5)  # takes n, and ignores it
        singles = ask(opened(endpoint, OLLAMA), n=3, temperature=1.0, seed=5)
    assert len(set(many.texts)) == 3, "each sample has a seed of its own"
    assert many.texts == singles.texts
    assert many.usage.calls == 3
    assert [body.get("n") for body in endpoint.bodies] == [3, None, None, None, None, None]


def test_a_batch_has_all_its_calls_in_flight_and_a_model_serves_several_event_loops() -> None:
    async def episode(batch: EpisodeBatch, index: int) -> None:
        await batch.slot(index).generate([Request(f"{index}.{i}", 5) for i in range(2)])
        await batch.leave()

    async def play() -> None:
        batch = EpisodeBatch(model, 3)
        await asyncio.gather(*(episode(batch, i) for i in range(3)))

    with Endpoint(replies("up"), together=6) as endpoint:
        model = opened(endpoint)
        for _ in range(2):
            asyncio.run(play())
    assert endpoint.most_in_flight == 6


ENDLESS = ["m#timeout=inf", "m#timeout=nan", "m#backoff=1e999", "m#max_wait=nan", "m#concurrency=" + "9" * 5000]
HUGE = ["m#retries=1000000", "m#reasoning=" + "9" * 99, "m#repairs=9999999999"]
WRONG = ["", "m#speed=9", "m#timeout=fast", "m#concurrency=0", "m#format=latin", "m#retries=-1", "m@http://"]
WRONG += ["m#after_error=maybe", "m#after_no_answer="]


@pytest.mark.parametrize("wrong", [*WRONG, *ENDLESS, *HUGE], ids=range(17))
def test_wrong_model_strings_are_refused(wrong: str) -> None:
    with pytest.raises(ConfigError):
        OPENAI(wrong)


def test_model_strings_hold_a_name_a_url_and_options() -> None:
    assert all(sizes(form) for form in PROMPT_FORMATS[1:]), "a shipped model reads each of them"
    assert sum(len(sizes(form)) for form in PROMPT_FORMATS) == len(sizes()), "and no other"
    model = OPENAI("org/some:model@https://host/v1/#format=compact,concurrency=3")
    assert model.name == "openai:org/some:model@https://host/v1/#format=compact,concurrency=3"
    assert (model.prompt_format, model.identity) == ("compact", "openai:org/some:model@https://host/v1/")


def test_the_url_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with Endpoint(replies("up")) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        model = OPENAI("test")
        assert ask(model).texts == ("up",)
    assert endpoint.url in model.identity, "another endpoint is another model"


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS:
        monkeypatch.delenv(provider.key, raising=False)
        monkeypatch.delenv(provider.url_variable, raising=False)
        if provider.needs_key:
            with pytest.raises(ModelError, match=provider.key):
                provider("some-model")
            assert provider.missing() == f"{provider.key} is not set"
    with Endpoint(replies("up")) as endpoint:
        ask(opened(endpoint))
    assert CANARY not in str(endpoint.headers), "servers of one's own need no key"


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in {provider.package for provider in PROVIDERS}:
        monkeypatch.setitem(sys.modules, package, None)
    for provider in PROVIDERS:
        with pytest.raises(ImportError, match=rf"tape-planner\[{provider.package}\]"):
            provider("some-model")


def test_refusals_and_truncations_are_reported_and_not_repaired() -> None:
    with Endpoint(wrapped("possible"), ["refusal", "length"]) as endpoint, warnings.catch_warnings():
        model = opened(endpoint)
        warnings.simplefilter("error")
        refused, cut = ask(model, OneOf(("possible",))), ask(model, OneOf(("possible",)))
    assert (refused.finish, refused.texts) == (("refusal",), ("I will not do that.",))
    assert cut.finish == ("length",)
    assert len(endpoint.bodies) == 2


def test_an_ignored_schema_is_warned_of_and_repaired() -> None:
    warned = pytest.warns(EndpointWarning, match="ignores the schema")
    with Endpoint(replies(MOVE), ["ignore"]) as endpoint, warned as warned_:
        completion = ask(opened(endpoint), JsonSchema(Move))
    assert completion.texts == (MOVE,)
    assert completion.usage.calls == 2
    assert endpoint.url in str(warned_[0].message)
    repair = endpoint.bodies[1]["messages"]
    assert [message["role"] for message in repair] == ["system", "user", "assistant", "user"]
    assert '"enum":["U","D"]' in repair[-1]["content"]


def test_an_ignored_schema_shows_in_a_truncated_answer_too() -> None:
    ignored = pytest.warns(EndpointWarning, match="ignores the schema")
    with Endpoint(replies(MOVE), ["ramble"]) as endpoint, ignored:
        assert ask(opened(endpoint), JsonSchema(Move)).finish == ("length",)
    assert len(endpoint.bodies) == 1


def test_repairs_are_bounded_and_the_answer_is_left_to_the_reader() -> None:
    with Endpoint(replies("Sure!")) as endpoint, pytest.warns(EndpointWarning) as warned:
        assert ask(opened(endpoint, repairs=2), JsonSchema(Move)).texts == ("Sure!",)
    assert (len(endpoint.bodies), len(warned)) == (3, 1)


def test_a_broken_bound_is_repaired_but_is_no_ignored_schema() -> None:
    broken = '{"action":"U","row":12}'
    with Endpoint(lambda body: [broken if len(body["messages"]) == 2 else MOVE]) as endpoint, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ask(opened(endpoint), JsonSchema(Move)).texts == (MOVE,)
    assert "less than or equal to 9" in endpoint.bodies[1]["messages"][-1]["content"]


@pytest.mark.parametrize("text", ["up", " up\n", '```json\n{"answer": "up"}\n```', '{"answer": "up"}'])
def test_a_usable_answer_in_another_dress_is_taken(text: str) -> None:
    with Endpoint(replies(text)) as endpoint:
        assert ask(opened(endpoint), OneOf(("up", "down"))).texts == ("up",)
    assert len(endpoint.bodies) == 1


def test_a_refused_schema_is_asked_for_in_words() -> None:
    with Endpoint(replies("up"), ["no schema"]) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="in words only"):
            assert ask(model, OneOf(("up", "down"))).texts == ("up",)
        ask(model, OneOf(("up", "down")))
    assert len(endpoint.bodies) == 3, "the second request does not try the schema again"
    assert 'one of these texts and with nothing else: ["up", "down"]' in endpoint.bodies[1]["messages"][-1]["content"]
    assert "response_format" not in endpoint.bodies[1]


def test_a_refused_schema_with_bounds_is_first_tried_without_them() -> None:
    with Endpoint(replies(MOVE), ["no schema", "", "no schema"]) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="without its bounds"):
            assert ask(model, JsonSchema(Move)).texts == (MOVE,)
        with pytest.warns(EndpointWarning, match="in words only"):
            assert ask(model, JsonSchema(Move)).texts == (MOVE,)
        ask(model, OneOf((MOVE, "other")))
    asked = [body.get("response_format") for body in endpoint.bodies]
    schema = asked[1]["json_schema"]["schema"]
    assert "maximum" in str(asked[0])
    assert not any(bound in str(schema) for bound in ("maximum", "maxItems"))
    assert schema["properties"]["action"]["enum"] == ["U", "D"]
    assert asked[3] is None
    assert "enum" in str(asked[4]), "another schema is another question"


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
