"""One ALFWorld game on the real TextWorld engine."""

from __future__ import annotations

import functools
import importlib
import warnings
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from types import ModuleType
from typing import Any, NamedTuple

from envs.alfworld.errors import GameError
from envs.alfworld.game.game_data import GameData, read_game_data
from tape.errors import MissingExtraError
from tape.plugins import missing_extra

_PACKAGES = ("textworld", "fast_downward")

Fact = tuple[str, ...]
"""A predicate and readable names, for instance ``("in", "apple 1", "fridge 1")``."""

_RENAMED = {
    "opened": "open",
    "openable": "openable",
    "holds": "holding",
    "isclean": "clean",
    "ishot": "hot",
    "iscool": "cool",
    "istoggled": "lit",
    "inreceptacle": "in",
}


class GameView(NamedTuple):
    """What a player gets.

    Attributes:
        text: What the game writes.
        admissible: All commands that do something now, in alphabetical order.
        won: Whether the goal is met, as the engine judges it.
        lost: Whether the engine knows that the game is lost; in these games it never does.
    """

    text: str
    admissible: tuple[str, ...]
    won: bool
    lost: bool


class TextWorldGame:
    """A game in an engine of its own.

    Args:
        game: A game file, its text, or what was read of it.
        fast: Whether to use the accelerated engine where it was proven equal to the original (see
            :mod:`envs.alfworld.game.fast_textworld`).

    Raises:
        GameError: The file is broken, or the engine cannot play it.
        MissingExtraError: TextWorld is not installed.
    """

    def __init__(self, game: str | PathLike[str] | GameData, *, fast: bool = True) -> None:
        data = game if isinstance(game, GameData) else read_game_data(game)
        engines = _engines()
        wanted = engines.FastEnv if fast and _proven(engines.VERSIONS) else engines.StockEnv
        self.source = data.source
        self._environment: Any = wanted()
        self._close = weakref.finalize(self, self._environment.close)  # a forgotten game gives its library back too
        self._started = False
        with self._playing():
            self._environment.load(data)

    def reset(self) -> GameView:
        """Start the game, or start it again."""
        self._started = True
        engine = self._engine()
        with self._playing():
            return _view(engine.reset())

    def step(self, command: str) -> GameView:
        """Type a command; one that is not admissible changes nothing.

        Raises:
            GameError: The game was not started or is closed, or the engine cannot play it on.
        """
        if not self._started:
            raise GameError(f"{self.source}: the game was not started, call reset() first")
        engine = self._engine()
        with self._playing():
            state, _, _ = engine.step(command)
            return _view(state)

    @contextmanager
    def _playing(self) -> Iterator[None]:
        """Name the game that the engine failed at; a game that breaks its rules may fail at any step."""
        try:
            yield
        except (Exception, SystemExit) as error:  # the translator exits where it does not understand a problem
            self.close()
            problem = str(error) if isinstance(error, GameError) else f"{type(error).__name__}: {error}"
            raise GameError(f"{self.source}: the engine cannot play this game: {problem}") from error

    def facts(self) -> frozenset[Fact]:
        """What the engine holds to be true, for tests and oracles: no agent may see it.

        ``at`` holds for every receptacle that is reached from where the agent is, ``lit`` for lamps that were
        switched on.
        """
        engine = self._engine()
        facts = list(engine._pddl_state.facts)
        names = {identifier: info.name for identifier, info in engine._entity_infos.items()}
        here = {fact.arguments[1].name for fact in facts if fact.name == "atlocation"}
        return frozenset(_readable(facts, names, here))

    def close(self) -> None:
        """Give the engine back; the game cannot be played any more."""
        self._environment = None
        self._close()

    def _engine(self) -> Any:
        if self._environment is None:
            raise GameError(f"{self.source}: the game is closed")
        return self._environment

    def __enter__(self) -> TextWorldGame:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _view(state: Any) -> GameView:
    return GameView(
        str(state["feedback"]), tuple(state["admissible_commands"]), bool(state["won"]), bool(state["lost"])
    )


def _readable(facts: Iterable[Any], names: dict[str, str], here: set[str]) -> Iterator[Fact]:
    """The facts that matter, by readable names."""
    for fact in facts:
        arguments = [names[variable.name] for variable in fact.arguments]
        if fact.name == "receptacleatlocation" and fact.arguments[1].name in here:
            yield "at", arguments[0]
        elif fact.name == "holds":
            yield "holding", arguments[1]
        elif fact.name in _RENAMED:
            yield _RENAMED[fact.name], *arguments


def installed() -> bool:
    """Whether the packages that play the games are installed."""
    return missing_extra("alfworld", *_PACKAGES) is None


def require_installed() -> None:
    """Check that the packages that play the games are installed.

    Raises:
        MissingExtraError: One is not; names it and the extra.
    """
    if reason := missing_extra("alfworld", *_PACKAGES, what="an ALFWorld game"):
        raise MissingExtraError(
            f"{reason}. Where there is no ready-made build for this system, that compiles parts of it for some minutes "
            "and needs a C and a C++ compiler, make, cmake, git, bison and flex (on Debian and Ubuntu: "
            "apt install build-essential cmake git bison flex)"
        )


@functools.cache
def _engines() -> ModuleType:
    """The module that imports TextWorld."""
    require_installed()
    return importlib.import_module("envs.alfworld.game.fast_textworld")


@functools.cache
def _proven(versions: frozenset[str]) -> bool:
    """Whether the accelerated engine was compared with this version of TextWorld; warns once if not."""
    try:
        name = version("textworld")
    except PackageNotFoundError:
        name = "of unknown version"
    if name in versions:
        return True
    warnings.warn(
        f"TextWorld {name} is installed; its faster use was proven for {', '.join(sorted(versions))} only, so games "
        "are played at its own 10 to 40 steps a second",
        RuntimeWarning,
        stacklevel=4,
    )
    return False
