"""Hosted models against a real HTTP endpoint on loopback: what is asked, read back, paid and said."""

import asyncio
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from tape.budget import Budget, Ledger
from tape.errors import BudgetExceededError, ConfigError, EndpointWarning, ModelError, UnknownCostError
from tape.lm.accounting import AccountedLM
from tape.lm.base import (
    FREE,
    BatchError,
    Choice,
    Completion,
    Constraint,
    EndpointError,
    Forced,
    Grammar,
    JsonSchema,
    Message,
    Price,
    Regex,
    Request,
    most_completion_tokens,
    worst_case,
)
from tape.lm.batching import EpisodeBatch
from tape.lm.cache import CachedLM
from tape.lm.hosted.limits import Limits
from tape.lm.hosted.model import HostedLM
from tape.lm.hosted.providers import OLLAMA, OPENAI, PROVIDERS, SGLANG, VLLM, is_here
from tests.tape.lm.endpoint import FAULTS, Endpoint

pytest.importorskip("openai")

PROMPT = (Message("system", "You play."), Message("user", "What next?"))
PRICE = Price(Decimal("1e-6"), Decimal("2e-6"))
CANARY = "sk-canary-0123456789abcdef"


class Move(BaseModel):
    action: Literal["U", "D"]
    row: int = Field(ge=0, le=9)
    cell: tuple[int, int] = (0, 0)


MOVE = '{"action":"U","row":3,"cell":[1,2]}'


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)


def wrapped(text: str) -> Callable[[dict[str, Any]], list[str]]:
    return lambda body: [json.dumps({"answer": text})] * body.get("n", 1)


def says(text: str) -> Callable[[dict[str, Any]], list[str]]:
    return lambda body: [text] * body.get("n", 1)


def opened(endpoint: Endpoint, provider: Any = OPENAI, price: Price | None = None, **limits: Any) -> HostedLM:
    """The model behind an endpoint; it waits for nothing before a retry."""
    asked = ",".join(f"{name}={value}" for name, value in {"backoff": 0, "timeout": 30, **limits}.items())
    model = provider(f"test@{endpoint.url}#{asked}", price)
    assert isinstance(model, HostedLM)
    return model


async def settled(model: Any, request: Request) -> list[Any]:
    return await asyncio.gather(model.generate([request]), return_exceptions=True)


def ask(model: Any, constraint: Constraint | None = None, **fields: Any) -> Completion:
    [completion] = asyncio.run(model.generate([Request(PROMPT, 20, constraint, **fields)]))
    assert isinstance(completion, Completion)
    return completion


def test_a_free_answer_with_its_usage() -> None:
    with Endpoint(says("go up")) as endpoint:
        completion = ask(opened(endpoint), n=2, temperature=0.5, seed=7)
    assert completion.texts == ("go up", "go up")
    assert completion.finish == ("stop", "stop")
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (4, 4)
    assert (completion.usage.calls, completion.usage.source) == (1, "reported")
    [body] = endpoint.bodies
    assert body["messages"] == [{"role": "system", "content": "You play."}, {"role": "user", "content": "What next?"}]
    assert (body["model"], body["n"], body["temperature"], body["seed"], body["max_tokens"]) == ("test", 2, 0.5, 7, 20)
    assert "response_format" not in body
    assert endpoint.headers[0]["authorization"] == f"Bearer {CANARY}"


