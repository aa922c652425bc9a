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

from envs.alfworld.game.games import load_games
from experiments.harness.cli import known, main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, plugin_of, split, spread
from experiments.harness.measured import Measured
from experiments.harness.standard import against
from experiments.studies.aec.aec import QUICK, declared_tasks
from experiments.studies.aec.injected import injected
from experiments.studies.aec.methods import AEC, QUERY_ALL
from tape.aec.bound import BoundCheck, check_bound, feasibility_bound
from tape.aec.events import CommittedEvent
from tape.protocols import Action, Environment
from tape.protocols.predicates import Predicate
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section, Table
from tape.show.plots import Panel, Plot, Series, Value
from tape.trace import ActedEvent, Event, read_trace

ENVIRONMENT = "alfworld"
RATES = (0.0, 0.02, 0.05, 0.1, 0.2)
METHODS = (AEC, QUERY_ALL)
ALONE = (0.0, 0.001, 0.002, 0.005, 0.01, *RATES[1:])
"""Rates without a model; below 0.02 the bound does not yet allow everything."""

REPEATS = 3
"""Episodes without a model of each game at each rate."""


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
    """Whether a path reaches the goal in the environment as it is, which alone says so; its steps are all taken."""
    environment.reset(0)
    for action in (*commitment.before, *commitment.actions):
        if environment.success():
            return True
        environment.step(action)
    return environment.success()


def checks(measured: Measured, chosen: Mapping[str, Any]) -> dict[str, tuple[BoundCheck, BoundCheck]]:
    """For each configuration, the first commitments of all episodes and all commitments, against the bound."""
    found = {}
    clean = {task.id: task for task in declared_tasks(ENVIRONMENT, {**chosen, "query_errors": 0.0})}
    make = plugin_of(ENVIRONMENT).make
    for name, records in measured.records.items():
        if not records:
            continue
        rate = float(measured.specs[name].options["query_errors"])
        first: list[tuple[float, bool]] = []
        every: list[tuple[float, bool]] = []
        for record in records:
            made = commitments_of(read_trace(measured.directory.trace_file(record["key"])))
            for number, commitment in enumerate(made):
                later = [Predicate(str(i)) for i in range(commitment.later)]
                environment = make(clean[record["task"]])
                judged = feasibility_bound(later, rate), feasible(environment, commitment)
                close = getattr(environment, "close", None)
                if close is not None:
                    close()
                every.append(judged)
                if number == 0:
                    first.append(judged)
        found[name] = check_bound(first), check_bound(every)
    return found


def sections(chosen: Mapping[str, Any], measured: Measured, *, quick: bool = False) -> list[Section]:
    """The table and the figure."""
    found = checks(measured, chosen)
    rows, panels = [], []
    for model in measured.models():
        for method in measured.methods():
            xs, seen, allowed = [], [], []
            for name, (first, every) in found.items():
                if split(name)[1:] != (model, method):
                    continue
                rate = float(measured.specs[name].options["query_errors"])
                won = measured.success(*split(name))
                rows.append((f"{rate:g}", f"`{model}`", method, *_row(first), _row(every)[1], str(every.n),
                             "-" if won is None else f"{won.at:.2f}"))  # fmt: skip
                xs.append(rate)
                seen.append(Value(first.frequency, first.low, first.high) if first.n else None)
                allowed.append(Value(first.allowed, first.allowed, first.allowed) if first.n else None)
            series = (
                Series("infeasible, simulated errors", tuple(seen), "strong", tuple(xs)),
                Series("allowed by theorem 3.4", tuple(allowed), "plain", tuple(xs)),
            )
            panels.append(Panel(f"{method}, {model}", series))
    head = ("error rate", "model", "method", "n", "infeasible", "allowed: mean of 1 - bound", "compatible",
            "infeasible, of all commitments", "all commitments", "success")  # fmt: skip
    note = (
        "**Simulated query errors**: what is grounded after the start is told wrongly at the given rate. n: the first "
        "commitment of each episode that has one, so that they are independent; Wilson's 95 % intervals. Feasible: "
        "when the path is played on the engine, without errors, the engine says that the game is won. The bound counts "
        "every predicate grounded after the start, so it soon allows everything (1.00)."
    )
    caption = "Infeasible first commitments by rate of simulated query errors, beside what the theorem allows."
    plot = Plot("lines", tuple(panels), "share of commitments", "error rate")
    agents = (Table(head, tuple(rows), note), Figure("aec_errors_agents", caption, plot))
    return [*_alone(chosen, measured, quick=quick), Section("Agents whose grounder errs", agents, 3)]


def _alone(chosen: Mapping[str, Any], measured: Measured, *, quick: bool) -> list[Section]:
    """The theorem itself: no model, nothing but facts decides."""
    games = spread(load_games(chosen["games"])[: chosen.get("count")], QUICK if quick else None)
    found = injected(games, ALONE, 1 if quick else REPEATS, measured.directory.path / "injected.jsonl")
    rows = []
    seen: list[Value | None] = []
    allowed: list[Value | None] = []
    for rate in ALONE:
        mine = [one for one in found if one.rate == rate]
        check = check_bound([(one.bound, one.feasible) for one in mine if one.committed])
        rows.append((f"{rate:g}", str(len(mine)), *_row(check)))
        seen.append(Value(check.frequency, check.low, check.high) if check.n else None)
        allowed.append(Value(check.allowed, check.allowed, check.allowed) if check.n else None)
    head = ("error rate", "episodes", "n committed", "infeasible", "allowed: mean of 1 - bound", "compatible")
    note = (
        "**Simulated query errors.** No model: receptacles are looked into in a random order, and the first path that "
        "the verifier accepts on facts of which some are wrong is played on the engine. One commitment an episode; "
        f"Wilson's 95 % intervals over {len(games)} games, {1 if quick else REPEATS} times each with other errors."
    )
    series = (
        Series("infeasible, simulated errors", tuple(seen), "strong", ALONE),
        Series("allowed by theorem 3.4", tuple(allowed), "plain", ALONE),
    )
    plot = Plot("lines", (Panel("the verifier alone", series),), "share of commitments", "error rate")
    caption = "Infeasible commitments by rate of simulated query errors, beside what the theorem allows; no model."
    return [Section("The verifier alone", (Table(head, tuple(rows), note), Figure("aec_errors", caption, plot)), 3)]


def _row(check: BoundCheck) -> tuple[str, str, str, str]:
    seen = f"{check.frequency:.3f} ({check.low:.3f} to {check.high:.3f})" if check.n else "-"
    return str(check.n), seen, f"{check.allowed:.3f}", ("yes" if check.holds else "**no**") if check.n else "-"


def configurations(chosen: Mapping[str, Any], options: Options, *, quick: bool = False) -> list[Configuration]:
    """AEC and query-all at every rate."""
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
        pairs=against(AEC.label),
        differs=(
            "An agent's model, its prompts and the check of success see the truth: only the grounder errs. A wrong "
            "value stays wrong for the episode, and each predicate is drawn by itself.",
        ),
        seeds=1,
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
