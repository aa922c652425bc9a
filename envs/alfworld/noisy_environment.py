"""An environment whose grounder errs at a known rate, to test the bound of AEC theorem 3.4."""

from __future__ import annotations

import random
from collections.abc import Collection
from operator import attrgetter
from typing import Any

from tape.errors import ConfigError
from tape.protocols import Domain, Environment, Observation, State
from tape.protocols.domain import require_predicates
from tape.protocols.hooks import NO_HOOKS, EpisodeHooks
from tape.protocols.parts import Predicates
from tape.protocols.predicates import Assignment, Predicate
from tape.seeds import derive


def grounded_later(start: Collection[Predicate], now: Collection[Predicate]) -> frozenset[Predicate]:
    """Q: the predicates grounded at commitment but not at the start (AEC eq. 7, as reconstructed [ours])."""
    return frozenset(now) - frozenset(start)


def _of(part: str, *names: str) -> Any:
    """Attributes that are those of a part."""
    return (property(attrgetter(f"{part}.{name}")) for name in names)


class NoisyDomain(Domain, Predicates):
    """A domain whose grounder is wrong at a known rate about what is revealed after the start.

    The error is simulated: results have to say so. Only values of :meth:`ground` are flipped, and never those of
    predicates that are grounded in the first state. Name and seed decide once whether a predicate is flipped: its value
    is then the opposite of the true one for the whole episode, also after actions have changed it. Conclusions of the
    domain's rules are revealed and flipped too, so a wrong query may also assert something that is absent. Every
    episode needs a new instance.

    Raises:
        ConfigError: The rate is not within [0, 1].
    """

    key, render, project, admissible, cost = _of("_domain", "key", "render", "project", "admissible", "cost")
    destructive, spelled_out, task_text = _of("_domain", "destructive", "spelled_out", "task_text")
    goal_test, choices = _of("_domain", "goal_test", "choices")
    preconditions, effects, goals = _of("_true", "preconditions", "effects", "goals")
    rules, query, establishing = _of("_true", "rules", "query", "establishing")

    def __init__(self, domain: Domain, rate: float, seed: int) -> None:
        if not 0.0 <= rate <= 1.0:
            raise ConfigError(f"the error rate of queries: expected a number within [0, 1], got {rate!r}")
        self._domain, self._rate, self._seed = domain, rate, seed
        self._true = require_predicates(domain, "a simulated query error")
        self.deterministic, self.marks_destructive = domain.deterministic, domain.marks_destructive
        self.complete = self._true.complete
        self._first: frozenset[Predicate] | None = None

    @property
    def hooks(self) -> EpisodeHooks:
        """Those of a domain with unseen things; others would tell what its grounder does not see."""
        return self._domain.hooks if self._domain.hooks.unseen else NO_HOOKS

    def flips(self, predicate: Predicate) -> bool:
        """Whether this predicate gets a wrong value once it is grounded after the start."""
        drawn = random.Random(derive(self._seed, "simulated query error", predicate)).random()
        return drawn < self._rate

    def ground(self, state: State) -> Assignment:
        """The domain's grounding with the simulated errors."""
        known = self._truth(state)
        if self._first is None:
            self._first = frozenset(known)
        later = grounded_later(self._first, known)
        return {name: value != (name in later and self.flips(name)) for name, value in known.items()}

    def _truth(self, state: State) -> Assignment:
        """The grounding without errors."""
        known = dict(self._true.ground(state))
        grows = True
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
    """

    domain: NoisyDomain
    """The domain with the errors."""

    prompt_format, step, success, close = _of("inner", "prompt_format", "step", "success", "close")

    def __init__(self, inner: Environment, rate: float, seed: int) -> None:
        self.inner, self._rate, self._seed = inner, rate, seed
        self.domain = self._noisy(seed)

    def _noisy(self, seed: int) -> NoisyDomain:
        return NoisyDomain(self.inner.domain, self._rate, seed)

    def reset(self, seed: int) -> Observation:
        """As the environment, with the errors of this episode."""
        self.domain = self._noisy(derive(self._seed, seed))
        return self.inner.reset(seed)
