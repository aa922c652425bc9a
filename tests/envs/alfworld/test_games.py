"""The sets of games, generated games, and plans that no search beats."""

import json
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.alfworld import rules
from envs.alfworld.errors import AlfworldError, GameError
from envs.alfworld.game import make_games
from envs.alfworld.game.game_file import game_text
from envs.alfworld.game.games import SPLITS, held_out, load_games
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import LOOK, SIMPLE, TASK_TYPES, TWO, Goal, read_goal
from envs.alfworld.game.house import House, Receptacle, parse_house
from envs.alfworld.game.kinds import (
    ALWAYS_OPENABLE,
    CAN_CONTAIN,
    LAMPS,
    OBJECTS,
    OPENABLE,
    RECEPTACLES,
    TREATMENTS,
    kind_of,
)
from envs.alfworld.game.oracle import optimal_length, shortest
from experiments.training.alfworld.plans import best_plan
from tests.envs.alfworld import reference
from tests.envs.alfworld.helpers import all_games, needs_engine, needs_given, started
from tests.envs.alfworld.worlds import seeds, tasks, world_of
from tests.profiles import examples, parts


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


@given(seeds, tasks, st.floats(0.0, 1.0))
def test_houses_obey_the_tables_of_kinds(seed: int, task: str, size: float) -> None:
    house, again = (draw_house(random.Random(f"tables:{seed}"), task, size) for _ in range(2))
    assert (house, house.digest(), house.goal.task) == (again, again.digest(), task)
    names = [r.name for r in house.receptacles]
    assert len(set(names)) == len(names)
    for receptacle in house.receptacles:
        kind = kind_of(receptacle.name)
        assert receptacle.openable <= (kind in OPENABLE)
        assert receptacle.openable or kind not in ALWAYS_OPENABLE
    assert len({thing for thing, _ in house.inside}) == len(house.inside)
    for thing, where in house.inside:
        assert kind_of(thing) in OBJECTS
        assert where in names
        assert kind_of(thing) in LAMPS or kind_of(thing) in CAN_CONTAIN[kind_of(where)]


@given(seeds, tasks, st.floats(0.0, 1.0))
def test_no_goal_is_reached_at_the_start_and_every_goal_can_be(seed: int, task: str, size: float) -> None:
    world = world_of(draw_house(random.Random(f"fair:{seed}"), task, size), full=True)
    assert not rules.satisfied(world.known)
    plan = best_plan(world.scene())
    assert plan
    for command in plan:
        assert not rules.satisfied(world.known)
        assert world.do(command), command
    assert rules.satisfied(world.known)


@pytest.mark.parametrize("task", TASK_TYPES)
def test_houses_have_different_digests(task: str) -> None:
    houses = [draw_house(random.Random(f"apart:{i}"), task) for i in range(15)]
    assert len({house.digest() for house in houses}) == len(set(houses)) > 10


@given(
    st.sampled_from(TASK_TYPES),
    st.sampled_from([o for o in OBJECTS if o not in LAMPS]),
    st.sampled_from(RECEPTACLES),
    st.sampled_from(LAMPS),
)
def test_a_goal_is_read_back_from_its_sentence(task: str, thing: str, receptacle: str, lamp: str) -> None:
    goal = Goal(task, thing, lamp if task == LOOK else receptacle)
    assert read_goal(goal.sentence()) == goal
    assert read_goal(f"You are in a room.\n\nYour task is to: {goal.sentence()}.\n") == goal


@pytest.mark.parametrize(
    ("sentence", "task", "thing", "target"),
    [
        ("put a clean mug in shelf", "pick_clean_then_place_in_recep", "mug", "shelf"),
        ("put a hot apple in fridge.", "pick_heat_then_place_in_recep", "apple", "fridge"),
        ("cool some pan and put it in stoveburner", "pick_cool_then_place_in_recep", "pan", "stoveburner"),
        ("put some  book on sofa", "pick_and_place_simple", "book", "sofa"),
        ("find two pen and put them in drawer", TWO, "pen", "drawer"),
        ("put two cd in/on safe", TWO, "cd", "safe"),
        ("examine the book with the desklamp", LOOK, "book", "desklamp"),
        ("look at cd under the floorlamp", LOOK, "cd", "floorlamp"),
    ],
)
def test_the_official_templates(sentence: str, task: str, thing: str, target: str) -> None:
    assert read_goal(sentence.upper()) == Goal(task, thing, target)


@pytest.mark.parametrize("sentence", ["", "wash the mug", "put a mug in the desklamp", "look at mug under the shelf"])
def test_other_sentences_are_refused_by_name(sentence: str) -> None:
    with pytest.raises(GameError, match="none of the six"):
        read_goal(sentence)


