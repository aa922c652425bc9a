"""Whole itineraries under a budget, chosen as one path or greedily.

``python -m experiments.studies.travelplanner.travelplanner`` plays it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from experiments.harness.cli import known, main
from experiments.harness.experiment import Experiment, PaperValue
from experiments.harness.matrix import Options, configuration, spread, tasks_of
from experiments.harness.measured import Measured, Record
from experiments.harness.methods import PAPER, TAPE_PLUS, Method
from experiments.harness.methods import TAPE as ENGINE
from experiments.harness.standard import against, mean
from tape.budget import Budget
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section, Table
from tape.show.plots import Panel, Plot, Series, Value
from tape.statistics import clustered, wilson

ENVIRONMENT = "travelplanner"
COUNT, QUICK = 36, 9
_FIXED: dict[str, Any] = {"num_plans": 1, "execution": "forced", "on_infeasible": "stop"}
_ONE = "the itinerary as one path"
AS_PAPER = PAPER.on(_FIXED, f"{PAPER.label}: {_ONE}")
TAPE = ENGINE.on(_FIXED, f"{ENGINE.label}: {_ONE}")
SDP_PATH = Method(f"SDP x {ENGINE.label}: the path as the chain", "sdp", {**_FIXED, "sdp": {"chain": "walk"}})
SDP = Method("SDP, slot by slot, the first option", "sdp", {**_FIXED, "sdp": {"chain": "adapter"}})
SIMULATED = Method(
    "SDP, slot by slot, any allowed option (simulated LM)", "sdp", {**_FIXED, "sdp": {"chain": "adapter"}}
)
FIRST, RANDOM, SMALL = "declared:first", "declared:random", "smollm2"
PLAYED = ((AS_PAPER, FIRST), (TAPE, FIRST), (SDP_PATH, FIRST), (SDP, FIRST), (SIMULATED, RANDOM))
SETTINGS = (
    ("tight", "tight", "cheapest"),
    ("medium", "medium", "cheapest"),
    ("loose", "loose", "cheapest"),
    ("infeasible", "infeasible", "cheapest"),
    ("tight, best rated", "tight", "best"),
    ("medium, best rated", "medium", "best"),
    ("loose, best rated", "loose", "best"),
)
"""Name, tightness of the budget, and which feasible itinerary the solver prefers."""

TABLE_2, QUERIES, LM_QUERIES, TRIALS = "as in table 2", 180, 12, 3
"""The setting with the baselines; as many queries as in the paper; those of a general model, and its trials."""
GREEDY = Method("Greedy Search (TravelPlanner)", "react")
ANY = Method("ReAct, any option (simulated LM)", "react")
WRITTEN = Method("Direct, with a thought (CoT)", "open_loop")
REACT = Method("ReAct", "react")
REFLEXION = Method(f"Reflexion, {TRIALS} trials", "reflexion", {"horizon": 100})
JUDGED = ((GREEDY, FIRST), (ANY, RANDOM), (WRITTEN, SMALL), (REACT, SMALL), (REFLEXION, SMALL))
"""They are refused nothing: the whole itinerary is judged at the end."""
ENFORCED = ((SDP, FIRST), (SDP_PATH, FIRST), (TAPE, FIRST))
BASELINES = (
    f"Generated trips under medium budgets, the same for all. **{GREEDY.label}** takes the cheapest option of each "
    "slot whatever is booked and wanted, as TravelPlanner's code does, but for sights, of which it takes the first. "
    f"**{WRITTEN.label}** writes one itinerary, **{REACT.label}** one booking at a time, seeing what is spent, "
    f"**{REFLEXION.label}** up to {TRIALS} itineraries with a reflection after each that does not pass: the evaluator "
    "says so, and each trial has the steps of the others' one. These are refused nothing, and the whole is judged at "
    "the end; all options are listed, so this is TravelPlanner's sole-planning mode. Its two-stage mode, which first "
    "collects information by tools, is not reproduced. Names are constrained to listed ones, so no itinerary is "
    "malformed, as 12 to 18 % of the paper's were. The rows of SDP and TAPE+ have the filters that are part of SDP."
)


def configurations(count: int, options: Options) -> list[Configuration]:
    """Every method on every setting: the same trips and budgets for all."""
    found = []
    for setting, tightness, objective in SETTINGS:
        own = {"data": None, "database": None, "problems": "test", "count": count}
        own |= {"tightness": tightness, "objective": objective}
        tasks = tasks_of(ENVIRONMENT, own)[: options.limit]
        found += [
            configuration(method, model, options, environment=ENVIRONMENT, own=own, setting=setting, tasks=tasks)
            for method, model in PLAYED
            if model in options.models
        ]
    return found


def table_2(count: int, options: Options) -> list[Configuration]:
    """The baselines of SDP's table 2 that need no closed model, and SDP and TAPE+ on the same trips."""
    found = []
    for (method, model), rules in [*((one, "judged") for one in JUDGED), *((one, "enforced") for one in ENFORCED)]:
        own = {"data": None, "database": None, "problems": "test", "count": count, "tightness": "medium"}
        own |= {"objective": "cheapest", "rules": rules}
        tasks = spread(tasks_of(ENVIRONMENT, own)[: options.limit], LM_QUERIES if model == SMALL else None)
        if method is REFLEXION:
            more = [Budget({**task.budget, "steps": TRIALS * task.budget["steps"]}) for task in tasks]
            tasks = tuple(replace(task, budget=budget) for task, budget in zip(tasks, more, strict=True))
        if model in options.models:
            found.append(
                configuration(method, model, options, environment=ENVIRONMENT, own=own, setting=TABLE_2, tasks=tasks)
            )
    return found


