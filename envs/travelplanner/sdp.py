"""SDP on trips: eight predicate kinds, filtering before choosing, deterministic validation (SDP appendix A.2, table 7).

The chain is a function of the trip's shape alone: the way out, a stay for each of n cities, the n - 1 ways between
them, the way back, meals and a sight for each of N days, the check of the budget, the rendering:
1 + n + (n - 1) + 2N + 3 predicates, so 11, 17 and 23 for trips of 3, 5 and 7 days.

REALIZE fills the next slot of a predicate from the options that the five filters leave, cheapest first: the model picks
one of at most 30, or the first is taken where there is no model. The predicate of a day's meals takes three bookings;
the first two only prepare it (``Verdict.counts`` is false), so every booking is an action of its own in ledger and
trace, and the next one is filtered with what it left. Where a filter empties the set, REALIZE has nothing to try and
names the stage. REPLAN is a retry: bookings cannot be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from envs.travelplanner.cost import MONEY, dollars
from envs.travelplanner.domain import TripDomain, as_state
from envs.travelplanner.menu import filtered
from envs.travelplanner.offers import Restaurant, Stay
from envs.travelplanner.slots import CHECK, RENDER, Slot
from envs.travelplanner.trip import Trip, TripOption, TripState
from tape.lm.base import Message, OneOf, Request
from tape.methods.sdp.adapter import Caps, Tools
from tape.methods.sdp.operators import Check, Operators, Outcome, Realized, Validate, Verdict
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain, Fields, Target
from tape.protocols import Action, State
from tape.protocols.predicates import Predicate


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


CAPS = Caps(attempts=3, replans=5, steps=60)
"""SDP table 7."""

GOAL = "the itinerary is rendered and passes"
WRITTEN = Target("the itinerary is written", "render", fields=(("slots", "itinerary"),))


def target_of(slots: Sequence[Slot]) -> Target:
    """The predicate that some slots of one kind are filled as the query wants it."""
    first = slots[0]
    if first.kind == "render":
        return Target(GOAL, "render", goal=True)
    text = {
        "outbound": f"the way from {first.origin} to {first.city} is booked",
        "inter_city": f"the way from {first.origin} to {first.city} is booked",
        "return": f"the way back from {first.origin} to {first.city} is booked",
        "accommodation": f"a stay in {first.city} is booked",
        "budget": "all is booked, within the budget, with every required cuisine",
    }.get(first.kind, f"the {first.kind} of day {first.day} in {first.city} are booked")
    requires = tuple((Predicate("booked", (slot.name,)), True) for slot in slots)
    return Target(text, first.kind, requires, (("slots", "; ".join(slot.name for slot in slots)),))


def chain_of(trip: Trip, booked: int = 0) -> Chain:
    """The chain of a trip from the first open slot on."""
    rest = trip.slots[booked:]
    return tuple(target_of(list(run)) for _, run in groupby(rest, key=lambda slot: (slot.kind, slot.day, slot.city)))


def slots_in(trip: Trip, target: Target) -> list[Slot]:
    """The slots that a target is about."""
    if target.goal:
        return [trip.slots[-1]]
    names = target.field("slots").split("; ")
    return [slot for slot in trip.slots if slot.name in names]


class TripPropose:
    """PROPOSE: the chain of the trip's shape. REPLAN: the same tail again."""

    def __init__(self, trip: Trip) -> None:
        self._trip = trip

    async def propose(self, state: CertifiedState) -> Chain:
        """The chain from the first open slot on."""
        return chain_of(self._trip, len(as_state(state.projected).booked))

    async def replan(self, at: MarkovState, history: Sequence[Attempt]) -> Chain:
        """Retry: there is no way back to earlier predicates."""
        del history
        return at.tail


class TripRealize:
    """REALIZE: a choice among the options that satisfy every constraint.

    Args:
        trip: The query and its offers.
        tools: The model.
        rated: Name the best rated of the options first, not the cheapest (ours; the paper's order is by price).
    """

    def __init__(self, trip: Trip, tools: Tools, *, rated: bool) -> None:
        self._trip, self._tools, self._rated = trip, tools, rated

    async def realize(self, at: MarkovState) -> Realized:
        """A booking for the next slot of the target; none, with a diagnosis, where no option is left."""
        state, trip = as_state(at.state.projected), self._trip
        slot = next((s for s in slots_in(trip, at.target) if trip.slots.index(s) >= len(state.booked)), None)
        if slot is None:
            return Realized(None, f"all slots of {at.target.text!r} are filled already")
        if slot.kind in ("budget", "render"):
            return Realized(f"{slot.name}: {CHECK if slot.kind == 'budget' else RENDER}")
        result = filtered(trip, state, slot, at.state.remaining.get(MONEY))
        options = [option for option in result.options if f"{slot.name}: {option.name}" not in at.tried]
        if self._rated:
            options.sort(key=lambda option: (-option.rating, option.index))
        if not options:
            return Realized(None, result.diagnosis(slot) or f"every option for {slot.name} has failed")
        name = await self._tools.ask(self._request(at, slot, options))
        if name not in {option.name for option in options}:
            return Realized(None, f"{name!r} is none of the options", counts_if_none=True)
        return Realized(f"{slot.name}: {name}")

    def _request(self, at: MarkovState, slot: Slot, options: Sequence[TripOption]) -> Request:
        query, state = self._trip.query, as_state(at.state.projected)
        listed = "\n".join(f"- {option.name}: {_told(option)}" for option in options)
        failed = "\n".join(f"{attempt.action}: {attempt.reason}" for attempt in at.attempts)
        ask = (
            f"{query.text or 'A trip is planned.'}\nSpent so far: {dollars(self._trip.total(state))}. Booked so far: "
            f"{'; '.join(state.booked) or 'nothing'}.\nTo become true: {at.target.text}. Slot: {slot.name}.\n"
            f"{'Failed before:' + chr(10) + failed + chr(10) if failed else ''}"
            f"Every one of these options is allowed and can be paid for:\n{listed}\n"
            "Which one is best for the whole trip? Answer with its name alone."
        )
        choice = OneOf(tuple(option.name for option in options))
        return Request((Message("user", ask),), 60, constraint=choice, role="realize")


