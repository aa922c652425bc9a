"""Who chooses how deep to search, under budgets: ``python -m experiments.studies.cgdp.budget``.

The exact solver (``select="solver"``) chooses the depth of every search; beside it every search has the same depth.
Once with gold sub-questions and a scripted reader, which is an upper bound of what choosing depths is worth, and once
with the model's own sub-questions and reading.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from experiments.harness.cli import guarded, known, main
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Identified, Options, configuration, plugin_of, split, spread
from experiments.harness.measured import Measured, Record
from experiments.harness.methods import Method
from experiments.studies.cgdp import judge, memory
from experiments.studies.cgdp.methods import DOMAINS, GOLD, MODEL, OWN, Domain, chosen
from experiments.studies.cgdp.reader import NAME, GoldQuestion, GoldReaderLM
from experiments.studies.cgdp.tables import Row, compare, differences_table, exact, measures_table, records_of
from tape.errors import ConfigError, TapeError
from tape.protocols import Task
from tape.protocols.search import SearchDomain, TellsGold
from tape.runner.configurations import Configuration
from tape.show.document import Figure, Section, Table
from tape.show.plots import Panel, Plot, Series

DEPTHS = (3, 5, 10)
USUAL = 5
"""The depth of the paper."""
WORTH = 60_000
"""Of a right answer, in tokens: so much that the hard budget binds and no price."""
BELIEF = 120
"""Most tokens of a belief."""
WITHIN, CLEARLY = 0.02, 0.08
"""The solver is to be at most so far below the best fixed depth, and so far above the usual one at two budgets."""

Cap = Mapping[str, int]
GOLD_PART, OWN_PART = "gold sub-questions, scripted reader", "own sub-questions"
PARTS = {"gold": GOLD_PART, "model": OWN_PART}


def _grid(calls: Sequence[int], tokens: Sequence[int]) -> tuple[Cap, ...]:
    """Budgets of calls and tokens; a round takes two calls, and the answer one."""
    return tuple({"calls": each, "tokens": most} for each, most in zip(calls, tokens, strict=True))


BUDGETS: Mapping[str, Mapping[str, tuple[Cap, ...]]] = MappingProxyType(
    {
        "gold": {
            "musique_search": _grid((7, 7, 9, 9, 9, 11, 11), (500, 600, 700, 850, 1000, 1250, 1600)),
            "locomo": _grid((5, 5, 5, 7, 7, 9, 9), (350, 400, 450, 550, 650, 800, 1000)),
            "musique_public": _grid((7, 7, 9, 9, 9, 11, 11), (800, 1100, 1400, 1800, 2400, 3200, 4500)),
        },
        "model": {
            "musique_search": _grid((7, 7, 9, 9, 9, 11, 11), (500, 600, 700, 850, 1000, 1250, 1600)),
            "locomo": _grid((5, 5, 5, 7, 7, 9, 9), (350, 400, 450, 550, 650, 800, 1000)),
            "musique_public": _grid((7, 7, 9, 9, 9, 11, 11), (2000, 3000, 4000, 5000, 6500, 8000, 12000)),
        },
    }
)
"""By part and domain, seven budgets each, the tightest first; chosen on development questions, so that fixed depths
differ under them."""

SOLVER = Method("CGDP, solver", "cgdp", {"cgdp": {"memory": "structured", "select": "solver"}})
FIXED = tuple(
    Method(f"CGDP, depth {depth}", "cgdp", {"cgdp": {"memory": "structured", "select": "lm"}}) for depth in DEPTHS
)


@dataclass(frozen=True)
class Asked:
    """What is played.

    Attributes:
        domains: By name.
        parts: Of :data:`PARTS`.
        questions: ``dev`` or ``test``.
        quick: A few questions of each domain.
    """

    domains: Mapping[str, Domain]
    parts: tuple[str, ...] = tuple(PARTS)
    questions: str = "test"
    quick: bool = False


def settled(each: Method, depth: int) -> tuple[Method, str]:
    """A method with what all share, and the environment's depths: its own first, which is what ``lm`` takes."""
    shared = {"cgdp": {"answer_worth": WORTH, "belief_tokens": BELIEF}}
    return each.on(shared), ",".join(map(str, sorted(DEPTHS, key=lambda other: (other != depth, other))))


def written(cap: Cap) -> str:
    """A budget in words."""
    return ", ".join(f"{count} {kind}" for kind, count in cap.items())


def setting_of(part: str, domain: Domain, cap: Cap) -> str:
    """The name of a setting; it says whose the sub-questions and the reading are."""
    return f"{PARTS[part]}: {domain.label}: {written(cap)}"


