"""Planning and sampling errors of finished Sokoban runs, from traces and the exact oracle (TAPE section 5.2, G.1).

``python -m experiments.studies.tape.error_analysis RUN_DIR`` prints one row per configuration; no model is opened.
``docs/evidence/error-analysis.md`` defines the rates. What traces show without an oracle, ``tape diagnose`` prints.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from envs.sokoban.domain import SokobanDomain
from envs.sokoban.errors import SokobanError
from envs.sokoban.oracle import Oracle, oracle_for
from envs.sokoban.plugin import PLUGIN
from envs.sokoban.prompts.chat import ChatFormat
from envs.sokoban.prompts.compact import CompactFormat
from envs.sokoban.simulator import step
from envs.sokoban.state import Level, State
from envs.sokoban.xsb import parse
from experiments.studies.tape.error_rates import Decision, JudgedEpisode, bounds, error_rates
from tape.errors import ConfigError, RunDirectoryError, TapeError, TraceError
from tape.protocols import Action, Task
from tape.protocols.prompt_format import PromptFormat
from tape.runner.directory import RunDirectory
from tape.runner.spec import RunSpec
from tape.statistics import success_interval
from tape.trace import (
    ActedEvent,
    Event,
    LedgerEvent,
    ObservedEvent,
    PathSelectedEvent,
    PlansSampledEvent,
    StartedEvent,
    read_trace,
)


@dataclass(frozen=True)
class Judge:
    """One level with its oracle.

    Attributes:
        level: The level.
        digest: The digest of its task.
        oracle: Exact distances to the goal; remembers what it computed.
    """

    level: Level
    digest: str
    oracle: Oracle

    @cached_property
    def horizon(self) -> int:
        """T, the length of a shortest solution."""
        cost = self.oracle.cost_to_go(self.level.start)
        assert cost is not None, "tasks are made of solvable levels only"
        return cost

    @cached_property
    def domain(self) -> SokobanDomain:
        """Knows how states are written in traces."""
        return SokobanDomain(self.level)

    @cached_property
    def _prompt_formats(self) -> tuple[PromptFormat, ...]:
        try:
            return CompactFormat(self.domain), ChatFormat(self.domain)
        except ConfigError:  # too large a board for the bundled models, so none of them wrote the thought
            return (ChatFormat(self.domain),)

    def intention(self, thought: str) -> Action | None:
        """What a thought of any of Sokoban's prompt formats intends; traces do not name the format."""
        found = (prompt_format.read_intention(thought) for prompt_format in self._prompt_formats)
        return next((action for action in found if action is not None), None)

    def viable(self, state: State, remaining: int | None) -> bool:
        """Whether the goal is at most ``remaining`` steps away."""
        if remaining is None:
            return self.oracle.cost_to_go(state) is not None
        return remaining >= 0 and self.oracle.viable(state, remaining)

    def action_viable(self, state: State, action: Action, remaining: int | None) -> bool:
        """Whether the goal is still within reach after an action; an invalid one changes nothing and costs its step."""
        left = None if remaining is None else remaining - 1
        return self.viable(step(self.level, state, action) or state, left)


class Judges:
    """The levels of runs, found by level set and digest, each with one oracle for all runs.

    Args:
        levels: A level set or XSB file to look in instead of the sets that runs name, for instance a file that moved.
    """

    def __init__(self, levels: str | None = None) -> None:
        self._levels = levels
        self._sets: dict[str, dict[str, Task]] = {}
        self._judges: dict[str, Judge] = {}

    def of(self, level_set: str, digest: str) -> Judge:
        """The judge of a task.

        Raises:
            SokobanError: The level set cannot be read or has no such level.
        """
        if digest not in self._judges:
            name = self._levels or level_set
            if name not in self._sets:
                self._sets[name] = {task.digest: task for task in PLUGIN.tasks({"levels": name, "slack": 0})}
            if digest not in self._sets[name]:
                raise SokobanError(
                    f"the level with digest {digest} is not in {name!r}; name the levels of the run with --levels"
                )
            [level] = parse(self._sets[name][digest].facts["xsb"])
            self._judges[digest] = Judge(level, digest, oracle_for(level))
        return self._judges[digest]


