"""All instances of the benchmark: files, generated ones, and trips on a road map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.benches.rcsp.competitors import Instance
from experiments.benches.rcsp.generate import large_specs, specs
from experiments.benches.rcsp.registry import GENERATED, LARGE, LIBRARY, ROAD
from experiments.benches.rcsp.road import TRIPS
from solvers import RcspProblem, read_rcsp

PUBLISHED = {
    ("rcsp1", 955): 131, ("rcsp3", 959): 2, ("rcsp5", 990): 100, ("rcsp7", 999): 6, ("rcsp9", 2040): 420,
    ("rcsp11", 1971): 6, ("rcsp13", 2080): 448, ("rcsp15", 1960): 9, ("rcsp17", 4858): 652, ("rcsp19", 4978): 6,
    ("rcsp21", 4847): 858, ("rcsp23", 4868): 4,
}  # fmt: skip
"""The published optima of the OR-Library's instances with odd numbers, by name and arcs (others have their names)."""

COUNTS = {GENERATED: 200, LARGE: 20, ROAD: len(TRIPS)}
QUICK = {GENERATED: 15, LARGE: 2, ROAD: 1}


@dataclass(frozen=True)
class Entry:
    """An instance that is not built yet.

    Attributes:
        part: The part of the benchmark; see `registry`.
        place: Its place in that part.
        name: Names it; unique.
        build: Makes the problem.
    """

    part: str
    place: int
    name: str
    build: Callable[[], RcspProblem]

    def instance(self) -> Instance:
        """The instance."""
        return Instance(self.name, self.part, self.build())


def entries(data: Path | None, quick: bool = False) -> list[Entry]:
    """The whole benchmark, or a few instances of each part.

    Args:
        data: A folder of files in the OR-Library's format, or one such file; None for none.
        quick: A few of each part; of files all.

    Raises:
        ValueError: If the folder has no such files.
    """
    counts = QUICK if quick else COUNTS
    found = list(_files(data)) if data is not None else []
    for part, made in ((GENERATED, specs(counts[GENERATED])), (LARGE, large_specs(counts[LARGE]))):
        found += [Entry(part, place, spec.name, spec.build) for place, spec in enumerate(made)]
    trips = TRIPS[-counts[ROAD] :]
    found += [Entry(ROAD, TRIPS.index(trip), f"road: {trip.name}", trip.build) for trip in trips]
    return found


def entry(name: str, data: Path | None) -> Entry:
    """The instance of a name.

    Raises:
        KeyError: If there is none.
    """
    return {one.name: one for one in entries(data)}[name]


def _files(data: Path) -> Iterator[Entry]:
    paths: Sequence[Path] = [data] if data.is_file() else sorted(data.glob("*.txt"), key=_order)
    if not paths:
        raise ValueError(f"{data}: no files *.txt in the OR-Library's format there")
    for place, path in enumerate(paths):
        yield Entry(LIBRARY, place, path.stem, lambda path=path: read_rcsp(path))  # type: ignore[misc]


def _order(path: Path) -> tuple[int, str]:
    digits = "".join(filter(str.isdigit, path.stem))
    return int(digits or 0), path.stem
