"""What the tables of the studies of search agents have in common: measures, and differences on the same questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from statistics import fmean, median
from types import MappingProxyType
from typing import Any

from experiments.harness.matrix import tasks_of
from experiments.harness.measured import Measured, Record
from experiments.harness.standard import share
from experiments.studies.cgdp.methods import Facts, facts_of
from tape.protocols import Task
from tape.runner.spec import RunSpec
from tape.show.document import Table
from tape.show.plots import Value
from tape.statistics import ALPHA, Paired, holm, paired, success_interval

Of = Callable[[Record], float]
Keep = Callable[[Record], bool]
Compared = tuple[str, str]
"""A method, and the one that is taken off."""
Outcomes = dict[tuple[str, int], float]

FAMILY = (
    "Differences are on the same questions, with 95 % intervals by bootstrap over questions; p is of the exact sign "
    "test over questions, by Holm's correction for all rows of its column in this table."
)
NOT_DEFINED = "-"


def everything(record: Record) -> bool:
    """Every episode."""
    del record
    return True


def of_measure(name: str) -> Of:
    """A measure of the environment or the agent; 0 where an episode has none, as one that ended by a fault."""

    def of(record: Record) -> float:
        return float(record["result"]["measures"].get(name) or 0.0)

    return of


def tokens(record: Record) -> float:
    """Tokens of all prompts and completions."""
    result = record["result"]
    return float(sum(result["prompt_tokens"].values()) + sum(result["completion_tokens"].values()))


MEASURES: Mapping[str, Of] = MappingProxyType(
    {
        "EM": of_measure("exact_match"),
        "F1": of_measure("f1"),
        "ROUGE-1": of_measure("rouge1"),
        "evidence recall": of_measure("evidence_recall"),
        "abstained": of_measure("abstained"),
        "tokens": tokens,
        "rounds": of_measure("rounds"),
        "longest prompt": of_measure("longest_prompt"),
    }
)
"""What is measured of an episode. Exact match counts UNANSWERABLE as the answer of a question that has none."""


def records_of(measured: Measured, setting: str, model: str, method: str, keep: Keep = everything) -> Sequence[Record]:
    """The episodes of a configuration; none where it was not played."""
    name = measured.name(setting, model, method)
    return () if name is None else tuple(record for record in measured.records[name] if keep(record))


def outcomes(records: Sequence[Record], of: Of, prefix: str = "") -> Outcomes:
    """A number by question and repeat. Settings may differ in how the corpus is searched, so tasks go by their id."""
    return {(prefix + record["task"], record["repeat"]): of(record) for record in records}


def exact(records: Sequence[Record]) -> Value | None:
    """The share of exact matches, with its interval."""
    if not records:
        return None
    right = [bool(MEASURES["EM"](record)) for record in records]
    low, high, _ = success_interval(right, [record["task"] for record in records])
    return Value(fmean(right), low, high)


def plain(records: Sequence[Record], what: str) -> str:
    """The mean of a measure, in its significant digits."""
    if not records or (what == "evidence recall" and not any(_has_recall(record) for record in records)):
        return NOT_DEFINED
    chosen = [record for record in records if _has_recall(record)] if what == "evidence recall" else records
    value = fmean(MEASURES[what](record) for record in chosen)
    return f"{value:.0f}" if what in ("tokens", "longest prompt") else f"{value:.2f}"


def _has_recall(record: Record) -> bool:
    return record["result"]["measures"].get("evidence_recall") is not None


def measures_table(measured: Measured, note: str = "") -> Table:
    """Every configuration with all measures (CGDP tables 3, 10, 14)."""
    rows = []
    shown = ("F1", "ROUGE-1", "evidence recall", "abstained", "tokens", "longest prompt", "rounds")
    for setting, model, method, name in measured.played():
        records = measured.records[name]
        if records:
            middle = median(MEASURES["rounds"](record) for record in records)
            cells = [plain(records, what) for what in shown]
            rows.append(
                (setting, f"`{model}`", method, str(len(records)), share(exact(records)), *cells, f"{middle:g}")
            )
    head = ("questions", "model", "method", "n", "EM", *shown, "median round")
    caption = (
        "Means per question; EM with its 95 % interval. UNANSWERABLE is the exact answer of a question without one; F1 "
        "and ROUGE-1 compare with it as with any answer. Evidence recall is the share of gold passages that any search "
        "brought, where some are known."
    )
    return Table(head, tuple(rows), f"{caption} {note}".strip())


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        parts: What it is called in the first columns.
        pairs: By measure.
    """

    parts: tuple[str, ...]
    pairs: Mapping[str, Paired]