# --- what was measured ----------------------------------------------------------------------------


def _measure(record: Record, name: str) -> float:
    return float(record["result"]["measures"][name])


def _share(records: Sequence[Record], name: str) -> str:
    """A share of episodes with Wilson's interval."""
    return _figure(share(records, lambda record: _measure(record, name)))


def share(records: Sequence[Record], of: Callable[[Record], float]) -> Value:
    """A share of yes-or-no answers with Wilson's interval."""
    held = sum(of(record) for record in records)
    return Value(held / len(records), *wilson(held, len(records)))


def _figure(value: Value | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value.at:.{digits}f} ({value.low:.{digits}f} to {value.high:.{digits}f})"


def hard_micro(records: Sequence[Record]) -> Value:
    """Held over asked hard constraints of all trips; the interval is that of the trips' shares, centred there."""
    held, asked = (fmean(_measure(record, name) for record in records) for name in ("hard_held", "hard_asked"))
    ratios = [_measure(record, "hard_held") - held / asked * _measure(record, "hard_asked") for record in records]
    low, high = clustered(ratios, [record["digest"] for record in records])
    return Value(held / asked, max(0.0, held / asked + low / asked), min(1.0, held / asked + high / asked))


def metrics(measured: Measured) -> Section:
    """The benchmark's metrics."""
    rows = []
    for setting, _, method, name in measured.played():
        records = measured.records[name]
        row = [setting, method, str(len(records)), _share(records, "delivered")]
        row += [
            _figure(mean(records, lambda record: _measure(record, "commonsense_micro"))),
            _share(records, "commonsense_macro"),
        ]
        row += [_figure(hard_micro(records)), _share(records, "hard_macro"), _share(records, "final_pass")]
        rows.append(tuple(row))
    head = ("budget", "method", "n", "delivery", "commonsense micro", "commonsense macro", "hard micro")
    note = (
        "Wilson's 95 % intervals of shares of trips, bootstrap over trips of micro rates. An itinerary is delivered "
        "where every slot is filled at the end of the episode; what is not delivered breaks every constraint. No "
        "itinerary can pass in the setting `infeasible`."
    )
    return Section("The benchmark's metrics", (Table((*head, "hard macro", "final pass"), tuple(rows), note),), level=3)


def costs(measured: Measured) -> Section:
    """What delivered itineraries cost, how they are rated, and how the other episodes ended."""
    rows = []
    for setting, _, method, name in measured.played():
        records = measured.records[name]
        done = [record for record in records if _measure(record, "delivered")]
        row = [setting, method, str(len(done)), _figure(mean(done, lambda record: _measure(record, "cost_usd")), 0)]
        row.append(_figure(mean(done, lambda record: _measure(record, "cost_over_least")), 3))
        row.append(_figure(mean(done, lambda record: _measure(record, "rating"))))
        spent = [
            record for record in records if not record["result"]["success"] and record["result"]["used"].get("trip_usd")
        ]
        row.append(str(len(spent)))
        if measured.times:
            row.append(f"{1000 * fmean(record['result']['solver_seconds'] for record in records):.1f}")
        ends = sorted({record["result"]["end_state"] for record in records})
        counted = [f"{end} {sum(record['result']['end_state'] == end for record in records)}" for end in ends]
        rows.append((*row, ", ".join(counted)))
    head = ["budget", "method", "delivered", "cost, USD", "over the least possible", "rating", "failed after paying"]
    head += ["solver ms"] if measured.times else []
    note = (
        "Means over delivered itineraries, which are not the same ones for all methods; 95 % intervals by bootstrap "
        "over trips. The least possible is the exact cost of the cheapest itinerary that keeps every constraint, the "
        "budget apart. Failed after paying: episodes without success in which something was booked."
    )
    return Section("Costs, ratings and ends", (Table((*head, "episodes by end state"), tuple(rows), note),), level=3)


