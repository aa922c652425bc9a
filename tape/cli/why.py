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
    result = rounds(opened.events)
    if args.round is not None:
        numbers = sorted({planning_round.number for planning_round in result})
        if args.round not in numbers:
            raise UnknownNameError("planning round", str(args.round), map(str, numbers))
        result = [planning_round for planning_round in result if planning_round.number == args.round]
    told = about(opened.events)
    if args.json:
        print(
            json.dumps(
                {
                    "episode": opened.record,
                    "about": told,
                    "rounds": [planning_round.to_dict() for planning_round in result],
                }
            )
        )
        return 0
    from tape.analysis.why.screen import write

    write(opened.title, told, result, sys.stdout)
    return 0
