"""Every agent with a general model, and the same again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tape.plugins import load, names
from tape.testing.agents import CLOCKS
from tests.lm_real.judged import Judged
from tests.lm_real.playing import play, require_sound

PLANNERS = [name for name in names("tape.agents") if not load("tape.agents", name).searches]


@pytest.mark.parametrize("agent", PLANNERS)
def test_every_agent_plays(agent: str, judged: Judged, tmp_path: Path) -> None:
    require_sound(play(tmp_path / "run", judged, "sokoban", agent), judged)


def without_clocks(lines: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in line["result"].items() if name not in CLOCKS} for line in lines]


def test_the_seed_decides_all(judged: Judged, tmp_path: Path) -> None:
    first, again, other = (
        without_clocks(play(tmp_path / name, judged, "sokoban", episodes=2, seed=seed))
        for name, seed in (("first", 3), ("again", 3), ("other", 4))
    )
    assert first == again
    assert first != other
