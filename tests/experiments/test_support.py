"""The support agent of the demo: a real MCP server on stdio, a scripted model, three dollar caps."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from experiments.support import demo
from tape.trace import ApprovalEvent, FinishedEvent, InfeasibleEvent, read_trace

pytest.importorskip("mcp")
pytestmark = pytest.mark.slow


def test_the_cap_decides_what_is_bought_and_nothing_is_spent_where_no_plan_fits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = io.StringIO()
    page = demo.show(tmp_path, Console(file=shown, width=120))
    traces = {path.stem: list(read_trace(path)) for path in tmp_path.glob("*.jsonl")}
    results = {name: events[-1].result for name, events in traces.items() if isinstance(events[-1], FinishedEvent)}
    assert results.keys() == {f"{agent}-{cap}" for agent in ("tape", "react") for cap in demo.CAPS}

    rich, switched, refused = (results[f"tape-{cap}"] for cap in demo.CAPS)
    assert [result["end_state"] for result in (rich, switched, refused)] == ["success", "success", "infeasible"]
    assert rich["actions"][1].startswith("search.colleague(")
    assert switched["actions"][1].startswith("search.meaning(")
    assert refused["actions"] == []
    assert refused["used"].get("usd", 0) == 0
    assert "$0.007" in refused["detail"], "the least cap that would do"
    assert any(isinstance(event, InfeasibleEvent) for event in traces["tape-0.006"])

    for name, events in traces.items():
        asked = [event.action for event in events if isinstance(event, ApprovalEvent)]
        deleted = [action for action in results[name]["actions"] if action.startswith("delete_account(")]
        assert asked == deleted, "nothing is deleted that was not asked about"
    assert all(results[f"react-{cap}"]["end_state"] == "budget:usd" for cap in demo.CAPS)
    assert all(results[f"react-{cap}"]["used"]["usd"] > 0 for cap in demo.CAPS), "it stops in the middle"
    assert not any(result["budget_violations"] for result in results.values())

    assert "a scripted model" in shown.getvalue()
    assert 'may I? delete_account(account="A-18")' in shown.getvalue(), "people are shown what #1 stands for"
    assert page.stat().st_size > 10_000
    assert str(page) in capsys.readouterr().out
