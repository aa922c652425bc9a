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
from experiments.harness.methods import Method
from experiments.studies.cgdp.budget_report import DEPTHS, FIXED, GOLD_PART, LABELS, PARTS, SOLVER, sections
from experiments.studies.cgdp.methods import DOMAINS, GOLD, MODEL, OWN, Domain
from experiments.studies.cgdp.reader import NAME, GoldQuestion, GoldReaderLM
from experiments.studies.cgdp.tables import no_pairs
from tape.errors import ConfigError, TapeError
from tape.protocols import Task
from tape.runner.configurations import Configuration

VALUE = 60_000
"""Of a right answer, in tokens: so much that the hard budget binds and no price."""
BELIEF = 120
"""Most tokens of a belief."""

Cap = Mapping[str, int]


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


def with_depth(each: Method, depth: int) -> tuple[Method, str]:
    """A method with what all share, and the environment's depths: its own first, which is what ``lm`` takes."""
    shared = {"cgdp": {"answer_worth": VALUE, "belief_tokens": BELIEF}}
    return each.on(shared), ",".join(map(str, sorted(DEPTHS, key=lambda other: (other != depth, other))))


def written(cap: Cap) -> str:
    """A budget in words."""
    return ", ".join(f"{count} {kind}" for kind, count in cap.items())


def setting_of(part: str, domain: Domain, cap: Cap) -> str:
    """The name of a setting, with the source of its sub-questions and its reader."""
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
                    made, depths = with_depth(each, depth)
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
                assert env.domain.search_task is not None
                yield GoldQuestion(env.domain.question, evidence, env.gold()[0][0])


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
        f"on development questions. A right answer is worth {VALUE:,} tokens to the solver (`--answer-worth`), so that "
        f"budgets bind and no price does, and a belief takes {BELIEF} at most (`--belief-tokens`). {LABELS}"
    ),
    models=(MODEL,),
    configurations=partial(configurations, Asked(OWNED)),
    sections=sections,
    pairs=no_pairs,
    batch=16,
)


def run(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    given = list(sys.argv[1:] if argv is None else argv)

    def asked() -> int:
        first = known(_early, given)
        public = {PUBLIC: Domain("MuSiQue, public", "musique_search", "", {"data": first.data})} if first.data else {}
        what = Asked({**OWNED, **public}, tuple(first.reading), first.part, first.quick)
        if "gold" in what.parts and first.workers != "1":
            raise ConfigError(
                "the scripted reader plays in this process alone; leave --workers out, or --reading model"
            )
        opened = {NAME: GoldReaderLM(gold_questions(what))} if "gold" in what.parts else None
        played_by = () if what.parts == ("gold",) else EXPERIMENT.models
        made = replace(EXPERIMENT, configurations=partial(configurations, what), models=played_by)
        return main(made, given, arguments=_arguments, opened=opened)

    return guarded(asked, EXPERIMENT.module, given)


def _early(parser: argparse.ArgumentParser) -> None:
    _arguments(parser)
    parser.add_argument("--workers", default="1")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="FILE", help="questions in the public MuSiQue format, to be played too")
    parser.add_argument("--reading", nargs="+", choices=PARTS, default=tuple(PARTS), help="(default: both)")
    parser.add_argument("--part", choices=("dev", "test"), default="test", help="of the questions (default: test)")
    parser.add_argument("--quick", action="store_true", help="a few questions of each domain, within ten minutes")


if __name__ == "__main__":
    sys.exit(run())
