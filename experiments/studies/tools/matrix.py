"""What the experiments on tool environments share: cells, and tables of what was spent."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from statistics import fmean
from types import MappingProxyType
from typing import Any

from experiments.harness import register
from experiments.harness.cli import main
from experiments.harness.matrix import (
    BEST_PLAN_AND_ACT,
    BEST_REACT,
    OPEN_LOOP,
    PLAN_AND_ACT,
    REACT,
    REPLANNING,
    SEPARATOR,
    Experiment,
    Method,
    Options,
    short,
)
from experiments.harness.measured import Measured
from experiments.harness.standard import success_bars
from experiments.studies.aec import readme_table as household_table
from experiments.studies.tools import table as tool_table
from tape.budget import in_units
from tape.engine.settings import TapeConfig
from tape.plugins import load
from tape.protocols import EnvironmentPlugin, Task
from tape.runner.cells import Cell
from tape.runner.spec import RunSpec
from tape.show.document import Figure, Section, Table
from tape.statistics import wilson

TAPE = Method("TAPE", "tape")
LM_SELECTS = Method("TAPE, the LM selects", "tape", {"selector": "lm"})
METHODS = (OPEN_LOOP, REACT, PLAN_AND_ACT, REPLANNING, BEST_REACT, BEST_PLAN_AND_ACT, TAPE, LM_SELECTS)
TIGHTNESSES = ("tight", "loose")
RUNS = "tool_test_set_runs.json"
"""The list of all runs on the test sets of tool environments."""

Category = Callable[[Task], str]


def cells(
    environment: str,
    given: Mapping[str, Any],
    options: Options,
    others: Mapping[str, Mapping[str, Any]] = MappingProxyType({"": {}}),
    *,
    methods: Sequence[Method] = METHODS,
    tightnesses: Sequence[str] = TIGHTNESSES,
) -> list[Cell]:
    """Every method with every model on all budgets: the same tasks, budgets and seeds for all.

    Args:
        environment: Its name.
        given: The environment's own options, but for the tightness.
        options: What the command line of every experiment decides.
        others: What else is played: the end of a setting's name, and options that differ in it.
        methods: What is compared.
        tightnesses: How tight the budgets are.
    """
    return [
        _cell(tightness + end, environment, {**given, **other, "tightness": tightness}, method, model, options)
        for model in options.models
        for end, other in others.items()
        for tightness in tightnesses
        for method in methods
    ]


def _cell(setting: str, environment: str, own: dict[str, Any], method: Method, model: str, options: Options) -> Cell:
    tasks = tasks_of(environment, tuple(sorted(own.items())))[: options.limit]
    spec = RunSpec(
        environment=environment,
        options={**own, "limit": options.limit},
        agent=method.agent,
        config=TapeConfig.make(**method.changes),
        model=model,
        model_identity=options.identify(model),
        seed=options.seed,
        repeats=options.seeds,
        prompt_version=_plugin(environment).prompt_version,
    )
    return Cell(SEPARATOR.join([setting, short(model), method.label]), spec, tasks)


@lru_cache(maxsize=16)
def tasks_of(environment: str, own: tuple[tuple[str, Any], ...]) -> tuple[Task, ...]:
    """The tasks that an environment's options name."""
    return tuple(_plugin(environment).tasks(dict(own)))


def _plugin(environment: str) -> EnvironmentPlugin:
    found: EnvironmentPlugin = load("tape.environments", environment)
    return found


def bars(measured: Measured, name: str) -> Section:
    """A bar per method and budget."""
    several = len(measured.models()) > 1
    caption = "Right answers within the budget, 95 % intervals."
    return Section("Figure", (Figure(name, caption, success_bars(measured, by_model=several)),), level=3)


def spending(measured: Measured) -> Section:
    """What was spent of each capped resource, and how episodes ended."""
    rows = []
    for setting, model, method, name in _named(measured):
        group, lines = measured.groups[name], measured.lines[name]
        kinds = sorted({kind for line in lines for kind in line["result"]["budget"]} - {"steps"})
        used = [_used(lines, kind) for kind in kinds]
        ends = ", ".join(f"{state} {count}" for state, count in group["end_states"].items())
        measures = ", ".join(f"{what} {value:.2f}" for what, value in group["measures"].items())
        rows.append((setting, f"`{model}`", method, "; ".join(used), measures or "-", ends))
    head = ("budget", "model", "method", "used of the caps, mean", "measures, mean", "episodes by end state")
    return Section("Spending", (Table(head, tuple(rows)),), level=3)


