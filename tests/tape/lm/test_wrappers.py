"""Batching, caching and accounting around a model; cache files from anywhere, and a full disk."""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tape.budget import Budget, Ledger, Resources
from tape.errors import BudgetExceededError, ModelError
from tape.lm.accounting import AccountedLM
from tape.lm.base import FREE, Completion, OneOf, Regex, Request, TokenPrice, Usage, worst_case, worst_case_of_scoring
from tape.lm.batching import EpisodeBatch
from tape.lm.cache import CachedLM
from tape.lm.scripted import ScriptedLM
from tape.trace import CostAboveBoundEvent, TraceWriter
from tests.tape.helpers import tiny_lm

PROMPT = " size: 7x9 wall: none player: (1,1) box: (2,2) goal: (3,3)"


class Recording(ScriptedLM):
    """Remembers the composition of every batch."""

    def __init__(self) -> None:
        super().__init__(lambda request, _: f"answer to {request.prompt}")
        self.batches: list[list[str]] = []

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        self.batches.append([str(r.prompt) for r in requests])
        return await super().generate(requests)


async def talk(batch: EpisodeBatch, index: int, turns: int, delays: int) -> list[str]:
    member, heard = batch.slot(index), []
    for turn in range(turns):
        for _ in range(delays):
            await asyncio.sleep(0)  # let the others run: the batch must not depend on it
        [completion] = await member.generate([Request(f"{index}.{turn}", 9)])
        heard.append(completion.texts[0])
    return heard


@pytest.mark.parametrize("delays", [(0, 0, 0), (0, 3, 7), (9, 1, 0)])
def test_batches_do_not_depend_on_timing(delays: tuple[int, int, int]) -> None:
    async def episode(batch: EpisodeBatch, index: int, turns: int) -> list[str]:
        heard = await talk(batch, index, turns, delays[index])
        await batch.leave()
        return heard

    async def go() -> list[list[str]]:
        batch = EpisodeBatch(model, 3)
        return await asyncio.gather(*(episode(batch, i, turns) for i, turns in enumerate((1, 3, 2))))

    model = Recording()
    heard = asyncio.run(go())
    assert model.batches == [["0.0", "1.0", "2.0"], ["1.1", "2.1"], ["1.2"]]
    assert heard == [[f"answer to {i}.{t}" for t in range(n)] for i, n in enumerate((1, 3, 2))]


async def together(model: ScriptedLM, turns: int = 1) -> list[Any]:
    """What three episodes hear or raise."""
    batch = EpisodeBatch(model, 3)

    async def episode(index: int) -> list[str]:
        try:
            return await talk(batch, index, turns, 0)
        finally:
            await batch.leave()

    return list(await asyncio.gather(*(episode(i) for i in range(3)), return_exceptions=True))


@pytest.mark.parametrize(("price", "tries"), [(FREE, 4), (TokenPrice(Decimal("1e-6"), Decimal("1e-6")), 1)])
def test_one_bad_request_fails_its_neighbours_only_where_they_would_be_paid_twice(
    price: TokenPrice, tries: int
) -> None:
    calls: list[int] = []

    class Picky(Recording):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            calls.append(len(requests))
            if any(r.prompt == "1.0" for r in requests):
                raise ModelError("cannot read 1.0")
            return await super().generate(requests)

    model = Picky()
    model.price = price
    heard = asyncio.run(together(model))
    assert len(calls) == tries
    assert [isinstance(item, ModelError) for item in heard] == [price != FREE, True, price != FREE]


def test_a_cancelled_batch_ends_quietly_and_calls_the_model_no_more() -> None:
    class Interrupted(Recording):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            if self.batches:
                for task in asyncio.all_tasks():  # Ctrl-C arrives while the model computes
                    task.cancel()
            return await super().generate(requests)

    model = Interrupted()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(together(model, 5))
    assert len(model.batches) == 2


