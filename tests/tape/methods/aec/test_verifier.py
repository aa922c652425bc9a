"""Pre(h), the pullback check and the verifier: refusals have true witnesses, verdicts rest on facts alone."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Resources
from tape.methods.aec.facts import Evidence, Grounded, GroundedStore
from tape.methods.aec.verifier import Rulebook, Verifier
from tape.protocols import Action
from tape.protocols.predicates import Assignment, Effects, Predicate
from tape.protocols.pullback import progress
from tests.profiles import examples
from tests.tape.methods.aec.test_facts import grounded
from tests.tape.methods.aec.toy import HOLDING, BoxDomain, Seen, gem_in, locked, open_, outcome

BOXES = 3
START = Seen((False,) * BOXES, (None,) * BOXES, (None,) * BOXES)
ACTIONS = [f"{verb} {box}" for verb in ("open", "unlock", "take", "rattle") for box in range(BOXES)]
plans = st.lists(st.sampled_from(ACTIONS), max_size=6)
World = tuple[int, tuple[bool, ...]]
worlds = st.tuples(st.integers(0, BOXES - 1), st.tuples(*[st.booleans()] * BOXES))


def verifier(domain: BoxDomain | None = None, disabled: Sequence[str] = ()) -> Verifier:
    domain = domain or BoxDomain(BOXES)
    return Verifier(domain, Rulebook(domain.rules(), set(disabled)))


def after(actions: Sequence[Action], gem: int, locks: Sequence[bool]) -> tuple[Seen, list[bool]]:
    """What is seen after some actions in a world, and its locks."""
    seen, now = START, list(locks)
    for action in actions:
        seen = outcome(seen, action, gem, now)
        now = unlocked(now, action)
    return seen, now


def unlocked(locks: list[bool], action: Action) -> list[bool]:
    return [lock and action != f"unlock {i}" for i, lock in enumerate(locks)]


def test_pre_is_what_no_earlier_step_establishes() -> None:
    run = progress(BoxDomain(2), {}, ["unlock 0", "open 0", "take 0"])
    assert run.pre == {open_(0): False, gem_in(0): True, HOLDING: False}
    assert run.needed_at == {open_(0): 0, gem_in(0): 2, HOLDING: 2}
    assert run.established == ((1, locked(0), 0), (2, open_(0), 1), (3, HOLDING, 2))
    assert run.interfaces[-1].right == {HOLDING: True}


def test_of_several_goals_the_one_counts_of_which_least_is_missing() -> None:
    class Choosy(BoxDomain):
        def goals(self) -> Sequence[Assignment]:
            return [{gem_in(0): True, locked(1): True}, {gem_in(1): False, HOLDING: True}, {locked(1): False}]

    def goal(known: Assignment) -> Assignment:
        return progress(Choosy(2), known, []).interfaces[-1].right

    assert goal({}) == {locked(1): False}
    assert goal({locked(1): True}) == {gem_in(0): True, locked(1): True}
    assert goal({locked(1): True, gem_in(0): False, HOLDING: True}) == {gem_in(1): False, HOLDING: True}


class Contrary(BoxDomain):
    def preconditions(self, action: Action) -> Assignment:
        return {Predicate("day"): action == "open 0"}

    def effects(self, action: Action, known: Assignment) -> Effects:
        return {HOLDING: True}


class Shaky(BoxDomain):
    def effects(self, action: Action, known: Assignment) -> Effects:
        return {**super().effects(action, known), gem_in(0): None}


FOUND = Seen((True, False, False), (False, None, None), (True, None, None))


@pytest.mark.parametrize(
    ("domain", "seen", "actions", "left", "witness"),
    [
        (BoxDomain, START, ["open 0"], {}, "at step 1: locked(0) must be false; no grounded fact says so"),
        (BoxDomain, START, ["open 0"], {}, "at step 2: holding_gem() must be true; by the facts it is false"),
        (
            BoxDomain, START, ["unlock 0", "open 0", "open 0"], {},
            "at step 3: open(0) must be false; after step 2 it is true",
        ),
        (BoxDomain, START, ["take 0", "take 0"], {}, "at step 2: gem_in(0) must be true; after step 1 it is false"),
        (BoxDomain, START, ["unlock 0", "unlock 0"], {"steps": 3}, "at step 2: short of 1 step"),
        (BoxDomain, FOUND, ["take 0"], {"seconds": 5}, "at step 1: short of an unknown amount of seconds"),
        # Two steps that cannot both be right are refused without any fact.
        (Contrary, START, ["open 0", "open 1"], {}, "at step 2: day() must be false; for step 1 it is true"),
        # An effect that leaves a value unknown covers nothing.
        (Shaky, FOUND, ["unlock 1", "take 0"], {}, "at step 2: gem_in(0) must be true; after step 1 it is unknown"),
    ],
)  # fmt: skip
def test_witnesses(domain: type[BoxDomain], seen: Seen, actions: list[str], left: dict[str, int], witness: str) -> None:
    box_domain = domain(BOXES)
    costs = [Resources({"seconds": None}) if "seconds" in left else box_domain.cost(None, action) for action in actions]
    verdict = verifier(box_domain).verify(actions, costs, grounded(seen), left)
    assert not verdict.accepted
    assert witness in map(str, verdict.witnesses)
    assert verdict.open is ("no grounded fact" in witness and not verdict.contradicted)
    assert verdict.contradicted is any("by the facts" in str(w) or "short of" in str(w) for w in verdict.witnesses)
    assert verifier().verify(["unlock 1", "take 0"], [], grounded(FOUND), {}).accepted


def test_entailed_facts_cover_and_disabled_rules_do_not() -> None:
    seen = Seen((True, True, True), (False,) * 3, (False, False, None))
    assert verifier().verify(["take 2"], [], grounded(seen), {}).accepted
    verdict = verifier(disabled=["one place"]).verify(["take 2"], [], grounded(seen), {})
    assert verdict.missing == {gem_in(2): True}


@given(worlds, plans, plans, st.integers(0, 9))
@examples(300)
def test_what_is_accepted_executes_to_the_goal_within_budget(
    world: World, past: list[str], plan: list[str], budget: int
) -> None:
    """Eq. 5: whatever was seen of whatever world."""
    gem, locks = world
    domain = BoxDomain(BOXES)
    seen, now = after(past, gem, locks)
    costs = [domain.cost(seen, action) for action in plan]
    verdict = verifier().verify(plan, costs, grounded(seen), {"steps": budget})
    if not verdict.accepted:
        assert verdict.witnesses
        return
    assert not verdict.witnesses
    assert set(verdict.evidence) == set(verdict.progression.pre)
    assert sum(cost["steps"] or 0 for cost in costs) <= budget
    for action in plan:
        assert all(domain.ground(seen).get(p) in (value, None) for p, value in domain.preconditions(action).items())
        seen = outcome(seen, action, gem, now)
        now = unlocked(now, action)
        assert domain.effects(action, {}).items() <= domain.ground(seen).items()
    assert seen.holding


@given(worlds, plans, plans, st.integers(0, 9))
@examples(300)
def test_the_witnesses_of_a_refusal_are_true(world: World, past: list[str], plan: list[str], budget: int) -> None:
    gem, locks = world
    domain, (seen, _) = BoxDomain(BOXES), after(past, gem, locks)
    costs, facts, judge = [domain.cost(seen, action) for action in plan], grounded(seen), verifier()
    known = judge.closure(facts).assignment
    for witness in judge.verify(plan, costs, facts, {"steps": budget}).witnesses:
        if witness.kind == "resource":
            spent = sum(cost["steps"] or 0 for cost in costs[: witness.step + 1])
            assert witness.short == spent - budget > 0
            continue
        needs = [*map(domain.preconditions, plan), domain.goals()[0]][witness.step]
        assert witness.predicate is not None
        assert needs[witness.predicate] is witness.required
        if witness.kind == "uncovered":
            assert witness.predicate not in known
        else:
            assert witness.holds is not witness.required
            if witness.held.origin == "fact":
                assert known[witness.predicate] is witness.holds
            else:  # an earlier step's effect, or what an earlier step needs
                earlier = plan[witness.held.step]
                values = (
                    domain.effects(earlier, {}) if witness.held.origin == "effect" else domain.preconditions(earlier)
                )
                assert values[witness.predicate] is witness.holds


@given(worlds, plans, plans)
def test_a_verdict_depends_on_the_facts_alone(world: World, past: list[str], plan: list[str]):
    """Equal facts, however they came about: equal verdicts, whatever else a store has seen."""
    seen, _ = after(past, *world)
    store = GroundedStore(BoxDomain(BOXES), BoxDomain(BOXES).key)
    for i in range(len(past) + 1):
        store.observe(after(past[:i], *world)[0], Evidence("query", i, "x"))
    known: list[Grounded] = [grounded(seen), store.snapshot()]
    verdict, other = (verifier().verify(plan, [], facts, {}) for facts in known)
    assert (verdict.accepted, verdict.witnesses) == (other.accepted, other.witnesses)
    assert known[0].digest == known[1].digest
