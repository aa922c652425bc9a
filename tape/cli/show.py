"""``tape show RUN [EPISODE]``: replay an episode and draw its plan graphs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from tape.cli.episodes import add_arguments, open_episode
from tape.cli.numbers import real


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="tape show", description="Replay an episode and draw its plan graphs.")
    add_arguments(parser)
    parser.add_argument("--delay", type=real(most=3600), default=0.0, help="seconds between events, to watch it play")
    parser.add_argument("--no-pictures", action="store_true")
    args = parser.parse_args(argv)
    from tape.show.progress import working
    from tape.show.replay import describe, pictures, roles

    opened = open_episode(args)
    if opened is None:
        return 0
    for text in [*(roles(opened.spec) if opened.spec else []), *describe(opened.events)]:
        print(text, flush=True)
        if args.delay > 0:
            time.sleep(args.delay)
    if opened.problem:
        print(opened.problem)
    if args.no_pictures:
        return 0
    with working("drawing the plan graphs") as progress:
        drawn = pictures(opened.events, *opened.pictures(), progress)
    for path in drawn:
        print(f"written: {path}")
    return 0
