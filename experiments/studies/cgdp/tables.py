"""The tables of the study on memory: measures, and differences on the same questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from statistics import fmean
from types import MappingProxyType
from typing import Any

from experiments.harness.document import Section, Table
from experiments.harness.matrix import plugin_of, tasks_of
from experiments.harness.measured import Measured, Record
from experiments.harness.plots import Value
from experiments.harness.standard import share
from experiments.studies.cgdp.methods import HARNESSES
from tape.protocols.search import UNANSWERABLE
from tape.statistics import ALPHA, Paired, holm, paired, success_interval

Of = Callable[[Record], float]
Keep = Callable[[Record], bool]

PAIRS = (
    ("freeform", "lobotomized"),
    ("structured", "lobotomized"),
    ("baseline", "lobotomized"),
    ("freeform", "baseline"),
    ("structured", "baseline"),
    ("freeform", "structured"),
)
"""Condition minus condition, as in the paper's table 8."""


def of_measure(name: str) -> Of:
    """A measure of the environment or the agent; 0 where an episode has none, as one that ended by a fault."""
    return lambda record: float(record["result"]["measures"].get(name) or 0.0)


def tokens(record: Record) -> float:
    """Tokens of all prompts and completions."""
    result = record["result"]
    return float(sum(result["prompt_tokens"].values()) + sum(result["completion_tokens"].values()))


MEASURES: Mapping[str, Of] = MappingProxyType(
    {
        "EM": of_measure("exact_match"),
        "F1": of_measure("f1"),
        "ROUGE-1": of_measure("rouge1"),
        "abstained": of_measure("abstained"),
        "rounds": of_measure("rounds"),
        "tokens": tokens,
    }
)
"""What is measured of an episode. Exact match counts UNANSWERABLE as the answer of a question that has none."""
COMPARED = ("EM", "F1")


def sections(measured: Measured) -> list[Section]:
    """All tables."""
    return [
        Section("All domains together", (differences(measured),), level=3),
        Section("Where one observation is enough, and where it is not", (by_need(measured),), level=3),
        Section("Conditions (tables 3, 10, 14)", (conditions(measured),), level=3),
    ]


def conditions(measured: Measured) -> Table:
    """Every configuration with all measures (CGDP tables 3, 10, 14)."""
    rows = []
    for setting, model, method, name in measured.played():
        records = measured.records[name]
        right = [bool(MEASURES["EM"](record)) for record in records]
        low, high, _ = success_interval(right, [record["task"] for record in records])
        row = [setting, f"`{model}`", method, str(len(records)), share(Value(fmean(right), low, high))]
        means = [fmean(map(of, records)) for what, of in MEASURES.items() if what != "EM"]
        rows.append((*row, *(f"{value:.2f}" for value in means[:-1]), f"{means[-1]:.0f}"))
    head = ("questions", "model", "method", "n", "EM", *(what for what in MEASURES if what != "EM"))
    note = (
        "Means per question; EM with its 95 % interval. UNANSWERABLE is the exact answer of a question without one; F1 "
        "and ROUGE-1 compare with it as with any answer. Rounds are searches that were made."
    )
    return Table(head, tuple(rows), note)


def differences(measured: Measured) -> Table:
    """Condition minus condition, all domains together (table 8)."""
    rows = [(parts, compared) for parts, compared in _pairs(measured, lambda _: True, COMPARED)]
    head = ("questions", "model", "harness", "condition - condition")
    return _table(head, rows, COMPARED, "EM and F1 in points.")


def by_need(measured: Measured) -> Table:
    """All domains together, the questions that a memory is for apart from the others."""
    several = partial(_several, measured)
    rows = [
        ((*parts, label), compared)
        for label, keep in (("two or more", several), ("one, or no answer", lambda record: not several(record)))
        for parts, compared in _pairs(measured, keep, ("EM",))
        if parts[3].endswith("lobotomized")
    ]
    head = ("questions", "model", "harness", "condition - condition", "passages")
    note = "EM in points, all domains together, by the passages that an answer takes."
    return _table(head, sorted(rows, key=lambda row: row[0][:4]), ("EM",), note)


Row = tuple[tuple[str, ...], Mapping[str, Paired]]
"""The first columns, and the differences by measure."""


def _pairs(measured: Measured, keep: Keep, what: Sequence[str]) -> Iterator[Row]:
    """All pairs of conditions of a harness on the questions of all domains that both have, by window and model."""
    for window in dict.fromkeys(setting.rsplit(", ", 1)[1] for setting in measured.settings()):
        settings = [setting for setting in measured.settings() if setting.endswith(window)]
        for model in measured.models():
            for harness in HARNESSES.values():
                for pair in PAIRS:
                    names = [
                        [measured.name(setting, model, f"{harness}, {text}") for setting in settings] for text in pair
                    ]
                    ours, theirs = (
                        [r for name in own if name for r in measured.records[name] if keep(r)] for own in names
                    )
                    compared = {text: paired(_outcomes(ours, text), _outcomes(theirs, text)) for text in what}
                    if all(result.n for result in compared.values()):
                        yield (window, f"`{model}`", harness, " - ".join(pair)), compared


def _outcomes(records: Sequence[Record], what: str) -> dict[tuple[str, int], float]:
    """A measure by question and repeat; domains may call their questions the same."""
    return {(f"{r['environment']}: {r['task']}", r["repeat"]): MEASURES[what](r) for r in records}


def _table(head: Sequence[str], rows: Sequence[Row], what: Sequence[str], note: str) -> Table:
    """Differences with intervals and corrected p: one family for each measure."""
    corrected = {name: holm([compared[name].sign_p for _, compared in rows]) for name in what}
    made = []
    for i, (parts, compared) in enumerate(rows):
        cells = [*parts, str(compared[what[0]].n)]
        for name in what:
            pair, p = compared[name], corrected[name][i]
            clear = p <= ALPHA and (pair.low > 0 or pair.high < 0)
            cells += [f"{100 * pair.difference:+.1f} ({100 * pair.low:+.1f} to {100 * pair.high:+.1f})"]
            cells += [f"**{p:.2g}**" if clear else f"{p:.2g}"]
        made.append(tuple(cells))
    columns = [column for name in what for column in (f"difference in {name}", "p (Holm)")]
    family = (
        "Differences are on the same questions, with 95 % intervals by bootstrap over questions; p is of the exact "
        "sign test over questions, by Holm's correction for all rows of its column in this table."
    )
    return Table((*head, "n", *columns), tuple(made), f"{family} {note}")


def _several(measured: Measured, record: Record) -> bool:
    """Whether the answer of a question takes two passages or more; published with the episode."""
    spec = measured.specs[record["cell"]]
    own = tuple(sorted((name, value) for name, value in spec.options.items() if name != "limit"))
    find = partial(_facts, spec.environment, own, record["digest"])
    answerable = measured.note(record, "answerable", lambda: find()[0])
    return bool(answerable) and int(measured.note(record, "hops", lambda: find()[1])) > 1


@lru_cache(maxsize=8192)
def _facts(environment: str, own: tuple[tuple[str, Any], ...], digest: str) -> tuple[bool, int]:
    """Whether the corpus holds the answer, and the passages of evidence; an environment reports both of a question."""
    task = next(task for task in tasks_of(environment, dict(own)) if task.digest == digest)
    answers, evidence = plugin_of(environment).make(task).gold()
    return tuple(answers) != (UNANSWERABLE,), len(set(evidence))
