"""The household LM's words: all known, each read back, and what there is no word for said so."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.alfworld import prompts
from envs.alfworld.commands import Command, read_command
from envs.alfworld.domain import HouseholdDomain
from envs.alfworld.game.goal import Goal
from envs.alfworld.game.kinds import OBJECTS
from envs.alfworld.prompts.lexicon import (
    RECEPTACLE_WORDS,
    VERBS,
    WORDS,
    command_words,
    read_commands,
    receptacle_name,
    receptacle_word,
    state_words,
)
from envs.alfworld.state import Knowledge, Layout
from tape.errors import ModelError
from tests.envs.alfworld.households import SHELVES, drawn, known, seeds, sensible, tasks

names = st.sampled_from(RECEPTACLE_WORDS).map(receptacle_name)


@st.composite
def commands(draw: st.DrawFn) -> Command:
    verb = draw(st.sampled_from(VERBS))
    thing = "" if verb in ("go", "open", "close") else draw(st.sampled_from(OBJECTS))
    return Command(verb, "" if verb == "use" else draw(names), thing)


def test_no_word_is_there_twice_and_none_holds_a_space() -> None:
    assert len(set(WORDS)) == len(WORDS)
    assert not any(" " in word or not word for word in WORDS)


@given(st.lists(commands(), max_size=6))
def test_commands_are_read_back_from_their_words(plan: list[Command]) -> None:
    words = [word for command in plan for word in command_words(command)]
    assert read_commands(words) == (plan, True)
    assert set(words) <= set(WORDS)
    assert all(read_command(command.text) == command for command in plan)


@given(st.lists(commands(), max_size=4), st.text(max_size=8), st.lists(st.sampled_from(WORDS), max_size=4))
def test_reading_stops_at_the_first_that_is_no_command(plan: list[Command], garbage: str, rest: list[str]) -> None:
    words = [word for command in plan for word in command_words(command)]
    found, whole = read_commands([*words, f"?{garbage}", *rest])
    assert (found[: len(plan)], whole) == (plan, False)
    assert len(found) == len(plan)


@pytest.mark.parametrize("words", ["go fridge", "go apple", "take fridge1 apple", "go", "fridge1"])
def test_a_kind_is_no_receptacle_and_a_receptacle_no_object(words: str) -> None:
    assert read_commands(words.split()) == ([], False)


@given(seeds, tasks)
def test_every_state_is_written_in_known_words(seed: int, task: str) -> None:
    world = drawn(seed, task, full=seed % 2 == 0, size=1.0)
    rng = random.Random(f"lexicon:{seed}")
    world.explore(rng, 5)
    for _ in range(5):
        world.do(sensible(world, rng))
    assert set(state_words(replace(world.known, assumed=world.assumed()))) <= set(WORDS)


def test_names_beyond_the_vocabulary_are_unsupported() -> None:
    layout = Layout(SHELVES.goal, ("shelf 31",))
    strange = Layout(Goal("pick_and_place_simple", "teapot", "safe"), ("safe 1",))
    held = replace(known(SHELVES), holding="teapot 1")
    for state in (Knowledge.start(layout), Knowledge.start(strange), held):
        with pytest.raises(ModelError, match=r"^unsupported: .* no word for '(shelf31|teapot)'"):
            state_words(state)
    with pytest.raises(ModelError, match="unsupported"):
        prompts.prompt_format(HouseholdDomain(layout), "household").plan_request(Knowledge.start(layout), {})
    with pytest.raises(ModelError, match="unsupported"):
        command_words(Command("take", "shelf 1", "teapot 1"))
    assert receptacle_word("shelf 30") == "shelf30"
