"""The agent as a user meets it: chains of every kind on Sokoban, their trajectories, wrong uses, and resuming."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.level_sets import load_set
from envs.sokoban.sdp import CAPS
from envs.sokoban.state import Level
from envs.sokoban.xsb import parse, write
from experiments.studies.sdp.reader import NotSdpError
from experiments.studies.sdp.revalidation import checked, revalidate
from experiments.studies.sdp.trajectory import CertifiedTrajectory
from tape.agents.react import ReactAgent
from tape.budget import Budget
from tape.cli import main
from tape.errors import ConfigError, TraceError
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.adapter import Caps
from tape.methods.sdp.agent import SdpAgent, caps_of
from tape.methods.sdp.events import ChainEvent, ConcludedEvent, ValidatedEvent
from tape.methods.sdp.settings import SdpSettings
from tape.trace import Event, TraceWriter, read_trace
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel, play
from tests.tape.methods.aec.toy import of_type
from tests.tape.methods.sdp.algorithm import check
from tests.tape.methods.sdp.flags import FlagWorld, Played, Script


def keeps_to_algorithm_1(events: list[Event], caps: Caps, **switches: bool) -> None:
    check(Played(None, events, Script([], []), FlagWorld()), caps, **switches)


@pytest.mark.parametrize(("chain", "attempts"), [("walk", 1), ("sample", 3)])
@pytest.mark.parametrize("level", [CORRIDOR, ROOM])
def test_a_good_model_certifies_every_node(level: Any, chain: str, attempts: int) -> None:
    steps = len(SimulatedModel(level).shortest(level.start))
    result, events = play(level, steps, agent=SdpAgent, sdp={"chain": chain})
    keeps_to_algorithm_1(events, Caps(attempts, CAPS.replans, CAPS.steps))
    assert (result.end_state, result.method["certified"], result.method["chain_length"]) == ("success", steps, steps)
    assert result.method["goal_certified"]
    [proposed] = of_type(events, ChainEvent)
    assert [target.by for target in proposed.targets] == result.actions
    assert [target.goal for target in proposed.targets] == [False] * (steps - 1) + [True]
    validated = of_type(events, ValidatedEvent)
    assert [event.k for event in validated] == [1] * steps
    assert all(verdict.truth is verdict.holds for event in validated for verdict in event.checks)


@pytest.mark.parametrize("chain", ["walk", "sample"])
def test_a_wrong_prediction_is_found_out_at_its_own_node(chain: str) -> None:
    """The model thinks that the first step goes two cells far: that target is another board, and is not certified."""
    level = CORRIDOR
    player, [box] = level.start
    wrong = {(level.start, "R"): f" {level.coordinate(player + 2)} {level.coordinate(box + 1)}"}
    plans = [" R R R", " R R"]
    model = SimulatedModel(level, wrong, plans)
    _, events = play(level, 6, agent=SdpAgent, model=model, num_plans=1, sdp={"chain": chain})
    failed = [event for event in of_type(events, ValidatedEvent) if not event.k and event.action is not None]
    assert failed
    assert all(event.checks[-1].truth is False for event in failed)


@pytest.mark.slow
@pytest.mark.parametrize(("chain", "verified"), [("walk", False), ("sample", False), ("walk", True)])
def test_the_bundled_model_plays_sokoban(chain: str, verified: bool) -> None:
    won = 0
    agent = SdpAgent("bundled:mini", aec=verified, sdp={"chain": chain})
    for level in load_set("easy")[:3]:
        trace = TraceWriter("sdp")
        result = agent.run(SokobanEnvironment.with_slack(level, 2), trace=trace)
        caps = Caps(3 if chain == "sample" else 1, CAPS.replans, CAPS.steps)
        keeps_to_algorithm_1(trace.events, caps, watched=verified)
        validated = of_type(trace.events, ValidatedEvent)
        assert all(v.truth is v.holds for event in validated for v in event.checks), "Sokoban is checked without error"
        won += result.success
    assert won >= 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"aec": True, "sdp": {"chain": "sample"}}, "needs chain='walk', not 'sample'"),
        ({"aec": True, "sdp": {"chain": "adapter"}}, "needs chain='walk', not 'adapter'"),
    ],
)
def test_wrong_switches_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        SdpAgent(SimulatedModel(ROOM), **settings)


@pytest.fixture
def levels(tmp_path: Path) -> str:
    write(tmp_path / "levels.xsb", [CORRIDOR, ROOM])
    return str(tmp_path / "levels.xsb")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["gsm_hard", "--model", "scripted:replies.json", "--limit", "1"],
            "GsmHardEnvironment has none: use another agent",
        ),
        (["sokoban", "--model", "bundled:nano", "--verify", "aec", "--chain", "sample"], "needs chain='walk'"),
    ],
)
def test_wrong_uses_are_refused_before_the_run(
    options: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("replies.json").write_text('["no plan"]')
    monkeypatch.setattr("tape.methods.sdp.agent.ToolDomain", type("Other", (), {}))  # all that are packaged have one
    assert main(["run", *options, "--agent", "sdp", "--out", str(tmp_path / "run")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_chains_on_the_command_line_and_resuming(
    tmp_path: Path, levels: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = ["run", "sokoban", "--levels", levels, "--agent", "sdp", "--model", "bundled:mini", "--out", str(out)]
    command += ["--chain", "sample", "--attempts", "2", "--step-cap", "9", "--strict-algorithm1"]
    assert main(command) == 0
    assert "[2/2]" in capsys.readouterr().out
    whole = (out / "episodes.jsonl").read_text().splitlines()
    [ended] = of_type([*read_trace(next(out.glob("traces/*")))], ConcludedEvent)
    assert ended.planned >= ended.certified
    # One episode is lost, as after a crash: the same command plays that one again, and alike.
    (out / "episodes.jsonl").write_text(whole[0] + "\n")
    assert main(command) == 0
    assert "[2/2]" in capsys.readouterr().out
    again = (out / "episodes.jsonl").read_text().splitlines()
    assert len(again) == 2
    lost, played = (json.loads(lines[1])["result"] for lines in (whole, again))
    for name in ("method", "actions", "end_state"):
        assert lost[name] == played[name]
    assert main([*command, "--cascade", "off"]) == 2
    assert "cascade" in capsys.readouterr().err


ADAPTER = SokobanEnvironment(load_set("easy")[0]).sdp()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"chain": "sample"}, CAPS),
        ({"chain": "walk"}, Caps(1, CAPS.attempts * (CAPS.replans + 1) - 1, CAPS.steps)),
        ({"chain": "walk", "attempts": 2}, Caps(2, CAPS.replans, CAPS.steps)),
        ({"chain": "walk", "target_replans": 4, "step_cap": 9}, Caps(1, 4, 9)),
    ],
)
def test_caps(settings: dict[str, Any], expected: Caps) -> None:
    assert caps_of(SdpSettings.model_validate(settings), ADAPTER.caps) == expected


LEVELS = {"corridor": CORRIDOR, "room": ROOM}
WRONG = [" R U", " L R R R", " U U", " R R R"]


def played(level: Level, path: Path, model: ScriptedLM, steps: int = 12, **settings: Any) -> CertifiedTrajectory:
    SdpAgent(model, **settings).run(SokobanEnvironment(level), budget=Budget({"steps": steps}), trace=path)
    return CertifiedTrajectory.from_trace(path)


@pytest.mark.parametrize("chain", ["walk", "sample"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "settings",
    [{}, {"attempts": 2}, {"attempts": 1, "strict_algorithm1": True}, {"replan": False}, {"cascade": False},
     {"validation": "always"}, {"step_cap": 3}, {"target_replans": 0}],
    ids=str,
)  # fmt: skip
def test_what_the_agent_plays_has_no_findings(chain: str, level: str, settings: dict[str, Any], tmp_path: Path) -> None:
    for name, plans in (("right", None), ("wrong", WRONG)):
        file = tmp_path / f"{name}.jsonl"
        model = SimulatedModel(LEVELS[level], plans=plans)
        chains = {name: value for name, value in settings.items() if name != "replan"}
        made = played(
            LEVELS[level],
            file,
            model,
            ablations={"replan": settings.get("replan", True)},
            sdp={"chain": chain, **chains},
        )
        assert revalidate(made) == []
        assert made.moves
        caps, strict = made.ending.caps, settings.get("strict_algorithm1", False)
        allowed = Caps(caps.attempts - strict, caps.replans, caps.steps)
        keeps_to_algorithm_1([*read_trace(file)], allowed, strict=strict, cascade=settings.get("cascade", True))
        if settings.get("validation") == "always":
            assert set(checked(made).flagged) <= {"always", "completion"}
        elif name == "right" and not {"step_cap"} & settings.keys():
            assert made.ending.success
            assert made.certified[-1].target.goal


def test_an_episode_that_is_solved_at_the_start_has_no_chain(tmp_path: Path) -> None:
    [level] = parse("#######\n#######\n#@ *  #\n#######\n#######\n")
    with pytest.raises(NotSdpError):
        played(level, tmp_path / "e.jsonl", SimulatedModel(level))


def test_a_trace_of_another_agent_is_refused(tmp_path: Path) -> None:
    model = SimulatedModel(CORRIDOR)
    ReactAgent(model).run(SokobanEnvironment(CORRIDOR), budget=Budget({"steps": 4}), trace=tmp_path / "e.jsonl")
    with pytest.raises(TraceError, match="agent 'react'"):
        CertifiedTrajectory.from_trace(tmp_path / "e.jsonl")
