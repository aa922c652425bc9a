"""The gate that chooses walk and queries together (beyond AEC: its section 6) [ours]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tape.aec.beliefs import BeliefStore
from tape.aec.facts import Grounded
from tape.aec.gating import Commit, Decision, GiveUp, Query
from tape.aec.hypothesis import Hypothesis
from tape.aec.joint import Candidate, JointSettings, decide
from tape.predicates import ExclusiveDomain, Predicate
from tape.protocols import Domain
from tape.resources import Resources

_DOUBTFUL = 0.05
"""What a walk is worth that does not end at a predicted goal, where one that does is worth 1."""


class JointGate:
    """Asks what is worth most: the chance that the answer changes the walk, times what that saves, against its cost.

    Args:
        domain: Where it says so, predicates exclude each other.
        settings: Prices and solver.
    """

    predicts = True

    def __init__(self, domain: Domain, settings: JointSettings) -> None:
        self._domain, self._settings = domain, settings

    def next(
        self,
        hypotheses: Sequence[Hypothesis],
        grounded: Grounded,
        beliefs: BeliefStore,
        remaining: Mapping[str, int],
        query_costs: Mapping[Predicate, Resources],
    ) -> Decision:
        """See :class:`tape.aec.gating.Gate`; nothing is ever simulated."""
        del grounded
        sure = next((h for h in hypotheses if not h.missing and h.planned.at_goal), None)
        if sure is not None and self._settings.grounded:
            return Commit(sure)
        unknown = list(dict.fromkeys(p for h in hypotheses for p in h.missing))
        groups = self._domain.exclusive(unknown) if isinstance(self._domain, ExclusiveDomain) else []
        mu = _normalised({p: beliefs[p].mu for p in unknown}, groups)
        candidates = [
            Candidate(h.missing, _counts(h.cost, remaining), 1.0 if h.planned.at_goal else _DOUBTFUL)
            for h in hypotheses
        ]
        queries = {p: _counts(cost, remaining) for p, cost in query_costs.items()}
        decision = decide(candidates, mu, queries, remaining, exclusive=groups, settings=self._settings)
        if decision.kind == "query" and decision.predicate is not None:
            return Query(decision.predicate)
        if decision.kind == "commit" and decision.candidate is not None:
            return Commit(hypotheses[decision.candidate])
        return GiveUp("no query or walk that can be paid for is worth its price")


def _counts(cost: Resources, remaining: Mapping[str, int]) -> dict[str, int]:
    """A cost in the kinds that are capped; none of them is unknown there."""
    return {kind: cost[kind] or 0 for kind in remaining}


def _normalised(mu: dict[Predicate, float], groups: Sequence[Sequence[Predicate]]) -> dict[Predicate, float]:
    """With no group's probabilities above 1 in all, as they may be where each is estimated on its own."""
    for group in groups:
        total = sum(mu[p] for p in group)
        if total > 1.0:
            mu |= {p: mu[p] / total for p in group}
    return mu
