"""What an agent books of a prompt that the provider's cache had: at the rates of the price file, as reported."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.agents.recorded import ResumedLM
from tape.budget import Budget, Ledger
from tape.lm.accounting import AccountedLM
from tape.lm.base import LanguageModel, Request, Usage
from tape.lm.cache import CachedLM
from tape.lm.hosted.providers import ANTHROPIC, OPENAI
from tape.lm.price import Split, split_of
from tape.lm.price_table import PriceTable
from tape.lm.priced import priced
from tape.trace import GeneratedEvent, TraceWriter, read_trace
from tests.profiles import examples
from tests.tape.lm.endpoint import Endpoint
from tests.tape.lm.hosting import opened, replies

pytest.importorskip("openai")
pytest.importorskip("anthropic")

ENTRY = {"prompt": "3", "completion": "15", "cached_input": "0.3", "cache_write": "3.75"}
REQUEST = Request("x" * 9_100, 400)


def usage(prompt: int, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": 80, **more}


def priced_by_file(model: LanguageModel, folder: Path, **entry: str | None) -> LanguageModel:
    file = folder / "prices.json"
    kept = {name: price for name, price in (ENTRY | entry).items() if price is not None}
    file.write_text(json.dumps({"schema": 1, "date": "2026-01-31", "per_tokens": 10**6, "models": {"test": kept}}))
    return priced(model, "test", PriceTable.load(file))


def booked(model: LanguageModel, trace: TraceWriter | None = None) -> int | None:
    ledger = Ledger(Budget.of(usd=1))
    asyncio.run(AccountedLM(model, ledger, trace).generate([REQUEST]))
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
