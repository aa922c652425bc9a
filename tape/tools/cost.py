"""What a call costs: fixed, by the unit, or spread at random; each with a worst case.

:func:`spreads_of` says how uncertain a cost is, for ``costs="expected"``.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from tape.budget import Resources, Spread, kind_of, undeclared
from tape.tools.errors import ToolError

Amount = int | float | str | Decimal | None


class Cost(Protocol):
    """The declared cost of a tool."""

    def worst(self) -> Resources:
        """The most that any call uses; None for a kind whose amount is unknown."""

    def actual(self, arguments: Mapping[str, Any], result: Any, rng: random.Random) -> Resources:
        """What a call used."""


@dataclass(frozen=True)
class Fixed:
    """The same for every call.

    Args:
        resources: What each call uses, in counts; None for a resource whose amount is unknown.

    Examples:
        >>> from tape.tools import Fixed
        >>> Fixed.of(usd="0.01", seconds=0.2).worst()
        Resources({'seconds': 200, 'usd': 10000})
    """

    resources: Resources

    @classmethod
    def of(cls, **amounts: Amount) -> Fixed:
        """In units, for instance ``Fixed.of(usd="0.01", seconds=0.2)``; None is an unknown amount."""
        return cls(Resources.of(**amounts))

    def worst(self) -> Resources:
        """The same."""
        return self.resources

    def actual(self, arguments: Mapping[str, Any], result: Any, rng: random.Random) -> Resources:
        """The same."""
        del arguments, result, rng
        return self.resources


@dataclass(frozen=True)
class PerUnit:
    """So much for each unit, for instance for each character of an argument.

    Args:
        each: The cost of one unit, in counts.
        units: Counts the units of a call from its arguments and its result, which is None for a call that failed; where
            it cannot count those, the worst case is charged.
        at_most: Units of the largest call. One that has more is paid in full and reported as a cost above the
            declared bound.

    Raises:
        ToolError: ``at_most`` is no whole number >= 0.

    Examples:
        >>> from tape.tools import PerUnit
        >>> from random import Random
        >>> from tape import Resources
        >>> cost = PerUnit(Resources.of(usd="0.0001"), lambda arguments, result: len(arguments["text"]), at_most=500)
        >>> cost.worst()["usd"], cost.actual({"text": "bread"}, "Brot", Random(0))["usd"]
        (50000, 500)
    """

    each: Resources
    units: Callable[[Mapping[str, Any], Any], int] = field(repr=False)
    at_most: int

    def __post_init__(self) -> None:
        self.worst()

    def worst(self) -> Resources:
        """The cost of the largest call."""
        return _times(self.each, self.at_most)

    def actual(self, arguments: Mapping[str, Any], result: Any, rng: random.Random) -> Resources:
        """The cost of the units that were used."""
        del rng
        return _times(self.each, self.units(arguments, result))


@dataclass(frozen=True)
class Uniform:
    """Evenly spread between a share of the worst case and all of it.

    Args:
        most: The worst case, in counts.
        least_share: The least that a call uses, as a share of the worst case, in [0, 1].
        kinds: The resources that are spread; of others always the worst case is used.

    Raises:
        ToolError: ``least_share`` is not in [0, 1].

    Examples:
        >>> from tape.tools import Uniform
        >>> from random import Random
        >>> from tape import Resources
        >>> cost = Uniform(Resources.of(usd="0.01", seconds=2), least_share=0.25)
        >>> dict(cost.worst())
        {'seconds': 2000, 'usd': 10000}
        >>> used = cost.actual({}, None, Random(0))
        >>> used["usd"], 500 <= used["seconds"] <= 2000
        (10000, True)
    """

    most: Resources
    least_share: float
    kinds: tuple[str, ...] = ("seconds",)

    def __post_init__(self) -> None:
        if not 0 <= self.least_share <= 1:
            raise ToolError(f"least_share must be in [0, 1], got {self.least_share}")

    def worst(self) -> Resources:
        """The upper end."""
        return self.most

    def actual(self, arguments: Mapping[str, Any], result: Any, rng: random.Random) -> Resources:
        """A draw."""
        del arguments, result
        counts: dict[str, int | None] = {}
        for kind in self.most:
            count = self.most[kind]
            spread = kind in self.kinds and count is not None
            counts[kind] = round(count * rng.uniform(self.least_share, 1.0)) if spread and count else count
        return Resources(counts)


@dataclass(frozen=True)
class Likely:
    """A cost of which it is known what a call takes on the average, and how much that varies.

    Args:
        cost: Its worst case, and what a call has used.
        spreads: By resource; of what is not named that of ``cost`` holds.

    Raises:
        ToolError: A spread has another worst case than the cost.

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
                raise ToolError(f"{kind}: the worst case is {worst}, but its spread goes up to {spread.most}")

    @classmethod
    def of(cls, cost: Cost, **amounts: tuple[Amount, Amount]) -> Likely:
        """With mean and standard deviation in units, for instance ``seconds=(12, 4)``; nothing is known of the least.

        Raises:
            ConfigError: A kind is not declared, or mean or deviation do not fit below the worst case.
            ToolError: The cost names no worst case of a kind.
        """
        found = {}
        for kind, pair in amounts.items():
            mean, deviation = (Resources.of(**{kind: amount})[kind] or 0 for amount in pair)
            most = cost.worst()[kind]
            if not most:
                raise ToolError(f"{kind}: a mean of it needs a worst case; name one in the cost")
            found[kind] = Spread(0, most, mean, deviation)
        return cls(cost, found)

    def worst(self) -> Resources:
        """That of the cost."""
        return self.cost.worst()

    def actual(self, arguments: Mapping[str, Any], result: Any, rng: random.Random) -> Resources:
        """What the cost says."""
        return self.cost.actual(arguments, result, rng)


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


def _times(each: Resources, units: int) -> Resources:
    if isinstance(units, bool) or not isinstance(units, int) or units < 0:
        raise ToolError(f"a tool's units are a whole number >= 0, got {units!r}")
    return Resources({kind: None if (count := each[kind]) is None else count * units for kind in each})


def amounts(given: Mapping[str, Amount]) -> Fixed:
    """A fixed cost from the keyword arguments of :func:`tape.tools.tool.tool`; unknown money where none is named.

    Raises:
        ConfigError: A kind is not declared, or an amount is malformed.
    """
    named = any(kind_of(name).money for name in given)
    return Fixed.of(**given) if named else Fixed(Resources.of(**given) + undeclared())
