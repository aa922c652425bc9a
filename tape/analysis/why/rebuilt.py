"""A recorded selection solved again from its plan graph, and checked against what was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from solvers import Status
from solvers.errors import SolverError
from tape.analysis.why.data import Candidate
from tape.analysis.why.selections import PROVEN, Pick, SelectionRule, Selections, Stage, stages_of
from tape.choice.graph import PlanGraph
from tape.errors import GraphError, TapeError
from tape.trace import GraphFoldedEvent, PathSelectedEvent

EXPECT = "expect"
"""The objective of programs: chances count, as those of variants do."""
_BY_LM = "lm:"
_BEST_PLAN = "best_plan"


class NotReproducedError(TapeError):
    """A recorded selection cannot be rebuilt, and why."""


@dataclass(frozen=True)
class Rebuilt:
    """A recorded selection, and the means to ask what else could have been selected.

    Attributes:
        found: The graph and the budgets.
        pick: What was recorded; None where no path was found.
        best: What the solver selects; the same but for the choice of a model, for ties, and where time was short.
    """

    found: Selections
    pick: Pick | None
    best: Pick | None

    def on_graph(self, stage: int, nodes: Sequence[str], actions: Sequence[str]) -> Candidate | None:
        """A path given by its states and actions, as an answer to a stage; None if it is no path of the graph."""
        steps = zip(nodes, actions, nodes[1:], strict=False)
        try:
            path = [self.found.graph.find(source, action, target) for source, action, target in steps]
        except GraphError:
            return None
        pick = self.found.placed(stage, path)
        return None if pick is None else self.candidate(pick)

    def candidate(self, pick: Pick) -> Candidate:
        """A path as data, measured against what was left."""
        rule = self.found.rule
        plain = _candidate(self.found.graph, rule.start, pick.path, pick.cost, rule.left, pick.objective)
        stage = rule.stages[pick.stage]
        return replace(
            plain,
            horizon=pick.problem.horizon,
            stage=pick.stage,
            confidence=stage.confidence,
            partial=stage.any_end,
        )


def _candidate(
    graph: PlanGraph,
    start: str,
    path: Sequence[int],
    cost: Mapping[str, int],
    left: Mapping[str, int],
    objective: float | None,
) -> Candidate:
    """A path of a graph as data, whatever it was an answer to."""
    edges = [graph.edge(number) for number in path]
    nodes = (start, *(edge.target for edge in edges))
    end = graph.attributes(nodes[-1])
    return Candidate(
        actions=tuple(edge.action for edge in edges),
        nodes=nodes,
        edges=tuple(path),
        cost=dict(cost),
        objective=objective,
        horizon=None,
        score=float(end["reward"]),
        goal=bool(end["goal"]),
        likelihood=end.get("likelihood"),
        support=int(end["support"]),
        over={kind: count - left[kind] for kind, count in cost.items() if kind in left and count > left[kind]},
    )


def recorded(selection: PathSelectedEvent) -> Candidate | None:
    """A recorded path without its graph: what the event holds."""
    if not selection.nodes:
        return None
    return Candidate(
        actions=tuple(selection.actions),
        nodes=tuple(selection.nodes),
        edges=(),
        cost=dict(selection.consumption),
        objective=selection.objective,
        horizon=selection.problem.get("horizon"),
        score=None,
        partial=selection.partial,
    )


def placed(event: GraphFoldedEvent, selection: PathSelectedEvent, kinds: Sequence[str]) -> Candidate:
    """A recorded path on its graph, under whatever budgets: what was committed to.

    Raises:
        NotReproducedError: The graph cannot be read, or the path is not in it.
    """
    graph = _graph(event)
    edges = [graph.edge(number) for number in _edges(graph, selection)]
    cost = {kind: sum(edge.cost[kind] or 0 for edge in edges) for kind in kinds}
    path, start = [edge.id for edge in edges], selection.nodes[0]
    return _candidate(graph, start, path, cost, {}, selection.objective)


def rebuilt(event: GraphFoldedEvent, selection: PathSelectedEvent, config: Mapping[str, Any]) -> Rebuilt:
    """Solve a recorded selection again.

    Args:
        event: The graph it was made on.
        selection: What was recorded.
        config: The episode's configuration.

    Raises:
        NotReproducedError: What comes out is not what was recorded, or the trace holds too little.
    """
    try:
        return _rebuilt(event, selection, config)
    except (GraphError, SolverError) as error:
        raise NotReproducedError(f"{error}.".replace("..", ".")) from error


def _rebuilt(event: GraphFoldedEvent, selection: PathSelectedEvent, config: Mapping[str, Any]) -> Rebuilt:
    posed = selection.problem
    if not isinstance(posed.get("budget"), dict) or not isinstance(posed.get("horizon"), int):
        raise NotReproducedError("it does not record under which budgets and horizon the path was selected.")
    if posed.get("objective", "stay") not in ("stay", EXPECT):
        raise NotReproducedError("a search agent selects by the value of each search, which is not solved again here.")
    graph = _graph(event)
    graph.objective = posed.get("objective", "stay")
    start = selection.nodes[0] if selection.nodes else str(event.graph.get("start"))
    by_lm = selection.selector.startswith(_BY_LM)
    stages = stages_of(graph, cautious=bool(config.get("ablations", {}).get("cautious")), partial=selection.partial)
    confidence = float(posed.get("confidence", 0.0))
    asked = [
        n for n, stage in enumerate(stages) if (stage.any_end, stage.confidence) == (selection.partial, confidence)
    ]
    if not asked:
        raise NotReproducedError(f"no such selection is known: predictions of at least {confidence:g}.")
    selections = Selections(graph, _rule(graph, start, posed, stages, config))
    best = selections.pick()
    if not selection.nodes:
        if best is not None and selection.status == Status.INFEASIBLE and selection.selector != _BEST_PLAN:
            raise NotReproducedError("it found no path where there is one.")
        return Rebuilt(selections, None, None)
    pick = selections.placed(asked[0], _edges(graph, selection))
    if pick is None:
        raise NotReproducedError("the path that was selected is not in the graph before it.")
    if not by_lm:
        _check(selection, pick, best)
    return Rebuilt(selections, pick, best)


def _check(selection: PathSelectedEvent, pick: Pick, best: Pick | None) -> None:
    """Compare what was recorded with what comes out."""
    if {kind: selection.consumption.get(kind, 0) for kind in pick.cost} != pick.cost:
        raise NotReproducedError(f"it needs {dict(pick.cost)}, and {selection.consumption} was recorded.")
    noted = selection.objective
    allowed = PROVEN * max(1.0, abs(pick.objective))
    if noted is None or abs(noted - pick.objective) > allowed:
        raise NotReproducedError(f"its objective is {pick.objective:.6g}, and {noted} was recorded.")
    if selection.status != Status.OPTIMAL:
        return
    if best is None or best.stage != pick.stage or abs(best.objective - pick.objective) > allowed:
        raise NotReproducedError("another path is the best of the graph before it.")


def _rule(
    graph: PlanGraph, start: str, posed: Mapping[str, Any], stages: tuple[Stage, ...], config: Mapping[str, Any]
) -> SelectionRule:
    """The rule of selection; how the horizon follows from what is left is read off the horizon that was recorded."""
    left, horizon = dict(posed["budget"]), int(posed["horizon"])
    rule = SelectionRule(start, left, stages, horizon, None, float(config.get("ablations", {}).get("discount", 1.0)))
    if config.get("horizon") is not None or graph.objective == EXPECT:  # of programs it is no limit
        return rule
    most = max(1, Selections(graph, rule).most_moves(left))
    if horizon % most:
        raise NotReproducedError(f"a horizon of {horizon} does not follow from what was left.")
    return SelectionRule(start, left, stages, horizon, horizon // most, rule.discount)


def _graph(event: GraphFoldedEvent) -> PlanGraph:
    try:
        return PlanGraph.from_dict(event.graph)
    except GraphError as error:
        raise NotReproducedError(f"its plan graph cannot be read: {error}.") from error


def _edges(graph: PlanGraph, selection: PathSelectedEvent) -> list[int]:
    steps = zip(selection.nodes, selection.actions, selection.nodes[1:], strict=False)
    try:
        return [graph.find(source, action, target) for source, action, target in steps]
    except GraphError as error:
        raise NotReproducedError(f"the path that was selected is not in the graph before it: {error}.") from error
