"""Selectors that replace the solver: the LM (the ablation of TAPE table 2) and the best single plan (Best-of-N)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import solvers
from experiments.ablations.offered import chains, offered, prefixes, shown
from solvers import PathProblem, PathSolution, Status
from tape.choice.graph import PlanGraph
from tape.choice.graph_problem import PathQuery
from tape.engine.context import RoleContext
from tape.engine.episode import Episode
from tape.engine.select import Selection, reaches_goal, stages
from tape.lm.base import OneOf
from tape.seeds import derive


class PlanSelector:
    """The best single plan that keeps every budget: plans are rolled out and scored, but not recombined (Best-of-N).

    It admits only paths along one sampled plan (:func:`experiments.ablations.offered.chains`). Objective and preference
    for confident predictions are those of the solver.

    Args:
        discount: In (0, 1].
        cautious: As of :class:`tape.engine.select.SolverSelector`.
    """

    name = "best_plan"
    recombines = False

    @classmethod
    def of(cls, episode: Episode) -> PlanSelector:
        """The selector of an episode."""
        switches = episode.config.ablations
        return cls(switches.discount, cautious=switches.cautious)

    def __init__(self, discount: float = 1.0, *, cautious: bool = False) -> None:
        self._discount, self._cautious = discount, cautious

    async def select(
        self, graph: PlanGraph, start: str, remaining: Mapping[str, int], horizon: int, *, any_end: bool = False
    ) -> Selection:
        """Compare the plans' paths; INFEASIBLE if none of them fits."""
        plans = chains(graph, start)
        asked = PathQuery(start, remaining, horizon, self._discount, graph.objective, any_end=any_end)
        for confidence, problem, ids in stages(graph, asked, cautious=self._cautious):
            solution = self._best(graph, plans, problem, ids, horizon)
            selection = Selection(solution, tuple(ids[e] for e in solution.edges), problem, confidence)
            if reaches_goal(graph, selection.path):
                break
        return selection

    def _best(
        self, graph: PlanGraph, plans: Sequence[tuple[int, ...]], problem: PathProblem, ids: Sequence[int], horizon: int
    ) -> PathSolution:
        """The best beginning of a plan that the problem allows."""
        index = {number: move for move, number in enumerate(ids)}
        ends = {*_ends(graph, problem, ids)}
        paths = [path for path in prefixes(graph, plans, ends) if len(path) <= horizon]
        moves = [tuple(index[number] for number in path) for path in paths if index.keys() >= {*path}]
        fitting = [numbers for numbers in moves if _fits(problem, numbers)]
        if not fitting:
            return PathSolution(Status.INFEASIBLE, solver=self.name, message="no sampled plan fits")
        # max() keeps the first of equals.
        return _solution(problem, max(fitting, key=lambda numbers: solvers.objective_of(problem, numbers)), self.name)


def _ends(graph: PlanGraph, problem: PathProblem, ids: Sequence[int]) -> list[str]:
    """The nodes at which a path may end; a problem may have twins of them."""
    heads = zip(ids, problem.edges, strict=True)
    ends = {graph.edge(number).target for number, (_, head) in heads if head in problem.terminals}
    return [node for node in graph.nodes if node in ends]


def _fits(problem: PathProblem, moves: Sequence[int]) -> bool:
    used = solvers.consumption_of(problem, moves)
    return all(count <= left for count, left in zip(used, problem.budgets, strict=True))


def _solution(problem: PathProblem, moves: Sequence[int], name: str, message: str = "") -> PathSolution:
    """The solution for a path that was chosen without a proof."""
    return PathSolution(
        Status.FEASIBLE,
        edges=tuple(moves),
        nodes=(problem.start, *(problem.edges[move][1] for move in moves)),
        objective=solvers.objective_of(problem, moves),
        consumption=solvers.consumption_of(problem, moves),
        solver=name,
        message=message,
    )


