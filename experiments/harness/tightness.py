"""What studies share that compare methods on an environment under tight and loose budgets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from types import MappingProxyType
from typing import Any

from experiments.harness.cli import main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, configuration, own_options, plugin_of, tasks_of
from experiments.harness.measured import Measured, Record
from experiments.harness.methods import (
    BEST_PLAN_AND_ACT,
    BEST_REACT,
    LM_SELECTS,
    OPEN_LOOP,
    PAPER,
    PLAN_AND_ACT,
    REACT,
    REPLANNING,
    TAPE,
    Method,
)
from experiments.harness.standard import success_bars
from tape.budget import in_units
from tape.protocols import Task
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section, Table
from tape.statistics import wilson

METHODS = (OPEN_LOOP, REACT, PLAN_AND_ACT, REPLANNING, BEST_REACT, BEST_PLAN_AND_ACT, PAPER, TAPE, LM_SELECTS)
TIGHTNESSES = ("tight", "loose")
ONLY: Mapping[str, Mapping[str, Any]] = MappingProxyType({"": {}})
"""Nothing else is played."""

Chosen = Mapping[str, Any]
"""The environment's own options, but for the tightness."""

Category = Callable[[Task], str]


def configurations(
    environment: str,
    given: Chosen,
    options: Options,
    others: Mapping[str, Mapping[str, Any]] = ONLY,
    *,
    methods: Sequence[Method] = METHODS,
) -> list[Configuration]:
    """Every method with every model on all budgets: the same tasks, budgets and seeds for all.

    Args:
        environment: Its name.
        given: The environment's own options, but for the tightness.
        options: What the command line of every experiment decides.
        others: What else is played: the end of a setting's name, and options that differ in it.
        methods: What is compared.
    """
    found = []
    for model in options.models:
        for end, other in others.items():
            for tightness in TIGHTNESSES:
                own = {**given, **other, "tightness": tightness}
                tasks = tasks_of(environment, own)[: options.limit]
                found += [
                    configuration(
                        method, model, options, environment=environment, own=own, setting=tightness + end, tasks=tasks
                    )
                    for method in methods
                ]
    return found


def bars(measured: Measured, name: str) -> Section:
    """A bar per method and budget."""
    several = len(measured.models()) > 1
    caption = "Right answers within the budget, 95 % intervals."
    return Section("Figure", (Figure(name, caption, success_bars(measured, by_model=several)),), level=3)


def spending(measured: Measured) -> Section:
    """What was spent of each capped resource, and how episodes ended."""
    rows = []
    for setting, model, method, name in measured.played():
        plugin_of(measured.specs[name].environment)  # it declares its resources, and how they are written
        group, records = measured.groups[name], measured.records[name]
        kinds = sorted({kind for record in records for kind in record["result"]["budget"]} - {"steps"})
        used = [_used(records, kind) for kind in kinds]
        ends = ", ".join(f"{state} {count}" for state, count in group["end_states"].items())
        measures = ", ".join(f"{what} {value:.2f}" for what, value in group["measures"].items())
        rows.append((setting, f"`{model}`", method, "; ".join(used), measures or "-", ends))
    head = ("budget", "model", "method", "used of the caps, mean", "measures, mean", "episodes by end state")
    return Section("Spending", (Table(head, tuple(rows)),), level=3)


def _used(records: Sequence[Record], kind: str) -> str:
    used = [record["result"]["used"].get(kind, 0) or 0 for record in records]
    caps = [record["result"]["budget"][kind] for record in records]
    return f"{in_units(kind, round(fmean(used)))} ({fmean(u / c for u, c in zip(used, caps, strict=True)):.0%})"


def by_category(measured: Measured, heading: str, category: Category) -> Section:
    """Success by a property of the task.

    Args:
        measured: The run.
        heading: What the categories are.
        category: The category of a task.
    """
    found_in: dict[str, dict[str, str]] = {}

    def find(name: str, record: Record) -> str:
        """The task's category, from the options of its configuration."""
        if name not in found_in:
            spec = measured.specs[name]
            own = {option: value for option, value in spec.options.items() if option != "limit"}
            found_in[name] = {task.digest: category(task) for task in tasks_of(spec.environment, own)}
        return found_in[name][record["digest"]]

    of = {
        record["digest"]: measured.note(record, heading.lower(), partial(find, name, record))
        for name, records in measured.records.items()
        for record in records
    }
    names = sorted(set(of.values()))
    rows = []
    for setting, model, method, name in measured.played():
        found: list[str] = []
        for wanted in names:
            won = [one["result"]["success"] for one in measured.records[name] if of[one["digest"]] == wanted]
            low, high = wilson(sum(won), len(won)) if won else (0.0, 1.0)
            found.append(f"{fmean(won):.2f} ({low:.2f} to {high:.2f}; {len(won)})" if won else "-")
        rows.append((setting, f"`{model}`", method, *found))
    head = ("budget", "model", "method", *names)
    note = "Success, Wilson's 95 % interval and n; repeats of a task count as if they were independent here."
    return Section(heading, (Table(head, tuple(rows), note),), level=3)


def run(
    experiment: Experiment,
    environment: str,
    defaults: Mapping[str, Any],
    argv: Sequence[str] | None = None,
    *,
    others: Mapping[str, Mapping[str, Any]] = ONLY,
    methods: Sequence[Method] = METHODS,
) -> int:
    """The command line of an experiment under budgets: the shared options and the environment's own.

    Args:
        experiment: The experiment.
        environment: Its environment.
        defaults: Of the environment's own options.
        argv: The command line; ``sys.argv`` by default.
        others: See :func:`configurations`, like ``methods``.
        methods: What is compared.
    """

    def arguments(parser: argparse.ArgumentParser) -> None:
        plugin_of(environment).add_arguments(parser.add_argument_group(f"{environment} options"))
        parser.set_defaults(**defaults)

    given = list(sys.argv[1:] if argv is None else argv)
    chosen = own_options(environment, given, defaults)
    chosen.pop("tightness")
    made = partial(configurations, environment, chosen, others=others, methods=methods)
    return main(replace(experiment, configurations=made), given, arguments=arguments)
