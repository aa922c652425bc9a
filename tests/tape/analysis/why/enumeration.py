"""The rule of selection by enumeration: small plan graphs, every path of them, every budget."""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

from tape.analysis.why.selections import SelectionRule, stages_of
from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tape.choice.graph_problem import Edge
from tape.engine.cost import most_moves

KINDS = ("steps", "usd")

MOST = 4
"""Most that an action costs of either."""


def random_case(seed: int) -> tuple[PlanGraph, SelectionRule]:
    """A small graph with rewards that floats hold exactly, and what was left on it."""
    rng = random.Random(seed)
    acyclic = rng.random() < 0.6
    size = rng.randint(3, 6)
    graph = PlanGraph()
    nodes = [graph.add_state(f"n{i}") for i in range(size)]
    for i in range(size - 1):
        for action in range(rng.randint(1, 4 if i == 0 else 2)):
            ahead = range(i + 1, size)
            target = rng.choice(ahead if acyclic or rng.random() < 0.7 else range(size))
            if target == i:
                continue
            graph.fold([nodes[i], nodes[target]], [f"a{i}{action}"], [rng.choice([1.0, 1.0, 0.7, 0.3])])
    for node in nodes:  # what is worth more costs more, mostly
        graph.set_reward(node, rng.choice([-1.0, 0.0, 0.25, 0.5, 0.75, 1.0]), goal=rng.random() < 0.5)
        if rng.random() < 0.4:
            graph.no_end(node)
    for edge in [*graph.edges()]:
        worth = max(0, round(3 * graph.attributes(edge.target)["reward"]) + rng.randint(-1, 1))
        dear = {"steps": rng.choice([0, 1, 1, worth]), "usd": min(MOST, worth)}
        graph.set_cost(edge.id, Resources(dear))
    if rng.random() < 0.3 and any(graph.edges()):
        edge = rng.choice([*graph.edges()])
        graph.contradict(edge.source, edge.action, edge.target)
    left = {"steps": rng.randint(0, 4), "usd": rng.randint(0, 5)}
    stages = stages_of(graph, cautious=rng.random() < 0.5, partial=rng.random() < 0.4)
    patience = rng.choice([None, 1, 7] if acyclic else [None, 1])
    horizon = rng.randint(1, 4) if patience is None else patience * max(1, most_moves(graph, left))
    return graph, SelectionRule(nodes[0], left, stages, horizon, patience, rng.choice([1.0, 0.5]))


@dataclass(frozen=True)
class Found:
    """A path by enumeration: its stage, worth, and edges of the graph."""

    stage: int
    worth: float
    path: tuple[int, ...]


class Enumeration:
    """Answers of a rule on a graph, by listing all paths."""

    def __init__(self, graph: PlanGraph, rule: SelectionRule) -> None:
        self.graph, self.rule = graph, rule
        self._paths: dict[tuple[int, int], list[tuple[int, ...]]] = {}
        self._worths: dict[tuple[tuple[int, ...], int], float] = {}
        self._targets = {edge.id: edge.target for edge in graph.edges()}
        self._costs = {edge.id: edge.cost for edge in graph.edges()}

    def horizon(self, left: Mapping[str, int]) -> int:
        """L, by the engine's own count of moves."""
        if self.rule.patience is None:
            return self.rule.horizon
        return self.rule.patience * max(1, most_moves(self.graph, left))

    def worth(self, path: tuple[int, ...], horizon: int) -> float:
        """The objective: the rewards on the way, and those of staying at the end."""
        if (path, horizon) not in self._worths:
            nodes = [self._targets[number] for number in path]
            end = nodes[-1] if nodes else self.rule.start
            visited = [*nodes, *[end] * (horizon - len(nodes))]
            self._worths[path, horizon] = math.fsum(
                self.rule.discount**step * self.graph.attributes(node)["reward"] for step, node in enumerate(visited)
            )
        return self._worths[path, horizon]

    def cost(self, path: tuple[int, ...], kind: str) -> int:
        """What a path needs."""
        return sum(self._costs[number][kind] or 0 for number in path)

    def paths(self, number: int, horizon: int) -> list[tuple[int, ...]]:
        """All paths of a stage, whatever they cost."""
        if (number, horizon) not in self._paths:
            stage = self.rule.stages[number]
            usable: dict[str, list[Edge]] = {}
            for edge in self.graph.usable_edges(stage.confidence):
                usable.setdefault(edge.source, []).append(edge)
            start = self.rule.start
            ends = set(self.graph.nodes) - {start} if stage.any_end else set(self.graph.terminals(start))
            numbers: list[tuple[int, ...]] = []
            layer: list[tuple[tuple[int, ...], str]] = [((), self.rule.start)]
            for _ in range(horizon + 1):
                numbers += [path for path, node in layer if node in ends]
                layer = [((*path, edge.id), edge.target) for path, node in layer for edge in usable.get(node, ())]
                if not layer:
                    break
            self._paths[number, horizon] = numbers
        return self._paths[number, horizon]

    def best(self, number: int, left: Mapping[str, int], horizon: int) -> Found | None:
        """The best path of a stage: of the greatest worth, with the fewest moves, the first by its edges."""
        fitting = [
            path
            for path in self.paths(number, horizon)
            if len(path) <= horizon and all(self.cost(path, kind) <= count for kind, count in left.items())
        ]
        if not fitting:
            return None
        path = min(fitting, key=lambda path: (-self.worth(path, horizon), len(path), path))
        return Found(number, self.worth(path, horizon), path)

    def pick(self, left: Mapping[str, int], horizon: int | None = None) -> Found | None:
        """What the rule picks."""
        horizon = self.horizon(left) if horizon is None else horizon
        for number, stage in enumerate(self.rule.stages):
            best = self.best(number, left, horizon)
            if best is None:
                continue
            at_goal = bool(best.path) and self.graph.attributes(self.graph.edge(best.path[-1]).target)["goal"]
            if at_goal or not stage.goal_only:
                return best
        return None

    def better(self, result: Found | None, than: Found, left: Mapping[str, int]) -> bool:
        """Whether a path picked under larger budgets is better."""
        if result is None or result.stage != than.stage:
            return result is not None and result.stage < than.stage
        return result.worth > self.worth(than.path, self.horizon(left))

    def improves(self, than: Found, counts: Mapping[str, int]) -> bool:
        """Whether the rule picks something better with other counts of some budgets."""
        left = {**self.rule.left, **counts}
        return self.better(self.pick(left), than, left)

    def ample(self) -> int:
        """So much of a resource that more changes nothing: every walk can be paid, and the horizon is as long as ever.

        Paths without circles have fewer moves than there are nodes; where there are circles, no path is longer either.
        """
        fixed = self.rule.horizon if self.rule.patience is None else 0
        return MOST * max(len(self.graph.nodes), fixed)
