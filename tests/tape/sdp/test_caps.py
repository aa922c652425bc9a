"""A predicate gets as many attempts on a path as elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.level_sets import load_set
from envs.sokoban.sdp import CAPS
from tape.sdp.adapter import Caps
from tape.sdp.agent import caps_of
from tape.sdp.settings import SdpSettings

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
