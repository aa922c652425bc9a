"""The budget scenarios: the judge counts, the guard keeps, and the sweep would notice."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from experiments.benches.budget_scenarios import sweep
from experiments.benches.budget_scenarios.judge import PACKAGE, Judge
from experiments.benches.budget_scenarios.scenarios import SCENARIOS
from experiments.benches.budget_scenarios.table import tables
from tape.errors import MissingExtraError


def test_random_schedules_overspend_nothing(tmp_path: Path) -> None:
    found = sweep.sweep(400, 7, tmp_path)
    assert found["overspent"] == 0
    assert min(found[kind] for kind in ("calls", "refused", "cut off", "deaths", "with a journal")) > 20
    assert not list(tmp_path.iterdir())


def test_the_sweep_notices_what_is_declared_too_low(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sweep.TOOLS, "fixed", {"usd": "$0.001"})
    assert sweep.sweep(400, 7, tmp_path)["overspent"] > 10


def test_the_judge_asks_for_its_package() -> None:
    try:
        version(PACKAGE)
    except PackageNotFoundError:
        with pytest.raises(MissingExtraError, match="pip install"):
            Judge()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "module"),
    [
        ("langchain", "langchain_openai"),
        ("pydantic_ai", "pydantic_ai"),
        ("openai_agents", "agents"),
        ("inspect_ai", "inspect_ai"),
        ("smolagents", "smolagents"),
        ("dspy", "dspy"),
    ],
)
def test_a_framework_is_played_and_judged_from_outside(framework: str, module: str) -> None:
    pytest.importorskip(module)
    try:
        judge = Judge()
    except MissingExtraError:
        pytest.skip(f"{PACKAGE} is not installed")
    from experiments.benches.budget_scenarios.__main__ import played

    with judge.listening() as urls:
        free = played(judge, urls, framework, "mixed resources", "none")
        kept = played(judge, urls, framework, "mixed resources", "guard")
    assert free["over"], free
    assert not kept["over"], kept
    assert 0 < kept["spent"]["usd"] <= SCENARIOS["mixed resources"].caps["usd"]
    assert {one["ended"] for one in free["ended"]} == {"finished"}, free
    assert {one["ended"] for one in kept["ended"]} <= {"finished", "guard"}, kept
    assert "mixed resources" in tables([free, kept])
