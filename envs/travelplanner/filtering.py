"""Options that satisfy every constraint before one is chosen (SDP appendix A.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from envs.travelplanner.menu import MOST_OPTIONS
from envs.travelplanner.slots import Slot
from envs.travelplanner.state import TripState
from envs.travelplanner.trip import Trip, TripOption, conflicting

STAGES = ("sandbox", "local constraints", "transport mode", "uniqueness", "affordability")
"""The five filters, in the paper's order."""


@dataclass(frozen=True)
class Filtered:
    """What the filters leave of the offers of a slot.

    Attributes:
        options: Cheapest first, at most :data:`envs.travelplanner.menu.MOST_OPTIONS`.
        counts: How many offers are left after each stage.
    """

    options: tuple[TripOption, ...]
    counts: tuple[int, ...]

    @property
    def emptied_by(self) -> str | None:
        """The stage that left nothing; None where something is left."""
        return next((stage for stage, count in zip(STAGES, self.counts, strict=True) if count == 0), None)

    def diagnosis(self, slot: Slot) -> str:
        """Which stage emptied the set, in words; empty where it did not."""
        stage = self.emptied_by
        if stage is None:
            return ""
        left = ", ".join(f"{name} {count}" for name, count in zip(STAGES, self.counts, strict=True))
        return f"nothing is left for {slot.name}: the filter {stage!r} removed the last options (left after {left})"


def filtered(trip: Trip, state: TripState, slot: Slot, left: int | None = None) -> Filtered:
    """Apply the five filters to the offers of a slot; but for the first none where only the whole is judged.

    Args:
        trip: The query and its offers.
        state: What is booked.
        slot: The slot.
        left: Cents left; by default the budget minus the running cost.
    """
    money = trip.query.budget - trip.total(state) if left is None else left
    used = set(trip.in_group(state, slot))
    stages: tuple[Callable[[TripOption], bool], ...] = (
        lambda option: not option.broken,
        lambda option: not conflicting(state.mode, option.mode),
        lambda option: option.name not in used,
        lambda option: option.cost <= money,
    )
    options = list(trip.options(slot))  # the sandbox: what there is at this place, on this day
    counts = [len(options)]
    for admits in (lambda _: True,) * len(stages) if trip.judged else stages:
        options = [option for option in options if admits(option)]
        counts.append(len(options))
    return Filtered(tuple(options[:MOST_OPTIONS]), tuple(counts))