@pytest.mark.parametrize(
    ("constraint", "answer", "inner"),
    [
        (Choice(("up", "down")), "down", {"type": "string", "enum": ["up", "down"]}),
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
    with Endpoint(says(MOVE)) as endpoint:
        assert ask(opened(endpoint), JsonSchema(Move)).texts == (MOVE,)
    schema = endpoint.bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["cell"]["items"] == {"type": "integer"}
    assert "prefixItems" not in json.dumps(schema)


def test_servers_with_native_forms_are_asked_in_them() -> None:
    with Endpoint(says("up")) as endpoint:
        ask(opened(endpoint, VLLM), Choice(("up", "down")))
        ask(opened(endpoint, VLLM), Regex("up|down"))
        ask(opened(endpoint, SGLANG), Regex("up|down"))
        ask(opened(endpoint, VLLM), Grammar('start: "up"'))
        bodies = endpoint.bodies
    assert bodies[0]["structured_outputs"] == {"choice": ["up", "down"]}
    assert bodies[1]["structured_outputs"] == {"regex": "(up|down)"}
    assert bodies[2]["regex"] == "(up|down)"
    assert bodies[3]["structured_outputs"] == {"grammar": 'start: "up"'}
    with Endpoint(says("up")) as endpoint, pytest.raises(BatchError, match="grammar"):
        ask(opened(endpoint), Grammar('start: "up"'))
    assert endpoint.bodies == []


def test_a_choice_is_scored_by_asking_for_it() -> None:
    request = Request(PROMPT, 1, Choice(("solved", "possible")))
    with Endpoint(wrapped("possible")) as endpoint:
        model = opened(endpoint)
        [(weights, usage)] = asyncio.run(model.score_options([request]))
    assert weights == (0.0, 1.0)
    assert usage.source == "reported"
    # Room for the longest option and the wrapper, whatever the request allows.
    assert endpoint.bodies[0]["max_tokens"] == model.scoring_tokens(request) == len('"possible"') + 16
    with Endpoint(says("no idea")) as endpoint, pytest.warns(EndpointWarning, match="ignores the schema"):
        [(weights, usage)] = asyncio.run(opened(endpoint).score_options([request]))
    assert weights == (0.0, 0.0)
    assert usage.calls == 2


@pytest.mark.parametrize("provider", [p for p in PROVIDERS if p.package == "openai"], ids=lambda p: p.name)
def test_every_provider_of_this_wire_sends_its_own_key_and_fields(provider: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv(provider.key, f"key-of-{provider.name}")
    with Endpoint(says("up")) as endpoint:
        assert ask(opened(endpoint, provider), Choice(("up", "down")), temperature=0.5, seed=2**40 + 7).texts == ("up",)
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
    assert [w._wire.length_field for w in wires] == ["max_completion_tokens", "max_tokens"]  # type: ignore[attr-defined]


def test_samples_are_asked_for_one_by_one_where_the_server_gives_one() -> None:
    with Endpoint(lambda body: [str(body["seed"] % 2**31)]) as endpoint:
        many = ask(opened(endpoint), n=3, temperature=1.0, seed=5)  # takes n, and ignores it
        singles = ask(opened(endpoint, OLLAMA), n=3, temperature=1.0, seed=5)
    assert len(set(many.texts)) == 3, "each sample has a seed of its own"
    assert many.texts == singles.texts
    assert many.usage.calls == 3
    assert [body.get("n") for body in endpoint.bodies] == [3, None, None, None, None, None]


@pytest.mark.parametrize("fault", ["429", "500", "503", "cut", "html", "garbage", "list", "no choices", "odd choices"])
def test_retryable_failures_are_retried(fault: str) -> None:
    with Endpoint(says("up"), [fault, fault]) as endpoint:
        completion = ask(opened(endpoint))
    assert completion.texts == ("up",)
    assert len(endpoint.bodies) == 3
    # Only where the endpoint has certainly computed nothing is nothing booked for the failed calls.
    free = fault == "429"
    assert completion.usage.calls == (1 if free else 3)
    assert completion.usage.source == ("reported" if free else "assumed")


def test_a_hanging_call_is_cut_off_and_retried() -> None:
    with Endpoint(says("up"), ["hang"]) as endpoint:
        completion = ask(opened(endpoint, timeout=3))
    assert completion.texts == ("up",)
    assert completion.usage.calls == 2


@pytest.mark.parametrize(
    ("fault", "words"), [("echo", "401"), ("quota", "pay first"), ("bad request", "too long"), ("429 later", "3600")]
)
def test_other_failures_are_not_retried(fault: str, words: str) -> None:
    with Endpoint(says("up"), [fault]) as endpoint, pytest.raises(BatchError, match=words) as caught:
        ask(opened(endpoint), Choice(("up", "down")))
    assert len(endpoint.bodies) == 1
    [failure] = caught.value.answers
    assert failure.usage.calls == 0


def test_retries_end() -> None:
    with Endpoint(says("up"), ["500"], forever=True) as endpoint, pytest.raises(BatchError, match="tried 3 times"):
        ask(opened(endpoint, retries=2))
    assert len(endpoint.bodies) == 3


def test_an_endpoint_that_is_not_there_costs_nothing() -> None:
    with Endpoint(says("up")) as endpoint:
        model = opened(endpoint, retries=1)
    with pytest.raises(BatchError, match="cannot be reached") as caught:
        ask(model)
    assert caught.value.answers[0].usage.calls == 0


def test_waits_grow_and_retry_after_is_kept() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    with Endpoint(says("up"), ["500", "500", "500", "503"]) as endpoint:
        wire = opened(endpoint)._wire
        model = HostedLM(wire, name="m", identity="m", limits=Limits(backoff=1.0, max_wait=3.0), sleep=sleep)
        ask(model)
    assert 0.5 <= waits[0] <= 1 <= waits[1] <= 2
    assert 1.5 <= waits[2] <= 3
    assert waits[3] == 0


def test_the_others_of_a_batch_keep_their_answers(tmp_path: Any) -> None:
    def answers(body: dict[str, Any]) -> list[str]:
        return ["up" if body["messages"][-1]["content"] != "bad" else "?"]

    async def episode(batch: EpisodeBatch, index: int, text: str, ledger: Ledger) -> list[Completion]:
        try:
            lm = AccountedLM(batch.member(index), ledger)
            return await lm.generate([Request("fine", 5), Request(text, 5)])
        finally:
            await batch.leave()

    async def play(model: Any) -> list[Any]:
        batch = EpisodeBatch(model, 3)
        ledgers = [Ledger(Budget({"calls": 9})) for _ in range(3)]
        texts = ("first", "bad", "last")
        done = await asyncio.gather(
            *(episode(batch, i, text, ledger) for i, (text, ledger) in enumerate(zip(texts, ledgers, strict=True))),
            return_exceptions=True,
        )
        return [*done, *(ledger.used["calls"] for ledger in ledgers)]

    class Picky(Endpoint):
        def fault(self) -> str:
            return "bad request" if self.bodies[-1]["messages"][-1]["content"] == "bad" else ""

    with Picky(answers) as endpoint:
        cache = CachedLM(opened(endpoint, concurrency=1), tmp_path / "cache")
        first, bad, last, *calls = asyncio.run(play(cache))
        asked = len(endpoint.bodies)
        asyncio.run(play(cache))
        again = len(endpoint.bodies) - asked
        cache.close()
    assert [c.texts for c in first] == [c.texts for c in last] == [("up",), ("up",)]
    assert isinstance(bad, BatchError)
    assert isinstance(bad.answers[0], Completion)
    assert isinstance(bad.answers[1], EndpointError)
    assert calls == [2, 1, 2]
    assert again == 1, "what was answered is in the cache, what failed is asked again"


def test_refusals_and_truncations_are_reported_and_not_repaired() -> None:
    with Endpoint(wrapped("possible"), ["refusal", "length"]) as endpoint, warnings.catch_warnings():
        model = opened(endpoint)
        warnings.simplefilter("error")
        refused, cut = ask(model, Choice(("possible",))), ask(model, Choice(("possible",)))
    assert (refused.finish, refused.texts) == (("refusal",), ("I will not do that.",))
    assert cut.finish == ("length",)
    assert len(endpoint.bodies) == 2


def test_an_ignored_schema_is_said_and_repaired() -> None:
    with Endpoint(says(MOVE), ["ignore"]) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="ignores the schema") as said:
            completion = ask(model, JsonSchema(Move))
    assert completion.texts == (MOVE,)
    assert completion.usage.calls == 2
    assert len(said) == 1
    assert endpoint.url in str(said[0].message)
    repair = endpoint.bodies[1]["messages"]
    assert [message["role"] for message in repair] == ["system", "user", "assistant", "user"]
    assert '"enum":["U","D"]' in repair[-1]["content"]


def test_an_ignored_schema_shows_in_a_truncated_answer_too() -> None:
    with Endpoint(says(MOVE), ["ramble"]) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="ignores the schema"):
            completion = ask(model, JsonSchema(Move))
    assert completion.finish == ("length",)
    assert len(endpoint.bodies) == 1


def test_repairs_are_bounded_and_the_answer_is_left_to_the_reader() -> None:
    with Endpoint(says("Sure!")) as endpoint, pytest.warns(EndpointWarning) as said:
        completion = ask(opened(endpoint, repairs=2), JsonSchema(Move))
    assert completion.texts == ("Sure!",)
    assert len(endpoint.bodies) == 3
    assert len(said) == 1, "said once"


def test_a_broken_bound_is_repaired_but_is_no_ignored_schema() -> None:
    broken = '{"action":"U","row":12}'
    with Endpoint(lambda body: [broken if len(body["messages"]) == 2 else MOVE]) as endpoint, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ask(opened(endpoint), JsonSchema(Move)).texts == (MOVE,)
    assert "less than or equal to 9" in endpoint.bodies[1]["messages"][-1]["content"]


@pytest.mark.parametrize("text", ["up", " up\n", '```json\n{"answer": "up"}\n```', '{"answer": "up"}'])
def test_a_usable_answer_in_another_dress_is_taken(text: str) -> None:
    with Endpoint(says(text)) as endpoint:
        assert ask(opened(endpoint), Choice(("up", "down"))).texts == ("up",)
    assert len(endpoint.bodies) == 1


def test_a_refused_schema_is_asked_for_in_words() -> None:
    with Endpoint(says("up"), ["no schema"]) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="in words only"):
            assert ask(model, Choice(("up", "down"))).texts == ("up",)
        ask(model, Choice(("up", "down")))
    assert len(endpoint.bodies) == 3, "the second request does not try the schema again"
    assert 'one of these texts and with nothing else: ["up", "down"]' in endpoint.bodies[1]["messages"][-1]["content"]
    assert "response_format" not in endpoint.bodies[1]


