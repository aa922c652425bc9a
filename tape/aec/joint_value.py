"""The value of information of a query: how likely it changes the chosen path, times what that saves [ours]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tape.aec.joint_graph import Amounts, Market, plus
from tape.aec.joint_worlds import Beliefs
from tape.protocols.predicates import Predicate


@dataclass(frozen=True)
class QueryValue:
    """One query looked at alone: commit without it, or ask it and then commit on what is believed.

    Attributes:
        predicate: What is asked.
        changes: The probability that the answer changes which candidate is best.
        saves: What the change is worth on average where it comes; less than 0 where the best candidate can no longer
            be paid for after the query.
        cost: What the query takes, by kind.
        price: The same in worth; charged where something is committed after it, with the probability of its success.
        net: What asking is worth more than not asking.
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
            # The price of the query aside: it is counted once, in `net`.
            gained += chance * (_earned(market, then, choice, none) - _earned(market, then, best, none))
    affordable = any(market.affords(plus(amounts, offer.cost)) for offer in market.offers)
    cost = {kind: amount for kind, amount in zip(market.kinds, amounts, strict=True) if amount}
    saves = gained / changes if changes else 0.0
    return QueryValue(predicate, changes, saves, cost, market.priced(amounts), after - stay, affordable)


def _best(market: Market, beliefs: Beliefs, spent: Amounts) -> tuple[int | None, float]:
    """The candidate that earns most if it is committed on belief now; the first of equals."""
    earned = [(_earned(market, beliefs, i, spent), -i) for i in range(len(market.offers))]
    most, index = max(earned, default=(0.0, 0))
    return (-index, most) if most > 0 else (None, 0.0)


def _earned(market: Market, beliefs: Beliefs, candidate: int | None, spent: Amounts) -> float:
    if candidate is None:
        return 0.0
    worth = market.worth(candidate, spent)
    return 0.0 if worth is None else beliefs.chance(market.offers[candidate].needs) * worth
