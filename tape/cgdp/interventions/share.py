"""The part of a search that one trajectory may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tape.cgdp.remembered import Remembered


@dataclass(frozen=True)
class Share:
    """The end of a trajectory.

    Attributes:
        rounds: Rounds of the search, those of earlier trajectories too, by which it ends.
        left: What it leaves of each budget, in the budget's own units.
    """

    rounds: int
    left: Mapping[str, float] = field(default_factory=dict)

    def used_up(self, search: Remembered) -> str:
        """Why the trajectory ends here; empty: it continues."""
        if len(search.rounds) >= self.rounds:
            return f"all {self.rounds} rounds are used"
        remaining = search.episode.remaining()
        used = [kind for kind, left in self.left.items() if remaining[kind] <= left]
        return f"its share of {', '.join(used)} is used" if used else ""
