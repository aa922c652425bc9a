"""General solvers with the model that their users write: integer programmes over arcs, and a dynamic programme."""

from __future__ import annotations

import heapq
import math
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from experiments.benches.rcsp.competitors import INFEASIBLE, OPTIMAL, TIMEOUT, Answer, Competitor, Instance

Arcs = Sequence[tuple[int, int, float, list[float]]]


class _OverArcs(Competitor):
    """An integer programme with a binary variable for each arc, flow conservation, and K sums.

    Nothing forbids circles apart from the path: where no cost is negative and there is no lower limit they help nobody,
    and where there are no circles none can be; other instances are left out (`unfit`).
    """

    def given(self, instance: Instance) -> Any:
        """The arcs, the limits, and what the source costs."""
        limits = list(zip(instance.lower, instance.upper, strict=True))
        return instance.useful_arcs, limits, instance.problem.source, instance.problem.target, instance.offset


def _ends(arcs: Arcs, source: int, target: int) -> dict[int, tuple[list[int], list[int]]]:
    """By node: the positions of the arcs that enter, and of those that leave."""
    found: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for index, (tail, head, _, _) in enumerate(arcs):
        found[tail][1].append(index)
        found[head][0].append(index)
    for end in (source, target):
        found[end]  # a node without arcs makes the model infeasible, as it should
    return found


def _surplus(node: int, source: int, target: int) -> int:
    """How many more arcs of a path leave the node than enter it."""
    return (node == source) - (node == target)


class CpSat(_OverArcs):
    """CP-SAT of OR-Tools with two workers."""

    name: ClassVar[str] = "cp-sat:2"
    package: ClassVar[str] = "ortools"
    module: ClassVar[str] = "ortools.sat.python.cp_model"
    method: ClassVar[str] = "constraint programming on arc variables, two workers"

    def unfit(self, instance: Instance) -> str | None:
        """It counts in integers."""
        whole = all(np.asarray(rows).dtype.kind == "i" for rows in (instance.problem.cost, instance.problem.use))
        return super().unfit(instance) if whole else "it counts in integers"

    def answer(self, given: Any, limit: float) -> Answer:
        """The model, and the search."""
        from ortools.sat.python import cp_model

        arcs, limits, source, target, offset = given
        model = cp_model.CpModel()
        taken = [model.new_bool_var("") for _ in arcs]
        for node, (entering, leaving) in _ends(arcs, source, target).items():
            out, into = sum(taken[i] for i in leaving), sum(taken[i] for i in entering)
            model.add(out - into == _surplus(node, source, target))
        for k, (lower, upper) in enumerate(limits):
            used = cp_model.LinearExpr.weighted_sum(taken, [int(arc[3][k]) for arc in arcs])
            if upper < math.inf:
                model.add(used <= math.floor(upper))
            if lower > 0:
                model.add(used >= math.ceil(lower))
        model.minimize(cp_model.LinearExpr.weighted_sum(taken, [int(arc[2]) for arc in arcs]))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 2
        solver.parameters.max_time_in_seconds = limit
        began = time.perf_counter()
        status = solver.solve(model)
        seconds = time.perf_counter() - began
        if status == cp_model.OPTIMAL:
            return Answer(OPTIMAL, round(solver.objective_value) + offset, seconds)
        return Answer(INFEASIBLE if status == cp_model.INFEASIBLE else TIMEOUT, None, seconds)


class Cbc(_OverArcs):
    """PuLP with the CBC that it brings: as PuLP works, the model goes through a file to another process."""

    name: ClassVar[str] = "pulp:cbc"
    package: ClassVar[str] = "pulp"
    module: ClassVar[str] = "pulp"
    method: ClassVar[str] = "integer programme over arcs"

    def answer(self, given: Any, limit: float) -> Answer:
        """The model, and the search."""
        import pulp

        arcs, limits, source, target, offset = given
        model = pulp.LpProblem("rcsp", pulp.LpMinimize)
        taken = [pulp.LpVariable(f"x{i}", cat=pulp.LpBinary) for i in range(len(arcs))]
        model += pulp.lpSum(arc[2] * variable for arc, variable in zip(arcs, taken, strict=True) if arc[2])
        for node, (entering, leaving) in _ends(arcs, source, target).items():
            out, into = pulp.lpSum(taken[i] for i in leaving), pulp.lpSum(taken[i] for i in entering)
            model += out - into == _surplus(node, source, target)
        for k, (lower, upper) in enumerate(limits):
            used = pulp.lpSum(arc[3][k] * variable for arc, variable in zip(arcs, taken, strict=True) if arc[3][k])
            if upper < math.inf:
                model += used <= upper
            if lower > 0:
                model += used >= lower
        solver = pulp.PULP_CBC_CMD(msg=False, timeLimit=limit, gapRel=0.0, gapAbs=0.0)
        began = time.perf_counter()
        model.solve(solver)
        seconds = time.perf_counter() - began
        if model.sol_status == pulp.LpSolutionOptimal:
            return Answer(OPTIMAL, round(float(pulp.value(model.objective) or 0.0), 6) + offset, seconds)
        return Answer(INFEASIBLE if model.status == pulp.LpStatusInfeasible else TIMEOUT, None, seconds)


