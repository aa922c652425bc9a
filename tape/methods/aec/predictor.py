"""Predictors of unknown predicates (AEC eq. 3), from grounded facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from tape.engine.context import RoleContext
from tape.errors import ConfigError, InvalidOutputError
from tape.methods.aec.facts import Grounded
from tape.protocols.predicates import Predicate
from tape.seeds import derive

ROLE = "predict"

TEMPERATURE = 1.0
"""The members of the ensemble are samples of the model's own distribution."""


class Estimate(NamedTuple):
    """A prediction."""

    mu: float
    sigma: float


class Predictor(Protocol):
    """f(p given w), which takes no beliefs."""

    async def predict(self, predicates: Sequence[Predicate], grounded: Grounded) -> list[Estimate]:
        """Predict each predicate from grounded facts."""


class EnsemblePredictor:
    """An ensemble of the model's samples: mu is their mean, sigma its standard error (AEC appendix B.2; form ours).

    Half an answer of each kind is added to the samples, because a few equal samples are not certainty. Sigma is then a
    function of the votes alone, at most ``1 / (2 * sqrt(n + 1))`` for n samples, and carries no information beyond mu.
    Each predicate is asked about once for the same facts.

    Args:
        context: The episode's model and prompts; they need ``predict_request`` if anything is unknown.
        members: Samples of every answer.
        seed: Root of the sampling seeds.
    """

    def __init__(self, context: RoleContext, members: int, seed: int) -> None:
        self._context, self._members, self._seed = context, members, seed
        self._known: dict[tuple[str, Predicate], Estimate] = {}

    async def predict(self, predicates: Sequence[Predicate], grounded: Grounded) -> list[Estimate]:
        """Predict each predicate.

        Raises:
            BudgetExceededError: The calls do not fit; they were not made.
            ConfigError: The prompt format has no requests for predictions.
        """
        fresh = [p for p in dict.fromkeys(predicates) if (grounded.digest, p) not in self._known]
        votes = await self._ask(fresh, grounded) if fresh else {}
        for predicate in fresh:
            count = len(votes[predicate]) + 1
            share = (math.fsum(votes[predicate]) + 0.5) / count
            self._known[grounded.digest, predicate] = Estimate(share, math.sqrt(share * (1 - share) / count))
        return [self._known[grounded.digest, p] for p in predicates]

    async def _ask(self, predicates: Sequence[Predicate], grounded: Grounded) -> Mapping[Predicate, Sequence[float]]:
        """Each sample's answer to each predicate, 1 for true."""
        form, state = self._context.prompt_format, grounded.observed
        asked = form.predict_request(state, predicates)
        if asked is None:
            raise ConfigError(
                f"there are unknown predicates to predict, but {type(form).__name__} has no predict_request and "
                "read_predict; use gate='query_all', or a model whose prompt format has them"
            )
        requests = [
            replace(
                request,
                n=self._members,
                temperature=TEMPERATURE,
                seed=derive(self._seed, grounded.digest, *map(str, covered)),
                role=ROLE,
            )
            for request, covered in asked
        ]
        votes: dict[Predicate, list[float]] = {p: [] for p in predicates}
        for (_, covered), completion in zip(asked, await self._context.lm.generate(requests), strict=True):
            for text in completion.texts:
                try:
                    read = form.read_predict(state, covered, text)
                except InvalidOutputError as error:
                    self._context.count_malformed(ROLE, text, error)
                    continue
                for predicate in read.keys() & votes.keys():
                    votes[predicate].append(float(read[predicate]))
        return votes
