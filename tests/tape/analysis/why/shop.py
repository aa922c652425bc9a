"""A plan graph with four ways to an answer, the better the dearer, and episodes around it."""

from typing import Any

from tape import trace
from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tape.trace import Event
from tests.tape.show.view_runs import selected, started

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
    return [started(left, **config), trace.ObservedEvent(step=0, key="start", picture="", remaining=left), *events]


def selection(
    *actions: str,
    graph: PlanGraph | None = None,
    start: str = "start",
    left: dict[str, int] | None = None,
    **changes: Any,
) -> trace.PathSelectedEvent:
    """What the solver reports of a path; without actions: that there is none."""
    known = selected(graph or shop(), actions, left or {"steps": 5, "usd": 20_000}, start).model_dump()
    known["problem"] = {name: known["problem"][name] for name in ("horizon", "budget", "confidence")}
    none = {} if actions else {"status": "INFEASIBLE", "nodes": [], "objective": None, "consumption": {}}
    return trace.PathSelectedEvent(**(known | {"bound": None} | none | changes))


def folded(graph: PlanGraph | None = None) -> trace.GraphFoldedEvent:
    return trace.GraphFoldedEvent(graph=(graph or shop()).to_dict(start="start"))


def acted(action: str, step: int = 1) -> trace.ActedEvent:
    return trace.ActedEvent(step=step, action=action, text="", planned=action, cost={})


def finished(end_state: str = "success", **result: Any) -> trace.FinishedEvent:
    return trace.FinishedEvent(result={"end_state": end_state, "success": end_state == "success", "steps": 1, **result})
