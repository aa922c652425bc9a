"""Sets of games: those that ship with the package, and the official ones from a folder."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path

from envs.alfworld.errors import AlfworldError, GameError, UnsolvableGameError
from envs.alfworld.game.game_data import GameData, read_game_data
from envs.alfworld.game.game_file import game_text, read_house
from envs.alfworld.game.goal import read_goal
from envs.alfworld.game.house import House, parse_house
from envs.alfworld.game.oracle import PUT

PACKAGED = ("packaged", "dev")
SPLITS = ("train", "valid_seen", "valid_unseen")
"""The official names."""

VARIABLE = "ALFWORLD_DATA"
GAME_FILE = "game.tw-pddl"

_MOST_REASONS = 10
"""Most reasons for skipped games that a message lists; every broken game has its own."""
_NOT_AMONG_THE_SIX = ("movable", "Sliced")
"""Marks in the names of official folders whose tasks are none of the six: those with a container, or slicing."""


@dataclass(frozen=True)
class AlfworldGame:
    """A game to play.

    Attributes:
        name: Unique within its set.
        split: Set that it is from.
        house: Its house; no agent may see it.
        put_template: The command that puts ``{o}`` into ``{r}``.
        path: Where the file is, for an official game.
    """

    name: str
    split: str
    house: House
    put_template: str = PUT
    path: Path | None = field(default=None, compare=False)

    def data(self) -> GameData:
        """What the engine plays."""
        return read_game_data(game_text(self.house) if self.path is None else self.path)


def load_games(split: str, data: str | os.PathLike[str] | None = None, limit: int | None = None) -> list[AlfworldGame]:
    """Load a set of games.

    Args:
        split: ``packaged`` or ``dev``, which need no download, or an official split.
        data: A folder of official games: one game, a split, ``json_2.1.1``, or what contains that; the variable
            ``ALFWORLD_DATA`` if None.
        limit: Most games. The order is fixed and mixes the task types of official games.

    Raises:
        AlfworldError: There is no such set, or its games are not there.
        GameError: A game file is broken.
    """
    if limit is not None and limit < 1:
        raise AlfworldError(f"the number of games must be at least 1, got {limit}")
    if split in PACKAGED:
        return list(_packaged(split)[:limit])
    if split not in SPLITS:
        raise AlfworldError(
            f"there is no set of games {split!r}; there is {', '.join(PACKAGED)}, and of the official games "
            f"{', '.join(SPLITS)}"
        )
    skipped: Counter[str] = Counter()
    games = list(islice(_official(split, _find(split, data), skipped), limit))
    reasons = ", ".join(f"{count} {why}" for why, count in sorted(skipped.items())[:_MOST_REASONS])
    if len(skipped) > _MOST_REASONS:
        reasons += f", and {len(skipped) - _MOST_REASONS} other reasons"
    if skipped and games:
        warnings.warn(f"{split}: games were passed over: {reasons}", UserWarning, stacklevel=2)
    if not games:
        raise AlfworldError(f"{split}: none of the games that were found can be used: {reasons}")
    return games


@cache
def _packaged(split: str) -> tuple[AlfworldGame, ...]:
    source = f"{split}.json"
    text = (files("envs.alfworld") / "data" / source).read_text(encoding="utf-8")
    lines = (line.rstrip(",") for line in text.splitlines() if line.startswith("{"))
    return tuple(AlfworldGame(name, split, house) for name, house in (parse_house(line, source) for line in lines))


@cache
def held_out() -> frozenset[str]:
    """Digests of the houses of all shipped games, which no training data may hold."""
    return frozenset(game.house.digest() for split in PACKAGED for game in _packaged(split))


def _find(split: str, data: str | os.PathLike[str] | None) -> list[Path]:
    """The game files of an official split, in their fixed order."""
    given = data if data is not None else os.environ.get(VARIABLE)
    help_ = (
        "it is a folder of the official ALFWorld data (format json_2.1.1, from `alfworld-download`): give it by "
        f"--data DIR or the environment variable {VARIABLE}. The games of {' and '.join(PACKAGED)} need no download"
    )
    if not given:
        raise AlfworldError(f"the games of {split} do not ship with the package and no folder is given; {help_}")
    root = Path(os.path.expanduser(os.path.expandvars(given))).absolute()  # Path's raises where nobody has a home
    if not root.is_dir():
        raise AlfworldError(f"the games of {split} were looked for in {root}, which is no folder; {help_}")
    paths = sorted(root.rglob(GAME_FILE))
    # A folder of games outside the official folders is of whichever split is asked for.
    there = {path: path.parents[2].name for path in paths if path.parents[2].name in SPLITS}
    wanted = [path for path in paths if there.get(path, split) == split]
    if not wanted:
        others = ", ".join(sorted(set(there.values()))) or f"no {GAME_FILE} at all"
        raise AlfworldError(f"there are no games of {split} in {root}, only {others}; {help_}")
    return sorted(wanted, key=lambda path: hashlib.sha256(_name(path).encode()).hexdigest())


def _name(path: Path) -> str:
    """Folder of the task and of the trial."""
    return f"{path.parents[1].name}/{path.parent.name}"


def _official(split: str, paths: list[Path], skipped: Counter[str]) -> Iterator[AlfworldGame]:
    """The games that can be played; counts the others by reason, a broken one by what is wrong with it."""
    for path in paths:
        if any(mark in path.parents[1].name for mark in _NOT_AMONG_THE_SIX):
            skipped["of other task types"] += 1
            continue
        try:
            data = read_game_data(path)
            if not _is_known(data.task):
                skipped["whose task is none of the six"] += 1
                continue
            house = read_house(data)
        except UnsolvableGameError:
            skipped["not solvable"] += 1
        except GameError as error:
            skipped[f"broken ({error})"] += 1
        else:
            yield AlfworldGame(_name(path), split, house, data.put_template, path)


def _is_known(task: str) -> bool:
    try:
        read_goal(task)
    except GameError:
        return False
    return True
