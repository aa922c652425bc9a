"""The NumPy path: its beam, its deadline, and dominance; `test_labelling.py` holds it against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from solvers import Status, check, solve
from solvers.numpy_dominance import undominated
from solvers.testing import layered, tight
from tests.solvers.reference import Countdown, Reference, same_path_as_brute_force


@pytest.mark.parametrize("block", range(4))
def test_a_narrow_beam_comes_to_the_same_path(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.numpy_labelling._FIRST_WIDTH", 1)
    monkeypatch.setattr("solvers.numpy_labelling._GROWTH", 2)
    for seed in range(2000 + block * 25, 2000 + block * 25 + 25):
        same_path_as_brute_force(tight(seed), Reference())


def test_a_stopped_search_claims_no_more_than_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.numpy_labelling._FIRST_WIDTH", 4)
    problem = layered(3, n=40, horizon=15)
    truth, ends = solve(problem, "cp-sat").objective, set()
    assert truth is not None
    for looks in range(0, 600, 10):
        monkeypatch.setattr("solvers.numpy_labelling.Deadline", lambda seconds, looks=looks: Countdown(looks))
        solution = solve(problem, Reference(), time_limit=1.0)
        assert check(problem, solution) == []
        assert solution.bound is not None
        assert solution.bound >= truth - 1e-6
        assert looks or (solution.status, solution.has_path) == (Status.TIMEOUT, False)
        ends.add(solution.status)
    assert ends == {Status.TIMEOUT, Status.FEASIBLE, Status.OPTIMAL}


@pytest.mark.parametrize("resources", [1, 2, 3])
def test_dominance_drops_only_what_another_label_covers(resources: int) -> None:
    rng = np.random.default_rng(resources)
    for _ in range(50):
        count = int(rng.integers(1, 40))
        nodes, scores = rng.integers(0, 3, count), rng.integers(0, 4, count)
        used = rng.integers(0, 4, (count, resources))
        kept = undominated(nodes, scores, used)
        covered = [
            any(
                nodes[a] == nodes[b] and (used[b] <= used[a]).all() and (scores[b], -b) > (scores[a], -a)
                for b in range(count)
            )
            for a in range(count)
        ]
        assert kept.tolist() == [a for a in range(count) if not covered[a]]
