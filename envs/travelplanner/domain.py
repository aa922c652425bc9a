"""The domain of a trip: the whole itinerary is one path on the plan graph.

*What a node carries.* The number of booked slots; how the trip travels, as long as ways are still to be booked (a car
of one's own excludes flights and taxis on the whole trip); the required cuisines that are covered, as bits; and the
index of the last option. Nothing else of the past constrains the future: what is left of the money is a resource of the
path, and the index alone determines what has been used, as follows.

*Uniqueness is exact.* The k slots of a group (all meals, or all sights, in one city) follow each other, take distinct
options of one list, and neither cost nor quality nor any rule depends on which slot takes which option. So every set of
k distinct options is a strictly increasing sequence of indices, exactly one; and every strictly increasing sequence is
a set of distinct options. The variants of a step are the options of a larger index than the last one's, so the paths
through the group are in one-to-one correspondence with the sets of k options of the list, and an option is taken twice
by none. Groups of different slots have no option in common (a restaurant is in one city).

*Whatever has been booked.* A model need not book in order, and what it booked first may leave too little after it, or
too little that can be paid or serves what is asked for. So where the trip really is (an observed state), any unused
option begins a new sequence; so does a predicted state with fewer options after the last one than open slots, where a
plan got there. What is used further on is named by the node, and only that: of the options before the last one none
can be taken again. The graph is no larger for it, since the index determines which of the used options are further on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter

from envs.travelplanner.cost import charge, dollars
from envs.travelplanner.menu import Objective, menu
from envs.travelplanner.slots import CHECK, RENDER, Slot
from envs.travelplanner.trip import Trip, TripOption, TripState, conflicting
from tape.budget import Resources
from tape.protocols import Action, Observation, Prediction, State
from tape.protocols.domain import Domain
from tape.protocols.parts import Outcomes, Progress

_index = attrgetter("index")


def as_state(state: State) -> TripState:
    """Narrow the engine's opaque state."""
    assert isinstance(state, TripState), f"not a state of a trip: {state!r}"
    return state


