"""Proofs of frontiers: those that are whole are accepted, and of one with a path less or a worse one none is."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from solvers import PathProblem, frontier
from solvers.check_proof import ProofError, check
from solvers.frontier_proof import prove_frontier
from solvers.proof import NoProofError
from solvers.testing.instances import small, tight
from tests.figures import record


def drawn(seed: int) -> tuple[PathProblem, tuple[str, ...]]:
    """A problem and criteria: with the objective or without, of one resource or several."""
    rng = random.Random(seed)
    made = small(seed) if seed % 2 else tight(seed)
    if rng.random() < 0.5:
        made = replace(made, objective="visit", discount=1.0)
    resources = list(made.resources)
    rng.shuffle(resources)
    criteria = [*resources[: rng.randint(0, min(3, len(resources)))], *(["objective"] if rng.random() < 0.8 else [])]
    return made, tuple(criteria)


def corrupted(rng: random.Random, data: dict[str, Any]) -> dict[str, Any]:
    """A proof that leaves a path out, or a box, or claims other caps or another best path of one."""
    made: dict[str, Any] = json.loads(json.dumps(data))
    points, boxes = made["points"], made["boxes"]
    kind = rng.randrange(5)
    if kind == 0 and points:
        del points[rng.randrange(len(points))]
    elif kind == 1 and boxes:
        del boxes[rng.randrange(len(boxes))]
    elif kind == 2 and boxes:
        box = rng.choice(boxes)
        box["caps"][rng.randrange(len(box["caps"]))] += rng.choice([-1, 1, 3, 10**20])
    elif kind == 3 and boxes and points:
        rng.choice(boxes)["best"] = rng.choice([None, 0, len(points) - 1, len(points), -1, True])
    elif points:
        points.append(rng.choice(points))
    return made


def trial(seed: int) -> bool:
    """Whether there was a frontier with its proof, of which no corrupted one shows another frontier."""
    problem, criteria = drawn(seed)
    if len(criteria) < 2 or problem.is_risky:
        return False
    whole = frontier(problem, criteria)
    try:
        proof = prove_frontier(problem, whole)
    except NoProofError:  # only the horizon keeps better paths away
        assert problem.objective == "visit", seed
        return False
    said = proof.check()
    assert said.startswith(f"proven: a frontier of {len(whole)} paths in {' and '.join(criteria)}"), seed
    rng = random.Random(seed)
    for _ in range(5):
        changed = corrupted(rng, dict(proof.data))
        try:
            again = check(proof.problem, json.dumps(changed))
        except ProofError:
            continue
        assert again == said, (seed, changed)
        assert sorted(map(tuple, changed["points"])) == sorted(map(tuple, proof.data["points"])), (seed, changed)
    return True


@pytest.mark.parametrize(
    "seeds",
    [range(250), *(pytest.param(range(n, n + 2_000), marks=pytest.mark.soak) for n in range(250, 10_250, 2_000))],
)
def test_whole_frontiers_are_proven_and_no_other(seeds: range) -> None:
    proven = sum(map(trial, seeds))
    assert proven > 0.25 * len(seeds)
    record("proofs", f"frontiers from {seeds[0]}", problems=len(seeds), proven=proven, changed=5 * proven, false=0)


CHAIN = PathProblem(
    3, [(0, 1), (1, 2), (0, 2)], rewards=[0, 2, 1], costs=[[4], [2], [1]], budgets=[9], start=0, terminals=[2],
    objective="visit",
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"criteria": ["r0", "r0", "objective"]}, "a criterion is named twice"),
        ({"criteria": ["r1", "objective"]}, "criteria are a list of names"),
        ({"criteria": "objective"}, "criteria are a list of names"),
        ({"criteria": ["objective"]}, "is no better than another"),
        ({"points": [[2], [0, 1], [2]]}, "is no better than another"),
        ({"points": [[0], [0, 1]]}, "ends where none may end"),
        ({"boxes": []}, "a path may be missing"),
        ({"asked": {"budgets": {}, "start": 1}}, "asked for budgets and layers alone"),
    ],
)
def test_what_a_frontier_lacks_is_said(change: dict[str, Any], why: str) -> None:
    proof = prove_frontier(CHAIN, frontier(CHAIN, ("r0", "objective")))
    with pytest.raises(ProofError, match=why):
        check(proof.problem, json.dumps({**proof.data, **change}))
    graph = json.dumps({**json.loads(proof.problem), "kind": "plan_graph", "schema": "x", "nodes": [], "links": []})
    with pytest.raises(ProofError):
        check(graph, json.dumps(proof.data))


def test_a_frontier_that_lacks_a_path_or_was_cut_short_has_no_proof() -> None:
    whole = frontier(CHAIN, ("r0", "objective"))
    with pytest.raises(NoProofError, match="there is a better path"):
        prove_frontier(CHAIN, replace(whole, solutions=whole.solutions[:1]))
    with pytest.raises(NoProofError, match="cut short"):
        prove_frontier(CHAIN, frontier(CHAIN, ("r0", "objective"), most=1))
