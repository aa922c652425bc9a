from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.studies.aec.learned_rules import Case, LearnedRules, Settings
from tape.aec.overrides import OverrideRule, Overrides
from tape.protocols.predicates import Predicate
from tests.profiles import examples

FRIDGE, SHELF, APPLE, BOOK = ("place", "fridge"), ("place", "shelf"), ("thing", "apple"), ("thing", "book")


def case(episode: int, place: tuple[str, ...], thing: tuple[str, ...], predicted: float, observed: bool) -> Case:
    return Case(str(episode), Predicate("in", (thing[1], place[1])), (place, thing), predicted, observed)


WRONG = [case(i, FRIDGE, BOOK, 0.8, False) for i in range(4)]
RIGHT = [case(i, FRIDGE, APPLE, 0.9, True) for i in range(6)]


def test_a_rule_is_learned_where_the_predictor_keeps_being_wrong() -> None:
    rules = LearnedRules()
    assert rules.refine(WRONG[:2]).learned == ()
    learned = rules.refine(WRONG[2:] + RIGHT).learned
    assert learned == (OverrideRule("in", (BOOK,), False),)
    assert rules.overrides().mu(Predicate("in", ("book", "fridge")), (FRIDGE, BOOK), 0.8) == pytest.approx(1 / 6)
    assert rules.overrides().mu(Predicate("in", ("apple", "fridge")), (FRIDGE, APPLE), 0.8) == 0.8
    assert rules.overrides().mu(Predicate("open", ("book",)), (BOOK,), 0.8) == 0.8
    assert str(learned[0]) == "in(..) is false where thing book"


CASES = st.lists(
    st.builds(
        case, st.integers(0, 5), st.sampled_from([FRIDGE, SHELF]), st.sampled_from([APPLE, BOOK]),
        st.sampled_from([0.1, 0.5, 0.9]), st.booleans(),
    ),
    max_size=40,
)  # fmt: skip
LOOSE = Settings(support=2, precision=0.7, failures=1)


@examples(150)
@given(st.lists(CASES, max_size=4), st.sampled_from([Settings(), LOOSE]))
def test_iterations_are_idempotent_and_what_is_in_force_survives_a_file(
    batches: list[list[Case]], settings: Settings
) -> None:
    rules = LearnedRules(settings)
    for batch in batches:
        rules.refine(batch)
        before = rules.rules, rules.dropped, rules.cases
        changed = rules.refine(batch)
        assert (changed.learned, changed.dropped) == ((), ())
        assert (rules.rules, rules.dropped, rules.cases) == before
    assert Overrides.from_json(rules.overrides().to_json()) == rules.overrides()
    assert not set(rules.rules) & set(rules.dropped)


@examples(150)
@given(CASES)
def test_every_new_rule_meets_the_thresholds(cases: list[Case]) -> None:
    rules = LearnedRules(LOOSE)
    for rule in rules.refine(cases).learned:
        n, hits = rules.evidence(rule)
        wrong = [c for c in rules.cases if c.is_counterexample and rule.applies(c.predicate, c.features)]
        assert hits >= 0.7 * n
        assert len({c.episode for c in wrong if c.observed == rule.value}) >= 2
        share = (hits + 1) / (n + 2)
        mu = rules.overrides().mu(Predicate("in"), rule.context, 0.5)
        assert max(mu, 1 - mu) >= share - 1e-12
