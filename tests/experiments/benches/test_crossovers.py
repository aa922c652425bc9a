"""The table of `auto`: ordered by what was closed, then by time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.benches.solvers import crossovers as measure_crossovers
from experiments.benches.solvers.catalogue import shape
from experiments.benches.solvers.crossovers import rules_of, training_grid
from experiments.benches.solvers.instances import Spec
from solvers.auto import Features, read_rules


def row(backend: str, seconds: float, status: str = "OPTIMAL", resources: int = 1, units: int = 5) -> dict[str, Any]:
    features = {"resources": resources, "edge_steps": 100, "units": units}
    return {"backend": backend, "seconds": seconds, "status": status, "features": features}


def test_who_closes_more_comes_first_then_who_is_faster() -> None:
    rows = [
        *(row("quick-but-open", seconds, status) for seconds, status in ((0.001, "OPTIMAL"), (0.001, "FEASIBLE"))),
        *(row("slow", 2.0) for _ in range(2)),
        *(row("fast", seconds) for seconds in (1.0, 0.5)),
        row("elsewhere", 1.0, units=10**6),
    ]
    first, second = rules_of(rows, limit=10.0)
    by_units = {tuple(rule["when"]["units"]): rule for rule in (first, second)}
    assert by_units[None, 1000]["solvers"] == ["fast", "slow", "quick-but-open"]
    assert by_units[None, 1000]["measured"]["quick-but-open"] == {"median_ms": 5000.5, "n": 2, "closed": 1}
    assert by_units[1001, None]["solvers"] == ["elsewhere"]


def test_the_training_grid_has_no_instance_of_the_benchmark_and_covers_every_kind() -> None:
    grid = training_grid()
    assert {spec.resources for spec in grid} == set(range(6))
    assert len({spec.name for spec in grid}) == len(grid)


def test_it_measures_and_writes_what_auto_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = Spec("grid", shape(moves="loose", w=3, h=3, L=8), resources=1, budget=0.7)
    monkeypatch.setattr(measure_crossovers, "training_grid", lambda: [tiny])
    table = tmp_path / "table.json"
    args = ["--out", str(tmp_path / "rows"), "--table", str(table), "--backends", "labelling", "pulp:cbc"]
    assert measure_crossovers.main(args) == 0
    (rule,) = read_rules(table)
    assert sorted(rule.solvers) == ["labelling", "pulp:cbc"]
    assert rule.holds(Features.of(tiny.build().problem))
    assert json.loads(table.read_text())["command"].startswith("python -m experiments.benches.solvers.crossovers")
