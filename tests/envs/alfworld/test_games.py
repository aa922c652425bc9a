"""The sets of games."""

import json
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from envs.alfworld.errors import AlfworldError, GameError
from envs.alfworld.game import make_games
from envs.alfworld.game.game_file import game_text
from envs.alfworld.game.games import SPLITS, held_out, load_games
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import TASK_TYPES
from envs.alfworld.game.house import parse_house
from envs.alfworld.game.oracle import optimal_length
from tests.envs.alfworld.helpers import all_games, needs_given


@pytest.mark.parametrize("split", ["packaged", "dev"])
def test_shipped_sets_are_as_they_are_made_and_have_ten_games_of_each_type(split: str) -> None:
    file = Path(make_games.__file__).parents[1] / "data" / f"{split}.json"
    assert make_games.set_text(split) == file.read_text(encoding="utf-8")
    games = load_games(split)
    assert Counter(game.house.goal.task for game in games) == dict.fromkeys(TASK_TYPES, 10)
    assert len({game.name for game in games}) == 60
    assert all(optimal_length(game.house) >= 3 for game in games)
    sizes = [len(game.house.receptacles) for game in games if game.house.goal.task == TASK_TYPES[0]]
    assert min(sizes) < 12 < 20 < max(sizes)


def test_held_out_are_all_shipped_games() -> None:
    assert len(held_out()) == 120
    assert all(game.house.digest() in held_out() for split in ("packaged", "dev") for game in load_games(split))
    assert draw_house(random.Random(0)).digest() not in held_out()


_MUG = "pick_and_place_simple-Mug-None-Desk-1"


def _write(folder: Path, task: str = _MUG, trial: str = "trial_1", **more: object) -> Path:
    path = folder / task / trial / "game.tw-pddl"
    path.parent.mkdir(parents=True)
    game = json.loads(game_text(draw_house(random.Random(f"{task}{trial}"), None, 0.1)))
    path.write_text(json.dumps({**game, **more}))
    return path


def test_a_split_is_found_from_any_level(tmp_path: Path) -> None:
    root = tmp_path / "data" / "json_2.1.1"
    file = _write(root / "valid_seen")
    for level in (file.parent, file.parents[1], root / "valid_seen", root, tmp_path / "data"):
        assert [game.path for game in load_games("valid_seen", level)] == [file]
    with pytest.raises(AlfworldError, match=r"no games of train in .*, only valid_seen"):
        load_games("train", root)


def test_a_folder_of_ones_own_is_any_split_and_the_variable_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path / "mine")
    assert all(load_games(split, tmp_path / "mine") for split in SPLITS)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "mine"))
    assert len(load_games("train")) == 1


def test_order_is_fixed_and_a_limit_takes_the_first(tmp_path: Path) -> None:
    for number in range(12):
        _write(tmp_path / "train", trial=f"trial_{number}")
    names = [game.name for game in load_games("train", tmp_path)]
    shutil.move(tmp_path / "train", tmp_path / "elsewhere" / "train")
    assert [game.name for game in load_games("train", tmp_path / "elsewhere")] == names
    assert names != sorted(names)
    assert [game.name for game in load_games("train", tmp_path / "elsewhere", limit=5)] == names[:5]


def test_what_cannot_be_played_is_counted(tmp_path: Path) -> None:
    split = tmp_path / "valid_seen"
    _write(split)
    _write(split, "pick_and_place_with_movable_recep-Spoon-Mug-Desk-1")
    _write(split, "pick_heat_then_place_in_recep-AppleSliced-None-Desk-1")
    _write(split, trial="trial_2", solvable=False)
    odd = _write(split, trial="trial_3")
    odd.write_text(odd.read_text().replace("Your task is to: ", "Your task is to: please "))
    with pytest.warns(UserWarning, match=r"1 not solvable, 2 of other task types, 1 whose task"):
        assert len(load_games("valid_seen", split)) == 1


def test_of_broken_games_ten_are_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "train")
    path.write_text("{")
    with pytest.raises(AlfworldError, match=f"1 broken .*{path}"):
        load_games("train", tmp_path)
    right = _write(tmp_path / "train", trial="trial_2")
    with pytest.warns(UserWarning, match=f"1 broken .*{path}"):
        assert len(load_games("train", tmp_path)) == 1
    right.write_text("{")
    for number in range(3, 14):
        _write(tmp_path / "train", trial=f"trial_{number}").write_text("{")
    with pytest.raises(AlfworldError, match="and 3 other reasons") as caught:
        load_games("train", tmp_path)
    assert str(caught.value).count("broken (") == 10


def test_missing_data_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    for data in (None, tmp_path / "nowhere", tmp_path):
        with pytest.raises(AlfworldError, match=r"--data DIR .* ALFWORLD_DATA.* packaged .* no download"):
            load_games("valid_unseen", data)
    with pytest.raises(AlfworldError, match="no set of games 'test'"):
        load_games("test")
    with pytest.raises(AlfworldError, match="at least 1"):
        load_games("packaged", limit=0)


@pytest.mark.parametrize("line", ["", "{}", "[1]", '{"name": "x", "goal": ["a"], "receptacles": [], "inside": []}'])
def test_a_broken_house_is_refused(line: str) -> None:
    with pytest.raises(GameError, match=r"mine\.json"):
        parse_house(line, "mine.json")


@needs_given
def test_the_given_games_are_all_found() -> None:
    games = [game for game in all_games() if game.split == "valid_unseen"]
    assert len(games) == 36
    assert set(TASK_TYPES) == {game.house.goal.task for game in games}
    assert {game.put_template for game in games} == {"put {o} in/on {r}"}
    assert not {game.house.digest() for game in games} & held_out()
