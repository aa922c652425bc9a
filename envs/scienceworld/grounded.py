"""The grounder of ScienceWorld (AEC eq. 9): what the last description of each room shows, by all its names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from envs.scienceworld.commands import ASKED, CHANGES, door, names_of
from envs.scienceworld.predicates import ShownState
from envs.scienceworld.reading import read_room
from envs.scienceworld.state import ScienceState
from envs.scienceworld.things import plain, read_things
from tape.protocols import Action
from tape.protocols.predicates import Predicate, QueryMacro


class SeenRooms(ShownState):
    """What a state shows, and what was seen of other rooms when the agent was last in them.

    Beside :class:`ShownState` it lists whether a question is open, ``reach`` of all that is in sight, ``held`` of all
    that is carried, at any depth, ``open`` of the doors here, and of every room that the agent has been in ``visited``,
    ``way(ROOM, ROOM)``, and ``stands(THING, ROOM)`` of what stays as it is: no substances, which melt, and no living
    things, which grow.
    """

    def __init__(self, state: ScienceState) -> None:
        super().__init__(state)
        self._listed: dict[Predicate, bool] = {}

    def _value(self, predicate: Predicate) -> bool | None:
        if predicate.name in ("stands", "way", "visited", "held"):
            return self._all().get(predicate)
        return super()._value(predicate)

    def __iter__(self) -> Iterator[Predicate]:
        """All of it."""
        yield from dict.fromkeys((*super().__iter__(), *self._all()))

    def _all(self) -> Mapping[Predicate, bool]:
        if not self._listed:
            self._listed = dict(self._list())
        return self._listed

    def _list(self) -> Iterator[tuple[Predicate, bool]]:
        state = self._state
        yield ASKED, bool(state.choices)
        yield from ((Predicate("reach", (name,)), True) for name in sorted(self._names))
        yield from ((Predicate("held", (name,)), True) for name in sorted({*names_of(self._held, "inventory")}))
        yield from ((Predicate("open", (f"door to {plain(to)}",)), is_open) for to, is_open in self._here.doors)
        yield from ((door(plain(to)), True) for to, _ in self._here.doors)
        burning = any("on fire" in look for look in state.looks)
        for look in state.looks:  # the latest last: a door is seen from both of its rooms
            room = read_room(look)
            here = plain(room.name)
            lasting = read_things(line for line in room.things if not CHANGES.search(line))
            yield Predicate("visited", (here,)), True
            for to, is_open in room.doors:
                yield from ((Predicate("way", way), is_open) for way in ((here, plain(to)), (plain(to), here)))
            standing = () if burning else names_of(lasting, here)
            yield from ((Predicate("stands", (name, here)), True) for name in standing)


def exploring(state: ScienceState, predicate: Predicate) -> QueryMacro | None:
    """Go and look into the next room that the agent has not been in; None where there is none, or no way is known.

    No description shows where a thing is, so one macro may show that another is needed.
    """
    if predicate.name not in ("reach", "open", "door", "stands", "way", "visited"):
        return None
    new = [room for room in state.rooms if room not in state.visited]
    if _teleports(state):
        return QueryMacro(predicate, (f"teleport to {new[0]}",)) if new else None
    doors = [to for to, is_open in state.room.doors if is_open and to in new]
    return QueryMacro(predicate, (f"go to {doors[0]}",)) if doors else None


def establishing(state: ScienceState, predicate: Predicate, value: bool) -> Sequence[Action] | None:
    """The way into a room, to where a thing was last seen or a door is; a door's opening; None for all else."""
    if not value or predicate.name not in ("at", "reach", "open", "door"):
        return None
    [name] = predicate.args
    here, room = plain(state.room.name), name.removeprefix("door to ")
    if predicate.name == "at" and name == here:
        return []
    if predicate.name == "open" and room in (plain(to) for to, _ in state.room.doors):
        return [f"open door to {room}"]
    known = SeenRooms(state)
    seen = [p.args for p in known if p.name in ("stands", "way")]
    beside = [at for at, to in seen if to == room]
    places = {"at": [name], "open": beside, "door": beside, "reach": [at for n, at in seen if n == name]}
    there = next((place for place in places[predicate.name] if place != here), None)
    return None if there is None else _way(known, here, there, teleports=_teleports(state))


def _way(known: SeenRooms, here: str, there: str, *, teleports: bool) -> Sequence[Action] | None:
    """How to get into a room: by teleporting, else through open doors that were seen; None where no way is known."""
    if teleports:
        return [f"teleport to {there}"]
    ways, queue = {here: list[Action]()}, [here]
    doors = [p.args for p in known if p.name == "way" and known[p]]
    for room in queue:  # grows while it is read: breadth first
        for to in (to for at, to in doors if at == room and to not in ways):
            ways[to] = [*ways[room], f"go to {to}"]
            queue.append(to)
    return ways.get(there)


def _teleports(state: ScienceState) -> bool:
    return bool({"easy", "teleportAction"} & set(state.task.simplification.split(",")))
