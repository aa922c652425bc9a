"""Operations: they lie inside each other, and hold every event once, whatever the order of events."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape import Budget, ReactAgent, TapeAgent
from tape.adapters.operations import Operation, Operations
from tape.agents.base import Agent
from tape.errors import TraceError
from tape.trace import (
    ActedEvent,
    Event,
    FinishedEvent,
    GeneratedEvent,
    InfeasibleEvent,
    LedgerEvent,
    MismatchEvent,
    ObservedEvent,
    PlansSampledEvent,
    ReplannedEvent,
    StartedEvent,
)
from tests.profiles import examples
from tests.tape.agents.cleaning import CAPS, Cleaning, obedient, stubborn
from tests.tape.show.view_runs import acted, asked, episode, graph, selected

STARTED = StartedEvent(config={"agent": "tape"}, budget={}, seed=0)
FINISHED = FinishedEvent(result={"end_state": "success"})


def operations_of(events: list[Event], times: list[int] | None = None) -> list[Operation]:
    """The operations of some events, as they end; it is checked that they begin before that, once."""
    begun: list[Operation] = []
    ended: list[Operation] = []
    operations = Operations(begun.append, ended.append)
    for moment, event in zip(times or range(len(events)), events, strict=True):
        operations.take(moment, event)
    operations.close()
    assert Counter(map(id, begun)) == Counter(map(id, ended))
    return ended


def lies_well(operations: list[Operation]) -> None:
    """Parents end after what lies in them, and no sooner; times are within theirs."""
    place = {id(operation): number for number, operation in enumerate(operations)}
    for number, operation in enumerate(operations):
        assert operation.start <= operation.end
        assert (operation.parent is None) == (operation.kind == "agent")
        if operation.parent is not None:
            assert place[id(operation.parent)] > number
            assert operation.parent.start <= operation.start
            assert operation.end <= operation.parent.end
            assert operation.parent.kind in (("plan", "agent") if operation.kind == "model" else ("agent",))


def shape(operations: list[Operation]) -> list[tuple[str, str]]:
    return [(operation.kind, operation.parent.kind if operation.parent else "") for operation in operations]


def test_an_episode_made_by_hand() -> None:
    operations = operations_of(episode())
    lies_well(operations)
    assert shape(operations) == [
        ("model", "plan"), ("plan", "agent"), ("model", "agent"), ("tool", "agent"),
        ("model", "plan"), ("plan", "agent"), ("tool", "agent"), ("agent", ""),
    ]  # fmt: skip
    assert [type(event).__name__ for _, event in operations[3].events] == [
        "LedgerEvent", "LedgerEvent", "ActedEvent", "ObservedEvent",
    ]  # fmt: skip
    mismatches = [operation.kind for operation in operations if operation.last(MismatchEvent)]
    assert mismatches == ["agent"]


@pytest.mark.parametrize("agent", [TapeAgent, ReactAgent])
@pytest.mark.parametrize("caps", [CAPS, Budget.of(usd="0.004", steps=9), Budget.of(usd="0.05", tokens=900)])
def test_played_episodes(agent: type[Agent], caps: Budget) -> None:
    events: list[Event] = []
    agent(obedient(), horizon=9).run(Cleaning().environment(), budget=caps, listener=events.append)
    operations = operations_of(events)
    lies_well(operations)
    kinds = Counter(operation.kind for operation in operations)
    assert kinds["model"] == sum(isinstance(event, GeneratedEvent) for event in events)
    assert kinds["tool"] == sum(isinstance(event, ActedEvent) for event in events)
    assert kinds["agent"] == 1
    assert (kinds["plan"] > 0) == (agent is TapeAgent)
    assert all(
        operation.parent is not None and operation.parent.kind == "plan"
        for operation in operations
        if role(operation) in ("plan", "score")
    )


def role(operation: Operation) -> str:
    generated = operation.last(GeneratedEvent)
    return generated.role if isinstance(generated, GeneratedEvent) else ""


def test_each_time_that_it_replans_is_a_plan() -> None:
    events: list[Event] = []
    result = TapeAgent(stubborn(), horizon=9).run(
        Cleaning().environment(), budget=CAPS, listener=events.append, approve=lambda _: False
    )
    operations = operations_of(events)
    lies_well(operations)
    replanned = sum(isinstance(event, ReplannedEvent) for event in events)
    assert replanned > 0
    assert (
        sum(operation.kind == "plan" for operation in operations) == 1 + replanned + result.steps
    )  # after each call it looks again


def test_an_episode_that_is_cut_off_has_failed() -> None:
    operations = operations_of(
        [STARTED, asked("plan", "Plan.", "go"), LedgerEvent(what="reserve", purpose="step:go", amounts={})]
    )
    assert [(operation.kind, operation.failed) for operation in operations] == [
        ("model", False), ("plan", False), ("tool", True), ("agent", True),
    ]  # fmt: skip


def test_a_listener_takes_one_episode_after_another_but_not_two_at_once() -> None:
    assert [operation.kind for operation in operations_of([STARTED, FINISHED, STARTED, FINISHED])] == ["agent", "agent"]
    with pytest.raises(TraceError, match="a listener of its own"):
        operations_of([STARTED, STARTED])
    with pytest.raises(TraceError, match="listen from its beginning"):
        operations_of([FINISHED])


LEDGER = [
    LedgerEvent(what=what, purpose=purpose, amounts={"steps": 1})
    for what in ("reserve", "settle", "release", "refused")
    for purpose in ("lm:plan", "lm:act", "lm:score", "lm:plan,score", "lm:answer", "lm:project", "step:go")
]
MIDDLE: list[Event] = [
    *LEDGER, *(asked(role, "?", "!") for role in ("plan", "act", "score", "answer", "project")),
    *acted(1, "go", 1, "there", {})[2:], PlansSampledEvent(start="start", plans=[["go"]], valid=[True]),
    selected(graph(), ["search cheap"], {"steps": 3}), MismatchEvent(step=1, predicted="a", observed="b"),
    ReplannedEvent(reason="mismatch", count=1), InfeasibleEvent(text="too dear", explanation={}),
]  # fmt: skip


@examples(100)
@given(st.lists(st.tuples(st.sampled_from(MIDDLE), st.integers(-3, 5)), max_size=25), st.booleans())
def test_they_nest_and_lose_nothing_whatever_comes(middle: list[tuple[Event, int]], finishes: bool) -> None:
    """Any events in any order, with a clock that may go back."""
    events: list[Event] = [STARTED, *(event for event, _ in middle), *([FINISHED] if finishes else [])]
    now, times = 100, [100]
    for _, passed in middle:
        now += passed
        times.append(now)
    times += [now] if finishes else []
    operations = operations_of(events, times)
    lies_well(operations)
    assert operations[-1].kind == "agent"
    assert operations[-1].failed != finishes
    kinds = Counter(item.kind for item in operations)
    assert kinds["agent"] == 1
    assert kinds["model"] == sum(isinstance(event, GeneratedEvent) for event in events)
    assert kinds["tool"] == sum(
        isinstance(event, LedgerEvent) and (event.what, event.purpose) == ("reserve", "step:go") for event in events
    )
    # All but what the model's calls cost stands somewhere, once.
    held = Counter(id(event) for item in operations for _, event in item.events)
    wanted = Counter(
        id(event)
        for event in events
        if not (isinstance(event, LedgerEvent) and event.purpose.startswith("lm:") and event.what != "refused")
    )
    assert held == wanted
    # Tools that ended are followed by no observation of theirs elsewhere: each holds at most one.
    for operation in operations:
        if operation.kind == "tool":
            assert sum(isinstance(event, ObservedEvent) for _, event in operation.events) <= 1
