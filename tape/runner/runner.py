"""Plays the episodes of a run that are not committed yet, batch by batch."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tape.budget import Budget, LedgerError, Resources
from tape.errors import BudgetExceededError, ConfigError, TapeError, UnknownNameError
from tape.runner.configurations import Configuration, Job, checked
from tape.runner.derived import write_derived
from tape.runner.directory import RunDirectory
from tape.runner.play import Pool
from tape.runner.run_ledger import RunLedger
from tape.runner.summary import FAULTS
from tape.runner.work import Line, Played, Watcher, Work

__all__ = ["Job", "Line", "Runner", "Watcher", "errored", "find_episode"]

COPIED_AT_ONCE = 256


class Runner:
    """Plays, resumes and summarises one run directory.

    An episode of several configurations is played in the first of them and committed for all.

    Args:
        configurations: The run.
        directory: Its directory.
        pool: Plays the episodes; not closed here.
        watcher: A display.
        shared: Run directories whose episodes are copied instead of played, if the same version of the program made
            them.
        title: A title of the run, for people.
        run_budget: Hard caps on all episodes together, with earlier spending in the same directory. No part of the
            episodes' keys.
        ledger: Address and scope of a ledger that other runs and programs pay from too.

    Attributes:
        exhausted: After :meth:`run`: the refusal of the run's budget because of which episodes are missing.
        spent: After :meth:`run`: the spending of the run so far, if it has or had a budget.

    Raises:
        ConfigError: The configurations contradict themselves or each other, or a cap cannot apply to a run.
        UnknownNameError: There is no such agent.

    Examples:
        >>> from pathlib import Path
        >>> from tape import TapeConfig
        >>> from tape.lm.scripted import ScriptedLM
        >>> from tape.plugins import load
        >>> from tape.runner.configurations import Configuration
        >>> from tape.runner.directory import RunDirectory
        >>> from tape.runner.runner import Runner
        >>> from tape.runner.spec import RunSpec
        >>> from tape.runner.workers import open_pool
        >>> tasks = load("tape.environments", "sokoban").tasks({"levels": "easy", "slack": 2})[:2]
        >>> model = ScriptedLM(['{"thought": "", "action": "left"}'])
        >>> names = {"environment": "sokoban", "agent": "react", "model": "scripted", "model_identity": model.identity}
        >>> spec = RunSpec(config=TapeConfig(), **names)
        >>> with open_pool(1, opened={"scripted": model}) as pool:
        ...     [group] = Runner([Configuration("react", spec, tuple(tasks))], RunDirectory(Path("run")), pool).run()
        >>> group["episodes"], group["end_states"]
        (2, {'budget:steps': 2})
    """

    def __init__(
        self,
        configurations: Sequence[Configuration],
        directory: RunDirectory,
        pool: Pool,
        watcher: Watcher | None = None,
        *,
        shared: Sequence[RunDirectory] = (),
        title: str = "",
        run_budget: Budget | None = None,
        ledger: tuple[str, str] | None = None,
    ) -> None:
        self._shared_ledger = ledger
        self.configurations = checked(configurations)
        self._run_budget = run_budget or Budget()
        if "wall_seconds" in self._run_budget:
            raise ConfigError("wall_seconds is a deadline of single episodes; cap it with --budget, not for a run")
        self.exhausted: BudgetExceededError | None = None
        self.spent: Resources | None = None
        self._directory, self._pool, self._title = directory, pool, title
        self._watcher = watcher or Watcher()
        self._shared = [other for other in shared if other.path.resolve() != directory.path.resolve()]
        self._jobs = {configuration.name: configuration.jobs() for configuration in self.configurations}
        self._places: dict[str, list[tuple[str, Job]]] = {}
        for name, jobs in self._jobs.items():
            for job in jobs:
                self._places.setdefault(job.key, []).append((name, job))
        self._total = sum(map(len, self._jobs.values()))
        self._committed: set[tuple[str, str]] = set()

    def run(self) -> list[dict[str, Any]]:
        """Play missing episodes and write the derived files.

        Returns:
            The summary's groups.

        Raises:
            RunDirectoryError: The directory holds another run, another version of the program began it, or another
                process has its lock.
            UnknownCostError: The run's budget caps a resource of which an unknown amount was or may be spent.
            WorkerError: A worker failed or died. Committed episodes stay; the same command goes on.
            KeyboardInterrupt: Raised again after the summary is written; episodes in flight are dropped, and played
                again later.
        """
        with self._directory.locked():
            self._directory.open(self.configurations, self._title)
            try:
                held = self._directory.episodes()
                self._committed = {(line["cell"], line["key"]) for line in held}
                self._watcher.begun(held, self._total)
                self._copy({line["key"]: line for line in held}, self._directory)
                versions = self._directory.versions()
                for other in self._shared:
                    if other.config_file.exists() and other.versions() == versions:
                        self._copy({line["key"]: line for line in other.episodes()}, other)
                work = self._missing()
                if work:
                    self._directory.require_versions(configuration.spec for configuration in self.configurations)
                with self._ledger(held) as run:
                    if work:
                        unfinished = self._directory.make_folder("unfinished")
                        work = [
                            replace(item, unfinished=unfinished, paid_from=None if run is None else run.paid_from)
                            for item in work
                        ]
                    self._pool.play(work, self._watcher, partial(self._commit, run), run)
            except BaseException:
                with suppress(TapeError):  # the first error is the one to report
                    write_derived(self._directory)
                raise
            if len(self._committed) == self._total:
                shutil.rmtree(self._directory.folder("unfinished"), ignore_errors=True)  # at most leftovers of kills
            return write_derived(self._directory)

    @contextmanager
    def _ledger(self, held: Sequence[Line]) -> Iterator[RunLedger | None]:
        """The run's ledger, if it has a budget or had one before."""
        path = self._directory.path / "run-ledger.jsonl"
        if not self._run_budget and self._shared_ledger is None and not path.exists():
            yield None
            return
        before = {line["key"]: Resources(line["result"]["paid"]) for line in held}
        run = RunLedger(path, self._run_budget, sum(before.values(), Resources()), self._shared_ledger)
        try:
            self._report(run)
            yield run
            with suppress(LedgerError):  # it was taken away, and everything is committed
                self.spent = run.spent()
        finally:
            run.payer.close()
            if len(self._committed) < self._total:
                self.exhausted = run.refused

    def _report(self, run: RunLedger | None) -> None:
        """Show what is left of the run's budget."""
        if run is not None and run.budget:
            with suppress(LedgerError):  # the next call says so, and this episode has ended
                self._watcher.drained(run.left(), run.budget)

    def _missing(self) -> list[Work]:
        """The batches with a missing episode, in order; the episodes of a batch never change."""
        missing = []
        for configuration in self.configurations:
            jobs, size = self._jobs[configuration.name], configuration.spec.batch
            for first in range(0, len(jobs), size):
                batch = jobs[first : first + size]
                kept = frozenset(job.key for job in batch if not self._is_ours(configuration.name, job.key))
                if len(kept) < len(batch):
                    missing.append(Work(configuration.name, configuration.spec, tuple(batch), kept))
        return missing

    def _is_ours(self, configuration: str, key: str) -> bool:
        """Whether an episode is missing, and this configuration plays it.

        This must not depend on which batch ends first, because an episode's last digits depend on its batch.
        """
        return self._places[key][0][0] == configuration and (configuration, key) not in self._committed

    def _commit(self, run: RunLedger | None, work: Work, played: Played) -> None:
        self._report(run)
        if self._is_ours(work.configuration, key := played.line["key"]):
            self._append(self._lines(played.line), {key: played.trace})

    def _lines(self, line: Line) -> list[Line]:
        """An episode's line for every configuration in which it is missing."""
        named = []
        for configuration, job in self._places.get(line["key"], ()):
            if (configuration, job.key) not in self._committed:
                named.append({**line, "cell": configuration, "level_set": job.task.level_set})
        return named

    def _copy(self, lines: Mapping[str, Line], source: RunDirectory) -> None:
        """Commit the missing episodes that a source has."""
        wanted = [key for key in self._places if key in lines and self._lines(lines[key])]
        if source is not self._directory:
            wanted = [key for key in wanted if source.trace_file(key).exists()]
        for first in range(0, len(wanted), COPIED_AT_ONCE):
            keys = wanted[first : first + COPIED_AT_ONCE]
            traces: dict[str, Path] = {}
            if source is not self._directory:
                traces = {key: source.trace_file(key) for key in keys}
            self._append([line for key in keys for line in self._lines(lines[key])], traces)

    def _append(self, lines: Sequence[Line], traces: Mapping[str, str] | Mapping[str, Path]) -> None:
        self._directory.append(lines, traces)
        for line in lines:
            self._committed.add((line["cell"], line["key"]))
            self._watcher.finished(line, len(self._committed), self._total)


