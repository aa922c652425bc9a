"""`Explanation`: why a problem has no path, and the minimal relaxations that give it one, as data and in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from solvers.check import variance_of
from solvers.needs import Cause, Joint, Need
from solvers.problem import PathProblem
from solvers.solution import PathSolution, Status

_LISTED = 5


@dataclass(frozen=True)
class Explanation:
    """The answer of `solvers.explain`. What is not proven is never stated as a fact.

    Attributes:
        problem: The problem explained.
        status: FEASIBLE: there is a path after all, `path`. INFEASIBLE: proven that there is none. TIMEOUT: neither.
            ERROR: the solver failed before either was proven.
        causes: What is proven to stand in the way, if INFEASIBLE.
        path: A path, if FEASIBLE; some path, not the best.
        reached: The nodes that can be reached from the start, whatever the horizon and the budgets.
        leading: The nodes from which a terminal can be reached, whatever the horizon and the budgets.
        nearest: Moves of the shortest path to a terminal, whatever the budgets; None if there is none.
        barred: Edges one of which every path must take although each alone exceeds a budget; empty if that is not so.
        horizon: The least horizon that would do under the given budgets; None if that was not looked for.
        budgets: For each resource, the least budget that would do alone; empty if that was not looked for.
        joint: One way to relax all budgets together, with the horizon if it is too short for any path; None where that
            does not apply (`joint_applies`), or none was found in time.
        faults: What the solver reported where it failed; the parts it failed on count as not proven.

    Examples:
        >>> from solvers import PathProblem, explain
        >>> problem = PathProblem(
        ...     2, [(0, 1)], rewards=[0, 1], costs=[[3]], budgets=[2], start=0, terminals=[1], horizon=1
        ... )
        >>> found = explain(problem)
        >>> found.status.value, [cause.value for cause in found.causes], found.budgets[0].least, found.proven
        ('INFEASIBLE', ['budget'], 3, True)
    """

    problem: PathProblem
    status: Status
    causes: tuple[Cause, ...] = ()
    path: PathSolution | None = None
    reached: tuple[int, ...] = ()
    leading: tuple[int, ...] = ()
    nearest: int | None = None
    barred: tuple[int, ...] = ()
    horizon: Need | None = None
    budgets: tuple[Need, ...] = ()
    joint: Joint | None = None
    faults: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        """Whether nothing was left open by a time limit or a failure."""
        if self.status not in (Status.FEASIBLE, Status.INFEASIBLE) or self.faults:
            return False
        if self.joint_applies and (self.joint is None or not self.joint.proven or self.joint.percent is None):
            return False
        return all(need.proven for need in (*self.budgets, self.horizon) if need is not None)

    @property
    def too_short(self) -> bool:
        """Whether no path reaches a terminal within the horizon, whatever the budgets, although a longer one does."""
        return self.nearest is not None and self.nearest > self.problem.steps

    @property
    def joint_applies(self) -> bool:
        """Whether several limits have to be weighed against each other: two budgets, or a budget and the horizon."""
        return Cause.BUDGET in self.causes and (self.too_short or len(self.problem.budgets) > 1)

    @property
    def together(self) -> dict[str, int]:
        """The budgets that `joint` raises, by resource, as they would have to be."""
        raised = () if self.joint is None else zip(self.problem.resources, self.joint.budgets, strict=True)
        given = self.problem.named(self.problem.budgets)
        return {name: budget for name, budget in raised if budget > given[name]}

    def text(
        self,
        amount: Callable[[str, float], str] | None = None,
        node: Callable[[int], str] | None = None,
        edge: Callable[[int], str] | None = None,
    ) -> str:
        """The explanation in short sentences, one a line.

        Args:
            amount: Writes an amount, given the resource's name and the count, which is a float for a standard
                deviation; the count itself by default.
            node: Writes a node; ``node 3`` by default.
            edge: Writes an edge; ``edge 7 from node 3 to node 4`` by default.
        """
        name = node or (lambda number: f"node {number}")

        def ends(number: int) -> str:
            tail, head = self.problem.edges[number]
            return f"edge {number} from {name(tail)} to {name(head)}"

        return "\n".join(_Words(self, amount or _counted, name, edge or ends).sentences())

    def __str__(self) -> str:
        """`text()`."""
        return self.text()

    def to_dict(self, amount: Callable[[str, int], Any] | None = None) -> dict[str, Any]:
        """The explanation as JSON values, without the problem; of a path edges, nodes and consumption.

        Budgets of `joint` and consumptions are objects by resource.

        Args:
            amount: Puts an amount into a unit, given the resource's name and the count; counts stay by default.
        """
        stated = amount or (lambda _, count: count)

        def named(counts: Sequence[int]) -> dict[str, Any]:
            return {name: stated(name, count) for name, count in self.problem.named(counts).items()}

        def of_path(path: PathSolution | None) -> dict[str, Any] | None:
            if path is None:
                return None
            return {"edges": list(path.edges), "nodes": list(path.nodes), "consumption": named(path.consumption)}

        def of_need(need: Need | None) -> dict[str, Any] | None:
            if need is None:
                return None
            counts = {name: getattr(need, name) for name in ("given", "least", "at_least")}
            if need.limit != "horizon":
                counts = {name: None if item is None else stated(need.limit, item) for name, item in counts.items()}
            return {"limit": need.limit, **counts, "walk": of_path(need.path), "proven": need.proven}

        joint = self.joint
        return {
            "status": self.status.value,
            "causes": [cause.value for cause in self.causes],
            "walk": of_path(self.path),
            "reached": list(self.reached),
            "leading": list(self.leading),
            "nearest": self.nearest,
            "barred": list(self.barred),
            "horizon": of_need(self.horizon),
            "budgets": [of_need(need) for need in self.budgets],
            "joint": joint
            and {
                "horizon": joint.horizon,
                "budgets": named(joint.budgets),
                "walk": of_path(joint.path),
                "percent": joint.percent,
                "proven": joint.proven,
            },
            "faults": list(self.faults),
            "proven": self.proven,
            "text": self.text(),
        }


@dataclass(frozen=True)
class _Words:
    """An explanation in sentences, the cause first, then what would do; only what is proven is stated as a fact."""

    found: Explanation
    amount: Callable[[str, float], str]
    node: Callable[[int], str]
    edge: Callable[[int], str]

    def sentences(self) -> Iterator[str]:
        explanation, problem = self.found, self.found.problem
        start, steps = self.node(problem.start), problem.steps
        if explanation.status is Status.FEASIBLE and explanation.path is not None:
            end = self.node(explanation.path.nodes[-1])
            moves = _moves(len(explanation.path.edges))
            yield f"The problem is feasible: a path of {moves} from {start} to {end} does."
        elif explanation.status is not Status.INFEASIBLE:
            yield "Whether there is a path was not decided."
        elif Cause.NO_TERMINAL in explanation.causes:
            yield "No goal is declared, so no path can end anywhere."
        elif Cause.UNREACHABLE in explanation.causes:
            yield (
                f"No goal can be reached from {start}, whatever the horizon and the budgets: it leads to "
                f"{len(explanation.reached)} of the {problem.n_nodes} nodes, {self._some(explanation.reached)}, "
                "no goal among them."
            )
            yield f"What is missing is an edge from one of those to one of {self._some(explanation.leading)}."
        else:
            if explanation.nearest is not None and explanation.too_short:
                more = f"the nearest takes {explanation.nearest} ({explanation.nearest - steps} more)"
                yield f"No path from {start} reaches a goal within {_moves(steps)}: {more}."
            yield from self._barred()
            if not explanation.too_short:  # else no budget alone would do, as has been said
                for k, need in enumerate(explanation.budgets):
                    yield from self._budget(k, need)
            if explanation.horizon is not None and explanation.budgets:
                yield from self._horizon(explanation.horizon)
            if explanation.joint_applies:
                yield from self._joint(explanation.joint)
        for fault in explanation.faults:
            yield f"A part of this could not be decided: {fault}."

    def _barred(self) -> Iterator[str]:
        if not self.found.barred:
            return
        what = "a step that" if len(self.found.barred) == 1 else "one of these steps, each of which"
        yield f"Every path must take {what} alone exceeds a budget:"
        lines = list(dict.fromkeys(f"  {self.edge(edge)} takes {self._excess(edge)}" for edge in self.found.barred))
        yield from lines[:_LISTED]
        if len(lines) > _LISTED:
            yield f"  and {len(lines) - _LISTED} more"

    def _excess(self, edge: int) -> str:
        """What an edge takes of the budgets that it exceeds; of all where only the risk makes it too much."""
        problem = self.found.problem
        rows = list(enumerate(zip(problem.resources, problem.costs[edge], problem.budgets, strict=True)))
        above = [row for row in rows if row[1][1] > row[1][2]]
        return ", ".join(
            f"{name}: {self.amount(name, cost)}{self._deviation((edge,), k)} ({self.amount(name, budget)} given)"
            for k, (name, cost, budget) in above or rows
        )

    def _budget(self, k: int, need: Need) -> Iterator[str]:
        more = "" if need.path is None else f" ({self._more(k, need.least, need.path)})"
        yield from need.sentences(lambda count: self.amount(need.limit, count), more)

    def _horizon(self, need: Need) -> Iterator[str]:
        steps = self.found.problem.steps
        if need.least is None:
            if not need.proven:
                yield "Whether a longer horizon alone would do is open."
            elif self.found.too_short:
                yield "No horizon is long enough for the budgets as they are."
            else:
                yield "A longer horizon alone would not do."
            return
        if need.least == self.found.nearest:
            yield f"{_moves(need.least)} would do with the budgets as they are."
        elif self.found.too_short:
            yield f"With the budgets as they are it takes {_moves(need.least)} ({need.least - steps} more)."
        else:
            yield f"A longer horizon would do: {_moves(need.least)} instead of {steps}, everything else unchanged."
        if not need.proven:
            yield f"Whether fewer would do is open; fewer than {need.at_least} would not."

    def _joint(self, joint: Joint | None) -> Iterator[str]:
        problem = self.found.problem
        if joint is None:
            yield "What would do together is open."
            return
        raised = self.found.together
        if len(raised) > 1 or joint.horizon > problem.steps:  # else it is what that resource needs alone
            parts = [_moves(joint.horizon)] if joint.horizon > problem.steps else []
            for k, name in enumerate(problem.resources):
                if name in raised:
                    more = self._more(k, raised[name], joint.path)
                    parts.append(f"{name} at {self.amount(name, raised[name])} ({more})")
            least = "; none of these can be less while the others stay" if joint.proven else ""
            yield f"Together {', '.join(parts[:-1])}{' and ' if parts[1:] else ''}{parts[-1]} would do{least}."
            if joint.percent is not None and len(raised) > 1 and min(problem.budgets) > 0:
                yield f"No budget rises by more than {joint.percent}%; {joint.percent - 1}% more of each would not do."
        if not joint.proven or joint.percent is None:
            yield "Whether smaller raises would do together is open."

    def _more(self, k: int, budget: int, path: PathSolution) -> str:
        """How much more of a resource, and, where a risk makes that more than the path uses on average, its mean."""
        problem, name = self.found.problem, self.found.problem.resources[k]
        more = f"{self.amount(name, budget - problem.budgets[k])} more"
        if not problem.is_risky:
            return more
        return f"{more}; mean {self.amount(name, path.consumption[k])}{self._deviation(path.edges, k)}"

    def _deviation(self, edges: Sequence[int], k: int) -> str:
        problem = self.found.problem
        deviation = math.sqrt(variance_of(problem, edges)[k]) if problem.is_risky else 0.0
        return f", standard deviation {self.amount(problem.resources[k], deviation)}" if deviation else ""

    def _some(self, nodes: Sequence[int]) -> str:
        shown = ", ".join(map(self.node, nodes[:_LISTED]))
        return shown if len(nodes) <= _LISTED else f"{shown} and {len(nodes) - _LISTED} more"


def _moves(count: int) -> str:
    return f"{count} move" if count == 1 else f"{count} moves"


def _counted(_: str, count: float) -> str:
    return str(count) if isinstance(count, int) else f"{count:.4g}"
