"""The records of a run checked again, on two levels, and what could not be checked.

**From the file** (:mod:`tape.analysis.from_file`, :mod:`tape.sdp.revalidation`): the hashes that chain the lines
of a trace; record, trace and configuration as of one episode; counts, payments, moves, verdicts, gates and beliefs as
they follow from other lines. Where the environment can make its states from recorded fields, facts and keys are read
off them again (:mod:`tape.sdp.grounding`).

**By replay** (:mod:`tape.analysis.by_replay`): the episode is played again, with the recorded answers in the place of
the model. This alone finds a forger who writes everything anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tape.agents.base import Agent
from tape.analysis import by_replay
from tape.analysis.by_replay import Played
from tape.analysis.from_file import from_file
from tape.analysis.from_file.counts import same_result
from tape.budget import Budget
from tape.engine.settings import TapeConfig
from tape.errors import TapeError
from tape.lm.registry import open_model
from tape.plugins import load
from tape.protocols import Environment, EnvironmentPlugin, Task
from tape.protocols.method import Finding, methods
from tape.runner.directory import RunDirectory
from tape.runner.spec import RunSpec, key_of, source_digest
from tape.trace import Event, FinishedEvent, StartedEvent, links_of, read_trace


@dataclass
class Audited:
    """What came out of one episode.

    Attributes:
        configuration: Its configuration in the run.
        key: Its key.
        task: The name of its task.
        links: Of the hashes of its trace: ``whole`` or ``broken``; ``missing`` where there is no trace.
        findings: What is not as it must be.
        facts: How many recorded facts were read off their state again.
        actions: How many actions were played again.
        verdicts: How many verdicts were repeated on them.
        unchecked: What could not be checked, in words.
    """

    configuration: str
    key: str
    task: str
    links: str = "missing"
    findings: list[Finding] = field(default_factory=list)
    facts: int = 0
    actions: int = 0
    verdicts: int = 0
    unchecked: list[str] = field(default_factory=list)


OPENED = ("bundled", "declared", "scripted", "simulated")
"""Models that a replay opens, to count tokens as they do: they come with the program or are a list in a file."""


def audit(directory: RunDirectory, configurations: list[str] | None = None, *, replay: bool = True) -> list[Audited]:
    """Check the episodes of a run again.

    Args:
        directory: The run.
        configurations: Only these configurations.
        replay: Also make the environments, re-ground what was recorded and play the recorded actions.

    Raises:
        RunDirectoryError: There is no run.
    """
    found = []
    specs = directory.configurations()
    written = directory.written_configurations()
    tasks = {name: _tasks(spec) if replay else {} for name, spec in specs.items()}
    for record in directory.episodes():
        name = record["cell"]
        if configurations is not None and name not in configurations:
            continue
        one = Audited(name, record["key"], record["task"])
        spec, own = specs.get(name), tasks.get(name, {})
        task = own.get(record["digest"]) if isinstance(own, dict) else None
        played = None
        if spec is None:
            one.findings.append(Finding("record", None, f"the run has no configuration {name!r}"))
        else:
            one.findings += _of_run(record, spec, written[name], own if isinstance(own, dict) else {})
            if not replay:
                one.unchecked.append("the environment was not asked")
            elif isinstance(own, str):
                one.unchecked.append(own)
            elif task is None:
                one.unchecked.append("the run's options name no task of this digest any more")
            else:
                same = directory.versions().get("sources") == source_digest(specs.values())
                played = played_in(spec, task, record["repeat"], same_sources=same)
        file = directory.trace_file(record["key"])
        if file.exists():
            audit_trace(one, file, record, played)
        else:
            one.unchecked.append("there is no trace")
        found.append(one)
    return found


def audit_trace(one: Audited, file: Path, record: Mapping[str, Any] | None, played: Played | None) -> None:
    """Check a trace again.

    Args:
        one: Takes what comes out.
        file: The trace.
        record: The episode's record; None for a trace without a run.
        played: What it was played in; None where that is not known.
    """
    try:
        events = _linked(one, file, record)
        one.findings += from_file(events)
        if record is not None:
            one.findings += _recorded(events, record)
        env, config = _environment(one, played)
        for method in methods():
            own = method.audit(file, events, env, config)
            one.findings += own.findings
            one.facts += own.facts
            one.unchecked += own.unchecked
    except TapeError as error:
        one.findings.append(Finding("schema", None, str(error)))
        return
    if played is None or env is None:
        return
    if config is not None:
        one.findings += _of_configuration(events, config)
    if not played.replayable:
        one.unchecked.append("its environment does not say that actions may be played again")
        return
    again = by_replay.replay(events, played)
    one.findings += again.findings
    one.actions, one.verdicts = again.actions, again.verdicts
    one.unchecked += again.unchecked


def _environment(one: Audited, played: Played | None) -> tuple[Environment | None, TapeConfig | None]:
    """What an episode was played in, and the settings that its agent plays with there."""
    if played is None:
        return None, None
    try:
        env = played.make()
    except Exception as error:  # whatever it needs that is not here
        one.unchecked.append(f"the environment cannot be made: {str(error)[:200]}")
        return None, None
    if played.spec is None:
        return env, None
    agent: type[Agent] = load("tape.agents", played.spec.agent)
    return env, agent.resolve(played.spec.config).resolved(env.domain)


def _linked(one: Audited, file: Path, record: Mapping[str, Any] | None) -> list[Event]:
    """The events, and the findings on their hashes."""
    links = links_of(file)
    one.links = links.state
    if links.what:
        one.findings.append(Finding("links", None, links.what))
    if record is not None:
        kept = record.get("trace_hash", "")
        if kept != links.last and not links.what:
            lost = "it ends in another line" if kept else "its record keeps no hash of it"
            one.findings.append(Finding("links", None, lost))
        if links.episode != record["key"]:
            one.findings.append(Finding("record", None, f"the trace is of the episode {links.episode!r}"))
    return list(read_trace(file))


def _recorded(events: list[Event], record: Mapping[str, Any]) -> Iterator[Finding]:
    """Where the record of an episode and its trace differ."""
    for event in events:
        if isinstance(event, FinishedEvent):
            different = same_result(record["result"], json.loads(json.dumps(event.result)))
            if different:
                yield Finding("record", None, f"record and trace have different results: {', '.join(different)}")
        elif isinstance(event, StartedEvent) and event.config.get("agent") != str(record["agent"]).partition(" [")[0]:
            yield Finding("record", None, f"the trace is of the agent {event.config.get('agent')!r}")


def _of_run(
    record: Mapping[str, Any], spec: RunSpec, written: Mapping[str, Any], tasks: Mapping[str, Task]
) -> Iterator[Finding]:
    """Where the record of an episode and its run differ."""
    recorded = (record["environment"], record["agent"], record["model"])
    if recorded != (spec.environment, spec.label(), spec.model):
        yield Finding("record", None, f"it is of {recorded}, and the run is not")
    if not record["repeat"] < spec.repeats:
        yield Finding("record", None, f"it is of repeat {record['repeat']}, and the run has {spec.repeats}")
    task, name = tasks.get(record["digest"]), (record["task"], record["level_set"])
    if task is None:  # its content has changed since, and perhaps its caps: its key is that of what they were
        now = next((one for one in tasks.values() if (one.id, one.level_set) == name), None)
        was = now and replace(now, digest=record["digest"], budget=Budget(record["result"].get("budget", {})))
    else:
        was = task
    if was is not None and record["key"] != key_of(written, was, spec.caps(was), record["repeat"]):
        yield Finding("record", None, "its key is not that of this configuration, task and repeat")
    if task is not None and name != (task.id, task.level_set):
        yield Finding("record", None, f"its task is called {task.id!r}, of {task.level_set!r}")


def _tasks(spec: RunSpec) -> dict[str, Task] | str:
    """The tasks that a configuration names, by digest; or why they cannot be had."""
    try:
        plugin: EnvironmentPlugin = load("tape.environments", spec.environment)
        return {task.digest: task for task in plugin.tasks(spec.options)}
    except Exception as error:  # the run's options may hold anything
        return f"the tasks of {spec.environment} cannot be made again: {str(error)[:200]}"


def played_in(spec: RunSpec, task: Task, repeat: int, *, same_sources: bool = True) -> Played:
    """What an episode of a configuration is played in, and with.

    Args:
        spec: The configuration.
        task: The task.
        repeat: Which repeat of it.
        same_sources: Whether the sources of this program are those that played it.
    """
    plugin: EnvironmentPlugin = load("tape.environments", spec.environment)
    opens = spec.model.partition(":")[0] in OPENED
    exact = plugin.simulator if spec.config.world_model == "simulator" else None
    return Played(
        make=lambda: plugin.make(task),
        seed=spec.episode_seed(task, repeat),
        caps=spec.caps(task),
        replayable=plugin.replayable,
        spec=spec,
        agent=(lambda: load("tape.agents", spec.agent)(open_model(spec.model), spec.config)) if opens else None,
        simulator=exact,
        same_sources=same_sources,
    )


def _of_configuration(events: list[Event], config: TapeConfig) -> Iterator[Finding]:
    """The switches that a trace records otherwise than the configuration of the run; younger ones are not in it."""
    switches = json.loads(json.dumps(config.model_dump()))
    for event in events:
        if isinstance(event, StartedEvent):
            wrong = sorted(name for name in switches if not _agrees(event.config, switches, name))
            if wrong:
                yield Finding("record", None, f"it was played with other switches than the run: {', '.join(wrong)}")


def _agrees(recorded: Mapping[str, Any], switches: Mapping[str, Any], name: str) -> bool:
    """Whether a switch is recorded as it is; of those of a method, each that is recorded."""
    if name not in recorded:
        return True
    if isinstance(recorded[name], dict) and isinstance(switches[name], dict):
        known = {*recorded[name]} <= {*switches[name]}
        return known and all(_agrees(recorded[name], switches[name], each) for each in switches[name])
    return bool(recorded[name] == switches[name])
