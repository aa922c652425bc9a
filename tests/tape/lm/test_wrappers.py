"""Batching, caching and accounting around a model."""

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from tape.budget import Budget, Ledger, Resources
from tape.errors import BudgetExceededError, ModelError
from tape.lm.accounting import AccountedLM
from tape.lm.base import FREE, Choice, Completion, Price, Regex, Request, Usage, worst_case, worst_case_of_scoring
from tape.lm.batching import EpisodeBatch
from tape.lm.cache import CachedLM
from tape.lm.scripted import ScriptedLM
from tape.trace import BrokenDeclarationEvent, TraceWriter
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
    member, heard = batch.member(index), []
    for turn in range(turns):
        for _ in range(delays):
            await asyncio.sleep(0)  # let the others run: the batch must not depend on it
        [completion] = await member.generate([Request(f"{index}.{turn}", 9)])
        heard.append(completion.texts[0])
    await batch.leave()
    return heard


@pytest.mark.parametrize("delays", [(0, 0, 0), (0, 3, 7), (9, 1, 0)])
def test_batches_do_not_depend_on_timing(delays: tuple[int, int, int]) -> None:
    async def go() -> tuple[list[list[str]], list[list[str]]]:
        model = Recording()
        batch = EpisodeBatch(model, 3)
        turns = (1, 3, 2)
        heard = await asyncio.gather(*(talk(batch, i, turns[i], delays[i]) for i in range(3)))
        return model.batches, list(heard)

    batches, heard = asyncio.run(go())
    assert batches == [["0.0", "1.0", "2.0"], ["1.1", "2.1"], ["1.2"]]
    assert heard == [[f"answer to {i}.{t}" for t in range(n)] for i, n in enumerate((1, 3, 2))]


def test_one_bad_request_does_not_fail_its_neighbours() -> None:
    class Picky(Recording):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            if any(r.prompt == "1.0" for r in requests):
                raise ModelError("cannot read 1.0")
            return await super().generate(requests)

    async def go() -> list[object]:
        batch = EpisodeBatch(Picky(), 3)

        async def episode(index: int) -> list[str]:
            try:
                return await talk(batch, index, 1, 0)
            except ModelError:
                await batch.leave()
                raise

        return list(await asyncio.gather(*(episode(i) for i in range(3)), return_exceptions=True))

    first, bad, last = asyncio.run(go())
    assert (first, last) == (["answer to 0.0"], ["answer to 2.0"])
    assert isinstance(bad, ModelError)


def test_a_failed_batch_of_a_metered_model_is_not_paid_twice() -> None:
    calls = 0

    class Down(Recording):
        def __init__(self) -> None:
            super().__init__()
            self.price = Price(Decimal("1e-6"), Decimal("1e-6"))

        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            nonlocal calls
            calls += 1
            raise ModelError("down")

    async def go() -> list[BaseException | list[str]]:
        batch = EpisodeBatch(Down(), 2)
        return await asyncio.gather(*(talk(batch, i, 1, 0) for i in range(2)), return_exceptions=True)

    assert all(isinstance(outcome, ModelError) for outcome in asyncio.run(go()))
    assert calls == 1


def test_a_cancelled_batch_ends_quietly_and_calls_the_model_no_more() -> None:
    class Interrupted(Recording):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            if self.batches:
                for task in asyncio.all_tasks():  # Ctrl-C arrives while the model computes
                    task.cancel()
            return await super().generate(requests)

    async def go() -> tuple[list[list[str]], list[object]]:
        model = Interrupted()
        batch = EpisodeBatch(model, 3)

        async def episode(index: int) -> None:
            try:
                await talk(batch, index, 5, 0)
            finally:
                await batch.leave()

        tasks = [asyncio.create_task(episode(i)) for i in range(3)]
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            await asyncio.wait(tasks)
        return model.batches, [task.cancelled() or task.exception() for task in tasks]

    batches, ended = asyncio.run(go())
    assert len(batches) == 2
    assert ended == [True, True, True]