def compare(parts: Sequence[str], a: Sequence[Record], b: Sequence[Record], what: Sequence[str]) -> Row | None:
    """Compare episodes on the questions that both have; None where there is none."""
    found = {name: paired(outcomes(a, MEASURES[name]), outcomes(b, MEASURES[name])) for name in what}
    return Row(tuple(parts), found) if all(pair.n for pair in found.values()) else None


def differences_table(head: Sequence[str], rows: Sequence[Row], what: Sequence[str], note: str = "") -> Table:
    """Differences with intervals and corrected p: one family for each measure."""
    corrected = {name: holm([row.pairs[name].sign_p for row in rows]) for name in what}
    made = []
    for i, row in enumerate(rows):
        cells: list[str] = [*row.parts, str(next(iter(row.pairs.values())).n)]
        for name in what:
            cells += [shown(row.pairs[name], name), verdict(row.pairs[name], corrected[name][i])]
        made.append(tuple(cells))
    columns = [column for name in what for column in (f"difference in {name}", "p (Holm)")]
    return Table((*head, "n", *columns), tuple(made), f"{FAMILY} {note}".strip())


def shown(pair: Paired, what: str = "EM") -> str:
    """A difference with its interval: points of shares, plain numbers of tokens and rounds."""
    if what in ("tokens", "longest prompt"):
        return f"{pair.difference:+.0f} ({pair.low:+.0f} to {pair.high:+.0f})"
    if what == "rounds":
        return f"{pair.difference:+.2f} ({pair.low:+.2f} to {pair.high:+.2f})"
    return f"{100 * pair.difference:+.1f} ({100 * pair.low:+.1f} to {100 * pair.high:+.1f})"


def verdict(pair: Paired, p: float) -> str:
    """The corrected p, bold where it and the interval both show a difference."""
    clear = p <= ALPHA and (pair.low > 0 or pair.high < 0)
    text = f"{p:.2g}"
    return f"**{text}**" if clear else text


# --- what is asked of questions and traces --------------------------------------------------------


def options_of(spec: RunSpec) -> dict[str, Any]:
    """The environment's own options of a configuration."""
    return {name: value for name, value in spec.options.items() if name != "limit"}


def facts(measured: Measured, record: Record) -> Facts:
    """Whether a question has an answer, and over how many passages it goes; published with the episode."""
    spec = measured.specs[record["cell"]]
    find = partial(_facts, spec.environment, tuple(sorted(options_of(spec).items())), record["digest"])
    answerable = measured.note(record, "answerable", lambda: find().answerable)
    return Facts(bool(answerable), int(measured.note(record, "hops", lambda: find().hops)))


@lru_cache(maxsize=8192)
def _facts(environment: str, own: tuple[tuple[str, Any], ...], digest: str) -> Facts:
    return facts_of(environment, by_digest(environment, own)[digest])


@lru_cache(maxsize=32)
def by_digest(environment: str, own: tuple[tuple[str, Any], ...]) -> dict[str, Task]:
    """The tasks of an environment by their digests."""
    return {task.digest: task for task in tasks_of(environment, dict(own))}


def no_pairs(measured: Measured) -> list[tuple[str, str, str, str]]:
    """None: differences have tables of their own, with corrected p."""
    del measured
    return []
