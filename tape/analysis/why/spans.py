"""The planning rounds of an episode as parts of its event log: what each selected, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tape.protocols.method import verifying_in
from tape.trace import (
    ActedEvent,
    ApprovalEvent,
    Event,
    FinishedEvent,
    GraphFoldedEvent,
    MismatchEvent,
    ObservedEvent,
    PathSelectedEvent,
    PlanningEvent,
    PlansSampledEvent,
    ReplannedEvent,
    StartedEvent,
)

PROBE, LOOK = "probe", "look"
"""Selectors that are no selection by budgets: a try of an action of unknown outcome, and a cheap call that is made to
compare programs by their values. So is a commitment, whose selector is the method that verifies."""

_PLANNING = (PlansSampledEvent, GraphFoldedEvent, PathSelectedEvent, PlanningEvent)


@dataclass(frozen=True)
class Reselection:
    """The rest of a path selected anew on the same graph.

    Attributes:
        at: Index of its event.
        step: Environment steps taken before it.
        before: The rest of the path in hand, as actions.
        nodes: The states that it passes, from the current one on.
        taken: Whether it was followed.
        last: Index of the last event before the next selection or round.
    """

    at: int
    step: int
    before: tuple[str, ...]
    nodes: tuple[str, ...]
    taken: bool
    last: int

    @property
    def first(self) -> int:
        """Index of its first event."""
        return self.at


@dataclass(frozen=True)
class Span:
    """A planning round.

    Attributes:
        first, last: Indices of its events, both inclusive.
        step: Environment steps taken before it.
        reason: Why planning started again; empty at the start.
        folds: Indices of its graphs.
        selections: Indices of its selections before anything was done, but for commitments and probes.
        probe: Index of a probe.
        committed: Index of a commitment.
        reselections: What was selected anew on the way.
        samples: Indices of sampled plans.
        chain: Index of a chain of subgoals.
        acts: Indices of its actions.
    """

    first: int
    last: int
    step: int
    reason: str
    folds: tuple[int, ...] = ()
    selections: tuple[int, ...] = ()
    probe: int | None = None
    committed: int | None = None
    reselections: tuple[Reselection, ...] = ()
    samples: tuple[int, ...] = ()
    chain: int | None = None
    acts: tuple[int, ...] = ()

    def graph_before(self, index: int) -> int | None:
        """Index of the graph that a selection was made on."""
        return max((fold for fold in self.folds if fold < index), default=None)


@dataclass(frozen=True)
class PathEnd:
    """What came of a path.

    Attributes:
        how: Why it was left: ``mismatch``, ``ended``, ``stepped``, ``reselected``, another reason to plan anew, the
            episode's end state, or ``cut`` where the trace stops.
        taken: Its steps that were taken.
        of: All its steps.
        success: The episode ended in success.
        detail: What the episode's end reports beyond that.
        mismatch: The mismatch that ended it.
        final: The episode ended with it.
        refused: An action that the approver refused.
        strayed: Steps at which another action was executed than the path names.
    """

    how: str
    taken: int
    of: int
    success: bool = False
    detail: str = ""
    mismatch: MismatchEvent | None = field(default=None)
    final: bool = False
    strayed: int = 0
    refused: str = ""


def config_of(events: Sequence[Event]) -> dict[str, Any]:
    """The configuration of an episode; empty where the trace does not begin with it."""
    return next((event.config for event in events if isinstance(event, StartedEvent)), {})


def spans(events: Sequence[Event]) -> list[Span]:
    """The planning rounds of an episode, in order; none of an agent that does not plan.

    A round begins with a :class:`ReplannedEvent`, the first where the start has been observed. Where an agent does not
    report that it plans again, plans that are sampled after an action begin one; under verification they do not, since
    a query acts and what is left of the plans is rolled out anew.
    """
    verifying = verifying_in(config_of(events))
    verified = verifying is not None
    start = next((i + 1 for i, event in enumerate(events) if isinstance(event, ObservedEvent)), 0)
    borders: list[tuple[int, str]] = [(start, "")]
    acted = planned = False
    for index, event in enumerate(events[start:], start):
        if isinstance(event, ReplannedEvent):
            borders.append((index, event.reason))
            acted = False
        elif isinstance(event, PlansSampledEvent | GraphFoldedEvent) and acted and planned and not verified:
            borders.append((index, ""))
            acted = False
        planned = planned or isinstance(event, _PLANNING)
        acted = acted or isinstance(event, ActedEvent)
    ends = [first - 1 for first, _ in borders[1:]] + [len(events) - 1]
    all_spans = [
        _span(events, first, last, reason, verifying.name if verifying else "")
        for (first, reason), last in zip(borders, ends, strict=True)
    ]
    return [span for span in all_spans if span.folds or span.selections or span.samples or span.chain is not None]


def _span(events: Sequence[Event], first: int, last: int, reason: str, verifier: str) -> Span:
    mine = [(index, events[index]) for index in range(first, last + 1)]

    def of(kind: type[Event]) -> tuple[int, ...]:
        return tuple(index for index, event in mine if isinstance(event, kind))

    acts = of(ActedEvent)
    chosen = [(index, event) for index, event in mine if isinstance(event, PathSelectedEvent)]
    begun = acts[0] if acts and not verifier else last + 1
    before = [(index, event) for index, event in chosen if index < begun]
    chains = of(PlanningEvent)
    return Span(
        first=first,
        last=last,
        step=sum(isinstance(event, ActedEvent) for event in events[:first]),
        reason=reason,
        folds=of(GraphFoldedEvent),
        selections=tuple(index for index, event in before if event.selector not in (verifier, PROBE)),
        probe=next((index for index, event in before if event.selector == PROBE), None),
        committed=next((index for index, event in before if event.selector == verifier), None),
        reselections=_reselections(events, [index for index, _ in chosen if index > begun], before, last),
        samples=of(PlansSampledEvent),
        chain=chains[0] if chains else None,
        acts=acts,
    )


def _reselections(
    events: Sequence[Event], indices: Sequence[int], before: Sequence[tuple[int, PathSelectedEvent]], last: int
) -> tuple[Reselection, ...]:
    """What was selected after the first action of a round; each is measured against the path that was in hand then."""
    in_hand = next((event for _, event in reversed(before) if event.actions), None)
    since = max((index for index, _ in before), default=0)
    reselections = []
    for index, following in zip(indices, [*indices[1:], last + 1], strict=False):
        event = events[index]
        assert isinstance(event, PathSelectedEvent)
        done = sum(isinstance(other, ActedEvent) for other in events[since:index])
        rest = tuple(in_hand.actions[done:]) if in_hand is not None else ()
        next_act = next((other for other in events[index:following] if isinstance(other, ActedEvent)), None)
        # As the planner has it: a path to a goal is not given up for one without.
        worse = in_hand is not None and _at_goal(events, in_hand, index) and not _at_goal(events, event, index)
        taken = bool(event.actions) and not worse and (next_act is None or next_act.planned == event.actions[0])
        step = sum(isinstance(other, ActedEvent) for other in events[:index])
        nodes = tuple(in_hand.nodes[done:]) if in_hand is not None else ()
        reselections.append(Reselection(index, step, rest, nodes, taken, following - 1))
        if taken:
            in_hand, since = event, index
    return tuple(reselections)


def _at_goal(events: Sequence[Event], path: PathSelectedEvent, before: int) -> bool:
    """Whether a path ends at a goal of the last graph."""
    graphs = (event.graph for event in reversed(events[:before]) if isinstance(event, GraphFoldedEvent))
    nodes = next(graphs, {}).get("nodes", ())
    return any(node.get("goal") for node in nodes if path.nodes and node.get("id") == path.nodes[-1])


def ended(events: Sequence[Event], path: Sequence[str], at: int, last: int, *, changed: int | None = None) -> PathEnd:
    """What came of a path.

    Args:
        events: The whole episode.
        path: Its actions.
        at: Index of its selection.
        last: Index of the last event of its round.
        changed: Index of the selection by which another path took its place on the way.
    """
    end = last if changed is None else changed
    acts = [event for event in events[at : end + 1] if isinstance(event, ActedEvent)]
    asked = [event for event in events[at : end + 1] if isinstance(event, ApprovalEvent)]
    mismatches = [event for event in events[at : end + 1] if isinstance(event, MismatchEvent)]
    here = PathEnd(
        "reselected",
        len(acts),
        len(path),
        mismatch=mismatches[-1] if mismatches else None,
        refused=next((event.action for event in reversed(asked) if event.decision != "allowed"), ""),
        strayed=sum(act.planned not in (None, act.action) for act in acts),
    )
    if changed is not None:
        return replace(here, mismatch=None)
    following = events[last + 1] if last + 1 < len(events) else None
    if isinstance(following, ReplannedEvent):
        return replace(here, how=following.reason)
    finished = next((event for event in events[at:] if isinstance(event, FinishedEvent)), None)
    if following is not None or finished is None:
        return replace(here, how="cut" if following is None else "planned anew")
    result = finished.result
    return replace(
        here,
        how=str(result.get("end_state", "")),
        success=bool(result.get("success")),
        detail=str(result.get("detail", "")),
        final=True,
    )
