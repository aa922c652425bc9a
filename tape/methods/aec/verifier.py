"""The verifier V = Coverage and Pullback (AEC definition 3.2, eq. 5, 6): the only way to a commitment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tape.budget import Resources
from tape.methods.aec.entailment import Closure
from tape.methods.aec.facts import Grounded, GroundedFact
from tape.protocols import Action
from tape.protocols.parts import Predicates
from tape.protocols.predicates import InferenceRule, Predicate
from tape.protocols.pullback import Progression, Witness, affordable, progress, pullback


@dataclass(frozen=True)
class PlanVerdict:
    """The verifier's judgement of a plan.

    Attributes:
        accepted: Whether it may be committed to.
        witnesses: Why it is refused; empty if it is accepted.
        progression: The symbolic execution of the plan.
        closure: The facts behind it and their closure.
    """

    accepted: bool
    witnesses: tuple[Witness, ...]
    progression: Progression
    closure: Closure = field(compare=False, repr=False)

    @property
    def evidence(self) -> dict[Predicate, GroundedFact]:
        """The facts behind Pre(h): all of it if the plan is accepted, else the covered part."""
        known = self.closure.assignment
        return {p: self.closure[p] for p, value in self.progression.pre.items() if known.get(p) is value}

    @property
    def missing(self) -> dict[Predicate, bool]:
        """Preconditions that no fact covers, with the expected values."""
        return {w.predicate: bool(w.required) for w in self.witnesses if w.kind == "uncovered" and w.predicate}

    @property
    def open(self) -> bool:
        """Whether nothing but missing facts speaks against it, so that queries may certify the whole of it."""
        return all(witness.kind == "uncovered" for witness in self.witnesses)

    @property
    def contradicted(self) -> bool:
        """Whether facts or budgets speak against it, so that it is dropped for good."""
        return any(witness.kind == "resource" or witness.denied for witness in self.witnesses)


@dataclass
class Rulebook:
    """The rules of inference in force.

    Attributes:
        rules: The declared rules.
        disabled: Names of disabled rules (AEC appendix B.4).
    """

    rules: Sequence[InferenceRule]
    disabled: set[str] = field(default_factory=set)


class Verifier:
    """Certifies plans on grounded facts alone.

    A verdict depends on its arguments, the domain's declarations and the rules in force, never on a belief.
    """

    def __init__(self, domain: Predicates, rulebook: Rulebook) -> None:
        self._domain, self._rulebook = domain, rulebook
        self._closure: tuple[Grounded, tuple[InferenceRule, ...], Closure] | None = None

    def closure(self, grounded: Grounded) -> Closure:
        """The closure of the facts, cached while neither they nor the rules change."""
        book, kept = self._rulebook, self._closure
        rules = tuple(rule for rule in book.rules if rule.name not in book.disabled)
        if kept is None or kept[0] is not grounded or kept[1] != rules:
            self._closure = kept = grounded, rules, Closure(grounded, rules)
        return kept[2]

    def verify(
        self, actions: Sequence[Action], costs: Sequence[Resources], grounded: Grounded, remaining: Mapping[str, int]
    ) -> PlanVerdict:
        """Check a plan from the state that was observed last.

        Args:
            actions: The plan.
            costs: The worst-case cost of each step; empty: resources are not checked.
            grounded: The facts.
            remaining: Counts left of each capped kind.
        """
        closure = self.closure(grounded)
        run = progress(self._domain, closure.assignment, actions)
        witnesses = [witness for at, interface in enumerate(run.interfaces) for witness in pullback(interface, at)]
        if not self._domain.complete:  # undeclared effects lead to queries, not to refusals
            witnesses = [replace(w, kind="uncovered") if w.kind == "lost" else w for w in witnesses]
        witnesses += affordable(costs, remaining)
        witnesses += [
            Witness("uncovered", run.needed_at[predicate], predicate, None, value)
            for predicate, value in run.pre.items()
            if predicate not in closure
        ]
        return PlanVerdict(not witnesses, tuple(witnesses), run, closure)
