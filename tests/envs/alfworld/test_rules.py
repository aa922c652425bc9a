"""The rules on full knowledge agree with the game; and commands as a model might write them."""

import random
from dataclasses import replace

from hypothesis import given

from envs.alfworld import rules
from envs.alfworld.commands import AlfworldCommand, read_command
from envs.alfworld.resolve import resolved
from envs.alfworld.state import BARE, KEPT, SHUT
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
