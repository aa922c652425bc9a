"""Trajectories of episodes that the agent has played keep every rule."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.state import Level
from envs.sokoban.xsb import parse
from experiments.studies.sdp.reader import NotSdpError
from experiments.studies.sdp.revalidation import RULES, checked, revalidate
from experiments.studies.sdp.trajectory import CertifiedTrajectory
from tape.budget import Budget
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.adapter import Caps
from tape.methods.sdp.agent import SdpAgent
from tape.trace import read_trace
from tests.places import ROOT
from tests.tape.helpers import CORRIDOR, ROOM, SimulatedModel
from tests.tape.methods.sdp.algorithm import check
from tests.tape.methods.sdp.flags import FlagWorld, Played, Script

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
        played_so = Played(None, [*read_trace(file)], Script([], []), FlagWorld())
        check(played_so, allowed, strict=strict, cascade=settings.get("cascade", True))
        if settings.get("validation") == "always":
            assert set(checked(made).flagged) <= {"always", "completion"}
        elif name == "right" and not {"step_cap"} & settings.keys():
            assert made.ending.success
            assert made.certified[-1].target.goal


def test_an_episode_that_is_solved_at_the_start_has_no_chain(tmp_path: Path) -> None:
    [level] = parse("#######\n#######\n#@ *  #\n#######\n#######\n")
    with pytest.raises(NotSdpError):
        played(level, tmp_path / "e.jsonl", SimulatedModel(level))


def test_every_rule_of_a_finding_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "methods" / "sdp-trajectories.md").read_text(encoding="utf-8")
    rows = page.split("## Checking it again")[1].split("`checked(")[0]
    assert [*RULES] == re.findall(r"^\| `(\w+)` \|", rows, re.M)