def judge_episode(
    events: Iterable[Event], judge: Judge, *, success: bool, episode: str = "an episode"
) -> JudgedEpisode:
    """Read the decisions off a trace.

    The states are those of the simulator, which must agree with the keys of all observations.

    Args:
        events: The trace.
        judge: Of the episode's level.
        success: The episode reached the goal.
        episode: Its name in errors.

    Raises:
        TraceError: The trace is not of this level, or has an action without an observation before it.
    """
    level, state, seen = judge.level, judge.level.start, None
    horizon: int | None = None
    thought = False
    decisions: list[Decision] = []
    sampled: list[bool] = []
    draws: list[bool] = []
    for event in events:
        match event:
            case StartedEvent():
                horizon = event.config.get("horizon")
            case ObservedEvent():
                if event.key != judge.domain.key(state) or event.step != len(decisions):
                    raise TraceError(
                        f"{episode}: step {event.step} observed {event.key!r}, but after {len(decisions)} actions the "
                        f"simulator has {judge.domain.key(state)!r}; is this the trace of another level?"
                    )
                seen, thought = event, False
                sampled = []
            case LedgerEvent(what="settle") if event.purpose.startswith("lm:"):
                thought |= "act" in event.purpose.removeprefix("lm:").split(",")
            case PlansSampledEvent() if seen is not None and event.start == seen.key:
                left = _steps_left(seen, horizon)
                if judge.viable(state, left):
                    sampled += [bool(plan) and judge.action_viable(state, plan[0], left) for plan in event.plans]
            case PathSelectedEvent():
                draws += sampled
                sampled = []
            case ActedEvent():
                if seen is None or seen.step != event.step - 1:
                    raise TraceError(f"{episode}: no observation before step {event.step}; the trace is not whole")
                left = _steps_left(seen, horizon)
                intended = judge.intention(event.text) if thought else event.planned
                decisions.append(_decision(judge, state, left, event, intended))
                state = step(level, state, event.action) or state
            case _:
                pass
    return JudgedEpisode(judge.digest, judge.horizon, success, tuple(decisions), tuple(draws))


def _decision(judge: Judge, state: State, left: int | None, event: ActedEvent, intended: Action | None) -> Decision:
    return Decision(
        step=event.step - 1,
        remaining=left,
        state_viable=judge.viable(state, left),
        executed=event.action,
        executed_viable=judge.action_viable(state, event.action, left),
        intended=intended,
        intended_viable=None if intended is None else judge.action_viable(state, intended, left),
        planned=event.planned,
    )


def _steps_left(seen: ObservedEvent, horizon: int | None) -> int | None:
    """What the budget and the horizon leave, whichever is less; None without both."""
    limits = [seen.remaining["steps"]] if "steps" in seen.remaining else []
    return min(limits + ([horizon - seen.step] if horizon is not None else []), default=None)


def judge_run(directory: RunDirectory, judges: Judges | None = None) -> dict[str, list[JudgedEpisode]]:
    """The judged episodes of every configuration of a Sokoban run, in its order.

    Raises:
        RunDirectoryError: There is no run, or it is not one of Sokoban.
        SokobanError: Its levels are not where the run says.
        TraceError: A trace is missing, malformed or of another level.
    """
    judges = judges or Judges()
    configurations = directory.configurations()
    found: dict[str, list[JudgedEpisode]] = {name: [] for name in configurations}
    for name, spec in configurations.items():
        if spec.environment != PLUGIN.name:
            raise RunDirectoryError(
                f"{directory.path}: {name!r} plays {spec.environment}; errors are judged by Sokoban's oracle only"
            )
    # By level, so that a board's distances are computed once even where there are very many boards.
    for record in sorted(directory.episodes(), key=lambda record: (record["digest"], record["cell"], record["repeat"])):
        found[record["cell"]].append(judge_record(directory, record, judges))
    return found


def judge_record(directory: RunDirectory, record: Mapping[str, Any], judges: Judges) -> JudgedEpisode:
    """One episode of a run, judged; raises like :func:`judge_run`."""
    file = directory.trace_file(record["key"])
    episode = f"{record['cell']}, {record['task']} #{record['repeat']} ({file})"
    judge = judges.of(record["level_set"], record["digest"])
    return judge_episode(read_trace(file), judge, success=record["result"]["success"], episode=episode)


