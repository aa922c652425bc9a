"""The agent as a user meets it: chains of every kind on Sokoban, wrong uses, the command line and resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.level_sets import load_set
from envs.sokoban.sdp import CAPS
from envs.sokoban.simulator_model import SimulatorWorldModel
from envs.sokoban.xsb import write
from tape.cli import main
from tape.errors import ConfigError
from tape.sdp.adapter import Caps
from tape.sdp.agent import SdpAgent, caps_of
from tape.sdp.events import ChainEvent, ConcludedEvent, ValidatedEvent
from tape.sdp.settings import SdpSettings
from tape.trace import read_trace
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel, play
from tests.tape.sdp.algorithm import check
from tests.tape.sdp.flags import FlagWorld, Played, Script


def checked(result: Any, events: Any, attempts: int, **switches: Any) -> None:
    from envs.sokoban.sdp import CAPS
    from tape.sdp.adapter import Caps

    check(Played(result, events, Script([], []), FlagWorld()), Caps(attempts, CAPS.replans, CAPS.steps), **switches)


@pytest.mark.parametrize(("chain", "attempts"), [("walk", 1), ("sample", 3)])
@pytest.mark.parametrize("level", [CORRIDOR, ROOM])
def test_a_good_model_certifies_every_node(level: Any, chain: str, attempts: int) -> None:
    steps = len(SimulatedModel(level).shortest(level.start))
    result, events = play(level, steps, agent=SdpAgent, sdp={"chain": chain})
    checked(result, events, attempts)
    assert (result.end_state, result.method["certified"], result.method["chain_length"]) == ("success", steps, steps)
    assert result.method["goal_certified"]
    [proposed] = [event for event in events if isinstance(event, ChainEvent)]
    assert [target.by for target in proposed.targets] == result.actions
    assert [target.goal for target in proposed.targets] == [False] * (steps - 1) + [True]
    validated = [event for event in events if isinstance(event, ValidatedEvent)]
    assert [event.k for event in validated] == [1] * steps
    assert all(verdict.truth is verdict.holds for event in validated for verdict in event.checks)


@pytest.mark.parametrize("chain", ["walk", "sample"])
def test_a_wrong_prediction_is_found_out_at_its_own_node(chain: str) -> None:
    """The model thinks that the first step goes two cells far: that target is another board, and is not certified."""
    level = CORRIDOR
    player, [box] = level.start
    wrong = {(level.start, "R"): f" {level.coordinate(player + 2)} {level.coordinate(box + 1)}"}
    plans = [" R R R", " R R"]
    _, events = play(
        level, 6, agent=SdpAgent, model=SimulatedModel(level, wrong, plans), num_plans=1, sdp={"chain": chain}
    )
    failed = [event for event in events if isinstance(event, ValidatedEvent) and not event.k]
    failed = [event for event in failed if event.action is not None]
    assert failed
    assert all(event.checks[-1].truth is False for event in failed)


def test_an_upper_bound_with_the_simulator() -> None:
    simulator = SimulatorWorldModel(ROOM)
    result, _ = play(ROOM, 8, agent=SdpAgent, world_model="simulator", simulator=simulator)
    assert result.success


@pytest.mark.slow
@pytest.mark.parametrize(("chain", "verified"), [("walk", False), ("sample", False), ("walk", True)])
def test_the_bundled_model_plays_sokoban(chain: str, verified: bool) -> None:
    won = 0
    from tape.trace import TraceWriter

    agent = SdpAgent("bundled:mini", aec=verified, sdp={"chain": chain})
    for level in load_set("easy")[:3]:
        trace = TraceWriter("sdp")
        result = agent.run(SokobanEnvironment.with_slack(level, 2), trace=trace)
        checked(result, trace.events, 3 if chain == "sample" else 1, watched=verified)
        validated = [event for event in trace.events if isinstance(event, ValidatedEvent)]
        assert all(v.truth is v.holds for event in validated for v in event.checks), "Sokoban is checked without error"
        won += result.success
    assert won >= 2


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"aec": True, "sdp": {"chain": "sample"}}, "needs chain='walk', not 'sample'"),
        ({"aec": True, "sdp": {"chain": "adapter"}}, "needs chain='walk', not 'adapter'"),
        ({"sdp": {"chain": "dream"}}, "setting sdp.chain = 'dream'"),
        ({"sdp": {"attempts": 0}}, "setting sdp.attempts = 0"),
        ({"sdp": {"target_replans": -1}}, "setting sdp.target_replans = -1"),
        ({"sdp": {"step_cap": 0}}, "setting sdp.step_cap = 0"),
        ({"sdp": {"validation": "never"}}, "setting sdp.validation = 'never'"),
    ],
)
def test_wrong_switches_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says.replace("(", r"\(")):
        SdpAgent(SimulatedModel(ROOM), **settings)


def test_an_environment_without_operators_of_its_own_says_what_to_use() -> None:
    says = "SokobanEnvironment has no operators of its own for a model that reads 'compact' prompts"
    with pytest.raises(ConfigError, match=says):
        play(ROOM, 5, agent=SdpAgent, sdp={"chain": "adapter"})


# --- the command line -----------------------------------------------------------------------------


@pytest.fixture
def levels(tmp_path: Path) -> str:
    write(tmp_path / "levels.xsb", [CORRIDOR, ROOM])
    return str(tmp_path / "levels.xsb")


def test_an_environment_without_an_adapter_is_refused_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tape.sdp.adapters.ToolDomain", type("Other", (), {}))  # all that are packaged have one
    out = tmp_path / "run"
    assert (
        main(["run", "gsm_hard", "--limit", "1", "--agent", "sdp", "--model", "bundled:tools", "--out", str(out)]) == 2
    )
    assert "GsmHardEnvironment has none: use another agent" in capsys.readouterr().err
    assert not out.exists()


def test_wrong_uses_leave_nothing(tmp_path: Path, levels: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    command = ["run", "sokoban", "--levels", levels, "--agent", "sdp", "--model", "bundled:nano", "--out", str(out)]
    assert main([*command, "--verify", "aec", "--chain", "sample"]) == 2
    assert "needs chain='walk'" in capsys.readouterr().err
    assert not out.exists()


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
    [ended] = [e for e in read_trace(next(out.glob("traces/*"))) if isinstance(e, ConcludedEvent)]
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
