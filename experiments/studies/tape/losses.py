"""Which stage of TAPE lost an episode: plan sampling, prediction, score, selection, execution or replanning.

Read off traces and the exact oracle. An episode is lost by the first action after which the goal is out of reach
within the budget; that action belongs to a path, and the path to a plan graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from envs.sokoban.simulator import is_solved, step
from envs.sokoban.state import Level, State
from experiments.harness.measured import Measured, Record
from experiments.harness.methods import PAPER, TAPE
from experiments.studies.tape.error_analysis import Judge, Judges
from tape.choice.graph import PlanGraph
from tape.show.document import Section, Table
from tape.trace import (
    ActedEvent,
    Event,
    GraphFoldedEvent,
    ObservedEvent,
    PathSelectedEvent,
    PlansSampledEvent,
    read_trace,
)

STAGES = {
    "sampling": "plan sampling: no sampled plan wins",
    "prediction": "prediction: a plan that wins was cut or bent, or the path was not as predicted",
    "score": "score: a goal was missed, or seen where there is none",
    "selection": "selection: another path was preferred to one that wins",
    "execution": "execution: another action than the planned one",
    "replanning": "no path was left, the goal still within reach or a step tried in the dark",
}


@dataclass
class _Round:
    """A planning round as the trace records it."""

    state: State
    left: int
    plans: list[PlansSampledEvent]
    graph: GraphFoldedEvent | None = None
    path: PathSelectedEvent | None = None


def stage_of(events: Iterable[Event], judge: Judge) -> str:
    """The stage that lost an episode; one of :data:`STAGES`.

    Args:
        events: The trace of a lost episode of TAPE.
        judge: Of its level.
    """
    level, state, left = judge.level, judge.level.start, 0
    current: _Round | None = None
    over = True
    for event in events:
        match event:
            case ObservedEvent():
                left = event.remaining["steps"]
            case PlansSampledEvent():
                if over or current is None:
                    current, over = _Round(state, left, []), False
                current.plans.append(event)
            case GraphFoldedEvent() if current is not None:
                current.graph = event
            case PathSelectedEvent() if current is not None:
                current.path = event
            case ActedEvent():
                if judge.viable(state, left) and not judge.action_viable(state, event.action, left):
                    return _blame(current, event, judge)
                state, over = step(level, state, event.action) or state, True
            case _:
                pass
    return "replanning"


def _blame(current: _Round | None, acted: ActedEvent, judge: Judge) -> str:
    if current is None or current.path is None or current.graph is None:
        return "replanning"
    if acted.planned != acted.action:
        return "execution"
    if current.path.partial:
        return "replanning"
    graph = PlanGraph.from_dict(current.graph.graph)
    reached = _truly_reached(graph, current, judge)
    won = [key for key, (state, _) in reached.items() if is_solved(judge.level, state)]
    if won:
        return "selection" if any(graph.attributes(key)["goal"] for key in won) else "score"
    if graph.attributes(current.path.nodes[-1])["goal"]:
        return "score" if current.path.nodes[-1] in reached else "prediction"
    return "prediction" if any(_wins(judge.level, reached, current)) else "sampling"


def _truly_reached(graph: PlanGraph, current: _Round, judge: Judge) -> dict[str, tuple[State, int]]:
    """Nodes that edges with right predictions lead to within the budget: the state, and the moves to it."""
    key = judge.domain.key
    start = key(current.state)
    out: dict[str, list[tuple[str, str]]] = {}
    for edge in graph.usable_edges():
        out.setdefault(edge.source, []).append((edge.action, edge.target))
    reached = {start: (current.state, 0)}
    queue = [start]
    for node in queue:
        state, moves = reached[node]
        for action, target in out.get(node, ()):
            after = step(judge.level, state, action)
            if after is not None and key(after) == target and target not in reached and moves < current.left:
                reached[target] = (after, moves + 1)
                queue.append(target)
    return reached


def _wins(level: Level, reached: Mapping[str, tuple[State, int]], current: _Round) -> Iterator[bool]:
    """For each sampled plan from a node truly reached, whether it solves the level within the budget."""
    for sampled in current.plans:
        if sampled.start not in reached:
            continue
        first, moves = reached[sampled.start]
        for plan in sampled.plans:
            state: State | None = first
            solved = False
            for action in plan[: current.left - moves]:
                state = None if state is None else step(level, state, action)
                solved |= state is not None and is_solved(level, state)
            yield solved


def losses(
    measured: Measured, setting: str, model: str, judges: Judges, method: str = TAPE.label
) -> Counter[str] | None:
    """How many of the lost episodes each stage lost; None if it was not played, or traces are missing."""
    name = measured.name(setting, model, method)
    if name is None:
        return None
    found: Counter[str] = Counter()
    for record in measured.records[name]:
        if not record["result"]["success"]:
            stage = measured.note(record, "lost", partial(_lost, measured, record, judges))
            if stage is None:
                return None
            found[stage] += 1
    return found


def _lost(measured: Measured, record: Record, judges: Judges) -> str | None:
    file = measured.directory.trace_file(record["key"])
    return stage_of(read_trace(file), judges.of(record["level_set"], record["digest"])) if file.exists() else None


def losses_section(measured: Measured) -> list[Section]:
    """A table of the stages by model; nothing where there are no traces to read."""
    judges = Judges()
    rows: list[tuple[Any, ...]] = []
    for setting in measured.settings():
        for model in measured.models():
            for method in (PAPER.label, TAPE.label):
                found = losses(measured, setting, model, judges, method)
                if found is not None:
                    counts = (str(found[stage]) for stage in STAGES)
                    rows.append((setting, f"`{model}`", method, str(sum(found.values())), *counts))
    if not rows:
        return []
    note = (
        "The stage is that of the first action after which the goal is out of reach within the budget. "
        + "; ".join(f"{stage}: {meaning.partition(': ')[2] or meaning}" for stage, meaning in STAGES.items())
        + "."
    )
    head = ("levels", "model", "method", "lost episodes", *STAGES)
    return [Section("Where the lost episodes of TAPE went wrong", (Table(head, tuple(rows), note),), level=3)]
