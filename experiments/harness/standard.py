"""The parts that the reports share: the table of all configurations, paired differences, and both in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import fmean

from experiments.harness import register
from experiments.harness.document import Bullets, Section, Table
from experiments.harness.elapsed import in_all, sittings
from experiments.harness.experiment import Experiment
from experiments.harness.measured import Measured, Record
from experiments.harness.methods import PAPER, SIMULATOR, TAPE, TAPE_PLUS
from experiments.harness.plots import Panel, Plot, Series, Value
from tape.statistics import Paired, clustered

INTERVALS = (
    "Intervals are 95 %: by bootstrap over levels, each with all its repeats; Wilson's where no level is repeated or "
    "all levels come out the same. n counts episodes (levels)."
)
SIMULATED = f"**{SIMULATOR.label}**: oracle upper bound (uses the simulator); not a baseline."
Pair = tuple[str, str, str, str]


NO_DIFFERENCE = "no significant difference"


def share(value: Value | None) -> str:
    """A success rate with its interval."""
    return "-" if value is None else f"{value.at:.2f} ({value.low:.2f} to {value.high:.2f})"


def mean(records: Sequence[Record], of: Callable[[Record], float]) -> Value | None:
    """A mean over episodes with its 95 % interval by bootstrap over tasks; None of no episodes."""
    if not records:
        return None
    values = [of(record) for record in records]
    return Value(fmean(values), *clustered(values, [record["digest"] for record in records]))


def signed(pair: Paired) -> str:
    """A difference with its interval."""
    return f"{pair.difference:+.2f} ({pair.low:+.2f} to {pair.high:+.2f})"


PAIRED = (
    "Differences have 95 % intervals by bootstrap over levels (Wilson's where all levels differ by the same); `above` "
    "and `below` also ask for p <= 0.05 in the exact sign test over levels."
)


def verdict(pair: Paired) -> str:
    """What a paired difference shows."""
    if pair.above:
        return "above"
    if pair.below:
        return "below"
    return "equal in every episode" if pair.wins == pair.losses == 0 else NO_DIFFERENCE


def results_table(measured: Measured) -> Table:
    """Every configuration: n, success with interval, steps, replans, LM calls and tokens, and over budget."""
    head = ["levels", "model", "method", "n", "success", "steps", "replans", "LM calls", "LM tokens"]
    head += ["tokens per solved episode", "over budget"]
    if measured.times:
        head.append("solver ms")
    rows = []
    for setting, model, method, name in measured.played():
        group = measured.groups[name]
        n, solved = group["episodes"], group["successes"]
        row = [setting, f"`{model}`", method, f"{n} ({group['levels']})"]
        row += [share(measured.success(setting, model, method)), f"{group['mean_steps']:.1f}"]
        row += [f"{group['replans'] / n:.2f}", f"{group['lm_calls'] / n:.1f}", f"{group['lm_tokens'] / n:.0f}"]
        row += [f"{group['lm_tokens'] / solved:.0f}" if solved else "none solved"]
        row += [str(group["budget_violations"])]
        if measured.times:
            seconds = group["solver_seconds"]
            row.append("-" if seconds is None else f"{1000 * (seconds / n):.2f}")
        rows.append(tuple(row))
    note = f"Steps, replans, LM calls and LM tokens are means per episode. {INTERVALS}"
    if SIMULATOR.label in measured.methods():
        note += f" {SIMULATED}"
    return Table(tuple(head), tuple(rows), note)


def against(ours: str, *, but: Iterable[str] = (SIMULATOR.label,)) -> Callable[[Measured], list[Pair]]:
    """Pairs of one method with every other one, the upper bound excepted."""
    return partial(_against, ours, frozenset(but))


def _against(ours: str, but: frozenset[str], measured: Measured) -> list[Pair]:
    others = [method for method in measured.methods() if method != ours and method not in but]
    return [
        (setting, model, ours, other)
        for setting in measured.settings()
        for model in measured.models()
        for other in others
    ]


def both_against_all(measured: Measured) -> list[Pair]:
    """TAPE+ with every other method, and the paper's algorithm with every baseline; the upper bound excepted."""
    rest = against(PAPER.label, but=[method for method in measured.methods() if method.startswith(TAPE.label)])
    return [*against(TAPE.label)(measured), *rest(measured)]


