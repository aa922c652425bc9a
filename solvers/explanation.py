"""`Explanation`: why a problem has no walk, and the least changes that would give it one; as data and in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from solvers.explanation_text import sentences
from solvers.findings import Cause, Findings, Joint, Need
from solvers.solution import PathSolution

__all__ = ["Cause", "Explanation", "Joint", "Need"]


@dataclass(frozen=True)
class Explanation(Findings):
    """The answer of `solvers.explain`: the findings, which can put themselves into words and into JSON.

    Attributes: see `solvers.findings.Findings`.
    """

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

        return "\n".join(sentences(self, amount or _counted, name, edge or ends))

    def __str__(self) -> str:
        """`text()`."""
        return self.text()

    def to_dict(self, amount: Callable[[str, int], Any] | None = None) -> dict[str, Any]:
        """The explanation as JSON values, without the problem; of a walk edges, nodes and consumption.

        Budgets of `joint` and consumptions are objects by resource.

        Args:
            amount: Puts an amount into a unit, given the resource's name and the count; counts stay by default.
        """
        stated = amount or (lambda _, count: count)
        return {
            "status": self.status.value,
            "causes": [cause.value for cause in self.causes],
            "walk": self._walk(self.walk, stated),
            "reached": list(self.reached),
            "leading": list(self.leading),
            "nearest": self.nearest,
            "barred": list(self.barred),
            "horizon": None if self.horizon is None else self._need(self.horizon, stated),
            "budgets": [self._need(need, stated) for need in self.budgets],
            "joint": None if self.joint is None else self._joint(self.joint, stated),
            "faults": list(self.faults),
            "proven": self.proven,
            "text": self.text(),
        }

    def _need(self, need: Need, stated: Callable[[str, int], Any]) -> dict[str, Any]:
        def value(count: int | None) -> Any:
            return count if count is None or need.limit == "horizon" else stated(need.limit, count)

        values = {name: value(getattr(need, name)) for name in ("given", "least", "at_least")}
        return {"limit": need.limit, **values, "walk": self._walk(need.walk, stated), "proven": need.proven}

    def _joint(self, joint: Joint, stated: Callable[[str, int], Any]) -> dict[str, Any]:
        budgets = {name: stated(name, count) for name, count in self.problem.named(joint.budgets).items()}
        walk = self._walk(joint.walk, stated)
        return {
            "horizon": joint.horizon, "budgets": budgets, "walk": walk, "percent": joint.percent, "proven": joint.proven
        }  # fmt: skip

    def _walk(self, walk: PathSolution | None, stated: Callable[[str, int], Any]) -> dict[str, Any] | None:
        if walk is None:
            return None
        used = {name: stated(name, count) for name, count in self.problem.named(walk.consumption).items()}
        return {"edges": list(walk.edges), "nodes": list(walk.nodes), "consumption": used}


def _counted(_: str, count: float) -> str:
    return str(count) if isinstance(count, int) else f"{count:.4g}"
