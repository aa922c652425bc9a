"""The least that an itinerary costs: a dynamic programme of its own, independent of plan graphs and solvers."""

from __future__ import annotations

from envs.travelplanner.trip import Trip


def cheapest(trip: Trip) -> int | None:
    """Cents of the cheapest itinerary that keeps every constraint but the budget; None where there is none."""
    ways = [_ways(trip, mode) for mode in ("car", "public")]
    travel = min((way for way in ways if way is not None), default=None)
    if travel is None:
        return None
    total = travel
    for slot in trip.slots:
        if slot.kind == "accommodation":
            beds = [option.cost for option in trip.options(slot) if not option.broken]
            if not beds:
                return None
            total += min(beds)
        elif slot.kind == "attractions" and len(trip.options(slot)) <= slot.left:
            return None
    meals = _meals(trip)
    return None if meals is None else total + meals


def _ways(trip: Trip, mode: str) -> int | None:
    """The cheapest travelling in a mode."""
    total = 0
    for slot in trip.slots[: trip.last_way + 1]:
        if slot.kind == "accommodation":
            continue
        prices = [option.cost for option in trip.options(slot) if option.mode == mode and not option.broken]
        if not prices:
            return None
        total += min(prices)
    return total


def _meals(trip: Trip) -> int | None:
    """The cheapest distinct restaurants that cover the required cuisines."""
    best = {0: 0}
    groups = {trip.slots[i].group: trip.slots[i] for i in reversed(trip.meal_slots)}
    for first in groups.values():
        count = first.left + 1
        # Least cost by how many are chosen and what they cover.
        table: dict[tuple[int, int], int] = {(0, covered): spent for covered, spent in best.items()}
        for option in trip.options(first):
            for (chosen, covered), spent in list(table.items()):
                if chosen < count:
                    after = (chosen + 1, covered | option.cuisines)
                    table[after] = min(spent + option.cost, table.get(after, spent + option.cost))
        best = {covered: spent for (chosen, covered), spent in table.items() if chosen == count}
    return best.get(trip.wanted)
