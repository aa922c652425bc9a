"""Records checked again, on episodes of a simulated model: what a file shows by itself, and what a replay shows."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from operator import not_
from pathlib import Path
from random import Random
from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.plugin import SokobanPlugin
from tape.agents.tape import TapeAgent
from tape.analysis.audit import Audited
from tape.analysis.by_replay import Played
from tape.approval import Approval
from tape.budget import Budget
from tape.errors import ConfigError, ModelError
from tape.lm.base import LanguageModel
from tape.lm.scripted import ScriptedLM
from tape.sdp.agent import SdpAgent
from tape.sdp.predicate_adapter import PredicateAdapter
from tape.testing.line import Line as LineEnvironment
from tests.tape.analysis import forging
from tests.tape.analysis.forging import Trace
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel

WRONG = [" R U", " L R R R", " U U", " R R R"]
CAPS = Budget({"steps": 12, "tokens": 20_000})
HERE = Played(lambda: SokobanEnvironment(ROOM), 0, CAPS)
SAMPLE, WALK, PLANS = {"sdp": {"chain": "sample"}}, {"sdp": {"chain": "walk"}}, {"num_plans": 1}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


def played(path: Path, model: LanguageModel | None = None, settings: Any = SAMPLE, **options: Any) -> Trace:
    """An episode with wrong plans, whose trace is written to a file."""
    model = model or SimulatedModel(ROOM, plans=WRONG)
    agent = SdpAgent if "sdp" in settings else TapeAgent
    agent(model, **settings).run(SokobanEnvironment(ROOM), budget=CAPS, trace=path, **options)
    return forging.read(path)


def plans(path: Path, settings: Any = PLANS, **options: Any) -> Trace:
    """An episode of TAPE with wrong plans and a wrong prediction."""
    model = SimulatedModel(ROOM, {(ROOM.start, "R"): " (3,3) (2,4)"}, plans=WRONG)
    return played(path, model, settings, **options)


def verified(path: Path) -> Trace:
    """An episode of AEC."""
    return plans(path, PLANS | {"aec": {"gate": "query_all"}})


def found(path: Path, where: Played | None = HERE, *, opened: bool = True) -> Audited:
    """What comes out of a trace; the model counts the tokens of what is played again, and is not asked."""
    return forging.audited(path, where, SimulatedModel(ROOM) if opened else None)


def forged(path: Path, lines: Trace, where: Played | None = HERE, *, chained: bool = True) -> Audited:
    """What comes out of a forged trace."""
    forging.write(path, lines, chained=chained)
    return found(path, where)


@pytest.mark.parametrize("settings", [SAMPLE, WALK, PLANS], ids=str)
def test_what_was_played_has_no_findings_and_is_checked_all_through(settings: Any, file: Path) -> None:
    lines = played(file, settings=settings)
    one = found(file)
    assert (one.findings, one.unchecked, one.links) == ([], [], "whole")
    assert one.actions == len(forging.of(lines, "acted")) > 0
    verdicts = forging.of(lines, "sdp_validated")
    assert (one.verdicts, one.facts) == (len(verdicts), sum(len(c["facts"]) for v in verdicts for c in v["checks"]))
    assert bool(one.facts) == ("sdp" in settings)


@pytest.mark.parametrize("name", forging.NAMED)
def test_the_three_forgeries_that_once_passed_are_found(name: str, file: Path) -> None:
    failing = {"sdp": {"chain": "sample", "target_replans": 0, "attempts": 1}}
    lines = played(file, settings=failing if name == "a" else WALK)
    assert forging.NAMED[name](lines, Random(3))
    assert "links" in forging.rules(forged(file, lines, None, chained=False))
    one = forged(file, lines)
    assert one.links == "whole"
    assert {"grounding", "replay"} <= forging.rules(one)
    # The file alone does not show the first two, so a report says that the environment was not asked.
    assert forging.rules(found(file, None)) == ({"sdp"} if name == "c" else set())


@pytest.mark.parametrize(
    ("settings", "changes", "rules"),
    [
        (SAMPLE, {"make": lambda: SokobanEnvironment(CORRIDOR)}, {"grounding", "replay"}),
        (SAMPLE, {"caps": Budget({"steps": 13})}, {"replay"}),
        (PLANS, {"make": lambda: LineEnvironment(last=3, steps=6), "caps": None}, {"replay"}),
    ],
    ids=["another task", "other caps", "another environment"],
)
def test_another_environment_or_other_caps_are_found(
    settings: Any, changes: dict[str, Any], rules: set[str], file: Path
) -> None:
    played(file, settings=settings)
    assert forging.rules(found(file, replace(HERE, **changes))) >= rules


@pytest.mark.parametrize("state", ["budget:steps", "interrupted"])
def test_what_ended_for_want_of_steps_had_none_left(state: str, file: Path) -> None:
    lines = played(file, settings=PLANS)
    forging.put(lines, "finished.0.result.end_state", state)
    assert "replay" in forging.rules(forged(file, lines))


def test_actions_are_played_only_where_that_is_allowed(file: Path) -> None:
    played(file)
    one = found(file, replace(HERE, replayable=False))
    assert (one.actions, one.findings, one.facts > 0) == (0, [], True)
    assert one.unchecked == ["its environment does not say that actions may be played again"]
    assert SokobanPlugin().replayable


def test_what_cannot_be_made_or_regrounded_is_reported(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(error: Exception) -> Any:
        raise error

    played(file)
    gone = replace(HERE, make=lambda: fails(ConfigError("no such level any more")))
    assert found(file, gone).unchecked == ["the environment cannot be made: no such level any more"]
    not_back = NotImplementedError("its fields are for reading alone")
    monkeypatch.setattr(PredicateAdapter, "restored", lambda *_: fails(not_back))
    one = found(file)
    assert one.unchecked == ["SokobanEnvironment: its fields are for reading alone"]
    assert (one.facts, one.findings, one.actions > 0) == (0, [], True)


def test_a_trace_that_cannot_be_read_is_reported(file: Path) -> None:
    lines = played(file)
    lines[2]["forged"] = 1
    assert forging.rules(forged(file, lines)) == {"schema"}


def test_whatever_a_forger_writes_is_found_and_raises_nothing(file: Path) -> None:
    lines, rng = played(file), Random(6)
    for _ in range(25):
        changed = deepcopy(lines)
        for _ in range(3):
            forging.value(changed, rng)
        forged(file, changed)
    for target in (record for chain in forging.of(lines, "sdp_chain") for record in chain["targets"][:1]):
        target["requires"] = [["no predicate", True]]
    assert forged(file, lines).findings


def test_every_value_of_a_verdict_that_is_changed_is_found(file: Path) -> None:
    lines = played(file, settings=WALK)
    rng, tried = Random(5), 0
    while tried < 25:
        changed = deepcopy(lines)
        if forging.certificate(changed, rng) and json.dumps(changed) != json.dumps(lines):
            tried += 1
            assert forged(file, changed).findings


# --- what the file alone shows ------------------------------------------------------------------


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
    *((played, f"finished.0.result.{name}", more, "books") for name in ("replans", "mismatches", "malformed")),
    *(
        (played, f"finished.0.result.method.{name}", more, "sdp")
        for name in ("certified", "rejections", "chain_length")
    ),
]


@pytest.mark.parametrize(("play", "place", "change", "rule"), EDITS, ids=[f"{e[0].__name__}-{e[1]}" for e in EDITS])
def test_what_follows_from_other_lines_is_found_in_the_file(
    play: Callable[[Path], Trace], place: str, change: Any, rule: str, file: Path
) -> None:
    lines = play(file)
    assert found(file, None).findings == []
    forging.put(lines, place, change)
    assert rule in forging.rules(forged(file, lines, None))


def test_the_state_that_the_last_attempt_has_left_is_found_in_the_file(file: Path) -> None:
    lines, rng = played(file), Random(7)
    for _ in range(41):
        changed = deepcopy(lines)
        last = forging.of(changed, "sdp_validated")[-1]
        state = {"type": "state", "after": last["after"], "node": last["nodes"][1:]}
        while forging.value([state], rng) == "":
            pass
        last["after"], last["nodes"][1:] = state["after"], state["node"]
        assert forging.rules(forged(file, changed, None)) & {"sdp", "schema"}  # it may be no state at all


# --- replays where the agent or its version is not to be had ------------------------------------


def test_a_model_that_is_not_opened_leaves_the_actions_to_be_played(file: Path) -> None:
    lines = plans(file)
    one = found(file, opened=False)
    assert (one.findings, one.actions) == ([], len(forging.of(lines, "acted")))
    assert one.unchecked == ["its actions were played, the agent was not: its model is not opened here"]
    forging.put(lines, "observed.1.picture", lambda picture: f"{picture}forged")
    forging.write(file, lines)
    [finding] = found(file, opened=False).findings
    assert "observed.picture" in finding.what


def test_a_run_of_another_version_that_went_on_otherwise_is_not_accused(file: Path) -> None:
    lines = plans(file)
    forging.put(lines, "plans_sampled.0.start", "as an older version wrote it")
    assert [finding.what[:19] for finding in forged(file, lines).findings] == ["plans_sampled.start"]
    older = found(file, replace(HERE, same_sources=False))
    assert older.findings == []
    assert "another version of the program played it" in older.unchecked[0]


def test_an_older_trace_is_compared_without_what_it_does_not_have(file: Path) -> None:
    lines = played(file)
    for line in lines:
        for name in {"generated": ("finish", "logprobs"), "sdp_concluded": ("state",)}.get(line["type"], ()):
            del line[name]
    forging.put(lines, "finished.0.result.detail", "the end in other words")
    one = forged(file, lines, replace(HERE, same_sources=False))
    assert (one.findings, one.unchecked) == ([], [])
    assert one.verdicts == len(forging.of(lines, "sdp_validated"))


@pytest.mark.parametrize("decision", [Approval.ALLOW, Approval.REFUSE, Approval.STOP])
def test_decisions_of_an_approver_are_repeated(decision: Approval, file: Path) -> None:
    asked = []

    def decide(request: Any) -> Approval:
        asked.append(request.action)
        return decision if len(asked) == 2 else Approval.ALLOW

    played(file, settings=PLANS, approve=decide, approve_when=lambda request: True)
    assert len(asked) > 1
    assert found(file).findings == found(file, opened=False).findings == []


def test_an_answer_that_a_model_failed_to_give_is_repeated(file: Path) -> None:
    asked = []
    right = SimulatedModel(ROOM, plans=WRONG)

    def fails(request: Any, sample: int) -> str:
        asked.append(request)
        if len(asked) > 6:
            raise ModelError("gone")
        return right._answer(request, sample)

    lines = played(file, ScriptedLM(fails, prompt_format="compact"), PLANS)
    assert lines[-1]["result"]["end_state"] == "model_error"
    assert found(file).findings == []
