"""Predictors of unknown predicates (AEC eq. 3): they are given grounded facts and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol, runtime_checkable

from tape.aec.facts import Grounded
from tape.aec.overrides import Overrides, features_of
from tape.engine.context import RoleContext
from tape.errors import ConfigError, InvalidOutputError
from tape.lm.base import Request
from tape.protocols import State
from tape.protocols.predicates import Predicate
from tape.protocols.prompt_format import PromptFormat
from tape.seeds import derive

ROLE = "predict"

TEMPERATURE = 1.0
"""The members of the ensemble are samples of the model's own distribution."""


class Estimate(NamedTuple):
    """A prediction.

    Attributes:
        mu: The probability of being true that decisions go by.
        sigma: Its uncertainty.
        raw: The model's own probability, before calibration and learned rules; None where there is no other.
    """

    mu: float
    sigma: float
    raw: float | None = None


class Predictor(Protocol):
    """f(p given w): no belief goes in."""

    async def predict(self, predicates: Sequence[Predicate], grounded: Grounded) -> list[Estimate]:
        """Predict each predicate from grounded facts."""


@runtime_checkable
class PredictingFormat(PromptFormat, Protocol):
    """A prompt format in which the model can be asked for what is not known; optional."""

    def predict_request(
        self, state: State, predicates: Sequence[Predicate]
    ) -> Sequence[tuple[Request, Sequence[Predicate]]]:
        """Requests that settle predicates in a state, each with those that it settles.

        One answer may settle several: a likely place of an object says of every other place that it is not there.
        """

    def read_predict(self, state: State, predicates: Sequence[Predicate], text: str) -> Mapping[Predicate, bool]:
        """What a sampled answer says of the predicates; may leave some open."""


def require_predicting(prompt_format: PromptFormat) -> PredictingFormat:
    """The prompt format, if it can ask for predictions.

    Raises:
        ConfigError: It cannot.
    """
    if not isinstance(prompt_format, PredictingFormat):
        raise ConfigError(
            f"there are unknown predicates to predict, but {type(prompt_format).__name__} has no predict_request and "
            "read_predict; use gate='query_all', or a model whose prompt format has them"
        )
    return prompt_format


class EnsemblePredictor:
    """An ensemble of the model's samples: mu is their mean, sigma its standard error (AEC appendix B.2; form ours).

    Half an answer of each kind is added to the samples: a few that agree are not certainty. Each predicate is asked
    once for the same facts.

    Args:
        context: The episode's model and prompts; they have to include those of a :class:`PredictingFormat` where
            anything is unknown.
        samples: Of every question.
        seed: Root of the sampling seeds.
        calibration: Applied to every mu, if given: from raw to calibrated probability.
        rules: Learned rules; where one speaks, its probability takes the place of the model's.
    """

    def __init__(
        self,
        context: RoleContext,
        samples: int,
        seed: int,
        calibration: Callable[[float], float] | None = None,
        rules: Overrides | None = None,
    ) -> None:
        self._context, self._samples, self._seed = context, samples, seed
        self._calibration, self._rules = calibration, rules or Overrides()
        self._known: dict[tuple[str, Predicate], Estimate] = {}

    async def predict(self, predicates: Sequence[Predicate], grounded: Grounded) -> list[Estimate]:
        """Predict each predicate.

        Raises:
            BudgetExceededError: The calls do not fit; they were not made.
            ConfigError: The prompt format cannot ask.
        """
        prompt_format = require_predicting(self._context.prompt_format)
        fresh = [p for p in dict.fromkeys(predicates) if (grounded.digest, p) not in self._known]
        asked = prompt_format.predict_request(grounded.observed, fresh) if fresh else []
        requests = [
            replace(
                request,
                n=self._samples,
                temperature=TEMPERATURE,
                seed=derive(self._seed, grounded.digest, *map(str, settled)),
                role=ROLE,
            )
            for request, settled in asked
        ]
        votes: dict[Predicate, list[bool]] = {p: [] for p in fresh}
        for (_, settled), completion in zip(asked, await self._context.lm.generate(requests), strict=True):
            for text in completion.texts:
                for predicate, value in self._read(prompt_format, grounded.observed, settled, text).items():
                    if predicate in votes:
                        votes[predicate].append(value)
        for predicate, values in votes.items():
            self._known[grounded.digest, predicate] = self._estimate(predicate, values)
        return [self._known[grounded.digest, p] for p in predicates]

    def _read(
        self, prompt_format: PredictingFormat, state: State, predicates: Sequence[Predicate], text: str
    ) -> Mapping[Predicate, bool]:
        try:
            return prompt_format.read_predict(state, predicates, text)
        except InvalidOutputError as error:
            self._context.count_malformed(ROLE, text, error)
            return {}

    def _estimate(self, predicate: Predicate, votes: Sequence[bool]) -> Estimate:
        count = len(votes) + 1
        raw = (sum(votes) + 0.5) / count
        spread = math.sqrt(raw * (1 - raw) / count)
        speaking = self._rules.speaking(predicate, features_of(self._context.domain, predicate))
        if speaking is not None:  # as sure as its cases make it
            return Estimate(speaking.mu, math.sqrt(speaking.mu * (1 - speaking.mu) / (speaking.n + 2)), raw)
        return Estimate(self._calibration(raw) if self._calibration else raw, spread, raw)
