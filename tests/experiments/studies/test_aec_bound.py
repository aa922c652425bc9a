from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.studies.aec.bound import check_bound, feasibility_bound, tail
from tape.aec.noisy_environment import NoisyDomain, grounded_later
from tape.errors import ConfigError
from tests.profiles import examples
from tests.tape.aec.chests import Chests, Seen, key_in

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
