"""Records checked again, on episodes of a simulated model and on runs of the command line."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.plugin import SokobanPlugin
from tape.agents.tape import TapeAgent
from tape.analysis.audit import Audited
from tape.analysis.by_replay import Played
from tape.budget import Budget
from tape.errors import ConfigError
from tape.sdp.agent import SdpAgent
from tape.sdp.predicate_adapter import PredicateAdapter
from tape.testing.line import Line as LineEnvironment
from tests.tape.analysis import forging
from tests.tape.analysis.forging import Trace
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel

WRONG = [" R U", " L R R R", " U U", " R R R"]
CAPS = Budget({"steps": 12})
HERE = Played(lambda: SokobanEnvironment(ROOM), 0, CAPS)


def played(path: Path, agent: type[Any] = SdpAgent, level: Any = ROOM, **settings: Any) -> Trace:
    """An episode with wrong plans, whose trace is written to a file."""
    settings = settings or {"sdp": {"chain": "sample"}}
    agent(SimulatedModel(level, plans=WRONG), **settings).run(SokobanEnvironment(level), budget=CAPS, trace=path)
    return forging.read(path)


def found(path: Path, where: Played | None = HERE) -> Audited:
    """What comes out of a trace; the model counts the tokens of what is played again, and is not asked."""
    return forging.audited(path, where, SimulatedModel(ROOM))


@pytest.mark.parametrize("chain", ["sample", "walk"])
def test_what_was_played_has_no_findings_and_is_checked_all_through(chain: str, tmp_path: Path) -> None:
    lines = played(tmp_path / "t.jsonl", sdp={"chain": chain})
    one = found(tmp_path / "t.jsonl")
    assert (one.findings, one.unchecked, one.links) == ([], [], "whole")
    assert one.actions == len(forging.of(lines, "acted")) > 0
    assert one.verdicts == len(forging.of(lines, "sdp_validated"))
    assert one.facts == sum(len(c["facts"]) for v in forging.of(lines, "sdp_validated") for c in v["checks"]) > 0


def test_episodes_of_other_agents_are_replayed_too(tmp_path: Path) -> None:
    played(tmp_path / "t.jsonl", TapeAgent, num_plans=1)
    one = found(tmp_path / "t.jsonl")
    assert (one.findings, one.unchecked, one.verdicts) == ([], [], 0)
    assert one.actions > 0


@pytest.mark.parametrize("name", forging.NAMED)
def test_the_three_forgeries_that_once_passed_are_found(name: str, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    failing = {"chain": "sample", "target_replans": 0, "attempts": 1}
    lines = played(file, sdp=failing if name == "a" else {"chain": "walk"})
    assert forging.NAMED[name](lines, Random(3))
    forging.write(file, lines, chained=False)
    assert "links" in forging.rules(found(file, None))
    forging.write(file, lines)
    one = found(file)
    assert one.links == "whole"
    assert {"grounding", "replay"} <= forging.rules(one)
    # The file alone does not show the first two, so a report says that the environment was not asked.
    assert forging.rules(found(file, None)) == ({"sdp"} if name == "c" else set())


@pytest.mark.parametrize(
    ("agent", "changes", "rules"),
    [
        (SdpAgent, {"make": lambda: SokobanEnvironment(CORRIDOR)}, {"grounding", "replay"}),
        (SdpAgent, {"caps": Budget({"steps": 13})}, {"replay"}),
        (TapeAgent, {"make": lambda: LineEnvironment(last=3, steps=6), "caps": None}, {"replay"}),
    ],
    ids=["another task", "other caps", "another environment"],
)
def test_another_environment_or_other_caps_are_found(
    agent: type[Any], changes: dict[str, Any], rules: set[str], tmp_path: Path
) -> None:
    played(tmp_path / "t.jsonl", agent, **({"num_plans": 1} if agent is TapeAgent else {}))
    assert forging.rules(found(tmp_path / "t.jsonl", replace(HERE, **changes))) >= rules


def test_what_ended_for_want_of_steps_had_none_left(tmp_path: Path) -> None:
    lines = played(tmp_path / "t.jsonl", TapeAgent, num_plans=1)
    for state in ("budget:steps", "interrupted"):
        changed = deepcopy(lines)
        changed[-1]["result"]["end_state"] = state
        forging.write(tmp_path / "u.jsonl", changed)
        assert "replay" in forging.rules(found(tmp_path / "u.jsonl"))


def test_actions_are_played_only_where_that_is_allowed(tmp_path: Path) -> None:
    played(tmp_path / "t.jsonl")
    one = found(tmp_path / "t.jsonl", replace(HERE, replayable=False))
    assert (one.actions, one.findings) == (0, [])
    assert one.facts > 0
    [said] = one.unchecked
    assert "does not say that actions may be played again" in said
    assert SokobanPlugin().replayable


def test_what_cannot_be_made_or_regrounded_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played(tmp_path / "t.jsonl")

    def broken() -> Any:
        raise ConfigError("no such level any more")

    assert found(tmp_path / "t.jsonl", replace(HERE, make=broken)).unchecked == [
        "the environment cannot be made: no such level any more"
    ]

    def not_back(self: PredicateAdapter, fields: Any) -> Any:
        raise NotImplementedError("its fields are for reading alone")

    monkeypatch.setattr(PredicateAdapter, "restored", not_back)
    one = found(tmp_path / "t.jsonl")
    assert one.unchecked == ["SokobanEnvironment: its fields are for reading alone"]
    assert (one.facts, one.findings) == (0, [])
    assert one.actions > 0


def test_a_trace_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    lines = played(tmp_path / "t.jsonl")
    lines[2]["forged"] = 1
    forging.write(tmp_path / "t.jsonl", lines)
    assert forging.rules(found(tmp_path / "t.jsonl")) == {"schema"}


def test_whatever_a_forger_writes_is_found_and_raises_nothing(tmp_path: Path) -> None:
    lines, rng = played(tmp_path / "t.jsonl"), Random(6)
    for target in (record for chain in forging.of(lines, "sdp_chain") for record in chain["targets"][:1]):
        target["requires"] = [["no predicate", True]]
    forging.write(tmp_path / "u.jsonl", lines)
    assert found(tmp_path / "u.jsonl").findings
    for _ in range(25):
        changed = forging.read(tmp_path / "t.jsonl")
        for _ in range(3):
            forging.value(changed, rng)
        forging.write(tmp_path / "u.jsonl", changed)
        found(tmp_path / "u.jsonl")


def test_every_value_of_a_verdict_that_is_changed_is_found(tmp_path: Path) -> None:
    lines = played(tmp_path / "t.jsonl", sdp={"chain": "walk"})
    rng, tried = Random(5), 0
    while tried < 25:
        changed = deepcopy(lines)
        if not forging.certificate(changed, rng) or json.dumps(changed) == json.dumps(lines):
            continue
        tried += 1
        forging.write(tmp_path / "u.jsonl", changed)
        assert found(tmp_path / "u.jsonl").findings
