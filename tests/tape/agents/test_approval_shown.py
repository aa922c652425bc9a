"""What an approver is shown of an action: every argument, results filled in, or nothing is executed."""

from __future__ import annotations

from typing import Any

import pytest

from tape import ApprovalRequest
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.show.replay import describe
from tape.show.scene import Scene
from tape.tools import ToolEnvironment, tool
from tape.trace import ApprovalEvent, TraceWriter
from tests.tape.agents.cleaning import CAPS, planner

pytestmark = pytest.mark.timeout(120)

AGENTS = pytest.mark.parametrize("agent", [TapeAgent, ReactAgent])


def request_of(shown: str, rest: tuple[str, ...] = ()) -> ApprovalRequest:
    return ApprovalRequest("a", shown, "", {}, {}, rest, "destructive", 0)


def wiping(value: Any, done: list[Any]) -> ToolEnvironment:
    """A task of which the model sees a reference only, and the result decides what is destroyed."""

    @tool(pure=True, usd="0.001")
    def look() -> Any:
        """Look."""
        return value

    @tool(usd="0.01", destructive=True)
    def wipe(note: str, item: Any, path: str) -> str:
        """Wipe."""
        done.append((note, item, path))
        return "gone"

    return ToolEnvironment("Clean up.", [look, wipe])


def wipe_it(note: str) -> Any:
    return planner(lambda _: [("look", {}), ("wipe", {"note": note, "item": "#1", "path": "/ IMPORTANT"})])


@AGENTS
def test_every_argument_is_shown_with_the_results_filled_in(agent: Any) -> None:
    asked, done, note = list[ApprovalRequest](), list[Any](), "n" * 700
    mapping = {"deep": {"force": True, "why": "w" * 300}}

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    result = agent(wipe_it(note), horizon=9).run(wiping(mapping, done), budget=CAPS, approve=approve)
    assert (result.end_state, done) == ("success", [(note, mapping, "/ IMPORTANT")])
    [request] = asked
    lines = str(request).splitlines()
    names = [line.strip().partition(" = ")[0] for line in lines[:5]]
    assert names == ["wipe:", "note", "item.deep.force", "item.deep.why", "path"]
    assert lines[4] == '  path = "/ IMPORTANT" (destructive)'
    assert '"nnnn' in lines[1]
    assert "540 of 700 characters left out" in lines[1]
    assert lines[5].startswith("costs at most 1 step, $0.01")
    assert request.arguments == {"note": note, "item": mapping, "path": "/ IMPORTANT"}
    assert f'note = "{note}"' in request.whole
    assert f'item = {{"deep": {{"force": true, "why": "{"w" * 300}"}}}}' in request.whole


@AGENTS
def test_what_cannot_be_shown_is_refused_without_asking(agent: Any) -> None:
    done, trace = list[Any](), TraceWriter("x")
    result = agent(wipe_it("n"), horizon=9).run(
        wiping({f"key {n}": n for n in range(300)}, done),
        budget=CAPS,
        approve=lambda request: pytest.fail(f"asked {request}"),
        trace=trace,
    )
    assert (done, result.success) == ([], False)
    event = next(event for event in trace.events if isinstance(event, ApprovalEvent))
    assert event.decision == "refused"
    assert "cannot be shown in full: they take 302 lines, and at most 100 are shown" in event.reason


def test_a_result_that_is_deeper_than_models_write_is_filled_in_all_the_same() -> None:
    deep: Any = ["bottom"]
    for _ in range(30):
        deep = [deep]
    asked, done = list[str](), list[Any]()
    TapeAgent(wipe_it("n")).run(
        wiping(deep, done), budget=CAPS, approve=lambda request: asked.append(str(request)) or True
    )
    assert len(done) == 1
    assert "bottom" in asked[0]
    assert "#1" not in asked[0]


def test_an_action_or_a_path_cannot_write_lines_of_the_question() -> None:
    lines = str(request_of("push\ncosts at most nothing", ("left\u202e\n", "x" * 500))).splitlines()
    assert lines == [
        "push\\ncosts at most nothing (destructive)",
        "costs at most nothing; left: everything (no caps)",
        f"then: left\\u202e\\n; {'x' * 200}...",
    ]
    assert request_of("push left").arguments is None
    assert request_of("push left").whole == "push left"


def test_the_replay_and_the_picture_of_an_episode_hide_no_argument() -> None:
    action = f'wipe(a="{"x" * 900}", note="\u202e", path="/ IMPORTANT")'
    event = ApprovalEvent(step=1, action=action, decision="refused", reason="destructive")
    [text] = describe([event])
    assert 'path="/ IMPORTANT") (destructive): refused' in text
    assert "740 of 900 characters left out" in text
    scene = Scene("x")
    scene.tell(event)
    assert 'path="/ IMPORTANT"' in scene.note
    assert len(scene.note) < 150
    assert "\\u202e" in text
