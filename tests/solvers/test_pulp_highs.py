"""HiGHS through PuLP answers as every solver must."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from solvers import SolverUnavailableError, Status, get
from solvers.pulp_highs import PulpHighsSolver
from solvers.testing import CASES, SolverConformance


class TestPulpHighs(SolverConformance):
    name = "pulp:highs"


@pytest.mark.parametrize(
    ("said", "status"),
    [("kTimeLimit", Status.FEASIBLE), ("kInterrupt", Status.FEASIBLE), ("kInfeasible", Status.INFEASIBLE)],
)
def test_what_highs_says_is_not_taken_for_more(monkeypatch: pytest.MonkeyPatch, said: str, status: Status) -> None:
    highspy = pytest.importorskip("highspy")
    monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda self: getattr(highspy.HighsModelStatus, said))
    assert PulpHighsSolver()._search(CASES[0].problem, 60.0).status is status


def test_without_highspy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find: Any = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "highspy" else find(name))
    with pytest.raises(SolverUnavailableError, match=r"'highspy', which is not installed: pip install .*\[solvers\]"):
        get("pulp:highs")
