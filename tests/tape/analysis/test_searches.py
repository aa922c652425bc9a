"""Searches checked again: their facts against what was retrieved, and all of it against the environment."""

from operator import not_
from pathlib import Path
from typing import Any

import pytest

from envs.search import SearchEnvironment, bm25
from tape.analysis.audit import Audited
from tape.analysis.by_replay import Played
from tape.budget import Budget
from tape.cgdp.agents.cgdp import CgdpAgent
from tape.cgdp.agents.react_search import ReactSearchAgent
from tape.errors import ModelError
from tape.lm.scripted import ScriptedLM
from tests.tape.analysis import forging
from tests.tape.analysis.forging import Trace
from tests.tape.cgdp.policy import PASSAGES, QUESTION, scripted_policy

CAPS = Budget({"steps": 8, "tokens": 20_000})
HERE = Played(lambda: SearchEnvironment(QUESTION, bm25(PASSAGES), answers=["Otto Lind"]), 0, CAPS)
EVE = "The mayor of Tarn is Eve."


def played(path: Path, agent: type[Any] = CgdpAgent, **settings: Any) -> Trace:
    path.unlink(missing_ok=True)
    agent(scripted_policy(3), rounds=3, **settings).run(HERE.make(), budget=CAPS, seed=0, trace=path)
    return forging.read(path)


def found(path: Path, where: Played | None = HERE) -> Audited:
    return forging.audited(path, where, ScriptedLM([""]))


@pytest.mark.parametrize("agent", [CgdpAgent, ReactSearchAgent])
def test_what_was_played_has_no_findings(agent: type[Any], tmp_path: Path) -> None:
    lines = played(tmp_path / "t.jsonl", agent, memory="freeform")
    one = found(tmp_path / "t.jsonl")
    assert (one.findings, one.unchecked) == ([], [])
    assert one.actions == len(forging.of(lines, "acted")) > 1
    held = {str(fact) for event in forging.of(lines, "belief") for fact in event["facts"]}
    assert one.facts == len(held) > 0


def test_a_fact_is_checked_against_what_was_retrieved_in_the_trace_alone(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    for name, message, rules in (
        ("quote", "'The mayor of Tarn is Eve.' does not stand in", {"grounding", "cgdp"}),
        ("text", "is recorded as the quote", {"grounding"}),
    ):
        lines = played(file)
        beliefs = [event for event in forging.of(lines, "belief") if event["facts"]]
        for event in beliefs[:1] if name == "quote" else beliefs:
            for fact in event["facts"][:1] if name == "quote" else event["facts"]:
                fact[name] = EVE
        forging.write(file, lines)
        one = found(file, None)
        assert forging.rules(one) >= rules
        assert any(message in finding.what for finding in one.findings)


@pytest.mark.parametrize(
    ("place", "change", "rule"),
    [
        ("gate.0.jaccard", 0.5, "cgdp"), ("gate.0.fired", not_, "cgdp"),
        ("belief.0.added", lambda added: [*added, 7], "cgdp"), ("retrieved.0.round", lambda number: number + 1, "cgdp"),
        ("search_stopped.0.right", not_, "cgdp"), ("search_stopped.0.reason", "the gate f_j0.6_u0.3_p2 fired", "cgdp"),
        ("retrieved.0.passages", lambda passages: [{**passage, "text": EVE} for passage in passages], "replay"),
        ("observed.1.remaining.steps", lambda steps: steps + 1, "replay"),
        ("retrieved.-1.query", "something else", "replay"), ("search_stopped.0.right", not_, "replay"),
        ("search_stopped.0.gold_answers", ["Eve"], "replay"), ("search_stopped.0.answer", "Eve", "replay"),
        ("finished.0.result.measures.rounds", 99.0, "replay"), ("finished.0.result.measures.em", 1.0, "replay"),
    ],
)  # fmt: skip
def test_what_a_search_does_is_checked_in_its_file_and_by_a_replay(
    place: str, change: Any, rule: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.jsonl"
    lines = played(file, gate="f_j0.6_u0.3_p2")
    forging.put(lines, place, change)
    forging.write(file, lines)
    kind, _, field = place.split(".", 2)
    one = found(file, None if rule == "cgdp" else HERE)
    whats = [finding.what for finding in one.findings if finding.rule == rule]
    assert any(rule == "cgdp" or what.startswith(f"{kind}.{field}") for what in whats)


def test_a_search_that_is_cut_off_has_no_findings(tmp_path: Path) -> None:
    asked = 0

    def fails(request: Any, sample: int) -> str:
        nonlocal asked
        asked += 1
        if asked == 5:
            raise ModelError("gone")
        return "{"  # nothing can be read: the search goes on by its question

    CgdpAgent(ScriptedLM(fails), rounds=6).run(HERE.make(), budget=CAPS, seed=0, trace=tmp_path / "t.jsonl")
    one = found(tmp_path / "t.jsonl")
    assert one.findings == []
    assert one.actions > 0