def test_a_refused_schema_with_bounds_is_first_tried_without_them() -> None:
    with Endpoint(says(MOVE), ["no schema", "", "no schema"]) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="without its bounds"):
            assert ask(model, JsonSchema(Move)).texts == (MOVE,)
        with pytest.warns(EndpointWarning, match="in words only"):
            assert ask(model, JsonSchema(Move)).texts == (MOVE,)
        ask(model, Choice((MOVE, "other")))
    asked = [body.get("response_format") for body in endpoint.bodies]
    schema = asked[1]["json_schema"]["schema"]
    assert "maximum" in str(asked[0])
    assert not any(bound in str(schema) for bound in ("maximum", "maxItems"))
    assert schema["properties"]["action"]["enum"] == ["U", "D"]
    assert asked[3] is None
    assert "enum" in str(asked[4]), "another schema is another question"


def test_a_refused_temperature_is_left_out() -> None:
    with Endpoint(says("up"), ["no temperature"]) as endpoint, pytest.warns(EndpointWarning, match="temperature"):
        assert ask(opened(endpoint), temperature=0.7).texts == ("up",)
    assert "temperature" not in endpoint.bodies[1]


@pytest.mark.parametrize("fault", ["no usage", "zero usage", "odd usage"])
def test_usage_that_is_missing_or_incredible_is_booked_at_the_worst_case(fault: str) -> None:
    ledger, request = Ledger(Budget({"tokens": 500})), Request(PROMPT, 20)
    with Endpoint(says("up up up"), [fault]) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="usage"):
            asyncio.run(AccountedLM(model, ledger).generate([request]))
    assert ledger.used["tokens"] == worst_case(model, request)["tokens"]
    assert not ledger.violations


