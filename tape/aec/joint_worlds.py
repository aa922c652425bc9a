"""Probabilities of the sets of candidate paths that hold together: the belief behind the joint choice [ours]."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from tape.errors import ConfigError
from tape.protocols.predicates import Assignment, Predicate

Worlds = Mapping[int, float]
"""Probabilities of the sets of candidates whose preconditions hold, as bit masks."""


class Beliefs:
    """A joint belief: predicates are independent except for groups of which at most one is true.

    Args:
        mu: The believed probability that each unknown predicate is true.
        exclusive: Groups of predicates of which at most one is true, for instance the places of one object. If the
            probabilities of a group sum to more than 1, they are divided by their sum.

    Raises:
        ConfigError: A probability is not within [0, 1], groups overlap, or a member of a group has no belief.
    """

    def __init__(self, mu: Mapping[Predicate, float], exclusive: Sequence[Collection[Predicate]] = ()) -> None:
        for predicate, value in mu.items():
            if not 0.0 <= value <= 1.0:
                raise ConfigError(f"mu of {predicate}: expected a probability within [0, 1], got {value!r}")
        groups = [tuple(sorted(set(group))) for group in exclusive]
        listed = sorted(predicate for group in groups for predicate in group)
        for first, second in pairwise(listed):
            if first == second:
                raise ConfigError(f"{first} is in two exclusive groups; an independent belief needs it in one")
        missing = [str(predicate) for predicate in listed if predicate not in mu]
        if missing:
            raise ConfigError(f"exclusive groups: no belief of {', '.join(missing)}")
        self.mu = dict(mu)
        for group in groups:
            total = sum(mu[predicate] for predicate in group)
            if total > 1.0:
                self.mu |= {predicate: mu[predicate] / total for predicate in group}
        self.groups = groups
        alone = sorted(set(mu) - set(listed))
        self._blocks = [*groups, *((predicate,) for predicate in alone)]
        self._block = {predicate: block for block in self._blocks for predicate in block}

    def given(self, predicate: Predicate, value: bool) -> Beliefs:
        """The belief after a value is revealed; unchanged if that value was thought impossible."""
        mu = dict(self.mu)
        group = next((g for g in self.groups if predicate in g), ())
        chance = mu[predicate] if value else 1.0 - mu[predicate]
        if chance > 0.0:
            for other in group:
                # True: the others of the group are false. False: its weight goes to the others and to none of them.
                mu[other] = 0.0 if value else min(1.0, mu[other] / chance)
        mu[predicate] = float(value)
        return Beliefs(mu, self.groups)

    def chance(self, needs: Assignment) -> float:
        """The probability that all needs hold."""
        total = 1.0
        for block in sorted({self._block[predicate] for predicate in needs}):
            true = [predicate for predicate in block if needs.get(predicate)]
            if true:
                total *= self.mu[true[0]] if len(true) == 1 else 0.0
            else:
                total *= max(0.0, 1.0 - sum(self.mu[predicate] for predicate in block if predicate in needs))
        return total

    def worlds(self, candidates: Sequence[Assignment], most: int | None = None) -> Worlds:
        """The joint distribution over which candidates' preconditions all hold.

        Args:
            candidates: What each needs.
            most: Most different sets.

        Raises:
            OverflowError: There are more.
            ConfigError: A candidate needs a predicate of which there is no belief.
        """
        for needs in candidates:
            for predicate in needs:
                if predicate not in self.mu:
                    raise ConfigError(f"no belief of {predicate}, which a candidate needs")
        alive: dict[int, float] = {(1 << len(candidates)) - 1: 1.0}
        needed = {self._block[predicate] for needs in candidates for predicate in needs}
        for block in sorted(needed):
            outcomes = self._outcomes(block, candidates)
            after: dict[int, float] = {}
            for mask, p in alive.items():
                for kept, q in outcomes.items():
                    after[mask & kept] = after.get(mask & kept, 0.0) + p * q
            alive = after
            if most is not None and len(alive) > most:
                raise OverflowError(f"more than {most} sets of candidates")
        return alive

    def _outcomes(self, block: Sequence[Predicate], candidates: Sequence[Assignment]) -> dict[int, float]:
        """Probabilities of the sets of candidates that survive each value of a block."""
        found: dict[int, float] = {}
        none = 1.0 - sum(self.mu[predicate] for predicate in block)
        for true, p in [*((predicate, self.mu[predicate]) for predicate in block), (None, max(0.0, none))]:
            if p > 0.0:
                kept = 0
                for i, needs in enumerate(candidates):
                    kept |= all(needs.get(q, q == true) == (q == true) for q in block) << i
                found[kept] = found.get(kept, 0.0) + p
        return found
