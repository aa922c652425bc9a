"""A query with its world: which options every slot has, and what booking one leads to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from envs.travelplanner.cost import cost, dollars
from envs.travelplanner.offers import Offer, OfferWorld
from envs.travelplanner.query import TripQuery
from envs.travelplanner.rules import Mode, cuisine_mask, mode_of, violated
from envs.travelplanner.slots import CHECK, RENDER, WAYS, Slot, slots_of


@dataclass(frozen=True)
class TripState:
    """What is decided.

    Attributes:
        booked: The options of the first slots, in the order of the slots.
        mode: How the trip travels so far.
        cuisines: The required cuisines that are covered, as bits.
        last: Index of the last option within its group's list.
        canonical: Whether the options of the last one's group came in the order of their list.
        spent: Cents, where the state was observed; None where it is only predicted.
        note: Why the last action was refused, or what a check found.
    """

    booked: tuple[str, ...] = ()
    mode: Mode = field(default="", compare=False)
    cuisines: int = field(default=0, compare=False)
    last: int = field(default=-1, compare=False)
    canonical: bool = field(default=True, compare=False)
    spent: int | None = field(default=None, compare=False)
    note: str = field(default="", compare=False)


@dataclass(frozen=True)
class TripOption:
    """An offer in the list of a group of slots.

    Attributes:
        index: Its place in the canonical order: cheapest first, then by name.
        offer: The offer.
        cost: Cents for all travellers.
        mode: How it travels.
        cuisines: The required cuisines it serves, as bits.
        broken: The local constraint it breaks, in words.
    """

    index: int
    offer: Offer
    cost: int
    mode: Mode
    cuisines: int
    broken: str | None

    @property
    def name(self) -> str:
        """As actions name it."""
        return self.offer.name

    @property
    def rating(self) -> float:
        """Its declared quality, from 0 to 5; 0 where there is none."""
        return float(getattr(self.offer, "rating", 0.0))


class Trip:
    """One query on one world.

    Args:
        query: The query.
        world: The offers.
        judged: Nothing that is offered is refused: as in the benchmark, only the whole itinerary is judged.
    """

    def __init__(self, query: TripQuery, world: OfferWorld, *, judged: bool = False) -> None:
        self.query, self.world, self.judged = query, world, judged
        self.slots = slots_of(query)
        self.wanted = (1 << len(query.constraints.cuisines)) - 1
        """All required cuisines."""
        self._lists: dict[str, tuple[TripOption, ...]] = {}
        self._named: dict[str, dict[str, TripOption]] = {}
        for slot in self.slots:
            if slot.group not in self._lists:
                self._lists[slot.group] = self._listed(slot)
                self._named[slot.group] = {option.name: option for option in self._lists[slot.group]}

    def _listed(self, slot: Slot) -> tuple[TripOption, ...]:
        offers = self._offers(slot)
        priced = sorted(((cost(offer, self.query), offer.name, offer) for offer in offers), key=lambda item: item[:2])
        return tuple(
            TripOption(i, offer, spent, mode_of(offer), cuisine_mask(offer, self.query), violated(offer, self.query))
            for i, (spent, _, offer) in enumerate(priced)
        )

    def _offers(self, slot: Slot) -> Sequence[Offer]:
        world = self.world
        if slot.kind in WAYS:
            flights = world.flights_between(slot.origin, slot.city, self.query.date_of(slot.day))
            return [*flights, *world.grounds_between(slot.origin, slot.city)]
        if slot.kind == "accommodation":
            return list(world.stays_in(slot.city).values())
        if slot.kind == "meals":
            return list(world.restaurants_in(slot.city).values())
        if slot.kind == "attractions":
            return list(world.attractions_in(slot.city).values())
        return []

    @cached_property
    def meal_slots(self) -> tuple[int, ...]:
        """Numbers of the slots of meals."""
        return tuple(i for i, slot in enumerate(self.slots) if slot.kind == "meals")

    @cached_property
    def last_way(self) -> int:
        """Number of the last slot of travelling."""
        return max(i for i, slot in enumerate(self.slots) if slot.kind in WAYS)

    def options(self, slot: Slot) -> tuple[TripOption, ...]:
        """All offers of a slot in canonical order, those that break a constraint too."""
        return self._lists[slot.group]

    def option(self, slot: Slot, name: str) -> TripOption | None:
        """An offer of a slot by its name."""
        return self._named[slot.group].get(name)

    def slot(self, state: TripState) -> Slot | None:
        """The next open slot; None where all is done."""
        return self.slots[len(state.booked)] if len(state.booked) < len(self.slots) else None

    def slot_of(self, action: str) -> tuple[Slot | None, str]:
        """The slot and the option that an action names."""
        name, _, option = action.partition(": ")
        return next((slot for slot in self.slots if slot.name == name), None), option.strip()

    def in_group(self, state: TripState, slot: Slot) -> list[str]:
        """What is booked in the group of a slot."""
        return [name for own, name in zip(self.slots, state.booked, strict=False) if own.group == slot.group]

    def chosen(self, state: TripState) -> list[tuple[Slot, TripOption]]:
        """All booked offers with their slots."""
        generator = ((slot, self.option(slot, name)) for slot, name in zip(self.slots, state.booked, strict=False))
        return [(slot, option) for slot, option in generator if option is not None]

    def total(self, state: TripState) -> int:
        """The running cost in cents."""
        return sum(option.cost for _, option in self.chosen(state))

    def missing(self, covered: int) -> list[str]:
        """Required cuisines that are not among the covered ones."""
        return [name for i, name in enumerate(self.query.constraints.cuisines) if not covered >> i & 1]

    # --- one booking ----------------------------------------------------------------------------

    def refusal(self, state: TripState, action: str) -> str | None:
        """Why an action cannot be taken, in words; None where it can.

        Whether it can be afforded is known in observed states alone.
        """
        slot, name = self.slot_of(action)
        due = self.slot(state)
        if due is None:
            return "the itinerary has been rendered"
        if slot is None:
            return f"an action is a slot, a colon and an option; the next slot is {due.name}"
        if slot is not due:
            return f"the next slot is {due.name}, not {slot.name}"
        if due.kind in ("budget", "render"):
            only = CHECK if due.kind == "budget" else RENDER
            if name != only:
                return f"the only option of {due.name} is {only}"
            missing = [] if self.judged else self.missing(state.cuisines)
            return f"no restaurant serves {', '.join(missing)}" if missing else None
        option = self.option(due, name)
        if option is None:
            return f"there is no {name!r} for {due.name}"
        if self.judged:
            return None
        if option.broken:
            return f"{name}: {option.broken}"
        if conflicting(state.mode, option.mode):
            return f"{name}: self-driving goes with neither flights nor taxis"
        if name in self.in_group(state, due):
            return f"{name} is booked already"
        if state.spent is not None and state.spent + option.cost > self.query.budget:
            left = self.query.budget - state.spent
            return f"{name} costs {dollars(option.cost)}, {dollars(left)} of the budget is left"
        return None

    def price(self, state: TripState, action: str) -> int:
        """Cents of an action; nothing where it would be refused."""
        slot, name = self.slot_of(action)
        option = None if slot is None else self.option(slot, name)
        return 0 if option is None or self.refusal(state, action) is not None else option.cost

    def booked(self, state: TripState, action: str) -> TripState:
        """The state after an action that is not refused."""
        slot, name = self.slot_of(action)
        assert slot is not None
        return self.after(state, slot, self.option(slot, name), name)

    def after(self, state: TripState, slot: Slot, option: TripOption | None, name: str) -> TripState:
        """The state after the booking of an option; of a check there is none."""
        first = not state.booked or self.slots[len(state.booked) - 1].group != slot.group
        if option is None:
            return replace(state, booked=(*state.booked, name), last=0, canonical=True, note="")
        return TripState(
            (*state.booked, name),
            state.mode or option.mode,
            state.cuisines | option.cuisines,
            option.index,
            first or (state.canonical and option.index > state.last),
            None if state.spent is None else state.spent + option.cost,
        )


def conflicting(mode: Mode, other: Mode) -> bool:
    """Whether two modes of travelling exclude each other."""
    return bool(mode and other and mode != other)
