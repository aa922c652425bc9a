"""What is known and what is believed, and that the second never becomes the first."""

from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.errors import ConfigError
from tape.methods.aec.entailment import Closure, premises_of
from tape.methods.aec.facts import Claim, Evidence, Grounded, GroundedFact, GroundedStore, _Seal
from tape.methods.aec.gating import BeliefStore, PredictedValue
from tape.methods.aec.predictor import EnsemblePredictor, Predictor
from tape.methods.aec.verifier import Verifier
from tape.protocols.predicates import Assignment
from tests.tape.methods.aec.toy import HOLDING, BoxDomain, OnePlace, OpenIsUnlocked, Seen, gem_in, locked, open_

CLOSED = Seen((False, False), (None, None), (None, None))
FIRST = Evidence("observation", 0, "the start")


def stored(seen: Seen) -> GroundedStore:
    store = GroundedStore(domain := BoxDomain(len(seen.opened)), domain.key)
    store.observe(seen, FIRST)
    return store


def grounded(seen: Seen) -> Grounded:
    return stored(seen).snapshot()


def test_facts_keep_the_evidence_of_the_observation_that_first_showed_them() -> None:
    store = stored(CLOSED)
    then = store.snapshot()
    later = Evidence("query", 1, "open 0")
    store.observe(Seen((True, False), (False, None), (False, None)), later)
    now = store.snapshot()
    assert now[open_(1)].evidence == now[HOLDING].evidence == FIRST
    assert now[open_(0)].evidence == now[gem_in(0)].evidence == now[locked(0)].evidence == later
    assert now[open_(0)].value is True
    assert then[open_(0)].value is False  # a snapshot stays what it was
    assert store.grounded_later() == {gem_in(0), locked(0)}
    assert now.digest != then.digest
    store.observe(CLOSED, Evidence("execution", 2, "shut 0"))
    assert gem_in(0) not in store.snapshot()  # what is no longer asserted is no fact


def test_an_observation_overrides_what_was_claimed_and_says_so() -> None:
    store = stored(CLOSED)
    claims = {open_(0): Claim(True, "effect", "open 0"), gem_in(1): Claim(True, "rule", "hope")}
    [observation] = store.observe(CLOSED, Evidence("execution", 1, "open 0"), claims)
    assert str(observation) == "effect open 0 claims that open(0) is true; it is false"
    assert store.snapshot()[open_(0)].value is False


def test_only_the_store_makes_facts() -> None:
    with pytest.raises(ConfigError, match="only observations ground facts"):
        Grounded({}, None, "", object())  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="before the first observation"):
        GroundedStore(BoxDomain(2), BoxDomain(2).key).snapshot()


def test_types_keep_beliefs_out_of_facts_and_predictors() -> None:
    """Nothing is both, and what certifies or predicts takes facts; mypy holds the code to these types."""
    assert not issubclass(BeliefStore, Grounded)
    assert not issubclass(PredictedValue, GroundedFact)
    takes = (Verifier.verify, Predictor.predict, EnsemblePredictor.predict)
    assert [get_type_hints(function)["grounded"] for function in takes] == [Grounded] * 3
    assert "beliefs" not in {name for function in takes for name in get_type_hints(function)}
    for base in (Grounded, _Seal):
        assert base.__final__  # type: ignore[attr-defined]


def test_beliefs() -> None:
    beliefs = BeliefStore()
    beliefs.predicted(gem_in(0), 0.8, 0.1)
    beliefs.predicted(gem_in(1), 0.3, 0.2)
    assert beliefs.value(gem_in(0)) is None
    assert beliefs.simulate(gem_in(1)) is False
    assert beliefs[gem_in(1)] == PredictedValue(False, 0.3, 0.2)
    assert beliefs.likelihood({gem_in(0): True, gem_in(1): False, locked(0): True}) == pytest.approx(0.8 * 0.7 * 0.5)
    beliefs.clear()
    assert not beliefs


def test_entailed_facts_name_their_rule_and_what_it_needs() -> None:
    closure = Closure(grounded(Seen((True, False), (False, None), (False, None))), [OnePlace(2), OpenIsUnlocked(2)])
    fact = closure[gem_in(1)]
    assert fact.value is True
    assert (fact.evidence.kind, fact.evidence.source) == ("entailed", "one place")
    assert set(fact.evidence.premises) == {gem_in(0), HOLDING}
    assert closure[gem_in(0)].evidence == FIRST
    assert not closure.contradictions


class Concludes:
    def __init__(self, name: str, conclusions: Assignment, needs: Assignment | None = None) -> None:
        self.name, self.conclusions, self.needs = name, conclusions, needs or {}

    def __call__(self, known: Assignment) -> Assignment:
        return self.conclusions if self.needs.items() <= known.items() else {}


def test_observations_go_before_rules_and_disputed_values_are_dropped() -> None:
    closure = Closure(grounded(CLOSED), [Concludes("wrong", {open_(0): True, gem_in(0): True})])
    assert closure[open_(0)].value is False
    assert closure.assignment[gem_in(0)] is True
    assert [*map(str, closure.contradictions)] == ["rule wrong claims that open(0) is true; it is false"]

    # Where two rules disagree, neither is believed, nor what follows.
    rules = [
        Concludes("yes", {gem_in(0): True}),
        Concludes("then", {gem_in(1): False}, {gem_in(0): True}),
        Concludes("no", {gem_in(0): False}),
    ]
    closure = Closure(grounded(CLOSED), rules)
    assert gem_in(0) not in closure
    assert gem_in(1) not in closure
    assert {contradiction.claim.name for contradiction in closure.contradictions} == {"yes", "no"}


class Odd:
    """A rule that is not monotone rests on everything."""

    name = "odd"

    def __call__(self, known: Assignment) -> Assignment:
        return {HOLDING: True} if len(known) == 3 else {}


@given(st.sets(st.integers(0, 30)), st.integers(0, 40))
def test_premises_are_a_smallest_part_that_suffices(needed: set[int], others: int) -> None:
    names = [gem_in(i) for i in range(31 + others)]
    known = {name: int(name.args[0]) % 2 == 0 for name in names}
    rule = Concludes("rule", {HOLDING: True}, {gem_in(i): i % 2 == 0 for i in needed})
    assert premises_of(rule, known, HOLDING, True) == tuple(sorted(gem_in(i) for i in needed))
    assert set(premises_of(Odd(), dict(list(known.items())[:3]), HOLDING, True)) == set(names[:3])
