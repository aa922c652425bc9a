"""The belief store: predictions with their uncertainty (AEC definition 3.1).

Nothing here can become a fact: no function takes a :class:`PredictedValue` to a
:class:`tape.methods.aec.facts.GroundedFact`, and a :class:`tape.methods.aec.facts.Grounded` is made from observations
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tape.protocols.predicates import Predicate


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
        self[predicate] = believed = replace(belief, value=belief.mu >= 0.5)
        return bool(believed.value)

    def likelihood(self, expected: Mapping[Predicate, bool]) -> float:
        """Probability that all of these values hold, taken as independent; 1/2 for each that has no prediction."""
        product = 1.0
        for predicate, value in expected.items():
            mu = self[predicate].mu if predicate in self else 0.5
            product *= mu if value else 1.0 - mu
        return product
