"""Interventions of appendix B by scripted models: each acts where it should, and not elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tape import Budget
from tape.errors import ConfigError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.methods.cgdp.agents.cgdp import CgdpAgent
from tape.methods.cgdp.agents.ircot import IrcotAgent
from tape.methods.cgdp.agents.react_search import ReactSearchAgent
from tape.methods.cgdp.agents.search import SearchAgent
from tape.methods.cgdp.events import BeliefEvent, InterventionEvent, RetrievedEvent, StoppedEvent
from tape.methods.cgdp.interventions.trajectories import union
from tape.methods.cgdp.view import Belief, Fact
from tape.protocols.result import EpisodeResult
from tape.protocols.search import Passage
from tape.trace import read_trace
from tests.tape.methods.cgdp.checks import wrong
from tests.tape.methods.cgdp.policy import environment, fixed_answers, of, play

GATE = "f_j0.6_u0.3_p2"
ANSWER = '{"thought": "", "move": "answer", "text": ""}'


def search_for(text: str) -> str:
    return json.dumps({"thought": "", "move": "search", "text": text})


def model(**roles: Any) -> ScriptedLM:
    """Fixed answers, and other ones for the given roles: a text, or what makes one of the request and the sample."""

    def answer(request: Request, sample: int) -> str:
        role = roles.get(str(request.role))
        return role(request, sample) if callable(role) else role or fixed_answers(request)

    return ScriptedLM(answer)


def played(
    agent: type[SearchAgent], lm: ScriptedLM, trace: Path, **settings: Any
) -> tuple[EpisodeResult, list[InterventionEvent]]:
    result = play(agent, lm, trace, **settings)
    assert [*wrong(read_trace(trace), result.model_dump())] == []
    return result, of(InterventionEvent, trace)


def sampling(*hypotheses: str) -> Any:
    """Always the same query, and others where queries are drawn."""
    return lambda request, sample: search_for(hypotheses[sample] if request.n > 1 else "mayor of Tarn Bo")


def test_stagnation_branches_to_the_least_similar_query_before_it_stops(tmp_path: Path) -> None:
    lm = model(query=sampling("mayor of Tarn Bo", "mayor Weil", "Otto Lind ships", "who is Otto Lind"))
    result, events = played(ReactSearchAgent, lm, tmp_path / "t", gate=GATE, interventions="resample", rounds=12)
    assert [(event.name, event.texts) for event in events] == [
        ("resample", ["Otto Lind ships"]),
        ("resample", ["mayor Weil"]),
    ]
    queries = [event.query for event in of(RetrievedEvent, tmp_path / "t")]
    assert queries[3] == "Otto Lind ships"
    [end] = of(StoppedEvent, tmp_path / "t")
    assert end.reason == f"the gate {GATE} fired"
    assert result.measures["rounds"] > 6


@pytest.mark.parametrize(
    ("hypotheses", "budget"),
    [(["mayor of Tarn Bo"] * 4, None), (["Otto Lind ships"] * 4, Budget.of(calls=4))],
)
def test_without_another_query_or_a_budget_for_it_the_search_stops(
    tmp_path: Path, hypotheses: list[str], budget: Budget | None
) -> None:
    lm = model(query=sampling(*hypotheses))
    given: dict[str, Any] = {"gate": GATE, "interventions": "resample", "budget": budget}
    result, events = played(ReactSearchAgent, lm, tmp_path / "t", **given)
    assert [event.texts for event in events] == [[]]
    assert result.measures["rounds"] == 3
    assert result.budget_violations == []


def test_what_shares_no_word_with_what_is_asked_is_not_read(tmp_path: Path) -> None:
    passages = [
        Passage("p1", "Tarn", "The mayor of Tarn is Otto Lind. He likes tea."),
        Passage("p2", "Weil", "Weil has a mayor. She paints. Fish swim far."),
    ]
    given: dict[str, Any] = {"rounds": 1, "env": environment(passages)}
    for on, texts in (("filter", [["p2: 2 of 3 sentences are left"]]), ("none", [])):
        lm = model(query=search_for("mayor Tarn"))
        _, events = played(CgdpAgent, lm, tmp_path / on, interventions=on, **given)
        assert [event.texts for event in events] == texts
        [read] = [str(request.prompt[-1]) for request in lm.requests if request.role == "extract"]
        assert [text in read for text in ("He likes tea", "She paints", "Fish")] == [True, True, on == "none"]


def test_parallel_trajectories_start_apart_and_their_beliefs_are_merged(tmp_path: Path) -> None:
    first = {"mayor of Tarn Bo": "Tarn lies by a lake", "Otto Lind ships": "Otto Lind paints ships"}

    def extract(request: Request, _: int) -> str:
        shown = str(request.prompt[-1])
        found = [
            {"source": i, "quote": q} for q in first.values() for i in range(1, 6) if f"[{i}] " in shown and q in shown
        ]
        return json.dumps({"findings": found[:4], "answered": [], "ask_next": []})

    lm = model(query=sampling(*["Otto Lind ships"] * 4), extract=extract)
    env = environment(depths=(1,))
    result, events = played(CgdpAgent, lm, tmp_path / "t", interventions="parallel", rounds=2, env=env)
    assert [event.name for event in events] == ["parallel", "merge"]
    assert events[0].round == 1
    assert events[1].texts == ["2 facts"]
    *_, merged = of(BeliefEvent, tmp_path / "t")
    assert {fact.quote for fact in merged.facts} == {*first.values()}
    assert result.measures["rounds"] == 2
    assert [event.query for event in of(RetrievedEvent, tmp_path / "t")] == [*first]


def test_a_predicate_that_one_trajectory_resolved_is_resolved() -> None:
    fact = Fact("a", "p1", "A", "a", "deterministic")
    one, other = Belief("structured", (fact,), ("x", "y")), Belief("structured", (fact,), ("x",), ("y",))
    assert union(one, other) == Belief("structured", (fact,), ("x",), ("y",))


@pytest.mark.parametrize(
    ("agent", "memory"), [(ReactSearchAgent, "baseline"), (IrcotAgent, "freeform"), (CgdpAgent, None)]
)
def test_a_search_that_stops_by_itself_goes_on_with_what_is_open(
    tmp_path: Path, agent: type[SearchAgent], memory: str | None
) -> None:
    missing = iter(["Who is Ina Voss?", ""])

    def unresolved(*_: Any) -> str:
        return json.dumps({"missing": [text] if (text := next(missing)) else []})

    moves = iter([search_for("Ada born")])
    think = '{"sentence": "It is Otto Lind.", "found": true}'
    lm = model(query=lambda *_: next(moves, ANSWER), think=think, unresolved=unresolved)
    _, events = played(agent, lm, tmp_path / "t", interventions="gap_stop", memory=memory)
    assert [event.texts for event in events] == [["Who is Ina Voss?"], []]
    assert [event.query for event in of(RetrievedEvent, tmp_path / "t")][1:] == ["Who is Ina Voss?"]


def test_a_gate_that_fires_is_not_asked_for_gaps(tmp_path: Path) -> None:
    lm = model(unresolved='{"missing": ["Who?"]}')
    _, events = played(ReactSearchAgent, lm, tmp_path / "t", gate=GATE, interventions="gap_stop")
    assert events == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"interventions": "resample"}, "needs a gate that finds stagnation"),
        ({"interventions": "filter", "memory": "baseline"}, "needs memory structured or freeform"),
        ({"interventions": "parallel", "memory": "freeform", "gate": "fixed:2"}, "needs a belief, and a gate none"),
        ({"interventions": "filter,magic", "memory": "freeform"}, "give none, or some of"),
    ],
)
def test_interventions_that_could_not_act_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ReactSearchAgent(model(), **settings)
