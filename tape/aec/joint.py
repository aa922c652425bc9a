"""Path and queries chosen together, under the same budgets and by the same solvers (beyond AEC: its section 6) [ours].

The paper asks where an uncertainty passes a threshold, whatever the answer costs and whether it matters. Here the next
decision is the first one of the policy that earns most: a success of candidate i earns its value less a price for
everything spent up to it, on queries and execution; no success earns nothing.

The policies are chains (:mod:`tape.aec.joint_graph`): verify one candidate after the other, commit the first that
holds. What is paid for failed candidates is taken at its worst, all of their queries; a query shared by candidates is
paid once. The best chain is the best of *all* policies (:attr:`JointDecision.exact`) where every candidate rests on at
most one unknown precondition, no more than ``every_order_up_to`` candidates are given, and

- the candidates exclude each other (an object that is in one of several places): their masses add up; or
- they rest on different, independent predicates and are worth the same, execution included: the first that holds is
  then as good as any, and what fails says nothing of the others.

With more candidates it is exact where they exclude each other and cost the same to execute. Everywhere else the
result is a policy that can be followed, all its budgets kept, and what is reported is what it earns at least, so the
error is always on the side of too little. What is left out: policies that look on after a success, that ask something
only to learn of something else, or that mix the queries of candidates with several unknown preconditions; and what is
saved where such a candidate fails at its first query.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from solvers import solve
from tape.aec.joint_graph import Graph, Market, Offer, Visit, every_order, one_order, plus
from tape.aec.joint_value import QueryValue, query_values
from tape.aec.joint_worlds import Beliefs
from tape.errors import ConfigError, TapeError
from tape.protocols.predicates import Predicate

__all__ = ["Candidate", "JointDecision", "JointError", "JointSettings", "QueryValue", "decide"]


class JointError(TapeError):
    """The solver gave no answer to the joint choice."""


@dataclass(frozen=True)
class Candidate:
    """A path that could be committed.

    Attributes:
        needs: Its preconditions that are unknown, with the values they have to have; nothing that is grounded.
        cost: What executing it takes, in counts by kind.
        value: What its success is worth, before prices; 1 for the goal itself.
    """

    needs: Mapping[Predicate, bool]
    cost: Mapping[str, int] = field(default_factory=dict)
    value: float = 1.0


@dataclass(frozen=True)
class JointSettings:
    """How the choice is made.

    Attributes:
        prices: What one count of a kind is worth, against a success of 1; kinds without a price are free up to their
            budget.
        grounded: Whether a candidate is committed only with evidence for all it needs, however sure a belief is.
        solver: Any solver's name.
        every_order_up_to: Most candidates for which every order is in the graph.
        width: Most states kept at each place, with more candidates.
        worlds: Most sets of candidates that may hold together; with more, the least likely candidates for their price
            are left out.

    Raises:
        ConfigError: A price is negative or a number is below 1.
    """

    prices: Mapping[str, float] = field(default_factory=lambda: {"steps": 0.01})
    grounded: bool = True
    solver: str = "labelling"
    every_order_up_to: int = 7
    width: int = 400
    worlds: int = 4096

    def __post_init__(self) -> None:
        for kind, price in self.prices.items():
            if not 0.0 <= price < float("inf"):
                raise ConfigError(f"price of {kind}: expected a number >= 0, got {price!r}")
        for name in ("every_order_up_to", "width", "worlds"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: expected at least 1, got {getattr(self, name)!r}")


@dataclass(frozen=True)
class JointDecision:
    """What to do next, and why.

    Attributes:
        kind: ``query`` a predicate, ``commit`` a candidate, or ``nothing`` that is affordable is worth doing.
        predicate: What to ask, if so.
        candidate: What to commit, or what the query is to verify; an index.
        chain: The whole policy: candidates in order, whether each is verified or committed on belief.
        success: The probability that the policy commits a candidate that holds.
        cost: Expected counts by kind, execution included; an upper bound where candidates need several predicates.
        objective: What the policy earns at least.
        values: The value of information of every query.
        exact: Whether no policy at all earns more.
    """

    kind: Literal["query", "commit", "nothing"]
    predicate: Predicate | None
    candidate: int | None
    chain: tuple[Visit, ...]
    success: float
    cost: Mapping[str, float]
    objective: float
    values: tuple[QueryValue, ...]
    exact: bool


def decide(
    candidates: Sequence[Candidate],
    mu: Mapping[Predicate, float],
    queries: Mapping[Predicate, Mapping[str, int]],
    left: Mapping[str, int],
    *,
    exclusive: Sequence[Collection[Predicate]] = (),
    settings: JointSettings | None = None,
) -> JointDecision:
    """Choose the next query or the path to commit.

    Args:
        candidates: The paths that could be committed.
        mu: The believed probability that each unknown predicate is true.
        queries: What asking each predicate costs at most, in counts by kind; one that is missing cannot be asked.
        left: What is left of the budgets; kinds that are missing are not limited.
        exclusive: Groups of predicates of which at most one is true; all others are independent.
        settings: Prices, solver and limits.

    Raises:
        ConfigError: A probability, a cost or a group is malformed, or a predicate has no belief.
        JointError: The solver failed.
    """
    settings = settings or JointSettings()
    beliefs = Beliefs(mu, exclusive)
    market, numbers = _market(candidates, beliefs, queries, left, settings)
    values = query_values(market, beliefs)
    if not candidates or not market.affords((0,) * len(market.kinds)):
        return JointDecision("nothing", None, None, (), 0.0, {}, 0.0, values, exact=True)
    complete = len(numbers) == len(candidates)
    if len(numbers) <= settings.every_order_up_to:
        graph, problem = every_order(market)
        exact = complete and _is_exact(market, beliefs)
    else:
        graph, problem, whole = one_order(market, settings.width)
        exact = complete and whole and _is_exact(market, beliefs, ordered=True)
    solution = solve(problem, settings.solver)
    if not solution.has_path:
        raise JointError(
            f"{settings.solver} found no policy ({solution.status}): {solution.message or 'no reason given'}"
        )
    return _told(market, beliefs, numbers, _chain(graph, solution.nodes), values, exact)


def _market(
    candidates: Sequence[Candidate],
    beliefs: Beliefs,
    queries: Mapping[Predicate, Mapping[str, int]],
    left: Mapping[str, int],
    settings: JointSettings,
) -> tuple[Market, list[int]]:
    """The candidates as the graph needs them, and which of those given they are."""
    rows = [*queries.values(), *(candidate.cost for candidate in candidates)]
    for row in rows:
        for kind, amount in row.items():
            if type(amount) is not int or amount < 0:
                raise ConfigError(f"cost in {kind}: expected a whole number >= 0, got {amount!r}")
    kinds = sorted({kind for row in rows for kind in row} | set(left))
    costs = {predicate: tuple(row.get(kind, 0) for kind in kinds) for predicate, row in queries.items()}
    # Bought evidence for what is certain says nothing new: it is needed only where commitment asks for evidence.
    sure = (
        frozenset() if settings.grounded else frozenset(p for p, chance in beliefs.mu.items() if chance in (0.0, 1.0))
    )
    offers = []
    for candidate in candidates:
        asks = frozenset(candidate.needs) - sure
        able = all(predicate in costs for predicate in asks)
        cost = tuple(candidate.cost.get(kind, 0) for kind in kinds)
        offers.append(Offer(dict(candidate.needs), asks if able else None, cost, candidate.value))
    numbers = list(range(len(offers)))
    caps, prices = [left.get(kind) for kind in kinds], [settings.prices.get(kind, 0.0) for kind in kinds]
    while True:
        chosen = [offers[i] for i in numbers]
        try:
            worlds = beliefs.worlds([offer.needs for offer in chosen], settings.worlds)
        except OverflowError:
            alone = {1 << k: beliefs.chance(offer.needs) for k, offer in enumerate(chosen)}
            last = Market(chosen, alone, costs, caps, prices, kinds, settings.grounded).order()[-1]
            del numbers[last]
            continue
        return Market(chosen, worlds, costs, caps, prices, kinds, settings.grounded), numbers


def _is_exact(market: Market, beliefs: Beliefs, ordered: bool = False) -> bool:
    """Whether the best chain is the best policy: see the module."""
    offers = market.offers
    if any(len(offer.needs) > 1 for offer in offers):
        return False
    if all(world & (world - 1) == 0 for world, p in market.worlds.items() if p > 0):
        different = len({q for offer in offers for q in offer.needs}) == len(offers)
        return not ordered or (different and len({offer.cost for offer in offers}) == 1)
    grouped = {predicate for group in beliefs.groups for predicate in group}
    needed = [predicate for offer in offers for predicate in offer.needs]
    nets = [offer.value - market.priced(offer.cost) for offer in offers]
    alike = max(nets) - min(nets) <= 1e-12
    return not ordered and alike and len(needed) == len(set(needed)) and not grouped & set(needed)


def _chain(graph: Graph, nodes: Sequence[int]) -> tuple[Visit, ...]:
    return tuple(graph.visits[node] for node in nodes if node in graph.visits)


def _told(
    market: Market,
    beliefs: Beliefs,
    numbers: Sequence[int],
    chain: tuple[Visit, ...],
    values: tuple[QueryValue, ...],
    exact: bool,
) -> JointDecision:
    """The decision with what the chain comes to, by the exact masses."""
    none = (0,) * len(market.kinds)
    failed, spent, asked = 0, none, frozenset[Predicate]()
    success, objective, expected, open_ = 0.0, 0.0, [0.0] * len(none), 1.0
    for i, verified in chain:
        if verified:
            asked |= market.offers[i].asks or frozenset()
            spent = market.spend(asked)
        mass, total = market.mass(i, failed), plus(spent, market.offers[i].cost)
        success += mass
        objective += mass * (market.offers[i].value - market.priced(total))
        # Committed on belief it is paid for whether it succeeds or not.
        paid = mass if verified else open_
        expected = [e + paid * amount for e, amount in zip(expected, total, strict=True)]
        open_ -= paid
        failed |= 1 << i
    expected = [e + max(0.0, open_) * amount for e, amount in zip(expected, spent, strict=True)]
    told = tuple((numbers[i], verified) for i, verified in chain)
    cost = dict(zip(market.kinds, expected, strict=True))
    if not chain:
        return JointDecision("nothing", None, None, told, 0.0, cost, 0.0, values, exact)
    first, verified = chain[0]
    asks = market.offers[first].asks
    if not verified or not asks:
        return JointDecision("commit", None, numbers[first], told, success, cost, objective, values, exact)

    def rank(predicate: Predicate) -> tuple[float, float, Predicate]:
        """First what is likeliest to end it for its price: the classic order of sequential tests."""
        holds = beliefs.mu[predicate] if market.offers[first].needs[predicate] else 1.0 - beliefs.mu[predicate]
        price = market.priced(market.queries[predicate])
        return (price / (1.0 - holds) if holds < 1.0 else float("inf")), price, predicate

    ask = min(asks, key=rank)
    return JointDecision("query", ask, numbers[first], told, success, cost, objective, values, exact)
