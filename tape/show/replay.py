"""Replays an episode from its trace alone: as text, and its plan graphs as pictures."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tape.budget import in_units
from tape.choice.graph import PlanGraph
from tape.runner.spec import RunSpec
from tape.runner.work import Line
from tape.show.draw import draw
from tape.show.schedule import draw_schedule
from tape.show.text import asked_about, listed_actions, plain
from tape.trace import (
    ActedEvent,
    ActionsSampledEvent,
    ApprovalEvent,
    DescribedEvent,
    Event,
    FinishedEvent,
    GraphFoldedEvent,
    MalformedEvent,
    MismatchEvent,
    ObservedEvent,
    PathSelectedEvent,
    PlansSampledEvent,
    ReplannedEvent,
    ScheduledEvent,
    StartedEvent,
    refused_actions,
)

_LONGEST_VALUE = 200
"""Characters of a value of an action that was to be approved."""
_LONGEST_NAME = 150
"""Bytes of a file's name, without what is added to it."""


def describe(events: Sequence[Event]) -> Iterator[str]:
    """The episode as lines of text, without escape sequences that models and tools may have written."""
    for text in _described(events):
        yield "\n" * (text.startswith("\n")) + plain(text.lstrip("\n"))


def roles(spec: RunSpec) -> Iterator[str]:
    """Which roles ``--auto-roles`` has taken from the model, and why; a line each."""
    for name, why in spec.auto_roles.items():
        yield plain(f"auto-roles: {name} is {getattr(spec.config, name)}, not the model, since {why}")


def _selection(event: PathSelectedEvent) -> Iterator[str]:
    path = listed_actions(event.actions) or "(none)"
    value = "" if event.objective is None else f", objective {event.objective:.3f}"
    kind = "partial path" if event.partial else "path"
    yield f"{event.selector} {event.status} in {1000 * event.seconds:.2f} ms{value}; {kind}: {path}"
    if event.actions and (needs := _amounts(event.consumption)):
        yield f"  which {'is expected to take' if event.expected else 'needs at worst'} {needs}"
    if event.note:
        yield f"  {event.note}"


