"""An episode played again: with recorded answers in the place of the model, every line of its trace comes out anew.

Agent, settings, caps, seed and a fresh environment are those of the run. What the engine and its methods
derive (prompts, plans, graphs, paths, facts, beliefs, gates, verdicts, certificates, reservations, counts, the end) is
derived by their own code and compared with the record, line by line. What is left is listed in :data:`NOT_CHECKED`.

Where the agent cannot be played again, because its model may not be opened or another version of the program played it,
the recorded actions alone are played: states, costs, success and measures are then compared, and nothing of the method.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, TypeAlias

from tape.agents.at_once import PURPOSE as AHEAD
from tape.agents.base import Agent
from tape.agents.recorded import Decisions, RecordedLM, UnansweredError
from tape.analysis.recorded import RecordedActions, uncounted
from tape.budget import Budget
from tape.errors import error_text
from tape.protocols import Environment, WorldModel
from tape.protocols.method import Finding, methods
from tape.runner.spec import RunSpec
from tape.trace import (
    ActedEvent,
    AnsweredEvent,
    Event,
    FinishedEvent,
    LedgerEvent,
    ObservedEvent,
    ResumedEvent,
    StartedEvent,
    TraceWriter,
    read_trace,
)
from tape.waiting import run_sync

RULE = "replay"
MOST = 12
"""Findings of one episode: after the first wrong line most of what follows is wrong too."""

Line: TypeAlias = dict[str, Any]

NOT_CHECKED: Mapping[str, str] = MappingProxyType(
    {
        "generated.texts": "what the model wrote, as far as nothing was made of it",
        "generated.weights": "the probabilities that the model gave, as far as nothing was decided by them",
        "generated.finish": "how a sample ended, as far as nothing was decided by it",
        "generated.logprobs": "the probabilities of samples, as far as nothing was decided by them",
        "walk_selected.seconds": "a time",
        "observed.remaining.wall_seconds": "a time",
        "scheduled.calls": "a time",
        "finished.result.solver_seconds": "a time",
        "finished.result.wall_seconds": "a time",
        "finished.result.wall_overrun_seconds": "a time",
        "finished.result.detail": "of an episode that a fault ended, the words of the fault",
    }
)
"""The fields that no replay contradicts, and what they hold."""

_TIMES = {name for name, what in NOT_CHECKED.items() if what == "a time"}
_YOUNGER = (("generated", "finish"), ("generated", "logprobs"), ("sdp_concluded", "state"))
_CUT = ("interrupted", "budget:wall_seconds", "solver_timeout")
_FAULTS = ("model_error", "env_error")


@dataclass
class Replayed:
    """What came out.

    Attributes:
        findings: What differs from the record.
        actions: How many actions were played.
        verdicts: How many verdicts of methods came out the same.
        unchecked: What was not compared, and why.
    """

    findings: list[Finding] = field(default_factory=list)
    actions: int = 0
    verdicts: int = 0
    unchecked: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Played:
    """What an episode was played in, and with.

    Attributes:
        make: Makes a fresh environment of its task.
        seed: The seed, as ``Agent.run`` was given it.
        caps: Its caps, without the environment's own; None: those of the trace.
        replayable: Whether its actions may be played again.
        spec: Its configuration; None outside of runs.
        agent: Makes its agent, around the model that counts its tokens; None where that is not to be opened.
        simulator: Makes the exact world model of an environment, where the agent was given one.
        same_sources: Whether the sources of this program are those that played it.
    """

    make: Callable[[], Environment]
    seed: int
    caps: Budget | None
    replayable: bool = True
    spec: RunSpec | None = None
    agent: Callable[[], Agent] | None = None
    simulator: Callable[[Environment], WorldModel] | None = None
    same_sources: bool = True


def replay(events: Sequence[Event], played: Played) -> Replayed:
    """Play an episode again.

    Args:
        events: Its trace.
        played: What it was played in.
    """
    agent, why = None, "its model is not opened here"
    try:
        agent = played.agent() if played.agent is not None else None
    except Exception as error:  # a model that is not here
        why = f"it cannot be made: {error_text(error)[:200]}"
    if agent is not None:
        found = _compared(events, played, agent, whole=True)
        if not found.findings or played.same_sources:
            return found
        why = f"another version of the program played it, and this one differs: {found.findings[0].what}"
    found = _compared(events, played, agent, whole=False)
    found.unchecked.append(f"its actions were played, the agent was not: {why}")
    return found


def _compared(events: Sequence[Event], played: Played, agent: Agent | None, *, whole: bool) -> Replayed:
    """Play the ``whole`` agent, or the recorded actions alone, and compare."""
    again, fault, left = _again(events, played, agent, whole=whole)
    found = Replayed(actions=sum(isinstance(event, ActedEvent) for event in again))
    if fault is not None and not isinstance(fault, UnansweredError):
        found.findings.append(Finding(RULE, None, f"it cannot be played again: {error_text(fault)[:200]}"))
        return found
    own = None if whole else _own_kinds(events)
    config = next((event.config for event in events if isinstance(event, StartedEvent)), {})
    kept = any(method.holds_back and config.get(method.name) for method in methods()) or config.get("parallel", 1) > 1
    recorded, made = ([*_lines(one, own, kept_back=kept)] for one in (events, again))
    if not played.same_sources:
        _without_younger(recorded, made)
    resumed = next((place for place, event in enumerate(events) if isinstance(event, ResumedEvent)), None)
    if resumed is not None:
        found.unchecked.append("it was resumed, perhaps with other caps: only what came before was compared")
        recorded = [*_lines(events[:resumed], own, kept_back=kept)]
        made, fault, left = made[: len(recorded)], None, 0
    cut = fault is not None or len(made) > len(recorded)
    if cut and _end_state(events) in _CUT:
        found.unchecked.append("it was cut off, and how cannot be repeated: the end of its trace was not compared")
        recorded, made = _until_cut(recorded, made)
        fault = None
    for what in _differences(recorded, made):
        found.findings.append(Finding(RULE, None, what))
        if len(found.findings) == MOST:
            return found
    if fault is not None:
        found.findings.append(Finding(RULE, None, str(fault)))
    elif whole and left and not found.findings:
        found.findings.append(Finding(RULE, None, f"{left} recorded answers of the model were never asked for"))
    verdicts = {method.verdict for method in methods()}
    found.verdicts = sum(one == other and one["type"] in verdicts for one, other in zip(recorded, made, strict=False))
    return found


def _without_younger(recorded: Sequence[Line], made: Sequence[Line]) -> None:
    """Leave out what the version that played an episode did not record yet."""
    for one, other in zip(recorded, made, strict=False):
        for kind, name in _YOUNGER:
            if one["type"] == other["type"] == kind and one[name] is None:
                other[name] = None
        # Earlier versions wrote no counter that was 0. In lines of the environment alone there is no result.
        if one["type"] == other["type"] == "finished" and "result" in other:
            for line in (one, other):
                line["result"].pop("detail", None)  # other words for the same end
            counted, held = other["result"]["method"], one["result"]["method"]
            other["result"]["method"] = {name: count for name, count in counted.items() if count or name in held}


def _until_cut(recorded: list[Line], made: list[Line]) -> tuple[list[Line], list[Line]]:
    """Both as far as neither was cut off: without the result, and without what was settled for the last request."""
    recorded, made = recorded[:-1], made[:-1]
    return recorded[: len(made)] if len(recorded) == len(made) + 1 else recorded, made[: len(recorded)]


def _again(
    events: Sequence[Event], played: Played, agent: Agent | None, *, whole: bool
) -> tuple[list[Event], Exception | None, int]:
    """The events that come out now, what has ended it, and how many answers are left."""
    decisions, left = Decisions(events), 0
    started = next((event for event in events if isinstance(event, StartedEvent)), None)
    caps = played.caps if played.caps is not None else Budget(started.budget if started else {})
    exact = played.simulator if whole else None
    fault: Exception | None = None
    with TemporaryDirectory() as folder, _quiet():
        file = Path(folder) / "again.jsonl"
        writer = TraceWriter("again", file)
        env = None
        try:
            env = played.make()
            model = RecordedLM(uncounted(events, env) if agent is None else agent.model, events, exact=whole)
            playing = agent if agent is not None and whole else RecordedActions(model, events)
            run = playing.arun(
                env,
                budget=caps,
                seed=played.seed,
                trace=writer,
                model=model,
                simulator=None if exact is None else exact(env),
                approve=decisions.ask if decisions.any else None,
                approve_when=decisions.selects if decisions.any else None,
            )
            run_sync(run)
            left = model.left
        except Exception as error:  # a record may hold anything, and an environment may do anything with it
            fault = error
        finally:
            writer.close()
            if env is not None:
                with suppress(Exception):
                    env.close()
        return ([*read_trace(file)] if writer.events else []), fault, left


@contextmanager
def _quiet() -> Iterator[None]:
    """Warnings of an episode were given when it was played."""
    logger = logging.getLogger("tape")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


# --- what is compared ---------------------------------------------------------------------------


def _end_state(events: Sequence[Event]) -> str:
    last = events[-1] if events else None
    return str(last.result.get("end_state")) if isinstance(last, FinishedEvent) else ""


def _own_kinds(events: Sequence[Event]) -> set[str]:
    """The kinds of resources that actions use, and no model."""
    ledgers = [event for event in events if isinstance(event, LedgerEvent)]
    mixed = {kind for event in ledgers if event.purpose.startswith("lm:") for kind in event.amounts}
    return {kind for event in ledgers if event.purpose.startswith("step:") for kind in event.amounts} - mixed


def _lines(events: Sequence[Event], own: set[str] | None, *, kept_back: bool) -> Iterator[Line]:
    """What is compared of some events: all but times; with ``own`` what the environment reports, of these resources."""
    for event in events:
        if isinstance(event, LedgerEvent) and event.purpose.startswith(AHEAD):
            continue  # when an action begins before its turn depends on real time
        if own is None:
            yield _timeless({"type": event.type, **event.model_dump()})
        elif (line := _of_environment(event, own, kept_back=kept_back)) is not None:
            yield line


def _timeless(line: Line) -> Line:
    """A line without times, and without the settings of methods that are not in use; of a fault without its words."""
    if line["type"] == "started":
        line["config"] = {name: value for name, value in line["config"].items() if value is not None}
    for name in _TIMES:
        kind, *path, last = name.split(".")
        held: Any = line if kind == line["type"] else None
        for part in path:
            held = held.get(part) if isinstance(held, dict) else None
        if isinstance(held, dict):
            held.pop(last, None)
    if line["type"] == "finished" and line["result"].get("end_state") in _FAULTS:
        line["result"].pop("detail", None)
    return line


def _of_environment(event: Event, own: set[str], *, kept_back: bool) -> Line | None:
    """What the environment reports in an event; None where it reports nothing."""
    line: Line
    match event:
        case StartedEvent():
            line = {"task": event.task, "budget": event.budget}
        case ObservedEvent():
            left = {} if kept_back else {kind: event.remaining.get(kind) for kind in sorted(own)}
            line = {"step": event.step, "key": event.key, "picture": event.picture, "remaining": left}
        case ActedEvent():
            line = {"step": event.step, "action": event.action, "cost": event.cost}
        case LedgerEvent() if event.purpose.startswith("step:"):
            line = event.model_dump()
        case AnsweredEvent():
            line = event.model_dump()
        case FinishedEvent():
            names = ("success", "steps", "actions", "answer", "final_answer", "budget")
            result = event.result
            used = result.get("used")
            line = {name: result.get(name) for name in names}
            line["used"] = {k: used.get(k, 0) for k in sorted(own)} if isinstance(used, Mapping) else used
        case _:
            return None
    return {"type": event.type, **json.loads(json.dumps(line))}


def _differences(recorded: Sequence[Line], made: Sequence[Line]) -> Iterator[str]:
    """The differences, in words; none after the first line of another type."""
    for number, (one, other) in enumerate(zip_longest(recorded, made)):
        if one is None or other is None or one["type"] != other["type"]:
            was, now = ("nothing" if line is None else line["type"] for line in (one, other))
            yield f"event {number} is recorded as {was}, and the replay has {now}"
            return
        for path, was, now in _unlike(one, other, one["type"]):
            yield f"{path} of event {number} is recorded as {_short(was)}, and the replay has {_short(now)}"


_MISSING = "(missing)"


def _unlike(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """The places in which two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            yield from _unlike(one.get(name, _MISSING), other.get(name, _MISSING), f"{path}.{name}")
    elif one != other or type(one) is not type(other):
        yield path, one, other


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:160]} ..."
