"""``tape why RUN [EPISODE]``: what an agent chose in each planning round, what else there was, which budget decided."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tape.cli.numbers import whole


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(
        prog="tape why",
        description="Why an agent did what it did, from the trace of an episode alone: for each planning round the "
        "chosen path beside the best others, which budget decided, and what a little more of it would buy.",
    )
    parser.add_argument("directory", type=Path, metavar="RUN", help="a run directory")
    parser.add_argument(
        "episode", nargs="?", help="number from 1, task or part of its name, or key (default: the first)"
    )
    parser.add_argument("--list", action="store_true", help="list the episodes and stop")
    parser.add_argument("--round", type=whole(), metavar="N", help="only this planning round, from 1")
    parser.add_argument("--json", action="store_true", help="print it as JSON; docs/why.md describes it")
    args = parser.parse_args(argv)
    from tape.analysis.why import about, rounds
    from tape.errors import RunDirectoryError, UnknownNameError
    from tape.runner.directory import RunDirectory
    from tape.runner.runner import find_episode
    from tape.show.progress import one_line
    from tape.trace import read_trace

    directory = RunDirectory(args.directory)
    configurations = directory.configurations()
    episodes = directory.episodes()
    several = len(configurations) > 1
    if args.list:
        for number, line in enumerate(episodes, 1):
            configuration = f"{line['cell']} | " if several else ""
            print(f"{number:4} {line['key']} {configuration}{one_line(line)}")
        return 0
    if not episodes:
        raise RunDirectoryError(f"{args.directory} holds no finished episode yet")
    line = find_episode(directory, args.episode)
    events = list(read_trace(directory.trace_file(line["key"])))
    for note in directory.learn_units():
        print(note, file=sys.stderr)
    found = rounds(events)
    if args.round is not None:
        numbers = sorted({one.number for one in found})
        if args.round not in numbers:
            raise UnknownNameError("planning round", str(args.round), map(str, numbers))
        found = [one for one in found if one.number == args.round]
    number = next(i for i, other in enumerate(episodes, 1) if other["key"] == line["key"])
    if args.json:
        episode = {name: line[name] for name in ("key", "task", "repeat", "agent", "model")}
        episode |= {"configuration": line["cell"], "number": number}
        print(json.dumps({"episode": episode, "about": about(events), "rounds": [one.to_dict() for one in found]}))
        return 0
    from tape.analysis.why.screen import write

    name = f"{line['task']} #{line['repeat']}" + (f", {line['cell']}" if several else "")
    write(f"{name} (episode {number} of {len(episodes)}, {line['key']})", about(events), found, sys.stdout)
    return 0
