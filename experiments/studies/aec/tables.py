"""Tables and bars of the experiments on active epistemic control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any

from experiments.harness.document import Figure, Section, Table
from experiments.harness.measured import Measured, Record, count
from experiments.harness.plots import Panel, Plot, Series, Value
from experiments.harness.standard import INTERVALS, mean, share
from experiments.studies.aec.methods import AEC, CAP
from tape.runner.summary import tokens

COUNTS = {
    "queries": "queries",
    "simulations": "simulated",
    "commitments": "commitments",
    "infeasible_commitments": "infeasible",
    "refusals": "refusals",
}
ROUNDS = (
    f"Rounds are replanning rounds, with a failed episode counted as {CAP}, the cap; infeasible: committed paths that "
    "the environment showed not to execute."
)


def rounds(result: Mapping[str, Any]) -> int:
    """Replanning rounds of an episode, set to the cap where it failed (AEC section 4)."""
    return int(result["replans"]) if result["success"] else CAP


def digits(value: Value | None) -> str:
    """As in ``3.1 (2.0 to 4.2)``."""
    return "-" if value is None else f"{value.at:.1f} ({value.low:.1f} to {value.high:.1f})"


def table(measured: Measured, model: str) -> Table:
    """A row for every method and setting with one model."""
    rows = []
    for setting in measured.settings():
        for method in measured.methods():
            name = measured.name(setting, model, method)
            if name is None:
                continue
            records = measured.records[name]
            results = [record["result"] for record in records]
            row = [setting, method, str(len(records)), share(measured.success(setting, model, method))]
            row.append(digits(mean(records, lambda record: rounds(record["result"]))))
            row.append(digits(mean(records, lambda record: record["result"]["steps"])))
            row += [f"{fmean(count(r, name) for r in results):.2f}" for name in COUNTS]
            row.append(f"{fmean(tokens(r) for r in results):.0f}")
            rows.append(tuple(row))
    head = ("games", "method", "n", "success", "rounds", "steps", *COUNTS.values(), "LM tokens")
    return Table(head, tuple(rows), f"Means per episode. {ROUNDS} {INTERVALS}")


def panels(measured: Measured, model: str, what: str, of: Callable[[Record], float] | None = None) -> tuple[Panel, ...]:
    """For each setting a bar for every method with one model: a mean over episodes; success by default."""
    result = []
    for setting in measured.settings():
        series = []
        for method in measured.methods():
            name = measured.name(setting, model, method)
            if name is not None:
                value = mean(measured.records[name], of) if of else measured.success(setting, model, method)
                series.append(Series(method, (value,), "strong" if method == AEC.label else "plain"))
        result.append(Panel(f"{what}, {setting}", tuple(series)))
    return tuple(result)


def bars(measured: Measured, model: str, name: str) -> tuple[Figure, Figure]:
    """Success and replanning rounds of every method with one model."""
    won = Plot("bars", panels(measured, model, "success"), "success")
    played = panels(measured, model, "rounds", lambda record: rounds(record["result"]))
    caption = f"Replanning rounds with `{model}`, {CAP} for a failed episode; 95 % intervals; fewer are better."
    return (
        Figure(name, f"Success of every method with `{model}`, 95 % intervals.", won),
        Figure(f"{name}-rounds", caption, Plot("bars", played, "replanning rounds", top=float(CAP))),
    )


def by_model(measured: Measured, name: str) -> list[Section]:
    """A section for each model."""
    sections = []
    for number, model in enumerate(measured.models()):
        part = name if number == 0 else f"{name}-{number + 1}"
        blocks = (table(measured, model), *bars(measured, model, part))
        sections.append(Section(f"Every method with `{model}`", blocks, level=3))
    return sections