def test_the_cache_answers_equal_requests_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    request = Request(PROMPT, 6, Regex(r"(?: [UDLR]){4}"), n=2, temperature=1.0, seed=5)
    choice = Request(PROMPT, 3, OneOf((" U", " D")))
    first = CachedLM(tiny_lm(), path)
    fresh = asyncio.run(first.generate([request]))
    scores = asyncio.run(first.score_options([choice]))
    first.close()
    second = CachedLM(tiny_lm(), path)
    assert asyncio.run(second.generate([request])) == fresh == asyncio.run(tiny_lm().generate([request]))
    assert asyncio.run(second.score_options([choice])) == scores
    assert second.hits == 2
    asyncio.run(second.generate([Request(PROMPT, 6, Regex(r"(?: [UDLR]){4}"), n=2, temperature=1.0, seed=6)]))
    assert second.hits == 2
    second.close()


def test_a_cached_answer_counts_against_budgets_and_costs_nothing(tmp_path: Path) -> None:
    price = TokenPrice(Decimal("1e-6"), Decimal("2e-6"))
    requests = [Request("one two", 9), Request("three", 9, OneOf(("yes", "no")))]

    run = Ledger(Budget({"calls": 3}), name="run")

    def pay(path: Path) -> Ledger:
        model = CachedLM(ScriptedLM(["yes"], price=price), path)
        ledger = Ledger(Budget.of(tokens=100, usd="0.01", calls=9), payer=run)
        lm = AccountedLM(model, ledger)
        asyncio.run(lm.generate(requests[:1]))
        asyncio.run(lm.score_options(requests[1:]))
        model.close()
        assert lm.calls.total() == 2
        return ledger

    first, second = pay(tmp_path / "cache"), pay(tmp_path / "cache")
    assert first.used == second.used == first.paid == Resources({"calls": 2, "tokens": 5, "usd": 7})
    assert second.paid == Resources()
    assert run.used["calls"] == 2, "a run pays only what the cache does not answer"
    assert first.remaining("tokens") == second.remaining("tokens") == 95


def test_one_request_that_uses_too_much_is_not_excused_by_its_batch(caplog: pytest.LogCaptureFixture) -> None:
    class Greedy(ScriptedLM):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            return [Completion(("a",), ("stop",), (0.0,), Usage(1, used)) for used in (7, 0)]

    ledger, trace = Ledger(Budget({"tokens": 50})), TraceWriter("test")
    asyncio.run(AccountedLM(Greedy([""]), ledger, trace).generate([Request("x", 5, role="plan"), Request("x", 5)]))
    assert ledger.violations == {"tokens": 1}
    assert not ledger.overspent()
    assert ledger.used["tokens"] == 9
    [event] = [event for event in trace.events if isinstance(event, CostAboveBoundEvent)]
    assert (event.purpose, event.kind, event.declared, event.used) == ("lm:,plan", "tokens", 6, 8)
    assert "used 8 tokens where at most 6 tokens was declared" in caplog.text


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, and they are longer than a header" * 9)
    with pytest.raises(ModelError, match=r"notes\.txt"):
        CachedLM(tiny_lm(), path)
    assert path.read_text().startswith("these are my notes")


def test_scoring_options_of_several_tokens_keeps_the_cap() -> None:
    request = Request(PROMPT, 4, OneOf((" U D L", " R R R", " D")))
    need = worst_case_of_scoring(tiny_lm(), request)["tokens"]
    assert need == len(PROMPT.split()) + 4 + 4 + 2
    ledger = Ledger(Budget({"tokens": need}))
    asyncio.run(AccountedLM(tiny_lm(), ledger).score_options([request]))
    assert ledger.used["tokens"] == need
    assert not ledger.overspent()
    with pytest.raises(BudgetExceededError):
        asyncio.run(AccountedLM(tiny_lm(), Ledger(Budget({"tokens": need - 1}))).score_options([request]))


