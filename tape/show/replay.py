"""Replays an episode from its trace alone: as text, and its plan graphs as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tape.budget import in_units
from tape.engine.graph import PlanGraph
from tape.show.draw import draw
from tape.trace import (
    ActedEvent,
    ActionsSampledEvent,
    Event,
    FinishedEvent,
    GraphFoldedEvent,
    MalformedEvent,
    MismatchEvent,
    ObservedEvent,
    PathSelectedEvent,
    PlansSampledEvent,
    ReplannedEvent,
    StartedEvent,
    ToldEvent,
)


def describe(events: Sequence[Event]) -> Iterator[str]:
    """The episode as lines of text."""
    for event in events:
        match event:
            case StartedEvent():
                caps = ", ".join(in_units(kind, cap) for kind, cap in event.budget.items()) or "none"
                yield f"{event.config['agent']} with {event.config['model']}; budget: {caps}"
                if event.config.get("world_model") == "simulator":
                    yield "NOTE: transitions come from the simulator (an upper bound, not the default mode)"
            case ObservedEvent():
                left = ", ".join(in_units(kind, n) for kind, n in event.remaining.items())
                yield f"\nstep {event.step}: {event.key}   left: {left or 'unlimited'}\n{event.picture}"
            case PlansSampledEvent():
                yield f"{len(event.plans)} plans sampled"
                for plan, valid in zip(event.plans, event.valid, strict=True):
                    yield f"  {' '.join(plan) or '(empty)'}{'' if valid else '   [malformed]'}"
            case GraphFoldedEvent():
                nodes, edges = len(event.graph["nodes"]), len(event.graph["links"])
                yield f"folded into {nodes} nodes and {edges} edges"
            case PathSelectedEvent():
                path = " ".join(event.actions) or "(none)"
                value = "" if event.objective is None else f", objective {event.objective:.3f}"
                kind = "partial path" if event.partial else "path"
                yield f"{event.selector} {event.status} in {1000 * event.seconds:.2f} ms{value}; {kind}: {path}"
            case ActionsSampledEvent():
                scores = {name: "invalid" if score is None else f"{score:g}" for name, score in event.scores.items()}
                listed = ", ".join(f"{name} x{event.actions.count(name)}: {score}" for name, score in scores.items())
                yield f"  {len(event.actions)} actions sampled ({listed}); best: {event.chosen}"
            case ActedEvent():
                planned = "" if event.planned in (None, event.action) else f" (planned {event.planned})"
                yield f"  acts {event.action}{planned}" + (f"   thought: {event.text}" if event.text else "")
            case MismatchEvent():
                yield f"  MISMATCH: predicted {event.predicted}, observed {event.observed}"
            case ReplannedEvent():
                yield f"replans ({event.reason}), round {event.count}"
            case MalformedEvent():
                yield f"  malformed {event.role} answer survived: {event.text!r}"
            case ToldEvent():
                yield event.told()
            case FinishedEvent():
                result = event.result
                yield f"\n{result['end_state']} after {result['steps']} steps; {result['detail']}".rstrip("; ")
            case _:
                continue


def pictures(events: Sequence[Event], folder: Path, name: str) -> list[Path]:
    """Write every plan graph of an episode that was acted on with its path, as SVG, PNG and JSON.

    Paths that gave way to another one before a step was taken, as while the graph is extended, are left out.

    Returns:
        The PNG and SVG files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    count = 0
    folded: GraphFoldedEvent | None = None
    drawn: list[str] = []
    for i, event in enumerate(events):
        if isinstance(event, GraphFoldedEvent):
            folded = event
        if not isinstance(event, PathSelectedEvent) or folded is None:
            continue
        later = next((e for e in events[i + 1 :] if isinstance(e, PathSelectedEvent | ActedEvent)), None)
        if isinstance(later, PathSelectedEvent):
            continue  # the next picture shows what came of it
        if event.actions and event.actions == drawn[-len(event.actions) :]:
            continue  # selected anew on the way, and the same
        drawn = event.actions
        count += 1
        graph = PlanGraph.from_dict(folded.graph)
        start = event.nodes[0] if event.nodes else str(folded.graph["start"])
        steps = zip(event.nodes, event.actions, event.nodes[1:], strict=False)
        path = [graph.find(a, action, b) for a, action, b in steps]
        stem = folder / f"{name}-graph-{count}"
        title = f"{name}, plan {count}: {event.selector} {event.status}, " + (" ".join(event.actions) or "no path")
        for ending in (".svg", ".png"):
            file = stem.with_suffix(ending)
            draw(graph, file, start=start, path=path, title=title)
            written.append(file)
        graph.save(stem.with_suffix(".json"), start=start, walk=path)
    return written
