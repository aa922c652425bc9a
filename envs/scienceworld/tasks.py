"""The thirty tasks: official splits of their variations, and groups by the length of gold paths."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

from envs.scienceworld.errors import ScienceWorldError
from tape.reading import read_json

DATA = Path(__file__).parent / "data" / "tasks.json"
"""Written by :mod:`envs.scienceworld.make_tasks`."""

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")

SHORT, MEDIUM = 20, 50
"""A task is short if the measured gold paths take up to 20 steps on average, medium up to 50, else long [ours]: the
paper's table 4 has the three groups and does not give their bounds."""

GROUPS = ("all", "short", "medium", "long")


@dataclass(frozen=True)
class TaskInfo:
    """One of the thirty tasks.

    Attributes:
        topic: What it is about.
        title: Its title.
        splits: The first variation of each split, and one more than the last.
        gold: Per measured variation: steps of the gold path with simplifications ``easy``, and the score it reaches.
        name: As the simulator calls it; in the file it is the key.
    """

    topic: str
    title: str
    splits: dict[str, tuple[int, int]]
    gold: dict[int, tuple[int, int]]
    name: str = ""

    @property
    def variations(self) -> int:
        """How many variations there are."""
        return max(end for _, end in self.splits.values())

    @property
    def mean_length(self) -> float:
        """Mean steps of the measured gold paths."""
        return fmean(steps for steps, _ in self.gold.values())

    @property
    def group(self) -> str:
        """``short``, ``medium`` or ``long``."""
        return "short" if self.mean_length <= SHORT else "medium" if self.mean_length <= MEDIUM else "long"

    def split(self, name: str) -> range:
        """The variations of a split."""
        return range(*self.splits[name])


@functools.cache
def all_tasks() -> dict[str, TaskInfo]:
    """The tasks by their names."""
    rows = read_json(DATA, dict[str, TaskInfo], error=ScienceWorldError)
    return {name: replace(row, name=name) for name, row in rows.items()}


def named(what: str) -> list[TaskInfo]:
    """The tasks that a name or a group stands for, several by commas.

    Raises:
        ScienceWorldError: There is no such task or group.
    """
    tasks, info = all_tasks(), dict[str, TaskInfo]()
    for name in what.split(","):
        if name in tasks:
            info[name] = tasks[name]
        elif name in GROUPS:
            info |= {task.name: task for task in tasks.values() if name in ("all", task.group)}
        else:
            raise ScienceWorldError(
                f"ScienceWorld has no task or group {name!r}; groups: {', '.join(GROUPS)}; tasks: {', '.join(tasks)}"
            )
    return list(info.values())


def chosen(task: TaskInfo, split: str, which: str, skip: int = 0) -> list[int]:
    """The variations that are asked for.

    Args:
        task: The task.
        split: ``train``, ``dev`` or ``test``.
        which: A number: so many of the split, from the first that is not skipped on. Or these very variations,
            whatever their split:
            ``7-9`` or ``3,7-9``.
        skip: How many of the split are left out before.

    Raises:
        ScienceWorldError: It has no such variations.
    """
    if split not in SPLITS:
        raise ScienceWorldError(f"ScienceWorld has the splits {', '.join(SPLITS)}, not {split!r}")
    try:
        if which.isdecimal():
            words = list(task.split(split)[max(skip, 0) :][: int(which)])
        else:
            ranges = [[int(end) for end in part.split("-")] for part in which.split(",") if part]
            # One beyond the last is enough to be refused, and keeps a range of a million millions from being made.
            last = task.variations
            words = [each for ends in ranges for each in range(min(ends[0], last), min(ends[-1], last) + 1)]
    except ValueError:
        raise ScienceWorldError(f"--variations {which!r}: give a number such as 3, or variations as in 3,7-9") from None
    wrong = [variation for variation in words if not 0 <= variation < task.variations]
    if wrong or not words:
        raise ScienceWorldError(
            f"{task.name} has the variations 0 to {task.variations - 1} ({split}: {task.split(split)[0]} to "
            f"{task.split(split)[-1]}); --variations {which!r} names {'others' if wrong else 'none'}"
        )
    return words
