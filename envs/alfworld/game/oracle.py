"""The fewest commands that solve a house, found by trying every way that can be the shortest.

A plan is a sequence of deliveries. A delivery takes one object of the goal's kind from a receptacle, carries it to the
appliance or lamp where the task has one, and puts it into a receptacle of the target's kind. All choices of objects,
sources, appliances, lamps, targets and orders are tried; within a delivery every command is forced.

Why no shorter plan is lost (exchange argument; the commands are those of the engine's rules):

* What is asked for, by the goal and by every command that is used, is that something is open, in a receptacle, held,
  treated or lit, or that the hand is empty. So closing a receptacle never helps, opening only one that is taken from or
  put into, and looking around never.
* The hand holds one object. Handling an object of another kind fills it for a while and changes nothing that is asked
  for: leave those commands out.
* Putting an object anywhere but into its last target costs a put and a take. It could pay only by saving movements or
  openings, but the source has been reached and opened by then, every movement costs one command however far it is, and
  from there the way to the appliance or target is at most one movement, as it would be from where the object was put
  down.
* An object may be in several receptacles at once, and taking it from one leaves it in the others. The goal may
  therefore hold before a delivery ends, so it is checked after each command.
* Objects that lie in the same receptacles are alike; of each group only as many are tried as the goal counts.

The tests compare the lengths with a breadth-first search over all commands, and play the plans on the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations

from envs.alfworld.errors import GameError
from envs.alfworld.game.goal import LOOK, TWO, Goal
from envs.alfworld.game.house import House, Receptacle, name_order
from envs.alfworld.game.kinds import CAN_CONTAIN, LAMPS, TREATMENTS, kind_of

PUT = "put {o} in/on {r}"
"""The official games' command for putting; some versions of them have another."""

Delivery = tuple[str, str]
"""An object and the receptacle to take it from."""

Command = tuple[str, ...]
"""A command; to put is three words, since versions of the game word it differently."""


def shortest(house: House, put: str = PUT) -> tuple[str, ...]:
    """A shortest plan from the start of a game.

    Args:
        house: The house; all that can be closed is closed, and the agent is at no receptacle.
        put: Template of the command that puts ``{o}`` into ``{r}``.

    Returns:
        The commands; none where the goal holds at once. Among the shortest plans always the same.

    Raises:
        GameError: The goal cannot be reached.
    """
    plan = _shortest(house)
    return tuple(put_command(put, command[1], command[2]) if command[0] == "put" else command[0] for command in plan)


def put_command(template: str, thing: str, place: str) -> str:
    """The command that puts a thing into a place; no format string, since the template comes from a file."""
    return template.replace("{r}", place).replace("{o}", thing)


def optimal_length(house: House) -> int:
    """T*, the number of commands of a shortest plan.

    Raises:
        GameError: The goal cannot be reached.
    """
    return len(_shortest(house))


@lru_cache(maxsize=1024)
def _shortest(house: House) -> tuple[Command, ...]:
    best: tuple[Command, ...] | None = None
    start = _Attempt(house)
    if start.won():
        return ()
    for deliveries, target in _choices(house):
        attempt = _Attempt(house, None if best is None else len(best))
        if attempt.run(deliveries, target) and (best is None or len(attempt.commands) < len(best)):
            best = tuple(attempt.commands)
    if best is None:
        raise GameError(f"the goal {house.goal.sentence()!r} cannot be reached in this household")
    return best


def _choices(house: House) -> Iterator[tuple[tuple[Delivery, ...], tuple[str, ...]]]:
    """Errands in order with where they lead: appliance and target, lamp and its receptacle, or the target."""
    goal = house.goal
    names = [r.name for r in house.receptacles]
    sources = _sources(house)
    if goal.task == LOOK:
        lamps = [(o, r) for o, r in house.inside if kind_of(o) == goal.target and goal.target in LAMPS]
        yield from (((source,), lamp) for source in sources for lamp in lamps)
        return
    targets = [r for r in names if kind_of(r) == goal.target and goal.thing in CAN_CONTAIN.get(goal.target, ())]
    if goal.task == TWO:
        orders: list[tuple[tuple[Delivery, ...], str]] = [
            ((source,), target) for source in sources for target in targets
        ]
        for pair in permutations(sources, 2):
            if pair[0][0] != pair[1][0]:
                orders += [(pair, target) for target in targets]
        yield from ((deliveries, (target,)) for deliveries, target in orders)
    elif goal.treatment:
        appliance, treatable = TREATMENTS[goal.treatment]
        for where in (r for r in names if kind_of(r) == appliance and goal.thing in treatable):
            yield from (((source,), (where, target)) for source in sources for target in targets)
    else:
        yield from (((source,), (target,)) for source in sources for target in targets)