def _used(lines: Sequence[Mapping[str, Any]], kind: str) -> str:
    used = [line["result"]["used"].get(kind, 0) or 0 for line in lines]
    caps = [line["result"]["budget"][kind] for line in lines]
    return f"{in_units(kind, round(fmean(used)))} ({fmean(u / c for u, c in zip(used, caps, strict=True)):.0%})"


def by_category(measured: Measured, heading: str, category: Category) -> Section:
    """Success by a property of the task.

    Args:
        measured: The run.
        heading: What the categories are.
        category: The category of a task.
    """
    of: dict[str, str] = {}
    for spec in measured.specs.values():
        own = {name: value for name, value in spec.options.items() if name != "limit"}
        of |= {task.digest: category(task) for task in tasks_of(spec.environment, tuple(sorted(own.items())))}
    names = sorted({of[line["digest"]] for lines in measured.lines.values() for line in lines})
    rows = []
    for setting, model, method, name in _named(measured):
        found: list[str] = []
        for wanted in names:
            won = [line["result"]["success"] for line in measured.lines[name] if of[line["digest"]] == wanted]
            low, high = wilson(sum(won), len(won)) if won else (0.0, 1.0)
            found.append(f"{fmean(won):.2f} ({low:.2f} to {high:.2f}; {len(won)})" if won else "-")
        rows.append((setting, f"`{model}`", method, *found))
    head = ("budget", "model", "method", *names)
    note = "Success, Wilson's 95 % interval and n; repeats of a task count as if they were independent here."
    return Section(heading, (Table(head, tuple(rows), note),), level=3)


def _named(measured: Measured) -> list[tuple[str, str, str, str]]:
    return [
        (setting, model, method, name)
        for setting in measured.settings()
        for model in measured.models()
        for method in measured.methods()
        if (name := measured.name(setting, model, method)) is not None
    ]


def run(
    experiment: Experiment,
    environment: str,
    defaults: Mapping[str, Any],
    argv: Sequence[str] | None = None,
    others: Mapping[str, Mapping[str, Any]] = MappingProxyType({"": {}}),
    methods: Sequence[Method] = METHODS,
    tightnesses: Sequence[str] = TIGHTNESSES,
) -> int:
    """The command line of an experiment on a tool environment: the shared options and the environment's own.

    Args:
        experiment: The experiment.
        environment: Its environment.
        defaults: Of the environment's own options.
        argv: The command line; ``sys.argv`` by default.
        others: See :func:`cells`, like ``methods`` and ``tightnesses``.
        methods: What is compared.
        tightnesses: How tight the budgets are.
    """

    def arguments(parser: argparse.ArgumentParser) -> None:
        _plugin(environment).add_arguments(parser.add_argument_group(f"{environment} options"))
        parser.set_defaults(**defaults)

    given = list(sys.argv[1:] if argv is None else argv)
    own = argparse.ArgumentParser(add_help=False)
    _plugin(environment).add_arguments(own)
    own.set_defaults(**defaults)
    chosen = vars(own.parse_known_args(given)[0])
    chosen.pop("tightness")
    made = partial(cells, environment, chosen, others=others, methods=methods, tightnesses=tightnesses)
    played = replace(experiment, cells=made)
    return main(played, given, arguments=arguments, after=partial(_keep, environment, chosen))


def _keep(environment: str, chosen: Mapping[str, Any], args: argparse.Namespace, measured: Measured) -> None:
    """List a run on the test set where it is published, and keep its figures for the README's table."""
    if args.publish is None:
        return
    if environment not in tool_table.NAMES:
        household_table.keep(args.publish / f"{environment}.json", measured)
        return
    tested = not chosen.get("data") and "test" in (chosen.get("problems"), chosen.get("questions"))
    new = register.entry(measured, register.ENGINE, measured.settings())
    if not tested or new is None:
        return
    register.add(args.publish / RUNS, {"environment": environment, "options": dict(chosen), **new})
    tool_table.keep(args.publish / tool_table.FILE.name, environment, measured)
