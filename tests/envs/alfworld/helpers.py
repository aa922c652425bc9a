"""What the tests of ALFWorld games share."""

import os
import random
from functools import cache
from pathlib import Path

import pytest

from envs.alfworld.game.game_data import GameData
from envs.alfworld.game.games import AlfworldGame, load_games
from envs.alfworld.game.textworld_game import TextWorldGame, installed

needs_engine = pytest.mark.skipif(not installed(), reason="the extra alfworld is not installed")


def given_folder() -> Path | None:
    """The official games, where they are."""
    folder = os.environ.get("TAPE_TEST_DATA")
    return Path(folder) / "alfworld" if folder and (Path(folder) / "alfworld").is_dir() else None


needs_given = pytest.mark.skipif(given_folder() is None, reason="TAPE_TEST_DATA is not set")


@cache
def all_games() -> tuple[AlfworldGame, ...]:
    """Packaged and given games, the given ones first."""
    folder = given_folder()
    given = load_games("valid_unseen", folder) if folder else []
    return (*given, *load_games("packaged"))


def started(game: AlfworldGame | GameData | str, *, fast: bool = True) -> TextWorldGame:
    """A game on the engine."""
    return TextWorldGame(game.data() if isinstance(game, AlfworldGame) else game, fast=fast)


def busy(rng: random.Random, admissible: tuple[str, ...]) -> str:
    """A random command that takes part in the game more often than walking and looking around would."""
    doing = [c for c in admissible if not c.startswith(("go to", "examine", "look", "inventory", "close"))]
    if doing and rng.random() < 0.5:
        return rng.choice(doing)
    return rng.choice(admissible) if rng.random() < 0.95 else rng.choice(["go to fridge 1", "open drawer 1", "dance"])
