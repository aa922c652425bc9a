"""Declared predicates against households as they really are: nothing that is asserted is false."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given

from envs.alfworld import rules
from envs.alfworld.commands import AlfworldCommand, read_command
from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.game.goal import TWO, Goal
from envs.alfworld.game.house import House, Receptacle
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.predicates import EMPTY, NEVER, PLAIN, AlfworldPredicates, at, inside, made, openable, shut, two
from envs.alfworld.projector import all_seen
from envs.alfworld.state import BARE, NEW, Knowledge, Layout
from experiments.training.alfworld.world import World
from tape.methods.aec.facts import Evidence, GroundedStore
from tape.methods.aec.verifier import Rulebook, Verifier
from tape.protocols.predicates import Predicate
from tests.envs.alfworld.worlds import (
    KITCHEN,
    STUDY,
    closure,
    domain_of,
    drawn,
    known,
    seeds,
    sensible,
    tasks,
    world_of,
)
from tests.profiles import examples


def test_an_unseen_object_may_be_wherever_nobody_has_looked() -> None:
    layout = Layout(Goal(TWO, "pen", "desk"), ("desk 1", "drawer 1", "shelf 1"))
    domain, start = AlfworldDomain(layout), Knowledge.start(layout)
    places = [inside("pen", place) for place in layout.receptacles]
    assert list(dict.fromkeys(domain.alternatives(start, places[0]))) == places
    knowledge = replace(start.found("shelf 1", BARE), inside=frozenset({("pen 1", "shelf 1")}))
    assert domain.alternatives(knowledge, places[0]) == places[:2]
    both = replace(knowledge, inside=knowledge.inside | {("pen 2", "desk 1")})
    assert not domain.alternatives(both, places[1])
    assert not domain.alternatives(start, shut("drawer 1"))


def true(world: World, predicate: Predicate) -> bool:
    """Whether a predicate holds in the game, whatever is known."""
    name, args = predicate
    seen, there = world.known, [] if not args else [t for t, r in world.inside if r == args[-1]]
    match name:
        case "doubled" | "never":  # in these games nothing is in two places
            return False
        case "empty_handed":
            return not seen.holding
        case "holding":
            return bool(seen.holding) and kind_of(seen.holding) == args[0]
        case "made":
            return bool(seen.holding) and (seen.holding, args[0]) in seen.marks
        case "at":
            return args[0] in seen.at
        case "shut":
            return args[0] in world.closed
        case "openable":
            return args[0] in world.openable
        case "searched":
            return {t for t, r in seen.inside if r == args[0]} == set(there) and seen.of(args[0]) not in (NEW, "shut")
        case "in":
            return any(kind_of(t) == args[0] for t in there)
        case "two_in":
            return sum(kind_of(t) == args[0] for t in there) >= 2
        case "lit":
            return any(kind_of(t) == args[0] and (t, "lit") in seen.marks for t in there)
        case "stored":
            return any(kind_of(t) == args[0] and args[1] in (PLAIN, *seen.marks_of(t)) for t in there)
    raise AssertionError(predicate)


def do(world: World, actions: Iterable[str]) -> None:
    for text in actions:
        assert world.do(read_command(text) or AlfworldCommand("")), text


def reached(world: World) -> bool:
    """Whether the declared goal follows from what is known."""
    values = closure(domain_of(world).ground(world.known))
    return any(all(values.get(p) == v for p, v in goal.items()) for goal in domain_of(world).goals())


def played(seed: int, task: str, steps: int, name: str) -> Iterator[tuple[World, AlfworldCommand]]:
    """A game after every command, partial or full, and the command."""
    full = seed % 3 == 0
    world = drawn(seed, task, full=full, size=0.15)
    rng = random.Random(f"predicates:{name}:{seed}")
    if not full:
        world.explore(rng, 6)
    for _ in range(steps):
        yield world, sensible(world, rng)


@given(seeds, tasks)
@examples(40)
def test_nothing_grounded_or_inferred_is_false(seed: int, task: str) -> None:
    for world, command in played(seed, task, 25, "ground"):
        world.do(command)
        for predicate, value in closure(domain_of(world).ground(world.known)).items():
            assert true(world, predicate) == value, predicate


def test_holding_what_the_goal_is_not_about_grounds_nothing_false() -> None:
    world = world_of(replace(KITCHEN, inside=(*KITCHEN.inside, ("mug 2", "countertop 1"))))
    do(world, ("go to countertop 1", "take mug from countertop 1"))
    values = closure(domain_of(world).ground(world.known))
    assert values[inside("mug", "countertop 1")] is true(world, inside("mug", "countertop 1")) is True


def test_of_a_place_in_reach_that_was_not_looked_into_no_second_object_is_denied() -> None:
    state = replace(known(KITCHEN), at=("countertop 1",), inside=frozenset({("apple 1", "countertop 1")}))
    values = closure(domain_of(world_of(KITCHEN)).ground(state))
    assert values[inside("apple", "countertop 1")]
    assert two("apple", "countertop 1") not in values


@given(seeds, tasks)
@examples(40)
def test_preconditions_hold_iff_a_command_does_what_it_is_meant_to(seed: int, task: str) -> None:
    for world, command in played(seed, task, 25, "preconditions"):
        needs = domain_of(world).preconditions(command.text)
        hold = all(true(world, p) == value for p, value in needs.items())
        assert hold == world.twin().do(command) or command.verb == "go", command
        world.do(command)


@pytest.mark.slow
@given(seeds, tasks)
@examples(40)
def test_effects_never_contradict_what_is_so_afterwards(seed: int, task: str) -> None:
    for world, command in played(seed, task, 25, "effects"):
        domain = domain_of(world)
        before = closure(domain.ground(world.known))
        effects = domain.effects(command.text, before)
        if not world.do(command):
            continue
        for predicate, value in {**before, **effects}.items():  # what is not changed stays
            assert value is None or true(world, predicate) == value, (command, predicate)


@given(seeds, tasks)
@examples(40)
def test_the_effects_of_whole_plans_never_contradict_what_is_so(seed: int, task: str) -> None:
    rng = random.Random(f"predicates:plan:{seed}")
    world = drawn(seed, task, full=seed % 2 == 0, size=0.15)
    domain = domain_of(world)
    values: dict[Predicate, bool] = closure(domain.ground(world.known))
    for _ in range(12):
        command = sensible(world, rng)
        if not world.twin().do(command):
            continue
        changes = domain.effects(command.text, values)
        values = {p: v for p, v in {**values, **changes}.items() if v is not None}
        world.do(command)
        for predicate, value in values.items():
            assert true(world, predicate) == value, (command, predicate)


@pytest.mark.slow
@given(seeds, tasks)
@examples(40)
def test_the_declared_goal_is_the_games(seed: int, task: str) -> None:
    for world, command in played(seed, task, 25, "goals"):
        world.do(command)
        assert reached(world) == rules.satisfied(world.known)


def test_goals_are_reached_in_some_of_these_games() -> None:
    ends = 0
    for seed in range(60):
        for world, command in played(seed, "pick_and_place_simple", 25, "goals"):
            world.do(command)
        ends += rules.satisfied(world.known)
    assert ends > 5


def test_another_lamp_switched_on_elsewhere_is_not_the_goal() -> None:
    world = world_of(replace(STUDY, inside=(*STUDY.inside, ("desklamp 2", "desk 1"))))
    do(world, ("go to desk 2", "use desklamp on desk 2", "go to bed 1", "take book from bed 1", "go to desk 1"))
    assert (rules.satisfied(world.known), reached(world)) == (False, False)
    world.do(AlfworldCommand("use", "desk 1", "desklamp"))
    assert rules.satisfied(world.known)


@pytest.mark.slow
@given(seeds, tasks)
@examples(40)
def test_query_macros_bring_a_predicate_to_light(seed: int, task: str) -> None:
    for world, command in played(seed, task, 8, "query"):
        world.do(command)
        domain, goal = domain_of(world), world.layout.goal
        place = random.Random(f"query:{seed}").choice(world.layout.receptacles)
        for predicate in (inside(goal.thing, place), two(goal.thing, place), shut(place), openable(place), at(place)):
            twin, asked = world.twin(), 0
            while (macro := domain.query(twin.known, predicate)) and asked < 3:
                if asked and predicate in closure(domain.ground(twin.known)):
                    break
                asked += 1
                do(twin, macro.actions)
            assert predicate in closure(domain.ground(twin.known)), predicate
            assert asked <= 2


def test_what_is_in_reach_but_was_never_looked_at_is_left_and_come_back_to() -> None:
    domain = domain_of(world_of(KITCHEN))
    here = replace(known(KITCHEN), at=("countertop 1", "cabinet 2"))
    macro = domain.query(here, inside("apple", "cabinet 2"))
    assert macro.actions == ("go to cabinet 1", "go to cabinet 2")
    assert domain.query(here.found("cabinet 2", BARE), inside("apple", "cabinet 2")) is None
    assert domain.query(here, made("clean")) is None
    assert domain.query(here, inside("apple", "cellar 1")) is None


@pytest.mark.slow
@given(seeds, tasks)
@examples(40)
def test_establishing_actions_do_what_they_are_for(seed: int, task: str) -> None:
    for world, command in played(seed, task, 12, "bridge"):
        world.do(command)
        domain = domain_of(world)
        wanted = [(made(mark), True) for mark in ("clean", "hot", "cool", "lit")] + [(EMPTY, True)]
        wanted += [(f(r), v) for r in world.layout.receptacles for f, v in ((at, True), (shut, True), (shut, False))]
        for predicate, value in wanted:
            bridge = domain.establishing(world.known, predicate, value)
            if bridge is None:
                continue
            twin = world.twin()
            do(twin, bridge)
            assert true(twin, predicate) == value, (predicate, bridge)


@pytest.mark.parametrize(
    "text",
    ["take desklamp from desk 1", "open desk 1", "clean pen with desk 1", "put pen in/on attic 1", "go to attic 1"],
)
def test_what_the_kinds_of_things_rule_out_can_never_be_done(text: str) -> None:
    domain = AlfworldPredicates(Layout(STUDY.goal, tuple(r.name for r in STUDY.receptacles)))
    assert domain.preconditions(text) == {NEVER: True} == domain.preconditions("sing a song")
    assert domain.effects(text, {}) == {}
    assert domain.ground(known(STUDY))[NEVER] is False


@pytest.mark.parametrize(
    ("inside", "accepted"),
    [
        ((("apple 1", "countertop 1"), ("apple 2", "diningtable 1")), True),
        # An object can be in two receptacles at once: then what is put beside it may be the object itself.
        ((("apple 1", "countertop 1"), ("apple 1", "diningtable 1"), ("apple 2", "sinkbasin 1")), False),
    ],
)
def test_an_object_beside_itself_makes_no_two(inside: tuple[tuple[str, str], ...], accepted: bool) -> None:
    places = tuple(
        Receptacle(name, False, i) for i, name in enumerate(("countertop 1", "diningtable 1", "sinkbasin 1"))
    )
    state = all_seen(House(places, inside, Goal(TWO, "apple", "diningtable")))
    domain = AlfworldDomain(state.layout)
    store = GroundedStore(domain, domain.key)
    store.observe(state, Evidence("observation", 0, "all of it"))
    plan = ["go to countertop 1", "take apple from countertop 1", "go to diningtable 1"]
    verifier = Verifier(domain, Rulebook(domain.rules()))
    assert verifier.verify([*plan, "put apple in/on diningtable 1"], [], store.snapshot(), {}).accepted is accepted
