"""The grounder of ScienceWorld (AEC eq. 9): what the last description of each room shows, by all its names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from envs.scienceworld.commands import names_of
from envs.scienceworld.predicates import Shown
from envs.scienceworld.reading import read_room
from envs.scienceworld.state import ScienceState
from envs.scienceworld.things import plain, read_things
from tape.protocols import Action
from tape.protocols.predicates import Predicate, QueryMacro


class Grounded(Shown):
    """What a state shows, and what was seen of other rooms when the agent was last in them.

    Beside :class:`Shown` it lists ``reach`` of all that is in sight, ``open`` of the doors here, and of every room that
    the agent has been in ``visited``, ``stands(THING, ROOM)`` and ``way(ROOM, ROOM)``.
    """

    def __init__(self, state: ScienceState) -> None:
        super().__init__(state)
        self._listed: dict[Predicate, bool] = {}

    def _value(self, predicate: Predicate) -> bool | None:
        if predicate.name in ("stands", "way", "visited"):
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
        yield from ((Predicate("reach", (name,)), True) for name in sorted(self._names))
        yield from ((Predicate("open", (f"door to {plain(to)}",)), is_open) for to, is_open in self._here.doors)
        for look in state.looks:
            room = read_room(look)
            here = plain(room.name)
            yield Predicate("visited", (here,)), True
            yield from ((Predicate("way", (here, plain(to))), is_open) for to, is_open in room.doors)
            yield from ((Predicate("stands", (name, here)), True) for name in names_of(read_things(room.things), here))


def exploring(state: ScienceState, predicate: Predicate) -> QueryMacro | None:
    """Go and look into the next room that the agent has not been in; None where there is none, or no way is known.

    No description shows where a thing is, so one macro may show that another is needed.
    """
    if predicate.name not in ("reach", "open", "stands", "way", "visited"):
        return None
    new = [room for room in state.rooms if room not in state.visited]
    if _teleports(state):
        return QueryMacro(predicate, (f"teleport to {new[0]}",)) if new else None
    doors = [to for to, is_open in state.room.doors if is_open and to in new]
    return QueryMacro(predicate, (f"go to {doors[0]}",)) if doors else None


def way_into(state: ScienceState, predicate: Predicate, value: bool) -> Sequence[Action] | None:
    """The way into a room, where the task's simplifications allow to teleport; None for all else."""
    if predicate.name != "at" or not value or not _teleports(state):
        return None
    [room] = predicate.args
    return [] if plain(state.room.name) == room else [f"teleport to {room}"]


def _teleports(state: ScienceState) -> bool:
    return bool({"easy", "teleportAction"} & set(state.task.simplification.split(",")))
