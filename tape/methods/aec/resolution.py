"""Query an unknown precondition or establish it by actions, whichever is cheaper (SQ-BCP).

A query reveals the value and leaves it unchanged; establishing actions set the required value, whatever it was. If a
query reveals the wrong value, establishing actions can repair the plan; without any, the plan fails. The published
description only names the two ways; how their costs are compared is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tape.errors import ConfigError


class Way(StrEnum):
    """How an unknown precondition is resolved.

    QUERY: query; if the value is wrong, drop the plan.
    QUERY_THEN_ESTABLISH: query; if the value is wrong, establish the right one.
    ESTABLISH: establish the right value without a query.
    """

    QUERY = "query"
    QUERY_THEN_ESTABLISH = "query, then establish"
    ESTABLISH = "establish"


@dataclass(frozen=True)
class Resolution:
    """One way and its expected outcome.

    Attributes:
        way: The way.
        steps: Expected steps.
        worst: Most steps.
        chance: The probability that the precondition holds in the end.
    """

    way: Way
    steps: float
    worst: int
    chance: float


@dataclass(frozen=True)
class Unknown:
    """An unknown precondition.

    Attributes:
        mu: The believed probability that the predicate is true.
        expected: The required value.
        query: Steps of its query; None: it has none.
        establishing: Steps of the establishing actions; None: it has none.

    Raises:
        ConfigError: ``mu`` is no probability or a number of steps is negative.
    """

    mu: float
    expected: bool = True
    query: int | None = None
    establishing: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.mu <= 1.0:
            raise ConfigError(f"mu: expected a probability within [0, 1], got {self.mu!r}")
        for name, steps in (("query", self.query), ("establishing", self.establishing)):
            if steps is not None and steps < 0:
                raise ConfigError(f"{name}: expected a number of steps >= 0, got {steps!r}")

    @property
    def chance(self) -> float:
        """The believed probability that it holds as it is."""
        return self.mu if self.expected else 1.0 - self.mu


def ways(unknown: Unknown) -> tuple[Resolution, ...]:
    """All ways to resolve it.

    Let p be the chance that it holds, q the steps of the query and e those of the establishing actions. A query first
    takes ``q + (1 - p) e`` instead of e, so it pays exactly where ``q < p e``.
    """
    p, q, e = unknown.chance, unknown.query, unknown.establishing
    found = []
    if e is not None:
        found.append(Resolution(Way.ESTABLISH, float(e), e, 1.0))
    if q is not None and e is not None:
        found.append(Resolution(Way.QUERY_THEN_ESTABLISH, q + (1.0 - p) * e, q + e, 1.0))
    if q is not None:
        found.append(Resolution(Way.QUERY, float(q), q, p))
    return tuple(found)


def resolve(unknown: Unknown, left: int | None = None) -> Resolution | None:
    """Choose the way with the fewest expected steps, then the likelier one, then the one with fewer steps at worst.

    Dropping the plan costs nothing, so a query that may end in that is not compared by its steps: it is taken only if
    no establishing actions are affordable, and only if the precondition may hold at all.

    Args:
        unknown: The precondition.
        left: Steps left, if they are limited; a way that may need more is not taken.

    Returns:
        None where there is no way.
    """
    able = [way for way in ways(unknown) if (left is None or way.worst <= left) and way.chance > 0]
    sure = [way for way in able if way.way is not Way.QUERY]
    return min(sure or able, key=lambda way: (way.steps, -way.chance, way.worst), default=None)
