"""``tape show DIR [EPISODE]``: replay an episode and draw its plan graphs."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tape.cli.numbers import real


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="tape show", description="Replay an episode and draw its plan graphs.")
    parser.add_argument("directory", type=Path, metavar="DIR", help="a run directory")
    parser.add_argument(
        "episode", nargs="?", help="number from 1, key, task, or an unambiguous part of it (default: the first)"
    )
    parser.add_argument("--list", action="store_true", help="list the episodes and stop")
    parser.add_argument("--delay", type=real(most=3600), default=0.0, help="seconds between events, to watch it play")
    parser.add_argument("--no-pictures", action="store_true")
    args = parser.parse_args(argv)
    from tape.errors import RunDirectoryError
    from tape.runner.directory import RunDirectory
    from tape.runner.runner import find_episode
    from tape.show.progress import one_line, working
    from tape.show.replay import describe, episode_name, pictures, roles
    from tape.trace import read_trace

    directory = RunDirectory(args.directory)
    configurations = directory.configurations()
    several = len(configurations) > 1
    if args.list:
        for number, line in enumerate(directory.episodes(), 1):
            configuration = f"{line['cell']} | " if several else ""
            print(f"{number:4} {line['key']} {configuration}{one_line(line)}")
        return 0
    if not directory.episodes():
        raise RunDirectoryError(f"{args.directory} holds no finished episode yet")
    line = find_episode(directory, args.episode)
    events = list(read_trace(directory.trace_file(line["key"])))
    for note in directory.learn_units():
        print(note, file=sys.stderr)
    spec = configurations.get(line["cell"])
    for text in [*(roles(spec) if spec else []), *describe(events)]:
        print(text, flush=True)
        if args.delay > 0:
            time.sleep(args.delay)
    if args.no_pictures:
        return 0
    name = episode_name(line, directory.episodes(), configurations)
    with working("drawing the plan graphs") as progress:
        drawn = pictures(events, directory.folder("plots"), name, progress)
    for path in drawn:
        print(f"written: {path}")
    return 0
