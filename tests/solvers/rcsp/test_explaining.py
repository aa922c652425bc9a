"""Where no path keeps all limits: which one is short, and amounts that do."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from solvers import RcspProblem, ShortestPath, Status, shortest_path
from solvers.rcsp import solving
from solvers.rcsp.folded import Folded
from solvers.rcsp.found import Ending, Found
from tests.solvers.rcsp.test_shortest import commute


def explained(limits: dict[str, Any], source: str = "home", target: str = "office") -> ShortestPath:
    path = shortest_path(commute(), source, target, limits, cost="usd")
    assert (path.status, path.nodes) == ("INFEASIBLE", ())
    return path


def test_one_limit_that_no_path_keeps() -> None:
    explanation = explained({"time": 10}).explanation
    assert explanation is not None
    (need,) = explanation.needs
    assert (need.given, need.alone, need.with_others, need.excludes, need.proven) == (10, 12, 12, True, True)
    assert explanation.text() == "time: 10 is given, every path takes 12 at least; 12 would do"


def test_limits_that_are_short_of_each_other() -> None:
    explanation = explained({"time": 15, "usd": 10}).explanation
    assert explanation is not None
    assert [(need.resource, need.alone, need.with_others) for need in explanation.needs] == [
        ("time", 12, 20),
        ("usd", 3.0, 24.0),
    ]
    assert explanation.text().splitlines() == [
        "time: 15 is given; 20 would do with the other limits as given",
        "usd: 10 is given; 24.0 would do with the other limits as given",
    ]


def test_a_lower_limit() -> None:
    explanation = explained({"time": (100, None), "usd": 10}).explanation
    assert explanation is not None
    assert explanation.text() == "time: 100 is asked for, no path takes more than 35; 35 would do"
    assert [need.limit for need in explanation.needs] == ["lower", "upper"]


def test_no_change_of_one_limit_is_enough() -> None:
    explanation = explained({"time": 2, "usd": 1}).explanation
    assert explanation is not None
    assert explanation.together is not None
    assert explanation.text().splitlines()[-1].startswith("Raising one limit is not enough; raising these together is:")
    again = shortest_path(commute(), "home", "office", dict(explanation.together), cost="usd")
    assert again.status == "OPTIMAL"


def test_no_way_at_all() -> None:
    path = explained({"time": 10}, "office", "home")
    assert path.message == "no edges lead from the source to the target"
    assert path.explanation is not None
    assert path.explanation.text() == "No edges lead from the source to the target, whatever the limits."
    assert not path.explanation.reachable


def test_limits_that_nothing_keeps() -> None:
    path = explained({"time": (30, 20)})
    assert path.message == "nothing keeps the limits 30 to 20 of time"
    assert path.explanation is not None
    assert [(need.limit, need.alone, need.with_others) for need in path.explanation.needs] == [
        ("upper", 12, 35),
        ("lower", 35, 20),
    ]
    hopeless = explained({"time": (30, 20)}, "office", "home").explanation
    assert hopeless is not None
    assert not hopeless.reachable


def test_as_much_as_one_likes() -> None:
    edges = [(0, 1, {"cost": 1, "t": 1, "u": 1}), (1, 0, {"cost": 1, "t": 1, "u": 0})]
    explanation = shortest_path(edges, 0, 1, {"t": (4, None), "u": 1}).explanation
    assert explanation is not None
    assert [(need.resource, need.alone, need.with_others) for need in explanation.needs] == [
        ("t", None, 1),
        ("u", 1, 3),
    ]


def test_what_is_told_is_true() -> None:
    """What would do does, and one less does not."""
    told = 0
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
            others = {name: limit for name, limit in limits.items() if name != need.resource}
            for rest, value in (({}, need.alone), (others, need.with_others)):
                for given, status in ((value, "OPTIMAL"), (None if value is None else value - 1, "INFEASIBLE")):
                    again = shortest_path(edges, 0, n - 1, rest | {need.resource: given}, elementary=elementary)
                    assert again.status == ("INFEASIBLE" if value is None else status)
            told += need.with_others is not None
        if explanation and explanation.together:
            assert all(need.with_others is None for need in explanation.needs)
            assert shortest_path(edges, 0, n - 1, limits | explanation.together).status == "OPTIMAL"
    assert told > 30


def test_as_json() -> None:
    explanation = explained({"time": 15, "usd": 10}).explanation
    assert explanation is not None
    data = json.loads(json.dumps(explanation.to_dict()))
    assert data["needs"][0] == {
        "resource": "time",
        "limit": "upper",
        "given": 15,
        "alone": 12,
        "with_others": 20,
        "proven": True,
        "excludes": False,
    }
    assert data["text"] == str(explanation)


def test_time_that_is_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    path = explained({"time": 15, "usd": 10})

    def slow(folded: Folded, *_: object) -> Found:
        return Found(Ending.OUT_OF_TIME, [], None, 0, 0.0)

    monkeypatch.setattr(solving, "search", lambda: slow)
    assert path.explanation is not None
    assert path.explanation.text().splitlines() == [
        "time: 15 is given; what would do is not known, for the time was up",
        "usd: 10 is given; what would do is not known, for the time was up",
    ]
    assert path.explanation is path.explanation  # found once


def test_amounts_of_nodes_count() -> None:
    problem = RcspProblem(2, [0], [1], [1], [[2]], node_use=[[3], [4]], upper=[8])
    explanation = shortest_path(problem).explanation
    assert explanation is not None
    assert explanation.needs[0].with_others == 9
    assert shortest_path(problem, limits={"r0": 9}).status is Status.OPTIMAL
