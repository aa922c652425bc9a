"""The study of tool chains: who plays, what is counted, what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.studies.tools import chains
from tape.lm.registry import open_model
from tape.reading import read_json

LINE = ["--level", "5", "--count", "1"]


def rows(file: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_json(file, dict[str, Any])["rows"]
    return found


def test_oracle_and_exact_planner_are_right_everywhere_and_rows_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "chains.json"
    assert chains.main([*LINE, "--method", "Dijkstra", "--method", "TAPE, exact", "--out", str(out)]) == 0
    first = rows(out)
    assert [row["method"] for row in first] == [chains.ORACLE] * 5 + [chains.EXACT] * 7
    assert all(row["right"] == row["n"] == 1 and not row["over_budget"] for row in first)
    shown = capsys.readouterr().out
    assert "| TAPE, exact planner | 1 of 1 | 1 of 1 |" in shown
    assert "static | refused | price | wish | length | time binds | none fits" in shown
    assert chains.main([*LINE, "--method", "greedy", "--out", str(out)]) == 0
    second = rows(out)
    assert second[: len(first)] == first
    assert {row["method"] for row in second[len(first) :]} == {chains.GREEDY}


@pytest.mark.slow
@pytest.mark.parametrize("method", chains.METHODS, ids=lambda method: method.name)
def test_every_method_plays_within_its_caps(method: chains.Method) -> None:
    model = None if method.agent is None else open_model(method.model)
    [problem] = chains.problems("price", 5, 20, 1)
    found = chains.play(method, model, problem)
    assert not found["over_budget"]
    assert found["id"] == problem.id
