"""Costs that vary by chance, and how uncertain a cost is, for ``costs="expected"``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tape.budget.prices import Amount, Answer, Cost, Fixed
from tape.budget.resources import Resources
from tape.budget.spread import Spread
from tape.errors import ConfigError


@dataclass(frozen=True)
class Uniform:
    """Evenly spread between a share of the worst case and all of it.

    Args:
        most: The worst case, in counts.
        least_share: The least that a call uses, as a share of the worst case, in [0, 1].
        kinds: The resources that are spread; of others always the worst case is used.

    Raises:
        ConfigError: ``least_share`` is not in [0, 1].

    Examples:
        >>> from tape.tools import Uniform
        >>> from random import Random
        >>> from tape import Resources
        >>> from tape.tools import Answer
        >>> cost = Uniform(Resources.of(usd="0.01", seconds=2), least_share=0.25)
        >>> dict(cost.worst())
        {'seconds': 2000, 'usd': 10000}
        >>> used = cost.actual({}, Answer(rng=Random(0)))
        >>> used["usd"], 500 <= used["seconds"] <= 2000
        (10000, True)
    """

    most: Resources
    least_share: float
    kinds: tuple[str, ...] = ("seconds",)

    def __post_init__(self) -> None:
        if not 0 <= self.least_share <= 1:
            raise ConfigError(f"least_share must be in [0, 1], got {self.least_share}")

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """The upper end."""
        del arguments
        return self.most

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """A draw."""
        del arguments
        counts: dict[str, int | None] = {}
        for kind in self.most:
            count = self.most[kind]
            spread = kind in self.kinds and count is not None
            counts[kind] = round(count * answer.rng.uniform(self.least_share, 1.0)) if spread and count else count
        return Resources(counts)


@dataclass(frozen=True)
class Likely:
    """A cost of which it is known what a call takes on the average, and how much that varies.

    Args:
        cost: Its worst case, and what a call has used.
        spreads: By resource; of what is not named that of ``cost`` holds.

    Raises:
        ConfigError: A spread has another worst case than the cost.

    Examples:
        >>> from tape.tools import Fixed, Likely
        >>> cost = Likely.of(Fixed.of(usd="0.01", seconds=60), seconds=(12, 4))
        >>> cost.worst()["seconds"], cost.spreads["seconds"].mean, cost.spreads["seconds"].deviation
        (60000, 12000, 4000)
    """

    cost: Cost
    spreads: Mapping[str, Spread]

    def __post_init__(self) -> None:
        for kind, spread in self.spreads.items():
            if spread.most != (worst := self.cost.worst()[kind]):
                raise ConfigError(f"{kind}: the worst case is {worst}, but its spread goes up to {spread.most}")

    @classmethod
    def of(cls, cost: Cost, **amounts: tuple[Amount, Amount]) -> Likely:
        """With mean and standard deviation in units, for instance ``seconds=(12, 4)``; nothing is known of the least.

        Raises:
            ConfigError: A kind is not declared, or mean or deviation do not fit below the worst case.
            ConfigError: The cost names no worst case of a kind.
        """
        spreads = {}
        for kind, pair in amounts.items():
            mean, deviation = (Resources.of(**{kind: amount})[kind] or 0 for amount in pair)
            most = cost.worst()[kind]
            if not most:
                raise ConfigError(f"{kind}: a mean of it needs a worst case; name one in the cost")
            spreads[kind] = Spread(0, most, mean, deviation)
        return cls(cost, spreads)

    def worst(self, arguments: Mapping[str, Any] | None = None) -> Resources:
        """That of the cost."""
        return self.cost.worst(arguments)

    def actual(self, arguments: Mapping[str, Any], answer: Answer) -> Resources:
        """What the cost says."""
        return self.cost.actual(arguments, answer)


def spreads_of(cost: Cost) -> Mapping[str, Spread]:
    """How uncertain a cost is, by resource; what is not named is exactly the worst case.

    Of a :class:`PerUnit` or a cost of one's own only the worst case is known, until calls have been seen.
    """
    if isinstance(cost, Fixed):
        return {}
    if isinstance(cost, Likely):
        return {**spreads_of(cost.cost), **cost.spreads}
    worst = {kind: count for kind, count in cost.worst().items() if count}
    if not isinstance(cost, Uniform):
        return {kind: Spread.unknown(count) for kind, count in worst.items()}
    ends = {kind: (round(count * cost.least_share), count) for kind, count in worst.items() if kind in cost.kinds}
    return {
        kind: Spread(low, high, (low + high) / 2, (high - low) / math.sqrt(12)) for kind, (low, high) in ends.items()
    }
