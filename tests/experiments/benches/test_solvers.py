"""The benchmark runs end to end and resumes, and its arithmetic is right on rows made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.benches.solvers import __main__ as bench
from experiments.benches.solvers.backends import CBC, OURS, competes
from experiments.benches.solvers.catalogue import shape
from experiments.benches.solvers.instances import Spec
from experiments.benches.solvers.running import ROWS, jobs
from experiments.benches.solvers.summary import BINDING, NOT_BINDING, OTHER, WHOLE, compare, disagreements, group_of

TINY = [
    Spec("folded", shape(world="plane", M=4, L=10), resources=2, budget=0.5, seed=3),
    Spec("grid", shape(moves="loose", w=4, h=4, L=12), resources=1, budget=1.5),
]


def row(instance: str, backend: str, seconds: float, **changes: Any) -> dict[str, Any]:
    """A row of a folded instance with two binding budgets."""
    spec = {"family": "folded", "rewards": "dense01", "resources": 2, "budget": 0.5}
    base: dict[str, Any] = {
        "instance": instance, "backend": backend, "seconds": seconds, "solve_seconds": seconds / 2, "share": 0.5,
        "status": "OPTIMAL", "objective": 3.0, "bound": 3.0, "edge_steps": 1000, "message": "", "horizon": 10,
        "spec": spec,
    }  # fmt: skip
    base["spec"] = spec | changes.pop("spec", {})
    return base | changes


def pair(instance: str, ratio: float, against: str = CBC, **changes: Any) -> list[dict[str, Any]]:
    return [row(instance, OURS, 0.01, **changes), row(instance, against, 0.01 * ratio, **changes)]


class TestSummary:
    def test_only_what_both_close_counts_and_the_rest_is_told(self) -> None:
        rows = [
            *pair("a", 100),
            *pair("b", 300, edge_steps=6000),
            *pair("c", 200),
            row("d", OURS, 0.01), row("d", CBC, 60, status="FEASIBLE"),
            row("e", OURS, 60, status="FEASIBLE"), row("e", CBC, 1),
            row("f", OURS, 60, status="TIMEOUT", objective=None), row("f", CBC, 60, status="TIMEOUT", objective=None),
            *pair("other", 1, share=0.85),
            *pair("absent", 1, share=None),
        ]  # fmt: skip
        found = compare(rows, BINDING, CBC, WHOLE)
        assert found["n"] == 3
        assert found["median"] == pytest.approx(200)
        assert found["min"] == pytest.approx(100)
        assert found["max"] == pytest.approx(300)
        assert found["median_at_least"] == pytest.approx((200 + 300) / 2), "a, b, c, and d with at least 6000"
        assert (found["dropped"], found["dropped_theirs"], found["dropped_ours"], found["dropped_both"]) == (3, 1, 1, 1)

    @pytest.mark.parametrize(
        ("share", "spec", "group"),
        [
            (None, {"resources": 0, "budget": None}, NOT_BINDING), (1.5, {}, NOT_BINDING), (0.3, {}, BINDING),
            (0.8, {}, BINDING), (0.81, {}, OTHER), (0.2, {}, OTHER), (0.5, {"rewards": "coarse"}, OTHER),
            (0.5, {"family": "stress"}, None),
        ],
    )  # fmt: skip
    def test_groups(self, share: float | None, spec: dict[str, Any], group: str | None) -> None:
        assert group_of(row("a", OURS, 1.0, share=share, spec=spec)) == group


NOTHING = {"objective": None, "bound": None}


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        ({}, {"status": "FEASIBLE", "objective": 2.0, "bound": 3.5}, ""),
        ({}, {"status": "TIMEOUT", **NOTHING}, ""),
        ({"objective": 2.9}, {"status": "FEASIBLE", "bound": 4.0}, "a"),  # better than a proven one
        ({"status": "INFEASIBLE", **NOTHING}, {}, "a"),
        ({"status": "FEASIBLE", "objective": 2.0, "bound": 2.5}, {}, "a"),  # a bound below a path
        ({"status": "ERROR", "message": "broken", **NOTHING}, {}, "broken"),
    ],
)
def test_answers_that_cannot_both_be_right_are_named(ours: dict[str, Any], theirs: dict[str, Any], found: str) -> None:
    lines = disagreements([row("a", OURS, 1.0, **ours), row("a", CBC, 1.0, **theirs)])
    assert len(lines) == bool(found)
    assert found in "".join(lines)


def test_some_backends_answer_a_sample_and_the_stress_family_is_ours() -> None:
    binding, _ = TINY
    assert all(competes(OURS, spec, 10, 5) for spec in TINY)
    assert competes("pulp:highs", binding, 10, 0)
    assert not competes("pulp:highs", binding, 10, 5)
    assert not competes(CBC, Spec("stress", shape(kind="random", n=60, L=10)), 10, 0)


class TestEndToEnd:
    @pytest.fixture(autouse=True)
    def _tiny(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bench, "catalogue", lambda quick: TINY)

    def args(self, folder: Path, *more: str) -> list[str]:
        return ["--out", str(folder), "--backends", OURS, CBC, "--slow-limit", "20", "--repeats", "3", *more]

    def test_it_runs_writes_and_resumes(self, tmp_path: Path) -> None:
        assert bench.main(self.args(tmp_path, "--limit", "1")) == 0
        rows = (tmp_path / ROWS).read_text().splitlines()
        assert [json.loads(line)["backend"] for line in rows] == [OURS, CBC]
        record = json.loads((tmp_path / "bench_solvers.json").read_text())
        assert record["disagreements"] == []
        ours, theirs = record["rows"]
        assert ours["objective"] == pytest.approx(theirs["objective"])
        assert all(one["solve_seconds"] is None or one["solve_seconds"] <= one["seconds"] for one in record["rows"])
        assert CBC in {one["against"] for one in record["comparisons"]}

        assert bench.main(self.args(tmp_path)) == 0
        assert (tmp_path / ROWS).read_text().splitlines()[:2] == rows, "what is done is not done again"
        assert len((tmp_path / ROWS).read_text().splitlines()) == 4

    def test_a_wrong_answer_makes_the_exit_status_1(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        names = [job.key for job in jobs(TINY, [OURS, CBC])]
        rows = [row(name.split()[0], name.split()[1], 1.0, objective=float(i)) for i, name in enumerate(names)]
        (tmp_path / ROWS).write_text("".join(json.dumps(one) + "\n" for one in rows) + '{"cut short')
        assert bench.main(self.args(tmp_path)) == 1
        said = capsys.readouterr()
        assert "WRONG" in said.err
        assert "cut short" in said.err
