"""Writes tables of the docs from the committed results and from the declared settings; ``--check`` only compares."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from experiments.benches.solvers.table import solver_text
from experiments.harness.places import ROOT
from experiments.settings_table import settings_text
from experiments.studies.aec.readme_table import alfworld_text
from experiments.studies.sdp.results_table import hops_text, sdp_text
from experiments.studies.tape.headline_table import headline_text
from experiments.studies.tools.table import tool_text

DOCS = ROOT / "docs"

PAGES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "results.md": {
        "headline": headline_text,
        "solver table": solver_text,
        "tools": tool_text,
        "households": alfworld_text,
        "sdp": sdp_text,
    },
    "hotpotqa.md": {"hops": hops_text},
    "engine.md": {"settings": settings_text},
    "aec.md": {"settings": partial(settings_text, "aec")},
    "sdp.md": {"settings": partial(settings_text, "sdp")},
    "cgdp.md": {"settings": partial(settings_text, "cgdp")},
}
"""By page, the tables between the marks ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->``."""


def _written(page: str, text: str) -> str:
    """A page with its tables as they follow from the results.

    Raises:
        ValueError: A mark is not there exactly once.
    """
    for name, section in PAGES[page].items():
        begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
        for mark in (begin, end):
            if text.count(mark) != 1:
                raise ValueError(f"docs/{page} must hold {mark.strip()!r} exactly once, to say where the table goes")
        head, rest = text.split(begin)
        _, tail = rest.split(end)
        text = head + begin + section() + end + tail
    return text


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite the pages, or compare."""
    parser = argparse.ArgumentParser(prog="python -m experiments.tables", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if a page is stale")
    args = parser.parse_args(argv)
    stale = 0
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        fresh = _written(page, text)
        if fresh == text:
            continue
        stale = 1
        if args.check:
            print(f"docs/{page} is stale: run python -m experiments.tables", file=sys.stderr)
        else:
            (DOCS / page).write_text(fresh, encoding="utf-8")
    return stale if args.check else 0


if __name__ == "__main__":
    sys.exit(main())
