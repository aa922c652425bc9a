"""The benchmark of shortest paths: competitors answer right, instances are what they say, sums are sums, it resumes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.benches.rcsp import __main__ as bench
from experiments.benches.rcsp.catalogue import entries, entry
from experiments.benches.rcsp.competitors import INFEASIBLE, OPTIMAL, Competitor, Instance
from experiments.benches.rcsp.generate import TIGHTNESS, large_specs, limited, specs
from experiments.benches.rcsp.ours import GRAPH, Ours, inside
from experiments.benches.rcsp.registry import (
    BOOST,
    COMPETITORS,
    CSPY,
    GENERATED,
    LARGE,
    LIBRARY,
    OURS,
    ROAD,
    TOGETHER,
    competes,
)
from experiments.benches.rcsp.report import markdown
from experiments.benches.rcsp.road import HEIGHT, STREETS, TRIPS, WIDTH, arcs
from experiments.benches.rcsp.running import jobs
from experiments.benches.rcsp.summary import SEARCH, WHOLE, compare, comparisons, disagreements, targets
from experiments.benches.rcsp.table import rcsp_text
from experiments.benches.rows import ROWS
from solvers import RcspProblem, Status, read_rcsp, shortest_path

TINY = "4 5 1\n0\n4\n0 0 0 0\n1 2 1 1\n2 4 1 4\n1 3 3 1\n3 4 1 2\n2 3 1 1\n"

# What is asked, and what is true: the least cost, or that there is no path.
ASKED: dict[str, tuple[RcspProblem, float | None]] = {
    "the cheapest uses too much": (
        RcspProblem(4, [0, 1, 0, 2, 1], [1, 3, 2, 3, 2], [1, 1, 3, 1, 1], [[1], [4], [1], [2], [1]], upper=[4]),
        3,
    ),
    "nodes cost and use": (
        RcspProblem(
            3, [0, 1, 0], [1, 2, 2], [1, 1, 9], [[1], [1], [1]],
            node_cost=[5, 2, 0], node_use=[[1], [4], [0]], upper=[6],
        ),
        14,
    ),
    "no limit": (RcspProblem(3, [0, 1, 0], [1, 2, 2], [1, 1, 9], [[1], [1], [1]], upper=[None]), 2),
    "a circle costs nothing": (
        RcspProblem(4, [0, 1, 2, 2], [1, 2, 1, 3], [1, 0, 0, 1], [[1], [0], [1], [1]], upper=[9]),
        2,
    ),
    "two limits, and no path keeps both": (
        RcspProblem(4, [0, 1, 0, 2], [1, 3, 2, 3], [1, 1, 1, 1], [[0, 5], [1, 0], [5, 0], [0, 1]], upper=[4, 4]),
        None,
    ),
    "no way to the target": (RcspProblem(3, [0, 2], [1, 1], [1, 1], [[0], [0]], upper=[1]), None),
}  # fmt: skip
PARALLEL = RcspProblem(3, [0, 0, 1, 1], [1, 1, 2, 2], [1, 3, 1, 2], [[9], [1], [5], [4]], upper=[6])
ALL = [one for variants in COMPETITORS.values() for one in variants]


@pytest.fixture(params=ALL, ids=lambda one: f"{one.name} {one.variant}".strip())
def competitor(request: pytest.FixtureRequest) -> Competitor:
    """Each that is installed."""
    one: Competitor = request.param
    reason = one.unavailable_reason()
    if reason is not None:
        pytest.skip(reason)
    return one


class TestCompetitors:
    @pytest.mark.parametrize("asked", ASKED)
    def test_they_say_what_is_true(self, competitor: Competitor, asked: str) -> None:
        problem, cost = ASKED[asked]
        instance = Instance(asked, "", problem)
        assert competitor.unfit(instance) is None
        answer = competitor.answer(competitor.given(instance), 20.0)
        assert (answer.status, answer.cost) == (INFEASIBLE if cost is None else OPTIMAL, cost)

    def test_parallel_arcs_are_both_there_or_the_instance_is_left_out(self, competitor: Competitor) -> None:
        instance = Instance("parallel", "", PARALLEL)
        if competitor.unfit(instance) is None:
            assert competitor.answer(competitor.given(instance), 20.0).cost == 4
        else:
            assert competitor.name == "pylgrim"

    def test_where_circles_may_pay_who_cannot_take_them_is_left_out(self, competitor: Competitor) -> None:
        # The lower limit is kept only by going round: 0 1 2 1 2 3.
        problem = RcspProblem(4, [0, 1, 2, 2], [1, 2, 1, 3], [1, 1, 1, 1], [[0], [1], [0], [0]], lower=[2], upper=[2])
        instance = Instance("round", "", problem)
        assert instance.circles_help
        if competitor.unfit(instance) is None:
            assert competitor.name == BOOST
            assert competitor.answer(competitor.given(instance), 20.0).cost == 5

    @pytest.mark.parametrize("asked", ASKED)
    def test_ours_says_the_same_in_every_way(self, asked: str) -> None:
        problem, cost = ASKED[asked]
        ours = Ours(Instance(asked, "", problem), 20.0)
        ours.measure()
        assert (ours.status, ours.cost) == (INFEASIBLE if cost is None else OPTIMAL, cost)
        assert set(inside(Instance(asked, "", problem), 20.0, 1)) == {"fold", "labels"}
        assert len(ours.times[GRAPH]) == 1

    def test_two_answers_of_ours_that_differ_stop_the_row(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ours = Ours(Instance("", "", ASKED["no limit"][0]), 20.0)
        other = shortest_path(ASKED["nodes cost and use"][0])
        monkeypatch.setitem(ours._calls, GRAPH, lambda: other)
        with pytest.raises(ValueError, match="graph: OPTIMAL"):
            ours.measure()


class TestInstances:
    def test_generated_ones_are_of_the_sizes_that_are_said(self) -> None:
        made = specs(200)
        assert len({one.name for one in made}) == 200
        assert {(one.family, one.tightness) for one in made} == {
            (family, tightness) for family in ("random", "ahead", "grid", "loose", "layered") for tightness in TIGHTNESS
        }
        for spec in made[::9]:
            problem = spec.build()
            assert 100 <= problem.n_nodes <= 500
            assert problem.n_edges <= 5_000
            assert 1 <= len(problem.resources) <= 10

    def test_a_seed_makes_the_same_instance_again(self) -> None:
        one, other = specs(3)[2].build(), specs(8)[2].build()
        assert (one.cost == other.cost).all()
        assert one.upper == other.upper
        # As it was published: who changes what is drawn has to measure anew.
        assert (one.n_nodes, one.n_edges, int(one.cost.sum()), int(one.use.sum())) == GOLDEN

    def test_large_ones_are_as_large_as_the_librarys_largest(self) -> None:
        for spec in large_specs(20)[::7]:
            problem = spec.build()
            assert (problem.n_nodes, problem.n_edges, len(problem.resources)) == (500, 5_000, 10)

    def test_limits_get_tighter(self) -> None:
        lines = [(0, 1, 1, (9,)), (1, 3, 1, (9,)), (0, 2, 5, (1,)), (2, 3, 5, (1,)), (0, 3, 4, (10,))]
        found = [shortest_path(limited(4, lines, 0, 3, tightness)).cost for tightness in (1.0, 0.8, 0.0)]
        assert found == [2, 4, 10]
        joint = [(0, 1, 1, (0, 9)), (0, 1, 2, (9, 0)), (0, 1, 3, (5, 5))]
        assert shortest_path(limited(2, joint, 0, 1, 0.0)).status is Status.OPTIMAL
        assert shortest_path(limited(2, joint, 0, 1, -1.0)).status is Status.INFEASIBLE

    def test_without_a_way_there_are_no_limits(self) -> None:
        with pytest.raises(ValueError, match="no path leads from 0 to 2"):
            limited(3, [(0, 1, 1, (1,))], 0, 2, 0.5)

    def test_files_come_in_the_order_of_their_numbers(self, tmp_path: Path) -> None:
        for name in ("rcsp10", "rcsp2"):
            (tmp_path / f"{name}.txt").write_text(TINY, encoding="utf-8")
        found = entries(tmp_path, quick=True)
        assert [one.name for one in found if one.part == LIBRARY] == ["rcsp2", "rcsp10"]
        assert entry("rcsp2", tmp_path).instance().problem.n_edges == 5
        (tmp_path / "empty").mkdir()
        with pytest.raises(ValueError, match="no files"):
            entries(tmp_path / "empty")

    @pytest.mark.slow
    def test_the_road_map_is_one_that_can_be_driven_on(self) -> None:
        roads = arcs()
        assert len(roads) == 2 * STREETS == 250_000
        assert WIDTH * HEIGHT == 100_000
        assert len({(tail, head) for tail, head, _, _ in roads}) == len(roads)
        assert min(cost for _, _, cost, _ in roads) > 0
        for trip in TRIPS[-2:]:
            problem = trip.build()
            assert len(problem.resources) == 2
            assert all(limit is not None and limit > 0 for limit in problem.upper)


GOLDEN = (441, 840, 43_174, 42_574)


def ours(cost: float | None = 3.0, status: str = OPTIMAL, seconds: float = 0.01) -> dict[str, Any]:
    times = {
        "search": seconds / 10,
        "problem": seconds / 2,
        "cpu": seconds / 5,
        "arrays": seconds / 2,
        "graph": seconds,
    }
    return {"status": status, "cost": cost, "message": "", **times}


def row(instance: str, competitor: str, seconds: float = 1.0, **changes: Any) -> dict[str, Any]:
    """A row beside ours, whose call from a graph took 10 ms and whose search 1 ms."""
    base = {
        "instance": instance, "part": GENERATED, "competitor": competitor, "nodes": 100, "arcs": 1000, "resources": 2,
        "variant": "", "status": OPTIMAL, "cost": 3.0, "run_seconds": seconds / 2, "seconds": seconds, "timed": 5,
        "beside": "graph" if competitor == CSPY else "arrays", "ours": ours(),
    }  # fmt: skip
    return base | changes


def alone(instance: str, **changes: Any) -> dict[str, Any]:
    base = {
        "instance": instance, "part": GENERATED, "competitor": OURS, "nodes": 100, "arcs": 1000, "resources": 2,
        "ours": ours(), "fold": 0.001, "labels": 12, "peak_mb": 50.0, "growth_mb": 1.0,
    }  # fmt: skip
    return base | changes


class TestSummary:
    def test_ratios_are_of_the_same_kind_of_call(self) -> None:
        rows = [row("a", CSPY, 0.1), row("b", CSPY, 0.005), row("a", BOOST, 0.1)]
        whole = compare(rows, GENERATED, CSPY, WHOLE)
        assert (whole["n"], whole["least"], whole["most"], whole["slower"]) == (2, 0.5, 10.0, ["b"])
        assert compare(rows, GENERATED, CSPY, SEARCH)["least"] == 2.5
        assert compare(rows, GENERATED, BOOST, WHOLE)["median"] == 20.0  # ours from arrays took half as long

    def test_who_gives_up_counts_with_the_time_given_and_who_is_left_out_does_not(self) -> None:
        rows = [
            row("a", CSPY, 0.1),
            row("b", CSPY, 30.0, status="TIMEOUT", cost=None),
            {"instance": "c", "part": GENERATED, "competitor": CSPY, "status": "UNFIT", "message": "lower limits"},
            {"instance": "d", "part": GENERATED, "competitor": CSPY, "status": "TIMEOUT", "seconds": 30.0},
        ]
        found = compare(rows, GENERATED, CSPY, WHOLE)
        assert (found["n"], found["median"], found["gave_up"], found["unfit"]) == (1, 10.0, 2, 1)
        assert found["at_least"] == pytest.approx(1505.0)

    def test_what_ours_did_not_prove_is_no_ratio(self) -> None:
        assert compare([row("a", CSPY, ours=ours(status="TIMEOUT"))], GENERATED, CSPY, WHOLE)["n"] == 0

    def test_who_is_wrong_is_named(self) -> None:
        rows = [alone("a"), row("a", CSPY), row("a", BOOST, cost=4.0), row("b", CSPY, status=INFEASIBLE, cost=None)]
        text = "\n".join(disagreements([*rows, alone("b")]))
        assert "a: boost says OPTIMAL at 4, and it is OPTIMAL at 3" in text
        assert f"b: {CSPY} says INFEASIBLE, and it is OPTIMAL at 3" in text
        assert "a: cspy" not in text

    def test_a_published_optimum_is_the_truth(self) -> None:
        rows = [alone("rcsp3", arcs=959), row("rcsp3", CSPY, arcs=959)]
        assert [line.partition(",")[2] for line in disagreements(rows)] == [" and it is OPTIMAL at 2"] * 3
        assert disagreements([alone("rcsp3", arcs=960)]) == []

    def test_errors_are_told(self) -> None:
        failed = {"instance": "a", "part": GENERATED, "competitor": CSPY, "status": "ERROR", "message": "oops"}
        assert disagreements([alone("a"), failed]) == ["a: cspy failed: oops"]

    def test_targets(self) -> None:
        rows = [
            row("a", CSPY, 0.2), row("b", CSPY, 0.005), row("c", CSPY, 0.3, part=LIBRARY),
            alone("a"), alone("l", part=LARGE, nodes=500, arcs=5000, resources=10, ours=ours(seconds=0.011)),
            alone("r", part=ROAD, peak_mb=2000.0),
        ]  # fmt: skip
        found = {one["target"].partition(":")[0]: one for one in targets(rows)}
        hits = {name: one["hit"] for name, one in found.items()}
        assert hits == {
            "never slower than cspy's whole call, library instances": True,
            "never slower than cspy's whole call, generated instances": False,
            "the median against cspy's whole call, both parts": True,
            "500 vertices, 5,000 arcs, K = 10": False,
            "road of 100,000 vertices, 250,000 arcs, K = 2": True,
            "the same": False,
        }
        assert all(one["hit"] is None for one in targets([]))

    def test_what_is_not_proved_is_no_hit(self) -> None:
        unproved = alone("r", part=ROAD, ours=ours(status="TIMEOUT"))
        assert [one["hit"] for one in targets([unproved]) if "road" in one["target"]] == [False]


def record(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "command": "python -m experiments.benches.rcsp", "machine": {"cores": 2}, "limit": 30.0, "repeats": 5,
        "versions": {CSPY: "1.0.3"}, "missing": {"pylgrim": "no module"}, "targets": targets(rows),
        "comparisons": comparisons(rows), "disagreements": disagreements(rows), "rows": rows,
    }  # fmt: skip


def test_the_report_and_the_page_say_it_all(tmp_path: Path) -> None:
    rows = [
        alone("rcsp1", part=LIBRARY, arcs=955, ours=ours(131.0)),
        row("rcsp1", CSPY, 0.2, part=LIBRARY, arcs=955, cost=131.0, ours=ours(131.0)),
        row("rcsp1", BOOST, 30.0, part=LIBRARY, arcs=955, status="TIMEOUT", cost=None, ours=ours(131.0)),
        alone("road: far", part=ROAD, peak_mb=300.0),
    ]
    made = record(rows)
    assert made["disagreements"] == []
    assert "| rcsp1 | 100, 955, 2 | 131 | 1 | 5 | 10 | 100 | 200 | 20 x |" in markdown(made)
    path = tmp_path / "bench_rcsp.json"
    assert rcsp_text(path) == ""
    path.write_text(json.dumps(made), encoding="utf-8")
    page = rcsp_text(path)
    assert "| library | `boost` | >= 6,000 x |" in page
    assert "| road: far | OPTIMAL | 5 | 2 | 1 | 1 | 3 | 12 | 300 | 1 |" in page
    assert "not run: no module" in page
    assert "Slower than cspy's whole call: 0 of 1 library instances" in page


def test_the_slow_ones_get_a_sample() -> None:
    found = entries(None)
    mine = jobs(found, list(COMPETITORS))
    assert sum(job.competitor == OURS for job in mine) == len(found) == 228
    assert sum(job.competitor == CSPY and job.entry.part == GENERATED for job in mine) == 200
    assert sum(job.competitor == "pulp:cbc" for job in mine) == 22
    assert competes("pylgrim", LIBRARY, 5)
    assert not competes("pylgrim", GENERATED, 0)
    assert set(TOGETHER) <= {OURS, *COMPETITORS}


@pytest.mark.slow
def test_it_runs_resumes_and_answers_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    (data / "tiny.txt").write_text(TINY, encoding="utf-8")
    assert shortest_path(read_rcsp(data / "tiny.txt")).cost == 3
    command = ["--data", str(data), "--parts", LIBRARY, "--competitors", "highs", "--out", str(out), "--limit", "20"]
    assert bench.main(command) == 0
    made = json.loads((out / "bench_rcsp.json").read_text(encoding="utf-8"))
    found = [(one["competitor"], one.get("cost", one["ours"]["cost"])) for one in made["rows"]]
    assert found == [(OURS, 3), ("highs", 3)]
    assert made["rows"][0]["peak_mb"] > 0
    rows = (out / ROWS).read_text(encoding="utf-8")
    (out / ROWS).write_text(rows + '{"cut', encoding="utf-8")
    capsys.readouterr()
    assert bench.main(command) == 0
    assert "[1/2]" not in capsys.readouterr().out
    assert (out / ROWS).read_text(encoding="utf-8") == rows + '{"cut\n'


def test_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAPE_TEST_DATA", raising=False)
    with pytest.raises(SystemExit) as told:
        bench.main(["--parts", LIBRARY])
    assert told.value.code == 2
    assert "--data FOLDER" in capsys.readouterr().err
    assert bench.main(["--data", str(tmp_path), "--dry-run"]) == 2
    assert bench.main(["--dry-run", "--quick"]) == 0
    assert "18 instances" in capsys.readouterr().out
