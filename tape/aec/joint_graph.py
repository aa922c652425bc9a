"""The joint choice of path and queries as a path problem on a graph without cycles [ours].

A policy here is a chain: verify one candidate after the other and commit the first one that holds. Its nodes are hubs,
where all candidates verified so far have failed, and visits, where the next one is verified. A visit's reward is the
probability that its candidate is the one that holds, times its value at that point. With few candidates, a hub is the
set of those that failed, and the graph holds every order. With many, the candidates come in one good order, each is
verified or skipped, and a hub is a place in the order with the amounts spent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from solvers import PathProblem
from tape.aec.joint_worlds import Worlds
from tape.protocols.predicates import Assignment, Predicate

Amounts = tuple[int, ...]
Visit = tuple[int, bool]
"""A candidate and whether it is verified; otherwise it is committed on belief, which ends the chain."""


@dataclass(frozen=True)
class Offer:
    """A candidate as the graph needs it.

    Attributes:
        needs: Its unknown preconditions.
        asks: Those that have to be queried to verify it; None if one of them cannot be.
        cost: Cost of execution, by kind.
        value: Value of its success.
    """

    needs: Assignment
    asks: frozenset[Predicate] | None
    cost: Amounts
    value: float


@dataclass(frozen=True)
class Market:
    """The input of the graph, in tuples over the kinds of resources.

    Attributes:
        offers: The candidates.
        worlds: Probabilities of the sets of candidates that hold together.
        queries: Cost of each query.
        caps: What is left of each kind; None: not limited.
        prices: Price of one count of each kind.
        kinds: The names of the kinds.
        grounded: Whether only verified candidates may be committed.
    """

    offers: Sequence[Offer]
    worlds: Worlds
    queries: Mapping[Predicate, Amounts]
    caps: Sequence[int | None]
    prices: Sequence[float]
    kinds: Sequence[str]
    grounded: bool

    def priced(self, amounts: Amounts) -> float:
        """The total price of amounts."""
        return sum(amount * price for amount, price in zip(amounts, self.prices, strict=True))

    def spend(self, asked: frozenset[Predicate]) -> Amounts:
        """The cost of a set of queries."""
        return plus((0,) * len(self.kinds), *(self.queries[predicate] for predicate in sorted(asked)))

    def affords(self, amounts: Amounts) -> bool:
        """Whether amounts keep within the caps."""
        return all(cap is None or amount <= cap for amount, cap in zip(amounts, self.caps, strict=True))

    def mass(self, candidate: int, failed: int) -> float:
        """The probability that a candidate holds and none of a set (a bit mask) does."""
        bit = 1 << candidate
        return sum(p for world, p in self.worlds.items() if world & bit and not world & failed)

    def net_value(self, candidate: int, spent: Amounts) -> float | None:
        """The value of its success after some spending; None if it can no longer be executed."""
        offer = self.offers[candidate]
        total = plus(spent, offer.cost)
        return offer.value - self.priced(total) if self.affords(total) else None

    def order(self) -> list[int]:
        """Candidates by likelihood per price of verification, best first: optimal where only the order matters."""

        def rank(i: int) -> tuple[float, int]:
            asks = self.offers[i].asks
            price = float("inf") if asks is None else self.priced(self.spend(asks))
            chance = self.mass(i, 0)
            return (price / chance if chance > 0 else float("inf")), i

        return sorted(range(len(self.offers)), key=rank)


def plus(*rows: Amounts) -> Amounts:
    """Add amounts kind by kind."""
    return tuple(map(sum, zip(*rows, strict=True)))


@dataclass
class Graph:
    """A path problem in the making; node 0 is the end, without a reward."""

    market: Market
    rewards: list[float] = field(default_factory=lambda: [0.0])
    visits: dict[int, Visit] = field(default_factory=dict)
    edges: list[tuple[int, int]] = field(default_factory=list)
    costs: list[Amounts] = field(default_factory=list)

    def hub(self) -> int:
        """Add a place where a policy may stop."""
        self.rewards.append(0.0)
        self.join(len(self.rewards) - 1, 0)
        return len(self.rewards) - 1

    def join(self, tail: int, head: int, cost: Amounts | None = None) -> None:
        """Add an edge."""
        self.edges.append((tail, head))
        self.costs.append(cost or (0,) * len(self.market.kinds))

    def visit(self, tail: int, head: int, visit: Visit, reward: float, cost: Amounts) -> None:
        """Add the visit of a candidate, between a hub and what follows if the candidate fails."""
        node = len(self.rewards)
        self.rewards.append(reward)
        self.visits[node] = visit
        self.join(tail, node, cost)
        self.join(node, head)

    def believe(self, tail: int, candidate: int, mass: float, spent: Amounts) -> None:
        """Add a commitment without verification, if that is allowed and has a value."""
        value = self.market.net_value(candidate, spent)
        if not self.market.grounded and value is not None and mass * value > 0:
            self.visit(tail, 0, (candidate, False), mass * value, self.market.offers[candidate].cost)

    def problem(self, start: int, horizon: int) -> PathProblem:
        """The problem, with the caps of the limited kinds as its budgets."""
        limited = [k for k, cap in enumerate(self.market.caps) if cap is not None]
        return PathProblem(
            n_nodes=len(self.rewards),
            edges=self.edges,
            rewards=self.rewards,
            costs=[tuple(row[k] for k in limited) for row in self.costs],
            budgets=[cap for cap in self.market.caps if cap is not None],
            start=start,
            terminals=(0,),
            horizon=horizon,
            resources=[self.market.kinds[k] for k in limited],
        )


def every_order(market: Market) -> tuple[Graph, PathProblem]:
    """All orders of all subsets: n 2^(n-1) visits at most."""
    graph, n = Graph(market), len(market.offers)
    asked: dict[int, frozenset[Predicate]] = {0: frozenset()}
    hubs = {0: graph.hub()}
    waiting = [0]
    for failed in waiting:  # grows during the loop; a set comes after all of its subsets
        spent = market.spend(asked[failed])
        for i in range(n):
            if failed >> i & 1:
                continue
            mass = market.mass(i, failed)
            graph.believe(hubs[failed], i, mass, spent)
            asks = market.offers[i].asks
            if asks is None:
                continue
            after = asked[failed] | asks
            value = market.net_value(i, total := market.spend(after))
            if value is None or mass * value <= 0:
                continue
            union = failed | 1 << i
            if union not in hubs:
                hubs[union], asked[union] = graph.hub(), after
                waiting.append(union)
            extra = tuple(a - b for a, b in zip(total, spent, strict=True))
            graph.visit(hubs[failed], hubs[union], (i, True), mass * value, extra)
    return graph, graph.problem(hubs[0], 2 * n + 1)


def one_order(market: Market, width: int) -> tuple[Graph, PathProblem, bool]:
    """Each candidate in :meth:`Market.order` verified or skipped.

    A visit's mass assumes that all candidates before it fail, skipped ones too. It is a lower bound: too low if a
    skipped candidate can hold together with this one.

    Args:
        market: The candidates and their costs.
        width: Most hubs at each place; the cheapest ones are kept.

    Returns:
        The graph, its problem, and whether the width cut nothing off.
    """
    graph, order = Graph(market), market.order()
    often = [q for offer in market.offers for q in offer.asks or ()]
    shared = frozenset(q for q in often if often.count(q) > 1)
    none: Amounts = (0,) * len(market.kinds)
    start = graph.hub()
    layer: dict[tuple[Amounts, frozenset[Predicate]], int] = {(none, frozenset()): start}
    before, whole = 0, True
    for i in order:
        mass = market.mass(i, before)
        steps = list(_steps(market, i, mass, layer, shared))
        states = {(spent, asked) for spent, asked in layer} | {state for _, _, state, _ in steps}
        kept = sorted(states, key=lambda s: (market.priced(s[0]), s[0], sorted(s[1])))[:width]
        whole = whole and len(kept) == len(states)
        later = {state: graph.hub() for state in kept}
        for state, hub in layer.items():
            graph.believe(hub, i, mass, state[0])
            if state in later:
                graph.join(hub, later[state])
        for hub, extra, state, reward in steps:
            graph.visit(hub, later.get(state, 0), (i, True), reward, extra)
        layer, before = later, before | 1 << i
    return graph, graph.problem(start, 2 * len(order) + 1), whole


def _steps(
    market: Market,
    i: int,
    mass: float,
    layer: Mapping[tuple[Amounts, frozenset[Predicate]], int],
    shared: frozenset[Predicate],
) -> Iterator[tuple[int, Amounts, tuple[Amounts, frozenset[Predicate]], float]]:
    """Verifications of a candidate that have a value, each as hub, cost, next state and reward."""
    asks = market.offers[i].asks
    if asks is None:
        return
    for (spent, asked), hub in layer.items():
        extra = market.spend(asks - asked)
        total = plus(spent, extra)
        value = market.net_value(i, total)
        if value is not None and mass * value > 0:
            yield hub, extra, (total, asked | (asks & shared)), mass * value
