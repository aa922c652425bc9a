"""The certified trajectories of a run directory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tape.errors import ConfigError, UnknownNameError
from tape.runner.directory import RunDirectory
from tape.sdp.reader import NotSdpError
from tape.sdp.trajectory import CertifiedTrajectory


@dataclass(frozen=True)
class Found:
    """What a run holds.

    Attributes:
        trajectories: By cell, in the order of the cells; cells without a trajectory are left out.
        without: How many episodes of each of those cells have no chain: they had ended before one could be made.
    """

    trajectories: Mapping[str, list[CertifiedTrajectory]]
    without: Mapping[str, int]

    @property
    def all(self) -> list[CertifiedTrajectory]:
        """The trajectories of all cells."""
        return [one for found in self.trajectories.values() for one in found]


def trajectories_in(directory: RunDirectory, cells: Iterable[str] | None = None) -> Found:
    """Read the trajectories of a run's committed episodes.

    Args:
        directory: The run.
        cells: Only these cells.

    Raises:
        RunDirectoryError: There is no run.
        UnknownNameError: It has no such cell.
        TraceError: A trace is malformed.
        ConfigError: No episode has a chain.
    """
    names = [*directory.cells()]
    wanted = set(names if cells is None else cells)
    if unknown := sorted(wanted.difference(names)):
        raise UnknownNameError("cell", unknown[0], names, f"{directory.path} is another run.")
    found: dict[str, list[CertifiedTrajectory]] = {name: [] for name in names}
    without = dict.fromkeys(names, 0)
    for line in sorted(directory.episodes(), key=lambda line: (line["digest"], line["repeat"])):
        if line["cell"] not in wanted:
            continue
        where = {name: line[name] for name in ("cell", "environment", "task", "digest", "repeat")}
        try:
            made = CertifiedTrajectory.from_trace(directory.trace_file(line["key"]), **where)
        except NotSdpError:
            without[line["cell"]] += 1
            continue
        found[line["cell"]].append(made)
    found = {name: made for name, made in found.items() if made}
    if not found:
        raise ConfigError(
            f"{directory.path} holds no SDP episode, so there is nothing to analyse; play the agent 'sdp' into it"
        )
    return Found(found, {name: without[name] for name in found})
