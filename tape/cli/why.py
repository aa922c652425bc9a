"""``tape why RUN [EPISODE]``: what an agent chose in each planning round, what else there was, which budget decided."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from tape.cli.episodes import add_arguments, open_episode
from tape.cli.numbers import whole


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(
        prog="tape why",
        description="Why an agent did what it did, from the trace of an episode alone: for each planning round the "
        "chosen path beside the best others, which budget decided, and what a little more of it would buy.",
    )
    add_arguments(parser)
    parser.add_argument("--round", type=whole(), metavar="N", help="only this planning round, from 1")
    parser.add_argument("--json", action="store_true", help="print it as JSON; docs/reference/why.md describes it")
    args = parser.parse_args(argv)
    from tape.analysis.why import about, rounds
    from tape.errors import UnknownNameError

    opened = open_episode(args)
    if opened is None:
        return 0
    if opened.problem:
        print(opened.problem, file=sys.stderr)
    found = rounds(opened.events)
    if args.round is not None:
        numbers = sorted({one.number for one in found})
        if args.round not in numbers:
            raise UnknownNameError("planning round", str(args.round), map(str, numbers))
        found = [one for one in found if one.number == args.round]
    told = about(opened.events)
    if args.json:
        print(json.dumps({"episode": opened.record, "about": told, "rounds": [one.to_dict() for one in found]}))
        return 0
    from tape.analysis.why.screen import write

    write(opened.title, told, found, sys.stdout)
    return 0