class TripDomain(Domain, Outcomes, Progress):
    """What a trip declares.

    Args:
        trip: The query and its offers.
        objective: The preference among feasible itineraries: the ``cheapest`` one, or the ``best`` ratings of stays and
            restaurants.
    """

    deterministic = True
    whole = True

    def __init__(self, trip: Trip, objective: Objective) -> None:
        self.trip, self.objective = trip, objective
        self._menus: dict[str, tuple[TripOption, ...]] = {}
        self._fewest: dict[tuple[tuple[str, ...], int], int] = {}

    def task_text(self) -> str:
        """The query in words."""
        return self.trip.query.text

    def key(self, state: State) -> str:
        """See the module."""
        here = as_state(state)
        done = len(here.booked)
        if not done:
            return "start"
        mode = here.mode if done <= self.trip.last_way else ""
        used = ", ".join(sorted(self._retakable(here)))
        return f"{done}|{mode}|{here.cuisines:b}|{here.last}" + (f"|{used}" if used else "")

    def _retakable(self, state: TripState) -> list[str]:
        """What is used of the next slot's group, as far as the sequence may still come to it."""
        slot = self.trip.slot(state)
        if slot is None or not self._follows(state, slot):
            return []
        if self._short(state, slot):
            return self.trip.in_group(state, slot)
        return (
            [] if state.canonical else [option.name for option in self._used(state, slot) if option.index > state.last]
        )

    def _follows(self, state: TripState, slot: Slot) -> bool:
        """Whether the last booking is of the same group as the next slot."""
        return bool(state.booked) and self.trip.slots[len(state.booked) - 1].group == slot.group

    def _used(self, state: TripState, slot: Slot) -> list[TripOption]:
        options = (self.trip.option(slot, name) for name in self.trip.in_group(state, slot))
        return [option for option in options if option is not None]

    def _short(self, state: TripState, slot: Slot) -> bool:
        """Whether too few options come after the last one of the group for its open slots."""
        options = self.menu(slot)
        later = len(options) - bisect_right(options, state.last, key=_index)
        if not state.canonical:
            offered = {option.name for option in options}
            later -= sum(option.index > state.last and option.name in offered for option in self._used(state, slot))
        return later <= slot.left

    def render(self, state: State) -> str:
        """The last booking; in observed states with what has been spent."""
        here = as_state(state)
        if not here.booked:
            picture = f"{self.trip.query.origin}: nothing is booked"
        else:
            picture = f"{self.trip.slots[len(here.booked) - 1].name}: {here.booked[-1]}"
        if here.spent is not None:
            picture += f"\nspent {dollars(here.spent)} of {dollars(self.trip.query.budget)}"
        return f"{picture}\n{here.note}" if here.note else picture

    def project(self, observation: Observation) -> TripState:
        """The state as it was observed."""
        return as_state(observation.data)

    def admissible(self, state: State) -> Sequence[Action] | None:
        """None: what cannot be booked is refused with a reason."""
        del state
        return None

    def cost(self, state: State, action: Action) -> Resources:
        """A step and the exact price; what would be refused costs a step."""
        return charge(self.trip.price(as_state(state), action))

    def declared_costs(self) -> Mapping[str, Resources]:
        """The dearest booking, and what is free."""
        dearest = max((option.cost for slot in self.trip.slots for option in self.trip.options(slot)), default=0)
        return {"book": charge(dearest), "check": charge(0), "render": charge(0)}

    def outcome(self, state: State, action: Action) -> Prediction:
        """The slot is filled; what would be refused is invalid."""
        here = as_state(state)
        if self.trip.refusal(here, action) is not None:
            return Prediction(None)
        return Prediction(replace(self.trip.booked(here, action), spent=None))

    def variants(self, state: State, action: Action) -> Sequence[Action]:
        """The options of the slot that an action fills, as far as an itinerary can still be completed with them."""
        here, slot = as_state(state), self.trip.slot(as_state(state))
        named, _ = self.trip.slot_of(action)
        if slot is None or named is not slot:
            return [action]
        return self.open_actions(here) or [action]

    def open_actions(self, state: TripState) -> list[Action]:
        """The actions that the plan graph offers in a state, cheapest first."""
        slot = self.trip.slot(state)
        if slot is None:
            return []
        if slot.kind in ("budget", "render"):
            return [f"{slot.name}: {CHECK if slot.kind == 'budget' else RENDER}"]
        return [f"{slot.name}: {option.name}" for option in self._offered(state, slot)]

    def _offered(self, state: TripState, slot: Slot) -> list[TripOption]:
        options, done = self.menu(slot), len(state.booked)
        if self._follows(state, slot):
            used = self.trip.in_group(state, slot)
            anew = state.spent is not None or self._short(state, slot)
            options = tuple(o for o in options if o.name not in used and (anew or o.index > state.last))
        # The slots of the group that come after it need options that come after it.
        options = options[: max(0, len(options) - slot.left)]
        return [
            option
            for option in options
            if not conflicting(state.mode, option.mode) and self._coverable(done, state.cuisines | option.cuisines)
        ]

    def menu(self, slot: Slot) -> tuple[TripOption, ...]:
        """The options of a slot's group in the plan graph."""
        if slot.group not in self._menus:
            self._menus[slot.group] = menu(self.trip, slot, self.objective)
        return self._menus[slot.group]

    def _coverable(self, done: int, covered: int) -> bool:
        """Whether the meals after a slot are enough for the cuisines that are missing after it."""
        missing = self.trip.wanted & ~covered
        if not missing:
            return True
        later = [i for i in self.trip.meal_slots if i > done]
        groups = tuple(dict.fromkeys(self.trip.slots[i].group for i in later))
        return self._fewest_for(groups, missing) <= len(later)

    def _fewest_for(self, groups: tuple[str, ...], missing: int) -> int:
        """Fewest restaurants of some groups that serve all missing cuisines; far too many where none do."""
        index = self._fewest.get((groups, missing))
        if index is None:
            slots = {slot.group: slot for slot in self.trip.slots if slot.group in groups}
            serves = {option.cuisines & missing for slot in slots.values() for option in self.menu(slot)} - {0}
            reached, layer, count = {0}, {0}, 0
            while missing not in reached and layer:
                layer = {covered | number for covered in layer for number in serves} - reached
                reached |= layer
                count += 1
            index = count if missing in reached else len(self.trip.slots)
            self._fewest[groups, missing] = index
        return index

    def is_end(self, state: State) -> bool:
        """Whether the itinerary has been rendered."""
        return self.trip.slot(as_state(state)) is None

    def covered(self, state: State) -> bool:
        """Whether all required cuisines are covered."""
        return not self.trip.wanted & ~as_state(state).cuisines

    @cached_property
    def _dearest(self) -> int:
        return max((option.cost for slot in self.trip.slots for option in self.menu(slot)), default=0) or 1

    def value(self, state: State) -> float:
        """What the last booking adds to an itinerary: a saving or a rating, in [-1, 1]."""
        here = as_state(state)
        if not here.booked:
            return 0.0
        option = self.trip.option(self.trip.slots[len(here.booked) - 1], here.booked[-1])
        if option is None:
            return 0.0
        return -option.cost / self._dearest if self.objective == "cheapest" else option.rating / 5


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
