"""The rules on full knowledge agree with the game; and commands as a model might write them."""

import random
from dataclasses import replace

from hypothesis import given

from envs.alfworld import rules
from envs.alfworld.commands import AlfworldCommand, read_command
from envs.alfworld.environment import resolved
from envs.alfworld.state import BARE, KEPT, OPEN, SHUT
from tests.envs.alfworld.worlds import KITCHEN, drawn, follow, known, seeds, sensible, tasks


@given(seeds, tasks)
def test_rules_on_full_knowledge_agree_with_the_game(seed: int, task: str) -> None:
    world = drawn(seed, task, full=True, size=0.2)
    rng = random.Random(f"rules:{seed}")
    for _ in range(30):
        command = sensible(world, rng)
        expected = rules.apply(world.known, command)
        assert world.do(command) == (expected is not None), command
        assert expected is None or expected == world.known, command


@given(seeds, tasks)
def test_putting_back_undoes_taking(seed: int, task: str) -> None:
    world = drawn(seed, task, full=True, size=0.2)
    for thing, place in sorted(world.inside):
        near = replace(world.known.found(place, OPEN), at=(place,))
        held = rules.apply(near, AlfworldCommand("take", place, thing))
        if held is None:
            assert thing.startswith(("desklamp", "floorlamp"))
            continue
        assert (held.holding, thing in held.contents(place)) == (thing, False)
        assert rules.apply(held, AlfworldCommand("take", place, thing)) is None
        assert rules.apply(held, AlfworldCommand("put", place, thing)) == near


def test_heat_and_cold_undo_each_other_and_washing_neither() -> None:
    start = replace(known(KITCHEN), holding="apple 1", at=("fridge 1", "microwave 1", "sinkbasin 1"))
    for verb, place, marks in (
        ("heat", "microwave 1", ("hot",)),
        ("clean", "sinkbasin 1", ("clean", "hot")),
        ("cool", "fridge 1", ("clean", "cool")),
        ("heat", "microwave 1", ("clean", "hot")),
    ):
        start = follow(start, [AlfworldCommand(verb, place, "apple")])
        assert start.marks_of("apple 1") == marks
    assert rules.apply(start, AlfworldCommand("heat", "sinkbasin 1", "apple")) is None
    assert rules.apply(replace(start, holding="knife 1"), AlfworldCommand("heat", "microwave 1", "knife")) is None


def test_of_several_the_one_treated_as_the_goal_asks_is_meant() -> None:
    both = frozenset({("apple 1", "cabinet 2"), ("apple 2", "cabinet 2")})
    here = replace(known(KITCHEN), at=("cabinet 2",), inside=both)
    here = replace(here.found("cabinet 2", BARE), marks=frozenset({("apple 2", "clean")}))
    assert follow(here, [AlfworldCommand("take", "cabinet 2", "apple")]).holding == "apple 2"
    assert resolved(here, "take apple from cabinet 2", "put {o} in/on {r}") == "take apple 2 from cabinet 2"


def test_of_a_receptacle_never_looked_at_the_likely_is_taken_to_be() -> None:
    start = known(KITCHEN)
    closed, bare = (follow(start, [AlfworldCommand("go", place)]) for place in ("cabinet 2", "countertop 1"))
    assert (closed.of("cabinet 2"), bare.of("countertop 1")) == (SHUT, BARE)
    assert rules.apply(closed, AlfworldCommand("go", "cabinet 2")) is None
    assert follow(closed, [AlfworldCommand(verb, "cabinet 2") for verb in ("open", "close")]).of("cabinet 2") == KEPT
    assert rules.apply(start, AlfworldCommand("go", "bathtub 1")) is None


def test_what_is_no_command_is_passed_on_as_it_is_and_names_too() -> None:
    start = known(KITCHEN)
    numbers = (f"go to cabinet {'9' * 6000}", "go to cabinet \u0663", "go to " * 50_000)
    for text in (*numbers, "take {r} from fridge 1", "put {o.__class__} in/on {r}", "\x00", "\ud800"):
        assert read_command(text) is None
        assert resolved(start, text, "put {o} in/on {r}") == text
    assert resolved(start, "put apple 1 in fridge 1", "move {o} to {r}") == "move apple 1 to fridge 1"
