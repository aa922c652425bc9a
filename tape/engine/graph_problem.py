"""The selection problem of a plan graph (TAPE eq. 6-11, 15-16), by either objective."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import solvers
from solvers import PathProblem
from tape.errors import GraphError

if TYPE_CHECKING:
    from tape.engine.graph import Edge, PlanGraph

Objective = Literal["visit", "stay", "save"]

MOST_SHOWN = 6
"""Steps of a circle in a message."""


def write_problem(
    graph: PlanGraph,
    start: str,
    remaining: Mapping[str, int],
    ends: Sequence[str],
    *,
    objective: Objective,
    horizon: int | None,
    discount: float,
    confidence: float,
    come_back: bool,
) -> tuple[PathProblem, tuple[int, ...]]:
    """What `PlanGraph.path_problem` gives, with the ends settled.

    Args:
        graph: The graph.
        start: Key of the node where paths begin.
        remaining: Counts left of each capped resource.
        ends: Keys of the nodes where a path may end.
        objective: "visit", "stay" or "save".
        horizon: The most moves; None, with "visit" only, for enough.
        discount: In (0, 1].
        confidence: Predictions made with less are left out.
        come_back: A path may end at the start too, but only after a move: the start gets one node more for that.

    Raises:
        GraphError: A cost is unknown, or no horizon is enough.
    """
    index = {node: i for i, node in enumerate(graph.nodes)}
    usable = [(edge, index[edge.target]) for edge in graph.usable_edges(confidence)]
    rewards = [graph.attributes(node)["reward"] for node in index]
    terminals = [index[node] for node in ends]
    if come_back:
        usable = [
            (edge, head)
            for edge, target in usable
            for head in ([target, len(index)] if edge.target == start else [target])
        ]
        terminals.append(len(index))
        rewards.append(graph.attributes(start)["reward"])
    kinds = sorted(remaining)
    edge_rewards = [edge.reward for edge, _ in usable]
    if objective == "save":  # what is on the way earns nothing: an end is worth its score less what it took
        ended = set(terminals)
        rewards = [reward if node in ended else 0.0 for node, reward in enumerate(rewards)]
    problem = PathProblem(
        n_nodes=len(rewards),
        edges=[(index[edge.source], head) for edge, head in usable],
        rewards=rewards,
        costs=[[_known(edge, kind) for kind in kinds] for edge, _ in usable],
        budgets=[remaining[kind] for kind in kinds],
        start=index[start],
        terminals=terminals,
        horizon=1 if horizon is None else horizon,
        discount=1.0 if objective == "save" else discount,
        resources=kinds,
        objective="stay" if objective == "stay" else "visit",
        edge_rewards=edge_rewards if objective != "stay" and any(edge_rewards) else (),
    )
    ids = tuple(edge.id for edge, _ in usable)
    return (problem if horizon is not None else replace(problem, horizon=_enough(graph, problem, ids))), ids


def ends_of(
    graph: PlanGraph, start: str, objective: str, goals: Iterable[str] | None, *, any_end: bool
) -> tuple[list[str], bool]:
    """Where a path may end, and whether it may come back to the start to end there.

    Raises:
        GraphError: The objective is none, a goal is no node, or there is nothing to end at.
    """
    if objective not in ("visit", "stay", "save"):
        raise GraphError(f'there is no objective {objective!r}; there are "visit", "stay" and "save"')
    if goals is not None and (any_end or objective != "visit"):
        raise GraphError('goals= goes with the objective "visit" alone, and not with any_end; else use set_goal')
    if any_end:
        return [node for node in graph.nodes if node != start], False
    if objective != "visit":
        return graph.terminals(start), False
    if goals is not None:
        named = list(dict.fromkeys(goals))
        for goal in named:
            graph.attributes(goal)
        if not named:
            raise GraphError("goals= names no node; name at least one")
        return named, False
    declared = [node for node in graph.nodes if graph.attributes(node)["goal"]]
    if declared:
        return declared, False
    ends = [node for node in graph.nodes if graph.attributes(node)["plan_end"]]
    if not ends:
        raise GraphError(
            "no path can end anywhere: the graph has neither a goal nor the end of a folded plan; declare a goal with "
            "graph.set_goal(node) or goals=[node] (a reward alone makes no goal)"
        )
    return [node for node in ends if node != start], start in ends


def _enough(graph: PlanGraph, problem: PathProblem, ids: Sequence[int]) -> int:
    try:
        return solvers.enough_moves(problem)
    except solvers.EndlessError as error:
        edges = [graph.edge(ids[edge]) for edge in error.circle]
        more = "... " if len(edges) > MOST_SHOWN else ""
        steps = "".join(f"{edge.source} --{edge.action}--> " for edge in edges[:MOST_SHOWN])
        circle = f"{steps}{more}{edges[0].source}"
        raise GraphError(f"the circle {circle} has no end: {error.reason}; say how many moves by horizon=") from error


def _known(edge: Edge, kind: str) -> int:
    count = edge.cost[kind]
    if count is None:
        raise GraphError(f"edge {edge.id} ({edge.action}): its cost in {kind} is unknown under a hard cap")
    return count