def _sources(house: House) -> list[Delivery]:
    """The objects of the goal's kind with each of their receptacles, without those that are like others."""
    where: dict[str, list[str]] = {}
    for thing, receptacle in house.inside:
        if kind_of(thing) == house.goal.thing and house.goal.thing not in LAMPS:
            where.setdefault(thing, []).append(receptacle)
    groups: dict[tuple[str, ...], int] = {}
    deliveries: list[Delivery] = []
    for thing in sorted(where, key=name_order):
        group = tuple(sorted(where[thing]))
        groups[group] = groups.get(group, 0) + 1
        if groups[group] <= house.goal.count:
            deliveries += [(thing, receptacle) for receptacle in group]
    return deliveries


class _Attempt:
    """A plan in the making, by the rules of the engine for what it does.

    Args:
        house: The household.
        limit: Give up when the plan cannot become shorter than this.
    """

    def __init__(self, house: House, limit: int | None = None) -> None:
        self.goal: Goal = house.goal
        self.commands: list[Command] = []
        self._limit = limit
        self._receptacles: dict[str, Receptacle] = {r.name: r for r in house.receptacles}
        self._inside = {
            (o, r) for o, r in house.inside if kind_of(o) == house.goal.thing or kind_of(o) == house.goal.target
        }
        self._open: set[str] = set()
        self._place: int | None = None
        self._held: str | None = None
        self._treated: set[str] = set()
        self._lit: set[str] = set()

    def run(self, deliveries: tuple[Delivery, ...], target: tuple[str, ...]) -> bool:
        """Do the deliveries until the goal is reached; False if it is not, or not in time."""
        for delivery in deliveries:
            for command in self._deliver(delivery, target):
                self.commands.append(command)
                if self._limit is not None and len(self.commands) >= self._limit:
                    return False
                if self.won():
                    return True
        return False

    def _deliver(self, delivery: Delivery, target: tuple[str, ...]) -> Iterator[Command]:
        """One delivery, command by command."""
        thing, source = delivery
        if (thing, source) not in self._inside:
            return
        yield from self._reach(source)
        self._inside.discard((thing, source))
        self._held = thing
        yield (f"take {thing} from {source}",)
        if self.goal.task == LOOK:
            lamp, where = target
            yield from self._go(where)
            self._lit.add(lamp)
            yield (f"use {lamp}",)
            return
        if self.goal.treatment:
            yield from self._go(target[0])
            self._treated.add(thing)
            yield (f"{self.goal.treatment} {thing} with {target[0]}",)
        yield from self._reach(target[-1])
        self._inside.add((thing, target[-1]))
        self._held = None
        yield "put", thing, target[-1]

    def _go(self, receptacle: str) -> Iterator[Command]:
        place = self._receptacles[receptacle].place
        if place != self._place:
            self._place = place
            yield (f"go to {receptacle}",)

    def _reach(self, receptacle: str) -> Iterator[Command]:
        """Go to a receptacle and open it, where that is needed."""
        yield from self._go(receptacle)
        if self._receptacles[receptacle].openable and receptacle not in self._open:
            self._open.add(receptacle)
            yield (f"open {receptacle}",)

    def won(self) -> bool:
        """The goal, as the PDDL has it."""
        goal = self.goal
        if goal.task == LOOK:
            if self._held is None or kind_of(self._held) != goal.thing:
                return False
            return any(o in self._lit and self._receptacles[r].place == self._place for o, r in self._inside)
        there = [
            (o, r)
            for o, r in self._inside
            if kind_of(o) == goal.thing and kind_of(r) == goal.target and (goal.treatment is None or o in self._treated)
        ]
        return len(there) >= goal.count and any(
            len({o for o, r in there if r == receptacle}) >= goal.count for _, receptacle in there
        )
