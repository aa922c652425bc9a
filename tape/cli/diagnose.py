"""``tape diagnose RUN [--replay] [-o FOLDER]``: report what became of the episodes of a run, and why."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(
        prog="tape diagnose",
        description="Say what became of the episodes of a run: end states, mismatches, replans by reason, malformed "
        "answers, where failed episodes stopped, and for the agent sdp what its subgoal chains show; and check the "
        "records again, and report what was checked and what could not be. No model is asked.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="a run directory")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FOLDER", help="also write report.md, report.html and diagnosis.json there"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these configurations of the run (default: all)")
    parser.add_argument(
        "--replay",
        action="store_true",
        help="also play every episode again, where that changes nothing outside, with the recorded answers in the "
        "place of the model, and compare all that comes out; of models that do not come with the program only the "
        "recorded actions are played",
    )
    args = parser.parse_args(argv)
    from tape.analysis.diagnosis import TITLE, diagnose, write
    from tape.show.document import markdown

    found = diagnose(args.run, args.only, replay=args.replay)
    print(markdown(TITLE, found.sections()), end="")
    if args.out is not None:
        print("\n" + "\n".join(f"written: {path}" for path in write(found, args.out)))
    return 0