def test_usage_above_the_reservation_is_a_broken_declaration() -> None:
    with Endpoint(says("up"), ["huge usage"]) as endpoint:
        ledger = Ledger(Budget({"tokens": 500}))
        asyncio.run(AccountedLM(opened(endpoint), ledger).generate([Request(PROMPT, 20)]))
    assert ledger.violations == {"tokens": 1}


@pytest.mark.parametrize("faults", [["500"], ["ignore"], ["500", "ignore", "cut"], ["hang", "ignore"], ["no usage"]])
@pytest.mark.filterwarnings("ignore::tape.errors.EndpointWarning")
def test_hard_caps_hold_over_retries_and_repairs(faults: list[str]) -> None:
    request = Request(PROMPT, 20, Choice(("up", "down")))
    price = Price(Decimal("1e-6"), Decimal("2e-6"))
    for factor in (1, 2, 3):
        with Endpoint(wrapped("up"), faults) as endpoint:
            model = opened(endpoint, price=price, timeout=3)
            worst = worst_case(model, request)
            caps = Budget({kind: (worst[kind] or 0) * factor for kind in ("calls", "tokens", "usd")})
            ledger = Ledger(caps)
            [outcome] = asyncio.run(settled(AccountedLM(model, ledger), request))
        assert isinstance(outcome, list) or "no room" in str(outcome)
        assert not ledger.overspent()
        assert not ledger.violations
        assert len(endpoint.bodies) <= factor
        assert (ledger.used["calls"] or 0) == len(endpoint.bodies)
        assert all(ledger.remaining(kind) == caps[kind] - (ledger.used[kind] or 0) for kind in caps)


