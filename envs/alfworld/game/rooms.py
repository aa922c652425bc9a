"""What our own houses look like: furniture of four rooms and where things tend to be, from ``data/rooms.toml``.

The numbers are our own, chosen by common sense and never fitted to any of the official games.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType

from envs.alfworld.game.kinds import LAMPS, OBJECTS, RECEPTACLES, check_known
from envs.data_files import Folder, TableEntry, read_toml

_MOST_LIKELY = 100.0


@dataclass(frozen=True)
class Liking:
    """Objects that are more or less likely in some receptacles.

    Attributes:
        things: Kinds of objects.
        factors: By kind of receptacle; 1 for others.
    """

    things: frozenset[str]
    factors: Mapping[str, float]


@dataclass(frozen=True)
class Rooms:
    """The content of ``rooms.toml``.

    Attributes:
        furniture: By room, the fewest and most of each kind of receptacle.
        things: By room, kinds of objects.
        places: How likely an object is in one receptacle of a kind, up to a factor; 1 for others.
        likings: What differs from that; no object is in two of them.
        lamp_places: Kinds of receptacles that lamps stand on.
        sometimes_open: Share of the receptacles of a kind that cannot be closed.
    """

    furniture: Mapping[str, Mapping[str, tuple[int, int]]]
    things: Mapping[str, tuple[str, ...]]
    places: Mapping[str, float]
    likings: tuple[Liking, ...]
    lamp_places: tuple[str, ...]
    sometimes_open: Mapping[str, float]


def read_rooms(folder: Folder) -> Rooms:
    """Read ``rooms.toml`` in a folder of data files.

    Raises:
        DataFileError: The file is not as it should be; the message names the place.
    """
    file = read_toml(folder, "rooms.toml").only("rooms", "places", "likings", "lamps", "sometimes_open")
    furniture, things = {}, {}
    for room in file.table("rooms").tables():
        room.only("things", "furniture")
        name = room.name.rpartition(".")[2]
        table = room.table("furniture")
        furniture[name] = {kind: _counts(table, kind) for kind in _receptacles(table)}
        things[name] = _objects(room)
    likings: list[Liking] = []
    for entry in file.table("likings").tables():
        entry.only("things", "factors")
        its = frozenset(_objects(entry))
        twice = sorted(thing for thing in its for liking in likings if thing in liking.things)
        if twice:
            raise entry.error("things", f"{twice[0]!r} has another liking too; leave one out")
        likings.append(Liking(its, _numbers(entry.table("factors"), _MOST_LIKELY)))
    lamps = file.table("lamps").only("places")
    check_known(lamps, "places", lamps.words("places"), RECEPTACLES)
    return Rooms(
        MappingProxyType(furniture),
        MappingProxyType(things),
        _numbers(file.table("places"), _MOST_LIKELY),
        tuple(likings),
        lamps.words("places"),
        _numbers(file.table("sometimes_open"), 1.0),
    )


def _objects(entry: TableEntry) -> tuple[str, ...]:
    check_known(entry, "things", entry.words("things"), OBJECTS)
    return entry.words("things")


def _receptacles(table: TableEntry) -> tuple[str, ...]:
    for kind in table.fields:
        check_known(table, kind, (kind,), RECEPTACLES)
    return tuple(table.fields)


def _numbers(table: TableEntry, high: float) -> Mapping[str, float]:
    return MappingProxyType({kind: table.number(kind, 0.0, high) for kind in _receptacles(table)})


def _counts(table: TableEntry, kind: str) -> tuple[int, int]:
    match table.fields[kind]:
        case [int(least), int(most)] if 0 <= least <= most:
            return least, most
        case value:
            raise table.error(kind, f"is {value!r:.40}; give the fewest and the most, for instance [1, 3]")


_ROOMS = read_rooms(resources.files("envs.alfworld") / "data")

FURNITURE = _ROOMS.furniture
"""Fewest and most of each kind of receptacle in a room."""

THINGS = _ROOMS.things
"""Kinds of objects of a room."""

LAMP_PLACES = _ROOMS.lamp_places
"""Kinds of receptacles that lamps stand on."""

SOMETIMES_OPEN = _ROOMS.sometimes_open
"""Share of the receptacles of a kind that cannot be closed."""


def tendency(thing: str, receptacle: str) -> float:
    """How likely a kind of object is in one receptacle of a kind that can hold it, up to a factor."""
    if thing in LAMPS:
        return float(receptacle in LAMP_PLACES)
    factors = next((liking.factors for liking in _ROOMS.likings if thing in liking.things), {})
    return factors.get(receptacle, 1.0) * _ROOMS.places.get(receptacle, 1.0)
