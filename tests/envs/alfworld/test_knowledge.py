"""What is known: statuses, what plans assume turning out so, what identifies a state."""

from dataclasses import replace

import pytest
from hypothesis import given

from envs.alfworld.state import BARE, KEPT, OPEN, SHUT, Layout, unseen
from tests.envs.alfworld.households import KITCHEN, domain_of, drawn, known, seeds, tasks, world_of


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
def test_a_key_tells_what_matters_and_no_more(seed: int, task: str) -> None:
    world = drawn(seed, task, full=True)
    domain, state = domain_of(world), world.known
    assert domain.key(replace(state, shown=("look",), tried=frozenset({"look"}))) == domain.key(state)
    assumed = replace(state, assumed=frozenset({(unseen("apple"), world.layout.receptacles[0])}))
    assert domain.key(assumed) == domain.key(state)
    assert domain.assuming_key(assumed) != domain.assuming_key(state) == domain.key(state)
    assert domain.plain(assumed) == state
    kinds = {thing.rpartition(" ")[0] for thing, _ in state.inside} - set(world.layout.goal.kinds)
    fewer = [pair for pair in state.inside if pair[0].rpartition(" ")[0] not in kinds]
    assert domain.key(replace(state, inside=frozenset(fewer))) == domain.key(state)
    assert domain.key(replace(state, inside=frozenset())) != domain.key(state)
    assert domain.key(replace(state, holding=f"{world.layout.goal.thing} 9")) != domain.key(state)


def test_a_picture_shows_what_matters() -> None:
    world = world_of(KITCHEN, full=True)
    lines = domain_of(world).render(world.known).splitlines()
    assert lines == [
        "at the middle of the room, holding nothing",
        "apple in/on cabinet 2",
        "apple in/on fridge 1",
        "0 of 6 places not looked into",
    ]
    assert domain_of(world).render(known(KITCHEN)).endswith("6 of 6 places not looked into")


def test_all_that_can_be_said_is_admissible_and_what_is_shown_too() -> None:
    world = world_of(KITCHEN)
    domain = domain_of(world, shown=True)
    state = replace(known(KITCHEN), inside=frozenset({("mug 1", "countertop 1")}), holding="knife 1", shown=("look",))
    texts = domain.admissible(state)
    assert len(set(texts)) == len(texts)
    assert {"take apple from fridge 1", "put apple in/on fridge 1", "take mug from countertop 1", "look"} <= set(texts)
    assert {"put knife in/on cabinet 1", "clean knife with sinkbasin 1", "go to cabinet 2"} <= set(texts)
    assert not {"open desk 1", "take mug from fridge 1"} & set(texts)
    assert domain.offered(state) == ("look",)