def test_a_cancelled_call_is_booked_in_full_and_leaves_nothing_open() -> None:
    async def go(model: HostedLM, ledger: Ledger) -> None:
        task = asyncio.create_task(AccountedLM(model, ledger).generate([Request(PROMPT, 20)]))
        while not endpoint.bodies:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Endpoint(says("up"), ["hang"]) as endpoint:
        model, ledger = opened(endpoint), Ledger(Budget({"tokens": 500}))
        asyncio.run(go(model, ledger))
    assert ledger.used["tokens"] == worst_case(model, Request(PROMPT, 20))["tokens"]
    assert ledger.remaining("tokens") == 500 - (ledger.used["tokens"] or 0)


def test_n_calls_are_in_flight() -> None:
    # The endpoint answers nobody before five have asked, so fewer in flight would never end.
    with Endpoint(says("up"), together=5) as endpoint:
        asyncio.run(opened(endpoint, concurrency=5).generate([Request(str(i), 5) for i in range(10)]))
    assert endpoint.most_in_flight == 5


def test_a_batch_has_all_its_calls_in_flight() -> None:
    async def episode(batch: EpisodeBatch, index: int) -> None:
        await batch.member(index).generate([Request(f"{index}.{i}", 5) for i in range(2)])
        await batch.leave()

    async def play(model: HostedLM) -> None:
        batch = EpisodeBatch(model, 3)
        await asyncio.gather(*(episode(batch, i) for i in range(3)))

    with Endpoint(says("up"), together=6) as endpoint:
        asyncio.run(play(opened(endpoint)))
    assert endpoint.most_in_flight == 6


def test_a_model_serves_several_event_loops() -> None:
    with Endpoint(says("up")) as endpoint:
        model = opened(endpoint)
        assert [ask(model).texts for _ in range(3)] == [("up",)] * 3


def test_an_unknown_price_is_refused_under_a_cap_on_dollars() -> None:
    with Endpoint(says("up")) as endpoint:
        model = opened(endpoint)
        model.price = None  # as that of a server elsewhere is
        with pytest.raises(UnknownCostError):
            asyncio.run(AccountedLM(model, Ledger(Budget.of(usd=1))).generate([Request(PROMPT, 5)]))
    assert endpoint.bodies == []


def test_a_server_on_this_machine_costs_nothing_unless_a_price_is_given() -> None:
    with Endpoint(says("up")) as endpoint:
        ledger = Ledger(Budget.of(usd=0, tokens=10_000))
        model = AccountedLM(opened(endpoint), ledger)
        asyncio.run(model.generate([Request(PROMPT, 5)]))
        assert (model.price, ledger.used["usd"]) == (FREE, 0)
        assert ledger.used["tokens"]
        paid = AccountedLM(opened(endpoint, price=PRICE), Ledger(Budget.of(usd=0)))
        with pytest.raises(BudgetExceededError, match="a model call: usd of the episode ledger"):
            asyncio.run(paid.generate([Request(PROMPT, 5)]))
    assert len(endpoint.bodies) == 1


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:8000/v1", True),
        ("http://LOCALHOST/v1", True),
        ("http://models.localhost/v1", True),
        ("http://127.0.0.1:1", True),
        ("http://127.8.7.6/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://0.0.0.0:8000", False),
        ("http://192.168.0.7:8000/v1", False),
        ("https://localhost.example.com/v1", False),
        ("https://127.0.0.1.example.com/v1", False),
        ("https://api.openai.com/v1", False),
    ],
)
def test_only_loopback_is_this_machine(url: str, here: bool) -> None:
    assert is_here(url) is here
    assert (OPENAI(f"test@{url}").price == FREE) is here


