"""Shortest plans: as short as a plain search finds, and the engine accepts them."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.alfworld.errors import GameError
from envs.alfworld.game.goal import LOOK, SIMPLE, TWO, Goal
from envs.alfworld.game.house import House, Receptacle
from envs.alfworld.game.kinds import TREATMENTS, kind_of
from envs.alfworld.game.oracle import optimal_length, shortest
from tests.envs.alfworld import reference
from tests.envs.alfworld.helpers import all_games, needs_engine, needs_given, started
from tests.profiles import examples, parts

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
