"""SQ-BCP: plans by bidirectional search, and queries against establishing actions."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

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
from tests.tape.methods.aec.chests import HOLDING, Chests, Seen, at, is_open, key_in

START = Seen("door")
CHESTS = Chests(("a", "b", "c"), "b")


def plans(domain: Chests, state: Seen, m: int, **limits: int) -> list[FoundPlan]:
    return search(domain, state, domain.actions(), m, SearchLimits(**limits))


def test_what_is_known_is_used_and_the_cheapest_plans_come_first() -> None:
    opened = Seen("a", frozenset({"a", "b"}), seen_in="b")
    assert plans(CHESTS, opened, 1) == [FoundPlan(("go b", "take b"), {})]
    empty = Seen("a", frozenset({"a"}))
    found_plans = plans(CHESTS, empty, 2)
    assert [set(f.assumed) for f in found_plans] == [{key_in("b")}, {key_in("c")}]


def test_an_unknown_precondition_is_assumed_or_established() -> None:
    domain = Chests(("a",), "a", locked=frozenset({"a"}))
    found_plans = plans(domain, START, 5, length=4)
    assert found_plans[0] == FoundPlan(("go a", "take a"), {key_in("a"): True, is_open("a"): True})
    assert found_plans[1] == FoundPlan(("go a", "open a", "take a"), {key_in("a"): True})
    assert plans(domain, START, 5, assumptions=1, length=4)[0] == found_plans[1]
    assert plans(domain, START, 5, assumptions=0) == []


def test_establishing_actions_need_not_be_in_the_list() -> None:
    domain = Chests(("a",), "a", locked=frozenset({"a"}))
    found_plans = search(domain, START, ["take a"], 3, SearchLimits(assumptions=1))
    assert found_plans == [FoundPlan(("go a", "open a", "take a"), {key_in("a"): True})]


DARK = Predicate("dark")


class TwoKeys(Chests):
    def goals(self) -> list[Assignment]:
        return [{key_in("a"): True, key_in("b"): True}]


class Dark(Chests):
    """It is dark at the door; no action declares whether it is elsewhere."""

    def rules(self) -> list[Callable[[Assignment], Assignment]]:  # type: ignore[override]
        return [lambda known: {DARK: True} if known.get(at("door")) else {}]

    def preconditions(self, action: str) -> Assignment:
        needs = super().preconditions(action)
        return {**needs, DARK: False} if action.startswith("take") else needs


class Shaken(Chests):
    """Going to a chest shakes the key about."""

    def effects(self, action: str, known: Assignment) -> Effects:
        shaken = dict.fromkeys(map(key_in, self.chests)) if action.startswith("go") else {}
        return {**super().effects(action, known), **shaken}


class Empty(Chests):
    """What is open is empty."""

    def rules(self) -> list[Callable[[Assignment], Assignment]]:  # type: ignore[override]
        return [lambda known: {key_in("a"): False} if known.get(is_open("a")) else {}]


@pytest.mark.parametrize(
    ("domain", "start", "length"),
    [
        (TwoKeys(("a", "b"), "a"), START, 5),
        (Dark(("a",), "a"), START, 5),
        (Shaken(("a", "b"), "a"), START, 5),
        (Empty(("a",), "a", locked=frozenset({"a"})), Seen("a"), 1),
    ],
)
def test_contradicted_and_lost_values_are_never_assumed(domain: Chests, start: Seen, length: int) -> None:
    assert plans(domain, start, 3, length=length) == []
    if isinstance(domain, Dark | Shaken):
        dark = {DARK: False} if isinstance(domain, Dark) else {}
        assert plans(domain, Seen("a"), 1)[0].assumed == {**dark, key_in("a"): True}


def test_the_backward_frontier_finds_plans_that_a_narrow_forward_one_misses() -> None:
    many = Chests(tuple(f"c{i}" for i in range(12)), "c5")
    state = Seen("door", frozenset({"c5"}), "c5")
    assert plans(many, state, 1, width=1) == [FoundPlan(("go c5", "take c5"), {})]


@examples(60)
@given(st.integers(0, 10**6))
def test_every_plan_works_where_its_assumptions_are_true(seed: int) -> None:
    rng = random.Random(seed)
    names = ("a", "b", "c")[: rng.randint(1, 3)]
    hidden = rng.choice(names)
    domain = Chests(names, hidden, locked=frozenset(n for n in names if rng.random() < 0.3))
    state = START
    for action in rng.choices(domain.actions(), k=rng.randint(0, 6)):
        state = domain.play(state, action)
    m, nodes = rng.randint(1, 4), rng.choice([20, 4000])
    found_plans = plans(domain, state, m, length=5, nodes=nodes)
    assert found_plans == plans(domain, state, m, length=5, nodes=nodes)
    assert len(found_plans) <= m
    if domain.ground(state)[HOLDING]:
        assert found_plans[0] == FoundPlan((), {})
    for plan in found_plans:
        assert not set(plan.assumed) & set(domain.ground(state))
        # Not open is the truth of every chest that was not opened.
        if all(value == (p == key_in(hidden)) for p, value in plan.assumed.items()):
            end = state
            for action in plan.actions:
                end = domain.play(end, action)
            assert end.holding
    order = [(len(plan.actions), len(plan.assumed), plan.actions) for plan in found_plans]
    assert order == sorted(order)
    assert len(set(order)) == len(order)


def test_small_sokoban_levels_are_solved_in_the_fewest_moves() -> None:
    rng = random.Random("two frontiers")
    solved = 0
    for _ in range(40):
        level = random_level(rng, 5, 6, max_boxes=1)
        shortest = PlainGame(level).shortest(level.start)
        if shortest is None or shortest > 9:
            continue
        hypotheses = BidirectionalProposer(SokobanDomain(level), SearchLimits(width=400, length=9)).hypotheses(
            level.start, 1
        )
        assert is_solved(level, replay(level, hypotheses[0].actions)[-1])
        assert len(hypotheses[0].actions) == shortest
        assert not hypotheses[0].assumed
        solved += 1
    assert solved >= 8


def test_as_a_proposer_it_keeps_to_the_steps_that_remain() -> None:
    proposer: Proposer = BidirectionalProposer(CHESTS)
    starts = [(START, {"steps": 3}), (START, {"steps": 2}), (START, {})]
    enough, too_few, free = asyncio.run(proposer.propose(starts, 2, seed=1))
    assert enough == [Plan(("go a", "open a", "take a")), Plan(("go b", "open b", "take b"))]
    assert too_few == []
    assert free[:2] == enough
    assert asyncio.run(proposer.propose(starts, 2, seed=2))[0] == enough


def test_open_actions_have_to_be_given() -> None:
    class Open(Chests):
        def admissible(self, state: object) -> None:
            return None

    domain = Open(("a",), "a")
    with pytest.raises(ConfigError, match="needs a list of actions"):
        BidirectionalProposer(domain).hypotheses(START, 1)
    assert BidirectionalProposer(domain, actions=lambda _: domain.actions()).hypotheses(START, 1)


@pytest.mark.parametrize("wrong", [{"length": -1}, {"nodes": 0}, {"width": 0}, {"assumptions": -1}, {"tau": 0.0}])
def test_limits_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        SearchLimits(**wrong)  # type: ignore[arg-type]
