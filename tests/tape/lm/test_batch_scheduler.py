"""Episodes side by side: their requests share passes, by their order and never by the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Ledger, Resources
from tape.errors import ModelError
from tape.lm.accounting import AccountedLM
from tape.lm.base import Completion, LanguageModel, OneOf, Regex, Request, is_continuous
from tape.lm.batching import SLOT, BatchScheduler, BatchSlot, EpisodeBatch
from tape.lm.cache import CachedLM
from tape.lm.priced import PricedLM
from tape.lm.registry import open_backend
from tape.lm.tree_decoding import TreePasses
from tape.lm.trees import Feed, PrefixStore
from tests.tape.helpers import ROOM, tiny_lm
from tests.tape.lm.test_trees import START

Episode = Callable[[BatchSlot], Awaitable[Any]]


def moves(count: int, seed: int = 0, n: int = 1, prompt: str = START, **options: Any) -> Request:
    """A request that takes as many passes as moves."""
    pattern = Regex(rf"(?: [UDLR]){{{count}}}")
    return Request(prompt, count, pattern, n=n, temperature=1.0, seed=seed, **options)


class Seen:
    """The passes of the tiny model, from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passes: list[list[list[int]]] = []
        self.before: Callable[[Sequence[Feed]], None] = lambda _: None
        self.after: Callable[[Sequence[Feed]], None] = lambda _: None
        network: Any = tiny_lm()._network
        read = network.read

        def watched(feeds: Sequence[Feed]) -> Any:
            self.before(feeds)
            self.passes.append([list(feed.tokens) for feed in feeds])
            logits = read(feeds)
            self.after(feeds)
            return logits

        monkeypatch.setattr(network, "read", watched)
        self._patch = monkeypatch

    def play(self, *episodes: Episode, model: LanguageModel | None = None) -> list[Any]:
        """Play episodes, nothing kept from before; what they return or raise."""
        self._patch.setattr(tiny_lm()._trees, "store", PrefixStore())
        self.passes.clear()

        async def go() -> list[Any]:
            self.batch = EpisodeBatch(model or tiny_lm(), len(episodes))

            async def one(index: int) -> Any:
                try:
                    return await episodes[index](self.batch.slot(index))
                finally:
                    await self.batch.leave()

            self.tasks = [asyncio.create_task(one(index)) for index in range(len(episodes))]
            exceptions = await asyncio.gather(*self.tasks, return_exceptions=True)
            await self.batch.close()
            return exceptions

        return asyncio.run(go())

    def under_way(self) -> list[Any]:
        """Jobs that the scheduler still holds."""
        scheduler = self.batch._scheduler
        assert isinstance(scheduler, BatchScheduler)
        passes = [turn for turn in scheduler._passes.values() if isinstance(turn, TreePasses)]
        return [scheduler._waiting, *(job for turn in passes for job in [*turn._waiting, *turn._live])]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(monkeypatch)


def asks(*requests: Request, turns: int = 0) -> Episode:
    """An episode that asks one after the other, and lets the others run in between."""

    async def episode(slot: BatchSlot) -> list[Completion]:
        completions = []
        for request in requests:
            for _ in range(turns):
                await asyncio.sleep(0)
            completions += await slot.generate([request])
        return completions

    return episode


def test_what_an_episode_asks_next_joins_before_another_is_answered(seen: Seen) -> None:
    answered: list[int] = []

    def counts(*lengths: int) -> Episode:
        async def episode(slot: BatchSlot) -> None:
            for seed, length in enumerate(lengths):
                await slot.generate([moves(length, seed)])
                answered.append(length)

        return episode

    seen.play(counts(30), counts(4, 4, 4, 4))
    assert answered == [4, 4, 4, 4, 30]
    assert len(seen.passes) == 30
    assert [len(turn) for turn in seen.passes] == [2] * 4 * 4 + [1] * 14


@pytest.mark.parametrize("turns", [(0, 0, 0), (0, 3, 17), (40, 1, 0)])
def test_passes_do_not_depend_on_when_episodes_ask(seen: Seen, turns: tuple[int, int, int]) -> None:
    asked = [[moves(9, 1), moves(2, 2, n=3)], [moves(3, k, n=2, distinct=True) for k in range(4)], [moves(5), moves(5)]]

    async def slow(slot: BatchSlot) -> list[Completion]:
        completions: list[Completion] = await slot.generate([asked[1][0]])
        await asyncio.to_thread(lambda: None)  # as a tool does, and it takes as long as it takes
        completions += await asks(*asked[1][1:], turns=turns[1])(slot)
        return completions

    first = seen.play(*(asks(*mine) for mine in asked))
    passes = list(seen.passes)
    assert seen.play(asks(*asked[0], turns=turns[0]), slow, asks(*asked[2], turns=turns[2])) == first
    assert seen.passes == passes


def test_scores_share_passes_with_answers(seen: Seen) -> None:
    choice = Request(START, 3, OneOf((" U L", " D R U", " invalid")))

    async def scores(slot: BatchSlot) -> Any:
        return await slot.score_options([choice])

    [[(weights, usage)], _] = seen.play(scores, asks(moves(6)))
    assert len(seen.passes) == 6
    [(alone, alone_usage)] = asyncio.run(tiny_lm().score_options([choice]))
    assert (weights, usage) == (pytest.approx(alone, abs=1e-5), alone_usage)