def _told(option: TripOption) -> str:
    facts = [dollars(option.cost)]
    if isinstance(option.offer, Restaurant):
        facts.append(", ".join(sorted(option.offer.cuisines)))
    if isinstance(option.offer, Stay):
        facts.append(option.offer.room_type)
    facts += [f"rated {option.rating:g}"] if option.rating else []
    return "; ".join(facts)


class TripValidate:
    """VALIDATE: deterministic, from the typed selections; no text is read."""

    def __init__(self, trip: Trip) -> None:
        self._trip = trip

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """How many consecutive predicates hold after a booking."""
        before, after = as_state(outcome.before), as_state(outcome.after)
        checks: list[Check] = []
        for target in tail:
            checks.append(self.check(target, after, completed=outcome.completed))
            if not checks[-1].holds:
                break
        if all(check.holds for check in checks):
            return Verdict(tuple(checks))
        reason = checks[-1].evidence
        return Verdict(tuple(checks), reason, counts=len(checks) > 1 or not self._prepares(tail[0], before, after))

    def check(self, target: Target, state: TripState, *, completed: bool = False) -> Check:
        """The verdict on one predicate."""
        if target.goal:
            return Check(completed, "deterministic", "the environment reports a pass" if completed else "no pass yet")
        complaints_by_name = {
            slot.name: complaint(self._trip, state.booked, slot) for slot in slots_in(self._trip, target)
        }
        facts = tuple((str(Predicate("booked", (name,))), wrong is None) for name, wrong in complaints_by_name.items())
        wrong = [text for text in complaints_by_name.values() if text is not None]
        evidence = wrong[0] if wrong else f"booked: {', '.join(complaints_by_name)}"
        return Check(not wrong, "deterministic", evidence, facts)

    def _prepares(self, target: Target, before: TripState, after: TripState) -> bool:
        """Whether a booking has filled one of several slots of the target as wanted, and others are open."""
        slots = slots_in(self._trip, target)
        filled = [slot for slot in slots if self._trip.slots.index(slot) < len(after.booked)]
        grown = len(after.booked) == len(before.booked) + 1 and after.booked[:-1] == before.booked
        if not grown or not filled or len(filled) == len(slots):
            return False
        return all(complaint(self._trip, after.booked, slot) is None for slot in filled)


class TripAdapter:
    """Implements :class:`tape.methods.sdp.adapter.Adapter`."""

    def __init__(self, domain: TripDomain) -> None:
        self._domain, self._trip = domain, domain.trip

    @property
    def caps(self) -> Caps:
        """Those of the paper."""
        return CAPS

    def fields(self, state: State) -> Fields:
        """What is decided, and the running cost."""
        here = as_state(state)
        names = self._trip.query.constraints.cuisines
        return (
            ("booked", tuple(f"{s.name}: {name}" for s, name in zip(self._trip.slots, here.booked, strict=False))),
            ("cost", self._trip.total(here)),
            ("mode", here.mode),
            ("cuisines", tuple(cuisine for i, cuisine in enumerate(names) if here.cuisines >> i & 1)),
        )

    def along(self, states: Sequence[State], actions: Sequence[Action]) -> Chain:
        """One target per booking of the path, and the goal."""
        targets = []
        for before in states[: len(actions)]:
            slot = self._trip.slot(as_state(before))
            assert slot is not None, "a path ends with the rendering"
            targets.append(target_of([slot]))
        # The rendering's own target is the goal; the loop puts it in place of the last edge's.
        chain = [WRITTEN if target.goal else target for target in targets]
        return (*chain, Target(GOAL, "render", goal=True))

    def validator(self, tools: Tools) -> Validate:
        """Deterministic."""
        del tools
        return TripValidate(self._trip)

    def operators(self, tools: Tools) -> Operators | None:
        """The paper's slot-by-slot choice."""
        chain = TripPropose(self._trip)
        return Operators(
            chain,
            TripRealize(self._trip, tools, rated=self._domain.objective == "best"),
            TripValidate(self._trip),
            chain,
        )
