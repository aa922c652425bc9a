"""When search agents stop: every gate beside a fixed number of rounds: ``python -m experiments.studies.cgdp.gate``.

CGDP tables 5, 6, 13 and 16 to 19. Every gate is really played to its end, with the answer that it then gives, and so is
every fixed number of rounds; nothing is blended afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median, pstdev
from typing import Any

from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Options
from experiments.harness.measured import Measured, Record
from experiments.harness.methods import Method
from experiments.studies.cgdp import memory
from experiments.studies.cgdp.memory import Chosen
from experiments.studies.cgdp.methods import HARNESSES, MODEL, OWN, memories_of, method
from experiments.studies.cgdp.tables import (
    MEASURES,
    Row,
    compare,
    differences_table,
    exact,
    measures_table,
    no_pairs,
    outcomes,
    records_of,
    tokens,
)
from tape.cgdp.events import GateEvent
from tape.cgdp.gates import CONFIGURATIONS, fixed_rounds
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section, Table
from tape.show.plots import Panel, Plot, Series
from tape.trace import read_trace

BEST = "f_j0.6_u0.3_p2"
"""The paper's global best configuration: it is played under every harness and memory; the others under one."""
SWEPT = ("ircot", "baseline")
"""Where all 16 configurations are played (the paper's section G.2 has IRCoT)."""
ASKED = ("lm_conservative", "lm_neutral")
"""Gates that ask the model; a bundled one was not trained for it."""
FIXED: Mapping[str, tuple[int, ...]] = {
    "ircot": (1, 2, 3, 4, 5, 6, 8),
    "react_search": (1, 2, 3, 4, 5, 6),
    "memgpt": (1, 2, 3, 4, 5, 6, 8, 10),
    "iter_retgen": (1, 2, 3),
    "cgdp": (1, 2, 3, 4, 5, 6, 8),
}
"""Rounds of ``fixed:R`` that are played, by harness: fewer than its own most."""
PLAYED = Chosen(harnesses=("ircot", "react_search", "memgpt", "iter_retgen"), windows=(None,))
NONE = "none"


def gates_of(agent: str, condition: str, model: str) -> tuple[str, ...]:
    """The gates that are played, ``none`` first."""
    swept = tuple(name for name in CONFIGURATIONS if name != BEST) if (agent, condition) == SWEPT else ()
    asked = () if model.startswith("bundled:") or (agent, condition) != SWEPT else ASKED
    fixed = tuple(f"fixed:{rounds}" for rounds in FIXED[agent])
    return (NONE, BEST, "voi", *swept, *asked, *fixed)


def gated(agent: str, condition: str, gate: str, window: int | None, **more: Any) -> Method:
    """A harness under a memory condition with a gate."""
    found = next(one for one in memories_of(agent) if one == condition)
    return method(agent, found, gate, gate=gate, context_tokens=window, **more)


def methods(harnesses: Sequence[str], window: int | None, model: str) -> list[Method]:
    """Every gate on every harness and memory."""
    return [
        gated(agent, condition, gate, window)
        for agent in harnesses
        for condition in memories_of(agent)
        for gate in gates_of(agent, condition, model)
    ]


def configurations(asked: Chosen, options: Options) -> list[Configuration]:
    """Every gate on every domain under every window; there are many, so half as many questions are quick."""
    return memory.configurations(asked, options, methods, quick_share=2)


# --- the report -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Played:
    """A gate that was played, with what it is measured against.

    Attributes:
        where: Setting, model, harness and condition.
        gate: Its name.
        records: Its episodes.
        none: Those without a gate.
        fixed: Those of the fixed number of rounds whose mean tokens are nearest.
        rounds: That number; 0 where none was played.
    """

    where: tuple[str, str, str]
    gate: str
    records: Sequence[Record]
    none: Sequence[Record]
    fixed: Sequence[Record]
    rounds: int


def played(measured: Measured) -> Iterator[Played]:
    """Every gate but ``none`` and the fixed ones."""
    bases = dict.fromkeys(label.rsplit(", ", 1)[0] for label in measured.methods())
    gates = list(dict.fromkeys(label.rsplit(", ", 1)[1] for label in measured.methods()))
    for setting in measured.settings():
        for model in measured.models():
            for base in bases:
                by = {gate: records_of(measured, setting, model, f"{base}, {gate}") for gate in gates}
                fixed = {gate: found for gate, found in by.items() if found and fixed_rounds(gate)}
                for gate, found in by.items():
                    if found and by[NONE] and gate != NONE and not fixed_rounds(gate):
                        near = nearest(found, fixed)
                        rounds = fixed_rounds(near) or 0
                        yield Played((setting, f"`{model}`", base), gate, found, by[NONE], fixed.get(near, ()), rounds)


