from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.studies.aec.learned_rules import Case, LearnedRules, Settings
from tape.aec.overrides import OverrideRule, Overrides
from tape.errors import ConfigError
from tape.protocols.predicates import Predicate
from tests.profiles import examples

FRIDGE, SHELF, APPLE, BOOK = ("place", "fridge"), ("place", "shelf"), ("thing", "apple"), ("thing", "book")


def case(episode: int, place: tuple[str, ...], thing: tuple[str, ...], predicted: float, observed: bool) -> Case:
    return Case(str(episode), Predicate("in", (thing[1], place[1])), (place, thing), predicted, observed)


WRONG = [case(i, FRIDGE, BOOK, 0.8, False) for i in range(4)]
RIGHT = [case(i, FRIDGE, APPLE, 0.9, True) for i in range(6)]
BOOKS_ARE_NOT_IN_FRIDGES = OverrideRule("in", (FRIDGE, BOOK), False)


def test_a_rule_is_learned_where_the_predictor_keeps_being_wrong() -> None:
    rules = LearnedRules()
    assert rules.refine(WRONG[:2]).learned == ()
    learned = rules.refine(WRONG[2:] + RIGHT).learned
    assert learned == (OverrideRule("in", (BOOK,), False),)
    assert rules.overrides().mu(Predicate("in", ("book", "fridge")), (FRIDGE, BOOK), 0.8) == pytest.approx(1 / 6)
    assert rules.overrides().mu(Predicate("in", ("apple", "fridge")), (FRIDGE, APPLE), 0.8) == 0.8
    assert rules.overrides().mu(Predicate("open", ("book",)), (BOOK,), 0.8) == 0.8
    assert str(learned[0]) == "in(..) is false where thing book"


def test_a_longer_context_is_used_only_where_a_shorter_one_is_too_coarse() -> None:
    rules = LearnedRules()
    rules.refine([*WRONG, *RIGHT, *(case(i, SHELF, BOOK, 0.9, True) for i in range(6))])
    assert rules.rules == (BOOKS_ARE_NOT_IN_FRIDGES,)
    assert rules.evidence(BOOKS_ARE_NOT_IN_FRIDGES) == (4, 4)


def test_right_predictions_teach_nothing_and_repeats_of_an_episode_are_no_support() -> None:
    assert LearnedRules().refine(RIGHT * 3).learned == ()
    same = [case(1, FRIDGE, BOOK, 0.8 + i / 100, False) for i in range(9)]
    assert LearnedRules().refine(same).learned == ()
    assert LearnedRules().refine([case(i, FRIDGE, BOOK, 0.5, False) for i in range(3)]).learned


def test_a_rule_that_keeps_failing_is_dropped_reported_and_not_learned_again() -> None:
    rules = LearnedRules(Settings(context=1))
    [rule] = [r for r in rules.refine(WRONG).learned if r.context == (BOOK,)]
    assert rules.refine([case(10, SHELF, BOOK, 0.4, True)]).dropped == ()
    assert rule in rules.rules
    assert rules.refine([case(11, SHELF, BOOK, 0.4, True)]).dropped == (rule,)
    assert rules.dropped == (rule,)
    assert rules.overrides().mu(Predicate("in"), (BOOK,), 0.7) == 0.7
    again = rules.refine([case(i, SHELF, BOOK, 0.8, False) for i in range(20, 60)])
    assert rule not in again.learned
    assert rule not in rules.rules
    assert rules.dropped == (rule,)


CASES = st.lists(
    st.builds(
        case,
        st.integers(0, 5),
        st.sampled_from([FRIDGE, SHELF]),
        st.sampled_from([APPLE, BOOK]),
        st.sampled_from([0.1, 0.5, 0.9]),
        st.booleans(),
    ),
    max_size=40,
)
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
        wrong = {
            c.episode
            for c in rules.cases
            if c.is_counterexample and rule.applies(c.predicate, c.features) and c.observed == rule.value
        }
        assert hits >= 0.7 * n
        assert len(wrong) >= 2
        share = (hits + 1) / (n + 2)
        chosen = rules.overrides().speaking(Predicate("in"), rule.context)
        assert chosen is not None
        mu = rules.overrides().mu(Predicate("in"), rule.context, 0.5)
        assert max(mu, 1 - mu) >= share - 1e-12


@examples(150)
@given(CASES)
def test_the_order_of_cases_and_of_features_does_not_matter(cases: list[Case]) -> None:
    one, two = LearnedRules(), LearnedRules()
    one.refine(cases)
    two.refine([c._replace(features=c.features[::-1]) for c in reversed(cases)])
    assert (one.overrides(), one.dropped, one.cases) == (two.overrides(), two.dropped, two.cases)


@pytest.mark.parametrize(
    "wrong", [{"support": 0}, {"precision": 0.5}, {"precision": 1.1}, {"context": 0}, {"failures": 0}]
)
def test_thresholds_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Settings(**wrong)  # type: ignore[arg-type]
