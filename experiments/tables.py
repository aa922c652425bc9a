"""Writes the tables of ``docs/results.md`` from the committed results; ``--check`` only compares."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from experiments.benches.rcsp.table import rcsp_text
from experiments.benches.solvers.table import solver_text
from experiments.harness.places import ROOT
from experiments.studies.aec.readme_table import household_text
from experiments.studies.sdp.results_table import sdp_text
from experiments.studies.tape.headline_table import headline_text
from experiments.studies.tools.table import tool_text

PAGE = ROOT / "docs" / "results.md"
HEADLINE_BEGIN, HEADLINE_END = "<!-- headline:begin -->\n", "<!-- headline:end -->"
SOLVERS_BEGIN, SOLVERS_END = "<!-- solver table:begin -->\n", "<!-- solver table:end -->"

TOOLS_BEGIN, TOOLS_END = "<!-- tools:begin -->\n", "<!-- tools:end -->"
SDP_BEGIN, SDP_END = "<!-- sdp:begin -->\n", "<!-- sdp:end -->"
HOMES_BEGIN, HOMES_END = "<!-- households:begin -->\n", "<!-- households:end -->"


def _between(text: str, begin: str, end: str, section: str) -> str:
    """The text with what stands between two marks replaced.

    Raises:
        ValueError: A mark is not there exactly once.
    """
    for mark in (begin, end):
        if text.count(mark) != 1:
            raise ValueError(f"{PAGE} must hold the line {mark.strip()!r} exactly once, to say where the table goes")
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    return head + begin + section + end + tail


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite the page, or compare."""
    parser = argparse.ArgumentParser(prog="python -m experiments.tables", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if the page is stale")
    args = parser.parse_args(argv)
    text = PAGE.read_text(encoding="utf-8")
    fresh = _between(text, HEADLINE_BEGIN, HEADLINE_END, headline_text())
    fresh = _between(fresh, SOLVERS_BEGIN, SOLVERS_END, solver_text() + rcsp_text())
    fresh = _between(fresh, TOOLS_BEGIN, TOOLS_END, tool_text())
    fresh = _between(fresh, HOMES_BEGIN, HOMES_END, household_text())
    fresh = _between(fresh, SDP_BEGIN, SDP_END, sdp_text())
    if args.check:
        if fresh != text:
            print("docs/results.md is stale: run python -m experiments.tables", file=sys.stderr)
        return int(fresh != text)
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