def configurations(asked: Asked, options: Options) -> list[Configuration]:
    """Every method under every budget; what cannot be played here is named."""
    found: list[Configuration] = []
    for part in asked.parts:
        models = (NAME,) if part == "gold" else options.models
        identify = _reader if part == "gold" else options.identify
        for name, domain in asked.domains.items():
            try:
                for depth, each in ((min(DEPTHS), SOLVER), *zip(DEPTHS, FIXED, strict=True)):
                    made, depths = settled(each, depth)
                    own = domain.options(asked.questions, depths=depths, sub_questions=_given(part))
                    tasks = _tasks(domain, asked, options, depths, part)
                    found += [
                        _capped(
                            configuration(
                                made,
                                model,
                                replace(options, identify=identify),
                                environment=domain.environment,
                                own=own,
                                setting=setting_of(part, domain, cap),
                                tasks=tasks,
                            ),
                            cap,
                        )
                        for model in models
                        if not (name == PUBLIC and model.startswith("bundled:"))  # it cannot read public texts
                        for cap in BUDGETS[part][name]
                    ]
            except TapeError as error:
                print(f"left out: {domain.label}: {error}", file=sys.stderr)
    if not found:
        raise ConfigError("nothing to play: none of these domains can be played here")
    return sorted(found, key=lambda one: _place(asked, one.name))


def _place(asked: Asked, name: str) -> tuple[int, ...]:
    """By part, domain and budget, then method: tables follow the order in which settings come first."""
    setting, _, label = split(name)
    order = [
        setting_of(part, domain, cap)
        for part in PARTS
        for name, domain in asked.domains.items()
        for cap in BUDGETS[part][name]
    ]
    labels = [SOLVER.label, *(each.label for each in FIXED)]
    return order.index(setting), labels.index(label)


def _given(part: str) -> str:
    return "gold" if part == "gold" else "none"


def _reader(model: str) -> Identified:
    assert model == NAME
    return Identified(NAME, "chat")


def _capped(made: Configuration, cap: Cap) -> Configuration:
    return replace(made, spec=made.spec.model_copy(update={"budget": dict(cap)}))


def _tasks(domain: Domain, asked: Asked, options: Options, depths: str, part: str) -> tuple[Task, ...]:
    """The questions; with gold sub-questions those that have an answer."""
    tasks = domain.tasks(asked.questions, depths=depths, sub_questions=_given(part))
    if part == "gold":
        tasks = tuple(task for task in tasks if GOLD[domain.environment](task))
    return spread(tasks[: options.limit], domain.quick if asked.quick else None)


def gold_questions(asked: Asked) -> Iterator[GoldQuestion]:
    """What the scripted reader has to know for all that is played."""
    for domain in asked.domains.values():
        for task in domain.tasks(asked.questions, sub_questions="gold"):
            if evidence := GOLD[domain.environment](task):
                env = plugin_of(domain.environment).make(task)
                assert isinstance(env, TellsGold)
                assert isinstance(env.domain, SearchDomain)
                yield GoldQuestion(env.domain.question, evidence, env.gold()[0][0])


# --- the report -----------------------------------------------------------------------------------


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
        return max(self.fixed, key=lambda depth: (_right(self.fixed[depth]), -depth))


def _right(records: Sequence[Record]) -> float:
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
    """The curves, the solver beside every fixed depth, whether it keeps what is asked of it, all measures."""
    found = played(measured)
    return [
        Section("Budgets", (_figure(found),), level=3),
        Section("Exact matches by budget", (_shares(found),), level=3),
        Section("The solver less the best fixed depth, and less depth 5", (_against(found),), level=3),
        Section("What is asked of the solver", (_kept(found),), level=3),
        Section("Every configuration", (measures_table(measured),), level=3),
    ]


_HEAD = ("sub-questions and reader", "model", "questions", "budget")


def _parts(one: Budgeted) -> tuple[str, str, str, str]:
    return one.part, f"`{one.model}`", one.where, one.cap


def _shares(found: Sequence[Budgeted]) -> Table:
    rows = []
    for one in found:
        cells = [f"{_right(one.fixed[depth]):.3f}" for depth in DEPTHS]
        value = exact(one.solver)
        assert value is not None
        mine = f"**{value.at:.3f}** ({value.low:.2f} to {value.high:.2f})"
        rows.append((*_parts(one), str(len(one.solver)), mine, *cells, str(one.best)))
    head = (*_HEAD, "n", "solver", *(f"depth {depth}" for depth in DEPTHS), "best fixed depth, in hindsight")
    return Table(head, tuple(rows), _LABELS)


