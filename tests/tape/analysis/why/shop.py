"""A plan graph with four ways to an answer, the better the dearer, and episodes around it."""

from __future__ import annotations

from typing import Any

from tape import trace
from tape.budget import Resources
from tape.engine.graph import PlanGraph
from tape.trace import Event

SHOP = {
    # action: (from, to, cost in dollars, cost in steps)
    "ask free": ("start", "rumour", "0", 1),
    "ask cheap": ("start", "answer", "0.01", 1),
    "ask dear": ("start", "proof", "0.04", 1),
    "ask slow": ("start", "middle", "0", 1),
    "check": ("middle", "signed proof", "0.03", 2),
}
WORTH = {"rumour": 0.2, "answer": 0.5, "proof": 0.8, "signed proof": 1.0}


def shop() -> PlanGraph:
    """Four ways to an answer, the better the dearer."""
    graph = PlanGraph()
    graph.add_state("start")
    for action, (source, target, _, _) in SHOP.items():
        graph.fold([source, target], [action])
    for edge in graph.edges():
        _, _, dollars, steps = SHOP[edge.action]
        graph.set_cost(edge.id, Resources.of(usd=dollars, steps=steps))
    for node in graph.nodes:
        graph.set_reward(node, WORTH.get(node, 0.0), goal=node in WORTH)
        if node not in WORTH:
            graph.no_end(node)
    return graph


def episode(*events: Event, usd: int = 20_000, steps: int = 5, **config: Any) -> list[Event]:
    """An episode around some events."""
    left = {"steps": steps, "usd": usd}
    return [
        trace.StartedEvent(
            config={"agent": "tape", "model": "none", "discount": 1.0, "horizon": None, **config}, budget=left
        ),
        trace.ObservedEvent(step=0, key="start", picture="", remaining=left),
        *events,
    ]


def selection(
    *actions: str,
    graph: PlanGraph | None = None,
    start: str = "start",
    left: dict[str, int] | None = None,
    **changes: Any,
) -> trace.PathSelectedEvent:
    """What the solver reports of a path; without actions: that there is none."""
    graph, left = graph or shop(), left or {"steps": 5, "usd": 20_000}
    path, nodes = [], [start]
    for action in actions:
        path.append(next(edge for edge in graph.edges() if (edge.source, edge.action) == (nodes[-1], action)))
        nodes.append(path[-1].target)
    horizon = min(len(graph.nodes), left["steps"])
    rewards = [graph.attributes(node)["reward"] for node in nodes[1:]]
    known = {
        "selector": "labelling",
        "status": "OPTIMAL" if actions else "INFEASIBLE",
        "partial": False,
        "actions": list(actions),
        "nodes": nodes if actions else [],
        "objective": sum(rewards) + rewards[-1] * (horizon - len(actions)) if actions else None,
        "bound": None,
        "consumption": {kind: sum(edge.cost[kind] or 0 for edge in path) for kind in left} if actions else {},
        "problem": {"horizon": horizon, "budget": left, "confidence": 0.0},
        "seconds": 0.0,
    }
    return trace.PathSelectedEvent(**(known | changes))


def folded(graph: PlanGraph | None = None) -> trace.GraphFoldedEvent:
    return trace.GraphFoldedEvent(graph=(graph or shop()).to_dict(start="start"))


def acted(action: str, step: int = 1) -> trace.ActedEvent:
    return trace.ActedEvent(step=step, action=action, text="", planned=action, cost={})


def finished(end_state: str = "success", **result: Any) -> trace.FinishedEvent:
    return trace.FinishedEvent(result={"end_state": end_state, "success": end_state == "success", "steps": 1, **result})
