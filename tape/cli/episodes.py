"""The episode that ``tape show`` and ``tape why`` are about: one of a run directory, or that of a trace file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tape.runner.spec import RunSpec
    from tape.trace import Event


class Opened(NamedTuple):
    """An episode to be shown: its title and record, its events, and what is wrong with the rest of the trace.

    ``spec`` is how it was played, None of a single trace; ``pictures`` gives the folder for its pictures and what it
    is called in them, and raises where none may be written.
    """

    title: str
    record: dict[str, Any]
    events: list[Event]
    problem: str
    spec: RunSpec | None
    pictures: Callable[[], tuple[Path, str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that name an episode."""
    parser.add_argument("run", type=Path, metavar="RUN", help="a run directory, or the trace file of an episode")
    text = "of a run directory: number from 1, key, task, or an unambiguous part of it (default: the first)"
    parser.add_argument("episode", nargs="?", help=text)
    parser.add_argument("--list", action="store_true", help="list the episodes and stop")


def open_episode(args: argparse.Namespace) -> Opened | None:
    """The episode that a command line names; None where it asks for the list, which is printed."""
    from tape.show.progress import one_line
    from tape.show.view.episode import result_of
    from tape.show.view.sources import Entry, is_trace, read_events
    from tape.trace import StartedEvent

    path: Path = args.run
    if not is_trace(path):
        return _of_run(path, args)
    if args.episode is not None:
        from tape.errors import ConfigError

        raise ConfigError(f"{path} is the trace of one episode; leave {args.episode!r} out, or name a run directory")
    events, problem = read_events(Entry(path.stem, path))
    if args.list:
        print(f"{1:4} {one_line({'task': path.stem, 'repeat': 0, 'result': result_of(events, None)})}")
        return None
    config = next((event.config for event in events if isinstance(event, StartedEvent)), {})
    record = {"key": path.stem, "task": path.stem, "repeat": 0, "configuration": None, "number": 1}
    record |= {name: config.get(name) for name in ("agent", "model")}
    return Opened(path.name, record, events, problem, None, lambda: (path.parent, path.stem))


def _of_run(path: Path, args: argparse.Namespace) -> Opened | None:
    from tape.errors import RunDirectoryError
    from tape.runner.directory import RunDirectory
    from tape.runner.runner import find_episode
    from tape.show.progress import one_line
    from tape.show.replay import episode_name
    from tape.show.view.sources import Entry, read_events

    directory = RunDirectory(path)
    configurations, episodes = directory.configurations(), directory.episodes()
    several = len(configurations) > 1
    if args.list:
        for number, line in enumerate(episodes, 1):
            configuration = f"{line['cell']} | " if several else ""
            print(f"{number:4} {line['key']} {configuration}{one_line(line)}")
        return None
    if not episodes:
        raise RunDirectoryError(f"{path} holds no finished episode yet")
    line = find_episode(directory, args.episode)
    events, problem = read_events(Entry(line["key"], directory.trace_file(line["key"])))
    for note in directory.learn_units():
        print(note, file=sys.stderr)
    number = next(i for i, other in enumerate(episodes, 1) if other["key"] == line["key"])
    record = {name: line[name] for name in ("key", "task", "repeat", "agent", "model")}
    record |= {"configuration": line["cell"], "number": number}
    named = f"{line['task']} #{line['repeat']}" + (f", {line['cell']}" if several else "")
    title = f"{named} (episode {number} of {len(episodes)}, {line['key']})"
    spec = configurations.get(line["cell"])
    return Opened(
        title, record, events, problem, spec,
        lambda: (directory.folder("plots"), episode_name(line, episodes, configurations)),
    )  # fmt: skip
