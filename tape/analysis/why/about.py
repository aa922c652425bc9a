"""An episode as a whole: who played, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tape.analysis.why.spans import config_of, spans
from tape.analysis.why.words import count_of, listing
from tape.budget import in_units
from tape.trace import (
    ActedEvent,
    ActionsSampledEvent,
    ClosingEvent,
    DryRunEvent,
    Event,
    FinishedEvent,
    ForecastEvent,
    InfeasibleEvent,
    ResumedEvent,
    ScheduledEvent,
    StartedEvent,
    caps_of,
    refused_actions,
)


def about(events: Sequence[Event]) -> list[str]:
    """Plain sentences on an episode: the agent, its budgets, how it ended, and why it has no rounds."""
    return list(_about(events))


def _about(events: Sequence[Event]) -> Iterator[str]:
    config = config_of(events)
    started = next((event for event in events if isinstance(event, StartedEvent)), None)
    caps = [in_units(kind, cap) for kind, cap in caps_of(events).items()]
    agent = config.get("agent", "An agent")
    yield f"{agent} with {config.get('model', 'a model')}, {f'at most {listing(caps)}' if caps else 'nothing capped'}."
    if started is not None and started.task:
        yield started.task
    if config.get("world_model") == "simulator":
        yield "The simulator predicted what actions lead to: an upper bound, not a baseline."
    yield from _end(events)
    yield from _resumed(events)
    finished = next((event for event in events if isinstance(event, FinishedEvent)), None)
    for text in finished.result.get("left_out", ()) if finished is not None else ():
        yield f"Left out, since too few of the sampled programs have it: {text}"
    for event in events:
        if isinstance(event, DryRunEvent):
            changes = listing([line.strip() for line in event.changes]) or "nothing"
            yield f"On a copy it was seen what the plan changes: {changes} ({event.tried})."
        if isinstance(event, ScheduledEvent) and event.calls:
            yield _at_once(event)
    yield from _forecasts(events)
    if not spans(events) and not any(isinstance(event, ScheduledEvent) for event in events):
        yield _unplanned(events, str(agent))
        if refused := refused_actions(events, len(events)):
            yield f"Refused where approval was asked for: {listing(sorted(refused))}."


def _resumed(events: Sequence[Event]) -> Iterator[str]:
    """Each resumption with what it booked, and what was used in all, which no planned amount shows then."""
    resumed = [event for event in events if isinstance(event, ResumedEvent)]
    for event in resumed:
        lost = f"; booked for what was under way: {_amounts(event.booked)}" if event.booked else ""
        yield f"It was {event.description()}{lost}."
    finished = next((event for event in events if isinstance(event, FinishedEvent)), None)
    if resumed and finished is not None:
        yield f"In all {_amounts(finished.result.get('used') or {})} were used."


def _amounts(counts: Mapping[str, int | None]) -> str:
    """Counts in units; those that are nothing are left out."""
    written = [f"unknown {kind}" if n is None else in_units(kind, n) for kind, n in counts.items() if n != 0]
    return listing(written or ["nothing"])


def _at_once(event: ScheduledEvent) -> str:
    """The critical path of calls that run at once, and what running at once saved."""
    begin, end = min(call.start for call in event.calls), max(call.end for call in event.calls)
    chain = " -> ".join(call.name for call in event.calls if call.critical)
    alone = sum(call.end - call.start for call in event.calls)
    what = "The calls that ran took" if event.done else "Planned were"
    return (
        f"{what} {(end - begin) / 1000:g} s instead of {alone / 1000:g} s one after the other; the critical "
        f"path is {chain}."
    )


def _end(events: Sequence[Event]) -> Iterator[str]:
    finished = next((event for event in events if isinstance(event, FinishedEvent)), None)
    if finished is None:
        yield "The trace stops before the episode has ended."
        return
    result = finished.result
    steps = count_of(int(result.get("steps", 0)), "step")
    if result.get("success"):
        yield f"It succeeded in {steps}."
    else:
        # Where planning ended for want of a path, the last round explains it.
        explained = bool(spans(events)) and any(isinstance(event, InfeasibleEvent) for event in events)
        detail = f": {result['detail']}" if result.get("detail") and not explained else ""
        yield f"It ended without success after {steps} ({result.get('end_state')}){detail}."
    for event in events:
        if isinstance(event, ClosingEvent):
            yield f"{event.description()}."


def _forecasts(events: Sequence[Event]) -> Iterator[str]:
    """How likely the rest was to fit, before each step."""
    events_by_step = {event.step: event for event in events if isinstance(event, ForecastEvent)}
    if not events_by_step:
        return
    words = {"fits": "certain", "nothing_fits": "proven that nothing fits"}
    told = [
        f"{words.get(item.verdict, f'{item.probability:.2f}')} after step {step}"
        for step, item in events_by_step.items()
    ]
    yield f"Costs are expected ones. That the rest fits was {listing(told).replace('after step 0', 'at the start')}."


def _unplanned(events: Sequence[Event], agent: str) -> str:
    """Why there is no round."""
    steps = sum(isinstance(event, ActedEvent) for event in events)
    choices = [event for event in events if isinstance(event, ActionsSampledEvent)]
    if choices:
        return (
            f"{agent} makes no plans: before each step it samples {count_of(len(choices[0].actions), 'action')} and "
            f"takes the one with the best predicted score. `tape show` lists them."
        )
    if not steps:
        finished = any(isinstance(event, FinishedEvent) for event in events)
        return f"{'It ended' if finished else 'That was'} before anything was planned or done, so nothing is explained."
    return (
        f"{agent} makes no plans: the model wrote each of its {count_of(steps, 'step')} from the last observation, "
        "and no budget was weighed against the value of a step. `tape show` lists them."
    )
