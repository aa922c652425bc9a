"""The selection problem of a plan graph (TAPE eq. 6-11, 15-16): nodes and edges in, a `solvers.PathProblem` out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import solvers
from solvers import PathProblem
from tape.budget import Resources
from tape.errors import GraphError

Objective = Literal["visit", "stay", "save", "expect"]

Nodes: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The attributes of nodes by their keys, in order of appearance."""

LEAST = 1e-6
"""The least value and chance that count with the objective "expect"."""

A_STEP = 1e-3
"""The share of its expected value that a path loses with each step, so that no path holds a circle."""

MOST_SHOWN = 6
"""Steps of a circle in a message."""


@dataclass(frozen=True)
class Edge:
    """An edge of the plan graph.

    Attributes:
        id: Number in order of first appearance.
        source: Key of the state before.
        action: The action.
        target: Key of the predicted or observed state after.
        votes: The number of sampled plans that take it.
        confidence: Probability that the world model gives its prediction; 1 once it was observed.
        certified: It was observed.
        contradicted: It was ruled out, for instance because another outcome was observed.
        cost: Resources of taking it: the worst case, or the mean (``costs="expected"``).
        reward: What taking it earns, with the objectives "visit" and "save".
        chance: Probability that its action leads there, with the objective "expect".
    """

    id: int
    source: str
    action: str
    target: str
    votes: int
    confidence: float
    certified: bool
    contradicted: bool
    cost: Resources
    reward: float = 0.0
    chance: float = 1.0


@dataclass(frozen=True)
class PathQuery:
    """What a path is asked for; the attributes are the arguments of `PlanGraph.path_problem`."""

    start: str
    remaining: Mapping[str, int]
    horizon: int | None = None
    discount: float = 1.0
    objective: Objective = "visit"
    goals: Iterable[str] | None = None
    any_end: bool = False


def write_problem(
    nodes: Nodes, edges: Sequence[Edge], ends: tuple[Sequence[str], bool], asked: PathQuery
) -> tuple[PathProblem, tuple[int, ...]]:
    """The result of `PlanGraph.path_problem`, from the usable edges and the result of :func:`ends_of`.

    If a path may come back to the start to end there, one more node stands for that; with the objective "expect" one
    more stands for ending at each terminal, since a path goes on through others.
    """
    start, horizon = asked.start, asked.horizon
    # A partial path is to go as far as possible, whatever it saves.
    objective = "stay" if asked.any_end and asked.objective == "save" else asked.objective
    index = {node: i for i, node in enumerate(nodes)}
    moves = [(edge, index[edge.target]) for edge in edges]
    rewards = [attributes["reward"] for attributes in nodes.values()]
    named, come_back = ends
    terminals = [index[node] for node in named]
    if come_back:
        moves = [(edge, head) for edge, i in moves for head in ([i, len(index)] if edge.target == start else [i])]
        terminals.append(len(index))
        rewards.append(nodes[start]["reward"])
    edge_rewards = [edge.reward for edge, _ in moves]
    if objective == "expect":  # the logarithm of the value of the end, at a twin of its node, times all chances
        twins = {end: len(index) + i for i, end in enumerate(terminals)}
        rewards = [0.0] * len(index) + [math.log(max(rewards[end], LEAST)) for end in terminals]
        moves = [(edge, head) for edge, i in moves for head in dict.fromkeys((i, twins.get(i, i)))]
        edge_rewards = [math.log(max(edge.chance, LEAST)) - A_STEP + edge.reward for edge, _ in moves]
        terminals = [*twins.values()]
    if objective == "save":  # nodes on the way earn nothing: a path earns the score of its end less what it used
        ended = set(terminals)
        rewards = [reward if node in ended else 0.0 for node, reward in enumerate(rewards)]
    kinds = sorted(asked.remaining)
    problem = PathProblem(
        n_nodes=len(rewards),
        edges=[(index[edge.source], head) for edge, head in moves],
        rewards=rewards,
        costs=[[_known_cost(edge, kind) for kind in kinds] for edge, _ in moves],
        budgets=[asked.remaining[kind] for kind in kinds],
        start=index[start],
        terminals=terminals,
        horizon=1 if horizon is None else horizon,
        discount=1.0 if objective in ("save", "expect") else asked.discount,
        resources=kinds,
        objective="stay" if objective == "stay" else "visit",
        edge_rewards=edge_rewards if objective != "stay" and any(edge_rewards) else (),
    )
    if horizon is None:
        problem = replace(problem, horizon=_enough_moves(problem, [edge for edge, _ in moves]))
    return problem, tuple(edge.id for edge, _ in moves)


def ends_of(nodes: Nodes, terminals: Sequence[str], asked: PathQuery) -> tuple[Sequence[str], bool]:
    """Where a path may end, and whether it may come back to the start to end there.

    ``terminals`` are the ends with the objective "stay".
    """
    start, objective, goals = asked.start, asked.objective, asked.goals
    if objective not in get_args(Objective):
        raise GraphError(f"there is no objective {objective!r}; there are {', '.join(get_args(Objective))}")
    if goals is not None and (asked.any_end or objective != "visit"):
        raise GraphError('goals= goes with the objective "visit" alone, and not with any_end; else use set_goal')
    if asked.any_end:
        return [node for node in nodes if node != start], False
    if objective != "visit":
        return terminals, False
    if goals is not None:
        return _named(nodes, list(dict.fromkeys(goals))), False
    declared = [node for node, attributes in nodes.items() if attributes["goal"]]
    if declared:
        return declared, False
    plan_ends = [node for node, attributes in nodes.items() if attributes["plan_end"]]
    if not plan_ends:
        raise GraphError(
            "no path can end anywhere: the graph has neither a goal nor the end of a folded plan; declare a goal with "
            "graph.set_goal(node) or goals=[node] (a reward alone makes no goal)"
        )
    return [node for node in plan_ends if node != start], start in plan_ends


def _named(nodes: Nodes, goals: list[str]) -> list[str]:
    """The goals, after a check that they are nodes."""
    if not goals:
        raise GraphError("goals= names no node; name at least one")
    for goal in goals:
        if goal not in nodes:
            raise GraphError(f"there is no node {goal!r}")
    return goals


def _enough_moves(problem: PathProblem, moves: Sequence[Edge]) -> int:
    """A horizon that admits every path that may be best."""
    try:
        return solvers.enough_moves(problem)
    except solvers.EndlessError as error:
        edges = [moves[edge] for edge in error.circle]
        more = "... " if len(edges) > MOST_SHOWN else ""
        steps = "".join(f"{edge.source} --{edge.action}--> " for edge in edges[:MOST_SHOWN])
        circle = f"{steps}{more}{edges[0].source}"
        raise GraphError(
            f"the circle {circle} has no end: {error.reason}; give the number of moves as horizon="
        ) from error


def _known_cost(edge: Edge, kind: str) -> int:
    count = edge.cost[kind]
    if count is None:
        raise GraphError(f"edge {edge.id} ({edge.action}): its cost in {kind} is unknown under a hard cap")
    return count