def error_table(directory: RunDirectory, judges: Judges | None = None) -> list[dict[str, Any]]:
    """One row per configuration: what it is, how many episodes and successes, every rate and the bounds.

    Each rate of :data:`~experiments.studies.tape.error_rates.RATES`, and ``draw_error``, is a dictionary with the
    fields of :class:`~experiments.studies.tape.error_rates.Rate`; ``success`` has the same fields; ``bounds`` is a list
    with those of :class:`~experiments.studies.tape.error_rates.Bounds`. Raises like :func:`judge_run`.
    """
    return table_of(judge_run(directory, judges), directory.configurations())


def table_of(
    judged: Mapping[str, Sequence[JudgedEpisode]], configurations: Mapping[str, RunSpec]
) -> list[dict[str, Any]]:
    """The rows of :func:`error_table` from judged episodes by configuration."""
    rows = []
    for name, episodes in judged.items():
        spec = configurations[name]
        row: dict[str, Any] = {"cell": name, "agent": spec.label(), "model": spec.model, "episodes": len(episodes)}
        row["success"] = _success(episodes)
        row |= {rate: asdict(value) for rate, value in error_rates(episodes).items()}
        row["bounds"] = [asdict(found) for found in bounds(episodes, spec.config.num_plans)]
        rows.append(row)
    return rows


def _success(episodes: Sequence[JudgedEpisode]) -> dict[str, Any]:
    successes, levels = [episode.success for episode in episodes], [episode.level for episode in episodes]
    low, high, method = success_interval(successes, levels)
    count, n = sum(successes), len(successes)
    value = count / n if n else None
    return {
        "value": value,
        "count": count,
        "n": n,
        "levels": len(set(levels)),
        "low": low,
        "high": high,
        "method": method,
    }


COLUMNS = {
    "planning_error": "planning error, all states",
    "planning_error_viable": "planning error, viable states",
    "sampling_error": "sampling error",
    "delta_b": "delta_b",
    "delta_r_viable": "delta_r, viable states",
    "nonviable_executed_viable": "non-viable executed, viable states",
    "off_plan": "not what the plan says",
    "unparsed": "thoughts without a move",
    "success": "success",
}
"""The columns of the printed table."""


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The table for people: per configuration ``percent [interval] (n)``."""
    lines = [f"| configuration | {' | '.join(COLUMNS.values())} |", "| --- " * (1 + len(COLUMNS)) + "|"]
    for row in rows:
        lines.append(f"| {row['cell']} | " + " | ".join(_shown(row[name]) for name in COLUMNS) + " |")
    return "\n".join(lines)


def _shown(rate: dict[str, Any]) -> str:
    if rate["value"] is None:
        return "– (n = 0)"
    return f"{rate['value']:.1%} [{rate['low']:.1%}, {rate['high']:.1%}] (n = {rate['n']})"


def bounds_markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Success beside the bounds, means over the levels weighted by their episodes."""
    lines = ["| configuration | levels | T | success | path | U_ReAct | U_ours |", "| --- " * 7 + "|"]
    for row in rows:
        found = row["bounds"]
        if not found:
            continue
        lengths = sorted({bound["horizon"] for bound in found})
        shown = [_mean(found, name) for name in ("success", "path", "react", "ours")]
        lines.append(f"| {row['cell']} | {len(found)} | {lengths[0]} to {lengths[-1]} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _mean(found: Sequence[dict[str, Any]], name: str) -> str:
    if any(bound[name] is None for bound in found):
        return "–"
    total = sum(bound["episodes"] for bound in found)
    return f"{sum(bound[name] * bound['episodes'] for bound in found) / total:.3f}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables of a run directory."""
    parser = argparse.ArgumentParser(prog="python -m experiments.studies.tape.error_analysis", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="a finished run of Sokoban")
    parser.add_argument("--levels", help="a level set or XSB file, where the run's own was moved")
    args = parser.parse_args(argv)
    try:
        rows = error_table(RunDirectory(args.run), Judges(args.levels))
    except TapeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(markdown(rows))
    print(f"\nSuccess beside the bounds at the measured rates, means over levels:\n\n{bounds_markdown(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
