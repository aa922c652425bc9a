"""Chains of the solver's path with a verifier on top (SDP x TAPE x AEC), and REALIZE that does not repeat itself."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.environment import SokobanEnvironment
from experiments.studies.sdp.revalidation import revalidate
from experiments.studies.sdp.trajectory import CertifiedTrajectory
from tape.budget import Budget, Ledger, Resources
from tape.engine.act import MAX_RETRIES, LmActor
from tape.engine.context import RoleContext
from tape.engine.settings import TapeConfig
from tape.lm.accounting import AccountedLM
from tape.lm.base import Forced, JsonSchema, OneOf, Regex, Request
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.adapter import Adapter, Caps, Tools
from tape.methods.sdp.agent import SdpAgent
from tape.methods.sdp.chat_prompts import ActionAnswer
from tape.methods.sdp.events import ChainEvent, ValidatedEvent
from tape.methods.sdp.operators import Realized
from tape.methods.sdp.predicate_adapter import PROBE, PredicateAdapter
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Target
from tape.methods.sdp.writing import WARMEST, WritingRealize, any_of
from tape.protocols import Action, Observation
from tape.protocols.result import EpisodeResult
from tape.seeds import derive
from tape.trace import Event, MismatchEvent, TraceWriter, read_trace
from tests.profiles import examples
from tests.tape.helpers import ROOM, SimulatedModel
from tests.tape.methods.aec.toy import BoxModel, BoxWorld, of_type
from tests.tape.methods.sdp.algorithm import check
from tests.tape.methods.sdp.flags import FlagWorld, Played, Script

CAPS = Caps(3, 6, 60)


@dataclass
class Boxes(BoxWorld):
    """Boxes with an adapter."""

    def sdp(self) -> Adapter:
        return PredicateAdapter(
            self.domain, CAPS, kind=lambda action: action.split()[0], goal="the gem is held",
            telling=lambda predicate, actions: bool(actions) and predicate.name != "never",
        )  # fmt: skip


@dataclass
class Linked(Boxes):
    """What unlocks one box unlocks all: one action makes several targets true."""

    def step(self, action: Action) -> tuple[Observation, Resources]:
        seen, cost = super().step(action)
        for box in range(len(self.locks) if action.startswith("unlock") else 0):
            seen, _ = super().step(f"unlock {box}")
        return seen, cost


class FreeModel(BoxModel):
    """Writes any action where it may choose."""

    def _answer(self, request: Request, sample: int) -> str:
        if request.role == "act" and request.constraint is None:
            rng = random.Random(f"{request.seed}/{sample}")
            return f"{rng.choice(['rattle', 'unlock', 'open', 'take'])} {rng.randrange(len(self.locks))}"
        return super()._answer(request, sample)


def played(
    world: BoxWorld, model: BoxModel, steps: int = 40, seed: int = 0, **switches: Any
) -> tuple[EpisodeResult, list[Event]]:
    writer = TraceWriter("boxes")
    agent = SdpAgent(model, execution="forced", **switches)
    result = agent.run(world, budget=Budget({"steps": steps}), seed=seed, trace=writer)
    return result, writer.events


def test_the_nodes_of_the_path_are_the_chain() -> None:
    world = Boxes(1, (False, True), shown=True)
    result, events = played(world, BoxModel(1, (False, True), plans=["unlock 1; open 1; take 1"]), num_plans=1)
    assert (result.end_state, result.actions) == ("success", ["unlock 1", "open 1", "take 1"])
    [proposed] = of_type(events, ChainEvent)
    assert [target.by for target in proposed.targets] == result.actions
    assert [target.node for target in proposed.targets] == [event.nodes[1] for event in of_type(events, ValidatedEvent)]
    assert proposed.targets[-1].goal, "the goal takes the place of the last node"


def test_a_cascade_on_a_path_judges_the_edge_that_was_taken() -> None:
    locks, plan = (True, True), "unlock 0; unlock 1; open 1; take 1"
    world = Linked(1, locks, shown=True)
    result, events = played(world, BoxModel(1, locks, plans=[plan]), num_plans=1)
    assert (result.end_state, result.actions) == ("success", ["unlock 0", "open 1", "take 1"])
    assert [event.k for event in of_type(events, ValidatedEvent)] == [2, 1, 1]
    # The first edge was to leave the second box locked: its target came true, its prediction did not.
    [mismatch] = of_type(events, MismatchEvent)
    assert (mismatch.step, mismatch.predicted, mismatch.observed) == (1, "c0? c1?", "c0? c0?")


def test_a_failed_edge_is_replanned_at_once_on_a_path() -> None:
    world = Boxes(1, (False, True))
    model = BoxModel(1, (False, False), plans=["open 1; take 1", "unlock 1; open 1; take 1"])
    result, events = played(world, model, num_plans=1)
    assert (result.end_state, result.replans) == ("success", 1)
    assert result.actions == ["open 1", "unlock 1", "open 1", "take 1"]
    assert [event.k for event in of_type(events, ValidatedEvent)] == [0, 1, 1, 1]


SDP = {"attempts": st.sampled_from([1, 2]), "strict_algorithm1": st.booleans(), "cascade": st.booleans()}
LOCKS, WORLDS = st.lists(st.booleans(), min_size=1, max_size=4), st.sampled_from([Boxes, Linked])


@examples(40)
@given(st.integers(0, 10_000), LOCKS, WORLDS, st.booleans(), st.fixed_dictionaries(SDP), st.integers(0, 14))
def test_every_path_keeps_to_algorithm_1(
    seed: int, locks: list[bool], made: type[Boxes], verified: bool, sdp: dict[str, Any], steps: int
) -> None:
    world = made(seed % len(locks), tuple(locks))
    model = FreeModel((seed + 1) % len(locks), tuple(locks), skill=0.5)
    result, events = played(world, model, steps, seed, aec=verified, sdp=sdp)
    assert result.steps <= steps
    assert result.success == (result.end_state == "success")
    hows = {verdict.how for event in of_type(events, ValidatedEvent) for verdict in event.checks}
    assert hows <= {"deterministic", "completion"}
    caps, switches = Caps(sdp["attempts"], CAPS.replans, CAPS.steps), {"cascade": sdp["cascade"], "watched": verified}
    check(Played(result, events, Script([], []), FlagWorld()), caps, strict=sdp["strict_algorithm1"], **switches)


def test_a_target_of_an_unknown_outcome_names_its_action() -> None:
    """Where no path is left, the most sampled first action is tried."""
    model = BoxModel(0, (False,), plans=["take 0"])
    _, events = played(Boxes(0, (False,)), model, num_plans=1, ablations={"resample": 0}, sdp={"step_cap": 3})
    probes = [t for event in of_type(events, ChainEvent) for t in event.targets if t.kind == PROBE]
    assert probes
    assert all(target.by == "take 0" for target in probes)


ENV = SokobanEnvironment(ROOM)
DOMAIN, START = ENV.domain, ROOM.start
HERE = DOMAIN.key(START)
TARGET, GOAL = Target("there", "move", by="U"), Target("done", "goal", goal=True)


def written(
    answer: Callable[[Request, int], str], *tried: tuple[str | None, str], free: bool = False
) -> tuple[Realized, list[Request]]:
    """What REALIZE makes of some failed attempts, and what it asked."""
    model = ScriptedLM(answer, prompt_format="compact")
    env = SokobanEnvironment(ROOM)
    if free:
        env.domain.admissible = lambda _: None  # type: ignore[method-assign, assignment, return-value]
    trace = TraceWriter("writing")
    roles = RoleContext(AccountedLM(model, Ledger(), trace), env.prompt_format("compact"), env.domain, trace)
    tools = Tools(roles, TapeConfig(), lambda *parts: derive(0, *parts))
    actor = LmActor(roles, "constrained", 0.3)
    realize = WritingRealize(env.domain, actor, tools, invents=True)
    attempts = tuple(Attempt(TARGET, action, "no", node) for action, node in tried)
    at = MarkovState(CertifiedState((), (), START), (TARGET, GOAL), attempts)
    return asyncio.run(realize.realize(at)), model.requests


def stubborn(request: Request, sample: int) -> str:
    """Writes U wherever that is admitted, else the first move that is."""
    del sample
    assert isinstance(request.constraint, Regex)
    texts = (f" next: move {move} action: {move}" for move in "UDLR")
    return next(text for text in texts if re.fullmatch(request.constraint.pattern, text))


@pytest.mark.parametrize(
    ("tried", "action"),
    [
        ([("U", HERE)], "D"),
        ([("U", HERE), ("D", HERE), ("L", HERE)], "R"),
        ([("U", "elsewhere")], "U"),  # what failed in another state may work here
        ([("U", "")], "D"),  # a refused action is tried nowhere
    ],
)
def test_what_failed_here_is_left_out_of_the_constraint(tried: list[tuple[str, str]], action: str) -> None:
    realized, asked = written(stubborn, *tried)
    assert (realized.action, len(asked)) == (action, 1)


def test_where_all_was_tried_no_model_is_asked() -> None:
    realized, asked = written(stubborn, *((move, HERE) for move in "UDLR"))
    assert (realized, asked) == (Realized(None, "all 4 actions that are admissible here were tried"), [])
    assert written(lambda *_: " nonsense", ("U", HERE))[0].counts_if_none  # an unreadable action is an attempt


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


def test_constraints_are_joined_if_their_union_can_be_expressed() -> None:
    assert any_of([Forced("a"), OneOf(("b", "a"))]) == OneOf(("a", "b"))
    joined = any_of([Regex("a+|b"), Regex("c")])
    assert isinstance(joined, Regex)
    assert [bool(re.fullmatch(joined.pattern, text)) for text in ("aa", "b", "c", "ac", "")] == [True] * 3 + [False] * 2
    for others in ([Regex("a"), Forced("b")], [Regex("a"), None], [JsonSchema(ActionAnswer)], []):
        assert any_of(others) is None


@pytest.mark.parametrize("attempts", [2, 3])
def test_no_attempt_is_used_up_by_a_repeat(attempts: int, tmp_path: Path) -> None:
    """A model that pushes against the wall again and again: every attempt is another action."""
    model = SimulatedModel(ROOM, plans=[" U U U U"], wrong={(START, "U"): " (1,1) (2,2)"})
    agent = SdpAgent(model, sdp={"chain": "sample", "attempts": attempts})
    agent.run(SokobanEnvironment(ROOM), budget=Budget({"steps": 12}), trace=tmp_path / "e.jsonl")
    moves = of_type([*read_trace(tmp_path / "e.jsonl")], ValidatedEvent)
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
