"""``tape diagnose``: made-up runs with subgoal chains, one without, and traces written by hand."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tape import trace
from tape.analysis.outcomes import LOST, lost_at
from tape.engine.settings import TapeConfig
from tape.plugins import load
from tape.protocols import prompt_version
from tape.protocols.result import EpisodeResult
from tape.runner.configurations import Configuration, checked
from tape.runner.directory import RunDirectory
from tape.runner.spec import RunSpec
from tape.trace import Event
from tests.experiments.sdp_runs import line, make_sdp_run
from tests.tape.commandline import Tape
from tests.tape.show.view_runs import write_trace

SDP = ["easy / nano-750 / SDP", "easy / nano-750 / SDP, other"]
FOLDED = trace.GraphFoldedEvent(graph={})
MISMATCH = trace.MismatchEvent(step=1, predicted="a", observed="b")


def selected(*actions: str, partial: bool = False) -> trace.PathSelectedEvent:
    nodes = [str(i) for i in range(len(actions) + 1)] if actions else []
    return trace.PathSelectedEvent(
        selector="solver", status="optimal", partial=partial, actions=list(actions), nodes=nodes, objective=1.0,
        bound=1.0, consumption={}, problem={}, seconds=0.0,
    )  # fmt: skip


def acted(action: str, planned: str | None = None) -> trace.ActedEvent:
    return trace.ActedEvent(step=1, action=action, text=action, planned=planned, cost={})


@pytest.mark.parametrize(
    ("events", "end", "expected"),
    [
        ([], "model_error", "fault"),
        ([acted("L")], "budget:steps", "stepwise"),
        ([FOLDED], "budget:calls", "unplanned"),
        ([trace.StartedEvent(config={"agent": "tape"}, budget={})], "budget:calls", "unplanned"),
        ([trace.StartedEvent(config={"agent": "react"}, budget={})], "budget:calls", "stepwise"),
        ([FOLDED, selected("L"), acted("L", "L"), FOLDED, selected()], "infeasible", "no_path"),
        ([FOLDED], "no_plan", "unread"),
        ([FOLDED, selected("L", "R"), acted("R", "L")], "budget:steps", "left_plan"),
        ([FOLDED, selected("L", "R"), acted("L", "L"), MISMATCH], "replan_limit", "mismatch"),
        ([FOLDED, selected("L", partial=True), acted("L", "L")], "budget:steps", "no_goal"),
        ([FOLDED, selected("L"), acted("L", "L")], "failure", "wrong_goal"),
        ([FOLDED, selected("L", "R"), acted("L", "L")], "budget:tokens", "cut"),
        ([FOLDED, selected("U"), acted("U", "U"), MISMATCH, selected("L"), acted("L", "L")], "failure", "wrong_goal"),
    ],
)
def test_where_a_failed_episode_stopped(events: Sequence[Event], end: str, expected: str) -> None:
    assert lost_at(events, end) == expected
    assert expected in LOST


@pytest.fixture
def plain_run(tmp_path: Path) -> Path:
    """Two episodes on one level: a success without a trace, and a failure with one."""
    plugin = load("tape.environments", "sokoban")
    options = {"levels": "easy", "slack": 2}
    spec = RunSpec(
        environment="sokoban", options=options, agent="tape", config=TapeConfig(), model="bundled:nano",
        model_identity="made up", repeats=2, prompt_version=prompt_version(plugin, "compact"),
    )  # fmt: skip
    [configuration] = checked([Configuration("all | of it", spec, tuple(plugin.tasks(options))[:1])])
    directory = RunDirectory(tmp_path / "run")
    directory.open([configuration], title="made up")
    won, lost = configuration.jobs()
    success = EpisodeResult(end_state="success", success=True, steps=6).model_dump()
    failure = EpisodeResult(end_state="budget:steps", success=False, steps=2, replans=1, mismatches=1, malformed=1)
    events = [
        trace.StartedEvent(config={}, budget={}), trace.MalformedEvent(role="plan", text="no `plan`\nat all"), FOLDED,
        selected("L", "R"), acted("L", "L"), MISMATCH, trace.ReplannedEvent(reason="mismatch", count=1),
        selected("D", "D", partial=True), acted("U", "D"), trace.FinishedEvent(result=failure.model_dump()),
    ]  # fmt: skip
    directory.append([line(configuration, won, success)], {})
    file = write_trace(tmp_path / f"{lost.key}.jsonl", events)
    directory.append([line(configuration, lost, failure.model_dump())], {lost.key: file})
    return directory.path


def test_every_run_is_reported_without_an_oracle(plain_run: Path, tmp_path: Path, tape: Tape) -> None:
    code, said, _ = tape("diagnose", plain_run, "-o", tmp_path / "out")
    assert code == 0
    [row] = [row for row in said.splitlines() if row.startswith(r"| all \| of it | 2 (1) | 0.50 (")]
    assert row.endswith(") | 8 | 1 of 2 | 1 of 2 | 1 | 1 | 0 |")
    for text in ("1 episodes have no trace", "`left_plan`", "- plan: `no 'plan' at all`"):
        assert text in said
    assert "subgoal" not in said
    data = json.loads((tmp_path / "out" / "diagnosis.json").read_text(encoding="utf-8"))
    found = data["configurations"]["all | of it"]
    assert found["ends"] == {"success": 1, "budget:steps": 1}
    assert (found["lost"], found["replans"], found["malformed"]) == ({"left_plan": 1}, {"mismatch": 1}, {"plan": 1})
    assert data["chains"] == {}
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"report.md", "report.html", "diagnosis.json"}


@pytest.mark.slow
def test_subgoal_chains_are_reported_too_and_the_same_every_time(tmp_path: Path, tape: Tape) -> None:
    run, out = make_sdp_run(tmp_path / "run"), tmp_path / "out"
    code, said, _ = tape("diagnose", run, "-o", out)
    assert (code, "## Certified subgoal chains" in said) == (0, True)
    files = [Path(row.removeprefix("written: ")) for row in said.splitlines() if row.startswith("written: ")]
    assert all(file.stat().st_size > 0 for file in files)
    assert {file.name for file in files} >= {"report.md", "report.html", "diagnosis.json", "sdp_diagnostics.png"}
    chains = json.loads((out / "diagnosis.json").read_text(encoding="utf-8"))["chains"]
    assert [*chains] == SDP
    for one in chains.values():
        assert (one["episodes"], one["tasks"], one["findings"]) == (16, 8, 0)
        assert one["cascades"]["deep"]["n"] > 0
        assert one["failed"] == one["episodes"] - one["successes"]
    assert set(chains[SDP[0]]["certificates"]) >= {"recomputed", "completion", "lm"}
    assert tape("diagnose", run, "-o", tmp_path / "again").code == 0
    for file in sorted(out.rglob("*.*")):
        assert (tmp_path / "again" / file.relative_to(out)).read_bytes() == file.read_bytes()


def test_configurations_are_chosen_by_name_and_those_without_a_chain_listed(tmp_path: Path, tape: Tape) -> None:
    run = make_sdp_run(tmp_path / "run", {"SDP": {"skill": 0.9}, "ReAct": {}}, limit=1)
    first, chains = tape("diagnose", run).out.split("## Certified subgoal chains")
    assert ("ReAct" in first, "ReAct" in chains) == (True, False)
    said = tape("diagnose", run, "--only", "easy / nano-750 / ReAct").out
    assert ("SDP" in said, "subgoal" in said) == (False, False)
    assert "no configuration 'SDP'" in tape("diagnose", run, "--only", "SDP").err


def test_what_is_no_run_is_refused(tmp_path: Path, tape: Tape) -> None:
    (tmp_path / "file").write_text("")
    run = make_sdp_run(tmp_path / "run", {"ReAct": {}}, limit=1)
    (run / "episodes.jsonl").write_text("")
    for name, text in (("none", "no readable run"), ("file", "is a file"), ("run", "no finished episode")):
        code, _, error = tape("diagnose", tmp_path / name, "-o", tmp_path / "out")
        assert (code, text in error) == (2, True)
    assert not (tmp_path / "out").exists()
