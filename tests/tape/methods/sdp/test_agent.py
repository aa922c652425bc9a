"""The agent as a user meets it: chains of every kind on Sokoban, their trajectories, wrong uses, and resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.level_sets import load_set
from envs.sokoban.sdp import CAPS
from tape.cli import main
from tape.errors import ConfigError
from tape.methods.sdp.adapter import Caps
from tape.methods.sdp.agent import SdpAgent, caps_of
from tape.methods.sdp.events import ChainEvent, ValidatedEvent
from tape.methods.sdp.settings import SdpSettings
from tape.trace import Event, TraceWriter
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
@pytest.mark.parametrize(("chain", "verified"), [("sample", False), ("walk", True)])
def test_the_bundled_model_plays_sokoban(chain: str, verified: bool) -> None:
    won = 0
    agent = SdpAgent("bundled:mini", aec=verified, sdp={"chain": chain})
    for level in load_set("easy")[:1]:
        trace = TraceWriter("sdp")
        result = agent.run(SokobanEnvironment.with_slack(level, 2), trace=trace)
        caps = Caps(3 if chain == "sample" else 1, CAPS.replans, CAPS.steps)
        keeps_to_algorithm_1(trace.events, caps, watched=verified)
        validated = of_type(trace.events, ValidatedEvent)
        assert all(v.truth is v.holds for event in validated for v in event.checks), "Sokoban is checked without error"
        won += result.success
    assert won >= 1


@pytest.mark.parametrize("chain", ["sample", "adapter"])
def test_a_verifier_needs_paths(chain: str) -> None:
    with pytest.raises(ConfigError, match=f"needs chain='walk', not '{chain}'"):
        SdpAgent(SimulatedModel(ROOM), aec=True, sdp={"chain": chain})


def test_an_environment_without_an_adapter_is_refused_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("replies.json").write_text('["no plan"]')
    monkeypatch.setattr("tape.methods.sdp.agent.ToolDomain", type("Other", (), {}))  # all that are packaged have one
    command = ["run", "gsm_hard", "--model", "scripted:replies.json", "--limit", "1", "--agent", "sdp"]
    assert main([*command, "--out", str(tmp_path / "run")]) == 2
    assert "GsmHardEnvironment has none: use another agent" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


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
