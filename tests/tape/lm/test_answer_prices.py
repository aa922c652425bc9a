"""What an agent books where a dearer model answers, and of a prompt that the provider's cache had."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.agents.recorded import ContinuedLM, ResumedLM
from tape.budget import Budget, Ledger
from tape.errors import ModelError
from tape.lm.accounting import AccountedLM
from tape.lm.base import LanguageModel, Request, Usage
from tape.lm.cache import CachedLM
from tape.lm.hosted.providers import ANTHROPIC, OPENAI
from tape.lm.price import Split, split_of
from tape.lm.price_table import PriceTable
from tape.lm.priced import priced
from tape.trace import Event, GeneratedEvent, TraceWriter, read_trace
from tests.profiles import examples
from tests.tape.lm.endpoint import CANARY, Endpoint
from tests.tape.lm.hosting import opened, replies

pytest.importorskip("openai")
pytest.importorskip("anthropic")

ASKED, DEARER = "anthropic:claude-sonnet-4-5", "claude-opus-4-1-20250805"
REQUEST = Request("x" * 10_500, 800)
USED = {"prompt_tokens": 10_000, "completion_tokens": 500}


def answering(model: object, **usage: Any) -> Endpoint:
    """Answers by the name of a model, with a usage."""
    return Endpoint(replies("up"), model=model, usage=USED | usage)


def at_the_table_s_price(endpoint: Endpoint, name: str, prices: Any = None, cache: Path | None = None) -> LanguageModel:
    """A model as at its provider's own address: this machine's would cost nothing."""
    model = opened(endpoint, ANTHROPIC if name.startswith("anthropic") else OPENAI)
    model.price, model.name = None, name
    return priced(model if cache is None else CachedLM(model, cache), name, prices)


def asked(model: LanguageModel, times: int = 1, trace: TraceWriter | None = None, **caps: Any) -> tuple[Ledger, str]:
    """Calls one after the other, and the words of what ended them."""
    ledger, refusal = Ledger(Budget.of(**(caps or {"usd": 5}))), ""
    lm = AccountedLM(model, ledger, trace)
    for _ in range(times):
        try:
            asyncio.run(lm.generate([REQUEST]))
        except ModelError as error:
            refusal = str(error)
    return ledger, refusal


@pytest.mark.parametrize(
    ("name", "model", "micro", "sent"),
    [
        (ASKED, DEARER, 10_000 * 15 + 500 * 75, 1),  # $0.1875 in the place of $0.0375
        ("openai:gpt-4o-mini", "gpt-4o", 10_000 * 2.5 + 500 * 10, 1),
        ("openai:gpt-4o", "gpt-4o-2024-05-13", 10_000 * 5 + 500 * 15, 1),
        (ASKED, "claude-sonnet-4-5-20250929", 10_000 * 3 + 500 * 15, 2),  # the same entry of the table
        ("openai:gpt-4o", "gpt-4o-2024-08-06", 10_000 * 2.5 + 500 * 10, 2),
        ("openai:gpt-4o", "gpt-4o-mini", 10_000 * 2.5 + 500 * 10, 2),  # a cheaper one
        ("openai:gpt-4o", "nobody knows this", 10_000 * 2.5 + 500 * 10, 2),
        ("openai:gpt-4o", {"odd": 1}, 10_000 * 2.5 + 500 * 10, 2),
    ],
)
def test_an_answer_is_booked_by_the_dearer_of_two_models(name: str, model: object, micro: float, sent: int) -> None:
    with answering(model) as endpoint:
        lm = at_the_table_s_price(endpoint, name)
        identity = lm.identity
        ledger, refusal = asked(lm, 2)
        assert ledger.used["usd"] == micro * sent
        assert len(endpoint.bodies) == sent
        assert (ledger.used["calls"], bool(refusal)) == (sent, sent == 1)
        assert lm.identity == identity


def test_the_next_request_ends_with_words_that_name_the_pair_and_the_ways_out() -> None:
    with answering(DEARER) as endpoint:
        lm = at_the_table_s_price(endpoint, ASKED)
        ledger, refusal = asked(lm, 2)
        for words in (ASKED, "answered by anthropic:claude-opus-4-1", "take that one as the model", "--prices FILE"):
            assert words in refusal
        assert dict(ledger.violations) == {"usd": 1}, "what no one set aside is debt"
        assert asked(lm)[0].used["usd"] == 0, "for all that share the model, and nothing is held or spent"
        assert len(endpoint.bodies) == 1
        other = at_the_table_s_price(endpoint, "anthropic:claude-opus-4-1")
        ledger, refusal = asked(other, 2)
        assert (ledger.used["usd"], refusal, dict(ledger.violations)) == (2 * 187_500, "", {})


def test_without_a_cap_on_money_and_at_a_declared_price_nothing_is_refused() -> None:
    with answering(DEARER) as endpoint:
        ledger, refusal = asked(at_the_table_s_price(endpoint, ASKED), 2, calls=5)
        assert (ledger.used["usd"], refusal) == (2 * 187_500, "")
        ledger, refusal = asked(at_the_table_s_price(endpoint, ASKED, ("3", "15")), 2)
        assert (ledger.used["usd"], refusal) == (2 * 37_500, "")


def test_calls_in_flight_are_booked_and_no_more_are_made() -> None:
    with answering("gpt-4o") as endpoint:
        ledger = Ledger(Budget.of(usd=5))
        lm = AccountedLM(at_the_table_s_price(endpoint, "openai:gpt-4o-mini"), ledger)

        async def several() -> list[Any]:
            return await asyncio.gather(*(lm.generate([REQUEST, REQUEST]) for _ in range(3)))

        asyncio.run(several())
        assert ledger.used["usd"] == 6 * 30_000
        with pytest.raises(ModelError, match="answered by openai:gpt-4o,"):
            asyncio.run(several())
        assert (ledger.used["usd"], len(endpoint.bodies)) == (6 * 30_000, 6)


def traced(model: LanguageModel, file: Path, times: int) -> tuple[int | None, list[Event]]:
    trace = TraceWriter("episode", file)
    ledger, _ = asked(model, times, trace)
    trace.close()
    return ledger.used["usd"], list(read_trace(file))


def test_a_repeat_a_resumption_and_a_cached_answer_book_the_same(tmp_path: Path) -> None:
    with answering("gpt-4o") as endpoint:

        def fresh() -> LanguageModel:
            return at_the_table_s_price(endpoint, "openai:gpt-4o-mini", cache=tmp_path / "cache.sqlite")

        used, events = traced(fresh(), tmp_path / "first.jsonl", 2)
        repeat = traced(ResumedLM(fresh(), events, exact=True), tmp_path / "repeat.jsonl", 2)
        assert repeat == (used, events) == (30_000, repeat[1])
        assert [event.answered for event in events if isinstance(event, GeneratedEvent)] == [("gpt-4o",), ()]
        assert traced(ContinuedLM(fresh(), events[:3]), tmp_path / "resumed.jsonl", 2) == (used, events)
        assert traced(fresh(), tmp_path / "cached.jsonl", 2) == (used, events)
        assert len(endpoint.bodies) == 1


@pytest.mark.parametrize(("hours", "rate"), [(0, 3.75), (8_000, 6)])
def test_writes_that_nobody_asked_for_are_set_aside_from_then_on(hours: int, rate: float, tmp_path: Path) -> None:
    kept = {"cache_creation_input_tokens": 8_000, "cache_creation": {"ephemeral_1h_input_tokens": hours}}
    with answering("claude-sonnet-4-5", prompt_tokens=1_000, **kept) as endpoint:
        lm = at_the_table_s_price(endpoint, ASKED)
        request = Request("x" * 8_928, 500)
        ledger = Ledger(Budget.of(usd=5))
        trace = TraceWriter("episode", tmp_path / "trace.jsonl")
        accounted = AccountedLM(lm, ledger, trace)
        before, identity = accounted.worst_case(request)["usd"], lm.identity
        for _ in range(3):
            asyncio.run(accounted.generate([request]))
        trace.close()
        assert ledger.used["usd"] == 3 * (8_000 * rate + 1_000 * 3 + 500 * 15)
        assert dict(ledger.violations) == {"usd": 1}, "the first one alone"
        worst = accounted.worst_case(request)["usd"]
        assert before is not None
        assert worst is not None
        assert worst - before == lm.prompt_tokens(request) * (rate - 3)
        assert lm.identity == identity
        events = list(read_trace(tmp_path / "trace.jsonl"))
        again = TraceWriter("episode", tmp_path / "again.jsonl")
        recorded = AccountedLM(ResumedLM(lm, events, exact=True), Ledger(Budget.of(usd=5)), again)
        for _ in range(3):
            asyncio.run(recorded.generate([request]))
        again.close()
        assert list(read_trace(tmp_path / "again.jsonl")) == events, "whatever the model has learnt meanwhile"


@pytest.mark.filterwarnings("ignore::tape.errors.EndpointWarning")
def test_a_name_without_a_usage_and_one_that_holds_a_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    endpoint = answering("gpt-4o", prompt_tokens="many")
    with endpoint:
        ledger, _ = asked(lm := at_the_table_s_price(endpoint, "openai:gpt-4o-mini"))
        assert ledger.used["usd"] == -(-lm.prompt_tokens(REQUEST) * 5 // 2) + 800 * 10, "the worst case, by that one"
        endpoint.reports["model"] = f"gpt-4o {CANARY}"
        _, events = traced(at_the_table_s_price(endpoint, "openai:gpt-4o-mini"), tmp_path / "trace.jsonl", 1)
        assert "gpt-4o" in json.dumps([event.model_dump() for event in events])
        assert CANARY not in (tmp_path / "trace.jsonl").read_text()


ENTRY = {"prompt": "3", "completion": "15", "cached_input": "0.3", "cache_write": "3.75"}
CACHED_REQUEST = Request("x" * 9_100, 400)


def usage(prompt: int, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": 80, **more}


def priced_by_file(model: LanguageModel, folder: Path, **entry: str | None) -> LanguageModel:
    file = folder / "prices.json"
    kept = {name: price for name, price in (ENTRY | entry).items() if price is not None}
    file.write_text(json.dumps({"schema": 1, "date": "2026-01-31", "per_tokens": 10**6, "models": {"test": kept}}))
    return priced(model, "test", PriceTable.load(file))


def booked(model: LanguageModel, trace: TraceWriter | None = None) -> int | None:
    ledger = Ledger(Budget.of(usd=1))
    asyncio.run(AccountedLM(model, ledger, trace).generate([CACHED_REQUEST]))
    assert not ledger.violations
    return ledger.used["usd"]


OPENAIS = usage(9_000, prompt_tokens_details={"cached_tokens": 8_000})
ANTHROPICS = usage(1_000, cache_read_input_tokens=8_000, cache_creation_input_tokens=0)
WRITING = ANTHROPICS | {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 8_000}


@pytest.mark.parametrize(
    ("provider", "reported", "entry", "micro"),
    [
        (OPENAI, OPENAIS, {"cache_write": None}, 8_000 * 0.3 + 1_000 * 3),
        (OPENAI, OPENAIS, {}, 8_000 * 0.3 + 1_000 * 3.75),  # what was written is not reported, and may cost that
        (OPENAI, usage(9_000), {"cache_write": None}, 9_000 * 3),
        (OPENAI, usage(9_000, prompt_tokens_details={"cached_tokens": 9_001}), {"cache_write": None}, 9_000 * 3),
        (OPENAI, usage(9_000, prompt_cache_hit_tokens=8_000), {"cache_write": None}, 8_000 * 0.3 + 1_000 * 3),
        (ANTHROPIC, ANTHROPICS, {}, 8_000 * 0.3 + 1_000 * 3),
        (ANTHROPIC, ANTHROPICS, {"cached_input": None}, 9_000 * 3),
        (ANTHROPIC, WRITING, {}, 8_000 * 3.75 + 1_000 * 3),
        (ANTHROPIC, usage(9_000, cache_read_input_tokens=None), {}, 9_000 * 3.75),
    ],
)
def test_what_the_cache_had_is_booked_at_its_rates(
    provider: Any, reported: dict[str, Any], entry: dict[str, str | None], micro: float, tmp_path: Path
) -> None:
    with Endpoint(replies("up"), usage=reported) as endpoint:
        model = priced_by_file(opened(endpoint, provider), tmp_path, **entry)
        assert booked(model) == micro + 80 * 15


def test_a_cached_answer_a_trace_and_a_repeat_book_the_same(tmp_path: Path) -> None:
    with Endpoint(replies("up"), usage=ANTHROPICS) as endpoint:
        model = priced_by_file(CachedLM(opened(endpoint, ANTHROPIC), tmp_path / "cache.sqlite"), tmp_path)
        first = booked(model)
        trace = TraceWriter("episode", tmp_path / "trace.jsonl")
        assert booked(model, trace) == first
        trace.close()
        assert len(endpoint.bodies) == 1, "the second answer came from the file"
        events = list(read_trace(tmp_path / "trace.jsonl"))
        [event] = [item for item in events if isinstance(item, GeneratedEvent)]
        assert event.prompt_split == (8_000, 0, 0, 1_000)
        assert booked(ResumedLM(model, events, exact=True)) == first


counts = st.one_of(st.integers(-5, 50), st.none(), st.sampled_from([5.0, 2.5, float("nan"), "7", True, [3]]))


@given(st.lists(st.lists(counts, min_size=3, max_size=3), max_size=3), st.integers(0, 60))
@examples(200)
def test_a_split_is_one_of_the_prompt_whatever_is_reported(reports: list[list[Any]], prompt: int) -> None:
    together, tokens = Usage(0, 0), 0
    for read, written, hour in reports:
        kept = {"ephemeral_1h_input_tokens": hour}
        said = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written, "cache_creation": kept}
        split = split_of(said, prompt)
        assert split.fits(prompt)
        together, tokens = together + Usage(prompt, 0, split=split), tokens + prompt
    assert together.split.fits(tokens)
    assert split_of("nothing", prompt) == split_of(None, prompt) == Split()