def nearest(records: Sequence[Record], fixed: Mapping[str, Sequence[Record]]) -> str:
    """The gate ``fixed:R`` whose mean tokens are nearest, the smaller of two equal ones; chosen by tokens alone."""
    used = fmean(map(tokens, records))
    return min(fixed, key=lambda gate: (abs(fmean(map(tokens, fixed[gate])) - used), fixed_rounds(gate)), default="")


def fired(measured: Measured, record: Record) -> int:
    """The round after which the gate fired; 0 where it did not."""

    def find() -> int:
        events = read_trace(measured.directory.trace_file(record["key"]))
        return next((event.round for event in events if isinstance(event, GateEvent) and event.fired), 0)

    return int(measured.note(record, "gate fired in round", find))


def sections(measured: Measured) -> list[Section]:
    """All tables and the figure."""
    found = list(played(measured))
    return [
        Section("Quality and tokens", (_figure(measured),), level=3),
        Section("Gates beside a fixed number of rounds at equal mean tokens", (_beside_fixed(found),), level=3),
        Section("Gates beside none (tables 5, 6, 16)", (_beside_none(measured, found),), level=3),
        Section("Other measures (table 13)", (_strings(found),), level=3),
        Section("By memory, all harnesses and domains together (table 17)", (_by_memory(found),), level=3),
        Section("How much the effect varies by question (table 18)", (_spread(found),), level=3),
        Section("When gates fire (table 19)", (_rounds(measured, found),), level=3),
        Section("Every configuration", (measures_table(measured),), level=3),
    ]


_HEAD = ("questions", "model", "harness and memory", "gate")
_POINTS = "EM and F1 in points."


def _row(one: Played, other: Sequence[Record], what: Sequence[str], *more: str) -> Row | None:
    return compare((*one.where, one.gate, *more), one.records, other, what)


def _beside_fixed(found: Sequence[Played]) -> Table:
    rows = [
        row
        for one in found
        if one.fixed
        and (row := _row(one, one.fixed, ("EM", "F1", "tokens"), f"fixed:{one.rounds}", _tokens(one), _used(one.fixed)))
    ]
    note = (
        f"{_POINTS} Of the numbers of rounds that were played, R is the one whose mean tokens are nearest to the "
        "gate's; it is chosen by tokens, not by what it gets right, and stands with its own tokens."
    )
    head = (*_HEAD, "beside", "its tokens", "those of fixed:R")
    return differences_table(head, rows, ("EM", "F1", "tokens"), note)


def _tokens(one: Played) -> str:
    return _used(one.records)


def _used(records: Sequence[Record]) -> str:
    return f"{fmean(map(tokens, records)):.0f}"


def _beside_none(measured: Measured, found: Sequence[Played]) -> Table:
    rows = []
    for one in found:
        fires = fmean(fired(measured, record) > 0 for record in one.records)
        without = fmean(map(tokens, one.none))
        saved = 1 - fmean(map(tokens, one.records)) / without if without else 0.0
        if row := _row(one, one.none, ("EM", "F1"), f"{fires:.0%}", f"{saved:+.0%}"):
            rows.append(row)
    note = f"{_POINTS} Tokens of the gate and of the answer are in what is saved; below 0 the gate costs more."
    return differences_table((*_HEAD, "fires", "tokens saved"), rows, ("EM", "F1"), note)


def _strings(found: Sequence[Played]) -> Table:
    what = ("ROUGE-1", "evidence recall")
    rows = [row for one in found if one.gate in (BEST, "voi") and (row := _row(one, one.none, what))]
    return differences_table(_HEAD, rows, what, "In points, less those without a gate.")


