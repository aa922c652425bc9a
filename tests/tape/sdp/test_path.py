"""The chain of the solver's path, validation that certifies its edges, and a verifier on top (SDP x TAPE x AEC)."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Budget, Resources
from tape.engine.result import EpisodeResult
from tape.lm.base import Request
from tape.protocols import Action, Observation
from tape.sdp.adapter import Adapter, Caps
from tape.sdp.agent import SdpAgent
from tape.sdp.events import ChainEvent, ValidatedEvent
from tape.sdp.predicate_adapter import PROBE, PredicateAdapter
from tape.trace import Event, MismatchEvent, TraceWriter
from tests.profiles import examples
from tests.tape.aec.toy import BoxModel, BoxWorld
from tests.tape.sdp.algorithm import check
from tests.tape.sdp.flags import Played, Script

CAPS = Caps(3, 6, 60)


@dataclass
class Boxes(BoxWorld):
    """Boxes with an adapter."""

    def sdp(self) -> Adapter:
        return PredicateAdapter(
            self.domain,
            CAPS,
            kind=lambda action: action.split()[0],
            goal="the gem is held",
            telling=lambda predicate, actions: bool(actions) and predicate.name != "never",
        )


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


def of(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_the_nodes_of_the_walk_are_the_chain() -> None:
    world = Boxes(1, (False, True), shown=True)
    result, events = played(world, BoxModel(1, (False, True), plans=["unlock 1; open 1; take 1"]), num_plans=1)
    assert (result.end_state, result.actions) == ("success", ["unlock 1", "open 1", "take 1"])
    [proposed] = of(events, ChainEvent)
    assert [target.by for target in proposed.targets] == result.actions
    assert [target.node for target in proposed.targets] == [event.nodes[1] for event in of(events, ValidatedEvent)]
    assert proposed.targets[-1].goal, "the goal takes the place of the last node"


def test_a_cascade_on_a_walk_judges_the_edge_that_was_taken() -> None:
    locks, plan = (True, True), "unlock 0; unlock 1; open 1; take 1"
    world = Linked(1, locks, shown=True)
    result, events = played(world, BoxModel(1, locks, plans=[plan]), num_plans=1)
    assert (result.end_state, result.actions) == ("success", ["unlock 0", "open 1", "take 1"])
    assert [event.k for event in of(events, ValidatedEvent)] == [2, 1, 1]
    # The first edge was to leave the second box locked: its target came true, its prediction did not.
    [mismatch] = of(events, MismatchEvent)
    assert (mismatch.step, mismatch.predicted, mismatch.observed) == (1, "c0? c1?", "c0? c0?")


def test_a_failed_edge_is_replanned_at_once_on_a_walk() -> None:
    world = Boxes(1, (False, True))
    model = BoxModel(1, (False, False), plans=["open 1; take 1", "unlock 1; open 1; take 1"])
    result, events = played(world, model, num_plans=1)
    assert (result.end_state, result.replans) == ("success", 1)
    assert result.actions == ["open 1", "unlock 1", "open 1", "take 1"]
    assert [event.k for event in of(events, ValidatedEvent)] == [0, 1, 1, 1]


def test_switches_go_before_the_adapters_caps() -> None:
    world = Boxes(1, (False, True), tricks=("open 1",))
    model = BoxModel(1, (False, False), plans=["open 1; take 1"])
    result, _ = played(world, model, num_plans=1, resample=0, probe=False, sdp={"target_replans": 1})
    assert result.end_state in ("replan_limit", "infeasible")
    assert result.replans <= 1
    result, _ = played(Boxes(1, (False, False)), model, num_plans=1, sdp={"step_cap": 1})
    assert (result.end_state, result.steps) == ("failure", 1)
    assert "cap of 1 steps" in result.detail


@examples(40)
@given(
    st.integers(0, 10_000),
    st.lists(st.booleans(), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 14),
)
def test_every_walk_keeps_to_algorithm_1(
    seed: int, locks: list[bool], verified: bool, attempts: int, strict: bool, linked: bool, cascade: bool, steps: int
) -> None:
    world = (Linked if linked else Boxes)(seed % len(locks), tuple(locks))
    model = FreeModel((seed + 1) % len(locks), tuple(locks), skill=0.5)
    chains = {"attempts": attempts, "strict_algorithm1": strict, "cascade": cascade}
    result, events = played(world, model, steps, seed, aec=verified, sdp=chains)
    assert result.steps <= steps
    assert result.success == (result.end_state == "success")
    for event in of(events, ValidatedEvent):
        for verdict in event.checks:
            assert verdict.how in ("deterministic", "completion")
    caps = Caps(attempts, CAPS.replans, CAPS.steps)
    episode = Played(result, events, Script([], []), world)  # type: ignore[arg-type]
    check(episode, caps, strict=strict, cascade=cascade, watched=verified)


def test_nothing_else_than_what_it_says_is_probed() -> None:
    """Where no path is left, the most sampled first action is tried: its target asks what it does."""
    world = Boxes(0, (False,))
    model = BoxModel(0, (False,), plans=["take 0"])
    _, events = played(world, model, num_plans=1, resample=0, sdp={"step_cap": 3})
    probes = [t for event in of(events, ChainEvent) for t in event.targets if t.kind == PROBE]
    assert probes
    assert all(target.by == "take 0" for target in probes)
