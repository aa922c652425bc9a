"""Records of SDP on tools checked again: by a replay where calls may be made again, by the rules of calls elsewhere."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from envs.musique.plugin import PLUGIN as MUSIQUE
from tape.agents.tape import TapeAgent
from tape.analysis.audit import Audited
from tape.analysis.by_replay import Played
from tape.budget import Budget
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols import Task
from tape.sdp.agent import SdpAgent
from tape.tools import ToolEnvironment, ToolFailedError, tool
from tests.envs.tool_scripts import look_up_script
from tests.tape.analysis import forging
from tests.tape.analysis.forging import Line, Trace
from tests.tape.tools.helpers import TOOLS, script

PLAN: list[tuple[str, dict[str, Any]]] = [("multiply.exact", {"a": 3, "b": 4}), ("divide", {"a": "#1", "b": 0})]
THEN: list[tuple[str, dict[str, Any]]] = [("add", {"a": "#1", "b": 70}), ("add", {"a": "#2", "b": 7})]
CAPS = Budget.of(steps=9)


def computing() -> ToolEnvironment:
    return ToolEnvironment("What is 3 * 4 + 70 + 7?", TOOLS, judge=lambda value: value == 89)


PURE = Played(computing, 0, CAPS)


@pytest.fixture
def lines(tmp_path: Path) -> Trace:
    """An episode with a call that fails, a new tail, and an answer that is right."""
    return _lines(tmp_path / "t.jsonl", SdpAgent)


def _lines(file: Path, agent: type[Any]) -> Trace:
    result = agent(ScriptedLM(script(PLAN, THEN), obey=True)).run(computing(), budget=CAPS, trace=file)
    assert result.success
    assert result.replans == 1
    return forging.read(file)


def found(path: Path, played: Played = PURE) -> Audited:
    return forging.audited(path, played, ScriptedLM([""]))


def rules(path: Path, changed: Trace, played: Played) -> set[str]:
    """The rules that a forger breaks who numbers and chains the lines anew."""
    forging.write(path, changed)
    return forging.rules(found(path, played))


STATIC = replace(PURE, replayable=False)
"""As for tools that reach something outside: nothing is called again."""


@pytest.mark.parametrize("played", [PURE, STATIC], ids=["replayed", "not replayed"])
def test_what_was_played_has_no_findings(played: Played, lines: Trace, tmp_path: Path) -> None:
    one, moves = found(tmp_path / "t.jsonl", played), forging.of(lines, "sdp_validated")
    assert one.findings == []
    assert one.facts == sum(len(check["facts"]) for move in moves for check in move["checks"]) > 3
    why_not = [] if played.replayable else ["its environment does not say that actions may be played again"]
    assert one.unchecked == why_not
    counts = (len(forging.of(lines, "acted")), len(moves)) if played.replayable else (0, 0)
    assert (one.actions, one.verdicts) == counts


def _states(lines: Trace) -> list[Line]:
    """The fields of every recorded state, in order."""
    states = [move[side] for move in forging.of(lines, "sdp_validated") for side in ("before", "after")]
    return [*states, *(end["state"] for end in forging.of(lines, "sdp_concluded"))]


def _last(lines: Trace) -> Line:
    return next(move for move in forging.of(lines, "sdp_validated") if len(move["after"]["results"]) == 2)


def in_states(change: Callable[[Line], object], last: int = 0) -> Callable[[Trace], object]:
    """Changes the fields of every state, or of the last ones."""
    return lambda lines: [change(state) for state in _states(lines)[-last:]]


def another_call(lines: Trace) -> None:
    """A call that was never made, certified with all that speaks for it."""
    text = json.dumps(lines)
    lines[:] = json.loads(text.replace("add(a=12, b=70)", "add(a=12, b=71)"))
    for line in lines:
        if line["type"] in ("acted", "sdp_validated") and line["action"]:
            line["action"] = line["action"].replace("b=71", "b=70")


FORGED: dict[str, Callable[[Trace], object]] = {
    "results in another order": in_states(lambda s: s.update(results=[*s["results"][:1], *s["results"][:0:-1]])),
    "a result that no call has brought": in_states(lambda state: state["results"].insert(0, ["add(a=1, b=1)", "2"])),
    "another result from some step on": in_states(lambda state: state["results"][0].__setitem__(1, "99.0"), last=2),
    "a failed call left out": in_states(lambda state: state.update(failed=[])),
    "another answer": in_states(lambda state: state.update(answer="#1"), last=2),
    "a call that was never made": another_call,
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_forgeries_are_found_without_a_call_being_made_again(
    forge: Callable[[Trace], object], lines: Trace, tmp_path: Path
) -> None:
    forge(lines)
    assert "grounding" in rules(tmp_path / "u.jsonl", lines, STATIC)
    assert "replay" in rules(tmp_path / "u.jsonl", lines, PURE)


@pytest.mark.parametrize("name", ["b", "c"])
def test_the_forgeries_that_once_passed_elsewhere_do_not(name: str, lines: Trace, tmp_path: Path) -> None:
    assert forging.NAMED[name](lines, Random(3))
    assert "grounding" in rules(tmp_path / "u.jsonl", lines, STATIC)


def test_what_only_a_replay_finds(lines: Trace, tmp_path: Path) -> None:
    """What a call has returned: without making it again its result is taken as it is recorded."""
    in_states(lambda state: [result.__setitem__(1, "13.0") for result in state["results"][:1]])(lines)
    assert rules(tmp_path / "u.jsonl", lines, STATIC) == set()
    assert "replay" in rules(tmp_path / "u.jsonl", lines, PURE)


def test_other_agents_on_tools_are_replayed_as_before(tmp_path: Path) -> None:
    _lines(tmp_path / "t.jsonl", TapeAgent)
    one = found(tmp_path / "t.jsonl")
    assert (one.findings, one.unchecked, one.verdicts) == ([], [], 0)
    assert one.actions > 3


def test_a_call_that_changes_something_is_not_made_again(tmp_path: Path) -> None:
    """Its certificates are held to the order and the number of calls; the world it has changed is left alone."""
    sent = []

    @tool()
    def send(text: str) -> str:
        """Send something."""
        sent.append(text)
        if len(sent) == 2:
            raise ToolFailedError("the line is busy")
        return f"sent {text}"

    def make() -> ToolEnvironment:
        return ToolEnvironment("Send two.", [send])

    plan: list[tuple[str, dict[str, Any]]] = [("send", {"text": "a"}), ("send", {"text": "b"})]
    model = ScriptedLM(script(plan, [("send", {"text": "c"})]), obey=True)
    file = tmp_path / "t.jsonl"
    result = SdpAgent(model).run(make(), budget=CAPS, trace=file)
    assert (result.success, sent) == (True, ["a", "b", "c"])
    one = found(file, Played(make, 0, CAPS, replayable=False))
    # What is certified, what is rejected, and what was looked at next: that b is sent, twice.
    assert (one.findings, one.facts, one.actions, sent) == ([], 4, 0, ["a", "b", "c"])
    twice = forging.read(file)
    _last(twice)["after"]["results"].append(['send(text="b")', '"sent b"'])
    assert "grounding" in rules(tmp_path / "u.jsonl", twice, Played(make, 0, CAPS, replayable=False))
    assert sent == ["a", "b", "c"]


# --- what a model has read ----------------------------------------------------------------------


def question() -> Task:
    """A question whose first look-up finds nothing where its name is not read."""
    options = {"data": None, "questions": "dev", "tightness": "loose", "embeddings": None, "reader": "lm"}
    return MUSIQUE.tasks(options)[0]


def reading(task: Task, file: Path) -> Played:
    """An episode in which the model reads the first passages in vain, and something in all others."""
    read: list[str] = []

    def project(request: Request) -> str:
        read.append(str(request.prompt))
        return "" if len(read) == 1 else "Ada Quill"

    env = MUSIQUE.make(task)
    SdpAgent(look_up_script(task.facts["question"], project), sdp={"chain": "walk"}).run(
        env, budget=task.budget, trace=file
    )
    assert len(read) > 2
    return Played(lambda: MUSIQUE.make(task), 0, task.budget)


def test_what_a_model_has_read_is_taken_from_the_record_and_shown_to_be_of_that_passage(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    one = found(file, reading(question(), file))
    lines = forging.read(file)
    moves = forging.of(lines, "sdp_validated")
    assert (one.findings, one.unchecked, one.verdicts) == ([], [], len(moves))
    assert one.actions == len(forging.of(lines, "acted")) > 2
    assert {check["how"] for move in moves for check in move["checks"] if check["holds"] and check["facts"]} == {"lm"}


def _read(lines: Trace) -> list[Line]:
    return [line for line in forging.of(lines, "generated") if line["role"] == "project"]


def computed(lines: Trace) -> None:
    """A model's verdict as if it had been computed."""
    for move in forging.of(lines, "sdp_validated"):
        for check in move["checks"]:
            check["how"] = check["how"].replace("lm", "deterministic")


READ: dict[str, Callable[[Trace], object]] = {
    "another reading": lambda lines: _read(lines)[0].update(texts=['{"quote": "", "answer": "Ada Quill"}']),
    "another passage": lambda lines: _read(lines)[-1]["prompt"][-1].update(content="another passage"),
    "no reading": lambda lines: lines.remove(_read(lines)[-1]),
    "a computed verdict": computed,
}


@pytest.mark.parametrize("forge", READ.values(), ids=READ)
def test_forged_readings_are_found(forge: Callable[[Trace], object], tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    played = reading(question(), file)
    lines = forging.read(file)
    forge(lines)
    assert "replay" in rules(file, lines, played)
