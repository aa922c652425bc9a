"""An environment whose grounder errs at a known rate, to test the bound of AEC theorem 3.4."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from operator import attrgetter
from typing import Any

from tape.errors import ConfigError
from tape.protocols import Domain, Environment, Observation, State
from tape.protocols.domain import require_predicates
from tape.protocols.hooks import NO_HOOKS, EpisodeHooks
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Assignment, Predicate
from tape.seeds import derive

Rates = float | Mapping[str, float]
"""The chance that a grounded value is wrong: one for all predicates, or one for each name of a predicate."""


def grounded_later(start: Collection[Predicate], now: Collection[Predicate]) -> frozenset[Predicate]:
    """Q: the predicates grounded at commitment but not at the start (AEC eq. 7, as reconstructed [ours])."""
    return frozenset(now) - frozenset(start)


def rate_of(predicate: Predicate, rates: Rates) -> float:
    """The error rate of one predicate.

    Raises:
        ConfigError: It is not within [0, 1].
    """
    rate = rates.get(predicate.name, 0.0) if isinstance(rates, Mapping) else rates
    if not 0.0 <= rate <= 1.0:
        raise ConfigError(f"the error rate of {predicate.name}: expected a number within [0, 1], got {rate!r}")
    return rate


def _of(part: str, *names: str) -> Any:
    """Attributes that are those of a part."""
    return (property(attrgetter(f"{part}.{name}")) for name in names)


class NoisyDomain(Domain, Predicates):
    """A domain whose grounder is wrong at a known rate about what is revealed after the start.

    The error is simulated: results have to say so. Only values of :meth:`ground` are flipped, and never those of
    predicates that are grounded in the first state. Name and seed decide once whether a predicate is flipped: its value
    is then the opposite of the true one for the whole episode, also after actions have changed it. Every episode needs
    a new instance.

    Args:
        domain: The domain.
        rates: The chance of being flipped.
        seed: Seed of the episode.
        start: The first state; by default the first one that is grounded.
        closed: Whether conclusions of the domain's rules are revealed and flipped too. If a grounder asserts only what
            is present, a wrong query may then also assert something that is absent.

    Raises:
        ConfigError: A rate is not within [0, 1].
    """

    key, render, project, admissible, cost = _of("_domain", "key", "render", "project", "admissible", "cost")
    destructive, spelled_out, task_text = _of("_domain", "destructive", "spelled_out", "task_text")
    goal_test, choices = _of("_domain", "goal_test", "choices")
    preconditions, effects, goals = _of("_true", "preconditions", "effects", "goals")
    rules, query, establishing = _of("_true", "rules", "query", "establishing")

    def __init__(
        self, domain: Domain, rates: Rates, seed: int, start: State | None = None, *, closed: bool = False
    ) -> None:
        for name in rates if isinstance(rates, Mapping) else ("every predicate",):
            rate_of(Predicate(name), rates)
        self._domain, self._rates, self._seed = domain, rates, seed
        self._true = require_predicates(domain, "a simulated query error")
        self.deterministic, self.marks_destructive = domain.deterministic, domain.marks_destructive
        self.complete = self._true.complete
        self._closed = closed
        self._first: frozenset[Predicate] | None = None if start is None else frozenset(self._truth(start))
        self._seen: set[Predicate] = set()

    @property
    def hooks(self) -> EpisodeHooks:
        """Those of a domain with unseen things; others would tell what its grounder does not see."""
        return self._domain.hooks if self._domain.hooks.unseen else NO_HOOKS

    @property
    def flipped(self) -> frozenset[Predicate]:
        """The predicates whose wrong value was returned so far."""
        return frozenset(predicate for predicate in self._seen if self.flips(predicate))

    def flips(self, predicate: Predicate) -> bool:
        """Whether this predicate gets a wrong value once it is grounded after the start."""
        drawn = random.Random(derive(self._seed, "simulated query error", predicate)).random()
        return drawn < rate_of(predicate, self._rates)

    def ground(self, state: State) -> Assignment:
        """The domain's grounding with the simulated errors."""
        known = self._truth(state)
        if self._first is None:
            self._first = frozenset(known)
        later = grounded_later(self._first, known)
        self._seen |= later
        return {name: value != (name in later and self.flips(name)) for name, value in known.items()}

    def _truth(self, state: State) -> Assignment:
        """The grounding without errors."""
        known = dict(self._true.ground(state))
        grows = self._closed
        while grows:
            before = len(known)
            for rule in self._true.rules():
                known = {**rule(known), **known}
            grows = len(known) > before
        return known

    def __getattr__(self, name: str) -> Any:
        """Anything else that the domain has."""
        if name == "_domain":  # not set yet, for instance while being copied
            raise AttributeError(name)
        return getattr(self._domain, name)


class NoisyEnvironment(Environment):
    """An environment with a :class:`NoisyDomain`.

    Only the grounder errs: transitions, prompts and success are the environment's own. The error is simulated: results
    have to say so.

    Args:
        inner: The environment; its domain declares predicates.
        rates: The chance of being wrong.
        seed: Seed of the episode.
    """

    domain: NoisyDomain
    """The domain with the errors."""

    prompt_format, step, success, close = _of("inner", "prompt_format", "step", "success", "close")

    def __init__(self, inner: Environment, rates: Rates, seed: int) -> None:
        self.inner, self._rates, self._seed = inner, rates, seed
        self.domain = self._noisy(seed)

    def _noisy(self, seed: int) -> NoisyDomain:
        return NoisyDomain(self.inner.domain, self._rates, seed, closed=True)

    def reset(self, seed: int) -> Observation:
        """As the environment, with the errors of this episode."""
        self.domain = self._noisy(derive(self._seed, seed))
        return self.inner.reset(seed)