def errored(groups: Sequence[Mapping[str, Any]]) -> int:
    """Episodes that ended by a fault of model, environment or solver."""
    return sum(group["end_states"].get(fault, 0) for group in groups for fault in FAULTS)


def find_episode(directory: RunDirectory, name: str | None) -> Line:
    """An episode by number from 1, key, task, or a unique part of these; by default the first.

    Raises:
        UnknownNameError: There is no such episode.
        ConfigError: There are several; lists their numbers.
    """
    episodes = directory.episodes()
    if name is None and episodes:
        return episodes[0]
    wanted = str(name).casefold()
    is_part = wanted and (not wanted.isdigit() or wanted.startswith("0"))  # 12 is a number, 04 may be part of a name
    ways: list[Callable[[int, Line], bool]] = [
        lambda number, _: str(number) == wanted,
        lambda _, line: wanted in (line["key"], *(name.casefold() for name in (line["task"], _repeat(line)))),
        lambda _, line: (
            bool(is_part)
            and (wanted in line["task"].casefold() or (len(wanted) >= _LEAST_KEY and line["key"].startswith(wanted)))
        ),
    ]
    for matches in ways:
        # The same episode may stand in several configurations.
        pairs = {line["key"]: (number, line) for number, line in enumerate(episodes, 1) if matches(number, line)}
        if len(pairs) == 1:
            return next(iter(pairs.values()))[1]
        if pairs:
            listed = _listed([f"{number} ({_repeat(line)})" for number, line in pairs.values()])
            raise ConfigError(f"{len(pairs)} episodes match {name!r}: {listed}; give the number of one")
    known = [f"{number} ({line['task']})" for number, line in enumerate(episodes, 1)]
    more = f"{len(known) - MOST_LISTED} more; `--list` lists them all" if len(known) > MOST_LISTED else ""
    raise UnknownNameError("episode", str(name), known[:MOST_LISTED], more)


MOST_LISTED = 9
"""Episodes in one message."""

_LEAST_KEY = 4
"""Least number of characters of a key that find an episode."""


def _repeat(line: Line) -> str:
    return f"{line['task']} #{line['repeat']}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more
