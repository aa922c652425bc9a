"""How far the predictor of unknown facts can be trusted: ``python -m experiments.studies.aec.calibration``.

The model is asked directly, at a few moments of every game; a calibration is fitted on the development games and judged
on the packaged ones. Games that were asked about are kept, and the same command goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envs.alfworld.game.games import load_games
from experiments.harness import anchors
from experiments.harness.cli import guarded, positive, require_known
from experiments.harness.episodes import read_rows, write_rows
from experiments.harness.matrix import spread
from experiments.harness.published import REPORT
from experiments.studies.aec.aec import QUICK
from experiments.studies.aec.asked import SEEN, ask
from experiments.studies.aec.fitting import Pair, Reliability, isotonic, reliability
from tape.aec.predictor import PREDICTORS
from tape.aec.settings import AecSettings
from tape.errors import RunDirectoryError
from tape.lm.base import LanguageModel
from tape.reading import parse_json
from tape.runner.models import open_at_price
from tape.show.document import Figure, Section, Table, markdown, table, write_report
from tape.show.plots import Panel, Plot, Series, Value
from tape.statistics import clustered

NAME = "aec_calibration"
MODULE = "experiments.studies.aec.calibration"
TITLE = "Calibration of the predictor"
FIT, HELD_OUT = "dev", "packaged"
SIGMAS = tuple(PREDICTORS)
FILE = "predictions.parquet"
COLUMNS = ("predicate", "args", "truth", *(f"{what} {sigma}" for sigma in SIGMAS for what in ("mu", "sigma")))
"""Of a prediction, after the set and the game."""

TICKS = tuple(f"{tenth / 10:g}" for tenth in range(11))

Row = Mapping[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Ask, fit and report; returns the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--model", default="bundled:household", help="(default: %(default)s)")
    parser.add_argument("--count", type=positive, metavar="N", help="games of each set (default: all)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} games of each set, of all types")
    parser.add_argument("--samples", type=positive, default=AecSettings().ensemble, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs") / NAME, help="the same command resumes it")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--publish", type=Path, metavar="FOLDER", help="also write what the repository keeps")
    args = parser.parse_args(given)

    def run() -> int:
        require_known(args.model)
        model = open_at_price(args.model)
        rows = asked(model, args.out, args.samples, args.seed, QUICK if args.quick else args.count, quiet=args.quiet)
        asked_of = asked_in(rows)
        files = write_report(args.out, TITLE, sections(asked_of, args.model))
        if args.publish:
            write_rows(args.publish / NAME / FILE, asked_of, {"model": args.model})
            anchors.add(args.publish, [NAME], "published")
            print(f"published: {', '.join(texts(args.publish / NAME, draw=True))}")
        summary = summary_table(asked_of)
        print(table(summary.head, summary.rows))
        print(f"report: {files[0]} and {files[1]}")
        return 0

    return guarded(run, MODULE, given)


def asked(
    model: LanguageModel, out: Path, samples: int, seed: int, count: int | None, *, quiet: bool = False
) -> list[Row]:
    """Ask about the games that are missing in ``out/asked.jsonl``; all rows that belong to this command, in order.

    Raises:
        RunDirectoryError: A kept record cannot be read.
    """
    out.mkdir(parents=True, exist_ok=True)
    file = out / "asked.jsonl"
    held = {key_of(row): row for row in _rows(file)}
    games = [game for split in (FIT, HELD_OUT) for game in spread(load_games(split), count)]
    found = []
    for number, game in enumerate(games, 1):
        row: dict[str, Any] = {"model": model.identity, "samples": samples, "seed": seed, "set": game.split}
        row |= {"game": game.name, "digest": game.house.digest()[:16]}
        if key_of(row) not in held:
            answers = asyncio.run(ask(model, game, samples, seed))
            row["asked"] = [
                [a.predicate.name, list(a.predicate.args), a.truth, *(x for s in SIGMAS for x in a.estimates[s])]
                for a in answers
            ]
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(row) + "\n")
            if not quiet:
                print(f"[{number}/{len(games)}] {game.split} {game.name}: {len(answers)} predictions", flush=True)
            held[key_of(row)] = row
        found.append(held[key_of(row)])
    return found


def key_of(row: Row) -> tuple[Any, ...]:
    """What a row is about."""
    return tuple(row[name] for name in ("model", "samples", "seed", "set", "game", "digest"))


def _rows(file: Path) -> list[Row]:
    """The kept rows; a last line without an end was cut off by a kill, and is dropped from the file too."""
    if not file.exists():
        return []
    whole = file.read_bytes()
    whole = whole[: whole.rfind(b"\n") + 1]
    file.write_bytes(whole)
    found = []
    for number, line in enumerate(whole.decode("utf-8").splitlines(), 1):
        try:
            row = parse_json(line, f"{file}:{number}", error=RunDirectoryError)
            key_of(row)
        except (ValueError, KeyError, TypeError) as error:
            raise RunDirectoryError(f"{file}:{number} cannot be read: {error}; name another --out") from error
        found.append(row)
    return found


def asked_in(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The predictions, a row each, as they are published."""
    return [
        {"set": row["set"], "game": row["game"], **dict(zip(COLUMNS, asked, strict=True))}
        for row in rows
        for asked in row["asked"]
    ]


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
        f"{', '.join(f'{part:.0%}' for part in SEEN)} of the receptacles have been looked into; what is known or was "
        "looked into is not asked. `votes`: mu is the mean of the model's samples, with half an answer of each kind "
        "added, and sigma its standard error. `wordings`: mu is the mean of the model's own probabilities over as many "
        "orders in which the places are told, and sigma their standard deviation. The calibration is isotonic, fitted "
        f"on the {FIT} games; no game occurs in training."
    )
    caption = "Reliability diagrams; the dashed line is perfect calibration."
    return [
        Section(TITLE, (about, f"Made by `python -m {MODULE}`. In the paper: AEC appendix B.2.")),
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


if __name__ == "__main__":
    sys.exit(main())
