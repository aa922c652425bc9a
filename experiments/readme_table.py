"""Writes the README's tables from the committed results; ``--check`` only compares."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.end_to_end import RESULTS
from experiments.headline_table import headline_text
from experiments.solver_table import solver_text

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- results:begin -->\n", "<!-- results:end -->"
HEADLINE_BEGIN, HEADLINE_END = "<!-- headline:begin -->\n", "<!-- headline:end -->"
SOLVERS_BEGIN, SOLVERS_END = "<!-- solver table:begin -->\n", "<!-- solver table:end -->"


def results_text() -> str:
    """The section between the two marks."""
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    cells = {(g["model"], g["level_set"], g["agent"]): g for g in record["groups"]}
    models = list(dict.fromkeys(model for model, _, _ in cells))
    level_sets = list(dict.fromkeys(levels for _, levels, _ in cells))
    lines = ["| model | levels | TAPE | open-loop plan | tokens per episode: TAPE, open loop | n each |"]
    lines.append("|---|---|---|---|---|---|")
    for model in models:
        for levels in level_sets:
            ours, alone = cells[model, levels, "tape"], cells[model, levels, "open_loop"]
            row = [f"`{model}`", levels]
            for g in (ours, alone):
                low, high = g["ci95"]
                row.append(f"{g['success_rate']:.2f} ({low:.2f} to {high:.2f})")
            row.append(", ".join(f"{g['lm_tokens'] / g['episodes']:.0f}" for g in (ours, alone)))
            row.append(str(ours["episodes"]))
            lines.append("| " + " | ".join(row) + " |")
    first = record["groups"][0]
    config = first["configuration"]
    over = sum(g["budget_violations"] for g in record["groups"])
    levels = first["episodes"] // record["repeats"]
    note = (
        f"Success within the shortest solution plus 2 moves, with Wilson's 95 % interval; {levels} levels x "
        f"{record['repeats']} repeats, M = {config['num_plans']} plans, temperature {config['temperature']}, the model "
        "itself predicts what actions lead to. Same levels, model, budget and seeds for both agents. "
        f"Episodes over budget: {over}. Repeats of a level are not independent, so the intervals are too narrow as "
        f"statements about other levels. Made by `{record['command']}`."
    )
    return "\n".join([*lines, "", note, ""])


def _between(text: str, begin: str, end: str, section: str) -> str:
    """The text with what stands between two marks replaced.

    Raises:
        ValueError: A mark is not there exactly once.
    """
    for mark in (begin, end):
        if text.count(mark) != 1:
            raise ValueError(f"{README} must hold the line {mark.strip()!r} exactly once, to say where the table goes")
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    return head + begin + section + end + tail


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite the README, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if the README is stale")
    args = parser.parse_args(argv)
    text = README.read_text(encoding="utf-8")
    fresh = _between(text, BEGIN, END, results_text())
    fresh = _between(fresh, SOLVERS_BEGIN, SOLVERS_END, solver_text())
    headline = headline_text()
    if headline or HEADLINE_BEGIN in text:
        fresh = _between(fresh, HEADLINE_BEGIN, HEADLINE_END, headline)
    if args.check:
        if fresh != text:
            print("README.md is stale: run python -m experiments.readme_table", file=sys.stderr)
        return int(fresh != text)
    README.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
