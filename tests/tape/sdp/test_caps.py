"""A predicate gets as many attempts on a walk as elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.level_sets import load_set
from envs.sokoban.sdp import CAPS
from tape.agents.sdp import SdpAgent
from tape.lm.scripted import ScriptedLM
from tape.sdp.adapter import Caps

ADAPTER = SokobanDomain(load_set("easy")[0]).sdp()


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        ({"sdp": {"chain": "sample"}}, CAPS),
        ({"sdp": {"chain": "walk"}}, Caps(1, CAPS.attempts * (CAPS.replans + 1) - 1, CAPS.steps)),
        ({"sdp": {"chain": "walk", "attempts": 2}}, Caps(2, CAPS.replans, CAPS.steps)),
        ({"sdp": {"chain": "walk", "target_replans": 4, "step_cap": 9}}, Caps(1, 4, 9)),
    ],
)
def test_caps(switches: dict[str, Any], expected: Caps) -> None:
    assert SdpAgent(ScriptedLM([""]), **switches)._caps(ADAPTER) == expected
