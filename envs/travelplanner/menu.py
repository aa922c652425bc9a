"""Which options of a slot the plan graph offers: what a best path may need, and no more.

*Pruning that loses nothing.* The r slots of a group (the meals, or the sights, of one city) take r distinct options,
and which of them takes which makes no difference. Option a dominates b if a is not dearer, not worse rated and serves
every required cuisine that b serves, ties broken by the order of the list. If b is dominated by r or more options, at
most r - 1 of them are in a path that uses b, so one is free and can take b's place: the path still is feasible and not
worse. So only options that fewer than r others dominate are offered (their r-skyband). Where cost alone counts, ratings
are left out of the comparison; of ways of travelling those of one mode are compared.

*Pruning that may lose something.* The graph is kept to about :data:`MOST_EDGES` edges: of long lists the r cheapest are
kept, the cheapest of every set of required cuisines, and of the rest the best rated, or where cost alone counts the
cheapest. No list is much longer than the :data:`MOST_OPTIONS` that the paper shows a model (SDP table 7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Literal

from envs.travelplanner.slots import Slot
from envs.travelplanner.trip import Trip, TripOption, TripState, conflicting

Objective = Literal["cheapest", "best"]
MOST_OPTIONS = 30
MOST_EDGES = 20_000


def dominates(a: TripOption, b: TripOption, objective: Objective) -> bool:
    """Whether a can always take b's place."""
    if a.cost > b.cost or a.mode != b.mode or b.cuisines & ~a.cuisines:
        return False
    if objective == "best" and a.rating != b.rating:
        return a.rating > b.rating
    return a.cost < b.cost or a.cuisines != b.cuisines or a.index < b.index


def skyband(options: Sequence[TripOption], r: int, objective: Objective) -> list[TripOption]:
    """Options that fewer than r others dominate."""
    return [b for b in options if sum(dominates(a, b, objective) for a in options) < r]


def menu(trip: Trip, slot: Slot, objective: Objective) -> tuple[TripOption, ...]:
    """The options of a slot in the plan graph, in canonical order."""
    if trip.judged:
        return trip.options(slot)[:MOST_OPTIONS]
    r = sum(other.group == slot.group for other in trip.slots)
    allowed = [option for option in trip.options(slot) if not option.broken]
    kept = skyband(allowed, r, objective)
    most = min(MOST_OPTIONS, r - 1 + _width(trip)) if slot.kind in ("meals", "attractions") else MOST_OPTIONS
    if len(kept) <= most:
        return tuple(kept)
    chosen = {option.index: option for option in kept[:r]}
    for option in kept:
        if option.cuisines and all(option.cuisines != other.cuisines for other in chosen.values()):
            chosen[option.index] = option
    rest = [option for option in kept if option.index not in chosen]
    more = most - len(chosen)
    if objective == "best":
        rest.sort(key=lambda option: (-option.rating, option.index))
        more = max(more, _width(trip) // 2)
    chosen |= {option.index: option for option in rest[: max(0, more)]}
    return tuple(chosen[index] for index in sorted(chosen))


def _width(trip: Trip) -> int:
    """How many options of a group with r slots there may be beyond r - 1.

    In increasing sequences the option of a slot is then one of so many, so an edge is one of about its square by two,
    once for each set of covered cuisines.
    """
    return max(4, isqrt(2 * MOST_EDGES // (len(trip.meal_slots) * (trip.wanted + 1))))


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
