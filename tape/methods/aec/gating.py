"""Beliefs, hypotheses, and the gate: query, simulate or commit next (AEC definition 3.1, algorithm 1, eq. 4).

Nothing here can become a fact: no function takes a :class:`PredictedValue` to a
:class:`tape.methods.aec.facts.GroundedFact`, and a :class:`tape.methods.aec.facts.Grounded` is made from observations
alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from tape.budget import Resources
from tape.engine.select import Path
from tape.methods.aec.settings import AecSettings
from tape.methods.aec.verifier import PlanVerdict
from tape.protocols import Action
from tape.protocols.predicates import Assignment, Predicate


@dataclass(frozen=True)
class PredictedValue:
    """What is predicted of a predicate.

    Attributes:
        value: The value that hypotheses are filtered by; None while it is only predicted.
        mu: Predicted probability that the predicate is true.
        sigma: Uncertainty of that prediction.
    """

    value: bool | None
    mu: float
    sigma: float


class BeliefStore(dict[Predicate, PredictedValue]):
    """Beliefs by predicate; those with a value are the domain of w^ (AEC eq. 1)."""

    def value(self, predicate: Predicate) -> bool | None:
        """The believed value, or None."""
        belief = self.get(predicate)
        return None if belief is None else belief.value

    def predicted(self, predicate: Predicate, mu: float, sigma: float) -> None:
        """Record a prediction; hypotheses are not filtered by it yet."""
        self[predicate] = PredictedValue(None, mu, sigma)

    def simulate(self, predicate: Predicate) -> bool:
        """Believe the likelier value from here on and return it.

        Raises:
            KeyError: There is no prediction of it.
        """
        belief = self[predicate]
        value = belief.mu >= 0.5
        self[predicate] = replace(belief, value=value)
        return value

    def likelihood(self, expected: Mapping[Predicate, bool]) -> float:
        """Probability that all of these values hold, taken as independent; 1/2 for each that has no prediction."""
        product = 1.0
        for predicate, value in expected.items():
            mu = self[predicate].mu if predicate in self else 0.5
            product *= mu if value else 1.0 - mu
        return product


@dataclass(frozen=True)
class Hypothesis:
    """One path of the plan graph, judged by the current facts.

    Attributes:
        path: The path.
        verdict: The verifier's verdict.
        expected: Pre(h) with the expected values; without the goal's if paths are not verified.
        missing: The part of it that no grounded or entailed fact covers.
    """

    path: Path
    verdict: PlanVerdict
    expected: Assignment
    missing: Mapping[Predicate, bool]

    @property
    def actions(self) -> tuple[Action, ...]:
        """Its actions."""
        return self.path.actions


def remainder(actions: Sequence[Action], done: Sequence[Action]) -> tuple[Action, ...]:
    """The rest of a plan after its common prefix with some actions."""
    same = 0
    while same < min(len(actions), len(done)) and actions[same] == done[same]:
        same += 1
    return tuple(actions[same:])


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
        beliefs: BeliefStore,
        query_costs: Mapping[Predicate, Resources],
    ) -> Decision:
        """Decide.

        Args:
            hypotheses: The surviving ones, at least one, best first.
            beliefs: If ``predicts``, they hold a prediction of every missing predicate.
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
        beliefs: BeliefStore,
        query_costs: Mapping[Predicate, Resources],
    ) -> Decision:
        """See :class:`Gate`."""
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
        beliefs: BeliefStore,
        query_costs: Mapping[Predicate, Resources],
    ) -> Decision:
        """See :class:`Gate`."""
        del beliefs
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
