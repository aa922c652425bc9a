"""SQ-BCP: plans by bidirectional search, and queries against establishing actions."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.state import is_solved, replay
from tape.errors import ConfigError
from tape.methods.aec.bidirectional import BidirectionalProposer, FoundPlan, SearchLimits, search
from tape.protocols import Plan, Proposer
from tape.protocols.predicates import Assignment, Effects, Predicate
from tests.envs.sokoban.helpers import PlainGame, random_level
from tests.profiles import examples
from tests.tape.methods.aec.toy import (
    HOLDING,
    BoxDomain,
    BoxModel,
    BoxWorld,
    Seen,
    gem_in,
    locked,
    open_,
    outcome,
    play,
    put,
)


def closed(boxes: int) -> Seen:
    """Nothing is known of any box but that it is shut."""
    return Seen((False,) * boxes, (None,) * boxes, (None,) * boxes)


def actions(boxes: int) -> list[str]:
    return [f"{verb} {box}" for verb in ("unlock", "open", "take") for box in range(boxes)]


def plans(domain: BoxDomain, state: Seen, m: int, **limits: int) -> list[FoundPlan]:
    return search(domain, state, actions(domain.boxes), m, SearchLimits(**limits))


def test_what_is_known_is_used_and_the_cheapest_plans_come_first() -> None:
    assert plans(BoxDomain(2), Seen((False, True), (None, False), (None, True)), 1) == [FoundPlan(("take 1",), {})]
    empty = Seen((True, False, False), (False, None, None), (False, None, None))
    assumed = [set(plan.assumed) for plan in plans(BoxDomain(3), empty, 2)]
    assert assumed == [{gem_in(1), locked(1)}, {gem_in(2), locked(2)}]


def test_an_unknown_precondition_is_assumed_or_established_by_actions_that_need_not_be_listed() -> None:
    domain, sure = BoxDomain(1), FoundPlan(("unlock 0", "open 0", "take 0"), {})
    assert plans(domain, closed(1), 5, length=3) == [FoundPlan(("open 0", "take 0"), {locked(0): False}), sure]
    assert plans(domain, closed(1), 5, assumptions=0, length=3) == [sure]
    assert search(domain, closed(1), ["open 0", "take 0"], 3, SearchLimits(assumptions=0)) == [sure]


DARK = Predicate("dark")


class TwoGems(BoxDomain):
    def goals(self) -> list[Assignment]:
        return [{gem_in(0): True, gem_in(1): True}]


class Dark(BoxDomain):
    """It is dark while no box is open; no action declares whether it still is then."""

    def rules(self) -> list[Callable[[Assignment], Assignment]]:  # type: ignore[override]
        return [lambda known: {DARK: True} if known.get(open_(0)) is False else {}]

    def preconditions(self, action: str) -> Assignment:
        needs = super().preconditions(action)
        return {**needs, DARK: False} if action.startswith("take") else needs


class Shaken(BoxDomain):
    """Opening a box shakes the gem about."""

    def effects(self, action: str, known: Assignment) -> Effects:
        shaken = dict.fromkeys(map(gem_in, range(self.boxes))) if action.startswith("open") else {}
        return {**super().effects(action, known), **shaken}


class Empty(BoxDomain):
    """What is open is empty."""

    def rules(self) -> list[Callable[[Assignment], Assignment]]:  # type: ignore[override]
        return [lambda known: {gem_in(0): False} if known.get(open_(0)) else {}]


@pytest.mark.parametrize("domain", [TwoGems(2), Dark(1), Shaken(2), Empty(1)])
def test_contradicted_and_lost_values_are_never_assumed(domain: BoxDomain) -> None:
    assert plans(domain, closed(domain.boxes), 3, length=5) == []


def test_the_backward_frontier_finds_plans_that_a_narrow_forward_one_misses() -> None:
    state = replace(closed(12), gem=put(closed(12).gem, 5, True), locked=put(closed(12).locked, 5, False))
    assert plans(BoxDomain(12), state, 1, width=1) == [FoundPlan(("open 5", "take 5"), {})]


@examples(60)
@given(st.integers(0, 10**6))
def test_every_plan_works_where_its_assumptions_are_true(seed: int) -> None:
    rng = random.Random(seed)
    boxes = rng.randint(1, 3)
    gem, locks, state = rng.randrange(boxes), [rng.random() < 0.3 for _ in range(boxes)], closed(boxes)

    def played(state: Seen, steps: Sequence[str], locks: list[bool]) -> Seen:
        for step in steps:
            state = outcome(state, step, gem, locks)
            if step.startswith("unlock"):
                locks[int(step[-1])] = False
        return state

    state, domain = played(state, rng.choices(actions(boxes), k=rng.randint(0, 6)), locks), BoxDomain(boxes)
    m, nodes = rng.randint(1, 4), rng.choice([20, 4000])
    found_plans = plans(domain, state, m, length=5, nodes=nodes)
    assert found_plans == plans(domain, state, m, length=5, nodes=nodes)
    assert len(found_plans) <= m
    if domain.ground(state)[HOLDING]:
        assert found_plans[0] == FoundPlan((), {})
    truth = {gem_in(box): box == gem for box in range(boxes)} | {locked(box): locks[box] for box in range(boxes)}
    for plan in found_plans:
        assert not set(plan.assumed) & set(domain.ground(state))
        if all(truth.get(predicate) is value for predicate, value in plan.assumed.items()):
            assert played(state, plan.actions, list(locks)).holding
    order = [(len(plan.actions), len(plan.assumed), plan.actions) for plan in found_plans]
    assert order == sorted(order)
    assert len(set(order)) == len(order)


def test_most_small_sokoban_levels_are_solved_in_the_fewest_moves() -> None:
    rng = random.Random("two frontiers")
    levels = [random_level(rng, 5, 6, max_boxes=1) for _ in range(40)]
    moves = [(level, PlainGame(level).shortest(level.start)) for level in levels]
    possible = [(level, shortest) for level, shortest in moves if shortest is not None and shortest <= 9]
    solved = 0
    for level, shortest in possible:
        [plans] = asyncio.run(BidirectionalProposer(SokobanDomain(level)).propose([(level.start, {})], 1, seed=0))
        assert all(is_solved(level, replay(level, plan.actions)[-1]) for plan in plans)
        solved += any(len(plan.actions) == shortest for plan in plans)
    assert solved >= 0.7 * len(possible) > 5


class Listed(BoxDomain):
    def admissible(self, state: object) -> list[str]:
        return actions(self.boxes)


def test_as_a_proposer_it_keeps_to_the_steps_that_remain() -> None:
    proposer: Proposer = BidirectionalProposer(Listed(2))
    starts = [(closed(2), {"steps": 3}), (closed(2), {"steps": 2}), (closed(2), {})]
    enough, too_few, free = asyncio.run(proposer.propose(starts, 2, seed=1))
    assert enough == [Plan((f"unlock {box}", f"open {box}", f"take {box}")) for box in range(2)]
    assert too_few == []
    assert free[:2] == enough
    with pytest.raises(ConfigError, match="needs a list of actions"):
        asyncio.run(BidirectionalProposer(BoxDomain(1)).propose([(closed(1), {})], 1, seed=0))


def test_plans_may_come_from_the_search_instead_of_the_model() -> None:
    open_lids = (False, False)
    world, model = BoxWorld(0, open_lids, Listed(2)), BoxModel(0, open_lids)
    result, _ = play(world, model, proposer="two_frontier", aec={"gate": "query_all"})
    assert "plan" not in result.lm_calls
    assert result.success
