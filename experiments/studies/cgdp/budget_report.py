"""The report on who chooses how deep to search: the solver beside every fixed depth, by budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.harness.measured import Measured, Record
from experiments.harness.methods import Method
from experiments.studies.cgdp.tables import Row, compare, differences_table, exact, measures_table, records_of
from tape.show.document import Figure, Section, Table
from tape.show.plots import Panel, Plot, Series

DEPTHS = (3, 5, 10)
USUAL = 5
"""The depth of the paper."""

GOLD_PART, OWN_PART = "gold sub-questions, scripted reader", "own sub-questions"
PARTS = {"gold": GOLD_PART, "model": OWN_PART}
LABELS = (
    f"**{GOLD_PART}** is an upper bound: sub-questions are given away, a script finds evidence wherever it was "
    "retrieved, and answers rightly where all of it was. Its tokens are words. No model takes part."
)

SOLVER = Method("CGDP, solver", "cgdp", {"cgdp": {"memory": "structured", "select": "solver"}})
FIXED = tuple(
    Method(f"CGDP, depth {depth}", "cgdp", {"cgdp": {"memory": "structured", "select": "lm"}}) for depth in DEPTHS
)


@dataclass(frozen=True)
class Budgeted:
    """What was played under one budget: of one domain, or of all together at the same place of the grid.

    Attributes:
        part: Whose sub-questions and reading.
        where: The domain, or all of them.
        place: Of the budget in its grid, from 1.
        cap: The budget in words.
        model: As tables call it.
        solver: Episodes of the solver.
        fixed: Those of each depth.
    """

    part: str
    where: str
    place: int
    cap: str
    model: str
    solver: Sequence[Record]
    fixed: Mapping[int, Sequence[Record]]

    @property
    def best(self) -> int:
        """The depth that is right most often, in hindsight; the shallower of two equal ones."""
        return max(self.fixed, key=lambda depth: (share_right(self.fixed[depth]), -depth))


def share_right(records: Sequence[Record]) -> float:
    """The share of right answers; -1 of no episodes."""
    value = exact(records)
    return -1.0 if value is None else value.at


def played(measured: Measured) -> list[Budgeted]:
    """Every budget of every domain, then all domains together."""
    found: list[Budgeted] = []
    for part in PARTS.values():
        mine = [setting for setting in measured.settings() if setting.startswith(f"{part}: ")]
        domains = list(dict.fromkeys(setting.split(": ")[1] for setting in mine))
        for model in measured.models():
            by = {domain: [s for s in mine if s.split(": ")[1] == domain] for domain in domains}
            for domain, settings in by.items():
                found += [
                    one
                    for place, setting in enumerate(settings, 1)
                    if (one := _budgeted(measured, part, domain, place, setting.split(": ")[2], model, [setting]))
                ]
            if len(domains) > 1:
                found += [
                    one
                    for place, several in enumerate(zip(*by.values(), strict=False), 1)
                    if (one := _budgeted(measured, part, "all domains", place, f"no. {place}", model, several))
                ]
    return found


def _budgeted(
    measured: Measured, part: str, where: str, place: int, cap: str, model: str, settings: Sequence[str]
) -> Budgeted | None:
    def records(label: str) -> list[Record]:
        return [
            {**record, "task": f"{record['environment']}: {record['task']}"}
            for setting in settings
            for record in records_of(measured, setting, model, label)
        ]

    solver, fixed = (
        records(SOLVER.label),
        {depth: records(each.label) for depth, each in zip(DEPTHS, FIXED, strict=True)},
    )
    if not solver or not all(fixed.values()):
        return None
    return Budgeted(part, where, place, cap, model, solver, fixed)


def sections(measured: Measured) -> list[Section]:
    """The curves, the solver beside every fixed depth, all measures."""
    found = played(measured)
    return [
        Section("Budgets", (_figure(found),), level=3),
        Section("Exact matches by budget", (_shares(found),), level=3),
        Section("The solver less the best fixed depth, and less depth 5", (_against(found),), level=3),
        Section("Every configuration", (measures_table(measured),), level=3),
    ]


_HEAD = ("sub-questions and reader", "model", "questions", "budget")


def _parts(one: Budgeted) -> tuple[str, str, str, str]:
    return one.part, f"`{one.model}`", one.where, one.cap


def _shares(found: Sequence[Budgeted]) -> Table:
    rows = []
    for one in found:
        cells = [f"{share_right(one.fixed[depth]):.3f}" for depth in DEPTHS]
        value = exact(one.solver)
        assert value is not None
        mine = f"**{value.at:.3f}** ({value.low:.2f} to {value.high:.2f})"
        rows.append((*_parts(one), str(len(one.solver)), mine, *cells, str(one.best)))
    head = (*_HEAD, "n", "solver", *(f"depth {depth}" for depth in DEPTHS), "best fixed depth, in hindsight")
    return Table(head, tuple(rows), LABELS)


def _against(found: Sequence[Budgeted]) -> Table:
    rows: list[Row] = []
    for one in found:
        for what, depth in (("best fixed depth", one.best), (f"depth {USUAL}", USUAL)):
            row = compare((*_parts(one), f"{what} ({depth})"), one.solver, one.fixed[depth], ("EM",))
            if row is not None:
                rows.append(row)
    return differences_table((*_HEAD, "less"), rows, ("EM",), "In points. The best depth is chosen in hindsight.")


def _figure(found: Sequence[Budgeted]) -> Figure:
    panels = []
    for part, where, model in dict.fromkeys((one.part, one.where, one.model) for one in found):
        mine = [one for one in found if (one.part, one.where, one.model) == (part, where, model)]
        at = tuple(float(one.place) for one in mine)
        lines = [Series("solver", tuple(exact(one.solver) for one in mine), "strong", at)]
        lines += [Series(f"depth {d}", tuple(exact(one.fixed[d]) for one in mine), "plain", at) for d in DEPTHS]
        panels.append(Panel(f"{part}: {where}", tuple(lines)))
    caption = "Exact matches by budget, the tightest first, 95 % intervals."
    return Figure("cgdp_budget", caption, Plot("lines", tuple(panels), "exact match", "budget, as numbered"))