def test_the_cache_answers_equal_requests_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    request = Request(PROMPT, 6, Regex(r"(?: [UDLR]){4}"), n=2, temperature=1.0, seed=5)
    choice = Request(PROMPT, 3, Choice((" U", " D")))
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
    price = Price(Decimal("1e-6"), Decimal("2e-6"))
    requests = [Request("one two", 9), Request("three", 9, Choice(("yes", "no")))]

    def pay(path: Path) -> Ledger:
        model = CachedLM(ScriptedLM(["yes"], price=price), path)
        ledger = Ledger(Budget.of(tokens=100, usd="0.01", calls=9))
        lm = AccountedLM(model, ledger)
        asyncio.run(lm.generate(requests[:1]))
        asyncio.run(lm.score_options(requests[1:]))
        model.close()
        assert lm.calls.total() == 2
        return ledger

    first, second = pay(tmp_path / "cache"), pay(tmp_path / "cache")
    assert first.used == second.used == first.paid == Resources({"calls": 2, "tokens": 5, "usd": 7})
    assert second.paid == Resources()
    assert first.remaining("tokens") == second.remaining("tokens") == 95


def test_a_run_pays_only_what_a_cache_does_not_answer(tmp_path: Path) -> None:
    run = Ledger(Budget({"calls": 2}), name="run")
    for _ in range(5):
        model = CachedLM(ScriptedLM(["yes"]), tmp_path / "cache")
        episode = Ledger(Budget({"calls": 1}), payer=run)
        asyncio.run(AccountedLM(model, episode).generate([Request("one two", 9)]))
        model.close()
        assert episode.used["calls"] == 1
    assert run.used["calls"] == 1


def test_one_request_that_uses_too_much_is_not_excused_by_its_batch(caplog: pytest.LogCaptureFixture) -> None:
    class Greedy(ScriptedLM):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            return [Completion(("a",), ("stop",), (0.0,), Usage(1, used)) for used in (7, 0)]

    ledger, trace = Ledger(Budget({"tokens": 50})), TraceWriter("test")
    asyncio.run(AccountedLM(Greedy([""]), ledger, trace).generate([Request("x", 5, role="plan"), Request("x", 5)]))
    assert ledger.violations == {"tokens": 1}
    assert not ledger.overspent()
    assert ledger.used["tokens"] == 9
    [event] = [event for event in trace.events if isinstance(event, BrokenDeclarationEvent)]
    assert (event.purpose, event.kind, event.declared, event.used) == ("lm:,plan", "tokens", 6, 8)
    assert "used 8 tokens where at most 6 tokens was declared" in caplog.text


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, and they are longer than a header" * 9)
    with pytest.raises(ModelError, match=r"notes\.txt"):
        CachedLM(tiny_lm(), path)
    assert path.read_text().startswith("these are my notes")


def test_calls_are_refused_before_they_are_made() -> None:
    model = ScriptedLM(["one two three"])
    request = Request("four words of prompt", 5)
    need = worst_case(model, request)["tokens"]
    assert need == 9
    paid = AccountedLM(model, Ledger(Budget({"tokens": need})))
    asyncio.run(paid.generate([request]))
    assert paid.calls.total() == 1
    assert paid.prompts.total() + paid.completions.total() == 7
    with pytest.raises(BudgetExceededError, match="tokens"):
        asyncio.run(paid.generate([request]))
    assert len(model.requests) == 1


@pytest.mark.parametrize(("price", "left"), [(FREE, 50), (Price(Decimal("1e-6"), Decimal("1e-6")), 44)])
def test_a_failed_call_of_a_metered_model_books_all_that_was_set_aside(price: Price, left: int) -> None:
    class Down(ScriptedLM):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            raise ModelError("down")

    ledger = Ledger(Budget({"tokens": 50}))
    with pytest.raises(ModelError):
        asyncio.run(AccountedLM(Down([""], price=price), ledger).generate([Request("x", 5)]))
    assert ledger.remaining("tokens") == left


def test_scoring_options_of_several_tokens_keeps_the_cap() -> None:
    request = Request(PROMPT, 4, Choice((" U D L", " R R R", " D")))
    need = worst_case_of_scoring(tiny_lm(), request)["tokens"]
    assert need == len(PROMPT.split()) + 4 + 4 + 2
    ledger = Ledger(Budget({"tokens": need}))
    asyncio.run(AccountedLM(tiny_lm(), ledger).score_options([request]))
    assert ledger.used["tokens"] == need
    assert not ledger.overspent()
    with pytest.raises(BudgetExceededError):
        asyncio.run(AccountedLM(tiny_lm(), Ledger(Budget({"tokens": need - 1}))).score_options([request]))


def test_the_larger_of_reported_and_counted_usage_is_settled() -> None:
    class Modest(ScriptedLM):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            return [Completion(("a",), ("stop",), (0.0,), Usage(0, 1)) for _ in requests]

    ledger = Ledger(Budget({"tokens": 50}))
    asyncio.run(AccountedLM(Modest([""]), ledger).generate([Request("three word prompt", 5)]))
    assert ledger.used["tokens"] == 4
