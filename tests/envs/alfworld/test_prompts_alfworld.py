"""The prompt format of the bundled LM and its words: what is admitted is read back, and everything else is refused."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.alfworld import prompts
from envs.alfworld.commands import AlfworldCommand, read_command
from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.game.goal import Goal
from envs.alfworld.game.kinds import OBJECTS
from envs.alfworld.predicates import inside, searched, shut
from envs.alfworld.prompts.alfworld import AlfworldFormat
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
from envs.alfworld.state import BARE, SHUT, Knowledge, Layout
from experiments.training.alfworld.data import change_words
from experiments.training.alfworld.plans import best_plan
from tape.errors import InvalidOutputError, ModelError
from tape.lm.base import Constraint, OneOf, Regex, Request
from tape.lm.scripted import obeys
from tape.protocols.prompt_format import PromptFormat, option_values
from tests.envs.alfworld.chat import COOK
from tests.envs.alfworld.worlds import (
    KITCHEN,
    SHELVES,
    STUDY,
    domain_of,
    drawn,
    known,
    seeds,
    sensible,
    tasks,
    world_of,
)
from tests.profiles import examples

HOUSEHOLD = prompts.prompt_format(domain_of(world_of(KITCHEN)), "household")


def format_of(state: Knowledge) -> AlfworldFormat:
    domain = domain_of(world_of(KITCHEN)) if state.layout.goal == KITCHEN.goal else domain_of(world_of(STUDY))
    prompt_format = prompts.prompt_format(domain, "household")
    assert isinstance(prompt_format, AlfworldFormat)
    return prompt_format


def texts(constraint: Constraint | None) -> st.SearchStrategy[str]:
    """What a constraint admits."""
    if isinstance(constraint, OneOf):
        return st.sampled_from(constraint.options)
    assert isinstance(constraint, Regex)
    return st.from_regex(constraint.pattern, fullmatch=True)


@st.composite
def moments(draw: st.DrawFn):  # type: ignore[no-untyped-def]
    """A moment of a game, its domain and its prompt format."""
    seed = draw(seeds)
    world = drawn(seed, draw(tasks), full=seed % 2 == 0)
    rng = random.Random(f"moment:{seed}")
    world.explore(rng, 4)
    for _ in range(draw(st.integers(0, 8))):
        world.do(sensible(world, rng))
    domain = domain_of(world)
    return world, domain, prompts.prompt_format(domain, "household"), rng


@pytest.mark.slow
@examples(60)
@given(moments(), st.data())
def test_every_text_that_a_constraint_admits_is_read_back(moment, data) -> None:  # type: ignore[no-untyped-def]
    world, domain, prompt_format, rng = moment
    state = world.known
    plan = prompt_format.read_plan(state, data.draw(texts(prompt_format.plan_request(state, {"steps": 9}).constraint)))
    assert plan.valid
    assert all(read_command(action) for action in plan.actions)
    thought, action = prompt_format.read_act(
        state, data.draw(texts(prompt_format.act_request(state, {}, None, ()).constraint))
    )
    assert (thought, action in domain.admissible(state)) == ("", True)
    for command in [sensible(world, rng), *map(read_command, plan.actions[:2])]:
        for valid in (False, True):
            request = prompt_format.next_request(state, command.text, valid=valid)
            text = data.draw(texts(request.constraint))
            after = prompt_format.read_next(state, text)
            assert (after is None) == (text == "none ")
    for request, about in prompt_format.predict_request(
        state, [inside(world.layout.goal.thing, r) for r in state.layout.receptacles]
    ):
        assert set(prompt_format.read_predict(state, about, data.draw(texts(request.constraint)))) == set(about)


@given(moments())
def test_what_really_changes_is_admitted_and_read_as_what_is_then_known(moment) -> None:  # type: ignore[no-untyped-def]
    world, _, prompt_format, rng = moment
    command = sensible(world, rng)
    twin = world.twin()
    text = "".join(f"{word} " for word in change_words(twin, command))
    assert obeys(prompt_format.next_request(world.known, command.text), text), (command, text)
    before = world.known
    if command.verb in ("go", "open"):  # what is seen on arrival comes from assumptions
        there = [pair for pair in twin.known.inside - before.inside if pair[1] == command.place]
        before = replace(before, assumed=frozenset(there))
    after = prompt_format.read_next(before, text)
    assert after == (None if text == "none " else twin.known)


def test_a_plan_comes_back_with_places_and_without_standing_moves() -> None:
    state = replace(known(STUDY), at=("bed 1",), inside=frozenset({("desklamp 1", "desk 2")}))
    plan = format_of(state).read_plan(state, "go bed1 take book bed1 go desk2 use desklamp ")
    assert plan.actions == ("take book from bed 1", "go to desk 2", "use desklamp on desk 2")
    assert plan.valid
    broken = format_of(state).read_plan(state, "take book bed1 go desk use desklamp ")
    assert (broken.actions, broken.valid) == (("take book from bed 1",), False)
    assert not format_of(state).read_plan(state, "").valid


def test_the_prompt_is_what_is_known_and_one_query() -> None:
    state = replace(known(STUDY), at=("bed 1",), holding="book 1")
    request = format_of(state).act_request(state, {"steps": 3}, None, ["go to desk 1", "use desklamp on desk 1"])
    assert request.prompt == (
        "goal: look book desklamp at: bed1 hold: book rec: bed1 new desk1 new desk2 new obj: "
        "<act> plan: go desk1 use desklamp -> "
    )
    assert set(str(request.prompt).split()) <= set(WORDS)


def options(request: Request) -> set[str]:
    assert isinstance(request.constraint, OneOf)
    return set(request.constraint.options)


def test_what_was_tried_is_left_out_while_anything_else_is_left() -> None:
    world = world_of(STUDY)
    domain, prompt_format = domain_of(world), prompts.prompt_format(domain_of(world), "household")
    state = replace(known(STUDY), at=("desk 2",), inside=frozenset({("desklamp 1", "desk 2")}))
    tried = domain.without(state, ["go to bed 1", "take book 1 from desk 1", "use desklamp on desk 2"])
    left = options(prompt_format.act_request(tried, {}, None, ()))
    assert not {"go bed1 ", "take book desk1 ", "use desklamp "} & left
    assert {"go desk1 ", "take book desk2 ", "put book bed1 "} <= left
    everything = domain.without(state, domain.admissible(state))
    assert {"go bed1 ", "use desklamp "} <= options(prompt_format.act_request(everything, {}, None, ()))


def test_where_commands_are_shown_those_about_the_goal_may_be_written_and_no_others() -> None:
    world = world_of(STUDY)
    domain = domain_of(world, shown=True)
    prompt_format = prompts.prompt_format(domain, "household")
    engine = ("go to bed 1", "look", "take book 1 from desk 2", "take pen 1 from desk 2", "use desklamp 1")
    state = replace(known(STUDY), at=("desk 2",), inside=frozenset({("desklamp 1", "desk 2")}), shown=engine)
    request = prompt_format.act_request(state, {}, None, ())
    assert options(request) == {"go bed1 ", "take book desk2 ", "use desklamp "}
    for text in options(request):
        assert prompt_format.read_act(state, text)[1] in domain.admissible(state)
    tried = domain.without(state, ["use desklamp on desk 2", "take book 1 from desk 2"])
    assert options(prompt_format.act_request(tried, {}, None, ())) == {"go bed1 "}


def test_what_hand_and_furniture_rule_out_can_only_come_to_nothing() -> None:
    state = known(KITCHEN)
    held = replace(state, holding="apple 1")
    empty = ("put apple in/on fridge 1", "heat apple with microwave 1")
    full = ("take apple from fridge 1", "put mug in/on fridge 1", "go to fridge 2", "dance")
    for here, action in [*((state, action) for action in empty), *((held, action) for action in full)]:
        for valid in (False, True):
            request = format_of(here).next_request(here, action, valid=valid)
            assert options(request) == {"none "}
            assert format_of(here).read_next(here, "none ") is None


_WRONG = ("take apple", "hold }{", "lit x", "put apple fridge1", "at fridge1 new", "new fridge1", "at fridge9 open")


@pytest.mark.parametrize("text", ["", *_WRONG, "clean apple"])
def test_what_is_no_change_here_is_invalid(text: str) -> None:
    with pytest.raises(InvalidOutputError):
        HOUSEHOLD.read_next(known(KITCHEN), text)


@pytest.mark.parametrize("prompt_format", [HOUSEHOLD, COOK])
def test_the_score_falls_with_the_steps_left(prompt_format: PromptFormat) -> None:
    request, values = prompt_format.score_request(known(KITCHEN))
    numbers = option_values(request, values)
    assert list(numbers) == sorted(numbers, reverse=True)
    assert (numbers[0], 0 < numbers[-1] < numbers[1] < 0.5) == (1.0, True)
    assert isinstance(request.constraint, OneOf)
    assert [option.strip() for option in request.constraint.options[:3]] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("prompt_format", "places"),
    [
        (HOUSEHOLD, ("cabinet1 ", "cabinet2 ", "fridge1 ", "microwave1 ", "sinkbasin1 ")),
        (COOK, ("cabinet 1", "cabinet 2", "fridge 1", "microwave 1", "sinkbasin 1")),
    ],
)
def test_one_question_is_about_all_places_of_a_kind_that_were_not_searched(
    prompt_format: PromptFormat, places: tuple[str, ...]
) -> None:
    state = known(KITCHEN).found("countertop 1", BARE).found("cabinet 1", SHUT)
    fridge, cabinet, door = inside("apple", "fridge 1"), inside("apple", "cabinet 1"), shut("cabinet 2")
    [(request, meant)] = prompt_format.weigh_requests(state, [fridge, cabinet])
    assert request.constraint == OneOf(places)
    assert meant[places[2]] == fridge
    assert prompt_format.weigh_requests(replace(state, status=(BARE,) * 6), [fridge]) == []
    [(_, about), (closed, doors)] = prompt_format.predict_request(state, [fridge, door, searched("fridge 1"), cabinet])
    assert prompt_format.read_predict(state, about, places[0]) == {fridge: False, cabinet: True}
    assert isinstance(closed.constraint, OneOf)
    assert {option.strip() for option in closed.constraint.options} == {"yes", "no"}
    assert prompt_format.read_predict(state, doors, " no\n") == {door: False}
    for text in ("", "attic 1", "perhaps"):
        with pytest.raises(InvalidOutputError):
            prompt_format.read_predict(state, about, text)


def test_no_rollouts_are_asked_for() -> None:
    world = world_of(KITCHEN, full=True)
    plan = [command.text for command in best_plan(world.scene()) or ()]
    prompt_format: PromptFormat = prompts.prompt_format(domain_of(world), "household")
    assert prompt_format.rollout_request(world.known, plan) is None
    assert isinstance(read_command(plan[0]), AlfworldCommand)


names = st.sampled_from(RECEPTACLE_WORDS).map(receptacle_name)


@st.composite
def commands(draw: st.DrawFn) -> AlfworldCommand:
    verb = draw(st.sampled_from(VERBS))
    thing = "" if verb in ("go", "open", "close") else draw(st.sampled_from(OBJECTS))
    return AlfworldCommand(verb, "" if verb == "use" else draw(names), thing)


@given(st.lists(commands(), max_size=6))
def test_commands_are_read_back_from_their_words(plan: list[AlfworldCommand]) -> None:
    words = [word for command in plan for word in command_words(command)]
    assert read_commands(words) == (plan, True)
    assert set(words) <= set(WORDS)
    assert all(read_command(command.text) == command for command in plan)


@given(st.lists(commands(), max_size=4), st.text(max_size=8), st.lists(st.sampled_from(WORDS), max_size=4))
def test_reading_stops_at_the_first_that_is_no_command(
    plan: list[AlfworldCommand], garbage: str, rest: list[str]
) -> None:
    words = [word for command in plan for word in command_words(command)]
    alfworld_commands, whole = read_commands([*words, f"?{garbage}", *rest])
    assert (alfworld_commands[: len(plan)], whole) == (plan, False)
    assert len(alfworld_commands) == len(plan)


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
        prompts.prompt_format(AlfworldDomain(layout), "household").plan_request(Knowledge.start(layout), {})
    with pytest.raises(ModelError, match="unsupported"):
        command_words(AlfworldCommand("take", "shelf 1", "teapot 1"))
    assert receptacle_word("shelf 30") == "shelf30"
