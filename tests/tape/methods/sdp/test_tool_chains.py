"""SDP on tools, played: what is certified, tried again, given up and paid."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.studies.sdp.revalidation import checked, revalidate
from experiments.studies.sdp.trajectory import CertifiedTrajectory
from tape.budget import Budget
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.adapter import Foresees
from tape.methods.sdp.agent import SdpAgent, require_adapter
from tape.methods.sdp.events import ChainEvent, ValidatedEvent
from tape.protocols.result import EpisodeResult
from tape.tools import Fixed, ToolEnvironment, ToolFailedError, tool
from tape.tools.making import make_tool
from tape.tools.state import UNSAID
from tape.trace import Event, TraceWriter
from tests.profiles import examples
from tests.tape.methods.aec.toy import of_type
from tests.tape.tools.helpers import computing, follow, program, script

Plan = list[tuple[str, dict[str, Any]]]
PLAN: Plan = [
    ("multiply.exact", {"a": 3, "b": 4}),
    ("multiply.exact", {"a": "#1", "b": 7}),
    ("add", {"a": "#2", "b": 5}),
]
CHAINS = ["walk", "sample"]


@tool(kind="find", variant="cheap", quality=0.5, pure=True, usd="0.01")
def find_cheap(what: str) -> str:
    """Find something out."""
    raise ToolFailedError("nothing was found")


@tool(kind="find", variant="dear", quality=0.9, pure=True, usd="0.05")
def find_dear(what: str) -> str:
    """Find something out, at a price."""
    return f"a {what}"


@tool(kind="read", reads=True, pure=True, usd="0.01")
def read(query: str) -> str:
    """Look something up in a text."""
    return f"all there is to know of {query}"


@tool()
def send(text: str) -> str:
    """Send something, which cannot be taken back."""
    return f"sent {text}"


def played(
    reply: Callable[[Request, int], str],
    env: ToolEnvironment,
    trace: Path | None = None,
    chain: str = "walk",
    **more: Any,
) -> tuple[EpisodeResult, Sequence[Event]]:
    """An episode and its events."""
    budget, sdp = more.pop("budget", None), {"chain": chain, **more.pop("sdp", {})}
    writer = TraceWriter("t", trace)
    result = SdpAgent(ScriptedLM(reply, obey=True), sdp=sdp, **more).run(env, budget=budget, trace=writer)
    writer.close()
    return result, writer.events


def moves(events: Sequence[Event]) -> list[ValidatedEvent]:
    return of_type(events, ValidatedEvent)


@pytest.mark.parametrize("chain", CHAINS)
def test_every_call_of_a_good_plan_is_certified(chain: str, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    result, events = played(script(PLAN, act=follow(PLAN)), computing(steps=9), file, chain)
    assert (result.end_state, result.replans) == ("success", 0)
    assert (result.method["certified"], result.method["rejections"]) == (4, 0)
    assert [move.checks[0].how for move in moves(events)] == ["deterministic"] * 3 + ["completion"]
    trajectory = CertifiedTrajectory.from_trace(file)
    assert (revalidate(trajectory), checked(trajectory).recomputed, checked(trajectory).unrecorded) == ([], 3, 0)
    assert moves(events)[0].checks[0].evidence == "#1 = 12.0 (by multiply.exact, declared quality 1)"


def test_on_a_path_the_solver_takes_the_tools_that_the_budget_pays() -> None:
    quick: Plan = [(name.replace("exact", "quick"), arguments) for name, arguments in PLAN]
    result, _ = played(script(quick), computing(usd="0.041", steps=9))
    assert [action.partition("(")[0] for action in result.actions[:2]] == ["multiply.exact"] * 2
    assert not result.budget_violations


def finding(plan: Plan, **more: Any) -> Callable[[Request, int], str]:
    return script(plan, answers=["#1"], **more)


CHEAP: Plan = [("find.cheap", {"what": "pear"})]


def test_a_call_that_fails_certifies_nothing_and_another_tool_of_its_kind_may_do_it() -> None:
    env = ToolEnvironment("Find a pear.", [find_cheap, find_dear])
    result, events = played(finding(CHEAP), env, None, "sample", budget=Budget.of(steps=9, usd="0.06"))
    assert result.actions == ['find.cheap(what="pear")', 'find.dear(what="pear")', "answer(value=#1)"]
    assert [(move.k, move.reason) for move in moves(events)[:1]] == [(0, "nothing was found")]
    assert moves(events)[1].checks[0].facts == [('result(#1, find(what="pear"))', True)]
    assert (result.end_state, result.replans, result.budget_violations) == ("success", 0, [])


def test_on_a_path_another_tool_is_selected_on_the_same_graph() -> None:
    env = ToolEnvironment("Find a pear.", [find_cheap, find_dear], budget=Budget.of(usd="0.055", steps=9))
    poor, rich = played(finding(CHEAP), env), played(finding(CHEAP), env, budget=Budget.of(usd="0.05"))
    assert [result.actions[:1] for result, _ in (poor, rich)] == [['find.dear(what="pear")']] * 2
    # Declared to be sure, so that it is taken first; it finds nothing.
    more: dict[str, Any] = {"quality": 1.0, "pure": True, "cost": Fixed.of(usd="0.01")}
    worse = make_tool(find_cheap.function, kind="find", variant="worse", **more)
    env = ToolEnvironment("Find a pear.", [worse, find_dear], budget=Budget.of(usd="0.06", steps=9))
    result, events = played(finding([("find.worse", {"what": "pear"})]), env)
    assert result.actions == ['find.worse(what="pear")', 'find.dear(what="pear")', "answer(value=#1)"]
    assert [event.reason for event in events if isinstance(event, ChainEvent)] == ["proposed", "1 failed attempts"]
    assert (result.success, result.method["certified"], result.budget_violations) == (True, 2, [])


def test_where_the_budget_pays_for_no_tool_it_is_replanned_and_nothing_is_overspent() -> None:
    env = ToolEnvironment("Find a pear.", [find_cheap, find_dear], budget=Budget.of(usd="0.055", steps=9))
    reply = finding(CHEAP, act=follow([("find.dear", {"what": "pear"})], "#1"))
    result, events = played(reply, env, None, "sample")
    assert result.actions == ['find.cheap(what="pear")']
    assert moves(events)[1].reason == "the rest of the budget pays for no way to it"
    assert not result.budget_violations


def test_where_no_tool_can_do_it_any_more_it_is_replanned_at_once() -> None:
    env = ToolEnvironment("Find a pear.", [find_cheap, send])
    reply = script(CHEAP, [("send", {"text": "sorry"})])
    result, events = played(reply, env, None, "sample", budget=Budget.of(steps=6))
    chains = of_type(events, ChainEvent)
    assert chains[1].reason == 'find.cheap(what="pear") has failed already; use another tool or other arguments'
    assert result.actions == ['find.cheap(what="pear")', 'send(text="sorry")', "answer(value=#1)"]
    assert moves(events)[1].action is None


def test_what_would_be_refused_is_no_attempt_and_costs_no_step() -> None:
    """The model repeats a call that has failed, for which no target asks; it is asked again, then for another plan."""
    env = ToolEnvironment("Find a pear.", [find_cheap, find_dear])
    plans, act = iter([CHEAP, CHEAP, [("find.dear", {"what": "pear"})]]), script(act=follow(CHEAP))

    def reply(request: Request, sample: int) -> str:
        return program(next(plans), None, request) if request.role == "plan" else act(request, sample)

    result, events = played(reply, env, None, "sample", sdp={"attempts": 1}, budget=Budget.of(steps=9))
    assert result.actions == ['find.cheap(what="pear")', 'find.dear(what="pear")', "answer(value=#1)"]
    assert moves(events)[1].reason.startswith("in 4 samples nothing untried was written: find.cheap")
    assert isinstance(require_adapter(env), Foresees)


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("answer", ["red", ""])
def test_a_result_that_a_model_has_read_is_flagged(chain: str, answer: str, tmp_path: Path) -> None:
    env = ToolEnvironment("What colour?", [read])
    plan: Plan = [("read", {"query": "colour"})]
    reply = script(plan, answers=["#1"], project=lambda _: json.dumps({"answer": answer}), act=follow(plan))
    file = tmp_path / "t.jsonl"
    _, events = played(reply, env, file, chain, budget=Budget.of(steps=4))
    first = moves(events)[0].checks[0]
    assert (first.holds, first.how) == (bool(answer), "lm")
    assert first.facts == [('result(#1, read(query="colour"))', bool(answer))]
    if not answer:
        assert first.evidence == UNSAID
    trajectory = CertifiedTrajectory.from_trace(file)
    assert (revalidate(trajectory), checked(trajectory).flagged.get("lm", 0)) == ([], bool(answer))


def test_blind_validation_stops_where_the_next_result_would_be_another() -> None:
    env = ToolEnvironment("Find a pear and send it.", [find_cheap, send])
    plan: Plan = [*CHEAP, ("send", {"text": "#1"})]
    result, _ = played(script(plan), env, sdp={"validation": "always"}, budget=Budget.of(steps=5))
    assert (result.end_state, result.actions) == ("failure", ['find.cheap(what="pear")'])
    assert "would do something else than planned" in result.detail


@given(st.integers(1, 12), st.integers(0, 60), st.sampled_from(CHAINS), st.integers(0, 2))
@examples(30)
def test_budgets_are_kept_wherever_they_lie(steps: int, cents: int, chain: str, seed: int) -> None:
    rng = random.Random(seed)
    plan = PLAN if rng.random() < 0.7 else [*PLAN[:1], ("divide", {"a": 1, "b": 0}), *PLAN[1:]]
    env = computing(steps=steps, usd=f"0.{cents:03d}", seconds=3)
    result, _ = played(script(plan, act=follow(PLAN)), env, None, chain)
    assert not result.budget_violations
    assert result.steps <= steps
    assert result.success <= (result.end_state == "success")
