"""The gate: query, simulate or commit next (AEC algorithm 1, eq. 4; the loop is ours)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tape.budget import Resources
from tape.methods.aec.beliefs import BeliefStore, PredictedValue
from tape.methods.aec.facts import Grounded
from tape.methods.aec.hypothesis import Hypothesis
from tape.methods.aec.settings import AecSettings
from tape.protocols.predicates import Predicate


@dataclass(frozen=True)
class Query:
    """Ask the environment."""

    predicate: Predicate


@dataclass(frozen=True)
class Simulate:
    """Believe the prediction and filter hypotheses by it."""

    predicate: Predicate


@dataclass(frozen=True)
class Commit:
    """Verify a hypothesis and follow it."""

    hypothesis: Hypothesis


@dataclass(frozen=True)
class GiveUp:
    """No hypothesis is worth its cost."""

    reason: str


Decision: TypeAlias = Query | Simulate | Commit | GiveUp


class Gate(Protocol):
    """Decides what to do next."""

    predicts: bool
    """Whether it needs predictions of missing predicates."""

    def next(
        self,
        hypotheses: Sequence[Hypothesis],
        grounded: Grounded,
        beliefs: BeliefStore,
        remaining: Mapping[str, int],
        query_costs: Mapping[Predicate, Resources],
    ) -> Decision:
        """Decide.

        Args:
            hypotheses: The surviving ones, at least one, best first.
            grounded: The facts.
            beliefs: If ``predicts``, they hold a prediction of every missing predicate.
            remaining: Counts left of each capped kind.
            query_costs: The worst-case cost of each affordable query of a missing predicate.
        """


def discretised(belief: PredictedValue, margin: float, uncertainty: float) -> bool | None:
    """The believed value; None if the prediction is ambiguous or too uncertain (AEC eq. 4, margin as ours)."""
    if belief.sigma > uncertainty or abs(belief.mu - 0.5) < margin:
        return None
    return belief.mu >= 0.5


class ThresholdGate:
    """Queries what is ambiguous or uncertain, simulates the rest, and commits to the best survivor.

    Predicates are taken in the order of the best hypothesis's steps [ours]: the others matter only once that one is
    dropped. So a prediction saves a query if it contradicts the best hypothesis.

    Args:
        margin: m of eq. 4.
        uncertainty: tau.
        grounded: Query what is only believed of the best hypothesis before committing to it.
    """

    predicts = True

    def __init__(self, margin: float, uncertainty: float, *, grounded: bool) -> None:
        self._margin, self._uncertainty, self._grounded = margin, uncertainty, grounded

    def next(
        self,
        hypotheses: Sequence[Hypothesis],
        grounded: Grounded,
        beliefs: BeliefStore,
        remaining: Mapping[str, int],
        query_costs: Mapping[Predicate, Resources],
    ) -> Decision:
        """See :class:`Gate`."""
        del grounded, remaining
        best = hypotheses[0]
        if not best.missing:
            return Commit(best)
        unresolved = next((p for p in best.missing if beliefs.value(p) is None), None)
        if unresolved is not None:
            unclear = discretised(beliefs[unresolved], self._margin, self._uncertainty) is None
            return Query(unresolved) if unclear and unresolved in query_costs else Simulate(unresolved)
        # All else is believed, but coverage needs facts.
        return Query(next(iter(best.missing))) if self._grounded else Commit(best)


class QueryAllGate:
    """Queries whatever any surviving hypothesis misses and believes nothing (the Query-Only baseline)."""

    predicts = False

    def next(
        self,
        hypotheses: Sequence[Hypothesis],
        grounded: Grounded,
        beliefs: BeliefStore,
        remaining: Mapping[str, int],
        query_costs: Mapping[Predicate, Resources],
    ) -> Decision:
        """See :class:`Gate`."""
        del grounded, beliefs, remaining
        missing = next((p for h in hypotheses for p in h.missing if p in query_costs), None)
        if missing is not None:
            return Query(missing)
        sure = next((h for h in hypotheses if not h.missing), None)
        return GiveUp("nothing that is missing can be asked") if sure is None else Commit(sure)


def gate_of(settings: AecSettings) -> Gate:
    """The gate that settings name.

    ``simulate_all`` believes every prediction, however uncertain, so that only grounded commitments cause queries.
    """
    grounded = settings.commit == "grounded"
    if settings.gate == "query_all":
        return QueryAllGate()
    if settings.gate == "simulate_all":
        return ThresholdGate(0.0, float("inf"), grounded=grounded)
    return ThresholdGate(settings.margin, settings.uncertainty, grounded=grounded)