def figure(measured: Measured) -> Section:
    """Final pass rate by tightness."""
    panels = []
    for setting in measured.settings():
        bars = [
            Series(
                method, (share(measured.records[name], lambda record: _measure(record, "final_pass")),), _role(method)
            )
            for own, _, method, name in measured.played()
            if own == setting
        ]
        panels.append(Panel(setting, tuple(bars)))
    shown = tuple(panel for panel in panels if "best" not in panel.title and panel.title != "infeasible")
    caption = "Final pass rate by the tightness of the budget, Wilson's 95 % intervals."
    return Section("Figure", (Figure(ENVIRONMENT, caption, Plot("bars", shown, "final pass rate")),), level=3)


def _role(method: str) -> str:
    return "strong" if method in (AS_PAPER.label, TAPE.label, SDP_PATH.label) else "plain"


def sections(measured: Measured) -> list[Section]:
    return [figure(measured), metrics(measured), costs(measured)]


EXPERIMENT = Experiment(
    name=ENVIRONMENT,
    module="experiments.studies.travelplanner.travelplanner",
    title="Whole itineraries under a budget",
    source="SDP table 2, appendix A.2",
    about=(
        "Generated trips of 3, 5 and 7 days; the budget is a multiple of what the cheapest itinerary costs. TAPE's "
        f"solver chooses the whole itinerary as one path on the plan graph; {SDP_PATH.label} certifies it booking by "
        "booking; SDP alone takes slot by slot the first option that the constraint-upfront filters leave: the "
        "cheapest, or in the settings that end in `best rated` the best rated, which is also what the solver's path is "
        f"worth there. No language model plays: the rows of a simulated LM take any allowed option. {TAPE_PLUS}"
    ),
    models=(FIRST, RANDOM),
    configurations=partial(configurations, COUNT),
    sections=sections,
    pairs=against(TAPE.label, but=()),
    paper=(
        PaperValue(
            "delivery rate, commonsense micro/macro, hard micro/macro, final pass: SDP with GPT-4o",
            "100; 95.6/65.6; 97.4/93.9; 65.6 %",
        ),
        PaperValue("the same: SDP with Gemini-3.1-flash-lite", "100; 95.2/61.7; 97.4/93.8; 61.7 %"),
        PaperValue("the same: ReAct with Gemini-3.1-flash-lite", "95.0; 78.6/16.1; 83.8/61.7; 7.2 %"),
        PaperValue("the same: Reflexion with Gemini-3.1-flash-lite", "100; 80.5/26.7; 77.9/55.6; 12.8 %"),
    ),
    differs=(
        "The trips are generated by the project; the public benchmark's queries and database are read with `--data` "
        "and `--database` of the environment. The paper's language models choose among the same filtered options.",
        "The greedy choice fails where the cheapest way out leaves no way on in its mode of travelling: no booking can "
        "be taken back. It may also fail where the cheapest restaurants do not serve every required cuisine.",
        "The order by rating is ours; the paper sorts options by price, and a language model chooses among them.",
    ),
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line: the shared options, ``--count`` and ``--quick``."""
    given = list(sys.argv[1:] if argv is None else argv)
    first = known(_arguments, given)
    count = QUICK if first.quick else first.count
    played = replace(EXPERIMENT, configurations=partial(configurations, count))
    if first.baselines:
        most = QUICK if first.quick else QUERIES
        title, made = "Baselines of whole itineraries", partial(table_2, most)
        name = f"{ENVIRONMENT}-baselines"
        played = replace(EXPERIMENT, name=name, title=title, about=BASELINES, configurations=made)
    return main(played, given, arguments=_arguments)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=COUNT, help="trips of every setting (default: %(default)s)")
    parser.add_argument(
        "--baselines", action="store_true", help="the baselines of SDP's table 2 on other trips instead"
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} trips of every setting, in a few minutes")


if __name__ == "__main__":
    sys.exit(run())
