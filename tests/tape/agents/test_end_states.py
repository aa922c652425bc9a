"""Every end state, each by one scripted episode or more: the sentence of its detail names the cause."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import solvers
from tape.agents.best_of_n import BestOfNReactAgent
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.approval import Approval
from tape.budget import Budget, Resources
from tape.errors import ModelError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols import Action, Observation
from tape.protocols.result import END_STATES, EpisodeResult
from tape.testing.line import Line, LineModel
from tape.tools import ToolEnvironment, tool
from tape.trace import FinishedEvent, TraceWriter
from tape.world.scripted import ScriptedPlayer
from tests.tape.agents.cleaning import CAPS, Cleaning, stubborn
from tests.tape.methods.aec.toy import OPEN, BoxModel, BoxWorld
from tests.tape.methods.aec.toy import play as verified
from tests.tape.tools.helpers import TOOLS, follow, script
from tests.tape.world.worlds import Lamp, make_lamp

SUM: list[tuple[str, dict[str, Any]]] = [("add", {"a": 3, "b": 4})]
LEFT = LineModel({("plan", 0): "left left"})
WRONG = LineModel({("next", 1): "3"})


class Stuck(Line):
    """A line whose motor fails."""

    def step(self, action: Action) -> tuple[Observation, Resources]:
        raise OSError("the motor is hot")


def line(model: Any = None, agent: Any = TapeAgent, env: Line | None = None, **settings: Any) -> EpisodeResult:
    options = {name: settings.pop(name) for name in ("approve", "approve_when", "budget") if name in settings}
    result: EpisodeResult = agent(model or LineModel(), **settings).run(env or Line(), **options)
    return result


def answered(agent: Any, **settings: Any) -> EpisodeResult:
    """An answer that the judge of a tool environment finds wrong."""
    env = ToolEnvironment("3 + 4?", TOOLS, judge=lambda answer: answer == 8)
    result: EpisodeResult = agent(ScriptedLM(script(SUM, act=follow(SUM))), horizon=9, **settings).run(env)
    return result


def lost() -> EpisodeResult:
    lamp = make_lamp().environment(Lamp(fuse=0), budget=Budget.of(steps=4))
    return ReactAgent(ScriptedPlayer(make_lamp())).run(lamp)


def silent(request: Request, sample: int) -> str:
    raise ModelError("the line is dead")


def unsolved(status: solvers.Status) -> EpisodeResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solvers, "solve", lambda *_: solvers.PathSolution(status))
        return line()


def late() -> EpisodeResult:
    """A mail whose server does not answer in time."""

    @tool(usd=0, timeout=0.01)
    async def mail(to: str) -> str:
        """Send a mail."""
        await asyncio.sleep(60)
        return to

    result: EpisodeResult = TapeAgent(ScriptedLM(["mail('ann')\nanswer(1)"])).run(ToolEnvironment("Write.", [mail]))
    return result


def interrupted() -> EpisodeResult:
    """Its result is in the trace alone."""

    def unplugged(request: Request, sample: int) -> str:
        raise KeyboardInterrupt

    trace = TraceWriter("x")
    with pytest.raises(KeyboardInterrupt):
        TapeAgent(ScriptedLM(unplugged, prompt_format="compact")).run(Line(), trace=trace)
    [event] = [event for event in trace.events if isinstance(event, FinishedEvent)]
    return EpisodeResult.model_validate(event.result)


@dataclass(frozen=True)
class Case:
    """An episode, its end state, and what its sentence says."""

    end: str
    says: str
    play: Callable[[], EpisodeResult]


CASES = [
    Case("success", "", line),
    Case("failure", "done all that it planned, short of the goal", lambda: line(LEFT, ablations={"replan": False})),
    Case("failure", "done all that it planned, short of the goal", lambda: line(LEFT, OpenLoopAgent)),
    Case("failure", "ended without success: the answer 7 was judged wrong", lambda: answered(TapeAgent)),
    Case("failure", "ended without success: the answer 7 was judged wrong", lambda: answered(ReactAgent)),
    Case("failure", "ended without success: after Press()", lost),
    Case("failure", "the horizon of 2 moves is reached", lambda: line(agent=ReactAgent, horizon=2)),
    Case("budget:steps", "1 step requested, 2 of 2 steps", lambda: line(agent=ReactAgent, env=Line(3, 2))),
    Case("infeasible", "needs a cap of 3 steps", lambda: line(env=Line(3, 2), on_infeasible="stop")),
    Case("no_plan", "of 12 sampled after 0 steps 12 could not be read", lambda: line(LineModel({("plan", 0): "?"}))),
    Case("replan_limit", "0 replanning rounds were not enough", lambda: line(WRONG, max_replans=0)),
    Case(
        "not_certified",
        "holding_gem() must be true; by the facts it is false",
        lambda: verified(BoxWorld(0, OPEN), BoxModel(0, OPEN, plans=["open 0"]), aec={"query_budget": 0})[0],
    ),
    Case("stopped", "stopped where 'right' was to be approved",
         lambda: line(approve=lambda _: Approval.STOP, approve_when=lambda _: True)),
    Case("unknown_outcome", "gave no answer in time", late),
    Case("solver_timeout", "labelling has found neither a path nor a proof in time",
         lambda: unsolved(solvers.Status.TIMEOUT)),
    Case("solver_error", "labelling has found neither a path nor a proof", lambda: unsolved(solvers.Status.ERROR)),
    Case("invalid_output", "no action could be read in 4 samples",
         lambda: line(LineModel({("act", 0): "up"}), ReactAgent, horizon=9)),
    Case("env_error", "the motor is hot", lambda: line(env=Stuck())),
    Case("model_error", "the line is dead", lambda: line(ScriptedLM(silent, prompt_format="compact"))),
    Case("interrupted", "interrupted by KeyboardInterrupt", interrupted),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.end}: {case.says[:30]}")
def test_the_detail_names_the_cause(case: Case) -> None:
    result = case.play()
    assert (result.end_state, case.says in result.detail) == (case.end, True), result.detail
    assert bool(result.detail) is not result.success


def test_there_is_a_case_for_every_end_state() -> None:
    assert {case.end.partition(":")[0] for case in CASES} == {*END_STATES}


@pytest.mark.parametrize("agent", [TapeAgent, OpenLoopAgent, ReactAgent, BestOfNReactAgent])
@pytest.mark.parametrize("settings", [{}, {"max_replans": 0}])
def test_where_all_is_refused_the_detail_names_what_was(agent: Any, settings: dict[str, Any]) -> None:
    options: dict[str, Any] = {"approve": lambda _: False, "approve_when": lambda _: True}
    result = agent(stubborn(), horizon=9, **settings).run(Cleaning().environment(), budget=CAPS, **options)
    assert (result.success, result.steps) == (False, 0)
    assert 'look(table="t")' in result.detail
    assert "refused" in result.detail
