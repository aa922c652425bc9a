"""Replays of episodes: as text, and as pictures with names that people know."""

import re
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tape import trace
from tape.choice.graph import PlanGraph
from tape.engine.settings import TapeConfig
from tape.runner.spec import RunSpec
from tape.show.replay import describe, episode_name, file_name, pictures
from tape.trace import Event


def spec(**changes: Any) -> RunSpec:
    values = {"environment": "sokoban", "options": {}, "agent": "tape", "config": TapeConfig(), "model": "m"}
    return RunSpec(**(values | {"model_identity": "m", "prompt_version": "1"} | changes))


def record(task: str, key: str = "1234", repeat: int = 0, cell: str = "tape") -> dict[str, Any]:
    return {"task": task, "key": key, "repeat": repeat, "cell": cell, "environment": "sokoban"}


def test_episodes_are_named_by_their_tasks_and_names_stay_different() -> None:
    mapping, other, alone = record("hard-03 T*=10", "a"), record("hard-04 T*=12", "b"), {"tape": spec()}
    assert episode_name(mapping, [mapping, other], alone) == "sokoban hard-03"
    assert episode_name(mapping, [mapping], {"tape": spec(repeats=2)}) == "sokoban hard-03 repeat 0"
    assert episode_name(mapping, [mapping], {"tape": spec(), "b": spec()}) == "sokoban hard-03, tape"
    for tasks, names in (
        (("hard T*=10", "hard T*=12"), ["sokoban hard T*=10", "sokoban hard T*=12"]),
        (("a/b", "a b"), ["sokoban a/b k0", "sokoban a b k1"]),
        (("T*=3",), ["sokoban T*=3"]),
    ):
        records = [record(task, f"k{number}") for number, task in enumerate(tasks)]
        assert [episode_name(item, records, alone) for item in records] == names


@given(st.text())
@example("../../etc/passwd")
@example("…")
@example("a" * 300)
@example("日本" * 100)
def test_names_of_files_are_safe_everywhere(name: str) -> None:
    safe = file_name(name)
    assert safe
    assert safe == file_name(safe)
    assert not re.search(r"[^\w.-]", safe)
    assert not safe.startswith((".", "-"))
    assert len(safe.encode()) <= 150


def folded(*plans: str) -> tuple[trace.GraphFoldedEvent, PlanGraph]:
    graph = PlanGraph()
    for plan in plans:
        graph.fold([plan[:i] for i in range(len(plan) + 1)], list(plan))
    return trace.GraphFoldedEvent(graph=graph.to_dict(start="")), graph


def selected(path: str, start: str = "", **changes: Any) -> trace.PathSelectedEvent:
    values = {
        "selector": "labelling", "status": "OPTIMAL", "partial": False, "actions": list(path),
        "nodes": [start + path[:i] for i in range(len(path) + 1)], "objective": 1.0, "bound": 1.0,
        "consumption": {"usd": 20_000}, "problem": {"budget": {"usd": 50_000}}, "seconds": 0.001,
    }  # fmt: skip
    return trace.PathSelectedEvent(**(values | changes))


def acted(action: str, step: int) -> trace.ActedEvent:
    return trace.ActedEvent(step=step, action=action, text="", planned=action, cost={"usd": 10_000, "steps": 0})


def test_pictures_are_named_by_level_and_round(tmp_path: Path) -> None:
    graph, _ = folded("ab", "ac")
    events: list[Event] = [
        graph,
        selected("a"),  # gives way to the next one
        selected("ab"),
        acted("a", 1),
        selected("b", "a"),  # the same rest
        acted("b", 2),
        trace.ReplannedEvent(reason="mismatch", count=1),
        graph,
        selected("ac"),
        acted("a", 3),
        selected("b", "a"),  # another one
        acted("b", 4),
        trace.ReplannedEvent(reason="ended", count=2),
        graph,
        selected("", status="INFEASIBLE", nodes=[], actions=[]),
    ]
    noted: list[tuple[int, int]] = []
    files = pictures(events, tmp_path / "plots", "sokoban hard-03", lambda done, total: noted.append((done, total)))
    assert [file.name for file in files] == [
        "sokoban-hard-03-round-1.svg",
        "sokoban-hard-03-round-2.svg",
        "sokoban-hard-03-round-2-step-3.svg",
        "sokoban-hard-03-round-3.svg",
    ]
    assert noted == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert len(list((tmp_path / "plots").iterdir())) == 8
    said = [file.read_text(encoding="utf-8") for file in files]
    assert ">sokoban hard-03, round 1</text>" in said[0]
    assert ">path by labelling, OPTIMAL</text>" in said[0]
    assert "of $0.05" in said[0]
    assert ">after 3 steps: path by labelling, OPTIMAL</text>" in said[2]
    assert ">after 4 steps: no path by labelling, INFEASIBLE</text>" in said[3]
    again = pictures(events, tmp_path / "again", "sokoban hard-03")
    assert [file.read_bytes() for file in again] == [file.read_bytes() for file in files]


def test_the_text_has_dollars_and_moves_no_cursor() -> None:
    events: list[Event] = [
        trace.ObservedEvent(step=0, key="k", picture="one\x1b[2J\ntwo", remaining={"usd": 50_000}),
        trace.PlansSampledEvent(start="k", plans=[["go north", "look"]], valid=[True]),
        selected("ab"),
        trace.ApprovalEvent(step=0, action="a", decision="allowed", reason="destructive"),
        acted("a", 1),
        trace.ReplannedEvent(reason="mismatch", count=1),
    ]
    text = "\n".join(describe(events))
    assert text.startswith("\nstep 0: k   left: $0.05\none [2J\ntwo\n")
    assert "1 plan sampled\n  go north; look\n" in text
    assert "path: a b\n  which needs at worst $0.02\n" in text
    assert "  asked before a (destructive): allowed\n" in text
    assert "  acts a   used $0.01\n" in text
    assert text.endswith("replans (mismatch): round 2")
