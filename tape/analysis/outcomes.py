"""What became of the episodes of a run, as far as ``episodes.jsonl`` and the traces show: no oracle is asked.

Of every episode that failed, the last path is looked at (:func:`lost_at`): whether there was one, whether it led to a
predicted goal, and how it was left. That shows where an episode stopped, not which step was the mistake; for Sokoban an
exact oracle finds that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from tape.analysis.measures import Share, share
from tape.errors import UnknownNameError
from tape.protocols.method import methods
from tape.runner.directory import RunDirectory
from tape.trace import (
    ActedEvent,
    Event,
    GraphFoldedEvent,
    MalformedEvent,
    MismatchEvent,
    PathSelectedEvent,
    ReplannedEvent,
    StartedEvent,
    read_trace,
)

LOST = {
    "fault": "a fault ended it: of the model, the solver or the environment, or an interruption",
    "no_path": "its last planning round found no path that fits the budget",
    "unread": "of the plans of its last planning round none could be read",
    "unplanned": "a limit ended it before the first path was selected",
    "left_plan": "on its last path an action was executed that the path did not name",
    "mismatch": "its last path was left because a state was not as predicted",
    "no_goal": "its last path led to no predicted goal",
    "wrong_goal": "its last path was executed to its predicted goal, which was none",
    "cut": "its last path was not executed to its end",
    "stepwise": "its agent selects no paths",
}
"""Where a failed episode stopped, and what that means; methods have stages of their own (``Method.stages``)."""

FAULTS = ("model_error", "solver_error", "solver_timeout", "env_error", "interrupted")
"""End states that no agent is responsible for."""

SELECTING = ("tape", "tape_all_step", "sdp")
"""Agents that select paths; of another agent a folded plan graph shows it."""

SHOWN = 3
"""Malformed answers that are quoted."""


@dataclass
class Outcome:
    """The episodes of one configuration.

    Attributes:
        configuration: Its name in the run.
        episodes: How many.
        tasks: Of how many tasks.
        success: The share of successes, with its interval.
        ends: Episodes by end state.
        steps: Environment steps of all episodes.
        mismatches: States that were not the predicted ones.
        planned: Steps of a plan.
        left_plan: Steps of a plan at which another action was executed.
        malformed: Answers of the model that could not be read, by its role.
        examples: Some of them, as (role, text).
        replans: Planning rounds after the first, by reason.
        lost: Failed episodes by where they stopped, see :data:`LOST`.
        gaps: Episodes by the gaps of a method that they show (``Method.gaps``).
        untraced: Episodes without a trace; all from ``mismatches`` to ``gaps`` leaves them out.
        over_budget: Episodes in which a cap was exceeded; must be 0.
        events: The types of events that occurred.
    """

    configuration: str
    episodes: int
    tasks: int
    success: Share
    ends: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    mismatches: int = 0
    planned: int = 0
    left_plan: int = 0
    malformed: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, str]] = field(default_factory=list)
    replans: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    gaps: Counter[str] = field(default_factory=Counter)
    untraced: int = 0
    over_budget: int = 0
    events: set[str] = field(default_factory=set)

    def as_data(self) -> dict[str, Any]:
        """For a JSON file."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        counters = {name: dict(value) for name, value in own.items() if isinstance(value, Counter)}
        return own | counters | {"success": asdict(self.success), "events": sorted(self.events)}


def outcomes(directory: RunDirectory, names: Iterable[str] | None = None) -> list[Outcome]:
    """What became of the episodes of every configuration, in the order of the run; those without episodes are left out.

    Args:
        directory: The run.
        names: Only these configurations.

    Raises:
        RunDirectoryError: There is no run.
        UnknownNameError: It has no such configuration.
        TraceError: A trace is malformed.
    """
    there = [*directory.configurations()]
    wanted = there if names is None else [*names]
    if unknown := [name for name in wanted if name not in there]:
        raise UnknownNameError("configuration", unknown[0], there)
    by: dict[str, list[Mapping[str, Any]]] = {name: [] for name in there if name in wanted}
    for record in sorted(directory.episodes(), key=lambda record: (record["digest"], record["repeat"])):
        if record["cell"] in by:
            by[record["cell"]].append(record)
    return [_outcome(directory, name, records) for name, records in by.items() if records]


def _outcome(directory: RunDirectory, name: str, records: Sequence[Mapping[str, Any]]) -> Outcome:
    tasks = {record["digest"] for record in records}
    success = share((record["result"]["success"], record["digest"]) for record in records)
    found = Outcome(name, len(records), len(tasks), success)
    for record in records:
        result, file = record["result"], directory.trace_file(record["key"])
        found.ends[result["end_state"]] += 1
        found.steps += result["steps"]
        found.over_budget += bool(result["budget_violations"])
        if file.exists():
            _read(found, list(read_trace(file)), result)
        else:
            found.untraced += 1
    return found


def _read(found: Outcome, events: Sequence[Event], result: Mapping[str, Any]) -> None:
    """Count what a trace shows."""
    for event in events:
        found.events.add(event.type)
        match event:
            case ActedEvent() if event.planned is not None:
                found.planned += 1
                found.left_plan += event.planned != event.action
            case MismatchEvent():
                found.mismatches += 1
            case MalformedEvent():
                found.malformed[event.role] += 1
                if len(found.examples) < SHOWN:
                    found.examples.append((event.role, event.text))
            case ReplannedEvent():
                found.replans[event.reason] += 1
            case _:
                pass
    for method in methods():
        found.gaps.update(method.gaps_in(events))
    if not result["success"]:
        found.lost[lost_at(events, result["end_state"])] += 1


@dataclass
class _Last:
    """The last path of an episode.

    Attributes:
        path: What was selected.
        done: Actions executed on it.
        left: An action was executed that it does not name.
        mismatched: A state was not as predicted after one of them.
    """

    path: PathSelectedEvent
    done: int = 0
    left: bool = False
    mismatched: bool = False


def lost_at(events: Sequence[Event], end_state: str) -> str:
    """Where a failed episode stopped: a key of :data:`LOST`, or a stage of a method.

    Args:
        events: Its trace.
        end_state: How it ended.
    """
    if end_state in FAULTS:
        return "fault"
    if own := next(filter(None, (method.stopped(events) for method in methods())), ""):
        return own
    last: _Last | None = None
    selects = False
    for event in events:
        match event:
            case StartedEvent():
                selects = event.config.get("agent") in SELECTING
            case GraphFoldedEvent():
                selects = True
            case PathSelectedEvent() if event.actions:
                last = _Last(event)
            case ActedEvent() if last is not None:
                last.done += 1
                last.left |= event.planned is not None and event.planned != event.action
            case MismatchEvent() if last is not None:
                last.mismatched = True
            case _:
                pass
    if end_state == "infeasible":
        return "no_path"
    if end_state == "no_plan":
        return "unread"
    if last is None:
        return "unplanned" if selects else "stepwise"
    if last.left:
        return "left_plan"
    if last.mismatched:
        return "mismatch"
    if last.path.partial:
        return "no_goal"
    return "wrong_goal" if last.done >= len(last.path.actions) else "cut"
