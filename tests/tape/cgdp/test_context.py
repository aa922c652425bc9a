"""What is left out of a prompt so that it fits, and in which order."""

from __future__ import annotations

import pytest

from tape.cgdp.context import Window
from tape.cgdp.view import Belief, Fact, Round, View
from tape.errors import ConfigError, ModelError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tests.tape.cgdp.policy import PASSAGES

MODEL = ScriptedLM([""])


def words(view: View) -> Request:
    """All that a view holds, as words."""
    belief = view.belief or Belief("structured")
    texts = [view.question, view.target, *view.notes, *(fact.text for fact in belief.facts), *belief.questions]
    texts += [text for one in view.rounds for text in (one.query, one.thought, *(p.text for p in one.passages))]
    return Request(" ".join(texts), 1, role="test")


def rounds(count: int) -> tuple[Round, ...]:
    return tuple(Round(i, f"query {i}", PASSAGES[:2], "so") for i in range(1, count + 1))


def test_the_oldest_rounds_go_first_then_the_worst_passages() -> None:
    view = View("why", rounds(3))
    whole = MODEL.prompt_tokens(words(view))
    each = (whole - 1) // 3
    window = Window(MODEL, 1 + 2 * each)
    fitted = window.fit(words, view)
    assert fitted.dropped == ("round 1",)
    assert fitted.tokens == window.longest == 1 + 2 * each
    assert Window(MODEL, each - 5).fit(words, view).dropped == ("round 1", "round 2", "passage p2 of round 3")


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
    assert list(Window(MODEL, limit).fit(words, view).dropped) == dropped


def test_what_cannot_be_shortened_is_not_sent() -> None:
    with pytest.raises(ModelError, match="was not sent"):
        Window(MODEL, 1).fit(words, View("three words here"))


def test_a_window_too_small_names_the_least() -> None:
    with pytest.raises(ConfigError, match="give at least 12"):
        Window(MODEL, 11).require(12)
    Window(MODEL, 12).require(12)
    Window(MODEL, None).require(12)
