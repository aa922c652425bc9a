"""Who competes on what."""

from __future__ import annotations

from experiments.benches.rcsp.competitors import Competitor
from experiments.benches.rcsp.labellers import Boost, Cspy, Pylgrim
from experiments.benches.rcsp.models import Cbc, CpSat, Didp, Highs

OURS = "shortest_path"
CSPY = Cspy.name
BOOST = Boost.name

COMPETITORS: dict[str, tuple[Competitor, ...]] = {
    Cspy.name: (Cspy("forward"), Cspy("both")),
    Boost.name: (Boost(),),
    Didp.name: (Didp("CABS"), Didp("CAASDy"), Didp("Labeling")),
    Cbc.name: (Cbc(),),
    Highs.name: (Highs(),),
    CpSat.name: (CpSat(),),
    Pylgrim.name: (Pylgrim(),),
}
"""By name, the exact algorithms of each: all are tried, and the fastest on an instance is the one that is measured."""

LIBRARY, GENERATED, LARGE, ROAD = "library", "generated", "large", "road"
"""The parts of the benchmark: files, 200 generated instances, 20 of 500 vertices and 5,000 arcs, a road map."""

TOGETHER = (OURS, CSPY, BOOST, Didp.name)
"""Who are measured in one process: quick, and their libraries can be loaded together."""

_EVERY = {Didp.name: 5, Cbc.name: 10, Highs.name: 10, CpSat.name: 10}
"""The slower ones get one generated instance in so many."""

_CSPY_TRIPS = (0, 7)  # cspy needs minutes for most


def competes(name: str, part: str, place: int) -> bool:
    """Whether a competitor runs on the instance at a place of a part of the benchmark."""
    if part == LIBRARY or name in (OURS, BOOST):
        return True
    if name == CSPY:
        return part != ROAD or place in _CSPY_TRIPS
    return part in (GENERATED, LARGE) and name in _EVERY and place % _EVERY[name] == 0