def _by_memory(found: Sequence[Played]) -> Table:
    groups: dict[tuple[str, str, str], list[Played]] = {}
    for one in found:
        if one.gate in (BEST, "voi"):
            condition = one.where[2].rsplit(", ", 1)[1]
            groups.setdefault((one.where[1], condition, one.gate), []).append(one)
    rows: list[Row] = []
    for parts, several in groups.items():
        a = [record for one in several for record in _apart(one.where, one.records)]
        b = [record for one in several for record in _apart(one.where, one.none)]
        c = [record for one in several for record in _apart(one.where, one.fixed)]
        for name, other in (("none", b), ("fixed:R", c)):
            if row := compare((*parts, name), a, other, ("EM", "tokens")):
                rows.append(row)
    note = "EM in points. A question counts once for each harness and window; R as above, for each harness by itself."
    return differences_table(("model", "memory", "gate", "beside"), rows, ("EM", "tokens"), note)


def _apart(where: tuple[str, str, str], records: Sequence[Record]) -> Iterator[Record]:
    """Episodes of different harnesses and domains, distinguished by repeat and task: intervals go by question."""
    for record in records:
        yield {**record, "task": f"{where[0]}: {record['task']}", "repeat": f"{where[2]} {record['repeat']}"}


def _spread(found: Sequence[Played]) -> Table:
    rows = []
    for one in found:
        if one.gate != BEST:
            continue
        a, b = (outcomes(records, MEASURES["EM"]) for records in (one.records, one.none))
        effects = [a[key] - b[key] for key in sorted(a.keys() & b.keys())]
        if effects:
            changed = sum(effect != 0 for effect in effects)
            rows.append((*one.where, str(len(effects)), f"{100 * pstdev(effects):.1f}", f"{changed}"))
    head = ("questions", "model", "harness and memory", "n", "std of the effect on EM, points", "questions it changes")
    return Table(head, tuple(rows), f"Of {BEST}, question by question, less no gate.")


def _rounds(measured: Measured, found: Sequence[Played]) -> Table:
    rows = []
    for one in found:
        rounds = [number for record in one.records if (number := fired(measured, record))]
        shown = (f"{fmean(rounds):.1f}", f"{median(rounds):g}") if rounds else ("-", "-")
        rows.append((*one.where, one.gate, f"{len(rounds)} of {len(one.records)}", *shown))
    return Table((*_HEAD, "fires", "mean round", "median round"), tuple(rows), "Of the episodes in which it fires.")


def _figure(measured: Measured) -> Figure:
    """EM against tokens: gates dark, fixed numbers of rounds light."""
    panels = []
    for setting in measured.settings():
        for model in measured.models():
            for base in dict.fromkeys(label.rsplit(", ", 1)[0] for label in measured.methods()):
                series = []
                for label in measured.methods():
                    records = records_of(measured, setting, model, label)
                    if records and label.rsplit(", ", 1)[0] == base:
                        gate = label.rsplit(", ", 1)[1]
                        role = "plain" if gate == NONE or fixed_rounds(gate) else "strong"
                        series.append(Series(gate, (exact(records),), role, (fmean(map(tokens, records)),)))
                if series and base.startswith(f"{HARNESSES[SWEPT[0]]}, {SWEPT[1]}"):
                    panels.append(Panel(f"{model}, {setting}: {base}", tuple(series)))
    caption = "EM against mean tokens, 95 % intervals; light: no gate and fixed numbers of rounds."
    return Figure("cgdp_gate", caption, Plot("points", tuple(panels), "exact match", "tokens per question"))


EXPERIMENT = Experiment(
    name="cgdp_gate",
    module="experiments.studies.cgdp.gate",
    title=f"When search agents stop, {OWN}",
    source="CGDP tables 5, 6, 13, 16-19",
    about=(
        "The exhaustion gate of the paper's best configuration and the gate by the value of a further search (voi) "
        "under every harness and memory condition, all 16 configurations with IRCoT on its transcript. Beside each "
        "stands a fixed number of rounds at about the same mean tokens. Everything is played to its answer, whose call "
        "was kept back from the start; the paper blends answers afterwards and estimates their tokens."
    ),
    models=(MODEL,),
    configurations=partial(configurations, PLAYED),
    sections=sections,
    pairs=no_pairs,
    differs=(
        "15 of the 16 configurations are ours, since the paper publishes one; so are the window of J (3 actions) "
        "and the decay of the moving averages.",
        "Gates that ask the model are played with general models alone (`--models`): the bundled one knows no such "
        "role.",
        "The paper has no baseline of equal cost.",
    ),
    batch=16,
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    return memory.commanded(EXPERIMENT, configurations, PLAYED, (None,), argv)


if __name__ == "__main__":
    sys.exit(run())
