"""Our additions to CGDP's loop: a predicate stays open until a quote answers it, and queries do not repeat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envs.search import SearchEnvironment, bm25
from tape.lm.base import OneOf
from tape.methods.cgdp.agents.cgdp import CgdpAgent
from tape.methods.cgdp.entailment import entailment_request, unanswered
from tape.methods.cgdp.events import BeliefEvent, RetrievedEvent
from tape.methods.cgdp.view import Fact
from tape.protocols.search import Passage
from tests.tape.methods.cgdp.policy import QUESTION, but, environment, of, play


def fact(subject: str, quote: str) -> Fact:
    return Fact(quote, "p1", subject, quote, "deterministic")


MAYOR = "Who is the mayor of Tarn?"


@pytest.mark.parametrize(
    ("predicate", "said", "why"),
    [
        (MAYOR, "The mayor of Tarn is Otto Lind.", ""),
        ("What did Ada research?", "Ada: researching adoption agencies.", ""),
        (MAYOR, "Tarn lies by a lake.", "too few of its words"),
        (MAYOR, "Tarn has a mayor.", "says no more"),
        ("What did Ada paint?", "What did you paint last, my friend?", "asks"),
        ("When did Ada paint the lake?", "Ada painted the lake near home.", "no time"),
        ("When did Ada paint the lake?", "Ada painted the lake last week.", ""),
        ("How many lakes did Ada paint?", "Ada painted lakes near home.", "no number"),
        ("How many lakes did Ada paint?", "Ada painted three lakes.", ""),
    ],
)
def test_a_quote_has_to_answer(predicate: str, said: str, why: str) -> None:
    name = unanswered(predicate, [fact("Tarn" if "Tarn" in predicate else "Ada", said)])
    assert why in name
    assert bool(why) == bool(name)


def test_facts_answer_together_and_with_what_is_resolved_and_what_stands_beside() -> None:
    assert unanswered(MAYOR, []).startswith("no fact agrees")
    long = "Who is the mayor of the town by the northern lake where the famous painter Ada was born?"
    mayor = fact("Tarn", "Its mayor is Otto Lind.")
    assert unanswered(long, [mayor])
    assert not unanswered(long, [mayor], done=["Which town by the northern lake was the famous painter Ada born in?"])
    when = fact("Ada", "I painted the lake.")
    assert not unanswered("When did Ada paint the lake?", [when], beside="(7 May 2023) I painted the lake.")


WHOLE, PART = "The mayor of Tarn is Otto Lind.", "mayor of Tarn"


@pytest.mark.parametrize(
    ("persist", "quote", "verdict", "resolved"),
    [
        (False, PART, "no", True),  # the paper's loop takes the model's word
        (True, PART, "yes", False),
        (True, WHOLE, "yes", True),
        (True, WHOLE, "no", False),
    ],
)
def test_a_predicate_stays_open_until_its_quote_answers_it(
    tmp_path: Path, persist: bool, quote: str, verdict: str, resolved: bool
) -> None:
    passages = [Passage("p1", "Tarn", WHOLE), *(Passage(f"q{i}", "Weil", "It lies by a lake.") for i in range(9))]
    mapping = {"findings": [{"source": 1, "quote": quote}], "answered": [1], "ask_next": []}
    model, trace = but(extract=json.dumps(mapping), entail=verdict), tmp_path / "t.jsonl"
    play(CgdpAgent, model, trace, env=environment(passages, MAYOR), persist=persist)
    first = of(BeliefEvent, trace)[0]
    assert (first.resolved, first.questions) == (([MAYOR], []) if resolved else ([], [MAYOR]))
    assert (len(of(RetrievedEvent, trace)) == 1) == resolved
    asked = sum(request.role == "entail" for request in model.requests)
    assert (asked > 0) == (persist and quote == WHOLE)
    assert [item.quote for item in first.refused] == ([] if resolved else [MAYOR])


def test_queries_widen_and_none_is_made_twice(tmp_path: Path) -> None:
    index = bm25([Passage(f"p{i}", "Ada", f"Ada paints number {i}.") for i in range(60)])
    env = SearchEnvironment(
        "When did Ada Lind paint the lake at Tarn?", index, answers=["Otto Lind"], depths=(5, 20, 10)
    )
    trace = tmp_path / "t.jsonl"
    play(CgdpAgent, but(query='{"thought": "", "move": "search", "text": "ada paint"}'), trace, env=env, persist=True)
    asked = [(event.option, event.query) for event in of(RetrievedEvent, trace)]
    assert asked == [
        ("bm25-5", "When did Ada Lind paint the lake at Tarn?"),
        ("bm25-5", "ada paint"),
        ("bm25-5", "ada lind paint lake tarn"),
        ("bm25-5", "Ada Lind Tarn"),
        ("bm25-10", "When did Ada Lind paint the lake at Tarn?"),
        ("bm25-20", "When did Ada Lind paint the lake at Tarn?"),
    ]


def test_a_general_model_is_asked_whether_quotes_answer() -> None:
    request = entailment_request(QUESTION, [fact("Tarn", "The mayor of Tarn is Otto Lind.")])
    assert request.constraint == OneOf(("yes", "no"))
    assert not isinstance(request.prompt, str)
    assert "Tarn: The mayor of Tarn is Otto Lind." in request.prompt[-1].content
