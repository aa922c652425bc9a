"""What is known, and what plans assume of places that were not looked into."""

from dataclasses import replace

import hypothesis
import pytest
from hypothesis import given

from envs.alfworld import rules
from envs.alfworld.assumptions import assume, assumed_by, plain
from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.game.kinds import OPENABLE, kind_of
from envs.alfworld.predicates import inside
from envs.alfworld.state import BARE, KEPT, OPEN, SHUT, Layout, unseen
from experiments.training.alfworld.plans import best_plan
from tests.envs.alfworld.worlds import KITCHEN, SHELVES, domain_of, drawn, follow, known, seeds, tasks, world_of


@pytest.mark.parametrize("status", [KEPT, OPEN, BARE])
def test_what_is_assumed_of_a_place_turns_out_so_when_it_is_looked_into(status: str) -> None:
    pair, other = (unseen("apple"), "cabinet 1"), (unseen("apple"), "fridge 1")
    start = replace(known(KITCHEN), assumed=frozenset({pair, other}))
    shut = start.found("cabinet 1", SHUT)
    assert shut.assumed == start.assumed
    seen = shut.found("cabinet 1", status)
    assert (seen.assumed, seen.inside) == (frozenset({other}), frozenset({pair}))


def test_what_shares_a_spot_is_reached_together_where_that_is_known() -> None:
    layout = Layout(KITCHEN.goal, ("cabinet 1", "cabinet 2", "fridge 1"), (("cabinet 1", "cabinet 2"),))
    assert layout.reached_with("cabinet 2") == ("cabinet 2", "cabinet 1")
    assert layout.reached_with("fridge 1") == ("fridge 1",)


@given(seeds, tasks)
def test_a_key_holds_what_matters_and_no_more(seed: int, task: str) -> None:
    world = drawn(seed, task, full=True)
    domain, state = domain_of(world), world.known
    assert domain.key(replace(state, shown=("look",), tried=frozenset({"look"}))) == domain.key(state)
    assumed = replace(state, assumed=frozenset({(unseen("apple"), world.layout.receptacles[0])}))
    assert domain.key(assumed) == domain.key(state)
    assert domain.assumed(assumed) != domain.assumed(state) == ""
    assert domain.plain(assumed) == state
    kinds = {thing.rpartition(" ")[0] for thing, _ in state.inside} - set(world.layout.goal.kinds)
    fewer = [pair for pair in state.inside if pair[0].rpartition(" ")[0] not in kinds]
    assert domain.key(replace(state, inside=frozenset(fewer))) == domain.key(state)
    assert domain.key(replace(state, inside=frozenset())) != domain.key(state)
    assert domain.key(replace(state, holding=f"{world.layout.goal.thing} 9")) != domain.key(state)


def test_all_that_can_be_written_is_admissible_and_what_is_shown_too() -> None:
    world = world_of(KITCHEN)
    domain = domain_of(world, shown=True)
    state = replace(known(KITCHEN), inside=frozenset({("mug 1", "countertop 1")}), holding="knife 1", shown=("look",))
    texts = domain.admissible(state)
    assert len(set(texts)) == len(texts)
    assert {"take apple from fridge 1", "put apple in/on fridge 1", "take mug from countertop 1", "look"} <= set(texts)
    assert {"put knife in/on cabinet 1", "clean knife with sinkbasin 1", "go to cabinet 2"} <= set(texts)
    assert not {"open desk 1", "take mug from fridge 1"} & set(texts)
    assert domain.offered(state) == ("look",)


START = known(SHELVES)


def take(place: str) -> AlfworldCommand:
    return AlfworldCommand("take", place, "book")


def put(place: str) -> AlfworldCommand:
    return AlfworldCommand("put", place, "book")


def test_an_object_taken_from_an_unseen_place_is_assumed_there() -> None:
    assert assumed_by(START, [AlfworldCommand("go", "shelf 1"), take("shelf 1")]) == ((unseen("book"), "shelf 1"),)
    assert assumed_by(START, [AlfworldCommand("use", "shelf 2", "desklamp")]) == ((unseen("desklamp"), "shelf 2"),)
    assert assumed_by(START, [AlfworldCommand("use", "", "desklamp"), AlfworldCommand("go", "shelf 1")]) == ()
    assert assumed_by(START, [take("attic 1")]) == ()


def test_what_was_seen_or_looked_into_is_not_assumed() -> None:
    seen = replace(START, inside=frozenset({("book 1", "shelf 1")})).found("shelf 1", BARE)
    assert assumed_by(seen, [take("shelf 1"), put("cabinet 1"), take("shelf 1")]) == ()


def test_each_object_is_assumed_once_and_what_the_plan_puts_there_never() -> None:
    twice = [take("shelf 1"), put("shelf 2"), take("shelf 1"), put("shelf 2"), take("shelf 2"), take("shelf 2")]
    assert assumed_by(START, twice) == ((unseen("book", 1), "shelf 1"), (unseen("book", 2), "shelf 1"))
    assert assumed_by(START, [*twice, take("shelf 2")])[2:] == ((unseen("book", 3), "shelf 2"),)
    domain = domain_of(world_of(SHELVES))
    assert list(domain.assumptions(START, [c.text for c in twice])) == [inside("book", "shelf 1")]


def test_two_unseen_objects_stay_two_when_they_are_put_together() -> None:
    plan = [take("shelf 1"), put("cabinet 1"), take("shelf 2"), put("cabinet 1")]
    names = [thing for thing, _ in assumed_by(START, plan)]
    assert names == [unseen("book", 1), unseen("book", 2)]
    half = replace(START, inside=frozenset({(names[0], "cabinet 1")}))
    assert assumed_by(half, plan[2:]) == ((names[1], "shelf 2"),)
    assert half.unseen_name("book", [names[1]]) == unseen("book", 3)


def test_a_state_rests_on_what_its_plan_assumes_and_nothing_else() -> None:
    other = assume(START, [take("shelf 2")])
    state = assume(other, [take("shelf 1")])
    assert state.assumed == frozenset({(unseen("book"), "shelf 1")})
    assert plain(state) == START == plain(START)


@pytest.mark.slow
@given(seeds, tasks)
def test_a_plan_under_its_own_assumptions_reaches_the_goal(seed: int, task: str) -> None:
    world = drawn(seed, task, full=False)
    hypothesis.assume(all(kind_of(r) not in OPENABLE for r in set(world.layout.receptacles) - world.openable))
    # A plan that leaves one of two where it is, unseen, takes nothing from there, and assumes nothing.
    goal = world.layout.goal
    hypothesis.assume((goal.thing, goal.target) not in {(kind_of(t), kind_of(r)) for t, r in world.inside})
    plan = best_plan(world.scene())
    assert plan
    stands = [where for thing, where in world.inside if kind_of(thing) == goal.target]
    plan = tuple(replace(c, place=stands[0]) if c.verb == "use" else c for c in plan)
    looked_at = {place for _, place in assumed_by(world.known, plan)}
    assert looked_at == {c.place for c in plan if c.verb in ("take", "use")}
    state = follow(assume(world.known, plan), plan)
    assert rules.satisfied(state)
    assert not state.assumed
