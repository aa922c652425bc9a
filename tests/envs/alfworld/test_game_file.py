"""Households to game files and back, and what the engine makes of them."""

import importlib
import json
import os
import random
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.alfworld.errors import GameError
from envs.alfworld.game import textworld_game
from envs.alfworld.game.game_data import entity_names, read_game_data
from envs.alfworld.game.game_file import game_text, read_house
from envs.alfworld.game.games import AlfworldGame
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import TASK_TYPES, Goal
from envs.alfworld.game.house import House
from envs.alfworld.game.oracle import shortest
from envs.alfworld.game.textworld_game import TextWorldGame
from tape.errors import MissingExtraError
from tests.envs.alfworld.helpers import all_games, busy, needs_engine, needs_given, started
from tests.profiles import examples, parts


def _drawn(seed: object, size: float = 0.3) -> House:
    rng = random.Random(f"file:{seed}")
    return draw_house(rng, rng.choice(TASK_TYPES), size)


def _holds(game: TextWorldGame, house: House) -> None:
    """The engine has the things of a house where they are."""
    facts = game.facts()
    assert {f[1:] for f in facts if f[0] == "in"} == set(house.inside)
    assert {f[1] for f in facts if f[0] == "openable"} == {r.name for r in house.receptacles if r.openable}


def _is_what_the_engine_holds(text: str, house: House) -> None:
    with started(text) as game:
        view = game.reset()
        _holds(game, house)
        assert {f[0] for f in game.facts()} <= {"in", "openable"}  # nothing can be opened in a small bedroom
    listed = re.search(r"you see (.*)\.\n\nYour task is to: (.*)\.$", view.text)
    assert listed
    assert sorted(listed[1].replace("and ", "").split(", ")) == sorted(r.name for r in house.receptacles)
    assert listed[2] == house.goal.sentence()


@given(st.integers(0, 10_000))
@examples(60)
def test_a_written_house_reads_the_same(seed: int) -> None:
    house = _drawn(seed, 0.7)
    assert read_house(game_text(house)) == house


@needs_engine
@pytest.mark.slow
@parts(3)
def test_the_engine_has_the_games_that_were_written_and_shortest_plans_win(part: slice) -> None:
    for seed in range(66)[part]:
        house = _drawn(f"many:{seed}", 0.1 + 0.002 * seed)
        text = game_text(house)
        _is_what_the_engine_holds(text, house)
        with started(text) as game:
            views = [game.reset(), *(game.step(command) for command in shortest(house))]
        assert [view.won for view in views] == [False] * (len(views) - 1) + [True]


@needs_given
@needs_engine
@pytest.mark.slow
@parts(1)
def test_written_games_answer_as_official_games(part: slice) -> None:
    """Played side by side; but for slicing, the numbers of places, and what fell to the floor or is in a vessel."""

    def known(text: str) -> str:
        text = re.sub(r"arrive at loc \d+", "arrive", text.partition("Your task")[0])
        text = re.sub(r"Next to it, you see .*", "", text)
        return re.sub(r"(This is a normal .*\. In it, you see ).*", r"\1", text)

    for game in all_games()[:36:5][part]:
        rng = random.Random(game.name)
        with started(game) as official, started(game_text(game.house)) as written:
            theirs, ours = official.reset(), written.reset()
            for _ in range(20):
                assert known(ours.text) == known(theirs.text)
                assert ours.admissible == tuple(c for c in theirs.admissible if not c.startswith("slice"))
                command = busy(rng, ours.admissible)
                theirs, ours = official.step(command), written.step(command)
                assert ours.won == theirs.won


@needs_given
@needs_engine
def test_names_are_those_of_alfworld(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    misc = importlib.import_module("alfworld.agents.utils.misc")

    class Entity:
        def __init__(self, identifier: str) -> None:
            self.id = identifier

    for game in all_games()[:36:6]:
        problem = read_game_data(game.path).problem if game.path else ""
        identifiers = set(re.findall(r"[a-z0-9_]+", problem[problem.index("(:init") :].lower()))
        theirs = misc.Demangler(game_infos={i: Entity(i) for i in identifiers})
        assert entity_names(identifiers) == {i: theirs.demangle_alfred_name(i) for i in identifiers}


def test_gaps_in_numbers_are_kept_and_odd_names_refused() -> None:
    house = _drawn("gap")
    name = house.inside[0][0]
    renamed = f"{name.split()[0]} 7"
    inside = sorted(((renamed if o == name else o), r) for o, r in house.inside)
    changed = replace(house, inside=tuple(inside))
    assert sorted(read_house(game_text(changed)).inside) == inside
    with pytest.raises(GameError, match="not a kind and a number"):
        game_text(replace(house, inside=(*house.inside, ("Golden Egg", house.receptacles[0].name))))


GAME = json.loads(game_text(draw_house(random.Random(2), "pick_two_obj_and_place", 0.2)))
GRAMMAR, PROBLEM = GAME["grammar"], GAME["pddl_problem"]


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("grammar", None, "'grammar'"), ("solvable", None, "'solvable'"), ("pddl_problem", 3, "'pddl_problem'"),
        ("solvable", False, "not solvable"), ("pddl_problem", PROBLEM[:-9], "cut off"),
        ("pddl_problem", PROBLEM + ")", "too many"), ("pddl_problem", "(define (problem p) (:init))", "no :goal"),
        ("grammar", GRAMMAR.replace('"task"', '"other"'), "no sentence"),
        ("grammar", GRAMMAR.replace("task is to: ", "task is to: juggle "), "juggle"),
        ("grammar", re.sub(r"(is to: )[^.]*", r"\1put a mug in shelf", GRAMMAR), "mug"),
    ],
)  # fmt: skip
def test_errors_of_games_name_the_problem_and_the_file(part: str, value: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "game.tw-pddl"
    path.write_text(json.dumps({k: v for k, v in {**GAME, part: value}.items() if v is not None}))
    with pytest.raises(GameError, match=re.escape(str(path))) as caught:
        read_house(path)
    assert message in str(caught.value)
    path.write_text("{" + json.dumps(GAME))
    with pytest.raises(GameError, match=r"game\.tw-pddl.*no JSON"):
        read_house(path)
    path.unlink()
    with pytest.raises(GameError, match=r"game\.tw-pddl"):
        read_house(path)


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        (Goal("pick_and_place_simple", "spoon", "unicorn"), "no unicorn"),
        (Goal("pick_and_place_simple", "unicorn", "drawer"), "it takes 1 unicorn"),
        (Goal("look_at_obj_in_light", "spoon", "desklamp"), "no desklamp"),
        (Goal("pick_heat_then_place_in_recep", "spoon", "drawer"), "nothing to heat"),
        (Goal("pick_and_place_simple", "spoon", "toilet"), "no toilet"),
        (Goal("pick_and_place_simple", "spoon", "fridge"), "cannot hold"),
    ],
)
def test_goals_that_cannot_be_met_are_refused(goal: Goal, message: str) -> None:
    house = draw_house(random.Random(0), "pick_clean_then_place_in_recep", 1.0)
    kitchen = replace(house, goal=goal, inside=(*house.inside, ("spoon 9", "drawer 1")))
    assert any(r.name == "fridge 1" for r in house.receptacles)
    with pytest.raises(GameError, match=message):
        game_text(kitchen)


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