class GreedySelector:
    """No exact choice: the most promising plan, each call by the best variant that leaves enough for the rest.

    What is left has to pay the cheapest variants of all calls that come after.
    """

    name = "greedy"
    recombines = False

    async def select(
        self, graph: PlanGraph, start: str, remaining: Mapping[str, int], horizon: int, *, any_end: bool = False
    ) -> Selection:
        """Choose the variants of one plan in turn; INFEASIBLE if even the cheapest do not fit."""
        problem, ids = graph.path_problem(start, remaining, horizon, objective=graph.objective, any_end=any_end)
        index, usable = {number: move for move, number in enumerate(ids)}, graph.usable_edges()
        plans = [plan for plan in chains(graph, start) if plan and index.keys() >= {*plan}]
        none = PathSolution(Status.INFEASIBLE, solver=self.name, message="the cheapest calls do not fit")
        if not plans:
            return Selection(none, (), problem)
        plan = max(plans, key=lambda numbers: float(graph.attributes(graph.edge(numbers[-1]).target)["reward"]))
        steps = [
            [e for e in usable if (e.source, e.target) == (edge.source, edge.target)] for edge in map(graph.edge, plan)
        ]
        left, path = dict(remaining), list[int]()
        for number, options in enumerate(steps):
            rest = {kind: sum(min(e.cost[kind] or 0 for e in later) for later in steps[number + 1 :]) for kind in left}
            fitting = [e for e in options if all((e.cost[kind] or 0) + rest[kind] <= left[kind] for kind in left)]
            if not fitting:
                return Selection(none, (), problem)
            chosen = max(fitting, key=lambda edge: edge.chance)
            left = {kind: count - (chosen.cost[kind] or 0) for kind, count in left.items()}
            path.append(chosen.id)
        return Selection(_solution(problem, [index[number] for number in path], self.name), tuple(path), problem)


class LmSelector:
    """The LM picks among paths of the graph on which the solver would select; no budget is checked.

    Its prompt has the paths with their scores and costs, and the remaining budget, if the prompt format can write them
    (:func:`tape.protocols.prompt_format.offered_text`). Its path is reported as FEASIBLE, without a proof. Formats of
    Sokoban, of tools and of declared worlds have such a prompt.

    Args:
        context: The episode's model and prompts.
        temperature: Sampling temperature.
        seed: Seed of its choices, and of which random paths it is offered in which order.
    """

    recombines = True

    @classmethod
    def of(cls, episode: Episode) -> LmSelector:
        """The selector of an episode."""
        return cls(episode.roles, episode.config.temperature, episode.seed_for("select"))

    def __init__(self, context: RoleContext, temperature: float, seed: int) -> None:
        self.name = f"lm:{context.lm.name}"
        self._context, self._temperature, self._seed = context, temperature, seed
        self._asked = 0

    async def select(
        self, graph: PlanGraph, start: str, remaining: Mapping[str, int], horizon: int, *, any_end: bool = False
    ) -> Selection:
        """Offer paths of the graph (:func:`experiments.ablations.offered.offered`); take the model's choice."""
        problem, ids = graph.path_problem(start, remaining, horizon, objective=graph.objective, any_end=any_end)
        index = {number: move for move, number in enumerate(ids)}
        ends = _ends(graph, problem, ids)
        seed = derive(self._seed, self._asked) if self._asked else self._seed
        self._asked += 1
        kinds = sorted(remaining)
        paths = offered(graph, start, ends, kinds, horizon, random.Random(f"offer:{seed}"))
        if not paths:
            none = PathSolution(Status.INFEASIBLE, solver=self.name, message="no path leads to an end")
            return Selection(none, (), problem)
        request = self._context.prompt_format.select_request(graph.state(start), shown(graph, paths, kinds), remaining)
        [completion] = await self._context.lm.generate([replace(request, temperature=self._temperature, seed=seed)])
        assert isinstance(request.constraint, OneOf)
        answer = completion.texts[0]
        if answer in request.constraint.options:
            path = paths[request.constraint.options.index(answer)]
        else:
            self._context.count_malformed("select", answer)
            path = paths[0]
        moves = [index[number] for number in path]
        message = "chosen by the LM; optimality and budgets are not checked"
        return Selection(_solution(problem, moves, self.name, message), path, problem)