def test_a_cancelled_episode_leaves_nothing_under_way(seen: Seen) -> None:
    [alone] = seen.play(asks(moves(9, 1)))

    def cancel(feeds: Sequence[Feed]) -> None:
        if len(seen.passes) == 4:
            seen.tasks[0].cancel()

    seen.before = cancel
    cut, whole = seen.play(asks(moves(30, n=4), moves(3)), asks(moves(9, 1)))
    assert isinstance(cut, asyncio.CancelledError)
    assert whole[0].texts == alone[0].texts
    assert [len(turn) for turn in seen.passes] == [2] * 5 + [1] * 4
    assert seen.under_way() == [[]]


def test_an_episode_that_waits_for_a_tool_is_waited_for_until_it_ends(seen: Seen) -> None:
    waits, ends, halted = asyncio.Event(), asyncio.Event(), []

    async def hangs(slot: BatchSlot) -> None:
        await slot.generate([moves(2)])
        waits.set()
        await ends.wait()

    async def watches() -> None:
        await waits.wait()
        before = len(seen.passes)
        for _ in range(50):
            await asyncio.sleep(0)
        halted.append(len(seen.passes) == before)
        ends.set()

    async def both(slot: BatchSlot) -> list[Completion]:
        watching = asyncio.create_task(watches())
        completions = await slot.generate([moves(8)])
        await watching
        return completions

    _, [answer] = seen.play(hangs, both)
    assert halted == [True]
    assert len(answer.texts[0].split()) == 8


def test_a_request_that_cannot_be_read_fails_its_own_episode(seen: Seen) -> None:
    alone = seen.play(asks(moves(6), moves(3)))
    bad, good = seen.play(asks(moves(2, prompt=START + " U" * 300)), asks(moves(6), moves(3)))
    assert isinstance(bad, ModelError)
    assert "reads at most" in str(bad)
    assert [item.texts for item in good] == [item.texts for item in alone[0]]


def test_a_pass_that_fails_fails_only_those_with_whom_it_fails(seen: Seen) -> None:
    requests = [moves(6, 1, n=2), moves(6, 2, prompt=START + " U"), moves(6, 3, n=2, distinct=True)]
    alone = [seen.play(asks(request))[0][0].texts for request in requests]
    longest = len(tiny_lm()._encode(requests[1])) + 3

    def no_memory(feeds: Sequence[Feed]) -> None:
        if any(feed.places[-1] >= longest and len(feed.tokens) == 1 for feed in feeds):
            raise RuntimeError("out of memory")

    seen.after = no_memory
    first, bad, last = seen.play(*map(asks, requests))
    assert isinstance(bad, ModelError)
    assert "out of memory" in str(bad)
    assert [first[0].texts, last[0].texts] == [alone[0], alone[2]]
    assert seen.under_way() == [[]]

    def too_many(feeds: Sequence[Feed]) -> None:
        if len(feeds) > 1:
            raise RuntimeError("out of memory")

    seen.after = too_many  # then what is too much for one pass is read in several
    assert [item[0].texts for item in seen.play(*map(asks, requests))] == alone


def test_a_fault_of_the_program_reaches_all(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("a fault of the program")

    monkeypatch.setattr(TreePasses, "_beginning", broken)
    assert [str(item) for item in seen.play(asks(moves(3)), asks(moves(4)))] == ["a fault of the program"] * 2


def test_every_call_is_paid_by_its_own_episode(seen: Seen) -> None:
    ledgers = [Ledger(Budget.of(tokens=400)) for _ in range(2)]

    def pays(index: int, *requests: Request) -> Episode:
        async def episode(slot: BatchSlot) -> int:
            lm = AccountedLM(slot, ledgers[index])
            return sum([(await lm.generate([request]))[0].usage.total for request in requests])

        return episode

    spent = seen.play(pays(0, moves(20, n=2)), pays(1, moves(3), moves(5), moves(2)))
    assert [ledger.used["tokens"] for ledger in ledgers] == spent

    def cancel(feeds: Sequence[Feed]) -> None:
        if len(seen.passes) == 3:
            seen.tasks[0].cancel()

    seen.before = cancel
    seen.play(pays(0, moves(20)), pays(1, moves(6)))
    assert ledgers[0].used["tokens"] == spent[0]  # a model of this machine that is stopped has used nothing
    assert all(ledger.reserved == Resources() for ledger in ledgers)


def test_a_model_behind_a_cache_and_a_price_is_as_it_is(seen: Seen, tmp_path: Path) -> None:
    cached = CachedLM(tiny_lm(), tmp_path / "cache")
    model = PricedLM(cached, tiny_lm().price)  # type: ignore[arg-type]
    asked = [asks(moves(9, 1)), asks(moves(3, 2), moves(4, 3))]
    fresh = seen.play(*asked)
    for hits in (0, 3):
        assert seen.play(*asked, model=model) == fresh
        assert cached.hits == hits
    assert seen.passes == []
    cached.close()


def test_bundled_models_advance_in_lock_step() -> None:
    assert is_continuous(tiny_lm())
    assert not is_continuous(open_backend("bundled:nano"))


def test_whole_episodes_are_the_same_every_time(seen: Seen) -> None:
    agent = TapeAgent(tiny_lm(), num_plans=2, max_replans=1)

    def plays(seed: int) -> Episode:
        async def episode(slot: BatchSlot) -> Any:
            options: Any = {"seed": seed, "model": slot, "budget": Budget.of(tokens=400)}
            result = await agent.arun(SokobanEnvironment(ROOM, 6), **options)
            assert 0 < (result.used["tokens"] or 0) <= 400
            assert not result.budget_violations
            return result.end_state, result.actions, result.used["tokens"]

        return episode

    first, second = [(seen.play(*map(plays, range(2))), list(seen.passes)) for _ in range(2)]
    assert first == second
    assert not any(isinstance(item, BaseException) for item in first[0])
    assert SLOT.get() is None
