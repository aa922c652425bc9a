"""The report on the ablation of SDP: what is estimated from trajectories beside what was played."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.harness.matrix import split
from experiments.harness.measured import Measured, Outcomes, Record, count
from experiments.harness.standard import signed, verdict
from tape.analysis.estimates import estimates
from tape.analysis.measures import Share, mean
from tape.sdp.reader import NotSdpError
from tape.sdp.trajectory import CertifiedTrajectory
from tape.show.document import Figure, Section, Table
from tape.show.plots import Panel, Plot, Series, Value
from tape.statistics import Paired, paired

FULL = "SDP"
LABELS = {"validate": "no VALIDATE", "replan": "no REPLAN", "cascade": "no cascade"}
INTERVALS = (
    "n counts episodes (tasks). Intervals are 95 %, by bootstrap over tasks, Wilson's where no task is repeated or all "
    "tasks come out the same. Differences are paired on tasks, budgets and seeds; `above` and `below` also ask for "
    "p <= 0.05 in the exact sign test over tasks. A score is the environment's measure `score`, where it has one, else "
    "success."
)
DEFINED = (
    "Estimates (SDP appendix C) rescale the score of the recorded episode: without VALIDATE by the share of certified "
    "steps whose first attempt was certified; without REPLAN by the share of the plan that was certified at the first "
    "replan; without cascade by the share of the steps that fits into the budget once every cascade takes k of them."
)


@dataclass(frozen=True)
class Row:
    """One part of one setting with one model.

    Attributes:
        setting: The setting.
        model: The model.
        without: Which part is taken away.
        n: Pairs of episodes.
        full: Score of SDP.
        estimate: Score estimated from its trajectories.
        played: Score really played.
        cost: What was played minus SDP.
        error: The estimate minus what was played.
    """

    setting: str
    model: str
    without: str
    n: int
    full: Share
    estimate: Share
    played: Share
    cost: Paired
    error: Paired


def score_of(record: Record) -> float:
    """The measure ``score`` of an episode, else success."""
    result = record["result"]
    return float(result.get("measures", {}).get("score", result["success"]))


def estimated(measured: Measured, name: str) -> dict[str, Outcomes]:
    """The estimated scores of episodes by what is taken away; an episode without a chain keeps its score.

    Raises:
        TraceError: A trace cannot be read.
    """
    found: dict[str, Outcomes] = {part: {} for part in LABELS}
    for record in measured.records[name]:
        key, score = (record["digest"], record["repeat"]), score_of(record)
        guesses = measured.note(record, "estimates", partial(_estimates, measured, record))
        for part in LABELS:
            found[part][key] = score if guesses is None else guesses[part]
    return found


def _estimates(measured: Measured, record: Record) -> dict[str, float] | None:
    """What the trajectory of an episode promises without each part; None where it has no chain."""
    try:
        return asdict(estimates(CertifiedTrajectory.from_trace(measured.directory.trace_file(record["key"]))))
    except NotSdpError:
        return None


def rows(measured: Measured) -> list[Row]:
    """Every setting, model and part that both was played with and without the part."""
    found = []
    for setting in measured.settings():
        for model in measured.models():
            name = measured.name(setting, model, FULL)
            if name is None:
                continue
            full = measured.outcomes(setting, model, FULL, score_of)
            guesses = estimated(measured, name)
            for part, label in LABELS.items():
                played = measured.outcomes(setting, model, label, score_of)
                both = full.keys() & played.keys()
                if not both:
                    continue
                values = [{key: of[key] for key in sorted(both)} for of in (full, guesses[part], played)]
                whole, guess, real = (mean((score, key[0]) for key, score in of.items()) for of in values)
                cost, error = paired(values[2], values[0]), paired(values[1], values[2])
                found.append(Row(setting, model, part, len(both), whole, guess, real, cost, error))
    return found


def summary(measured: Measured) -> Table:
    """The comparison."""
    lines = []
    for row in rows(measured):
        line = [row.setting, f"`{row.model}`", LABELS[row.without], f"{row.n} ({row.cost.levels})", row.full.shown]
        line += [row.estimate.shown, row.played.shown, signed(row.cost), verdict(row.cost), signed(row.error)]
        lines.append((*line, verdict(row.error)))
    head = ("setting", "model", "taken away", "n", "SDP", "estimate", "played", "played minus SDP", "")
    return Table((*head, "estimate minus played", "estimate is"), tuple(lines), f"{DEFINED} {INTERVALS}")


def counts(measured: Measured) -> Table:
    """What the episodes were like."""
    lines = []
    for name, own in measured.records.items():
        if own:
            results = [record["result"] for record in own]
            means = [f"{fmean(count(result, key) for result in results):.2f}" for key in _COUNTS]
            lines.append((name, str(len(own)), *means, f"{sum(result['success'] for result in results)}"))
    return Table(("configuration", "n", *_COUNTS.values(), "successes"), tuple(lines), "Means per episode.")


_COUNTS = {"steps": "steps", "certified": "certified", "chain_length": "planned", "rejections": "rejected",
           "cascades": "cascades", "replans": "replans"}  # fmt: skip


def figure(measured: Measured) -> Figure | None:
    """Bars: SDP, and for every part the estimate and what was played; None if nothing was."""
    panels = []
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows(measured):
        groups.setdefault((row.setting, row.model), []).append(row)
    for (setting, model), own in groups.items():
        series = [Series(f"SDP [{own[0].n}]", (_value(own[0].full),), "strong")]
        for row in own:
            label = LABELS[row.without]
            series.append(Series(f"{label}, estimate", (_value(row.estimate),), "bound"))
            series.append(Series(f"{label}, played", (_value(row.played),)))
        panels.append(Panel(f"{setting}\n{model}", tuple(series)))
    if not panels:
        return None
    caption = (
        "Mean score of SDP, and without each of its parts: estimated from the trajectories of SDP (hatched) and played "
        "(grey). 95 % intervals; n in brackets."
    )
    return Figure("sdp_ablation", caption, Plot("bars", tuple(panels), "mean score"))


def _value(one: Share) -> Value | None:
    return None if one.value is None else Value(one.value, one.low, one.high)


def sections(measured: Measured) -> list[Section]:
    """The comparison, and what the episodes were like."""
    about = (
        "VALIDATE is replaced by one that certifies every target unseen, REPLAN by ending the episode, cascade by "
        "k <= 1; everything else is the same: tasks, budgets, seeds and model. Where the environment reports the task "
        "as done, the episode ends with success in all of them."
    )
    played = "; ".join(f"{setting}: {_options(measured, setting)}" for setting in measured.settings())
    first: list[Any] = [about, f"Options of the environments: {played}.", summary(measured)]
    shown = figure(measured)
    if shown is not None:
        first.append(shown)
    return [Section("Estimated and played", tuple(first), 3), Section("Chains", (counts(measured),), 3)]


def _options(measured: Measured, setting: str) -> str:
    """The environment's options in a setting, as on its command line; files are named without their folder."""
    spec = next(spec for name, spec in measured.specs.items() if split(name)[0] == setting)
    given = {key: value for key, value in spec.options.items() if value is not None}
    return ", ".join(f"{key} {Path(value).name if isinstance(value, str) else value}" for key, value in given.items())
