"""REALIZE does not repeat itself: what failed in a state is left out there, at no attempt's cost."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from envs.sokoban.environment import SokobanEnvironment
from tape.budget import Budget, Ledger
from tape.engine.act import MAX_RETRIES, LmActor
from tape.engine.context import RoleContext
from tape.engine.settings import TapeConfig
from tape.lm.accounting import AccountedLM
from tape.lm.base import Choice, Forced, JsonSchema, Regex, Request
from tape.lm.scripted import ScriptedLM
from tape.sdp.adapter import Tools
from tape.sdp.agent import SdpAgent
from tape.sdp.chat_prompts import ActionAnswer
from tape.sdp.events import ValidatedEvent
from tape.sdp.operators import Realized
from tape.sdp.revalidation import revalidate
from tape.sdp.state import Attempt, CertifiedState, MarkovState
from tape.sdp.target import Target
from tape.sdp.trajectory import CertifiedTrajectory
from tape.sdp.writing import WARMEST, WritingRealize, any_of
from tape.seeds import derive
from tape.trace import TraceWriter, read_trace
from tests.tape.helpers import ROOM, SimulatedModel

ENV = SokobanEnvironment(ROOM)
DOMAIN, START = ENV.domain, ROOM.start
HERE = DOMAIN.key(START)
TARGET, GOAL = Target("there", "move", by="U"), Target("done", "goal", goal=True)


def written(
    answer: Callable[[Request, int], str], *tried: tuple[str | None, str], free: bool = False
) -> tuple[Realized, list[Request]]:
    """What REALIZE makes of some failed attempts, and what it asked."""
    asked: list[Request] = []

    def heard(request: Request, sample: int) -> str:
        asked.append(request)
        return answer(request, sample)

    model = ScriptedLM(heard, prompt_format="compact")
    env = SokobanEnvironment(ROOM)
    if free:
        env.domain.admissible = lambda _: None  # type: ignore[method-assign, assignment, return-value]
    trace = TraceWriter("writing")
    roles = RoleContext(AccountedLM(model, Ledger(), trace), env.prompt_format("compact"), env.domain, trace)
    tools = Tools(roles, TapeConfig(), lambda *parts: derive(0, *parts))
    actor = LmActor(roles, "constrained", 0.3)
    realize = WritingRealize(env.domain, actor, tools.seed, invents=True, tools=tools)
    attempts = tuple(Attempt(TARGET, action, "no", node) for action, node in tried)
    at = MarkovState(CertifiedState((), (), START), (TARGET, GOAL), attempts)
    return asyncio.run(realize.realize(at)), asked


def stubborn(request: Request, sample: int) -> str:
    """Writes U wherever that is admitted, else the first move that is."""
    del sample
    assert isinstance(request.constraint, Regex)
    texts = (f" next: move {move} action: {move}" for move in "UDLR")
    return next(text for text in texts if re.fullmatch(request.constraint.pattern, text))


def test_what_failed_here_is_left_out_of_the_constraint() -> None:
    realized, asked = written(stubborn, ("U", HERE))
    assert (realized.action, len(asked)) == ("D", 1)
    realized, asked = written(stubborn, ("U", HERE), ("D", HERE), ("L", HERE))
    assert (realized.action, len(asked)) == ("R", 1)


def test_what_failed_in_another_state_may_work_here() -> None:
    realized, asked = written(stubborn, ("U", "elsewhere"))
    assert (realized.action, len(asked)) == ("U", 1)


def test_what_somebody_has_refused_is_tried_nowhere() -> None:
    assert written(stubborn, ("U", ""))[0].action == "D"


def test_where_all_was_tried_it_says_so_and_asks_nobody() -> None:
    realized, asked = written(stubborn, *((move, HERE) for move in "UDLR"))
    assert asked == []
    assert realized == Realized(None, "all 4 actions that are admissible here were tried")


def test_where_actions_cannot_be_named_a_repeat_is_sampled_again_and_warmer() -> None:
    realized, asked = written(stubborn, ("U", HERE), free=True)
    assert realized == Realized(None, f"in {MAX_RETRIES + 1} samples nothing untried was written: U")
    warmth = [request.temperature for request in asked]
    assert warmth == sorted(warmth)
    assert warmth[0] == TapeConfig().temperature < warmth[-1] <= WARMEST
    assert len({request.seed for request in asked}) == MAX_RETRIES + 1
    cool = [request.temperature for request in asked[:2]]
    realized, asked = written(lambda r, _: stubborn(r, 0) if r.temperature < cool[1] else " next: move L action: L",
                              ("U", HERE), free=True)  # fmt: skip
    assert (realized.action, len(asked)) == ("L", 2)


def test_what_cannot_be_read_still_counts_as_an_attempt() -> None:
    assert written(lambda *_: " nonsense", ("U", HERE))[0].counts_if_none


def test_constraints_are_joined_where_that_can_be_said() -> None:
    assert any_of([Forced("a"), Choice(("b", "a"))]) == Choice(("a", "b"))
    joined = any_of([Regex("a+|b"), Regex("c")])
    assert isinstance(joined, Regex)
    assert [bool(re.fullmatch(joined.pattern, text)) for text in ("aa", "b", "c", "ac", "")] == [True] * 3 + [False] * 2
    assert any_of([Regex("a"), Forced("b")]) is None
    assert any_of([Regex("a"), None]) is None
    assert any_of([JsonSchema(ActionAnswer)]) is None
    assert any_of([]) is None


@pytest.mark.parametrize("attempts", [2, 3])
def test_no_attempt_is_used_up_by_a_repeat(attempts: int, tmp_path: Path) -> None:
    """A model that pushes against the wall again and again: every attempt is another action."""
    model = SimulatedModel(ROOM, plans=[" U U U U"], wrong={(START, "U"): " (1,1) (2,2)"})
    agent = SdpAgent(model, sdp={"chain": "sample", "attempts": attempts})
    agent.run(SokobanEnvironment(ROOM), budget=Budget({"steps": 12}), trace=tmp_path / "e.jsonl")
    moves = [event for event in read_trace(tmp_path / "e.jsonl") if isinstance(event, ValidatedEvent)]
    assert moves
    assert all(move.action is not None or not move.counts for move in moves)
    tried: list[tuple[str | None, str]] = []
    for move in moves:
        tried = [] if move.k or not move.failed else tried
        assert (move.action, move.nodes[0]) not in tried
        tried.append((move.action, move.nodes[0]))
    assert revalidate(CertifiedTrajectory.from_trace(tmp_path / "e.jsonl")) == []


def test_a_state_that_is_not_known_matches_every_state() -> None:
    at = MarkovState(CertifiedState((), ()), (GOAL,), (Attempt(GOAL, "a", "no", "x"), Attempt(GOAL, "b", "no")))
    assert (at.tried, at.tried_in("x"), at.tried_in("y")) == (("a", "b"), ("a", "b"), ("b",))
    assert replace(at, attempts=at.attempts * 2).tried == ("a", "b")
