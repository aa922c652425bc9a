"""Choose path and queries together, under the same budgets and by the same solvers (beyond AEC: its section 6) [ours].

The paper queries a predicate if its uncertainty passes a threshold, whatever the query costs and whether it matters.
Here the next decision is the first one of the policy with the highest expected value: a success of candidate i earns
its value less a price for everything spent until then, on queries and execution; a failure earns nothing.

The policies are chains (:mod:`tape.aec.joint_graph`): verify one candidate after the other and commit the first that
holds. A failed candidate is charged for all of its queries; a query shared by candidates is charged once. The best
chain is the best of *all* policies (:attr:`JointDecision.exact`) if every candidate has at most one unknown
precondition, there are at most ``every_order_up_to`` candidates, and

- the candidates exclude each other (an object that is in one of several places): their masses add up; or
- they depend on different, independent predicates and have equal values, execution included: the first that holds is
  then as good as any, and a failure carries no information about the others.

With more candidates it is exact if they exclude each other and cost the same to execute. Otherwise the result is a
feasible policy with a lower bound of its value. These are left out: policies that go on after a success, that query
one predicate to learn of another, or that interleave the queries of candidates with several unknown preconditions; and
the queries saved if such a candidate fails at its first one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from solvers import solve
from tape.aec.joint_graph import Market, Offer, Visit, every_order, one_order, plus
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
        needs: Its unknown preconditions with the required values; grounded ones are left out.
        cost: Cost of executing it, in counts by kind.
        value: Value of its success, before prices; 1 for the goal itself.
    """

    needs: Mapping[Predicate, bool]
    cost: Mapping[str, int] = field(default_factory=dict)
    value: float = 1.0


@dataclass(frozen=True)
class JointSettings:
    """Settings of the joint choice.

    Attributes:
        prices: Price of one count of each kind, against a success of 1; kinds without a price are free up to their
            budget.
        grounded: Whether a commitment needs evidence for all preconditions, however certain a belief is.
        solver: Name of a solver.
        every_order_up_to: Most candidates for which the graph holds every order.
        width: Most states kept at each place, with more candidates.
        worlds: Most sets of candidates that may hold together; with more, the candidates that are least likely for
            their price are left out.

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
    """The next decision and its reasons.

    Attributes:
        kind: ``query`` a predicate, ``commit`` a candidate, or ``nothing`` where no affordable action has a value.
        predicate: The predicate to query, if any.
        candidate: Index of the candidate to commit, or of the one that the query verifies.
        chain: The whole policy: candidates in order, each verified or committed on belief.
        success: Probability that the policy commits a candidate that holds.
        cost: Expected counts by kind, execution included; an upper bound if candidates need several predicates.
        objective: Lower bound of the policy's expected value.
        values: The value of information of every query.
        exact: Whether no policy at all has a higher expected value.
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
        queries: Worst-case cost of each query, in counts by kind; a missing predicate cannot be queried.
        left: What is left of the budgets; missing kinds are not limited.
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
    chain = tuple(graph.visits[node] for node in solution.nodes if node in graph.visits)
    return _decision(market, beliefs, numbers, chain, values, exact)


def _market(
    candidates: Sequence[Candidate],
    beliefs: Beliefs,
    queries: Mapping[Predicate, Mapping[str, int]],
    left: Mapping[str, int],
    settings: JointSettings,
) -> tuple[Market, list[int]]:
    """The candidates as the graph needs them, and their indices."""
    rows = [*queries.values(), *(candidate.cost for candidate in candidates)]
    for row in rows:
        for kind, amount in row.items():
            if type(amount) is not int or amount < 0:
                raise ConfigError(f"cost in {kind}: expected a whole number >= 0, got {amount!r}")
    kinds = sorted({kind for row in rows for kind in row} | set(left))
    costs = {predicate: tuple(row.get(kind, 0) for kind in kinds) for predicate, row in queries.items()}
    # Certain values need a query only if a commitment needs evidence.
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
    """Whether the best chain is the best policy (see the module)."""
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


def _decision(
    market: Market,
    beliefs: Beliefs,
    numbers: Sequence[int],
    chain: tuple[Visit, ...],
    values: tuple[QueryValue, ...],
    exact: bool,
) -> JointDecision:
    """The decision, with its value and cost by the exact masses."""
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
        # A commitment on belief costs the same whether it succeeds or not.
        paid = mass if verified else open_
        expected = [e + paid * amount for e, amount in zip(expected, total, strict=True)]
        open_ -= paid
        failed |= 1 << i
    expected = [e + max(0.0, open_) * amount for e, amount in zip(expected, spent, strict=True)]
    policy = tuple((numbers[i], verified) for i, verified in chain)
    cost = dict(zip(market.kinds, expected, strict=True))
    if not chain:
        return JointDecision("nothing", None, None, policy, 0.0, cost, 0.0, values, exact)
    first, verified = chain[0]
    asks = market.offers[first].asks
    if not verified or not asks:
        return JointDecision("commit", None, numbers[first], policy, success, cost, objective, values, exact)

    def rank(predicate: Predicate) -> tuple[float, float, Predicate]:
        """Failure probability per price: the classic order of sequential tests."""
        holds = beliefs.mu[predicate] if market.offers[first].needs[predicate] else 1.0 - beliefs.mu[predicate]
        price = market.priced(market.queries[predicate])
        return (price / (1.0 - holds) if holds < 1.0 else float("inf")), price, predicate

    ask = min(asks, key=rank)
    return JointDecision("query", ask, numbers[first], policy, success, cost, objective, values, exact)