class Highs(_OverArcs):
    """HiGHS through highspy, given the whole matrix at once."""

    name: ClassVar[str] = "highs"
    package: ClassVar[str] = "highspy"
    module: ClassVar[str] = "highspy"
    method: ClassVar[str] = "integer programme over arcs"

    def answer(self, given: Any, limit: float) -> Answer:
        """The model, and the search."""
        import highspy

        arcs, limits, source, target, offset = given
        rows = _ends(arcs, source, target)
        place = {node: row for row, node in enumerate(rows)}
        surplus = [float(_surplus(node, source, target)) for node in rows]
        starts, index, values = [0], [], []
        for tail, head, _, use in arcs:
            if tail != head:
                index += [place[tail], place[head]]
                values += [1.0, -1.0]
            for k, amount in enumerate(use):
                if amount:
                    index.append(len(rows) + k)
                    values.append(float(amount))
            starts.append(len(index))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(arcs), len(rows) + len(limits)
        model.col_cost_ = np.array([arc[2] for arc in arcs], dtype=np.double)
        model.col_lower_, model.col_upper_ = np.zeros(len(arcs)), np.ones(len(arcs))
        model.row_lower_ = np.array(surplus + [lower if lower > 0 else -highspy.kHighsInf for lower, _ in limits])
        model.row_upper_ = np.array(surplus + [min(upper, highspy.kHighsInf) for _, upper in limits])
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = np.array(starts, dtype=np.int32)
        model.a_matrix_.index_ = np.array(index, dtype=np.int32)
        model.a_matrix_.value_ = np.array(values, dtype=np.double)
        model.integrality_ = [highspy.HighsVarType.kInteger] * len(arcs)
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("time_limit", limit)
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.setOptionValue("mip_abs_gap", 0.0)
        solver.passModel(model)
        began = time.perf_counter()
        solver.run()
        seconds = time.perf_counter() - began
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal:
            return Answer(OPTIMAL, round(solver.getObjectiveValue(), 6) + offset, seconds)
        return Answer(INFEASIBLE if status == highspy.HighsModelStatus.kInfeasible else TIMEOUT, None, seconds)


class Didp(Competitor):
    """didppy: dynamic programmes over states. A state is a node and what was used, and less used is better.

    Transition i takes the i-th arc out of a node, by tables over the nodes, and the costs of the cheapest paths to the
    target, limits aside, are the bound that its documentation asks for. Three of its searches are exact here; one of
    them is called a resource-constrained shortest path search.
    """

    name: ClassVar[str] = "didppy"
    package: ClassVar[str] = "didppy==0.11.1"
    module: ClassVar[str] = "didppy"
    method: ClassVar[str] = "dynamic programme over states: labelling, A* or beam search, whichever is fastest"

    def unfit(self, instance: Instance) -> str | None:
        """Dominance has to hold, and costs are integers."""
        if any(instance.lower):
            return "with lower limits, less used is not better"
        whole = all(np.asarray(rows).dtype.kind == "i" for rows in (instance.problem.cost, instance.problem.use))
        return super().unfit(instance) if whole else "integers only in this model"

    def given(self, instance: Instance) -> Any:
        """The arcs, the limits, and what the source costs."""
        problem = instance.problem
        return problem.n_nodes, instance.useful_arcs, instance.upper, problem.source, problem.target, instance.offset

    def answer(self, given: Any, limit: float) -> Answer:
        """The model, and the search."""
        import didppy

        n, arcs, uppers, source, target, offset = given
        out: list[list[tuple[int, int, float, list[float]]]] = [[] for _ in range(n)]
        for arc in arcs:
            out[arc[0]].append(arc)
        model = didppy.Model()
        places = model.add_object_type(number=n)
        node = model.add_element_var(object_type=places, target=source)
        used = [model.add_int_resource_var(target=0, less_is_better=True) for _ in uppers]
        model.add_base_case([node == target])
        degrees = model.add_element_table([len(leaving) for leaving in out])
        stay = [0] * n
        for i in range(max((len(leaving) for leaving in out), default=0)):
            ways = [leaving[i] if i < len(leaving) else (0, 0, 0, stay) for leaving in out]
            heads = model.add_element_table([way[1] for way in ways])
            costs = model.add_int_table([int(way[2]) for way in ways])
            amounts = [model.add_int_table([int(way[3][k]) for way in ways]) for k in range(len(uppers))]
            after = [spent + table[node] for spent, table in zip(used, amounts, strict=True)]
            within = [then <= math.floor(upper) for then, upper in zip(after, uppers, strict=True) if upper < math.inf]
            effects = [(node, heads[node]), *zip(used, after, strict=True)]
            cost = costs[node] + didppy.IntExpr.state_cost()
            model.add_transition(
                didppy.Transition(name=str(i), cost=cost, effects=effects, preconditions=[degrees[node] > i, *within])
            )
        model.add_dual_bound(model.add_int_table(_ahead(n, arcs, target))[node])
        solver = getattr(didppy, self.variant)(model, time_limit=limit, quiet=True)
        began = time.perf_counter()
        found = solver.search()
        seconds = time.perf_counter() - began
        if found.is_optimal:
            return Answer(OPTIMAL, found.cost + offset, seconds)
        return Answer(INFEASIBLE if found.is_infeasible else TIMEOUT, None, seconds)


def _ahead(n: int, arcs: Arcs, target: int) -> list[int]:
    """The least cost from each node to the target, limits aside; more than any path's from where none leads there."""
    into: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for tail, head, cost, _ in arcs:
        into[head].append((tail, cost))
    none = int(sum(max(0, arc[2]) for arc in arcs)) + 1
    best: list[float] = [none] * n
    best[target] = 0
    queue: list[tuple[float, int]] = [(0, target)]
    while queue:
        so_far, node = heapq.heappop(queue)
        if so_far > best[node]:
            continue
        for tail, cost in into[node]:
            if so_far + cost < best[tail]:
                best[tail] = so_far + cost
                heapq.heappush(queue, (best[tail], tail))
    return [int(value) for value in best]
