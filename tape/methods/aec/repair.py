"""Counterexample-driven repair: evidence overrides, and rules that keep failing are disabled (AEC appendix B.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tape.methods.aec.entailment import Closure
from tape.methods.aec.events import RuleDisabledEvent
from tape.methods.aec.facts import Claim, Contradiction
from tape.methods.aec.verifier import Rulebook
from tape.protocols import Action
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Predicate
from tape.trace import TraceWriter

MOST = 2
"""A rule with this many counterexamples is disabled."""


class Repair:
    """Counts distinct counterexamples of rules and declared effects in one episode."""

    def __init__(self, rulebook: Rulebook, trace: TraceWriter) -> None:
        self._rulebook, self._trace = rulebook, trace
        self._found: dict[Contradiction, None] = {}

    def take(self, contradictions: Iterable[Contradiction]) -> None:
        """Count contradictions and disable rules."""
        for contradiction in contradictions:
            if contradiction in self._found:
                continue
            self._found[contradiction] = None
            name = contradiction.claim.name
            against = [str(c) for c in self._found if (c.claim.kind, c.claim.name) == ("rule", name)]
            if len(against) >= MOST and name not in self._rulebook.disabled:
                self._rulebook.disabled.add(name)
                self._trace.write(RuleDisabledEvent(rule=name, counterexamples=against))

    def counts(self) -> dict[str, int]:
        """Counterexamples by rule and by action."""
        counted = Counter(f"{contradiction.claim.kind} {contradiction.claim.name}" for contradiction in self._found)
        return dict(sorted(counted.items()))


def claims_of(domain: Predicates, closure: Closure, action: Action) -> Mapping[Predicate, Claim]:
    """The values that rules and declarations predict after an action.

    Entailed values persist except for the action's effects. Effects are claimed only if all preconditions are known to
    hold.
    """
    claims = closure.entailed()
    known = closure.assignment
    effects = domain.effects(action, known)
    sure = all(known.get(p) is value for p, value in domain.preconditions(action).items())
    for predicate, value in effects.items():
        claims.pop(predicate, None)
        if sure and value is not None:
            claims[predicate] = Claim(value, "effect", action)
    return claims
