"""Where no path keeps all limits: which one is short, and amounts that do."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from solvers import RcspProblem, ShortestPath, Status, shortest_path
from solvers.found import Ending, Found
from solvers.rcsp import solving
from solvers.rcsp.explaining import RcspExplanation
from solvers.rcsp.folded import Folded
from tests.solvers.rcsp.test_shortest import commute


def infeasible(
    limits: dict[str, Any], source: str = "home", target: str = "office"
) -> tuple[ShortestPath, RcspExplanation]:
    path = shortest_path(commute(), source, target, limits, cost="usd")
    assert (path.status, path.nodes) == ("INFEASIBLE", ())
    assert path.explanation is not None
    return path, path.explanation


@pytest.mark.parametrize(
    ("limits", "needs", "text"),
    [
        (
            {"time": 10},
            [("time", "upper", 10, 12, 12, True, True)],
            "time is short: 10 given, 12 would do, everything else unchanged.",
        ),
        (
            {"time": 15, "usd": 10},
            [("time", "upper", 15, 20, 12, True, False), ("usd", "upper", 10, 24.0, 3.0, True, False)],
            "time is short: 15 given, 20 would do, everything else unchanged.\n"
            "usd is short: 10 given, 24.0 would do, everything else unchanged.",
        ),
        (
            {"time": (100, None), "usd": 10},
            [("time", "lower", 100, 35, 35, True, True), ("usd", "upper", 10, None, 3.0, True, False)],
            "time has too high a lower limit: 100 given, 35 would do, everything else unchanged.\n"
            "No amount of usd alone would do.",
        ),
    ],
)
def test_limits_that_are_short(limits: dict[str, Any], needs: list[tuple[Any, ...]], text: str) -> None:
    _, explanation = infeasible(limits)
    assert [
        (need.limit, need.side, need.given, need.least, need.alone, need.proven, need.excludes)
        for need in explanation.needs
    ] == needs
    assert explanation.text() == text
    data = json.loads(json.dumps(explanation.to_dict()))
    assert [tuple(need.values()) for need in data["needs"]] == needs
    assert data["text"] == text


def test_no_change_of_one_limit_is_enough() -> None:
    _, explanation = infeasible({"time": 2, "usd": 1})
    assert explanation.together is not None
    last = explanation.text().splitlines()[-1]
    assert last.startswith("Together ")
    assert last.endswith(" would do; none of these can be less while the others stay.")
    again = shortest_path(commute(), "home", "office", dict(explanation.together), cost="usd")
    assert again.status == "OPTIMAL"


def test_no_way_at_all() -> None:
    path, explanation = infeasible({"time": 10}, "office", "home")
    assert path.message == "no edges lead from the source to the target"
    assert explanation.text() == "No edges lead from the source to the target, whatever the limits."
    assert not explanation.reachable


def test_limits_that_nothing_keeps() -> None:
    path, explanation = infeasible({"time": (30, 20)})
    assert path.message == "nothing keeps the limits 30 to 20 of time"
    assert [(need.side, need.given, need.alone, need.least) for need in explanation.needs] == [
        ("upper", 20, 12, 35),
        ("lower", 30, 35, 20),
    ]
    assert not infeasible({"time": (30, 20)}, "office", "home")[1].reachable


def test_as_much_as_one_likes() -> None:
    edges = [(0, 1, {"cost": 1, "t": 1, "u": 1}), (1, 0, {"cost": 1, "t": 1, "u": 0})]
    explanation = shortest_path(edges, 0, 1, {"t": (4, None), "u": 1}).explanation
    assert [(need.limit, need.alone, need.least) for need in explanation.needs] == [
        ("t", None, 1),
        ("u", 1, 3),
    ]


def test_every_claim_is_true() -> None:
    """What would do does, and one less does not."""
    relaxed = 0
    for seed in range(120):
        rng = random.Random(seed)
        n = rng.randint(2, 7)
        edges = [
            (rng.randrange(n), rng.randrange(n), {name: rng.randint(1, 9) for name in ("cost", "a", "b", "c")})
            for _ in range(rng.randint(n, 3 * n))
        ]
        edges.append((0, n - 1, {"cost": 1, "a": 30, "b": 30, "c": 30}))
        limits = {name: rng.randint(1, 15) for name in ("a", "b", "c")}
        elementary = rng.random() < 0.5
        explanation = shortest_path(edges, 0, n - 1, limits, elementary=elementary).explanation
        for need in explanation.needs if explanation else ():
            assert need.proven
            others = {name: limit for name, limit in limits.items() if name != need.limit}
            for rest, value in (({}, need.alone), (others, need.least)):
                for given, status in ((value, "OPTIMAL"), (None if value is None else value - 1, "INFEASIBLE")):
                    again = shortest_path(edges, 0, n - 1, rest | {need.limit: given}, elementary=elementary)
                    assert again.status == ("INFEASIBLE" if value is None else status)
            relaxed += need.least is not None
        if explanation and explanation.together:
            assert all(need.least is None for need in explanation.needs)
            raised = limits | explanation.together
            assert shortest_path(edges, 0, n - 1, raised, elementary=elementary).status == "OPTIMAL"
            assert explanation.minimal
            for name, amount in explanation.together.items():
                less = shortest_path(edges, 0, n - 1, raised | {name: amount - 1}, elementary=elementary)
                assert less.status == "INFEASIBLE"
    assert relaxed > 30


def test_time_that_is_up_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    path = shortest_path(commute(), "home", "office", {"time": 15, "usd": 10}, cost="usd")

    def slow(folded: Folded, *_: object) -> Found:
        return Found(Ending.OUT_OF_TIME, [], None, 0, 0.0)

    monkeypatch.setattr(solving, "search", slow)
    assert path.explanation.text().splitlines() == [
        "Whether more time alone would do is open.",
        "Whether more usd alone would do is open.",
    ]
    assert path.explanation is path.explanation  # found once


def test_amounts_of_nodes_count() -> None:
    problem = RcspProblem(2, [0], [1], [1], [[2]], node_use=[[3], [4]], upper=[8])
    explanation = shortest_path(problem).explanation
    assert explanation.needs[0].least == 9
    assert shortest_path(problem, limits={"r0": 9}).status is Status.OPTIMAL
