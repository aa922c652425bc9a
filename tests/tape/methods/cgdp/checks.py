"""Facts, beliefs, gates and reasons of search agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from tape.methods.cgdp.events import BeliefEvent, GateEvent, RetrievedEvent, StoppedEvent
from tape.methods.cgdp.gates import CONFIGURATIONS, Signalling, Signals, StagnationGate, fixed_rounds
from tape.methods.cgdp.settings import CgdpSettings
from tape.trace import Event, StartedEvent


def wrong(events: Sequence[Event], result: Mapping[str, Any]) -> Iterator[str]:
    """Yield what does not follow from the passages retrieved before."""
    given = next((event.config.get("cgdp") for event in events if isinstance(event, StartedEvent)), None)
    if not isinstance(given, Mapping):
        return
    try:
        settings = CgdpSettings.model_validate(given)
    except ValidationError:
        yield "the settings of the search are malformed"
        return
    signalling, signals = Signalling(settings.jaccard_window), Signals(0.0, 1.0)
    configuration = CONFIGURATIONS.get(settings.gate)
    stagnation = None if configuration is None else StagnationGate(configuration)
    rounds, fired = 0, False
    belief: BeliefEvent | None = None
    for event in events:
        match event:
            case RetrievedEvent():
                rounds, fired = rounds + 1, False
                signals = signalling.after(event.query, [passage.id for passage in event.passages])
            case BeliefEvent():
                yield from _believed(event, belief)
                belief = event
            case GateEvent():
                fired = event.fired
                yield from _gate(event, settings.gate, signals, stagnation, rounds)
            case StoppedEvent():
                reason = f"the gate {settings.gate} fired"
                if (event.reason == reason) != fired:
                    gate = "has fired" if fired else "has not fired"
                    yield f"the search stopped because {event.reason!r}, but the gate {gate}"
                if event.right != result.get("success"):
                    yield "the verdict on the answer differs from the result"
            case _:
                continue
        number = getattr(event, "round", rounds)
        if number != rounds:
            yield f"{event.type} names round {number} after {rounds} searches"
    measures = result.get("measures")
    held = 0 if belief is None else len(belief.facts)
    for name, counted in (("rounds", rounds), ("facts", held)):
        if isinstance(measures, Mapping) and measures.get(name, counted) != counted:
            yield f"{name} is {measures[name]} in the measures, counted {counted}"


def _gate(
    event: GateEvent, name: str, signals: Signals, stagnation: StagnationGate | None, rounds: int
) -> Iterator[str]:
    """Check J, UPR, verdict and decision of a round; expected values are taken as recorded."""
    verdict, fired = event.verdict, event.fired
    if stagnation is not None:
        fired = stagnation.fires(signals)
        verdict = stagnation.description
    elif name != "voi":
        verdict, fired = "", rounds == fixed_rounds(name)
    again = (name, signals.jaccard, signals.upr, verdict, fired)
    recorded = (event.gate, event.jaccard, event.upr, event.verdict, event.fired)
    if recorded != again:
        yield f"the gate of round {rounds} is recorded as {recorded}, computed {again}"


def _believed(event: BeliefEvent, before: BeliefEvent | None) -> Iterator[str]:
    """Check that a belief is its predecessor plus the added and minus the dropped items."""
    known = [] if before is None else before.facts
    added = [number for number, fact in enumerate(event.facts) if fact not in known]
    if event.added != added:
        yield f"the facts {event.added} of round {event.round} are logged as new, but {added} are"
    lost = {fact.text for fact in known if fact not in event.facts} - {*event.dropped}
    if lost:
        yield f"after round {event.round} facts are missing that were not dropped: {sorted(lost)}"
    if before is not None:
        gone = {*before.questions} - {*event.questions} - {*event.resolved} - {*event.dropped}
        if gone or not {*event.resolved} <= {*before.questions}:
            yield f"the open questions of round {event.round} do not follow from those before it"