def test_calls_are_refused_before_they_are_made_and_cost_the_larger_of_reported_and_counted_usage() -> None:
    class Modest(ScriptedLM):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            return [replace(answer, usage=Usage(0, 1)) for answer in await super().generate(requests)]

    model, request = Modest(["one two three"]), Request("four words of prompt", 5)
    need = worst_case(model, request)["tokens"]
    assert need == 9
    paid = AccountedLM(model, Ledger(Budget({"tokens": need})))
    asyncio.run(paid.generate([request]))
    assert paid.calls.total() == 1
    assert paid.prompts.total() + paid.completions.total() == 5
    with pytest.raises(BudgetExceededError, match="tokens"):
        asyncio.run(paid.generate([request]))
    assert len(model.requests) == 1


REQUEST = Request("b", 5, n=2)


def cached(path: Path, change: Any) -> None:
    """Write an entry, change its row, and read it again."""
    for number in range(2):
        model = CachedLM(ScriptedLM(["text"]), path)
        try:
            asyncio.run(model.generate([REQUEST]))
        finally:
            model.close()
        if number == 0:
            with sqlite3.connect(path) as db:
                [(row,)] = db.execute("SELECT value FROM completions")
                record = change(json.loads(row))
                value = record if isinstance(record, bytes) else json.dumps(record)
                db.execute("UPDATE completions SET value = ?", (value,))


def put(name: str, value: Any) -> Any:
    def change(record: dict[str, Any]) -> dict[str, Any]:
        held = record
        *path, last = name.split(".")
        for part in path:
            held = held[part]
        held[last] = value
        return record

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("usage.prompt_tokens", 10**200), "field usage"), (put("usage.completion_tokens", -1), "field usage"),
        (put("usage.calls", True), "field usage.calls"), (put("usage.source", "guessed"), "field usage.source"),
        (put("texts", ["one"]), "1 of 2 samples"), (put("texts", "text"), "field texts"),
        (put("logprobs", [None, None]), "field logprobs"), (lambda record: b"\xff\xfe", "no UTF-8"),
        (lambda record: b"[" * 10_000, "nested deeper"), (lambda record: b'{"usage": ' + b"9" * 5000 + b"}", "digits"),
        (lambda record: b"", "no JSON"), (lambda record: [], "object"),
    ],
    ids=range(12),
)  # fmt: skip
def test_an_entry_of_a_cache_from_elsewhere_is_refused(change: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"cache: entry [0-9a-f]+: .*{message}.*delete the file"):
        cached(tmp_path / "cache", change)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE other (x); CREATE VIEW completions AS WITH RECURSIVE n(key, value) AS "
        "(SELECT 1, 1 UNION ALL SELECT key + 1, 1 FROM n) SELECT key, value FROM n",
        "CREATE TABLE completions (key TEXT PRIMARY KEY, value BLOB); "
        "CREATE TRIGGER t AFTER INSERT ON completions BEGIN DELETE FROM completions; END",
    ],
)
def test_a_cache_that_computes_is_none(sql: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "cache") as db:
        db.executescript(sql)
    with pytest.raises(ModelError, match="name another file"):
        CachedLM(ScriptedLM([""]), tmp_path / "cache")


def test_a_full_disk_costs_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What was asked before is still answered from the file; what is asked now is answered and not kept."""
    asked: list[str] = []
    long = "x" * 20_000
    model = CachedLM(ScriptedLM(lambda request, _: asked.append(str(request.prompt)) or long), tmp_path / "cache")
    asyncio.run(model.generate([REQUEST]))
    [(pages,)] = model._db.execute("PRAGMA page_count")
    model._db.execute(f"PRAGMA max_page_count = {pages}")  # "database or disk is full"
    new = [Request(f"new {number}", 5) for number in range(3)]
    completions = [asyncio.run(model.generate([request]))[0] for request in (*new, REQUEST)]
    model.close()
    assert [answer.texts[0] for answer in completions] == [long] * 4
    assert [answer.usage.cached for answer in completions] == [False] * 3 + [True]
    assert len(asked) == 2 + 3
    [warning] = caplog.messages
    assert "full" in warning
    assert "not kept from here on" in warning
