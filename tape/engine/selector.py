"""Selection of a path: by the solver, or by the LM (the ablation of TAPE table 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

import solvers
from solvers import PathProblem, PathSolution, Status
from tape.engine.context import RoleContext
from tape.engine.graph import PlanGraph
from tape.lm.base import Choice
from tape.protocols import Action


class Selected(NamedTuple):
    """What was selected.

    Attributes:
        solution: The solver's report.
        path: The path as edge ids of the graph.
        problem: The problem that was solved.
        confidence: Edges of less confidence were left out of it.
    """

    solution: PathSolution
    path: tuple[int, ...]
    problem: PathProblem
    confidence: float = 0.0


class Selector(Protocol):
    """Chooses a path on the plan graph."""

    name: str

    async def select(
        self, graph: PlanGraph, start: str, remaining: Mapping[str, int], horizon: int, *, any_end: bool = False
    ) -> Selected:
        """Select a path.

        With ``any_end`` a path may end anywhere but at the start.
        """


CONFIDENCES = (0.9, 0.5)
"""Least confidence of the predictions on a path, tried in turn before any prediction will do."""


class SolverSelector:
    """The best path that keeps every budget, proven by an exact solver.

    The default solver keeps its bounds from one selection to the next (`solvers.Session`): after a replan most of the
    graph is as it was.

    Args:
        solver: Its name.
        discount: In (0, 1].
        time_limit: Says how many seconds a solve may take, or None; asked anew for each.
        cautious: Prefer a path to a goal on which every prediction is confident. A wrong prediction costs steps, and
            the world model's doubts tell where it is wrong more often than not.
    """

    def __init__(
        self,
        solver: str,
        discount: float = 1.0,
        time_limit: Callable[[], float | None] = lambda: None,
        *,
        cautious: bool = False,
    ) -> None:
        self.name, self._discount, self._time_limit = solver, discount, time_limit
        self._confidences = (*CONFIDENCES, 0.0) if cautious else (0.0,)
        self._session = solvers.Session() if solver == solvers.Session.solver else None

    async def select(
        self, graph: PlanGraph, start: str, remaining: Mapping[str, int], horizon: int, *, any_end: bool = False
    ) -> Selected:
        """Solve; returns the report, the path as edge ids of the graph, and the problem."""
        doubtful = any(edge.confidence < CONFIDENCES[0] for edge in graph.usable_edges())
        confidences = self._confidences if doubtful and not any_end else (0.0,)
        seconds = 0.0
        for confidence in confidences:
            problem, ids = graph.path_problem(
                start,
                remaining,
                horizon,
                self._discount,
                objective="stay",
                any_end=any_end,
                confidence=confidence,
            )
            solution = self._solve(problem)
            seconds += solution.seconds
            path = tuple(ids[e] for e in solution.edges)
            if path and graph.attributes(graph.edge(path[-1]).target)["goal"]:
                break
        return Selected(replace(solution, seconds=seconds), path, problem, confidence)

    def _solve(self, problem: PathProblem) -> PathSolution:
        if self._session is not None:
            return self._session.solve(problem, self._time_limit())
        return solvers.solve(problem, self.name, self._time_limit())


class LmSelector:
    """The LM picks among the sampled plans; budgets are not part of its choice.

    Its path is reported as FEASIBLE: nothing is proven. Plans that no longer are paths of the usable
    graph, or have more moves than the horizon, are not offered.

    Args:
        context: The episode's model and prompts.
        temperature: Sampling temperature.
        seed: Seed of the choice.
    """

    def __init__(self, context: RoleContext, temperature: float, seed: int) -> None:
        self.name = f"lm:{context.lm.name}"
        self._context, self._temperature, self._seed = context, temperature, seed

    async def select(
        self, graph: PlanGraph, start: str, remaining: Mapping[str, int], horizon: int, *, any_end: bool = False
    ) -> Selected:
        """Offer the graph's sampled plans and take the one the model names."""
        del any_end
        problem, ids = graph.path_problem(start, remaining, horizon, objective="stay")
        usable = {number: i for i, number in enumerate(ids)}
        offered = [
            path
            for path in dict.fromkeys(graph.plans)
            if 0 < len(path) <= horizon and all(e in usable for e in path) and graph.edge(path[0]).source == start
        ]
        if not offered:
            none = PathSolution(Status.INFEASIBLE, solver=self.name, message="no sampled plan is usable")
            return Selected(none, (), problem)
        texts: list[list[Action]] = [[graph.edge(e).action for e in path] for path in offered]
        request = self._context.prompt_format.select_request(graph.state(start), texts, remaining)
        [completion] = await self._context.lm.generate(
            [replace(request, temperature=self._temperature, seed=self._seed)]
        )
        assert isinstance(request.constraint, Choice)
        answer = completion.texts[0]
        if answer in request.constraint.options:
            path = offered[request.constraint.options.index(answer)]
        else:
            self._context.count_malformed("select", answer)
            path = offered[0]
        edges = tuple(usable[e] for e in path)
        solution = PathSolution(
            Status.FEASIBLE,
            edges=edges,
            nodes=(problem.start, *(problem.edges[e][1] for e in edges)),
            solver=self.name,
            message="chosen by the LM; optimality and budgets are not checked",
        )
        return Selected(solution, path, problem)
