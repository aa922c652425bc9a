"""Searches checked again: their facts against what was retrieved, and all of it against the environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envs.search import SearchEnvironment, bm25
from tape.analysis.audit import Audited, audit_trace
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


def played(path: Path, agent: type[Any] = CgdpAgent, **settings: Any) -> Trace:
    agent(scripted_policy(3), rounds=3, **settings).run(HERE.make(), budget=CAPS, seed=0, trace=path)
    return forging.read(path)


def found(path: Path, where: Played | None = HERE) -> Audited:
    one = Audited("cell", "key", "task")
    audit_trace(one, path, None, where and replace(where, agent=lambda: forging.agent_of(path, ScriptedLM([""]))))
    return one


@pytest.mark.parametrize("agent", [CgdpAgent, ReactSearchAgent])
def test_what_was_played_has_no_findings(agent: type[Any], tmp_path: Path) -> None:
    lines = played(tmp_path / "t.jsonl", agent, memory="freeform")
    one = found(tmp_path / "t.jsonl")
    assert (one.findings, one.unchecked) == ([], [])
    assert one.actions == len(forging.of(lines, "acted")) > 1
    held = {str(fact) for event in forging.of(lines, "belief") for fact in event["facts"]}
    assert one.facts == len(held) > 0


def test_a_quote_that_was_not_retrieved_is_found_in_the_trace_alone(tmp_path: Path) -> None:
    lines = played(tmp_path / "t.jsonl")
    event = next(event for event in forging.of(lines, "belief") if event["facts"])
    event["facts"][0]["quote"] = "The mayor of Tarn is Eve."
    forging.write(tmp_path / "t.jsonl", lines)
    one = found(tmp_path / "t.jsonl", None)
    assert {finding.rule for finding in one.findings} == {"grounding", "cgdp"}
    assert "Eve" in next(finding.what for finding in one.findings if finding.rule == "grounding")


def test_a_passage_that_was_changed_with_its_quote_is_found_by_a_replay(tmp_path: Path) -> None:
    lines = played(tmp_path / "t.jsonl")
    forged = [
        {**passage, "text": "The mayor of Tarn is Eve."} for passage in forging.of(lines, "retrieved")[0]["passages"]
    ]
    forging.of(lines, "retrieved")[0]["passages"] = forged
    forging.write(tmp_path / "t.jsonl", lines)
    assert any("retrieved.passages" in finding.what for finding in found(tmp_path / "t.jsonl").findings)


def test_what_is_left_is_checked_beside_what_is_kept_for_the_answer(tmp_path: Path) -> None:
    lines = played(tmp_path / "t.jsonl")
    forging.of(lines, "observed")[1]["remaining"]["steps"] += 1
    forging.write(tmp_path / "t.jsonl", lines)
    assert any("observed.remaining.steps" in finding.what for finding in found(tmp_path / "t.jsonl").findings)


@pytest.mark.parametrize(
    ("kind", "field", "value", "said"),
    [
        ("retrieved", "query", "something else", "retrieved.query"),
        ("search_stopped", "right", None, "search_stopped.right"),
        ("search_stopped", "gold_answers", ["Eve"], "search_stopped.gold_answers"),
        ("search_stopped", "answer", "Eve", "search_stopped.answer"),
        ("finished", "rounds", 99.0, "finished.result.measures.rounds"),
        ("finished", "em", 1.0, "finished.result.measures.em"),
    ],
)
def test_what_gaps_are_counted_from_is_held_against_the_environment(
    kind: str, field: str, value: object, said: str, tmp_path: Path
) -> None:
    lines = played(tmp_path / "t.jsonl")
    event = forging.of(lines, kind)[-1]
    where = event["result"]["measures"] if kind == "finished" else event
    where[field] = not where[field] if value is None else value
    forging.write(tmp_path / "t.jsonl", lines)
    assert any(finding.what.startswith(said) for finding in found(tmp_path / "t.jsonl").findings)


def test_a_fact_in_other_words_than_its_quote_is_no_deterministic_one(tmp_path: Path) -> None:
    lines = played(tmp_path / "t.jsonl")
    for event in forging.of(lines, "belief"):
        for fact in event["facts"]:
            fact["text"] = "Eve rules."
    forging.write(tmp_path / "t.jsonl", lines)
    assert any("told as the quote" in finding.what for finding in found(tmp_path / "t.jsonl", None).findings)


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
