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
        trajectories: By configuration, in the order of the run; those without a trajectory are left out.
        without: How many episodes of each of those have no chain: they had ended before one could be made.
    """

    trajectories: Mapping[str, list[CertifiedTrajectory]]
    without: Mapping[str, int]

    @property
    def all(self) -> list[CertifiedTrajectory]:
        """The trajectories of all configurations."""
        return [one for found in self.trajectories.values() for one in found]


def trajectories_in(directory: RunDirectory, configurations: Iterable[str] | None = None) -> Found:
    """Read the trajectories of a run's committed episodes.

    Args:
        directory: The run.
        configurations: Only these configurations.

    Raises:
        RunDirectoryError: There is no run.
        UnknownNameError: It has no such configuration.
        TraceError: A trace is malformed.
        ConfigError: No episode has a chain.
    """
    names = [*directory.configurations()]
    wanted = set(names if configurations is None else configurations)
    if unknown := sorted(wanted.difference(names)):
        raise UnknownNameError("configuration", unknown[0], names, f"{directory.path} is another run.")
    found: dict[str, list[CertifiedTrajectory]] = {name: [] for name in names}
    without = dict.fromkeys(names, 0)
    for record in sorted(directory.episodes(), key=lambda record: (record["digest"], record["repeat"])):
        if record["cell"] not in wanted:
            continue
        where = {name: record[name] for name in ("cell", "environment", "task", "digest", "repeat")}
        try:
            made = CertifiedTrajectory.from_trace(directory.trace_file(record["key"]), **where)
        except NotSdpError:
            without[record["cell"]] += 1
            continue
        found[record["cell"]].append(made)
    found = {name: made for name, made in found.items() if made}
    if not found:
        raise ConfigError(
            f"{directory.path} holds no SDP episode, so there is nothing to analyse; play the agent 'sdp' into it"
        )
    return Found(found, {name: without[name] for name in found})
