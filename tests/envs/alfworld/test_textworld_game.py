"""The accelerated engine is the original, faster: same observations, same commands, same verdicts."""

import json
import os
import random
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from envs.alfworld.errors import GameError
from envs.alfworld.game import textworld_game
from envs.alfworld.game.game_file import game_text
from envs.alfworld.game.games import AlfworldGame
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.oracle import shortest
from envs.alfworld.game.textworld_game import TextWorldGame
from tape.errors import MissingExtraError
from tests.envs.alfworld.helpers import all_games, busy, needs_engine, started


def _small() -> str:
    return game_text(draw_house(random.Random("small"), "pick_heat_then_place_in_recep", 0.1))


def _play_side_by_side(game: AlfworldGame | str, steps: int) -> int:
    """Play on both engines; returns how many steps were compared."""
    name = game.name if isinstance(game, AlfworldGame) else "text"
    rng = random.Random(f"identity:{name}")
    with started(game) as fast, started(game, fast=False) as stock:
        ours, theirs = fast.reset(), stock.reset()
        assert ours == theirs
        plan = list(shortest(game.house, game.put_template)) if isinstance(game, AlfworldGame) else []
        for step in range(steps):
            if step == steps // 2:  # from the start again, and this time to the end
                assert fast.reset() == stock.reset()
            command = plan.pop(0) if plan and step >= steps // 2 else busy(rng, ours.admissible)
            ours, theirs = fast.step(command), stock.step(command)
            assert ours == theirs, (name, step, command)
        assert fast.facts() == stock.facts()
    return steps


@needs_engine
@pytest.mark.slow
def test_games_are_played_as_by_the_original() -> None:
    house = draw_house(random.Random("beside"), "pick_heat_then_place_in_recep", 0.1)
    _play_side_by_side(AlfworldGame("beside", "fresh", house), 12)


@needs_engine
@pytest.mark.soak
def test_many_games_are_played_as_by_the_original() -> None:
    games = [game for game in all_games() if game.split == "valid_unseen"] + [*all_games()[-60::3]]
    total = sum(_play_side_by_side(game, 100 if len(games) > 50 else 260) for game in games)
    assert total >= 5000


@needs_engine
def test_closing_a_game_leaves_no_trace_in_the_next() -> None:
    """The compiled library of a closed game is used again."""
    first = started(_small())
    with pytest.raises(GameError, match="reset"):
        first.step("look")
    fresh = first.reset()
    first.step(fresh.admissible[0])
    first.close()
    with pytest.raises(GameError, match="closed"):
        first.step("look")
    with started(_small()) as second:
        assert second.reset() == fresh


@needs_engine
def test_games_are_independent() -> None:
    with started(_small()) as game, started(_small()) as other:
        before = game.reset()
        view = other.reset()
        for _ in range(5):
            view = other.step(view.admissible[0])
        assert game.step("dance").admissible == before.admissible


@needs_engine
def test_an_unproven_version_is_played_by_the_original_with_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textworld_game, "version", lambda _: "9.9")
    textworld_game._proven.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match=r"TextWorld 9\.9"), started(_small()) as game:
            assert type(game._environment).__name__ == "StockEnv"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            started(_small()).close()
    finally:
        textworld_game._proven.cache_clear()


def test_without_the_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "envs.alfworld.game.fast_textworld", raising=False)
    monkeypatch.setitem(sys.modules, "textworld", None)
    textworld_game._engines.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match=r"tape-planner\[alfworld\].*compiler"):
            TextWorldGame(_small())
    finally:
        textworld_game._engines.cache_clear()


@needs_engine
def test_a_game_that_the_engine_refuses_is_named() -> None:
    broken = json.loads(_small())
    broken["pddl_problem"] = broken["pddl_problem"].replace("(:init", "(:init (holds agent1 nobody)")
    with pytest.raises(GameError, match="the game's text: the engine cannot play"):
        TextWorldGame(json.dumps(broken))


@needs_engine
@pytest.mark.slow
def test_nothing_outside_is_touched(tmp_path: Path) -> None:
    """No folder in the user's home, no change of the environment or the command line, and nothing printed."""
    code = (
        "import os, sys, random\n"
        "before = dict(os.environ), list(sys.argv)\n"
        "from envs.alfworld.game.textworld_game import TextWorldGame\n"
        "from envs.alfworld.game.game_file import game_text\n"
        "from envs.alfworld.game.generator import draw_house\n"
        "game = TextWorldGame(game_text(draw_house(random.Random(0), None, 0.1)))\n"
        "game.reset(); game.step('look')\n"
        "assert 'alfworld' not in sys.modules\n"
        "assert (dict(os.environ), list(sys.argv)) == before\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home)}
    environment.pop("ALFWORLD_DATA", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not [name for name in ("alfworld", "textworld") if (home / ".cache" / name).exists()]