_LABELS = (
    f"**{GOLD_PART}** is an upper bound: sub-questions are given away, a script finds evidence wherever it was "
    "retrieved, and answers rightly where all of it was. Its tokens are words. No model takes part."
)


def _against(found: Sequence[Budgeted]) -> Table:
    rows: list[Row] = []
    for one in found:
        for what, depth in (("best fixed depth", one.best), (f"depth {USUAL}", USUAL)):
            row = compare((*_parts(one), f"{what} ({depth})"), one.solver, one.fixed[depth], ("EM",))
            if row is not None:
                rows.append(row)
    return differences_table((*_HEAD, "less"), rows, ("EM",), "In points. The best depth is chosen in hindsight.")


def _kept(found: Sequence[Budgeted]) -> Table:
    groups: dict[tuple[str, str, str], list[Budgeted]] = {}
    for one in found:
        groups.setdefault((one.part, f"`{one.model}`", one.where), []).append(one)
    rows = []
    for parts, budgets in groups.items():
        mine = [_right(one.solver) for one in budgets]
        best = [_right(one.fixed[one.best]) for one in budgets]
        usual = [_right(one.fixed[USUAL]) for one in budgets]
        within = sum(a >= b - WITHIN - 1e-9 for a, b in zip(mine, best, strict=True))
        clearly = sum(a >= b + CLEARLY - 1e-9 for a, b in zip(mine, usual, strict=True))
        worst = min(a - b for a, b in zip(mine, best, strict=True))
        rows.append((*parts, f"{within} of {len(budgets)}", f"{100 * worst:+.1f}", f"{clearly} of {len(budgets)}"))
    head = (*_HEAD[:3], f"within {100 * WITHIN:.0f} points of the best fixed depth", "least difference, points")
    return Table((*head, f"at least +{100 * CLEARLY:.0f} over depth {USUAL}"), tuple(rows), "Budgets that keep it.")


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


OWNED = {name: DOMAINS[name] for name in GOLD}
PUBLIC = "musique_public"

EXPERIMENT = Experiment(
    name="cgdp_budget",
    module="experiments.studies.cgdp.budget",
    title=f"Who chooses how deep to search, {OWN}; once with {GOLD_PART}",
    source="none: the solver is ours; the depths 3, 5 and 10 are of CGDP appendix H.3",
    about=(
        "CGDP's loop with a structured belief under hard budgets of tokens and calls. The exact solver chooses the "
        "predicate and the depth of every search; beside it every search has one depth. BM25; options are calibrated "
        f"on development questions. {_LABELS}"
    ),
    models=(MODEL,),
    configurations=partial(configurations, Asked(OWNED)),
    sections=sections,
    pairs=memory.pairs,
    seeds=1,
    batch=16,
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    given = list(sys.argv[1:] if argv is None else argv)

    def asked() -> int:
        first = known(_early, given)
        public = {PUBLIC: Domain("MuSiQue, public", "musique_search", "", {"data": first.data})} if first.data else {}
        there = {**OWNED, **public}
        what = Asked(
            {name: there[name] for name in chosen(first.domains, there, "domain")},
            chosen(first.reading, PARTS, "part"),
            first.part,
            first.quick,
        )
        if "gold" in what.parts and first.workers != "1":
            raise ConfigError(
                "the scripted reader plays in this process alone; leave --workers out, or --reading model"
            )
        opened = {NAME: GoldReaderLM(gold_questions(what))} if "gold" in what.parts else None
        played_by = () if what.parts == ("gold",) else EXPERIMENT.models
        made = replace(EXPERIMENT, configurations=partial(configurations, what), models=played_by)
        return main(made, given, arguments=_arguments, after=judge.judge, opened=opened)

    return guarded(asked, EXPERIMENT.module, given)


def _early(parser: argparse.ArgumentParser) -> None:
    _arguments(parser)
    parser.add_argument("--workers", default="1")


def _arguments(parser: argparse.ArgumentParser) -> None:
    names = ", ".join((*OWNED, PUBLIC))
    parser.add_argument("--domains", nargs="+", metavar="NAME", help=f"of {names} (default: all)")
    parser.add_argument("--data", metavar="FILE", help=f"questions in the public MuSiQue format, for {PUBLIC}")
    parser.add_argument("--reading", nargs="+", metavar="WHO", help=f"of {', '.join(PARTS)} (default: both)")
    parser.add_argument("--part", choices=("dev", "test"), default="test", help="of the questions (default: test)")
    parser.add_argument("--quick", action="store_true", help="a few questions of each domain, within ten minutes")
    judge.argument(parser)


if __name__ == "__main__":
    sys.exit(run())
