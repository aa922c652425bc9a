"""SDP on Sokoban: a target is where the player and the boxes should be, and the whole board is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envs.sokoban.level import State
from tape.protocols import State as AbstractState
from tape.sdp.adapter import Caps
from tape.sdp.predicate_adapter import PredicateAdapter
from tape.sdp.target import Fields

if TYPE_CHECKING:
    from envs.sokoban.domain import SokobanDomain

CAPS = Caps(attempts=3, replans=5, steps=200)
"""Ours: the paper has no Sokoban."""


def adapter(domain: SokobanDomain) -> PredicateAdapter:
    """The adapter of a level."""

    def fields(state: AbstractState) -> Fields:
        assert isinstance(state, State)
        boxes = tuple(map(domain.level.coordinate, state.boxes))
        return (("player", domain.level.coordinate(state.player)), ("boxes", boxes))

    return PredicateAdapter(
        domain,
        CAPS,
        kind=lambda _: "move",
        goal="every box is on a goal",
        telling=lambda predicate, _: predicate.name in ("player_at", "box_at"),
        whole=True,
        fields=fields,
    )
