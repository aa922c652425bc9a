"""TAPE with a general model in every environment, in its chat prompts; CGDP where a corpus is searched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tape.plugins import names
from tests.lm_real.judged import Judged
from tests.lm_real.playing import play, require_sound

NEEDS = {"scienceworld": "scienceworld", "alfworld": "textworld"}
"""Packages without which an environment cannot be played."""
SEARCHED = ("hotpot_search", "locomo", "musique_search", "repo_qa")
"""Environments that search agents alone can play."""


@pytest.mark.parametrize("environment", names("tape.environments"))
def test_every_environment_is_played(environment: str, judged: Judged, tmp_path: Path) -> None:
    if environment in NEEDS:
        pytest.importorskip(NEEDS[environment])
    agent = "cgdp" if environment in SEARCHED else "tape"
    require_sound(play(tmp_path / "run", judged, environment, agent), judged)
