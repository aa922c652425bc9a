"""What prompts show and how answers are read: what fits, what is left out, and retrieved text within its marks."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tape import Budget
from tape.errors import ConfigError, ModelError
from tape.lm.base import Request, TokenPrice
from tape.lm.scripted import ScriptedLM
from tape.methods.cgdp.agents.cgdp import CgdpAgent
from tape.methods.cgdp.agents.react_search import ReactSearchAgent
from tape.methods.cgdp.context import PromptWindow
from tape.methods.cgdp.events import ContextEvent
from tape.methods.cgdp.view import Belief, Fact, SearchRound, View
from tape.protocols.search import Passage
from tests.tape.methods.cgdp.policy import PASSAGES, environment, fixed_answers, of, play


def asked_in(request: Request) -> str:
    """What a chat request asks, without the rules of the role."""
    assert not isinstance(request.prompt, str)
    return request.prompt[-1].content


def test_what_the_answer_does_not_see_is_recorded(tmp_path: Path) -> None:
    def omitted(**settings: int) -> set[int]:
        model = ScriptedLM(fixed_answers)
        play(ReactSearchAgent, model, tmp_path / "t.jsonl", rounds=5, **settings)
        return {number for number in range(1, 6) if f"Search {number}:" not in asked_in(model.requests[-1])}

    assert (omitted(), of(ContextEvent, tmp_path / "t.jsonl")) == (set(), [])
    whole = play(ReactSearchAgent, ScriptedLM(fixed_answers), rounds=5).measures["longest_prompt"]
    (tmp_path / "t.jsonl").unlink()
    left_out = omitted(context_tokens=int(whole) - 90)
    dropped = [event.dropped for event in of(ContextEvent, tmp_path / "t.jsonl") if event.role == "answer"]
    assert left_out
    assert {f"round {number}" for number in left_out} == {*dropped[-1]}


def test_reading_degrades_under_a_cap_of_money_as_under_one_of_tokens() -> None:
    class Priced(ScriptedLM):
        price = TokenPrice(Decimal("0.000001"), Decimal("0.000001"))

    passages = tuple(Passage(f"p{i}", "Tarn", f"The mayor of Tarn {i} is not known in Bo. " * 6) for i in range(10))
    env = environment(passages, depths=(10,))

    def read(budget: Budget) -> int:
        model = Priced(fixed_answers)
        play(CgdpAgent, model, budget=budget, env=env, rounds=1, belief_tokens=60)
        return sum(request.role == "extract" for request in model.requests)

    for tokens in range(1300, 2600, 200):
        assert read(Budget.of(tokens=tokens)) == read(Budget.of(usd=f"{tokens / 10**6:.6f}")), tokens


@pytest.mark.parametrize("memory", ["structured", "freeform"])
def test_voi_fires_where_no_search_is_worth_its_price(memory: str) -> None:
    ended = play(CgdpAgent, ScriptedLM(fixed_answers), memory=memory, gate="voi", answer_worth=1, rounds=6)
    assert ended.measures["rounds"] == 1.0


@pytest.mark.parametrize("select", ["lm", "solver"])
def test_the_window_that_the_error_names_is_enough_for_a_long_question_too(select: str) -> None:
    question = "Who is the mayor of the town where Ada was born? " * 6
    windows, ended = [10], None
    while ended is None:
        settings: dict[str, Any] = {"select": select, "context_tokens": windows[-1], "rounds": 3}
        try:
            ended = play(CgdpAgent, ScriptedLM(fixed_answers), env=environment(question=question), **settings)
        except ConfigError as error:
            windows.append(max(map(int, re.findall(r"(?:at least |context_tokens=)(\d+)", str(error)))))
            if windows[-1] <= windows[-2]:
                raise
    assert len(windows) <= 3
    assert ended.end_state in ("success", "failure")
    assert ended.measures["rounds"] > 0


MODEL = ScriptedLM([""])


def words(view: View) -> Request:
    """All that a view holds, as words."""
    belief = view.belief or Belief("structured")
    texts = [view.question, view.target, *view.notes, *(fact.text for fact in belief.facts), *belief.questions]
    texts += [
        text for round_ in view.rounds for text in (round_.query, round_.thought, *(p.text for p in round_.passages))
    ]
    return Request(" ".join(texts), 1, role="test")


def rounds(count: int) -> tuple[SearchRound, ...]:
    return tuple(SearchRound(i, f"query {i}", PASSAGES[:2], "so") for i in range(1, count + 1))


def test_the_oldest_rounds_go_first_then_the_worst_passages() -> None:
    view = View("why", rounds(3))
    whole = MODEL.prompt_tokens(words(view))
    each = (whole - 1) // 3
    window = PromptWindow(MODEL, 1 + 2 * each)
    fitted = window.fit(words, view)
    assert fitted.dropped == ("round 1",)
    assert fitted.tokens == window.longest == 1 + 2 * each
    assert PromptWindow(MODEL, each - 5).fit(words, view).dropped == ("round 1", "round 2", "passage p2 of round 3")


FACTS = tuple(Fact(f"fact {i}", "p1", "Ada", "q", "llm") for i in range(2))
LATE = ["the last open question", "what to find out"]


@pytest.mark.parametrize(
    ("view", "limit", "dropped"),
    [
        (View("why", rounds(30)), None, []),
        (
            View("why", (), Belief("structured", FACTS, ("first", "second")), ("a note",), "first"),
            2,
            ["the oldest note", "the oldest fact", "the oldest fact", *LATE],
        ),
        (
            View("why", belief=Belief("structured", questions=("where is it",), resolved=("who was it",)), target="it"),
            1,
            ["what is resolved", "what to find out", "the open question"],
        ),
    ],
)
def test_the_order_in_which_items_are_left_out(view: View, limit: int | None, dropped: list[str]) -> None:
    assert list(PromptWindow(MODEL, limit).fit(words, view).dropped) == dropped


def test_a_window_too_small_names_the_least_and_nothing_longer_is_sent() -> None:
    with pytest.raises(ModelError, match="was not sent"):
        PromptWindow(MODEL, 1).fit(words, View("three words here"))
    with pytest.raises(ConfigError, match="give at least 12"):
        PromptWindow(MODEL, 11).require(12)
    PromptWindow(MODEL, 12).require(12)
    PromptWindow(MODEL, None).require(12)