_GOALS = [
    Goal(SIMPLE, "mug", "cabinet"), Goal(SIMPLE, "apple", "fridge"), Goal(LOOK, "mug", "desklamp"),
    Goal("pick_clean_then_place_in_recep", "mug", "cabinet"),
    Goal("pick_clean_then_place_in_recep", "mug", "sinkbasin"),
    Goal("pick_heat_then_place_in_recep", "apple", "fridge"), Goal("pick_cool_then_place_in_recep", "apple", "fridge"),
    Goal(TWO, "mug", "cabinet"), Goal(TWO, "mug", "shelf"),
]  # fmt: skip
_RECEPTACLES = ("cabinet 1", "cabinet 2", "fridge 1", "microwave 1", "shelf 1", "shelf 2", "sinkbasin 1")


@st.composite
def small_houses(draw: st.DrawFn) -> House:
    """Few things, many of them in several receptacles, few places."""
    goal = draw(st.sampled_from(_GOALS))
    needed = {goal.target, TREATMENTS[goal.treatment][0] if goal.treatment else ""}
    # Nearly always solvable: a search that finds nothing has to look at everything.
    needed = {n for n in _RECEPTACLES if n.endswith("1") and kind_of(n) in needed and draw(st.integers(0, 19))}
    others = draw(st.sets(st.sampled_from(_RECEPTACLES), min_size=1, max_size=3))
    names = sorted(needed | others)
    receptacles = tuple(Receptacle(n, draw(st.booleans()), draw(st.integers(1, 3))) for n in names)
    things = ["mug 1", "mug 2", "apple 1"] if goal.thing == "mug" else ["apple 1", "apple 2", "mug 1"]
    things = [*things[: draw(st.integers(goal.count, 3))], *(["desklamp 1"] if goal.task == LOOK else [])]
    sure = {(thing, draw(st.sampled_from(names))) for thing in things}
    inside = sure | draw(st.sets(st.tuples(st.sampled_from(things), st.sampled_from(names)), max_size=3))
    return House(receptacles, tuple(sorted(inside)), goal)


def _agrees(house: House) -> None:
    expected = reference.fewest(house)
    if expected is None:
        with pytest.raises(GameError, match="cannot be reached"):
            optimal_length(house)
        return
    world = reference.start(house)
    plan = shortest(house)
    for command in plan:
        assert not reference.won(house, world)
        world = reference.moves(house, world)[command]
    assert reference.won(house, world)
    assert len(plan) == expected


@given(small_houses())
@examples(60)
def test_plans_are_as_short_as_those_of_a_search_over_all_commands(house: House) -> None:
    _agrees(house)


@pytest.mark.soak
@given(small_houses())
@examples(5_000)
def test_many_plans_are_as_short_as_those_of_a_search_over_all_commands(house: House) -> None:
    _agrees(house)


def test_the_goal_may_hold_before_anything_is_put_down() -> None:
    """A pan on two receptacles stays on one of them when it is taken from the other."""
    places = (("countertop 1", 1), ("sinkbasin 1", 2), ("stoveburner 1", 1))
    house = House(
        tuple(Receptacle(name, False, place) for name, place in places),
        (("pan 1", "countertop 1"), ("pan 1", "stoveburner 1")),
        Goal("pick_clean_then_place_in_recep", "pan", "countertop"),
    )
    assert len(shortest(house)) == 4
    assert shortest(house)[-1] == "clean pan 1 with sinkbasin 1"


def test_the_put_command_is_the_games_own() -> None:
    house = House(
        (Receptacle("cabinet 1", False, 1), Receptacle("shelf 1", False, 1)),
        (("mug 1", "shelf 1"),),
        Goal(SIMPLE, "mug", "cabinet"),
    )
    plan = ("go to shelf 1", "take mug 1 from shelf 1", "move mug 1 to cabinet 1")
    assert shortest(house, "move {o} to {r}") == plan


@needs_engine
@pytest.mark.parametrize("every", [200, pytest.param(1, marks=pytest.mark.soak)])
def test_plans_win_on_the_engine(every: int) -> None:
    for game in all_games()[-1::-every]:  # the packaged ones, which are always there, first
        plan = shortest(game.house, game.put_template)
        with started(game) as engine:
            view = engine.reset()
            for step, command in enumerate(plan, 1):
                assert command in view.admissible, (game.name, command, view.text)
                view = engine.step(command)
                assert view.won == (step == len(plan)), (game.name, step)
            assert view.won


@needs_given
@pytest.mark.slow
@needs_engine
@parts(1)
def test_the_reference_has_the_engines_commands(part: slice) -> None:
    """So a shortest plan of the reference is one of the game, official games included."""
    for game in all_games()[:12][part]:
        rng = random.Random(game.name)
        world = reference.start(game.house)
        with started(game) as engine:
            view = engine.reset()
            for _ in range(30):
                passive = ("look", "inventory", "examine", "slice")
                possible = reference.moves(game.house, world)
                assert set(possible) == {c for c in view.admissible if not c.startswith(passive)}
                doing = [c for c in possible if not c.startswith("go to")]
                command = rng.choice(sorted(doing if doing and rng.random() < 0.6 else possible))
                view, world = engine.step(command), possible[command]
                assert view.won == reference.won(game.house, world)
