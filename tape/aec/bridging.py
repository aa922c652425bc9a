"""An unknown precondition is queried, or established by a bridging action: whichever is cheaper (SQ-BCP).

A query shows the value and leaves it as it is; a bridging action makes the value what it has to be, whatever it was.
Where a query finds the wrong value, a bridge is the way on if there is one; else the plan is lost. How costs are
weighed against each other is ours: the published description only says that there are these two ways [ours].
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tape.errors import ConfigError


class Way(StrEnum):
    """How an unknown precondition is resolved.

    QUERY: look; if the value is wrong the plan is given up.
    QUERY_THEN_BRIDGE: look; if the value is wrong, establish the right one.
    BRIDGE: establish the right value without looking.
    """

    QUERY = "query"
    QUERY_THEN_BRIDGE = "query, then bridge"
    BRIDGE = "bridge"


@dataclass(frozen=True)
class Resolution:
    """One way with what is to be expected of it.

    Attributes:
        way: Which.
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
        expected: The value it has to have.
        query: Steps of its query; None where there is none.
        bridge: Steps of the bridging actions; None where there are none.

    Raises:
        ConfigError: ``mu`` is no probability or a number of steps is negative.
    """

    mu: float
    expected: bool = True
    query: int | None = None
    bridge: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.mu <= 1.0:
            raise ConfigError(f"mu: expected a probability within [0, 1], got {self.mu!r}")
        for name, steps in (("query", self.query), ("bridge", self.bridge)):
            if steps is not None and steps < 0:
                raise ConfigError(f"{name}: expected a number of steps >= 0, got {steps!r}")

    @property
    def chance(self) -> float:
        """The believed probability that it holds as it is."""
        return self.mu if self.expected else 1.0 - self.mu


def ways(unknown: Unknown) -> tuple[Resolution, ...]:
    """All ways to resolve it that there are.

    With p the chance that it holds, q and b the steps: a query takes q; a query before a bridge ``q + (1 - p) b``, in
    place of a bridge's b. So looking first pays exactly where ``q < p b``.
    """
    p, q, b = unknown.chance, unknown.query, unknown.bridge
    found = []
    if b is not None:
        found.append(Resolution(Way.BRIDGE, float(b), b, 1.0))
    if q is not None and b is not None:
        found.append(Resolution(Way.QUERY_THEN_BRIDGE, q + (1.0 - p) * b, q + b, 1.0))
    if q is not None:
        found.append(Resolution(Way.QUERY, float(q), q, p))
    return tuple(found)


def resolve(unknown: Unknown, left: int | None = None) -> Resolution | None:
    """The way to take: that of fewest expected steps, then the likelier one, then the one of fewer steps at worst.

    A query that may end the plan is no cheaper than a bridge because giving up costs nothing: it is taken only where
    there is no bridge that can be afforded, and only if the precondition may hold at all.

    Args:
        unknown: The precondition.
        left: Steps that are left, if they are limited; no way is taken that may need more.

    Returns:
        None where there is no way.
    """
    able = [way for way in ways(unknown) if (left is None or way.worst <= left) and way.chance > 0]
    sure = [way for way in able if way.way is not Way.QUERY]
    return min(sure or able, key=lambda way: (way.steps, -way.chance, way.worst), default=None)
