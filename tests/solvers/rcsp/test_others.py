"""The searches against a solver that shares nothing with them: integer programmes in CBC.

Integer programmes of flows are exact here where no circle can be worth it: on acyclic graphs, with negative costs and
lower limits as well, and where all costs are positive and there are no lower limits.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from solvers import available
from solvers.rcsp.problem import RcspProblem
from tests.solvers.rcsp.agreement import SEARCHES, asked, cost_of
from tests.solvers.rcsp.brute_force import Task

CBC_MISSING = next(info.reason for info in available() if info.name == "pulp:cbc")

both = pytest.mark.parametrize("search", SEARCHES)


def task(seed: int, acyclic: bool) -> Task:
    """10 to 40 nodes, 1 to 4 resources, whole numbers; the limits mostly bind."""
    rng = np.random.default_rng(seed)
    n, resources = int(rng.integers(10, 40)), int(rng.integers(1, 5))
    pairs = {tuple(sorted(pair)) if acyclic else tuple(pair) for pair in rng.integers(0, n, (4 * n, 2)).tolist()}
    ends = np.array(sorted({pair for pair in pairs if pair[0] != pair[1]} | {(v, v + 1) for v in range(n - 1)}))
    use = rng.integers(1, 10, (len(ends), resources))
    cost = rng.integers(-10 if acyclic else 1, 30, len(ends))
    upper = rng.integers(8, 30, resources).tolist()
    lower = [int(rng.integers(0, high)) if acyclic and rng.random() < 0.4 else 0 for high in upper]
    return Task(RcspProblem(n, ends[:, 0], ends[:, 1], cost, use, lower=lower, upper=upper), 1, elementary=False)


def cost_by_cbc(problem: RcspProblem) -> int | None:
    """The least cost of a flow of one unit within the limits; None if there is none."""
    import pulp

    model = pulp.LpProblem(sense=pulp.LpMinimize)
    taken = [model.add_variable(f"x{edge}", cat=pulp.LpBinary) for edge in range(problem.n_edges)]
    model += pulp.lpSum(cost * item for cost, item in zip(problem.cost.tolist(), taken, strict=True))
    for node in range(problem.n_nodes):
        away = pulp.lpSum(taken[edge] for edge in np.flatnonzero(problem.tails == node))
        here = pulp.lpSum(taken[edge] for edge in np.flatnonzero(problem.heads == node))
        model += away - here == (node == problem.source) - (node == problem.target)
    for k, (low, high) in enumerate(zip(problem.lower, problem.upper, strict=True)):
        used = pulp.lpSum(amount * item for amount, item in zip(problem.use[:, k].tolist(), taken, strict=True))
        model += used <= high
        model += used >= low
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    return round(pulp.value(model.objective)) if model.status == pulp.LpStatusOptimal else None


def same_cost(search: ModuleType, item: Task, expected: int | None) -> None:
    result = asked(search, item)
    assert [cost_of(item.problem, path) for path in result.paths] == ([] if expected is None else [expected])


@pytest.mark.skipif(bool(CBC_MISSING), reason=CBC_MISSING or "CBC runs")
@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(20), marks=pytest.mark.slow),
        pytest.param(range(1000, 1100), marks=pytest.mark.soak),
    ],
)
@both
def test_the_same_costs_as_cbc(search: ModuleType, seeds: range) -> None:
    for seed in seeds:
        item = task(seed, acyclic=bool(seed % 2))
        same_cost(search, item, cost_by_cbc(item.problem))
