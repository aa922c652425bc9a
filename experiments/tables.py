"""Writes tables of the docs from the committed results and from the declared settings; ``--check`` only compares.

A table stands between lines ``<!-- table:NAME:begin -->`` and ``<!-- table:NAME:end -->`` on any page of the docs. NAME
is one of :data:`MADE`, or a section of ``experiments/tables.toml`` (:mod:`experiments.harness.excerpts`).
"""

from __future__ import annotations

import argparse
import posixpath
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from experiments.benches import planbench
from experiments.evidence import tables as evidence
from experiments.evidence.grounds import GROUNDS
from experiments.harness import earlier, excerpts
from experiments.harness.places import ROOT
from experiments.settings_table import SECTIONS, settings_text

DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))

MADE: Mapping[str, Callable[[], str]] = {
    "settings": settings_text,
    **{f"settings-{method}": partial(settings_text, method) for method in ("ablations", "aec", "sdp", "cgdp")},
    **{f"settings-{name}": made for name, made in SECTIONS.items()},
    "earlier": earlier.text,
    **{f"evidence-{name}": partial(evidence.table, name) for name in GROUNDS if evidence.rows(name)},
    "evidence-gsm_hard_development": partial(evidence.table, "gsm_hard_development"),
    "evidence-gsm_hard-frontier": partial(evidence.frontier, "gsm_hard"),
    "planbench": planbench.committed,
    "up-cases": planbench.compared,
    "evidence-planning": evidence.planning,
    "evidence": evidence.overview,
    "evidence-compared": evidence.compared,
    "evidence-parts": evidence.parts,
    "evidence-calibration": evidence.calibration,
}
"""The tables that a function makes; all others are declared."""

_BLOCK = re.compile(r"^<!-- table:([\w-]+):begin -->\n(.*?)^<!-- table:\1:end -->", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s:#]+)(#[^)\s]*)?\)")


def written(page: str, text: str) -> str:
    """A page, named by its path in docs/, with its tables as they follow from the results.

    Raises:
        ValueError: A mark has no fellow, or names no table.
    """
    known: dict[str, Callable[[], str]] = {**MADE, **{n: partial(excerpts.text, n) for n in excerpts.declared()}}
    blocks = [match[1] for match in _BLOCK.finditer(text)]
    if len(re.findall("^<!-- table:", text, re.MULTILINE)) != 2 * len(blocks) or set(blocks) - set(known):
        raise ValueError(f"docs/{page}: each mark needs its fellow and a table; found {blocks}, known: {[*known]}")
    return _BLOCK.sub(
        lambda m: f"<!-- table:{m[1]}:begin -->\n{_relinked(page, known[m[1]]())}<!-- table:{m[1]}:end -->", text
    )


def _relinked(page: str, table: str) -> str:
    """A table whose links lead from the page's folder; those that it was made with lead from docs/."""
    return _LINK.sub(lambda m: f"]({posixpath.relpath(m[1], posixpath.dirname(page) or '.')}{m[2] or ''})", table)


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite the pages, or compare."""
    parser = argparse.ArgumentParser(prog="python -m experiments.tables", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if a page is stale")
    args = parser.parse_args(argv)
    stale = 0
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        fresh = written(posixpath.relpath(path.as_posix(), DOCS.as_posix()), text)
        if fresh == text:
            continue
        stale = 1
        if args.check:
            print(f"{path.relative_to(ROOT)} is stale: run python -m experiments.tables", file=sys.stderr)
        else:
            path.write_text(fresh, encoding="utf-8")
    return stale if args.check else 0


if __name__ == "__main__":
    sys.exit(main())
