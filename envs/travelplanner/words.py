"""Names for our own cities and offers, from ``data/names.toml``; none is taken from the public benchmark's database."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from envs.data_files import Folder, read_toml

KINDS = ("cities", "stays", "restaurants", "attractions")


@dataclass(frozen=True)
class Names:
    """The content of ``names.toml``.

    Attributes:
        states: Names of states.
        halves: By kind (:data:`KINDS`), the first and the second halves of names.
    """

    states: tuple[str, ...]
    halves: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]


def read_names(folder: Folder) -> Names:
    """Read ``names.toml`` in a folder of data files.

    Raises:
        DataFileError: The file is malformed; names the place.
    """
    file = read_toml(folder, "names.toml").only("states", *KINDS)
    halves = {}
    for kind in KINDS:
        entry = file.table(kind).only("first", "second")
        halves[kind] = entry.texts("first"), entry.texts("second")
    return Names(file.texts("states"), halves)


_NAMES = read_names(resources.files("envs.travelplanner") / "data")


def states() -> tuple[str, ...]:
    """Names of states."""
    return _NAMES.states


def names(rng: random.Random, kind: str, count: int) -> list[str]:
    """Distinct names of a kind (:data:`KINDS`): of cities, or of what one city offers."""
    first, second = _NAMES.halves[kind]
    gap = "" if kind == "cities" else " "
    return rng.sample([f"{a}{gap}{b}" for a in first for b in second], count)
