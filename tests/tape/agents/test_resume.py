"""An episode goes on from its trace: nothing is called twice, nothing is lost, and every cap is kept."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tape import Approval, Budget, Ledger, TapeAgent
from tape.agents.base import Agent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.cli.main import main
from tape.errors import ConfigError, ResumeError, TraceError, UnfinishedCallError
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.tools import ToolEnvironment
from tape.trace import ResumedEvent, TraceWriter, read_trace
from tests.places import ROOT
from tests.tape.agents.kill_sweep import PEOPLE
from tests.tape.agents.mailing import LOOK, PLAN, SEND, TOOLS, agent, env, look, made
from tests.tape.tools.helpers import obtained


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    made.clear()


def sweep(folder: Path, first: int, step: int) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.tape.agents.kill_sweep", str(folder), str(first), str(step)]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=540).stdout
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize(
    ("first", "step"),
    [pytest.param(5, 17, id="some"), pytest.param(1, 1, id="300 kills", marks=pytest.mark.soak)],
)
def test_whenever_it_is_killed_nothing_is_called_twice_and_nothing_is_lost(
    tmp_path: Path, first: int, step: int
) -> None:
    whole, *killed = sweep(tmp_path, first, step)
    assert not whole["booked"]
    assert sum(len(item["kills"]) for item in killed) >= (300 if step == 1 else 15)
    booked = 0
    for mapping in (whole, *killed):
        assert (mapping["end"], mapping["paid"], mapping["posted"]) == ("success", [*PEOPLE], ["paid"]), mapping
        used, tokens = mapping["used"], mapping["billed"]
        assert used["tokens"] >= tokens, mapping
        assert 1_000_000 >= used["usd"] >= 250_000 + 10 * tokens, mapping
        assert used["steps"] <= 20, mapping
        assert mapping["links"] == "whole"
        if not any(mapping["booked"]) and mapping["billed"] == whole["billed"]:
            assert used == whole["used"], mapping
        kept = [kind for kind in mapping["types"] if kind != "resumed"]
        assert [kind for kind in kept if kind != "ledger"] == [kind for kind in whole["types"] if kind != "ledger"]
        booked += any(mapping["booked"])
    assert booked


def test_an_interrupt_is_gone_on_from(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    made.append("stop")
    with pytest.raises(KeyboardInterrupt):
        agent().run(env(), trace=trace)
    with pytest.raises(UnfinishedCallError, match=r'send\(to="ann"\) had begun .* on_unfinished=') as raised:
        agent().resume(trace, tools=TOOLS)
    assert raised.value.action == 'send(to="ann")'
    before = trace.read_bytes()
    with pytest.raises(ConfigError, match="on_unfinished is one of"):
        agent().resume(trace, tools=TOOLS, on_unfinished="maybe")  # type: ignore[arg-type]
    assert trace.read_bytes() == before
    again = agent()
    result = again.resume(trace, tools=TOOLS, on_unfinished="retry")
    assert result.success
    assert (made, again.model.requests) == (["look home", "send ann", "send ann"], [])  # type: ignore[attr-defined]
    assert result.used["usd"] == 40_000  # the call that was under way is booked, and the one that was made
    [resumed] = [event for event in read_trace(trace) if isinstance(event, ResumedEvent)]
    assert (resumed.ended, resumed.unfinished, resumed.decision) == ("interrupted", 'send(to="ann")', "retry")
    assert resumed.description() == 'resumed: it had ended as interrupted; under way was send(to="ann") (retry)'
    told = " ".join(result.why().split())
    assert f"It was {resumed.description()}; booked for what was under way: 1 step and $0.01." in told
    assert "In all 1 call, 4 steps, 192 tokens and $0.04 were used." in told
    again.model = ScriptedLM([])  # whoever asks for more gets what came of it
    assert again.resume(trace, tools=TOOLS) == result


@pytest.mark.parametrize("budget", ["$0.02, 9 steps", "$0.10, 1 steps", "$0.10, 9 steps, 0 calls"])
def test_out_of_budget_is_a_state_that_one_can_raise(tmp_path: Path, budget: str) -> None:
    trace = tmp_path / "t.jsonl"
    ended = agent().run(env(budget), trace=trace)
    assert ended.end_state == "infeasible" or ended.end_state.startswith("budget:")
    assert agent().resume(trace, tools=TOOLS) == ended
    with pytest.raises(ResumeError, match="would again; give a budget= above"):
        agent().resume(trace, tools=TOOLS, budget=budget)
    for wrong, why in [("1 steps", r"a cap can be raised, not lowered"), ("9 tokens", "tokens was not capped")]:
        if wrong not in budget:
            with pytest.raises(ResumeError, match=why):
                agent().resume(trace, tools=TOOLS, budget=wrong)
    more = {"usd": "$0.10", "steps": 9} | ({"calls": 9} if "calls" in budget else {})
    result = agent().resume(trace, tools=TOOLS, budget=more)
    assert (result.success, made) == (True, ["look home", "send ann"])
    assert result.budget["usd"] == 100_000
    assert result.budget_violations == []


def test_resumptions_in_a_row_are_played_again_too(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    agent().run(env("$0.02, 9 steps, 60 wall_seconds"), trace=trace)
    assert agent().resume(trace, tools=TOOLS, budget="$0.025").end_state == "infeasible"
    whole = agent().resume(trace, tools=TOOLS, budget={"usd": "$0.10", "wall_seconds": 600})
    assert whole.success
    lines = trace.read_bytes().splitlines(keepends=True)
    for cut in range(2, len(lines), 3):
        trace.write_bytes(b"".join(lines[:cut]))
        more = None if b'"call_begun"' in b"".join(lines[:cut]) else {"usd": "$0.10", "wall_seconds": 600}
        result = agent().resume(trace, tools=TOOLS, budget=more, on_unfinished="assume_done")
        assert (result.success, result.budget["usd"]) == (True, 100_000), cut
        assert result.used["usd"] <= 50_000
        assert 0 <= result.wall_seconds < 300


def test_what_was_under_way_and_does_not_fit_again_ends_by_the_budget(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    made.append("stop")
    with pytest.raises(KeyboardInterrupt):
        agent().run(env("$0.03, 9 steps"), trace=trace)
    before = trace.read_bytes()
    refused = agent().resume(trace, tools=TOOLS, on_unfinished="retry")
    assert (refused.end_state, made) == ("budget:usd", ["look home", "send ann"])
    assert "what was under way" in refused.detail
    assert trace.read_bytes() == before
    assert agent().resume(trace, tools=TOOLS, on_unfinished="retry", budget="$0.04").success


def test_a_link_leads_to_the_one_trace_there_is(tmp_path: Path) -> None:
    trace, link = tmp_path / "t.jsonl", tmp_path / "link.jsonl"
    agent().run(env(), trace=trace, approve=lambda request: Approval.STOP)
    link.symlink_to(trace)
    assert agent().resume(link, tools=TOOLS, approve=lambda request: True).success
    assert link.is_symlink()
    assert agent().resume(trace, tools=TOOLS).success
    (tmp_path / "hard.jsonl").hardlink_to(trace)
    with pytest.raises(TraceError, match="several names"):
        agent().resume(trace, tools=TOOLS)


def test_a_final_answer_is_asked_for_again_where_the_limit_is_raised(tmp_path: Path) -> None:
    def script(request: Any, sample: int) -> str:
        return 'answer("unknown")' if request.role == "answer" else PLAN

    def player() -> TapeAgent:
        return TapeAgent(
            ScriptedLM(script), ablations={"extend": 0}, scorer="declared", num_plans=2, on_limit="final_answer"
        )

    trace, judged = tmp_path / "t.jsonl", lambda answer: answer == "sent to ann"
    small = ToolEnvironment("Tell ann.", TOOLS, judge=judged, budget="$0.02, 9 steps")
    first = player().run(small, trace=trace)
    assert (first.end_state, first.final_answer is not None) == ("infeasible", True)
    with pytest.raises(ResumeError, match=r"made with .*judge.: True"):
        player().resume(trace, tools=TOOLS, budget="$0.10")
    result = player().resume(trace, ToolEnvironment("Tell ann.", TOOLS, judge=judged), budget="$0.10")
    assert (result.success, made) == (True, ["look home", "send ann"])


def test_who_approves_from_now_on_is_not_asked_about_what_was_done(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    made.append("stop")
    with pytest.raises(KeyboardInterrupt):
        agent().run(env(), trace=trace)
    asked: list[str] = []
    result = agent().resume(
        trace, tools=TOOLS, on_unfinished="assume_done", approve_when=lambda request: True,
        approve=lambda request: asked.append(request.action) is None,
    )  # fmt: skip
    assert (result.success, asked) == (True, ["answer(value=#2 if #1 else None)"])


def test_an_enclosing_ledger_has_to_be_as_it_was(tmp_path: Path) -> None:
    trace, team = tmp_path / "t.jsonl", Ledger(Budget.of(usd="0.10"))
    agent().run(env(), trace=trace, parent=team, approve=lambda request: Approval.STOP)
    with pytest.raises(ResumeError, match="left of an enclosing ledger"):
        agent().resume(trace, tools=TOOLS, parent=team, approve=lambda request: True)
    fresh = Ledger(Budget.of(usd="0.10"))
    assert agent().resume(trace, tools=TOOLS, parent=fresh, approve=lambda request: True).success
    assert fresh.used["usd"] == 30_000


def test_an_approval_may_take_days_and_what_was_approved_is_not_asked_again(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    stopped = agent().run(env(), trace=trace, approve=lambda request: Approval.STOP)
    assert (stopped.end_state, made) == ("stopped", ["look home"])
    with pytest.raises(ResumeError, match="give approve="):  # else the call would be made without asking
        agent().resume(trace, tools=TOOLS)
    with pytest.raises(KeyboardInterrupt):
        agent().resume(trace, tools=TOOLS, approve=lambda _: made.append("stop") is None)
    with pytest.raises(ResumeError, match="give approve="):
        agent().resume(trace, tools=TOOLS, on_unfinished="assume_done")
    result = agent().resume(trace, tools=TOOLS, on_unfinished="assume_done", approve=_never)
    assert (result.success, result.answer) == (True, "done; its result was not seen")
    assert made == ["look home", "send ann"]


def test_a_result_that_was_found_out_is_the_result_of_its_call_alone(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    made.append("stop")
    with pytest.raises(KeyboardInterrupt):
        agent().run(ToolEnvironment("Tell ann.", TOOLS, answer=int, budget="$0.10, 9 steps"), trace=trace)

    def resumed(**value: Any) -> EpisodeResult[int | None]:
        return agent().resume(trace, ToolEnvironment("Tell ann.", TOOLS, answer=int), **value)

    with pytest.raises(UnfinishedCallError) as raised:
        resumed(on_unfinished={'send(to="bob")': 2})
    with pytest.raises(ConfigError, match=r"a result of send\(to=\"ann\"\) that cannot be kept: it is no JSON"):
        resumed(on_unfinished={raised.value.action: float("nan")})
    result = resumed(on_unfinished={raised.value.action: 3})
    assert (result.success, result.answer, made) == (True, 3, ["look home", "send ann"])
    assert result.used["usd"] == 30_000  # the call counts at its worst case
    assert resumed() == result


def _never(_: object) -> bool:
    raise AssertionError("it was decided before")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda trace: agent(num_plans=3).resume(trace, tools=TOOLS), "begun with num_plans=2, not 3"),
        (lambda trace: ReactAgent(ScriptedLM([PLAN])).resume(trace, tools=TOOLS), "begun with agent='tape'"),
        (lambda trace: agent().resume(trace), "made as it was, or its tools="),
        (lambda trace: agent().resume(trace, env(), tools=TOOLS), "made as it was, or its tools="),
        (
            lambda trace: agent().resume(trace, tools=[look], approve=_never, approve_when=lambda _: True),
            "the model is asked as 'plan'",
        ),
        (lambda trace: agent().resume(trace.with_name("none"), tools=TOOLS), "none"),
    ],
)
def test_what_cannot_go_on_says_why_and_changes_nothing(
    tmp_path: Path, change: Callable[[Path], object], why: str
) -> None:
    trace = tmp_path / "t.jsonl"
    agent().run(env(), trace=trace, approve=lambda request: Approval.STOP)
    before, calls = trace.read_bytes(), [*made]
    with pytest.raises((ResumeError, ConfigError, TraceError), match=re.escape(why)):
        change(trace)
    assert (trace.read_bytes(), made) == (before, calls)


def test_a_trace_is_never_written_over_nor_played_twice_at_once(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    agent().run(env(), trace=trace)
    before = trace.read_bytes()
    with pytest.raises(TraceError, match="exists; go on with it"):
        agent().run(env(), trace=trace)
    assert trace.read_bytes() == before
    writer = TraceWriter("again", trace, replace=True)
    with pytest.raises(TraceError, match="is being played"):
        TraceWriter("third", trace, replace=True)

    def meanwhile(_: object) -> bool:
        with pytest.raises(TraceError, match="is being played"):
            agent().resume(trace, tools=TOOLS)
        return True

    assert agent().run(env(), trace=writer, approve=meanwhile).success
    writer.close()


def test_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = '''
from tape.tools import tool

@tool(usd="0.02")
def goal(place: str) -> str:
    """Look at a place."""
    return "gold"
'''
    (tmp_path / "shop_tools.py").write_text(source)
    sys.path.insert(0, str(tmp_path))
    from shop_tools import goal  # type: ignore[import-not-found]

    plan = 'answer(goal("home"))'
    player = TapeAgent(ScriptedLM([plan] * 9), ablations={"extend": 0}, scorer="declared", num_plans=1)
    trace = tmp_path / "t.jsonl"
    player.run(ToolEnvironment("Look.", [goal], budget="$0.01, 5 steps"), trace=trace)
    place = ["--in", str(tmp_path / "shop_tools.py")]
    assert main(["resume", str(trace), *place, "--budget", "$1"]) == 2
    assert "model is called 'scripted', which names no model" in (refused := capsys.readouterr().err)
    assert "goes on in Python: agent.resume(trace, tools=[...])" in refused
    monkeypatch.setattr("tape.agents.configured.open_model", lambda name, prices: ScriptedLM([plan] * 9))
    assert main(["resume", str(trace), *place]) == 1
    assert "infeasible: no plan fits into $0.01" in capsys.readouterr().out
    assert main(["resume", str(trace), "--in", "no_such_module", "--budget", "$1"]) == 2
    assert "no_such_module: it cannot be imported" in capsys.readouterr().err
    assert main(["resume", str(trace), *place, "--budget", "$1"]) == 0
    assert "success\nanswer: gold\nspent: calls" in capsys.readouterr().out
    sys.path.remove(str(tmp_path))


@pytest.mark.parametrize("kind", [ReactAgent, PlanAndActReplanAgent])
def test_any_agent_resumes(tmp_path: Path, kind: type[Agent]) -> None:
    replies = [LOOK.replace("seen", "r1"), SEND.replace("sent", "r2"), "answer(r2)"]

    def script(request: Any, sample: int) -> str:
        return "1" if request.role == "score" else replies[min(len(obtained(request)), 2)]

    trace = tmp_path / "t.jsonl"
    made.append("stop")
    with pytest.raises(KeyboardInterrupt):
        kind(ScriptedLM(script)).run(env(), trace=trace)
    player = kind(ScriptedLM(script))
    result = player.resume(trace, tools=TOOLS, on_unfinished="assume_done")
    assert made == ["look home", "send ann"]
    assert result.steps == 3


def test_ten_agents_in_one_loop_each_keep_their_cap_and_go_on(tmp_path: Path) -> None:
    async def play(number: int) -> tuple[str, str]:
        trace, budget = tmp_path / f"{number}.jsonl", "$0.02, 9 steps" if number % 2 else "$0.10, 9 steps"
        first = await agent().arun(env(budget), trace=trace)
        again = await agent().aresume(trace, tools=TOOLS, budget="$0.10" if number % 2 else None)
        assert first.used.get("usd", 0) <= first.budget["usd"]
        assert again.used["usd"] == 30_000
        return first.end_state, again.end_state

    async def all_of_them() -> list[tuple[str, str]]:
        return await asyncio.gather(*map(play, range(10)))

    assert asyncio.run(all_of_them()) == [("success", "success"), ("infeasible", "success")] * 5
    assert sorted(made) == ["look home"] * 10 + ["send ann"] * 10
