"""Tables and bars of the experiment on certified subgoal chains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from experiments.harness.document import Figure, Section, Table
from experiments.harness.matrix import SEPARATOR, split
from experiments.harness.measured import Measured, Record, count
from experiments.harness.plots import Panel, Plot, Series, Value
from experiments.harness.standard import INTERVALS, share
from experiments.studies.sdp.settings import SETTINGS_BY_NAME
from tape.protocols import Task
from tape.runner.summary import tokens
from tape.statistics import clustered

_HEAD = ("tasks", "model", "method", "n", "success", "measures", "certified", "rejected", "k >= 2", "replans")
_NOTE = (
    "Means per episode. Certified: share of the chain that was certified, of all episodes and of the failed ones; k >= "
    "2: share of certifying actions that certified two predicates or more; infeasible: committed paths that the "
    "environment showed not to execute. "
)


def table(measured: Measured) -> Table:
    """A row for every setting, model and method."""
    rows = []
    for setting, model, method, name in measured.played():
        rows.append((setting, f"`{model}`", method, *_row(measured, name)))
    head = (*_HEAD, "infeasible", "steps", "LM calls", "LM tokens", "solver ms", "over budget")
    return Table(head, tuple(rows), _NOTE + INTERVALS)


def _row(measured: Measured, name: str) -> tuple[str, ...]:
    records, group = measured.records[name], measured.groups[name]
    results = [record["result"] for record in records]
    infeasible, committed = (sum(int(count(r, w)) for r in results) for w in ("infeasible_commitments", "commitments"))
    measures = "; ".join(f"{what} {_mean(records, what)}" for what in sorted(group["measures"])) or "-"
    return (
        f"{len(records)} ({group['levels']})",
        share(Value(group["success_rate"], *group["ci95"])),
        measures,
        _certified(results),
        f"{fmean(count(r, 'rejections') for r in results):.2f}",
        _cascades(results),
        f"{fmean(r['replans'] for r in results):.2f}",
        f"{infeasible} of {committed}",
        f"{fmean(r['steps'] for r in results):.1f}",
        f"{fmean(sum(r['lm_calls'].values()) for r in results):.1f}",
        f"{fmean(tokens(r) for r in results):.0f}",
        f"{1000 * fmean(r['solver_seconds'] for r in results):.1f}" if measured.times else "-",
        str(group["budget_violations"]),
    )


def _mean(records: Sequence[Record], what: str, *, n: bool = False) -> str:
    if not records:
        return "-"
    values = [float(record["result"]["measures"].get(what, 0.0)) for record in records]
    low, high = clustered(values, [record["digest"] for record in records])
    return f"{fmean(values):.2f} ({low:.2f} to {high:.2f}{f'; {len(values)}' if n else ''})"


def _certified(results: Sequence[Mapping[str, Any]]) -> str:
    chained = [r for r in results if count(r, "chain_length")]
    if not chained:
        return "-"
    failed = [_share_certified(r) for r in chained if not r["success"]]
    everywhere = fmean(map(_share_certified, chained))
    return f"{everywhere:.2f}" + (f" (failed: {fmean(failed):.2f})" if failed else "")


def _share_certified(result: Mapping[str, Any]) -> float:
    return count(result, "certified") / count(result, "chain_length")


def _cascades(results: Sequence[Mapping[str, Any]]) -> str:
    certifying = sum(count(r, "certifying") for r in results)
    return f"{sum(count(r, 'cascades') for r in results) / certifying:.0%}" if certifying else "-"


def by_group(measured: Measured, measure: str, group: Callable[[Task], object]) -> Section | None:
    """A measure by groups of tasks, for example short, medium and long ones; None if no task has a group.

    Args:
        measured: The run.
        measure: The environment's measure.
        group: The group of a task; None if it has none.
    """
    known: dict[str, dict[str, str]] = {}

    def find(setting: str, digest: str) -> str | None:
        """The group of a task, if it has one."""
        if setting not in known:
            tasks = SETTINGS_BY_NAME[setting].tasks()
            known[setting] = {task.digest: str(result) for task in tasks if (result := group(task)) is not None}
        return known[setting].get(digest)

    of: dict[str, str] = {}
    for name, records in measured.records.items():
        for record in records:
            own = measured.note(record, "group", partial(find, split(name)[0], record["digest"]))
            of |= {} if own is None else {record["digest"]: own}
    names = list(dict.fromkeys(of.values()))
    rows = []
    for own, records in measured.records.items():
        mine = [(of[record["digest"]], record) for record in records if record["digest"] in of]
        if mine:
            parts = [[record for text, record in mine if text == name] for name in names]
            rows.append((*split(own), *(_mean(part, measure, n=True) for part in [*parts, records])))
    if not rows:
        return None
    head = ("tasks", "model", "method", *names, "all")
    note = f"Mean {measure}, 95 % interval by bootstrap over tasks, and n."
    return Section(f"{measure.capitalize()} by length of the task", (Table(head, tuple(rows), note),), level=3)


def bars(measured: Measured) -> Section:
    """A panel per setting and model, a bar per method."""
    panels = []
    for setting in measured.settings():
        for model in measured.models():
            shown = [m for m in measured.methods() if measured.name(setting, model, m) is not None]
            if shown:
                series = tuple(Series(m, (measured.success(setting, model, m),), _role(m)) for m in shown)
                panels.append(Panel(f"{setting}{SEPARATOR}{model}", series))
    plot = Plot("bars", tuple(panels), "success rate")
    return Section("Figure", (Figure("sdp", "Success of every method, 95 % intervals.", plot),), level=3)


def _role(method: str) -> str:
    return "strong" if method.startswith("SDP x ") else "plain"
