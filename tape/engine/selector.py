"""Selection of a path: by the solver; by the LM (the ablation of TAPE table 2); or the best single plan (Best-of-N)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import solvers
from solvers import PathProblem, PathSolution, Status
from tape.engine.ablations.offered import chains, offered, prefixes, shown
from tape.engine.context import RoleContext
from tape.engine.graph import PlanGraph
from tape.lm.base import Choice
from tape.seeds import derive


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


def asked_in_turn(graph: PlanGraph, *, cautious: bool, any_end: bool) -> tuple[float, ...]:
    """The least confidence that predictions on a path must have, in turn, until a path reaches a goal."""
    doubtful = any(edge.confidence < CONFIDENCES[0] for edge in graph.usable_edges())
    return (*CONFIDENCES, 0.0) if cautious and doubtful and not any_end else (0.0,)


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
        self._cautious = cautious
        self._session = solvers.Session() if solver == solvers.Session.solver else None

    async def select(
        self, graph: PlanGraph, start: str, remaining: Mapping[str, int], horizon: int, *, any_end: bool = False
    ) -> Selected:
        """Solve; returns the report, the path as edge ids of the graph, and the problem."""
        seconds = 0.0
        for confidence in asked_in_turn(graph, cautious=self._cautious, any_end=any_end):
            problem, ids = graph.path_problem(
                start,
                remaining,
                horizon,
                self._discount,
                objective=graph.objective,
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


class PlanSelector:
    """The best single plan that keeps every budget: plans are rolled out and scored, but not recombined (Best-of-N).

    Of the paths of the graph it takes only those along one sampled plan (:func:`~tape.engine.ablations.offered.chains`), by
    the objective of the solver and with the same preference for confident predictions.

    Args:
        discount: In (0, 1].
        cautious: As of :class:`SolverSelector`.
    """

    name = "best_plan"

    def __init__(self, discount: float = 1.0, *, cautious: bool = False) -> None:
        self._discount, self._cautious = discount, cautious

    async def select(
        self, graph: PlanGraph, start: str, remaining: Mapping[str, int], horizon: int, *, any_end: bool = False
    ) -> Selected:
        """Compare the plans' paths; INFEASIBLE where none of them fits."""
        plans = chains(graph, start)
        for confidence in asked_in_turn(graph, cautious=self._cautious, any_end=any_end):
            problem, ids = graph.path_problem(
                start,
                remaining,
                horizon,
                self._discount,
                objective=graph.objective,
                any_end=any_end,
                confidence=confidence,
            )
            index = {number: move for move, number in enumerate(ids)}
            ends = {node for number, node in enumerate(graph.nodes) if number in problem.terminals}
            paths = [path for path in prefixes(graph, plans, ends) if len(path) <= horizon and index.keys() >= {*path}]
            moves = [tuple(index[number] for number in path) for path in paths]
            fitting = [one for one in moves if _fits(problem, one)]
            if not fitting:
                solution = PathSolution(Status.INFEASIBLE, solver=self.name, message="no sampled plan fits")
                found = Selected(solution, (), problem, confidence)
                continue
            best = max(fitting, key=lambda one: solvers.objective_of(problem, one))  # the first of equals
            found = Selected(_solution(problem, best, self.name), tuple(ids[e] for e in best), problem, confidence)
            if graph.attributes(graph.edge(found.path[-1]).target)["goal"]:
                break
        return found


def _fits(problem: PathProblem, moves: Sequence[int]) -> bool:
    used = solvers.consumption_of(problem, moves)
    return all(count <= left for count, left in zip(used, problem.budgets, strict=True))


def _solution(problem: PathProblem, moves: Sequence[int], name: str, message: str = "") -> PathSolution:
    """A path that somebody has chosen; nothing is proven of it."""
    return PathSolution(
        Status.FEASIBLE,
        edges=tuple(moves),
        nodes=(problem.start, *(problem.edges[move][1] for move in moves)),
        objective=solvers.objective_of(problem, moves),
        consumption=solvers.consumption_of(problem, moves),
        solver=name,
        message=message,
    )


class LmSelector:
    """The LM picks among paths of the same graph that the solver would select on; budgets are its own concern.

    It is shown the paths with their scores and with what they need beside what is left, where its prompts can say so
    (:func:`tape.protocols.prompt_format.offered_text`). Its path is reported as FEASIBLE: nothing is proven.

    Args:
        context: The episode's model and prompts.
        temperature: Sampling temperature.
        seed: Seed of its choices, and of which random paths it is offered in which order.
    """

    def __init__(self, context: RoleContext, temperature: float, seed: int) -> None:
        self.name = f"lm:{context.lm.name}"
        self._context, self._temperature, self._seed = context, temperature, seed
        self._asked = 0

    async def select(
        self, graph: PlanGraph, start: str, remaining: Mapping[str, int], horizon: int, *, any_end: bool = False
    ) -> Selected:
        """Offer paths of the graph (:func:`~tape.engine.ablations.offered.offered`); take the one that the model names.

        Raises:
            BudgetExceededError: The call does not fit; it was not made.
        """
        problem, ids = graph.path_problem(start, remaining, horizon, objective=graph.objective, any_end=any_end)
        index = {number: move for move, number in enumerate(ids)}
        ends = [node for number, node in enumerate(graph.nodes) if number in problem.terminals]
        seed = derive(self._seed, self._asked) if self._asked else self._seed
        self._asked += 1
        kinds = sorted(remaining)
        paths = offered(graph, start, ends, kinds, horizon, random.Random(f"offer:{seed}"))
        if not paths:
            none = PathSolution(Status.INFEASIBLE, solver=self.name, message="no path leads to an end")
            return Selected(none, (), problem)
        request = self._context.prompt_format.select_request(graph.state(start), shown(graph, paths, kinds), remaining)
        [completion] = await self._context.lm.generate([replace(request, temperature=self._temperature, seed=seed)])
        assert isinstance(request.constraint, Choice)
        answer = completion.texts[0]
        if answer in request.constraint.options:
            path = paths[request.constraint.options.index(answer)]
        else:
            self._context.count_malformed("select", answer)
            path = paths[0]
        moves = [index[number] for number in path]
        message = "chosen by the LM; optimality and budgets are not checked"
        return Selected(_solution(problem, moves, self.name, message), path, problem)
