"""``tape solvers``: what can be used here, and why something cannot."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    argparse.ArgumentParser(prog="tape solvers", description="List the solvers usable here.").parse_args(argv)
    import solvers

    rows = solvers.available()
    width = max(len(row.name) for row in rows)
    for row in rows:
        state = "" if row.available else f"   not usable: {row.reason}"
        print(f"{row.name:<{width}}  {row.summary}{state}")
    return 0
