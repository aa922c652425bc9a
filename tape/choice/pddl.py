"""A plan graph as a planning problem in PDDL, and a path in it as a plan, for planners and validators of others.

Every node is an atom and every edge an action. What actions use is a number for each resource, which the goal keeps
within its cap; rewards add up in ``(value)``, which the metric maximizes. This is the objective "visit" without a
discount: PDDL has no horizon.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from tape.budget import kind_of
from tape.choice.graph_problem import Edge, Nodes
from tape.errors import GraphError
from tape.files import replace_file

_OTHER = re.compile(r"[^a-z0-9]+")
_STEP = re.compile(r"\(\s*e(\d+)\b[^()]*\)")


def write_pddl(
    nodes: Nodes, edges: Sequence[Edge], ends: Sequence[str], start: str, caps: Mapping[str, int]
) -> tuple[str, str]:
    """The domain and the problem of a graph; see :meth:`tape.choice.graph.PlanGraph.to_pddl`."""
    if not ends:
        raise GraphError("the graph has no goal and no end of a plan, so there is no goal to write in PDDL")
    numbers = {node: f"at-{i}" for i, node in enumerate(nodes)}
    for edge in edges:
        if missing := [kind for kind in caps if edge.cost[kind] is None]:
            raise GraphError(f"{edge.action!r}: its cost in {missing[0]} is unknown, so no problem in PDDL says it")
    kinds = sorted({kind for edge in edges for kind, count in edge.cost.items() if count is not None} | {*caps})
    used = {kind: f"used-{number}-{_word(kind)}".rstrip("-") for number, kind in enumerate(kinds)}
    lines = ["(define (domain plan-graph)", "(:requirements :strips :disjunctive-preconditions :numeric-fluents)"]
    lines += [f"(:predicates {' '.join(f'({name})' for name in numbers.values())})"]
    lines += [f"(:functions (value) {' '.join(f'({name})' for name in used.values())})"]
    lines += [_action(nodes, edge, numbers, used) for edge in edges]
    goals = [f"({numbers[node]})" for node in ends]
    reached = goals[0] if len(goals) == 1 else f"(or {' '.join(goals)})"
    within = [f"(<= ({used[kind]}) {_amount(kind, cap)})" for kind, cap in caps.items()]
    init = [f"({numbers[start]})", "(= (value) 0)", *(f"(= ({name}) 0)" for name in used.values())]
    problem = ["(define (problem plan)", "(:domain plan-graph)", f"(:init {' '.join(init)})"]
    problem += [f"(:goal (and {' '.join([reached, *within])}))", "(:metric maximize (value))"]
    return "\n".join([*lines, ")", ""]), "\n".join([*problem, ")", ""])


def _action(nodes: Nodes, edge: Edge, numbers: Mapping[str, str], used: Mapping[str, str]) -> str:
    before, after = numbers[edge.source], numbers[edge.target]
    effects = [f"(not ({before}))", f"({after})"] if before != after else [f"({after})"]
    counts = {kind: edge.cost[kind] or 0 for kind in used}
    effects += [f"(increase ({used[kind]}) {_amount(kind, count)})" for kind, count in counts.items() if count]
    gain = Decimal(repr(nodes[edge.target]["reward"])) + Decimal(repr(edge.reward))
    if gain:
        effects.append(f"({'increase' if gain > 0 else 'decrease'} (value) {abs(gain):f})")
    comment = edge.action.encode("unicode_escape").decode()
    return (
        f"; {comment}\n(:action {_name(edge)} :parameters ()\n :precondition (and ({before}))\n"
        f" :effect (and {' '.join(effects)}))"
    )


def write_plan(edges: Sequence[Edge]) -> str:
    """A path as a plan of the International Planning Competition: an action a line, then its cost."""
    steps = "".join(f"({_name(edge)})\n" for edge in edges)
    return f"{steps}; cost = {len(edges)} (unit cost)\n"


def read_plan(text: str) -> list[int]:
    """The ids of the edges in a plan for a problem of :func:`write_pddl`.

    Raises:
        GraphError: A line is no action of such a problem.
    """
    numbers = []
    for line in text.splitlines():
        stripped = line.partition(";")[0].strip().lower()
        if not stripped:
            continue
        match = _STEP.fullmatch(stripped)
        if match is None:
            raise GraphError(f"{line!r} is no step of a plan for a plan graph, such as (e3-taxi)")
        numbers.append(int(match[1]))
    return numbers


def save_pddl(texts: tuple[str, str], folder: Path, path: Sequence[Edge] | None) -> None:
    """Write ``domain.pddl`` and ``problem.pddl``, and ``plan.txt`` where there is a path."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = () if path is None else (write_plan(path),)
    for name, text in zip(("domain.pddl", "problem.pddl", "plan.txt"), (*texts, *plan), strict=False):
        replace_file(folder / name, text.encode())


def _name(edge: Edge) -> str:
    return f"e{edge.id}-{_word(edge.action)[:40]}".rstrip("-")


def _word(text: str) -> str:
    return _OTHER.sub("-", text.lower()).strip("-")


def _amount(kind: str, count: int) -> str:
    return f"{Decimal(kind_of(kind).amount(count)):f}"