def differences_table(measured: Measured, pairs: Sequence[Pair]) -> Table:
    """Paired differences on identical levels and repeats."""
    rows = []
    for setting, model, ours, other in pairs:
        pair = measured.difference(setting, model, ours, other)
        if pair is not None:
            row = (setting, f"`{model}`", ours, other, f"{pair.n} ({pair.levels})", signed(pair))
            rows.append((*row, f"{pair.wins}, {pair.losses}", f"{pair.sign_p:.2g}", verdict(pair)))
    head = ("levels", "model", "method", "minus", "n", "difference in success", "only the first, only the second")
    head += ("sign test p", "")
    return Table(head, tuple(rows), f"The same levels, budgets and seeds on both sides. {PAIRED}")


def in_words(measured: Measured, pairs: Sequence[Pair]) -> list[str]:
    """One sentence per setting, model and method of ours: what it is above and below, and how clearly."""
    texts: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for setting, model, ours, other in pairs:
        pair = measured.difference(setting, model, ours, other)
        if pair is not None:
            text = f"{other} {signed(pair)}"
            texts.setdefault((setting, model, ours), {}).setdefault(verdict(pair), []).append(text)
    sentences = []
    for (setting, model, ours), by in texts.items():
        parts = []
        for word, text in (
            ("above", "above {}"),
            ("below", "**below** {}"),
            (NO_DIFFERENCE, "not significantly different from {}"),
            ("equal in every episode", "equal in every episode to {}"),
        ):
            if word in by:
                parts.append(text.format("; ".join(by[word])))
        sentences.append(f"{setting}, `{model}`: {ours} is {', and '.join(parts)}.")
    return sentences


def beside_the_paper(experiment: Experiment, measured: Measured) -> Table | None:
    """The paper's numbers and, per model, ours; None if the paper gives none."""
    if not experiment.paper:
        return None
    models = measured.models()
    rows = []
    for paper_value in experiment.paper:
        ours = [
            _percent(measured.success(paper_value.setting, m, paper_value.method)) if paper_value.method else "-"
            for m in models
        ]
        rows.append((paper_value.what, paper_value.value, *ours))
    head = ("what", "the paper", *(f"ours, `{m}`" for m in models))
    return Table(
        head, tuple(rows), "The paper's numbers as its text and tables give them; most of its bars carry none."
    )


def _percent(value: Value | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value.at:.0f} % ({100 * value.low:.0f} to {100 * value.high:.0f})"


def sections_of(experiment: Experiment, measured: Measured) -> list[Section]:
    """The whole report of one experiment."""
    pairs = experiment.pairs(measured)
    first = [experiment.about, f"In the paper: {experiment.source}. Made by `{experiment.command}`."]
    if missing := measured.missing():
        first.append(f"**Incomplete: at least {missing} episodes are not played yet.** Run the same command again.")
    if text := in_all(measured.rows("elapsed", lambda: sittings(measured.directory))):
        first.append(text)
    if sets := list(dict.fromkeys(name for spec in measured.specs.values() if (name := register.test_set(spec)))):
        named = " and ".join(f"`{name}`" for name in sets)
        first.append(f"Test levels: {named}; every run on them is listed in `{register.COPY}`.")
    if {PAPER.label, TAPE.label} <= set(measured.methods()):
        first.append(TAPE_PLUS)
    sections = [Section(experiment.title, tuple(first))]
    sections += experiment.sections(measured)
    sections.append(Section("All configurations", (results_table(measured),), level=3))
    if pairs:
        sections.append(Section("Paired differences", (differences_table(measured, pairs),), level=3))
    beside = beside_the_paper(experiment, measured)
    if beside is not None:
        sections.append(Section("Beside the paper", (beside,), level=3))
    words = (*in_words(measured, pairs), *experiment.differs)
    if words:
        sections.append(Section("Where the numbers stand, and why they differ", (Bullets(words),), level=3))
    return sections


def role(method: str) -> str:
    """How a method is drawn."""
    if method == SIMULATOR.label:
        return "bound"
    return "strong" if method == TAPE.label else "plain"


def success_bars(measured: Measured, *, by_model: bool = False, methods: Sequence[str] | None = None) -> Plot:
    """A panel per setting and model with a bar per method; by default all methods."""
    panels = []
    for setting in measured.settings():
        for model in measured.models():
            series = tuple(
                Series(method, (measured.success(setting, model, method),), role(method))
                for method in (measured.methods() if methods is None else methods)
            )
            panels.append(Panel(f"{model}, {setting}" if by_model else setting, series))
    return Plot("bars", tuple(panels), "success rate")
