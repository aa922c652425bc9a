"""A plan without a model: the first itinerary that can be completed, at any cost."""

from __future__ import annotations

from dataclasses import replace

from envs.travelplanner.domain import TripDomain
from envs.travelplanner.state import TripState
from tape.protocols import Action


def first_complete(domain: TripDomain, state: TripState) -> list[Action]:
    """Actions from a state to the rendered itinerary, each slot by the cheapest option that leaves a way on.

    It only has to have every slot in it: the plan graph gets all other options as variants, and the solver chooses.
    Depth first, with nodes from which there is no way on remembered, so it takes no longer than the graph is large.

    Returns:
        The plan; empty where no itinerary can be completed.
    """
    dead: set[str] = set()
    # What is affordable is the solver's business: from here on the money is not looked at.
    start = replace(state, spent=None)
    path: list[Action] = []
    trail = [(start, iter(domain.open_actions(state)))]
    while trail and not domain.is_end(trail[-1][0]):
        here, rest = trail[-1]
        action = next(rest, None)
        if action is None:
            dead.add(domain.key(here))
            trail.pop()
            if path:
                path.pop()
            continue
        after = domain.trip.booked(here, action)
        if domain.key(after) not in dead:
            path.append(action)
            trail.append((after, iter(domain.open_actions(after))))
    return path if trail else []
