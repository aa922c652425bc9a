"""AEC theorem 3.4 by injection: wrong query results at known rates. ``python -m experiments.studies.aec.errors``.

All results here are with *simulated query errors*. Whether a committed path was feasible is asked of the engine alone:
the episode's commands are played again in a fresh game without errors, then the path.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from experiments.harness.cli import known, main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, plugin_of, split, spread
from experiments.harness.measured import Measured, Record
from experiments.studies.aec import theorem
from experiments.studies.aec.aec import QUICK, declared_tasks
from experiments.studies.aec.bound import BoundCheck, check_bound
from experiments.studies.aec.methods import AEC
from tape.aec.events import CommittedEvent
from tape.protocols import Action, Environment, Task
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section, Table
from tape.show.plots import Panel, Plot
from tape.trace import ActedEvent, Event, read_trace

ENVIRONMENT = "alfworld"
RATES = theorem.RATES
METHODS = (AEC,)


def label(rate: float) -> str:
    """Name of a setting."""
    return f"simulated query errors {rate:g}"


class Commitment(NamedTuple):
    """A path that was committed to.

    Attributes:
        before: All commands before it.
        actions: The path.
        later: How many predicates were grounded after the start, at that moment: |Q|.
    """

    before: tuple[Action, ...]
    actions: tuple[Action, ...]
    later: int


def commitments_of(events: Iterable[Event]) -> list[Commitment]:
    """The commitments of an episode, in order."""
    done: list[Action] = []
    found = []
    for event in events:
        if isinstance(event, ActedEvent):
            done.append(event.action)
        elif isinstance(event, CommittedEvent):
            found.append(Commitment(tuple(done), tuple(event.actions), len(event.grounded_later)))
    return found


def feasible(environment: Environment, commitment: Commitment) -> bool:
    """Whether every step of a path is carried out in the environment as it is, which alone decides.

    One that changes nothing was not. A prefix need not reach the goal, so it is not asked whether the path does.
    """
    key = environment.domain.key
    state = key(environment.reset(0).data)
    for number, action in enumerate((*commitment.before, *commitment.actions)):
        if environment.success():
            return True
        before, state = state, key(environment.step(action)[0].data)
        if number >= len(commitment.before) and state == before and not environment.success():
            return False
    return True


def judged(measured: Measured, record: Record, tasks: Mapping[str, Task]) -> list[tuple[int, bool]]:
    """The commitments of an episode: |Q|, and whether its steps are carried out by the engine.

    Args:
        measured: The run.
        record: The episode.
        tasks: The games without errors, by the task's id; empty where the episodes are read from what is published.
    """

    def find() -> list[list[int]]:
        made = commitments_of(read_trace(measured.directory.trace_file(record["key"])))
        found = []
        for commitment in made:
            environment = plugin_of(ENVIRONMENT).make(tasks[record["task"]])
            found.append([commitment.later, int(feasible(environment, commitment))])
            environment.close()
        return found

    found = measured.note(record, "commitments: grounded later, carried out", find)
    return [(later, bool(done)) for later, done in found]


def checks(measured: Measured, chosen: Mapping[str, Any]) -> dict[str, tuple[BoundCheck, BoundCheck]]:
    """For each configuration, the first commitments of all episodes and all commitments, against the bound."""
    found = {}
    clean = () if measured.published else declared_tasks(ENVIRONMENT, {**chosen, "query_errors": 0.0})
    tasks = {task.id: task for task in clean}
    for name, records in measured.records.items():
        if not records:
            continue
        rate = float(measured.specs[name].options["query_errors"])
        made = [
            [(max(0.0, 1.0 - rate * later), won) for later, won in judged(measured, record, tasks)]
            for record in records
        ]
        found[name] = check_bound([one[0] for one in made if one]), check_bound([one for each in made for one in each])
    return found


def sections(chosen: Mapping[str, Any], measured: Measured, *, quick: bool = False) -> list[Section]:
    """What happens without a model, and to agents."""
    count = QUICK if quick else chosen.get("count")

    def find() -> list[dict[str, Any]]:
        return theorem.rows_of(theorem.play(chosen["games"], count, measured.directory.path / "injected.jsonl"))

    alone = theorem.found_in(measured.rows("injected", find))
    return [*theorem.sections(alone), _agents(measured, checks(measured, chosen))]


def _agents(measured: Measured, found: Mapping[str, tuple[BoundCheck, BoundCheck]]) -> Section:
    """The table and the figure of agents."""
    rows, panels = [], []
    for model in measured.models():
        for method in measured.methods():
            mine = {name: checked for name, checked in found.items() if split(name)[1:] == (model, method)}
            for name, (first, every) in mine.items():
                rate, won = measured.specs[name].options["query_errors"], measured.success(*split(name))
                success = "-" if won is None else f"{won.at:.2f}"
                all_of_them = f"{every.infeasible} of {every.n}"
                rows.append((f"{rate:g}", f"`{model}`", method, *theorem.columns(first), all_of_them, success))
            panels.append(Panel(f"{method}, {model}", theorem.series([first for first, _ in mine.values()])))
    head = ("error rate", "model", "method", *theorem.HEAD, "infeasible, of all commitments", "success")
    note = (
        "**Simulated query errors**: what is grounded after the start is told wrongly at the given rate. n: the first "
        "commitment of each episode that has one, so that they are independent; Wilson's 95 % intervals, columns as "
        "above. Feasible: when the path or the prefix is played on the engine, without errors, each of its commands "
        "changes something. A model that sees the truth is seldom misled, so agents are further from the bound than "
        "the verifier alone."
    )
    caption = "Infeasible first commitments by rate of simulated query errors, beside what the theorem allows."
    ticks = tuple(f"{rate:g}" for rate in RATES)
    plot = Plot("lines", tuple(panels), "share of commitments", "error rate", ticks)
    return Section(
        "Agents whose grounder errs",
        (Table(head, tuple(rows), note), Figure("aec_errors_agents", caption, plot)),
        3,
    )


def configurations(chosen: Mapping[str, Any], options: Options, *, quick: bool = False) -> list[Configuration]:
    """The agents at every rate."""
    found = []
    for model in options.models:
        for rate in RATES:
            own = {**chosen, "query_errors": rate}
            tasks = spread(declared_tasks(ENVIRONMENT, own)[: options.limit], QUICK if quick else None)
            found += [
                configuration(
                    method, model, options, environment=ENVIRONMENT, own=own, setting=label(rate), tasks=tasks
                )
                for method in METHODS
            ]
    return found


def experiment(chosen: Mapping[str, Any], *, quick: bool = False) -> Experiment:
    """The experiment on chosen games."""
    return Experiment(
        name="aec_errors",
        module="experiments.studies.aec.errors",
        title="Theorem 3.4 with simulated query errors",
        source="AEC theorem 3.4; the paper has no experiment on it",
        about=(
            "What comes to light after the start is told wrongly at known rates, and the frequency of committed paths "
            "that do not win on the engine is compared with the theorem's bound. Every result here is with "
            "simulated query errors; only the row of rate 0 is without."
        ),
        models=("bundled:household",),
        configurations=partial(configurations, chosen, quick=quick),
        sections=partial(sections, chosen, quick=quick),
        pairs=lambda _: [],
        differs=(
            "An agent's model, its prompts and the check of success see the truth: only the grounder errs. A wrong "
            "value stays wrong for the episode, and each predicate is drawn by itself.",
        ),
    )


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    given = list(sys.argv[1:] if argv is None else argv)
    first = known(_arguments, given)
    chosen = {"games": first.games, "count": first.count, "data": None, "observation": "partial", "commands": "hidden"}
    return main(experiment(chosen, quick=first.quick), given, arguments=_arguments)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--games", choices=("packaged", "dev"), default="packaged", help="(default: packaged)")
    parser.add_argument("--count", type=int, metavar="N", help="only the first N games")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} games, of all types")


EXPERIMENT = experiment({"games": "packaged", "observation": "partial", "commands": "hidden"})

if __name__ == "__main__":
    sys.exit(run())
