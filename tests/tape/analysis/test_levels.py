"""The two levels of re-checks: what a file shows by itself, and what a replay does where the agent cannot be played."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from operator import not_
from pathlib import Path
from random import Random
from typing import Any

import pytest

from envs.search import SearchEnvironment, bm25
from envs.sokoban.environment import SokobanEnvironment
from tape.agents.tape import TapeAgent
from tape.analysis.by_replay import Played, replay
from tape.analysis.from_file import from_file
from tape.approval import Approval
from tape.budget import Budget
from tape.cgdp.agents.cgdp import CgdpAgent
from tape.errors import ModelError, TraceError
from tape.lm.scripted import ScriptedLM
from tape.sdp.agent import SdpAgent
from tape.trace import read_trace
from tests.tape.analysis import forging
from tests.tape.analysis.forging import Trace
from tests.tape.cgdp.policy import PASSAGES, QUESTION, scripted_policy
from tests.tape.helpers import ROOM, SimulatedModel

WRONG = [" R U", " L R R R", " U U", " R R R"]
CAPS = Budget({"steps": 12, "tokens": 20_000})
HERE = Played(lambda: SokobanEnvironment(ROOM), 0, CAPS, agent=lambda: TapeAgent(SimulatedModel(ROOM), num_plans=1))


def plans(path: Path, **settings: Any) -> Trace:
    """An episode of TAPE with wrong plans."""
    fails = {(ROOM.start, "R"): " (3,3) (2,4)"}
    model = SimulatedModel(ROOM, fails, plans=WRONG)
    TapeAgent(model, **({"num_plans": 1} | settings)).run(SokobanEnvironment(ROOM), budget=CAPS, trace=path)
    return forging.read(path)


def verified(path: Path) -> Trace:
    """An episode of AEC."""
    return plans(path, aec={"gate": "query_all"})


def searched(path: Path) -> Trace:
    """A search with a gate."""
    env = SearchEnvironment(QUESTION, bm25(PASSAGES), answers=["Otto Lind"])
    CgdpAgent(scripted_policy(3), rounds=3, gate="f_j0.6_u0.3_p2").run(env, budget=CAPS, trace=path)
    return forging.read(path)


def certified(path: Path) -> Trace:
    """An episode of SDP."""
    model = SimulatedModel(ROOM, plans=WRONG)
    SdpAgent(model, sdp={"chain": "sample"}).run(SokobanEnvironment(ROOM), budget=CAPS, trace=path)
    return forging.read(path)


def rules(path: Path, lines: Trace) -> set[str]:
    """What is broken in a file, whose forger has chained it anew."""
    forging.write(path, lines)
    return {finding.rule for finding in from_file([*read_trace(path)])}


def more(count: int) -> int:
    return count + 1


EDITS: list[tuple[Callable[[Path], Trace], str, Any, str]] = [
    (plans, "finished.0.result.lm_calls.plan", more, "books"),
    (plans, "finished.0.result.paid.tokens", 10**6, "books"),
    (plans, "finished.0.result.budget", {"steps": 99}, "books"),
    (plans, "finished.0.result.budget_violations", ["steps"], "books"),
    (plans, "observed.0.step", more, "steps"),
    (plans, "observed.0.remaining.steps", 99, "steps"),
    (plans, "mismatch.0.observed", "elsewhere", "steps"),
    (plans, "walk_selected.0.actions", lambda actions: [*actions, "U"], "steps"),
    (plans, "acted.0.cost", {"steps": 2}, "books"),
    (plans, "generated.0.completion_tokens", more, "books"),
    (plans, "generated.0.prompt_tokens", more, "books"),
    (verified, "verified.0.accepted", not_, "aec"),
    (verified, "committed.0.actions", lambda actions: [*actions[::-1], "U"], "aec"),
    (verified, "finished.0.result.method.commitments", more, "aec"),
    (verified, "committed.0.step", more, "steps"),
    (searched, "gate.0.jaccard", 0.5, "cgdp"),
    (searched, "gate.0.fired", not_, "cgdp"),
    (searched, "belief.0.added", lambda added: [*added, 7], "cgdp"),
    (searched, "retrieved.0.round", more, "cgdp"),
    (searched, "search_stopped.0.right", not_, "cgdp"),
    (searched, "search_stopped.0.reason", "the gate f_j0.6_u0.3_p2 fired", "cgdp"),
    *((certified, f"finished.0.result.{name}", more, "books") for name in ("replans", "mismatches", "malformed")),
    *(
        (certified, f"finished.0.result.method.{name}", more, "sdp")
        for name in ("certified", "rejections", "chain_length")
    ),
]


@pytest.mark.parametrize(("play", "place", "change", "rule"), EDITS, ids=[f"{e[0].__name__}-{e[1]}" for e in EDITS])
def test_what_follows_from_other_lines_is_found_in_the_file(
    play: Callable[[Path], Trace], place: str, change: Any, rule: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.jsonl"
    lines = play(file)
    assert rules(file, lines) == set()
    forging.put(lines, place, change)
    assert rule in rules(file, lines)


def test_the_state_that_the_last_attempt_has_left_is_found_in_the_file(tmp_path: Path) -> None:
    file, rng = tmp_path / "t.jsonl", Random(7)
    lines = certified(file)
    for _ in range(41):
        changed = deepcopy(lines)
        last = forging.of(changed, "sdp_validated")[-1]
        state = {"type": "state", "after": last["after"], "node": last["nodes"][1:]}
        while forging.value([state], rng) == "":
            pass
        last["after"], last["nodes"][1:] = state["after"], state["node"]
        with suppress(TraceError):  # it may be no state at all
            assert "sdp" in rules(file, changed)


def test_a_model_that_is_not_opened_leaves_the_actions_to_be_played(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    lines = plans(file)
    found = replay([*read_trace(file)], replace(HERE, agent=None))
    assert found.findings == []
    assert found.actions == len(forging.of(lines, "acted"))
    assert found.unchecked == ["its actions were played, the agent was not: its model is not opened here"]
    forging.put(lines, "observed.1.picture", lambda picture: f"{picture}forged")
    forging.write(file, lines)
    [finding] = replay([*read_trace(file)], replace(HERE, agent=None)).findings
    assert "observed.picture" in finding.what


def test_a_run_of_another_version_that_went_on_otherwise_is_not_accused(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    lines = plans(file)
    forging.put(lines, "plans_sampled.0.start", "as an older version wrote it")
    forging.write(file, lines)
    events = [*read_trace(file)]
    assert [finding.what[:19] for finding in replay(events, HERE).findings] == ["plans_sampled.start"]
    older = replay(events, replace(HERE, same_sources=False))
    assert older.findings == []
    assert "another version of the program played it" in older.unchecked[0]


def test_an_older_trace_is_compared_without_what_it_does_not_have(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    lines = certified(file)
    for line in lines:
        for name in {"generated": ("finish", "logprobs"), "sdp_concluded": ("state",)}.get(line["type"], ()):
            del line[name]
    forging.write(file, lines)
    agent = SdpAgent(SimulatedModel(ROOM), sdp={"chain": "sample"})
    found = replay([*read_trace(file)], replace(HERE, agent=lambda: agent, same_sources=False))
    assert (found.findings, found.unchecked) == ([], [])
    assert found.verdicts == len(forging.of(lines, "sdp_validated"))


@pytest.mark.parametrize("decision", [Approval.ALLOW, Approval.REFUSE, Approval.STOP])
def test_decisions_of_an_approver_are_repeated(decision: Approval, tmp_path: Path) -> None:
    file, asked = tmp_path / "t.jsonl", []

    def decide(request: Any) -> Approval:
        asked.append(request.action)
        return decision if len(asked) == 2 else Approval.ALLOW

    model = SimulatedModel(ROOM, plans=WRONG)
    TapeAgent(model, num_plans=1).run(
        SokobanEnvironment(ROOM), budget=CAPS, trace=file, approve=decide, approve_when=lambda request: True
    )
    assert len(asked) > 1
    assert replay([*read_trace(file)], HERE).findings == []
    assert replay([*read_trace(file)], replace(HERE, agent=None)).findings == []


def test_an_answer_that_a_model_failed_to_give_is_repeated(tmp_path: Path) -> None:
    file, asked = tmp_path / "t.jsonl", []
    right = SimulatedModel(ROOM, plans=WRONG)

    def fails(request: Any, sample: int) -> str:
        asked.append(request)
        if len(asked) > 6:
            raise ModelError("gone")
        return right._answer(request, sample)

    model = ScriptedLM(fails, prompt_format="compact")
    result = TapeAgent(model, num_plans=1).run(SokobanEnvironment(ROOM), budget=CAPS, trace=file)
    assert result.end_state == "model_error"
    assert replay([*read_trace(file)], HERE).findings == []
