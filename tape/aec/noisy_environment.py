"""An environment of which agents are told wrong things at a known rate, to test the bound of AEC theorem 3.4."""

from __future__ import annotations

from tape.aec.bound import NoisyDomain, Rates
from tape.budget import Resources
from tape.protocols import Environment, Observation
from tape.protocols.predicates import require_predicates
from tape.protocols.prompt_format import PromptFormat
from tape.seeds import derive


class NoisyEnvironment:
    """An environment behind a :class:`tape.aec.bound.NoisyDomain`; what happens in it is what really happens.

    Only the grounder errs: what the model is shown, and success, are as they are. This is simulated error: show it as
    such.

    Args:
        inner: The environment; its domain declares predicates.
        rates: The chance of being wrong.
        seed: Of the episode.
    """

    def __init__(self, inner: Environment, rates: Rates, seed: int) -> None:
        self.inner, self._rates, self._seed = inner, rates, seed
        self._domain = self._noisy(seed)

    def _noisy(self, seed: int) -> NoisyDomain:
        domain = require_predicates(self.inner.domain, "a simulated query error")
        return NoisyDomain(domain, self._rates, seed, closed=True)

    @property
    def domain(self) -> NoisyDomain:
        """The domain with the errors."""
        return self._domain

    def prompt_format(self, name: str) -> PromptFormat:
        """As the environment: what the model is shown is as it is."""
        return self.inner.prompt_format(name)

    def reset(self, seed: int) -> Observation:
        """As the environment, with the errors of this episode."""
        self._domain = self._noisy(derive(self._seed, seed))
        return self.inner.reset(seed)

    def step(self, action: str) -> tuple[Observation, Resources]:
        """As the environment."""
        return self.inner.step(action)

    def success(self) -> bool:
        """As the environment."""
        return self.inner.success()

    def close(self) -> None:
        """Close the environment, where it can be."""
        close = getattr(self.inner, "close", None)
        if close is not None:
            close()