def _described(events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        match event:
            case StartedEvent():
                caps = ", ".join(in_units(kind, cap) for kind, cap in event.budget.items()) or "none"
                agent, model = (event.config.get(name, "?") for name in ("agent", "model"))
                yield f"{agent} with {model}; budget: {caps}"
                if event.task:
                    yield f"task: {event.task}"
                if event.config.get("world_model") == "simulator":
                    yield "NOTE: transitions come from the simulator (an upper bound, not the default mode)"
            case ObservedEvent():
                left = ", ".join(in_units(kind, n) for kind, n in event.remaining.items())
                yield f"\nstep {event.step}: {event.key}   left: {left or 'unlimited'}\n{event.picture}"
            case PlansSampledEvent():
                yield f"{len(event.plans)} plan{'' if len(event.plans) == 1 else 's'} sampled"
                for plan, valid in zip(event.plans, event.valid, strict=True):
                    yield f"  {listed_actions(plan) or '(empty)'}{'' if valid else '   [malformed]'}"
            case GraphFoldedEvent():
                nodes, edges = (len(event.graph.get(name, ())) for name in ("nodes", "links"))
                yield f"folded into {nodes} nodes and {edges} edges"
            case PathSelectedEvent():
                yield from _selection(event)
            case ActionsSampledEvent():
                scores = {name: "invalid" if score is None else f"{score:g}" for name, score in event.scores.items()}
                listed = ", ".join(f"{name} x{event.actions.count(name)}: {score}" for name, score in scores.items())
                yield f"  {len(event.actions)} actions sampled ({listed}); best: {event.chosen}"
            case ApprovalEvent():
                yield f"  asked before {asked_about(event.action, _LONGEST_VALUE)} ({event.reason}): {event.decision}"
            case ActedEvent():
                planned = "" if event.planned in (None, event.action) else f" (planned {event.planned})"
                cost = f"   used {used}" if (used := _amounts(event.cost)) else ""
                yield f"  acts {event.action}{planned}{cost}" + (f"   thought: {event.text}" if event.text else "")
            case MismatchEvent():
                yield f"  MISMATCH: predicted {event.predicted}, observed {event.observed}"
            case ReplannedEvent():
                yield f"replans ({event.reason}): round {event.count + 1}"
            case MalformedEvent():
                yield f"  malformed {event.role} answer survived: {event.text!r}"
            case DescribedEvent():
                yield event.description()
            case FinishedEvent():
                result = event.result
                detail = result.get("detail", "")
                yield f"\n{result.get('end_state', '?')} after {result.get('steps', '?')} steps; {detail}".rstrip("; ")
            case _:
                continue


def _amounts(counts: Mapping[str, int | None]) -> str:
    """Amounts in units, without those that are 0."""
    texts = [f"? {kind}" if count is None else in_units(kind, count) for kind, count in counts.items() if count != 0]
    return ", ".join(texts)


def episode_name(line: Line, episodes: Sequence[Line], specs: Mapping[str, RunSpec]) -> str:
    """What an episode is called in titles and in the names of files, for instance ``sokoban hard-03``.

    Annotations of a task such as ``T*=10`` are left out where the name stays clear without them; the repeat and the
    configuration are named where the run has several.

    Args:
        line: The episode's record.
        episodes: All records of its run.
        specs: The run's configurations, by name.
    """

    def called(other: Line, *, whole: bool) -> str:
        words = [word for word in str(other["task"]).split() if whole or "=" not in word]
        parts = [str(other["environment"]), *(words or str(other["task"]).split())]
        if specs[other["cell"]].repeats > 1:
            parts.append(f"repeat {other['repeat']}")
        return " ".join(parts) + (f", {other['cell']}" if len(specs) > 1 else "")

    name = called(line, whole=False)
    others = [other for other in episodes if (other["cell"], other["key"]) != (line["cell"], line["key"])]
    if any(file_name(called(other, whole=False)) == file_name(name) for other in others):
        name = called(line, whole=True)
        if any(file_name(called(other, whole=True)) == file_name(name) for other in others):
            name = f"{name} {line['key']}"
    return name


def file_name(name: str) -> str:
    """A name as one of a file, the same for the same name: letters, digits, dots and dashes, at most 150 bytes."""
    kept = "".join(c if c.isalnum() or c in "._" else "-" for c in unicodedata.normalize("NFC", name))
    short = kept.encode("utf-8")[:_LONGEST_NAME].decode("utf-8", errors="ignore")
    return re.sub("-+", "-", short).strip("-.") or "episode"


def pictures(
    events: Sequence[Event], folder: Path, name: str, progress: Callable[[int, int], None] = lambda _done, _all: None
) -> list[Path]:
    """Write every plan graph of an episode that was acted on with its path, as SVG and JSON, and its schedules as SVG.

    Paths that gave way to another one before a step was taken, as while the graph is extended, are left out.

    Args:
        events: The trace.
        folder: Where to.
        name: What the episode is called (:func:`episode_name`); files are named ``NAME-round-N``, and
            ``NAME-round-N-step-K`` where the rest of a path was selected anew after K steps; schedules are
            ``NAME-schedule-N``.
        progress: Takes how many graphs are drawn of how many.

    Returns:
        The SVG files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = list(shown(events))
    stems: set[str] = set()
    written: list[Path] = []
    for done, item in enumerate(drawn):
        progress(done, len(drawn))
        stem = f"{file_name(name)}-round-{item.number}"
        if stem in stems:
            stem += f"-step-{item.step}"
        stems.add(stem)
        written.append(folder / f"{stem}.svg")
        item.draw(written[-1], name)
        item.graph.save(folder / f"{stem}.json", start=item.start, walk=item.path)
    for number, event in enumerate((event for event in events if isinstance(event, ScheduledEvent)), 1):
        written.append(folder / f"{file_name(name)}-schedule-{number}.svg")
        draw_schedule(event.calls, written[-1], title=event.description().partition("\n")[0])
    return written


@dataclass(frozen=True)
class Shown:
    """A plan graph that is drawn: its planning round from 1, the steps taken before, and what was selected on it.

    ``refused`` are the actions that had been refused by the end of the round, when they were to be approved.
    """

    number: int
    step: int
    folded: GraphFoldedEvent
    selected: PathSelectedEvent
    refused: frozenset[str]

    @cached_property
    def graph(self) -> PlanGraph:
        """The graph."""
        return PlanGraph.from_dict(self.folded.graph)

    @property
    def start(self) -> str:
        """Key of the state that was planned from."""
        return self.selected.nodes[0] if self.selected.nodes else str(self.folded.graph.get("start"))

    @property
    def path(self) -> list[int]:
        """Edge ids of the selected path."""
        nodes = self.selected.nodes
        return [self.graph.find(*step) for step in zip(nodes, self.selected.actions, nodes[1:], strict=False)]

    def draw(self, file: Path | None, name: str) -> str:
        """Its picture as SVG, also written to a file; ``name`` begins its title."""
        left = self.selected.problem.get("budget")
        return draw(
            self.graph,
            file,
            start=self.start,
            path=self.path,
            title=f"{name}, round {self.number}",
            note=self.note(),
            left=left if isinstance(left, dict) else None,
            refused=self.refused,
        )

    def note(self) -> str:
        """The line below the title of a picture."""
        event = self.selected
        what = "partial path" if event.partial else "path" if event.actions else "no path"
        taken = f"after {self.step} step{'' if self.step == 1 else 's'}: " if self.step else ""
        return f"{taken}{what} by {event.selector}, {event.status}"


def shown(events: Sequence[Event]) -> Iterator[Shown]:
    """The plan graphs that are drawn of an episode (:func:`pictures`), in order."""
    folded: GraphFoldedEvent | None = None
    number, step = 1, 0
    drawn: list[str] = []
    for i, event in enumerate(events):
        match event:
            case GraphFoldedEvent():
                folded = event
            case ReplannedEvent():
                number += 1
                drawn = []
            case ActedEvent():
                step += 1
            case PathSelectedEvent() if folded is not None:
                later = next((e for e in events[i + 1 :] if isinstance(e, PathSelectedEvent | ActedEvent)), None)
                if isinstance(later, PathSelectedEvent):
                    continue  # the next picture shows what came of it
                if event.actions and event.actions == drawn[-len(event.actions) :]:
                    continue  # selected anew on the way, and the same
                drawn = event.actions
                yield Shown(number, step, folded, event, refused_actions(events, i))
            case _:
                continue
