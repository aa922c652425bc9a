"""Random small graphs and plans with decimal costs, ties, circles and budgets that bind."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import networkx as nx

from tape.budget import Resources
from tape.choice.graph import PlanGraph

KINDS = {"usd": 6, "seconds": 3, "gold": 0}
"""Resource -> digits of a count; gold is declared nowhere."""


@dataclass(frozen=True)
class Edge:
    """An edge of a random graph; its action is unique."""

    tail: str
    head: str
    action: str
    reward: float
    cost: dict[str, Decimal]


@dataclass(frozen=True)
class Graph:
    """A random graph; edges are sorted, as networkx lists them."""

    nodes: dict[str, float]
    edges: list[Edge]
    start: str
    caps: dict[str, Decimal]
    goals: list[str]
    folded: list[list[Edge]] = field(default_factory=list)

    def networkx(self) -> Any:
        """As a networkx graph whose nodes declare the goals."""
        graph = nx.MultiDiGraph()
        for node, reward in self.nodes.items():
            graph.add_node(node, **({"reward": reward} if reward else {}), goal=node in self.goals)
        for edge in self.edges:
            graph.add_edge(edge.tail, edge.head, action=edge.action, cost=edge.cost, value=edge.reward)
        return graph

    def plan_graph(self) -> PlanGraph:
        """As a plan graph; without goals the folded plans have ends."""
        graph = PlanGraph()
        for node, reward in self.nodes.items():
            graph.set_reward(graph.add_state(node), reward)
        for edge in self.edges:
            graph.add_variant(edge.tail, edge.action, edge.head)
        for edge in self.edges:
            number = graph.find(edge.tail, edge.action, edge.head)
            counts = {kind: int(amount.scaleb(KINDS[kind])) for kind, amount in edge.cost.items()}
            graph.set_cost(number, Resources(counts))
            if edge.reward:
                graph.set_edge_reward(number, edge.reward)
        for goal in self.goals:
            graph.set_goal(goal)
        for plan in self.folded:
            graph.fold([plan[0].tail, *(edge.head for edge in plan)], [edge.action for edge in plan])
        return graph


def graph(seed: int) -> Graph:
    """A random graph: DAGs, parallel edges, circles that cost or are free, rewards of both signs, 0 to 3 budgets."""
    rng = random.Random(seed)
    n = rng.choice([1, 2, 3, 4, 4, 5, 5, 6])
    names = [f"n{i}" for i in range(n)]
    grid = rng.choice(
        [[0.0, 1.0], [0.0, 0.0, 0.5, 0.7], [-0.3, -0.1, 0.0, 0.1, 0.2, 0.3], [x / 100 for x in range(-99, 99)]]
    )
    acyclic = rng.random() < 0.5
    kinds = rng.sample(list(KINDS), rng.randint(0, 3))
    prices = {kind: [Decimal(p) for p in rng.choice([("1", "2", "3"), ("0.1", "0.2", "0.3")])] for kind in kinds}
    prices |= {"gold": [Decimal(p) for p in ("1", "2")]} if "gold" in kinds else {}
    free = rng.choice([0.0, 0.2, 0.6])
    ends = []
    for _ in range(rng.randint(n - 1, 9) if n > 1 or not acyclic else 0):
        tail, head = (rng.randrange(n), rng.randrange(n)) if not acyclic else sorted(rng.sample(range(n), 2))
        ends.append((tail, head))
    edges = []
    edge_rewards = rng.random() < 0.6
    for i, (tail, head) in enumerate(sorted(ends)):
        cost = {kind: rng.choice(prices[kind]) for kind in kinds if rng.random() >= free}
        edges.append(Edge(names[tail], names[head], f"a{i}", rng.choice(grid) if edge_rewards else 0.0, cost))
    start = names[0] if acyclic else rng.choice(names)
    some = [rng.sample(names, rng.randint(1, min(3, n))), [names[-1]]]
    goals = rng.choice(some)
    folded = []
    if edges and rng.random() < 0.4:
        goals = []
        for _ in range(rng.randint(1, 2)):
            if plan := walk(rng, edges, start):
                folded.append(plan)
    caps = {
        kind: sum(rng.choices(prices[kind], k=rng.randint(1, 4)), Decimal(0)) for kind in kinds if rng.random() < 0.9
    }
    caps = {kind: cap for kind, cap in caps.items() if any(kind in edge.cost for edge in edges)}
    return Graph({name: rng.choice(grid) for name in names}, edges, start, caps, goals, folded)


def walk(rng: random.Random, edges: list[Edge], start: str) -> list[Edge]:
    """A random walk from a node; empty where no edge leaves it."""
    taken: list[Edge] = []
    node = start
    for _ in range(rng.randint(1, 4)):
        out = [edge for edge in edges if edge.tail == node]
        if not out:
            break
        taken.append(rng.choice(out))
        node = taken[-1].head
    return taken


@dataclass(frozen=True)
class Lists:
    """Random plans as lists of steps."""

    plans: list[list[str]]
    cost: dict[str, dict[str, Decimal]]
    value: dict[str, float] | list[float] | None
    variants: dict[str, list[str]]
    caps: dict[str, Decimal]


def lists(seed: int) -> Lists:
    """Random plans, with steps that come again, plans that come again, and variants of steps."""
    rng = random.Random(seed)
    steps = ["a", "b", "c", "d"]
    kinds = rng.sample(list(KINDS), rng.randint(0, 3))
    prices = [Decimal(p) for p in rng.choice([("0", "1", "2", "3"), ("0", "0.1", "0.2", "0.7")])]
    cost = {step: {kind: rng.choice(prices) for kind in kinds if rng.random() < 0.8} for step in steps}
    plans = [[rng.choice(steps) for _ in range(rng.randint(0, 4))] for _ in range(rng.randint(1, 4))]
    grid = rng.choice([[0.0, 1.0], [0.1, 0.2, 0.3], [-0.5, 0.25, 1.0]])
    value: dict[str, float] | list[float] | None = None
    if rng.random() < 0.5:
        value = {step: rng.choice(grid) for step in steps if rng.random() < 0.9}
    elif rng.random() < 0.6:
        value = [rng.choice(grid) for _ in plans]
    variants = {step: rng.sample(steps, rng.randint(1, 3)) for step in steps if rng.random() < 0.3}
    caps = {kind: sum(rng.choices(prices, k=rng.randint(1, 4)), Decimal(0)) for kind in kinds if rng.random() < 0.9}
    caps = {kind: cap for kind, cap in caps.items() if any(kind in amounts for amounts in cost.values())}
    return Lists(plans, cost, value, variants, caps)


def apart(given: Any, seed: int) -> Any:
    """An instance with other values: of any magnitude from 1e-12 to 1e15, some of 15 digits, a few nearly equal."""
    rng, known = random.Random(seed), dict[float, float]()

    def other(value: float) -> float:
        if value and value not in known:
            digits = rng.choice([1, 1, 3, 9, 15])
            size = rng.uniform(1, 10) * 10.0 ** rng.choice([-12, -9, -3, 0, 0, 0, 6, 10, 14])
            near = [share + share * rng.choice([1e-10, -1e-12, 1e-13]) for share in known.values()]
            known[value] = float(f"{rng.choice([size, -size, *near]):.{digits}g}")
        return known.get(value, 0.0)

    if isinstance(given, Graph):
        nodes = {name: other(value) for name, value in given.nodes.items()}
        edges = [replace(edge, reward=other(edge.reward)) for edge in given.edges]
        of = {edge.action: edge for edge in edges}
        return replace(given, nodes=nodes, edges=edges, folded=[[of[e.action] for e in plan] for plan in given.folded])
    if isinstance(given.value, dict):
        return replace(given, value={step: other(value) for step, value in given.value.items()})
    return replace(given, value=given.value and [other(value) for value in given.value])
