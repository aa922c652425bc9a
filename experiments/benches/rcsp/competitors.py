"""Who competes: what every competitor is, and what all are given of an instance."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from solvers.rcsp.problem import RcspProblem

OPTIMAL, INFEASIBLE, TIMEOUT, UNFIT, ERROR = "OPTIMAL", "INFEASIBLE", "TIMEOUT", "UNFIT", "ERROR"


@dataclass(frozen=True)
class Answer:
    """What a competitor says of an instance.

    Attributes:
        status: `OPTIMAL`, `INFEASIBLE` or `TIMEOUT`.
        cost: The cost of the path, None without one.
        run_seconds: The search alone, as far as the competitor lets it be told apart; None if it does not.
    """

    status: str
    cost: float | None
    run_seconds: float | None


class Instance:
    """A problem, and the forms of it that competitors ask for.

    Attributes:
        name: Names it.
        family: Which part of the benchmark it belongs to.
        problem: The problem.
    """

    def __init__(self, name: str, family: str, problem: RcspProblem) -> None:
        self.name, self.family, self.problem = name, family, problem

    @cached_property
    def arcs(self) -> list[tuple[int, int, float, list[float]]]:
        """Tail, head, cost and K amounts of each arc; what a node costs and uses is charged to the arcs into it."""
        problem = self.problem
        cost = problem.cost + problem.node_cost[problem.heads]
        use = problem.use + problem.node_use[problem.heads]
        return list(zip(problem.tails.tolist(), problem.heads.tolist(), cost.tolist(), use.tolist(), strict=True))

    @cached_property
    def useful_arcs(self) -> list[tuple[int, int, float, list[float]]]:
        """The arcs without those into the source and out of the target, as the author of cspy gives them to it.

        Where circles may pay, these arcs may be needed, and all are here.
        """
        if self.circles_help:
            return self.arcs
        source, target = self.problem.source, self.problem.target
        return [arc for arc in self.arcs if arc[1] != source and arc[0] != target]

    @property
    def offset(self) -> float:
        """What the source costs as a node: part of every path's cost."""
        return float(self.problem.node_cost[self.problem.source])

    @cached_property
    def upper(self) -> list[float]:
        """K limits on what the arcs use; infinite for none."""
        first = self.problem.node_use[self.problem.source].tolist()
        given = [np.inf if limit is None else float(limit) for limit in self.problem.upper]
        return [limit - spent for limit, spent in zip(given, first, strict=True)]

    @cached_property
    def lower(self) -> list[float]:
        """K lower limits on what the arcs use; 0 for none."""
        first = self.problem.node_use[self.problem.source].tolist()
        return [max(0.0, limit - spent) for limit, spent in zip(self.problem.lower, first, strict=True)]

    @cached_property
    def circles_help(self) -> bool:
        """Whether a best walk may go round in circles: then flows and elementary paths are other problems."""
        import networkx

        negative = any(arc[2] < 0 for arc in self.arcs)
        if not negative and not any(self.lower):
            return False
        graph = networkx.DiGraph((tail, head) for tail, head, _, _ in self.arcs)
        return not networkx.is_directed_acyclic_graph(graph)


class Competitor(ABC):
    """A solver on the graph as its author would give it.

    Attributes:
        variant: Which of its exact algorithms; empty where there is one.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    """What to install."""
    module: ClassVar[str]
    """What to import."""
    method: ClassVar[str]
    """What it does, for the table."""
    beside: ClassVar[str] = "arrays"
    """Which of our whole calls its own is compared with: from `arrays`, or from a networkx `graph`."""

    def __init__(self, variant: str = "") -> None:
        self.variant = variant

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Why it cannot run here, or None."""
        try:
            importlib.import_module(cls.module)
        except ImportError as error:
            return f"{error}; pip install {cls.package}"
        return None

    @classmethod
    def version(cls) -> str:
        """The version installed."""
        from importlib.metadata import version

        return version(cls.package.partition("==")[0])

    def unfit(self, instance: Instance) -> str | None:
        """Why it does not solve such an instance exactly, or None."""
        return "circles may pay here, and it finds simple paths only" if instance.circles_help else None

    @abstractmethod
    def given(self, instance: Instance) -> Any:
        """The instance as the competitor's user has it in hand. Not timed."""

    @abstractmethod
    def answer(self, given: Any, limit: float) -> Answer:
        """The whole call, which is timed.

        Args:
            given: From `given`.
            limit: Seconds; a competitor without a time limit of its own is killed some seconds later.
        """


def within(status: str, cost: float | None, seconds: float, limit: float) -> Answer:
    """An answer by a competitor that does not say whether its time limit ended the search."""
    late = seconds >= 0.99 * limit
    return Answer(TIMEOUT if late else status, None if late else cost, seconds)
