"""SDP on Sokoban: a target is where the player and the boxes should be, and the whole board is checked."""

from __future__ import annotations

from typing import Any

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.prompts.chat import RULES
from envs.sokoban.state import State
from tape.methods.sdp.adapter import Caps
from tape.methods.sdp.predicate_adapter import PredicateAdapter
from tape.methods.sdp.target import Fields
from tape.protocols import State as AbstractState

CAPS = Caps(attempts=3, replans=5, steps=200)
"""Ours: the paper has no Sokoban."""


def adapter(domain: SokobanDomain) -> PredicateAdapter:
    """The adapter of a level."""

    def fields(state: AbstractState) -> Fields:
        assert isinstance(state, State)
        boxes = tuple(map(domain.level.coordinate, state.boxes))
        player, walls = domain.level.coordinate(state.player), domain.level.inner_walls
        size = f"{domain.level.rows}x{domain.level.cols}"
        goals, inner = (tuple(map(domain.level.coordinate, cells)) for cells in (domain.level.goals, walls))
        return (("size", size), ("wall", inner), ("goal", goals), ("player", player), ("box", boxes))

    return PredicateAdapter(
        domain,
        CAPS,
        kind=lambda _: "move",
        goal="every box is on a goal",
        telling=lambda predicate, _: predicate.name in ("player_at", "box_at"),
        whole=True,
        fields=fields,
        rules=RULES,
        forms=("player_at((ROW,COL))", "box_at((ROW,COL))"),
    )


def _texts(value: Any) -> list[str]:
    return [str(part) for part in value] if isinstance(value, (list, tuple)) else [str(value)]
