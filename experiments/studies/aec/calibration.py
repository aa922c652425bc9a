"""How far the predictor of unknown facts can be trusted (AEC appendix B.2), from answers that are published.

The model was asked directly, once, at a few moments of every game, by a programme that is gone. A calibration is fitted
on the development games and judged on the packaged ones.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.harness.episodes import read_rows
from experiments.harness.published import REPORT
from experiments.studies.aec.fitting import Pair, Reliability, isotonic, reliability
from tape.aec.settings import AecSettings
from tape.show.document import Figure, Section, Table, markdown, write_report
from tape.show.plots import Panel, Plot, Series, Value
from tape.statistics import clustered

TITLE = "Calibration of the predictor"
FIT, HELD_OUT = "dev", "packaged"
SIGMAS = ("votes", "wordings")
"""The predictors, by where their uncertainty comes from; the second one was removed."""

FILE = "predictions.parquet"
ONCE = (
    "Asked once. The programme that asked and the predictor `wordings` are gone, last in commit `ee2ff51`; "
    "`python -m experiments.report --check` recomputes every figure from the answers."
)
TICKS = tuple(f"{tenth / 10:g}" for tenth in range(11))

Row = Mapping[str, Any]


def texts(folder: Path, *, draw: bool = False) -> dict[str, str]:
    """What follows from the published predictions in a folder: the report.

    Args:
        folder: Where they are.
        draw: Whether the report and its figure are written there, too.
    """
    rows, about = read_rows(folder / FILE)
    found = sections(rows, about["model"])
    if draw:
        write_report(folder, TITLE, found, html_too=False)
    return {REPORT: markdown(TITLE, found)}


def pairs_of(rows: Sequence[Row], sigma: str, name: str = "") -> list[Pair]:
    """Predictions and truths, of all predicates or those of one name."""
    return [(row[f"mu {sigma}"], bool(row["truth"])) for row in rows if name in ("", row["predicate"])]


def measured(rows: Sequence[Row]) -> dict[str, tuple[list[Row], list[Pair], Reliability]]:
    """By predictor: the rows, its predictions and how reliable they are.

    The calibration is fitted on the development games, so only its row on the packaged games says anything.
    """
    fit, held = ([row for row in rows if row["set"] == name] for name in (FIT, HELD_OUT))
    found = {}
    for sigma in SIGMAS:
        calibration = isotonic(pairs_of(fit, sigma))
        corrected = [(calibration(mu), truth) for mu, truth in pairs_of(held, sigma)]
        found[f"{sigma}, {FIT} games"] = fit, pairs_of(fit, sigma)
        found[f"{sigma}, {HELD_OUT} games"] = held, pairs_of(held, sigma)
        found[f"{sigma}, calibrated on {FIT}, {HELD_OUT} games"] = held, corrected
    return {name: (mine, pairs, reliability(pairs)) for name, (mine, pairs) in found.items()}


def summary_table(rows: Sequence[Row]) -> Table:
    """ECE and Brier score of every predictor, and by predicate."""
    made = []
    for name, (mine, pairs, found) in measured(rows).items():
        games = [row["game"] for row in mine]
        low, high = clustered([(mu - truth) ** 2 for mu, truth in pairs], games, resamples=2000)
        row = (
            name,
            f"{found.n} ({len(set(games))})",
            f"{found.ece:.3f}",
            f"{found.brier:.3f} ({low:.3f} to {high:.3f})",
        )
        made.append((*row, f"{sum(truth for _, truth in pairs) / max(1, len(pairs)):.2f}"))
    held = [row for row in rows if row["set"] == HELD_OUT]
    for kind in sorted({row["predicate"] for row in rows}):
        for sigma in SIGMAS:
            found = reliability(pairs_of(held, sigma, kind))
            name = f"{sigma}, {HELD_OUT} games, `{kind}` alone"
            made.append((name, str(found.n), f"{found.ece:.3f}", f"{found.brier:.3f}", "-"))
    note = (
        "ECE: mean distance of predicted and true share over ten bins; Brier: mean squared error, with a 95 % interval "
        "by bootstrap over games; n counts predictions (games). Predictions of one moment depend on each other: a "
        "thing is in few places."
    )
    return Table(("predictor", "n", "ECE", "Brier", "share true"), tuple(made), note)


def sigma_table(rows: Sequence[Row]) -> Table:
    """Whether the uncertainty of predictions separates right from wrong ones."""
    margin, made = AecSettings().margin, []
    for name in (FIT, HELD_OUT):
        for sigma in SIGMAS:
            mine = [row for row in rows if row["set"] == name]
            for what, least in (("all", 0.0), ("clear", margin)):
                chosen = [row for row in mine if abs(row[f"mu {sigma}"] - 0.5) >= least - 1e-9]
                wrong = [(row[f"mu {sigma}"] >= 0.5) != bool(row["truth"]) for row in chosen]
                sigmas = [row[f"sigma {sigma}"] for row in chosen]
                distances = [-abs(row[f"mu {sigma}"] - 0.5) for row in chosen]
                numbers = (
                    f"{most:.3f}" for most in (max(sigmas, default=0.0), above(sigmas, wrong), above(distances, wrong))
                )
                made.append((name, sigma, what, str(len(chosen)), str(sum(wrong)), *numbers))
    note = (
        f"Clear: mu is at least {margin:g} away from 1/2, so that sigma alone decides whether it is believed. The last "
        "two columns: how often a wrong prediction has the larger sigma than a right one (1/2: sigma says nothing), "
        "and how often it is nearer to 1/2. With votes sigma is a function of mu, so it adds nothing to the margin."
    )
    head = ("games", "sigma", "predictions", "n", "wrong", "largest sigma", "sigma tells", "mu alone tells")
    return Table(head, tuple(made), note)


def above(values: Sequence[float], flags: Sequence[bool]) -> float:
    """How often a flagged value is above one that is not; equal ones count half. Nan where one kind is missing."""
    values = [round(value, 9) for value in values]  # ties are ties, whatever their last digit
    plain = sorted(value for value, flag in zip(values, flags, strict=True) if not flag)
    marked = [value for value, flag in zip(values, flags, strict=True) if flag]
    if not plain or not marked:
        return math.nan
    return math.fsum(bisect_left(plain, v) + bisect_right(plain, v) for v in marked) / (2 * len(plain) * len(marked))


def sections(rows: Sequence[Row], model: str) -> list[Section]:
    """The report."""
    found = {name: third for name, (_, _, third) in measured(rows).items() if "calibrated" not in name}
    plot = Plot("lines", tuple(map(_panel, found, found.values())), "share that was true", "mean prediction", TICKS)
    about = (
        f"`{model}` is asked where the goal's kinds of objects are and whether receptacles are closed, when "
        "0%, 25%, 50% of the receptacles have been looked into; what is known or was "
        "looked into is not asked. `votes`: mu is the mean of the model's samples, with half an answer of each kind "
        "added, and sigma its standard error. `wordings`: mu is the mean of the model's own probabilities over as many "
        "orders in which the places are told, and sigma their standard deviation. The calibration is isotonic, fitted "
        f"on the {FIT} games; no game occurs in training."
    )
    caption = "Reliability diagrams; the dashed line is perfect calibration."
    return [
        Section(TITLE, (about, f"{ONCE} In the paper: AEC appendix B.2.")),
        Section("Figures", (summary_table(rows), Figure("reliability", caption, plot)), 3),
        Section("Does sigma say anything?", (sigma_table(rows),), 3),
    ]


def _panel(name: str, found: Reliability) -> Panel:
    """Of a predictor the share that was true by what was predicted, with 95 % intervals."""
    filled = [one for one in found.bins if one.n]
    shares = tuple(Value(one.frequency, one.frequency_low, one.frequency_high) for one in filled)
    perfect = Series("perfect", (Value(0.0, 0.0, 0.0), Value(1.0, 1.0, 1.0)), "plain", (0.0, 10.0))
    series = (Series("predictor", shares, "strong", tuple(10 * one.mean for one in filled)), perfect)
    return Panel(f"{name}\nn = {found.n}, ECE {found.ece:.3f}, Brier {found.brier:.3f}", series)
