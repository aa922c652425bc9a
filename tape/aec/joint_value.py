"""The value of information of a query: the chance that it changes the chosen path, times what that saves [ours]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tape.aec.joint_graph import Amounts, Market, plus
from tape.aec.joint_worlds import Beliefs
from tape.protocols.predicates import Predicate


@dataclass(frozen=True)
class QueryValue:
    """One query alone: commit without it, or query first and then commit on beliefs.

    Attributes:
        predicate: The queried predicate.
        changes: The probability that the result changes which candidate is best.
        saves: Average gain of such a change; negative if the best candidate is no longer affordable after the query.
        cost: Cost of the query, by kind.
        price: Price of that cost; charged with the probability that a commitment after it succeeds.
        net: Value of querying minus the value of not querying.
        affordable: Whether the query and the cheapest candidate fit into what is left.
    """

    predicate: Predicate
    changes: float
    saves: float
    cost: Mapping[str, int]
    price: float
    net: float
    affordable: bool


def query_values(market: Market, beliefs: Beliefs) -> tuple[QueryValue, ...]:
    """The value of every query that a candidate could need, in the order of the predicates."""
    needed = sorted({p for offer in market.offers for p in offer.needs if p in market.queries})
    none = (0,) * len(market.kinds)
    best, _ = _best(market, beliefs, none)
    stay = _earned(market, beliefs, best, none)
    return tuple(_value(market, beliefs, predicate, best, stay) for predicate in needed)


def _value(market: Market, beliefs: Beliefs, predicate: Predicate, best: int | None, stay: float) -> QueryValue:
    amounts = market.queries[predicate]
    none = (0,) * len(market.kinds)
    changes, gained, after = 0.0, 0.0, 0.0
    for value, chance in ((True, beliefs.mu[predicate]), (False, 1.0 - beliefs.mu[predicate])):
        if chance <= 0.0:
            continue
        then = beliefs.given(predicate, value)
        choice, earned = _best(market, then, amounts)
        after += chance * earned
        if choice != best:
            changes += chance
            # Without the price of the query, which `net` counts once.
            gained += chance * (_earned(market, then, choice, none) - _earned(market, then, best, none))
    affordable = any(market.affords(plus(amounts, offer.cost)) for offer in market.offers)
    cost = {kind: amount for kind, amount in zip(market.kinds, amounts, strict=True) if amount}
    saves = gained / changes if changes else 0.0
    return QueryValue(predicate, changes, saves, cost, market.priced(amounts), after - stay, affordable)


def _best(market: Market, beliefs: Beliefs, spent: Amounts) -> tuple[int | None, float]:
    """The candidate with the highest value if it is committed on belief now; the first of equals."""
    earned = [(_earned(market, beliefs, i, spent), -i) for i in range(len(market.offers))]
    most, index = max(earned, default=(0.0, 0))
    return (-index, most) if most > 0 else (None, 0.0)


def _earned(market: Market, beliefs: Beliefs, candidate: int | None, spent: Amounts) -> float:
    if candidate is None:
        return 0.0
    value = market.net_value(candidate, spent)
    return 0.0 if value is None else beliefs.chance(market.offers[candidate].needs) * value
