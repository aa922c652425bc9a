"""The search that the solver picks, against all that there are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from envs.search import SearchEnvironment, bm25
from tape import Budget
from tape.lm.scripted import ScriptedLM
from tape.methods.cgdp import selection
from tape.methods.cgdp.agents.cgdp import CgdpAgent
from tape.methods.cgdp.events import RetrievedEvent
from tape.methods.cgdp.prices import SuccessChance
from tape.methods.cgdp.search import CorpusSearch
from tape.protocols.search import SearchOption
from tape.trace import PathSelectedEvent, read_trace
from tests.tape.methods.cgdp.policy import PASSAGES, QUESTION, fixed_answers

CALIBRATION = {"bm25-1": 0.3, "bm25-2": 0.6, "bm25-5": 0.9}
SUB = ("Where was Ada born?", "Who is the mayor of that town?")


Played = Callable[..., tuple[CorpusSearch, list[Any]]]


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """Plays a search, with two gold sub-questions by default, and returns it with its selections."""
    original = selection.select

    def play(budget: Budget | None = None, sub_questions: Sequence[str] = SUB, hops: int = 1, **given: Any) -> Any:
        chosen: list[Any] = []
        searches: list[CorpusSearch] = []

        def spy(search: CorpusSearch) -> Any:
            searches.append(search)
            before = expected(search)
            chosen.append(original(search))
            if search.domain.sub_questions:
                [*_, last] = [e for e in read_trace(tmp_path / "t.jsonl") if isinstance(e, PathSelectedEvent)]
                assert last.objective == pytest.approx(max(0.0, before))
            return chosen[-1]

        monkeypatch.setattr(selection, "select", spy)
        corpus: dict[str, Any] = {"depths": (1, 2, 5), "calibration": CALIBRATION, "answers": ["Otto Lind"]}
        env = SearchEnvironment(QUESTION, bm25(PASSAGES), sub_questions=sub_questions, hops=hops, **corpus)
        agent = CgdpAgent(ScriptedLM(fixed_answers), select="solver", **{"rounds": 2, **given})
        (tmp_path / "t.jsonl").unlink(missing_ok=True)
        agent.run(env, budget=budget, seed=0, trace=tmp_path / "t.jsonl")
        return searches[0], chosen

    return play


def expected(search: CorpusSearch) -> float:
    """The best sum of worths over all ways to search for any of the open predicates, by brute force."""
    assert search.belief is not None
    assert search.settings.rounds is not None
    left = search.episode.remaining()
    prices = search.prices
    free = prices.kept_free()
    options = [None, *(option for option in search.options if prices.fits(option))]
    best = 0.0
    for picked in product(options, repeat=len(search.belief.questions)):
        made = [option for option in picked if option is not None]
        if len(made) > search.settings.rounds - len(search.rounds):
            continue
        costs = [free, *(prices.expected(option) + prices.grown(place) for place, option in enumerate(made))]
        if any(sum(cost[kind] or 0 for cost in costs) > most for kind, most in left.items()):
            continue
        pairs = zip(search.belief.questions, picked, strict=True)
        best = max(best, sum(prices.expected_value(target, option) for target, option in pairs if option is not None))
    return best


@pytest.mark.parametrize("tokens", [None, 5000, 1500, 900])
def test_the_best_path_within_the_budget(played: Played, tokens: int | None) -> None:
    assert played(budget=None if tokens is None else Budget.of(tokens=tokens), answer_worth=8000)[1]


def test_where_not_all_fits_the_cheapest_search_for_the_first_is_made(played: Played) -> None:
    _, chosen = played(budget=Budget.of(tokens=650), answer_worth=8000)
    assert (chosen[0].target, chosen[0].option.name) == ("Where was Ada born?", "bm25-1")


def test_where_nothing_is_worth_its_price_it_answers_at_once(played: Played, tmp_path: Path) -> None:
    _, chosen = played(answer_worth=10)
    assert chosen == [None]
    assert not [event for event in read_trace(tmp_path / "t.jsonl") if isinstance(event, RetrievedEvent)]


def test_options_that_break_the_window_make_no_edges(played: Played) -> None:
    wide, deepest = played(answer_worth=10**6, context_tokens=2000, belief_tokens=40)
    assert deepest[0].option.name == "bm25-5"
    middle = next(option for option in wide.options if option.name == "bm25-2")
    window = wide.rules + 40 + wide.prices.brings(middle.depth)
    search, chosen = played(answer_worth=10**6, belief_tokens=40, context_tokens=window)
    assert {option.name for option in search.options if search.prices.fits(option)} == {"bm25-1", "bm25-2"}
    assert chosen[0].option.name == "bm25-2"


def least_for_depth_5(played: Played, **given: Any) -> int:
    """The least budget under which the first search is the deepest one."""

    def is_deepest(tokens: int) -> bool:
        _, chosen = played(budget=Budget.of(tokens=tokens), answer_worth=10**6, **given)
        return bool(chosen) and chosen[0].option.name == "bm25-5"

    budgets = range(500, 3000, 50)
    return budgets[bisect_left(budgets, True, key=is_deepest)]


def test_a_bare_question_leaves_budget_for_the_usual_number_of_searches(played: Played) -> None:
    least, three = (least_for_depth_5(played, sub_questions=(), hops=hops, rounds=5) for hops in (1, 3))
    search, chosen = played(sub_questions=(), hops=3)
    round_ = search.prices.expected(search.options[2])["tokens"]
    assert round_ is not None
    assert three - least >= 2 * round_ - 110  # beside growth; the expected tokens change with what was written
    assert {selected.target for selected in chosen} == {QUESTION}


@pytest.mark.parametrize(
    "given", [{"rounds": 1}, {"horizon": 2}, {"budget": Budget.of(steps=2)}, {"budget": Budget.of(calls=3)}, {}]
)
def test_nothing_is_saved_for_searches_that_cannot_be_made_or_cost_the_same(
    played: Played, given: dict[str, Any]
) -> None:
    _, chosen = played(sub_questions=(), hops=4, answer_worth=10**6, **given)
    assert chosen[0].option.name == "bm25-5"


def test_a_question_that_is_decomposed_stays_worth_as_much(played: Played) -> None:
    search, _ = played(answer_worth=8000)
    option = search.options[2]
    price = search.prices.expected(option)["tokens"] or 0
    values = [search.prices.expected_value("untried", option, among) for among in (1, 4)]
    assert values == pytest.approx([0.9 * 8000 - price, 0.9 * 2000 - price])


def test_gold_sub_questions_name_all_predicates(played: Played) -> None:
    assert least_for_depth_5(played, hops=3) == least_for_depth_5(played, hops=1)


def test_a_planned_search_can_be_read(played: Played) -> None:
    given = {"sub_questions": (), "hops": 1}
    tokens = least_for_depth_5(played, **given)
    search, _ = played(budget=Budget.of(tokens=tokens), answer_worth=10**6, **given)
    assert search.episode.result.lm_calls["extract"] >= 1
    assert not search.episode.result.budget_violations


def test_what_a_belief_grows_by(played: Played) -> None:
    search, _ = played(answer_worth=8000, belief_tokens=60)
    assert search.belief is not None
    none, first, second, many = (search.prices.grown(rounds)["tokens"] or 0 for rounds in (0, 1, 2, 50))
    held = search.belief_tokens(replace(search.belief, questions=(), resolved=()))
    assert 0 == none < first <= second <= many == 2 * (60 - held)  # a belief has a cap


def test_the_chance_of_a_search_falls_with_what_was_tried_in_vain() -> None:
    shallow, deep = SearchOption("bm25", 3, 0.5), SearchOption("bm25", 10, 0.8)
    chance = SuccessChance()
    assert chance.of(shallow) == 0.5
    chance.after(shallow, productive=False)
    assert chance.of(shallow) == 0.25
    assert chance.of(deep) == pytest.approx(0.6)  # what the shallow one had missed
    chance.after(deep, productive=True)
    assert chance.of(shallow) == 0.5
