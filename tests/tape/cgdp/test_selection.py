"""The search that the solver picks, against all that there are."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from envs.search import SearchEnvironment, bm25
from tape import Budget
from tape.agents.cgdp import CgdpAgent
from tape.cgdp import selection
from tape.cgdp.events import RetrievedEvent
from tape.cgdp.search import Search
from tape.cgdp.worth import Prospects
from tape.lm.scripted import ScriptedLM
from tape.protocols.search import SearchOption
from tape.trace import PathSelectedEvent, read_trace
from tests.tape.cgdp.policy import PASSAGES, QUESTION
from tests.tape.cgdp.test_agents import fixed_answers

CALIBRATION = {"bm25-1": 0.3, "bm25-2": 0.6, "bm25-5": 0.9}


def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **given: Any) -> tuple[Search, list[Any]]:
    """A search with two gold sub-questions, and what was selected in it."""
    chosen: list[Any] = []
    searches: list[Search] = []
    original = selection.select

    def spy(search: Search) -> Any:
        searches.append(search)
        before = expected(search)
        found = original(search)
        chosen.append(found)
        [*_, last] = [e for e in read_trace(tmp_path / "t.jsonl") if isinstance(e, PathSelectedEvent)]
        assert last.objective == pytest.approx(max(0.0, before))
        return found

    monkeypatch.setattr(selection, "select", spy)
    env = SearchEnvironment(
        QUESTION,
        bm25(PASSAGES),
        answers=["Otto Lind"],
        depths=(1, 2, 5),
        calibration=CALIBRATION,
        sub_questions=["Where was Ada born?", "Who is the mayor of that town?"],
    )
    budget = given.pop("budget", None)
    CgdpAgent(ScriptedLM(fixed_answers), select="solver", rounds=2, **given).run(
        env, budget=budget, seed=0, trace=tmp_path / "t.jsonl"
    )
    return searches[0], chosen


def expected(search: Search) -> float:
    """The best sum of worths over all ways to search for any of the open predicates, by brute force."""
    assert search.belief is not None
    left = search.episode.remaining()
    prices = search.prices
    options = [None, *(option for option in search.options if prices.fits(option))]
    best = 0.0
    for picked in product(options, repeat=len(search.belief.questions)):
        costs = [prices.expected(option) for option in picked if option is not None]
        if any(sum(cost.get(kind) or 0 for cost in costs) > room for kind, room in left.items()):
            continue
        pairs = zip(search.belief.questions, picked, strict=True)
        best = max(best, sum(prices.worth(target, option) for target, option in pairs if option is not None))
    return best


@pytest.mark.parametrize("tokens", [None, 5000, 1500, 900])
def test_the_best_path_within_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokens: int | None) -> None:
    budget = None if tokens is None else Budget.of(tokens=tokens)
    _, chosen = played(tmp_path, monkeypatch, budget=budget, answer_worth=8000)
    assert chosen


def test_where_not_all_fits_the_cheapest_search_for_the_first_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, chosen = played(tmp_path, monkeypatch, budget=Budget.of(tokens=650), answer_worth=8000)
    assert search.prices.expected(search.options[1])["tokens"]
    assert (chosen[0].target, chosen[0].option.name) == ("Where was Ada born?", "bm25-1")


def test_where_nothing_is_worth_its_price_it_answers_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, chosen = played(tmp_path, monkeypatch, answer_worth=10)
    assert chosen == [None]
    assert not [event for event in read_trace(tmp_path / "t.jsonl") if isinstance(event, RetrievedEvent)]


def test_options_that_break_the_window_make_no_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide, deepest = played(tmp_path, monkeypatch, answer_worth=10**6, context_tokens=2000, belief_tokens=40)
    assert deepest[0].option.name == "bm25-5"
    middle = next(option for option in wide.options if option.name == "bm25-2")
    window = wide.rules + 40 + wide.prices.brings(middle.depth)
    search, chosen = played(tmp_path, monkeypatch, answer_worth=10**6, belief_tokens=40, context_tokens=window)
    assert {option.name for option in search.options if search.prices.fits(option)} == {"bm25-1", "bm25-2"}
    assert chosen[0].option.name == "bm25-2"


def test_the_chance_of_a_search_falls_with_what_was_tried_in_vain() -> None:
    shallow, deep = SearchOption("bm25", 3, 0.5), SearchOption("bm25", 10, 0.8)
    prospects = Prospects()
    assert prospects.success(shallow) == 0.5
    prospects.after(shallow, productive=False)
    assert prospects.success(shallow) == 0.25
    assert prospects.success(deep) == pytest.approx(0.6)  # what the shallow one had missed
    prospects.after(deep, productive=True)
    assert prospects.success(shallow) == 0.5