def test_what_a_cancelled_call_of_a_free_endpoint_used_is_unknown_too() -> None:
    class Silent(HostedLM):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            raise asyncio.CancelledError

    ledger = Ledger(Budget.of(tokens=10_000))
    with Endpoint(says("up")) as endpoint:
        plain = opened(endpoint)
        silent = Silent(plain._wire, name="x", identity="x", price=FREE)
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(AccountedLM(silent, ledger).generate([Request(PROMPT, 5)]))
    assert ledger.used["tokens"] == silent.prompt_tokens(Request(PROMPT, 5)) + silent.most_completion_tokens(
        Request(PROMPT, 5)
    )


def test_reasoning_adds_to_limit_and_worst_case() -> None:
    with Endpoint(says("up")) as endpoint:
        model = opened(endpoint, reasoning=1000)
        ask(model)
    assert endpoint.bodies[0]["max_tokens"] == 1020
    assert most_completion_tokens(model, Request(PROMPT, 20, n=2)) == 2040


@pytest.mark.parametrize("fault", sorted(FAULTS))
@pytest.mark.filterwarnings("ignore::tape.errors.EndpointWarning")
def test_every_fault_ends_in_an_answer_or_a_counted_failure(fault: str) -> None:
    with Endpoint(wrapped("up"), [fault], forever=True) as endpoint:
        model = opened(endpoint, timeout=2 if fault == "hang" else 30, retries=1, repairs=1)
        ledger = Ledger(Budget({"calls": 100}))
        try:
            completion = ask(AccountedLM(model, ledger), Choice(("up", "down")))
        except BatchError:
            pass
        else:
            assert completion.usage.calls == ledger.used["calls"]
    assert 1 <= len(endpoint.bodies) <= 4
    assert set(ledger.violations) == ({"tokens"} if fault == "huge usage" else set())


ODD = [
    "m#timeout=nan",
    "m#timeout=inf",
    "m#backoff=1e999",
    "m#max_wait=nan",
    "m#retries=1000000",
    "m#reasoning=" + "9" * 99,
]
ODD += ["m#concurrency=" + "9" * 5000, "m#repairs=9999999999"]


def test_model_strings_are_checked() -> None:
    for wrong in (
        "",
        "m#speed=9",
        "m#timeout=fast",
        "m#concurrency=0",
        "m#format=latin",
        "m#retries=-1",
        "m@http://",
        *ODD,
    ):
        with pytest.raises(ConfigError):
            OPENAI(wrong)
    model = OPENAI("org/some:model@https://host/v1/#format=compact,concurrency=3")
    assert (model.name, model.prompt_format) == (
        "openai:org/some:model@https://host/v1/#format=compact,concurrency=3",
        "compact",
    )
    assert model.identity == "openai:org/some:model@https://host/v1/"


def test_the_url_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with Endpoint(says("up")) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        model = OPENAI("test")
        assert ask(model).texts == ("up",)
    assert endpoint.url in model.identity, "another endpoint is another model"


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS:
        monkeypatch.delenv(provider.key, raising=False)
        monkeypatch.delenv(provider.url_variable, raising=False)
        if provider.needs_key and provider.package == "openai":
            with pytest.raises(ModelError, match=provider.key):
                provider("some-model")
            assert provider.missing() == f"{provider.key} is not set"
    with Endpoint(says("up")) as endpoint:
        ask(opened(endpoint))
    assert CANARY not in str(endpoint.headers), "servers of one's own need no key"


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in {provider.package for provider in PROVIDERS}:
        monkeypatch.setitem(sys.modules, package, None)
    for provider in PROVIDERS:
        with pytest.raises(ImportError, match=rf"tape-planner\[{provider.package}\]"):
            provider("some-model")
