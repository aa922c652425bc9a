"""Table 1: planning and sampling errors, judged by the exact oracle. ``python -m experiments.studies.tape.errors``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from experiments.harness.cli import main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options, split
from experiments.harness.measured import Measured, Record
from experiments.harness.methods import PAPER, PLAN_AND_ACT, REACT, REPLANNING, TAPE, Method
from experiments.harness.standard import INTERVALS, both_against_all, role
from experiments.studies.tape.error_analysis import Judges, judge_record, table_of
from experiments.studies.tape.error_rates import Decision, JudgedEpisode
from experiments.studies.tape.examples import sampling_errors
from experiments.studies.tape.levels import BATCH, EASY, HARD, OTHER_LEVELS, grid
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section, Table
from tape.show.plots import Panel, Plot, Series, Value

HINTED = Method(f"{TAPE.label} without constrained execution", "tape", {"execution": "free"})
"""The planned step is only a hint."""

RATES = {
    "planning_error": "planning error, all states",
    "planning_error_viable": "planning error, viable states",
    "sampling_error": "sampling error",
    "off_plan": "off the plan",
    "delta_b": "delta_b",
    "delta_r_viable": "delta_r, viable states",
    "unparsed": "thoughts without a move",
    "success": "success",
}
DRAWN = ("planning_error_viable", "off_plan", "success")
IN_THE_PAPER = (
    ("ReAct", "50.7 (standard error 1.8)", "8.3 (1.0)", "5.0 (2.2)"),
    ("Plan-and-Act", "47.7 (1.8)", "4.7 (0.8)", "17.0 (3.8)"),
    ("TAPE", "36.7 (1.9)", "0.0 (0.0)", "46.0 (5.0)"),
)


def configurations(options: Options) -> list[Configuration]:
    return grid((REACT, PLAN_AND_ACT, REPLANNING, PAPER, TAPE, HINTED), (EASY, HARD), options)


def sections(measured: Measured) -> list[Section]:
    rows = [row for row in table_of(judged(measured), measured.specs) if row["episodes"]]
    head = ("levels", "model", "method", *RATES.values())
    body = []
    for row in rows:
        setting, model, method = split(row["cell"])
        body.append((setting, f"`{model}`", method, *(_shown(row[name]) for name in RATES)))
    note = (
        "Planning error: the intended move leaves no solution within the budget. Sampling error: another move than "
        "the intended one was executed; delta_b: it spoils what was still good; delta_r: it saves what was not. Off "
        "the plan: another move than that of the plan that the agent was shown. In brackets the 95 % interval and "
        "what it is a share of. The definitions are in `docs/evidence/error-analysis.md`. "
        "In a state from which the goal is "
        f"out of reach every move is a planning error, so look at viable states. {INTERVALS}"
    )
    return [
        Section(
            "Table 1 with the bundled models",
            (Table(head, tuple(body), note), Figure("errors", "Errors and success, 95 % intervals.", _plot(rows))),
            level=3,
        ),
        Section(
            "Table 1 in the paper",
            (
                Table(
                    ("method", "planning error (%)", "sampling error (%)", "success (%)"),
                    IN_THE_PAPER,
                    "To be compared with planning error in all states on the easy levels.",
                ),
            ),
            level=3,
        ),
        *sampling_errors(measured, [method.label for method in (PLAN_AND_ACT, REPLANNING, HINTED)]),
    ]


def judged(measured: Measured) -> dict[str, list[JudgedEpisode]]:
    """The judged episodes of every configuration, in its order."""
    judges = Judges()
    found: dict[str, list[JudgedEpisode]] = {}
    for name, records in measured.records.items():
        found[name] = []
        for record in records:
            made = measured.note(record, "judged", partial(_judge, measured, record, judges))
            decisions = tuple(Decision(*one) for one in made["decisions"])
            won = bool(record["result"]["success"])
            found[name].append(JudgedEpisode(record["digest"], made["horizon"], won, decisions, tuple(made["draws"])))
    return found


def _judge(measured: Measured, record: Record, judges: Judges) -> dict[str, Any]:
    """What a table needs of a judged episode, as JSON takes it."""
    made = judge_record(measured.directory, record, judges)
    decisions = [list(asdict(one).values()) for one in made.decisions]
    return {"horizon": made.horizon, "decisions": decisions, "draws": list(made.draws)}


def _shown(rate: Mapping[str, Any]) -> str:
    if rate["value"] is None:
        return "- (n = 0)"
    return f"{rate['value']:.3f} ({rate['low']:.3f} to {rate['high']:.3f}; n = {rate['n']})"


def _plot(rows: list[dict[str, Any]]) -> Plot:
    panels = []
    for setting, model in dict.fromkeys(split(row["cell"])[:2] for row in rows):
        mine = [row for row in rows if split(row["cell"])[:2] == (setting, model)]
        for name in DRAWN:
            series = []
            for row in mine:
                rate, method = row[name], split(row["cell"])[2]
                value = None if rate["value"] is None else Value(rate["value"], rate["low"], rate["high"])
                series.append(Series(method, (value,), role(method)))
            panels.append(Panel(f"{RATES[name]} ({setting}, {model})", tuple(series)))
    return Plot("bars", tuple(panels), "share")


EXPERIMENT = Experiment(
    name="errors",
    module="experiments.studies.tape.errors",
    title="Planning and sampling errors",
    source="table 1, section 5.2, appendix G.1 (easy levels there)",
    about="The move that the thought intends, the move executed, and what the exact oracle says of both.",
    models=("bundled:nano-750", "bundled:nano-1500"),
    configurations=configurations,
    sections=sections,
    pairs=both_against_all,
    batch=BATCH,
    differs=(
        OTHER_LEVELS,
        "The paper has an LM read the intended move from free text; here thoughts name their move in a fixed form, so "
        "what is read is what was written.",
        "Under constrained execution the thought is written with the move already fixed: no sampling error can occur, "
        "there or here. It is zero by construction, not by measurement.",
        "The bundled models were trained on thoughts and actions that agree, and copy the move of the thought: they "
        "never deviate from it, so delta_b and delta_r have nothing to be counted on. What they deviate from is a plan "
        "in their context (off the plan), which is what constrained execution rules out.",
    ),
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
