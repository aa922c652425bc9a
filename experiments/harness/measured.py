"""What a run measured, by setting, model and method; read from its directory alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from experiments.harness.matrix import split
from experiments.harness.plots import Value
from tape.errors import RunDirectoryError
from tape.reading import read_json, shaped
from tape.runner.derived import in_order
from tape.runner.directory import RunDirectory
from tape.runner.spec import RunSpec
from tape.statistics import Paired, paired

Record = Mapping[str, Any]
"""What ``episodes.jsonl`` holds of an episode."""

Outcomes = dict[tuple[str, int], float]

T = TypeVar("T")
Notes = dict[tuple[str, str, int], dict[str, Any]]
"""What tables take of an episode beside its result, by configuration, task's digest and repeat."""


def count(result: Mapping[str, Any], name: str) -> float:
    """A count of an episode, or of a method in it; 0 where the method was not in use."""
    return float(result[name] if name in result else result["method"].get(name, 0))


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
        notes: See :meth:`note`.
        others: See :meth:`rows`.
        published: Whether it was read from published files, so that there are no traces to ask.
    """

    directory: RunDirectory
    specs: Mapping[str, RunSpec]
    records: Mapping[str, Sequence[Record]]
    groups: Mapping[str, Mapping[str, Any]]
    times: bool = True
    notes: Notes = field(default_factory=dict)
    others: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    published: bool = False

    @classmethod
    def load(cls, directory: RunDirectory, groups: Iterable[Mapping[str, Any]]) -> Measured:
        """Read a run directory.

        Args:
            directory: The run.
            groups: Its derived groups.
        """
        specs = directory.configurations()
        records: dict[str, list[Record]] = {name: [] for name in specs}
        for record in in_order(directory.episodes(), list(specs)):
            records[record["cell"]].append(record)
        return cls(directory, specs, records, {group["cell"]: group for group in groups})

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

    def played(self) -> list[tuple[str, str, str, str]]:
        """Setting, model, method and name of every configuration that has episodes, in order."""
        every = product(self.settings(), self.models(), self.methods())
        return [(*parts, name) for parts in every if (name := self.name(*parts)) is not None]

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

    def note(self, record: Record, name: str, find: Callable[[], T]) -> T:
        """What a table takes of an episode from anywhere but its record, as its trace or its task.

        It is found once, published with the episode, and read from there where the table is made again, so that every
        published number can be recomputed without traces.

        Args:
            record: The episode.
            name: What it is, a column of the published file.
            find: Finds it: a flag, a number, a text, None, or what JSON takes.

        Raises:
            RunDirectoryError: The published episodes lack it.
        """
        held = self.notes.setdefault((record["cell"], record["digest"], record["repeat"]), {})
        if name not in held:
            self._require(f"note {name!r} of episodes")
            held[name] = find()
        item: T = held[name]
        return item

    def rows(self, name: str, find: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        """What a table takes from anywhere but the episodes, as rows that are published with these.

        Args:
            name: What they are; many are a file of this name beside the episodes'.
            find: Finds them; all have the same keys, and values as those of notes.

        Raises:
            RunDirectoryError: They are not among what was published.
        """
        if name not in self.others:
            self._require(f"rows {name!r}")
            self.others[name] = find()
        return self.others[name]

    def _require(self, what: str) -> None:
        if self.published:
            raise RunDirectoryError(f"{self.directory.path} lacks the {what}; play the study anew with --publish")

    def missing(self) -> int:
        """Episodes asked for and not played yet, as far as the tasks seen so far show."""
        missing = 0
        for setting in self.settings():
            mine = {name: result for name, result in self.records.items() if split(name)[0] == setting}
            levels = max(len({record["digest"] for record in result}) for result in mine.values())
            missing += sum(max(1, levels) * self.specs[name].repeats - len(result) for name, result in mine.items())
        return missing
