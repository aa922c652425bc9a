"""Certified prefixes: their steps execute if the facts are right, undo nothing of the goal, and are not pointless."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Resources
from tape.methods.aec.facts import Evidence, GroundedStore
from tape.methods.aec.prefix import prefix_length
from tape.methods.aec.verifier import PlanVerdict, Rulebook, Verifier
from tape.protocols import Action
from tape.protocols.predicates import Assignment, Effects, Predicate
from tests.profiles import examples
from tests.tape.methods.aec.declared import Declared

STEP = Resources({"steps": 1})
FACTS = [Predicate("p", (str(i),)) for i in range(5)]


@dataclass
class Drawn(Declared):
    """Drawn actions and goals over five predicates; a state is what was seen of them."""

    seed: int

    def __post_init__(self) -> None:
        rng = random.Random(f"prefix/{self.seed}")
        names = [f"a{i}" for i in range(4)]
        self.needs = {a: {p: rng.random() < 0.5 for p in rng.sample(FACTS, rng.randint(0, 2))} for a in names}
        self.changes: dict[str, dict[Predicate, bool | None]] = {
            a: {p: rng.choice([True, True, False, None]) for p in rng.sample(FACTS, rng.randint(1, 2))} for a in names
        }
        self.wanted = [dict.fromkeys(rng.sample(FACTS, 2), True) for _ in range(2)]
        self.truth = {p: rng.random() < 0.5 for p in FACTS}
        self.seen = {p: value for p, value in self.truth.items() if rng.random() < 0.6}
        self.plan = [rng.choice(names) for _ in range(rng.randint(1, 6))]

    def ground(self, state: Assignment) -> Assignment:
        return state

    def preconditions(self, action: Action) -> Assignment:
        return self.needs[action]

    def effects(self, action: Action, known: Assignment) -> Effects:
        return self.changes[action]

    def goals(self) -> Sequence[Assignment]:
        return self.wanted

    def verdict(self, plan: Sequence[Action], left: int = 9) -> PlanVerdict:
        store = GroundedStore(self, self.key)
        store.observe(self.seen, Evidence("observation", 0, "drawn"))
        verifier = Verifier(self, Rulebook(()))
        return verifier.verify(plan, [STEP] * len(plan), store.snapshot(), {"steps": left})


def near(domain: Drawn, state: Assignment) -> int:
    return max(sum(state.get(p) is value for p, value in goal.items()) for goal in domain.wanted)


@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
@examples(300)
def test_a_certified_prefix_executes_in_every_world_that_fits_the_facts(seed: int, rng: random.Random) -> None:
    domain = Drawn(seed)
    verdict = domain.verdict(domain.plan)
    steps = prefix_length(verdict, domain.wanted)
    certain: dict[Predicate, bool | None] = dict(domain.seen)
    state, open_ = dict(domain.truth), False
    for action in domain.plan[:steps]:
        assert all(state[p] is value for p, value in domain.needs[action].items())
        known = dict(certain)
        for predicate, value in domain.changes[action].items():
            state[predicate] = rng.random() < 0.5 if value is None else value
            certain[predicate] = value
        open_ = any(v is None and known.get(p) is not None for p, v in domain.changes[action].items())
    if steps:
        held = {p: value for p, value in certain.items() if value is not None}
        assert open_ or near(domain, held) > near(domain, domain.seen)
        assert prefix_length(domain.verdict(domain.plan, len(domain.plan) - 1), domain.wanted) == 0  # unpaid rest


def test_drawn_plans_have_prefixes_of_every_kind() -> None:
    """Otherwise the property above would hold of nothing."""
    verdicts = [(domain, domain.verdict(domain.plan)) for domain in map(Drawn, range(800))]
    lengths = [(prefix_length(v, d.wanted), len(d.plan)) for d, v in verdicts if not v.accepted]
    assert sum(0 < steps < length for steps, length in lengths) > 20
    assert sum(steps == length for steps, length in lengths) > 8  # all steps execute; the goal is not sure
