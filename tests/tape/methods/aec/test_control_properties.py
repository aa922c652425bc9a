"""Active epistemic control in many small worlds: what is committed to executes, and every budget is kept."""

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Budget
from tape.methods.aec.events import CommittedEvent, VerifiedEvent
from tape.methods.aec.state import EpistemicState
from tape.protocols.predicates import Predicate
from tape.trace import ActedEvent
from tests.profiles import examples
from tests.tape.methods.aec.toy import (
    HOLDING,
    BoxDomain,
    BoxModel,
    BoxWorld,
    begun,
    gem_in,
    locked,
    of_type,
    open_,
    play,
)

World = tuple[int, tuple[bool, ...]]
worlds = st.integers(2, 5).flatmap(lambda n: st.tuples(st.integers(0, n - 1), st.tuples(*[st.booleans()] * n)))


VERIFICATION = st.fixed_dictionaries(
    {
        "gate": st.sampled_from(["thresholds", "query_all", "simulate_all"]), "hypotheses": st.integers(1, 6),
        "margin": st.sampled_from([0.0, 0.2, 0.4, 0.5]), "uncertainty": st.sampled_from([0.0, 0.1, 0.2, 1.0]),
        "query_budget": st.sampled_from([None, None, 0, 1, 3]), "ensemble": st.integers(1, 8),
    }
)  # fmt: skip


ROUNDS = st.fixed_dictionaries({"num_plans": st.integers(1, 6), "max_replans": st.integers(0, 6)})


@given(worlds, st.integers(0, 99), st.floats(0, 1), st.integers(1, 25), VERIFICATION, ROUNDS)
@examples(40)
def test_commitments_are_covered_and_execute_and_no_budget_is_exceeded(
    world: World, seed: int, skill: float, steps: int, verification: dict[str, Any], rounds: dict[str, int]
) -> None:
    (gem, locks), model = world, BoxModel(*world, skill)
    result, events = play(BoxWorld(gem, locks), model, steps=steps, seed=seed, aec=verification, **rounds)
    assert result.method["infeasible_commitments"] == 0
    assert result.used.get("steps", 0) <= steps
    assert not result.budget_violations
    if verification["query_budget"] is not None:
        assert result.method["queries"] <= verification["query_budget"]
    domain = BoxDomain(len(locks))
    refused = [e for e in of_type(events, VerifiedEvent) if not e.accepted]
    assert len(refused) == result.method["refusals"]
    assert all(e.witnesses for e in refused)
    committed = of_type(events, CommittedEvent)
    assert len(committed) == result.method["commitments"]
    for event in committed:
        own: set[Predicate] = set()
        for action in event.actions:
            for predicate in domain.preconditions(action):
                assert predicate in own or str(predicate) in event.evidence
            own |= set(domain.effects(action, {}))
    if committed:
        # A certified path ends at the goal, so nothing comes after the first one.
        assert len(committed) == 1
        done = [e.action for e in events[events.index(committed[0]) :] if isinstance(e, ActedEvent)]
        assert done == committed[0].actions
        assert result.end_state == "success"
    assert len([e for e in events if isinstance(e, ActedEvent)]) == result.steps


@given(worlds, st.integers(0, 99), st.floats(0, 1), st.integers(0, 6))
@examples(40)
def test_no_sequence_of_simulations_changes_a_verdict(world: World, seed: int, skill: float, count: int) -> None:
    """The verifier is asked before and after any number of beliefs, of whatever values, in a real episode's state."""
    gem, locks = world
    rng = random.Random(f"{seed}")
    episode = begun(BoxWorld(gem, locks), BoxModel(gem, locks, skill))
    state = EpistemicState(episode, BoxDomain(len(locks)))
    plans = [[f"unlock {i}", f"open {i}", f"take {i}"] for i in range(len(locks))] + [["open 0", "take 0"], []]

    def verdicts() -> list[object]:
        return [(v.accepted, v.witnesses, v.evidence) for v in map(state.verify, plans)]

    before, facts = verdicts(), dict(state.grounded)
    predicates = [kind(i) for kind in (gem_in, locked, open_) for i in range(len(locks))] + [HOLDING]
    for _ in range(count):
        predicate = rng.choice(predicates)
        state.beliefs.predicted(predicate, rng.random(), rng.random())
        state.beliefs.simulate(predicate)
        assert verdicts() == before
    assert dict(state.grounded) == facts


def many(episodes: int) -> tuple[Counter[str], Counter[str]]:
    """Commitments, and how many of them the environment showed to be infeasible, with a verifier and without."""
    commitments: Counter[str] = Counter()
    infeasible: Counter[str] = Counter()
    for seed in range(episodes):
        rng = random.Random(f"commitments/{seed}")
        boxes = rng.randint(2, 5)
        gem, locks = rng.randrange(boxes), tuple(rng.random() < 0.4 for _ in range(boxes))
        model = BoxModel(rng.randrange(boxes), locks, skill=0.7)
        for commit, gate in {"grounded": "thresholds", "belief": "simulate_all"}.items():
            settings = {"commit": commit, "gate": gate}
            result, _ = play(BoxWorld(gem, locks), model, steps=40, seed=seed, aec=settings)
            commitments[commit] += result.method["commitments"]
            infeasible[commit] += result.method["infeasible_commitments"]
    return commitments, infeasible


@pytest.mark.slow
@pytest.mark.parametrize("episodes", [8, pytest.param(2500, marks=pytest.mark.soak)])
def test_certified_commitments_execute_and_belief_commitments_often_do_not(episodes: int) -> None:
    commitments, infeasible = many(episodes)
    assert commitments["grounded"] > 0.6 * episodes
    assert infeasible["grounded"] == 0
    assert infeasible["belief"] > 0


@given(worlds, st.integers(0, 99), st.integers(0, 4000), st.integers(0, 20))
@examples(40)
def test_caps_on_tokens_hold_for_queries_and_predictions_too(
    world: World, seed: int, tokens: int, reserve: int
) -> None:
    gem, locks = world
    result, events = play(
        BoxWorld(gem, locks), BoxModel(gem, locks, skill=0.5), budget=Budget({"steps": 20, "tokens": tokens}),
        seed=seed, execution="constrained", planning_reserve={"tokens": reserve},
    )  # fmt: skip
    assert not result.budget_violations
    assert not result.broken_declarations
    assert (result.used.get("tokens") or 0) <= tokens
    assert result.end_state in ("success", "budget:tokens", "infeasible", "not_certified", "replan_limit")
    assert result.method["infeasible_commitments"] == 0
    assert len(of_type(events, ActedEvent)) == result.steps
