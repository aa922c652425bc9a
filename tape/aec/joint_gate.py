"""The gate that chooses path and queries together (:mod:`tape.aec.joint`), beyond the paper [ours]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tape.aec.beliefs import BeliefStore
from tape.aec.facts import Grounded
from tape.aec.gating import Commit, Decision, GiveUp, Query
from tape.aec.hypothesis import Hypothesis
from tape.aec.joint import Candidate, JointError, JointSettings, decide
from tape.budget import Resources
from tape.engine.episode import EpisodeEnded
from tape.protocols.parts import ExclusiveGroups, Predicates
from tape.protocols.predicates import Assignment, Predicate, Rule


class JointGate:
    """Takes the first decision of the policy with the highest value under the budgets; it simulates nothing.

    Args:
        predicates: Their rules imply which unknown predicates exclude each other.
        groups: The domain's own groups of exclusive predicates, if it declares any.
        settings: Prices, solver, and whether commitments need evidence.
    """

    predicts = True

    def __init__(
        self, predicates: Predicates, groups: ExclusiveGroups | None = None, settings: JointSettings | None = None
    ) -> None:
        self._predicates, self._groups, self._settings = predicates, groups, settings or JointSettings()

    def next(
        self,
        hypotheses: Sequence[Hypothesis],
        grounded: Grounded,
        beliefs: BeliefStore,
        remaining: Mapping[str, int],
        query_costs: Mapping[Predicate, Resources],
    ) -> Decision:
        """See :class:`tape.aec.gating.Gate`.

        Raises:
            EpisodeEnded: ``solver_error``.
        """
        candidates = [Candidate(dict(h.missing), _counts(h.cost, remaining)) for h in hypotheses]
        missing = list(dict.fromkeys(p for h in hypotheses for p in h.missing))
        groups: Sequence[Sequence[Predicate]] = (
            exclusive_groups(self._predicates.rules(), grounded.assignment, missing)
            if self._groups is None
            else self._groups.exclusive(missing)
        )
        try:
            found = decide(
                candidates,
                _normalised({p: beliefs[p].mu for p in missing}, groups),
                {p: _counts(cost, remaining) for p, cost in query_costs.items()},
                remaining,
                exclusive=groups,
                settings=self._settings,
            )
        except JointError as error:
            raise EpisodeEnded("solver_error", str(error)) from error
        if found.kind == "query" and found.predicate is not None:
            return Query(found.predicate)
        if found.kind == "commit" and found.candidate is not None:
            return Commit(hypotheses[found.candidate])
        return GiveUp("no query and no path is worth its cost")


def _normalised(mu: dict[Predicate, float], groups: Sequence[Sequence[Predicate]]) -> dict[Predicate, float]:
    """Scale groups whose independently estimated probabilities sum to more than 1."""
    for group in groups:
        total = sum(mu[p] for p in group)
        if total > 1.0:
            mu |= {p: mu[p] / total for p in group}
    return mu


def _counts(cost: Resources, remaining: Mapping[str, int]) -> dict[str, int]:
    """A cost in the capped kinds, in which every cost is known."""
    return {kind: cost[kind] or 0 for kind in remaining}


def exclusive_groups(
    rules: Sequence[Rule], known: Assignment, unknown: Sequence[Predicate]
) -> list[tuple[Predicate, ...]]:
    """Groups of unknown predicates of which at most one is true: by a rule, each one makes all others false.

    A predicate belongs to the first group that it fits, if any.
    """
    rules_out = {
        p: {q for rule in rules for q, value in rule({**known, p: True}).items() if not value and q != p}
        for p in unknown
    }
    groups: list[list[Predicate]] = []
    for p in unknown:
        fits = (group for group in groups if all(q in rules_out[p] and p in rules_out[q] for q in group))
        group = next(fits, None)
        if group is None:
            groups.append([p])
        else:
            group.append(p)
    return [tuple(group) for group in groups if len(group) > 1]
