from __future__ import annotations

import copy
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.aec.bound import NoisyDomain, check_bound, detected, feasibility_bound, grounded_later, tail
from tape.errors import ConfigError
from tape.protocols.predicates import Predicate, PredicateDomain
from tests.profiles import examples
from tests.tape.aec.chests import HOLDING, Chests, Seen, at, is_open, key_in

NAMES = tuple(f"c{i}" for i in range(8))
DOMAIN = Chests(NAMES, "c3")
START = Seen("door")
ALL_OPEN = Seen("door", frozenset(NAMES), "c3")


def test_the_bound_counts_only_what_was_grounded_after_the_start() -> None:
    later = grounded_later(DOMAIN.ground(START), DOMAIN.ground(ALL_OPEN))
    assert later == {key_in(chest) for chest in NAMES}
    assert feasibility_bound(later, 0.05) == pytest.approx(0.6)
    assert feasibility_bound(later, {"open": 0.5}) == 1.0
    assert feasibility_bound(later, 0.5) == 0.0
    assert feasibility_bound([key_in("c1")] * 3, 0.1) == pytest.approx(0.9)
    with pytest.raises(ConfigError, match="error rate of in"):
        feasibility_bound(later, 1.5)


@examples(200)
@given(st.integers(0, 10**6), st.floats(0, 1), st.integers(0, 8))
def test_only_what_comes_to_light_later_is_ever_wrong(seed: int, rate: float, opened: int) -> None:
    noisy = NoisyDomain(DOMAIN, rate, seed, START)
    state = Seen("c1", frozenset(NAMES[:opened]), "c3" if opened > 3 else None)
    truth, said = DOMAIN.ground(state), noisy.ground(state)
    wrong = {predicate for predicate in truth if truth[predicate] != said[predicate]}
    assert said.keys() == truth.keys()
    assert wrong == noisy.flipped <= grounded_later(DOMAIN.ground(START), truth)
    assert noisy.ground(state) == said
    assert rate > 0 or not wrong
    assert rate < 1 or len(wrong) == opened


def test_a_flip_is_fixed_by_seed_and_name_and_whatever_happens_in_between() -> None:
    one, two = NoisyDomain(DOMAIN, 0.5, 7, START), NoisyDomain(DOMAIN, 0.5, 7)
    two.ground(START)
    for opened in range(9):
        two.ground(Seen("door", frozenset(NAMES[:opened])))
    assert one.ground(ALL_OPEN) == two.ground(ALL_OPEN)
    assert one.flipped
    others = [NoisyDomain(DOMAIN, 0.5, seed, START).ground(ALL_OPEN) for seed in range(5)]
    assert any(other != others[0] for other in others)


def test_the_first_state_that_is_grounded_is_the_start() -> None:
    noisy = NoisyDomain(DOMAIN, 1.0, 0)
    assert noisy.ground(START) == DOMAIN.ground(START)
    moved = noisy.ground(Seen("c1", frozenset({"c1"})))
    assert moved[at("c1")]
    assert moved[is_open("c1")]
    assert moved[key_in("c1")]  # it is not there: the query was wrong


def test_rates_may_differ_by_predicate_and_are_checked_at_once() -> None:
    assert NoisyDomain(DOMAIN, {"open": 1.0}, 0, START).ground(ALL_OPEN) == DOMAIN.ground(ALL_OPEN)
    with pytest.raises(ConfigError, match="error rate of in"):
        NoisyDomain(DOMAIN, {"in": -0.1}, 0)


def test_everything_else_passes_through() -> None:
    noisy = NoisyDomain(DOMAIN, 1.0, 0)
    assert isinstance(noisy, PredicateDomain)
    assert noisy.preconditions("take c1") == DOMAIN.preconditions("take c1")
    assert noisy.effects("take c1", {}) == DOMAIN.effects("take c1", {})
    assert noisy.goals() == ({HOLDING: True},)
    assert noisy.rules() == DOMAIN.rules()
    assert noisy.query(START, key_in("c1")) == DOMAIN.query(START, key_in("c1"))
    assert noisy.bridge(START, is_open("c1"), True) == DOMAIN.bridge(START, is_open("c1"), True)
    assert noisy.admissible(START) == DOMAIN.admissible(START)
    assert noisy.cost(START, "go c1") == DOMAIN.cost(START, "go c1")
    assert noisy.key(START) == noisy.render(START) == str(START)
    assert noisy.deterministic
    assert noisy.hidden == "c3"
    assert copy.copy(noisy).hidden == "c3"
    with pytest.raises(AttributeError):
        noisy.nothing_like_this  # noqa: B018


@pytest.mark.parametrize("rate", [0.02, 0.1])
def test_the_theorem_holds_for_plans_committed_on_simulated_errors(rate: float) -> None:
    """Open chests in a random order and commit to take the key from the first in which it seems to be."""
    commitments = []
    for seed in range(600):
        rng = random.Random(f"chests {seed}")
        domain = Chests(NAMES, rng.choice(NAMES))
        noisy, state = NoisyDomain(domain, rate, seed, START), START
        for chest in rng.sample(NAMES, len(NAMES)):
            for action in (f"go {chest}", f"open {chest}"):
                state = domain.play(state, action)
            known = noisy.ground(state)
            if known[key_in(chest)]:
                bound = feasibility_bound(grounded_later(noisy.ground(START), known), rate)
                commitments.append((bound, domain.play(state, f"take {chest}").holding))
                break
    found = check_bound(commitments)
    assert found.n > 500
    assert found.infeasible > 0
    assert found.holds
    assert found.low <= found.frequency <= found.high


@examples(50)
@given(st.integers(0, 12), st.integers(0, 12), st.floats(0, 1))
def test_the_tail_is_the_binomials(least: int, n: int, chance: float) -> None:
    whole = [math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(least, n + 1)]
    assert tail(least, n, chance) == pytest.approx(min(1.0, sum(whole)), abs=1e-9)


def test_the_power_says_what_so_many_commitments_can_find() -> None:
    assert detected(480, 0.2) == pytest.approx(0.25, abs=0.01)
    assert detected(48, 0.2) > 0.3
    assert detected(6, 0.663) == math.inf
    assert detected(10, 0.0) == pytest.approx(0.149, abs=0.002)  # one is enough: 1 - 0.2 ** (1 / 10)
    assert detected(5, 1.0) == detected(0, 0.5) == math.inf


def test_a_frequency_above_what_is_allowed_is_seen() -> None:
    assert not check_bound([(0.9, i % 2 == 0) for i in range(100)]).holds
    assert check_bound([]).holds
    assert Predicate("x") not in NoisyDomain(DOMAIN, 1.0, 0).flipped
