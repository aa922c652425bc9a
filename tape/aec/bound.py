"""The bound on infeasible commitments, and simulated errors of queries to test it with (AEC theorem 3.4)."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tape.budget import Resources
from tape.errors import ConfigError
from tape.protocols import Action, MarksDestructive, Observation, SpellsOut, State
from tape.protocols.predicates import (
    Assignment,
    AssumingDomain,
    Effects,
    ExcludingDomain,
    ExclusiveDomain,
    FeaturedDomain,
    KnowsGoal,
    Predicate,
    PredicateDomain,
    QueryMacro,
    Rule,
    SupposingDomain,
)
from tape.seeds import derive
from tape.statistics import wilson

Rates = float | Mapping[str, float]
"""The chance that a grounded value is wrong: one for all predicates, or one for each name of a predicate."""


def grounded_later(start: Collection[Predicate], now: Collection[Predicate]) -> frozenset[Predicate]:
    """Q: the predicates grounded at commitment but not at the start (AEC eq. 7, as reconstructed [ours])."""
    return frozenset(now) - frozenset(start)


def feasibility_bound(later: Iterable[Predicate], rates: Rates) -> float:
    """The least probability that a committed plan is feasible (AEC theorem 3.4, eq. 8).

    ``1 - sum over Q of eps(p)``, and never below 0. Assumes a sound verifier that reads grounded facts alone, a
    correct w_0 and marginal error rates of at most ``rates``; the errors may depend on each other.

    Args:
        later: Q, see :func:`grounded_later`.
        rates: An upper bound of each predicate's error rate; a name that is missing in a mapping has rate 0.

    Raises:
        ConfigError: A rate is not within [0, 1].
    """
    return max(0.0, 1.0 - sum(rate_of(predicate, rates) for predicate in sorted(set(later))))


def rate_of(predicate: Predicate, rates: Rates) -> float:
    """The error rate of one predicate.

    Raises:
        ConfigError: It is not within [0, 1].
    """
    rate = rates.get(predicate.name, 0.0) if isinstance(rates, Mapping) else rates
    if not 0.0 <= rate <= 1.0:
        raise ConfigError(f"the error rate of {predicate.name}: expected a number within [0, 1], got {rate!r}")
    return rate


LEVEL, POWER = 0.05, 0.8
"""Of the test of the bound: how often a bound that holds is refuted at most, and the power that ``detects`` is for."""


@dataclass(frozen=True)
class BoundCheck:
    """Simulated commitments against the theorem.

    Attributes:
        n: Commitments.
        infeasible: How many of them could not be executed.
        frequency: Their share; 0 where there were none.
        low: Of its 95 % Wilson interval.
        high: Of its 95 % Wilson interval.
        allowed: What the theorem allows on average: the mean of ``1 - bound``.
        p: How likely at least so many are if no more than that is true: the exact binomial tail, one-sided. Chances
            that differ from commitment to commitment make it smaller still (Hoeffding 1956).
        detects: The least true share that n commitments refute with a power of 0.8; above 1 where none can.
    """

    n: int
    infeasible: int
    frequency: float
    low: float
    high: float
    allowed: float
    p: float
    detects: float

    @property
    def holds(self) -> bool:
        """Whether the data do not refute the theorem, one-sided at 5 %."""
        return self.p > LEVEL


def check_bound(commitments: Sequence[tuple[float, bool]]) -> BoundCheck:
    """Compare how often commitments failed with the bounds that held for them.

    Args:
        commitments: For each its bound (:func:`feasibility_bound`) and whether it was feasible. Let there be one of
            each episode: the interval takes them as independent.
    """
    n = len(commitments)
    infeasible = sum(not feasible for _, feasible in commitments)
    allowed = sum(1.0 - bound for bound, _ in commitments) / n if n else 0.0
    share = infeasible / n if n else 0.0
    p, detects = tail(infeasible, n, allowed), detected(n, allowed)
    return BoundCheck(n, infeasible, share, *wilson(infeasible, n), allowed, p, detects)


def tail(least: int, n: int, chance: float) -> float:
    """The probability of at least so many among n independent ones of this chance, exactly."""
    if least <= 0 or chance >= 1.0:
        return 1.0
    if chance <= 0.0:
        return 0.0
    log, other = math.log(chance), math.log1p(-chance)
    ways = math.lgamma(n + 1)
    terms = (
        ways - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * log + (n - k) * other for k in range(least, n + 1)
    )
    return min(1.0, math.fsum(map(math.exp, terms)))


def detected(n: int, allowed: float) -> float:
    """The least true share that n commitments refute with :data:`POWER`, to 1/1000; above 1 where no share can be."""
    needed = _first(n + 1, lambda k: tail(k, n, allowed) <= LEVEL)
    return math.inf if needed > n else _first(1000, lambda share: tail(needed, n, share / 1000) >= POWER) / 1000


def _first(end: int, holds: Callable[[int], bool]) -> int:
    """The first number from 0 on of which something holds, that holds of all after it too; ``end`` where of none."""
    return bisect_left(range(end), True, key=holds)


_OPTIONAL: tuple[Any, ...] = (
    AssumingDomain,
    SupposingDomain,
    KnowsGoal,
    ExcludingDomain,
    ExclusiveDomain,
    FeaturedDomain,
    MarksDestructive,
    SpellsOut,
)
"""The optional protocols of a domain that a noisy one has where the domain has them."""


class NoisyDomain:
    """A domain whose grounder is wrong at a known rate about what comes to light after the start.

    This is simulated error: show it as such wherever results with it are shown. A predicate that was grounded in the
    first state is never flipped, nor is anything but what :meth:`ground` says. Whether a predicate is flipped is
    decided once, by its name and the seed: its value is then the opposite of the true one for the whole episode,
    also after actions have changed it. Make a new one for each episode.

    Args:
        domain: The domain as it is.
        rates: The chance of being flipped.
        seed: Of the episode.
        start: The first state; without it the first one that is grounded.
        closed: What follows by the domain's rules comes to light too, and may be wrong: for grounders that say only
            what is there, so that a wrong query may also say that something is where it is not.

    Raises:
        ConfigError: A rate is not within [0, 1].
    """

    def __init__(
        self, domain: PredicateDomain, rates: Rates, seed: int, start: State | None = None, *, closed: bool = False
    ) -> None:
        for name in rates if isinstance(rates, Mapping) else ("every predicate",):
            rate_of(Predicate(name), rates)
        self._domain, self._rates, self._seed = domain, rates, seed
        self._closed = closed
        self._first: frozenset[Predicate] | None = None if start is None else frozenset(self._truth(start))
        self._seen: set[Predicate] = set()
        for protocol in _OPTIONAL:
            if isinstance(domain, protocol):
                for name in (name for name, what in vars(protocol).items() if callable(what) and name[0] != "_"):
                    setattr(self, name, getattr(domain, name))  # on the instance, where isinstance() looks for them

    @property
    def flipped(self) -> frozenset[Predicate]:
        """The predicates of which a wrong value was given so far."""
        return frozenset(predicate for predicate in self._seen if self.flips(predicate))

    def flips(self, predicate: Predicate) -> bool:
        """Whether this predicate would be given a wrong value, once it is grounded after the start."""
        drawn = random.Random(derive(self._seed, "simulated query error", predicate)).random()
        return drawn < rate_of(predicate, self._rates)

    def ground(self, state: State) -> Assignment:
        """What the domain's grounder says, with the simulated errors."""
        known = self._truth(state)
        if self._first is None:
            self._first = frozenset(known)
        later = grounded_later(self._first, known)
        self._seen |= later
        return {name: value != (name in later and self.flips(name)) for name, value in known.items()}

    def _truth(self, state: State) -> Assignment:
        """What comes to light, without errors."""
        known = dict(self._domain.ground(state))
        grows = self._closed
        while grows:
            before = len(known)
            for rule in self._domain.rules():
                known = {**rule(known), **known}
            grows = len(known) > before
        return known

    @property
    def deterministic(self) -> bool:
        """As the domain says."""
        return self._domain.deterministic

    def key(self, state: State) -> str:
        """As the domain says."""
        return self._domain.key(state)

    def render(self, state: State) -> str:
        """As the domain says."""
        return self._domain.render(state)

    def project(self, observation: Observation) -> State:
        """As the domain says."""
        return self._domain.project(observation)

    def admissible(self, state: State) -> Sequence[Action] | None:
        """As the domain says."""
        return self._domain.admissible(state)

    def cost(self, state: State, action: Action) -> Resources:
        """As the domain says."""
        return self._domain.cost(state, action)

    def preconditions(self, action: Action) -> Assignment:
        """As the domain says."""
        return self._domain.preconditions(action)

    def effects(self, action: Action, known: Assignment) -> Effects:
        """As the domain says."""
        return self._domain.effects(action, known)

    def goals(self) -> Sequence[Assignment]:
        """As the domain says."""
        return self._domain.goals()

    def rules(self) -> Sequence[Rule]:
        """As the domain says."""
        return self._domain.rules()

    def query(self, state: State, predicate: Predicate) -> QueryMacro | None:
        """As the domain says."""
        return self._domain.query(state, predicate)

    def bridge(self, state: State, predicate: Predicate, value: bool) -> Sequence[Action] | None:
        """As the domain says."""
        return self._domain.bridge(state, predicate, value)

    def __getattr__(self, name: str) -> Any:
        """Whatever else the domain has."""
        if name == "_domain":  # not made yet, for instance while being copied
            raise AttributeError(name)
        return getattr(self._domain, name)
