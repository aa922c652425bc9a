from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.alfworld.noisy_environment import NoisyDomain, grounded_later
from tape.errors import ConfigError
from tests.envs.alfworld.chests import Chests, Seen, at, is_open, key_in
from tests.profiles import examples

NAMES = tuple(f"c{i}" for i in range(8))
DOMAIN = Chests(NAMES, "c3")
START = Seen("door")
ALL_OPEN = Seen("door", frozenset(NAMES), "c3")


def begun(rate: float, seed: int) -> NoisyDomain:
    """A domain that has grounded the first state."""
    noisy = NoisyDomain(DOMAIN, rate, seed)
    noisy.ground(START)
    return noisy


@examples(200)
@given(st.integers(0, 10**6), st.floats(0, 1), st.integers(0, 8))
def test_only_what_comes_to_light_later_is_ever_wrong(seed: int, rate: float, opened: int) -> None:
    noisy = begun(rate, seed)
    state = Seen("c1", frozenset(NAMES[:opened]), "c3" if opened > 3 else None)
    truth, noise = dict(DOMAIN.ground(state)), noisy.ground(state)
    for rule in DOMAIN.rules():
        truth |= {name: value for name, value in rule(truth).items() if name not in truth}
    later = grounded_later(DOMAIN.ground(START), truth)
    wrong = {predicate for predicate in truth if truth[predicate] != noise[predicate]}
    assert noise.keys() == truth.keys()
    assert wrong <= later
    assert noisy.ground(state) == noise
    assert rate > 0 or not wrong
    assert rate < 1 or wrong == later


def test_a_flip_is_fixed_by_seed_and_name_and_whatever_happens_in_between() -> None:
    domain, two = begun(0.5, 7), begun(0.5, 7)
    for opened in range(9):
        two.ground(Seen("door", frozenset(NAMES[:opened])))
    assert domain.ground(ALL_OPEN) == two.ground(ALL_OPEN)
    assert domain.ground(ALL_OPEN) != DOMAIN.ground(ALL_OPEN)
    others = [begun(0.5, seed).ground(ALL_OPEN) for seed in range(5)]
    assert any(other != others[0] for other in others)


def test_the_first_state_that_is_grounded_is_the_start() -> None:
    noisy = NoisyDomain(DOMAIN, 1.0, 0)
    assert noisy.ground(START) == DOMAIN.ground(START)
    moved = noisy.ground(Seen("c1", frozenset({"c1"})))
    assert all(moved[known] for known in (at("c1"), is_open("c1"), key_in("c1")))  # the key is not there


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_a_rate_is_checked_at_once(rate: float) -> None:
    with pytest.raises(ConfigError, match="error rate of queries"):
        NoisyDomain(DOMAIN, rate, 0)


def test_everything_else_passes_through() -> None:
    noisy = NoisyDomain(DOMAIN, 1.0, 0)
    assert noisy.predicates is noisy
    for name, *args in (
        ("preconditions", "take c1"),
        ("effects", "take c1", {}),
        ("goals",),
        ("rules",),
        ("query", START, key_in("c1")),
        ("establishing", START, is_open("c1"), True),
        *(("admissible", START), ("cost", START, "go c1"), ("key", START), ("render", START)),
    ):
        assert getattr(noisy, name)(*args) == getattr(DOMAIN, name)(*args)
    assert noisy.deterministic
    assert copy.copy(noisy).hidden == noisy.hidden == "c3"
    with pytest.raises(AttributeError):
        noisy.nothing_like_this  # noqa: B018
