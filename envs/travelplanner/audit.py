"""What is wrong with a booking, worked out from the names alone: the deterministic validator's eye.

It trusts nothing that a state carries beside the names: modes, totals and cuisines are computed anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from envs.travelplanner.cost import dollars
from envs.travelplanner.slots import CHECK, RENDER, Slot
from envs.travelplanner.trip import Trip


def complaint(trip: Trip, booked: Sequence[str], slot: Slot) -> str | None:
    """Why a slot is not filled as the query wants it; None where it is."""
    number = trip.slots.index(slot)
    if len(booked) <= number:
        return f"{slot.name} is not booked"
    name = booked[number]
    if slot.kind == "budget":
        return complaint_of_whole(trip, booked) if name == CHECK else f"{name!r} is no check"
    if slot.kind == "render":
        return None if name == RENDER else f"{name!r} is no rendering"
    option = trip.option(slot, name)
    if option is None:
        return f"there is no {name!r} for {slot.name}"
    if option.broken:
        return f"{name}: {option.broken}"
    before = list(zip(trip.slots[:number], booked, strict=False))
    modes = {trip_option.mode for own, given in before if (trip_option := trip.option(own, given)) is not None}
    if option.mode and modes - {"", option.mode}:
        return f"{name} conflicts with how the trip travels before"
    if any(own.group == slot.group and given == name for own, given in before):
        return f"{name} is used twice"
    total = option.cost + sum(
        trip_option.cost for own, given in before if (trip_option := trip.option(own, given)) is not None
    )
    if total > trip.query.budget:
        return f"with {name} the trip costs {dollars(total)}, over the budget of {dollars(trip.query.budget)}"
    return None


def complaint_of_whole(trip: Trip, booked: Sequence[str]) -> str | None:
    """The check across predicates: structural completeness, total cost, cuisine coverage (SDP appendix A.2)."""
    content = [slot for slot in trip.slots if slot.kind not in ("budget", "render")]
    if len(booked) < len(content):
        return f"{content[len(booked)].name} is not booked"
    for slot in content:
        if (text := complaint(trip, booked, slot)) is not None:
            return text
    served = 0
    for slot, name in zip(content, booked, strict=False):
        option = trip.option(slot, name)
        served |= option.cuisines if option is not None else 0
    names = trip.query.constraints.cuisines
    if missing := [cuisine for i, cuisine in enumerate(names) if not served >> i & 1]:
        return f"no restaurant serves {', '.join(missing)}"
    return None
