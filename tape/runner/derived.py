"""Files that are derived from ``episodes.jsonl``; they do not depend on the order in which workers commit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tape.errors import RunDirectoryError
from tape.files import replace_file
from tape.runner.commits import unwritten
from tape.runner.directory import SCHEMA, RunDirectory
from tape.runner.results import write_results
from tape.runner.summary import escaped, summarise, table


def write_derived(directory: RunDirectory) -> list[dict[str, Any]]:
    """Rebuild ``summary.json``, ``summary.md``, ``results.csv`` and ``results.parquet``.

    The last needs the extra ``parquet``; without it the file is left out, with a warning.

    Returns:
        The summary's groups.

    Raises:
        RunDirectoryError: There is no readable run, this process has lost its lock on it, or a file cannot be written.
    """
    directory.require_held()
    configurations, title = directory.configurations(), directory.title()
    episodes = in_order(directory.episodes(), list(configurations))
    groups = summarise(configurations, episodes)
    record = {"schema": SCHEMA, "title": title, "groups": groups}
    head = f"# {escaped(title)}\n\n" if title else ""
    try:
        replace_file(directory.path / "summary.json", json.dumps(record, indent=1) + "\n")
        replace_file(directory.path / "summary.md", (head + table(groups)).encode("utf-8", "backslashreplace"))
        write_results(directory.path, episodes)
    except OSError as error:
        raise unwritten(Path(error.filename or directory.path), error) from error
    return groups


def in_order(episodes: Sequence[Mapping[str, Any]], configurations: Sequence[str]) -> list[Mapping[str, Any]]:
    """Episodes by configuration, in the order of the run, then level set, task (2 before 10) and repeat.

    Raises:
        RunDirectoryError: An episode belongs to no configuration of the run.
    """
    places = {name: number for number, name in enumerate(configurations)}
    for line in episodes:
        if line.get("cell") not in places:
            raise RunDirectoryError(
                f"episode {line.get('key')} belongs to {line.get('cell')!r}, but config.json does not know it; "
                "restore the config.json of the run"
            )

    def place(line: Mapping[str, Any]) -> tuple[Any, ...]:
        names = (natural(line["level_set"]), natural(line["task"]))
        return places[line["cell"]], *names, line["digest"], line["repeat"], line["key"]

    return sorted(episodes, key=place)


def natural(text: str) -> tuple[str | tuple[int, str], ...]:
    """A sort key that puts ``level 2`` before ``level 10``."""
    parts = enumerate(re.split(r"([0-9]+)", text))
    return tuple(_whole(part) if i % 2 else part for i, part in parts)


def _whole(digits: str) -> tuple[int, str]:
    """A sort key like the number; titles may have more digits than ``int`` reads."""
    least = digits.lstrip("0")
    return len(least), least
