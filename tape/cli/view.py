"""``tape view RUN [RUN2] [-o run.html]``: one HTML page of a run, of two runs side by side, or of single traces."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

EXPLAINED = 100
"""Pages of more episodes show what a little more budget would buy only on request."""


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    args = _parser().parse_args(argv)
    from tape.analysis.why import about, rounds
    from tape.files import replace_file
    from tape.show.console import GuardedConsole
    from tape.show.progress import working
    from tape.show.view.page import build_page
    from tape.show.view.sources import open_sources
    from tape.trace import Event

    if args.out is not None:
        _require_place(args.out)
    sources = open_sources(args.paths)
    out = args.out or default_out(args.paths)
    episodes = sum(len(source.entries) for source in sources)
    relax = args.explain or episodes <= EXPLAINED

    def why(events: Sequence[Event]) -> tuple[list[dict[str, Any]], list[str]]:
        return [planning_round.to_dict() for planning_round in rounds(events, relax=relax)], about(events)

    with working("reading the episodes", GuardedConsole(sys.stderr)) as progress:
        page = build_page(sources, why, progress).encode("utf-8", "backslashreplace")
    replace_file(out, page)
    print(f"written: {out} ({episodes} episode{'' if episodes == 1 else 's'}, {len(page) / 1e6:.1f} MB)")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tape view",
        description="Write one HTML page of a run, of two runs side by side, or of single traces: results with their "
        "intervals, and for each episode its timeline, plan graphs and budgets. The page needs neither a server nor a "
        "network.",
    )
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="RUN", help="a run directory, two of them, or any number of trace files"
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="FILE.html",
        help="where to write the page (default: in RUN, or beside the trace)",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help=f"show for every plan what a little more budget would buy, also of more than {EXPLAINED} episodes; "
        "it may take a second an episode",
    )
    return parser


def default_out(paths: Sequence[Path]) -> Path:
    """In the first run, or beside the first trace."""
    first = paths[0]
    if first.is_file():
        return first.with_suffix(".html")
    return first / ("view.html" if len(paths) == 1 else "compare.html")


def _require_place(out: Path) -> None:
    """Refuse a place where no page can be written, before anything is read."""
    from tape.errors import ConfigError

    if out.suffix not in (".html", ".htm"):
        raise ConfigError(f"{out}: a page ends in .html; name it {out.with_suffix('.html')}")
    if out.is_dir():
        raise ConfigError(f"{out} is a folder; name a file, for instance {out / 'run.html'}")
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"the folder {out.parent} does not exist; make it first, or name another place with --out")
