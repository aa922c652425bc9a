"""What a run measured, by setting, model and method; read from its directory alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.harness.matrix import split
from tape.errors import RunDirectoryError
from tape.reading import read_json, shaped
from tape.runner.derived import in_order
from tape.runner.directory import RunDirectory
from tape.runner.spec import RunSpec
from tape.show.plots import Value
from tape.statistics import Paired, clustered, paired

Record = Mapping[str, Any]
"""What ``episodes.jsonl`` holds of an episode."""

Outcomes = dict[tuple[str, int], float]


def groups_of(run: Path) -> list[dict[str, Any]]:
    """The groups in the summary of a run directory.

    Raises:
        RunDirectoryError: There is no readable summary.
    """
    file = run / "summary.json"
    groups = read_json(file, dict[str, Any], error=RunDirectoryError).get("groups")
    return shaped(groups, list[dict[str, Any]], f"{file}: field groups", error=RunDirectoryError)


@dataclass(frozen=True)
class Measured:
    """The episodes and groups of one run.

    Attributes:
        directory: Where they are.
        specs: The configurations by name, in order.
        records: The configurations' episodes by name, in the order of levels and repeats.
        groups: Their statistics by name; those without episodes have none.
        times: Whether tables may show what differs from machine to machine.
    """

    directory: RunDirectory
    specs: Mapping[str, RunSpec]
    records: Mapping[str, Sequence[Record]]
    groups: Mapping[str, Mapping[str, Any]]
    times: bool = True

    @classmethod
    def load(cls, directory: RunDirectory, groups: Iterable[Mapping[str, Any]], *, times: bool = True) -> Measured:
        """Read a run directory.

        Args:
            directory: The run.
            groups: Its derived groups.
            times: See the class.
        """
        specs = directory.configurations()
        records: dict[str, list[Record]] = {name: [] for name in specs}
        for record in in_order(directory.episodes(), list(specs)):
            records[record["cell"]].append(record)
        return cls(directory, specs, records, {group["cell"]: group for group in groups}, times)

    @classmethod
    def read(cls, path: Path) -> Measured:
        """Read a run directory with its own summary."""
        return cls.load(RunDirectory(path), groups_of(path))

    def settings(self) -> list[str]:
        """The settings, in order."""
        return list(dict.fromkeys(split(name)[0] for name in self.specs))

    def models(self) -> list[str]:
        """The models, in order."""
        return list(dict.fromkeys(split(name)[1] for name in self.specs))

    def methods(self) -> list[str]:
        """The methods, in order."""
        return list(dict.fromkeys(split(name)[2] for name in self.specs))

    def name(self, setting: str, model: str, method: str) -> str | None:
        """The name of a configuration that has episodes."""
        wanted = (setting, model, method)
        return next((name for name in self.groups if split(name) == wanted), None)

    def group(self, setting: str, model: str, method: str) -> Mapping[str, Any] | None:
        """The statistics of a configuration."""
        name = self.name(setting, model, method)
        return None if name is None else self.groups[name]

    def success(self, setting: str, model: str, method: str) -> Value | None:
        """Success with its interval."""
        group = self.group(setting, model, method)
        return None if group is None else Value(group["success_rate"], *group["ci95"])

    def outcomes(
        self,
        setting: str,
        model: str,
        method: str,
        of: Callable[[Record], float] = lambda record: record["result"]["success"],
    ) -> Outcomes:
        """A number per (level, repeat), for paired differences."""
        name = self.name(setting, model, method)
        return {} if name is None else {(r["digest"], r["repeat"]): float(of(r)) for r in self.records[name]}

    def difference(self, setting: str, model: str, ours: str, against: str) -> Paired | None:
        """Our success minus another's on identical levels; None if they share no episode."""
        a, b = self.outcomes(setting, model, ours), self.outcomes(setting, model, against)
        return paired(a, b) if a.keys() & b.keys() else None

    def used(self, setting: str, model: str, method: str) -> Value | None:
        """Mean share of the step budget that was used, with the interval by level."""
        name = self.name(setting, model, method)
        if name is None:
            return None
        records = self.records[name]
        shares = [record["result"]["steps"] / record["result"]["budget"]["steps"] for record in records]
        return Value(fmean(shares), *clustered(shares, [record["digest"] for record in records]))

    def missing(self) -> int:
        """Episodes asked for and not played yet, as far as the tasks seen so far can tell."""
        missing = 0
        for setting in self.settings():
            mine = {name: found for name, found in self.records.items() if split(name)[0] == setting}
            levels = max(len({record["digest"] for record in found}) for found in mine.values())
            missing += sum(max(1, levels) * self.specs[name].repeats - len(found) for name, found in mine.items())
        return missing
