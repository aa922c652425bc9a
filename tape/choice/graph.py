"""The plan graph: sampled plans folded by abstract state (TAPE section 3.1; docs/reference/architecture.md)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx

from solvers import PathProblem
from tape.budget import Resources
from tape.choice.graph_file import finite, node_link, read_file, read_node_link, write_file
from tape.choice.graph_problem import Edge, Objective, PathQuery, ends_of, write_problem
from tape.choice.pddl import write_pddl
from tape.errors import GraphError

GOAL_SCORE = 0.5
"""A node that the agent's scorer gives at least this score is a goal, and so a terminal node."""

HOPELESS = -GOAL_SCORE
"""A node with at most this score is hopeless: no path ends there, and no plan is sampled from it."""

UNKNOWN = "(unknown)"
"""Key of the node that stands for an unknown outcome."""


class PlanGraph:
    """A ``networkx.MultiDiGraph`` whose nodes are abstract states and whose edges are actions.

    Args:
        key: Identity of a state (``Domain.key``).
        render: A picture of a state (``Domain.render``); the key by default.

    Examples:
        >>> from tape import PlanGraph, Resources, select_in
        >>> graph = PlanGraph()
        >>> graph.fold(["home", "station", "office"], ["bus", "train"])
        ['home', 'station', 'office']
        >>> graph.fold(["home", "office"], ["taxi"])
        ['home', 'office']
        >>> for edge, price in zip(graph.edges(), ("2.50", "3", "24")):
        ...     graph.set_cost(edge.id, Resources.of(usd=price))
        >>> graph.set_goal("office")
        >>> select_in(graph, start="home", budget={"usd": "$6"}).plan
        ['bus', 'train']
    """

    def __init__(self, key: Callable[[Hashable], str] = str, render: Callable[[Hashable], str] | None = None) -> None:
        self._key = key
        self._render = render or key
        self.nx: Any = nx.MultiDiGraph()
        self._states: dict[str, Hashable] = {}
        self._ends: list[tuple[str, str]] = []
        self.plans: list[tuple[int, ...]] = []
        """The folded plans as paths, by edge id."""
        self.objective: Objective = "stay"
        """The agent's objective; "save" if the domain names a resource to save (`Domain.saves`), "expect" if outcomes
        are uncertain (`Domain.chances`), or tools differ in how likely they are right."""
        self.ends_anywhere = False
        """With the objective "expect": a path may end at any node that is not hopeless."""

    def copy(self) -> PlanGraph:
        """A copy that can be changed on its own; states are shared."""
        twin = PlanGraph(self._key, self._render)
        twin.nx = self.nx.copy()
        twin._states, twin._ends, twin.plans = dict(self._states), list(self._ends), list(self.plans)
        twin.objective, twin.ends_anywhere = self.objective, self.ends_anywhere
        return twin

    # --- building ---------------------------------------------------------------------------

    def add_state(self, state: Hashable) -> str:
        """Add a state if it is new; returns its key."""
        key = self._key(state)
        if key not in self.nx:
            self.nx.add_node(key, label=self._render(state), reward=0.0, goal=False, plan_end=False, support=0)
        self._states.setdefault(key, state)
        return key

    def fold(
        self, states: Sequence[Hashable], actions: Sequence[str], confidences: Sequence[float] | None = None
    ) -> list[str]:
        """Fold one plan: equal states merge, and the plan stays a path of the graph; returns the keys of its nodes.

        There is one state more than actions. ``confidences`` are those of the world model, 1 by default.
        """
        if len(states) != len(actions) + 1:
            raise GraphError(f"a plan of {len(actions)} actions needs {len(actions) + 1} states, got {len(states)}")
        path = [self.add_state(state) for state in states]
        self.support(dict.fromkeys(path))
        taken = [self._edge(a, action, b) for a, action, b in zip(path, actions, path[1:], strict=False)]
        for data, confidence in zip(taken, confidences or [1.0] * len(taken), strict=True):
            data["votes"] += 1
            data["confidence"] = confidence
        self.plans.append(tuple(data["id"] for data in taken))
        assert [self._ends[edge] for edge in self.plans[-1]] == [*pairwise(path)], "merged, the plan is still a path"
        self.nx.nodes[path[-1]]["plan_end"] = True
        return path

    def _find(self, source: str, action: str, target: str) -> dict[str, Any] | None:
        edges: Iterable[dict[str, Any]] = (data for *_, data in self.nx.out_edges(source, data=True))
        return next((data for data in edges if (data["action"], data["target"]) == (action, target)), None)

    def _edge(self, source: str, action: str, target: str) -> dict[str, Any]:
        """The edge with this source, action and target, added if it is new."""
        mapping = self._find(source, action, target)
        if mapping is not None:
            return mapping
        number = len(self._ends)
        self._ends.append((source, target))
        data = {"id": number, "action": action, "target": target, "votes": 0, "confidence": 1.0}
        self.nx.add_edge(source, target, key=number, **data, certified=False, refuted=False, cost={})
        return self._data(number)

    def add_variant(self, before: Hashable, action: str, after: Hashable) -> str:
        """Add an edge for a variant of an action that a plan takes; returns the key of its target."""
        source, target = self.add_state(before), self.add_state(after)
        self._edge(source, action, target)
        return target

    def support(self, nodes: Iterable[str]) -> None:
        """Count one more plan that passes through nodes."""
        for node in nodes:
            self._node(node)["support"] += 1

    def add_unknown(self, source: str, action: str, votes: int) -> Edge:
        """Add an edge of unknown outcome, for an action that the world model predicts to be invalid."""
        self._require(source)
        if UNKNOWN not in self.nx:
            self.nx.add_node(UNKNOWN, label="?", reward=0.0, goal=False, plan_end=False, support=0)
        data = self._edge(source, action, UNKNOWN)
        data["votes"] = votes
        return self.edge(data["id"])

    def certify(self, before: Hashable, action: str, after: Hashable) -> None:
        """Record an observed transition: its edge is certified, other edges of the same action are contradicted."""
        source, target = self.add_state(before), self.add_state(after)
        observed = self._edge(source, action, target)
        for _, _, data in self.nx.out_edges(source, data=True):
            if data["action"] == action:
                data["certified"] = data is observed
                data["confidence"] = 1.0 if data is observed else data["confidence"]
                data["refuted"] = data is not observed

    def contradict(self, before: Hashable, action: str, after: Hashable) -> None:
        """Record a prediction that turned out wrong: its edge is never selected again."""
        self._edge(self.add_state(before), action, self.add_state(after))["refuted"] = True

    # --- annotating -------------------------------------------------------------------------

    def set_reward(self, node: str, reward: float, *, goal: bool | None = None) -> None:
        """Set what arriving at a node earns, and whether it is a goal; a reward alone makes no goal."""
        self._node(node)["reward"] = finite(reward, f"the reward of node {node!r}")
        if goal is not None:
            self.set_goal(node, goal)

    def set_goal(self, node: str, goal: bool = True) -> None:
        """Declare whether a node is a goal, at which a path may end."""
        self._node(node)["goal"] = goal

    def set_edge_reward(self, edge: int, reward: float) -> None:
        """Set what taking an edge earns, in addition to the reward of its target."""
        self._data(edge)["reward"] = finite(reward, f"the reward of edge {edge}")

    def set_chance(self, edge: int, chance: float) -> None:
        """Set how likely an edge's action leads to its target."""
        self._data(edge)["chance"] = finite(chance, f"the chance of edge {edge}")

    def set_likelihood(self, node: str, chance: float) -> None:
        """Set how likely the assumptions on the way to a node are; of several ways the likeliest counts."""
        data = self._node(node)
        data["likelihood"] = max(chance, data.get("likelihood", 0.0))

    def no_end(self, node: str) -> None:
        """Mark that no path may end at a node although a plan does, because it achieves nothing there."""
        self._node(node)["plan_end"] = False

    def depths(self, start: str) -> dict[str, int]:
        """Fewest edges from a node to every node that can be reached from it."""
        self._require(start)
        return dict(nx.single_source_shortest_path_length(self.nx, start))

    def set_cost(self, edge: int, cost: Resources) -> None:
        """Set an edge's cost."""
        self._data(edge)["cost"] = dict(cost)

    def set_spread(self, edge: int, spread: Mapping[str, int]) -> None:
        """Set the standard deviations of an edge's cost, in counts, where its mean is the cost."""
        self._data(edge)["spread"] = dict(spread)

    def _data(self, edge: int) -> dict[str, Any]:
        if not 0 <= edge < len(self._ends):
            raise GraphError(f"there is no edge {edge}")
        values: dict[str, Any] = self.nx.edges[(*self._ends[edge], edge)]
        return values

    # --- reading ----------------------------------------------------------------------------

    @property
    def nodes(self) -> list[str]:
        """Keys of all nodes in order of appearance."""
        return list(self.nx.nodes)

    def edges(self) -> Iterator[Edge]:
        """All edges, by id."""
        return map(self.edge, range(len(self._ends)))

    def edge(self, number: int) -> Edge:
        """One edge by id."""
        data = self._data(number)
        source, target = self._ends[number]
        known = (data["votes"], data["confidence"], data["certified"], data["refuted"])
        more = (data.get("reward", 0.0), data.get("chance", 1.0))
        return Edge(number, source, data["action"], target, *known, Resources(data["cost"]), *more)

    def find(self, source: str, action: str, target: str) -> int:
        """The id of the edge with this source, action and target."""
        self._require(source)
        mapping = self._find(source, action, target)
        if mapping is None:
            raise GraphError(f"there is no edge {source!r} --{action}--> {target!r}")
        return int(mapping["id"])

    def state(self, node: str) -> Hashable:
        """The state of a node; the key itself in a graph read from a file."""
        self._require(node)
        return self._states.get(node, node)

    def attributes(self, node: str) -> Mapping[str, Any]:
        """``label, reward, goal, plan_end, support`` of a node; ``likelihood`` too if it depends on assumptions."""
        return self._node(node)

    def _node(self, node: str) -> dict[str, Any]:
        self._require(node)
        values: dict[str, Any] = self.nx.nodes[node]
        return values

    def _require(self, node: str) -> None:
        if node not in self.nx:
            raise GraphError(f"there is no node {node!r}")

    def usable_edges(self, confidence: float = 0.0) -> list[Edge]:
        """The one edge per state and action that may be selected.

        It is the certified edge, else the likeliest prediction, of these the one with most votes (on a tie the first
        sampled). Contradicted edges and predictions with less than ``confidence`` are left out.
        """
        best: dict[tuple[str, str], Edge] = {}
        for edge in self.edges():
            if edge.contradicted or edge.confidence < confidence:
                continue
            rival = best.get((edge.source, edge.action))
            order = (edge.certified, edge.chance, edge.votes)
            if rival is None or order > (rival.certified, rival.chance, rival.votes):
                best[edge.source, edge.action] = edge
        return sorted(best.values(), key=lambda e: e.id)

    def leads_to_goal(self, start: str) -> bool:
        """Whether a path of usable edges leads from a node to a goal, whatever it costs."""
        ahead = nx.DiGraph((edge.source, edge.target) for edge in self.usable_edges())
        return start in ahead and any(self._node(node)["goal"] for node in nx.descendants(ahead, start))

    def terminals(self, start: str) -> list[str]:
        """Where a path may end with the objective "stay": ends of plans, and goals; the start only if it is a goal.

        A plan that ends in a hopeless state gives no terminal: the best path to it would only spend the budget on
        arriving late.
        """
        return [
            node
            for node, data in self.nx.nodes(data=True)
            if data["goal"]
            or ((data["plan_end"] or self.ends_anywhere) and node != start and data["reward"] > HOPELESS)
        ]

    def path_problem(
        self,
        start: str,
        remaining: Mapping[str, int],
        horizon: int | None = None,
        discount: float = 1.0,
        *,
        objective: Objective = "visit",
        goals: Iterable[str] | None = None,
        any_end: bool = False,
        confidence: float = 0.0,
    ) -> tuple[PathProblem, tuple[int, ...]]:
        """Write the selection problem.

        "visit": a path earns the reward of each edge it takes and, at each visit, of each node it arrives at. It earns
        the start's reward only if it comes back there. It ends at a goal and may pass through goals; in a graph without
        goals it ends where a folded plan ends.

        "stay" (the objective of the agent and of the paper, TAPE eq. 6-11, 15-16): a path ends at a goal or at the end
        of a plan, and earns that node's reward again at every step up to the horizon. Edges earn nothing.

        "save": a path ends as with "stay". It earns the reward of its end once, and the reward of each edge, which is
        negative if the edge uses the resource to save.

        Args:
            start: Key of the current node.
            remaining: Counts left of each capped resource; these are the problem's resources, sorted by name.
            horizon: L, the most moves. Optional with "visit", which derives it (`solvers.enough_moves`).
            discount: In (0, 1].
            objective: "visit", "stay" or "save". "save" with ``any_end`` becomes "stay", so that a partial path goes as
                far as possible.
            goals: With "visit", the keys of the nodes to end at, instead of the declared goals.
            any_end: Let a path end at every node but the start (the best partial path).
            confidence: Leave out predictions with less confidence.

        Returns:
            The problem, and for each of its edges the id of the graph's edge. Nodes are numbered in the order of
            `nodes`. If plans end at the start itself, one more node stands for coming back there.

        Raises:
            GraphError: There is no such node, nothing to end at, a cost is unknown, or no horizon is given and none is
                enough because a free circle earns rewards.
        """
        return self.posed(PathQuery(start, remaining, horizon, discount, objective, goals, any_end), confidence)

    def posed(self, asked: PathQuery, confidence: float = 0.0) -> tuple[PathProblem, tuple[int, ...]]:
        """As :meth:`path_problem`."""
        self._require(asked.start)
        nodes = dict(self.nx.nodes(data=True))
        ends = ends_of(nodes, self.terminals(asked.start), asked)
        if asked.horizon is None and asked.objective != "visit":
            raise GraphError(f'the objective "{asked.objective}" needs a horizon')
        return write_problem(nodes, self.usable_edges(confidence), ends, asked)

    # --- files ------------------------------------------------------------------------------

    def to_pddl(self, start: str, budget: Mapping[str, int] | None = None) -> tuple[str, str]:
        """Write the selection problem in PDDL: nodes as atoms, edges as actions, caps in the goal, rewards as metric.

        Args:
            start: Key of the current node.
            budget: Counts of each capped resource.

        Returns:
            The texts of the domain and of the problem.

        Raises:
            GraphError: There is no such node, nothing to end at, or an unknown cost in a capped resource.

        Examples:
            >>> from tape import PlanGraph, Resources
            >>> graph = PlanGraph()
            >>> nodes = graph.fold(["home", "office"], ["taxi"])
            >>> graph.set_cost(0, Resources.of(usd=24))
            >>> print(graph.to_pddl("home", {"usd": 30_000_000})[0].splitlines()[5])
            (:action e0-taxi :parameters ()
        """
        self._require(start)
        nodes = dict(self.nx.nodes(data=True))
        ends = [node for node in nodes if nodes[node]["goal"]] or self.terminals(start)
        return write_pddl(nodes, self.usable_edges(), ends, start, budget or {})

    def to_dict(self, **extra: Any) -> dict[str, Any]:
        """Node-link form with a schema number; ``extra`` is kept beside it."""
        return node_link(self.nx, extra)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PlanGraph:
        """Read :meth:`to_dict`."""
        return cls._of(read_node_link(data, "graph"))

    def save(self, path: Path, **extra: Any) -> None:
        """Write JSON."""
        write_file(path, self.to_dict(**extra))

    @classmethod
    def load(cls, path: Path) -> PlanGraph:
        """Read JSON; a :class:`tape.errors.GraphError` names the file and what is wrong in it."""
        return cls._of(read_file(path))

    @classmethod
    def _of(cls, read: tuple[Any, list[tuple[str, str]]]) -> PlanGraph:
        graph = cls()
        graph.nx, graph._ends = read
        return graph
