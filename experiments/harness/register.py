"""The list of all runs on the test sets of Sokoban, ScienceWorld, tools and the search environments.

Every study writes it as it plays, and nothing is ever taken out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envs.sokoban.level_sets import TEST_SETS
from experiments.harness.document import Table
from experiments.harness.matrix import short, split
from experiments.harness.measured import Measured
from experiments.harness.methods import TAPE
from experiments.harness.places import RESULTS
from tape.files import replace_file
from tape.reading import parse_json, read_json, read_text
from tape.runner.spec import RunSpec

FILE = RESULTS / "test_set_runs.json"
ANCHORS = "anchors.json"
"""Beside the list: see :mod:`experiments.harness.anchors`."""

COPY = "test_set_runs.json"
"""Beside the run: the list as it was when the run ended, for its report."""

ENGINE = "3"
"""Label of the engine; raise it with every change that may change an episode. Entries name their sources anyway."""

OURS = (TAPE.label, "TAPE (LM world model)")
"""What the engine with all its additions is called, and was until engine 2."""


SCIENCEWORLD, OFFICIAL_GAMES = "scienceworld-test", "alfworld-official"
BY_PART = ("bfcl", "agentdojo")
"""Environments whose ``--part test`` is a test set of public data."""
OWN_PARTS = {
    "musique_search": ("questions", "data"),
    "locomo": ("part", "data"),
    "repo_qa": ("part", "questions"),
    "gsm_hard": ("problems", "data"),
    "musique": ("questions", "data"),
    "tool_chains": ("problems", "data"),
    "hotpotqa": ("questions", "data"),
    "travelplanner": ("problems", "data"),
}
"""By environment the option that names a part of our own tasks, and the one that reads public ones."""
DESK = "desk.json"
"""The file with the requests of the service desk (experiments/desk.json)."""
LOCOMO_HELD_OUT = "locomo-public-held-out"
"""Questions of a public file by ``--categories``: what is played by default was used for development."""


def test_set(spec: RunSpec) -> str | None:
    """The test set that a configuration plays; None if it plays none."""
    if spec.environment == "scienceworld":
        return SCIENCEWORLD if spec.options.get("split") == "test" else None
    if spec.environment in BY_PART:
        return f"{spec.environment}-test" if spec.options.get("part") == "test" else None
    if Path(str(spec.options.get("data"))).name == DESK:
        return DESK
    if spec.environment == "alfworld":
        return OFFICIAL_GAMES if spec.options.get("data") else None
    if spec.environment == "locomo" and {*str(spec.options.get("categories") or "4").split(",")} & {"1", "2", "3"}:
        return LOCOMO_HELD_OUT
    if spec.environment in OWN_PARTS:
        part, public = OWN_PARTS[spec.environment]
        own_test = spec.options.get(part) == "test" and not spec.options.get(public)
        return f"{spec.environment}-test" if own_test else None
    levels = spec.options.get("levels") if spec.environment == "sokoban" else None
    return levels if levels in TEST_SETS else None


def entry(measured: Measured) -> dict[str, Any] | None:
    """What a run adds to the list; None if it played nothing of a test set."""
    sets = {name: text for name, spec in measured.specs.items() if (text := test_set(spec))}
    played = {name: measured.groups[name] for name in sets if name in measured.groups}
    if not played:
        return None
    specs = [measured.specs[name] for name in sets]
    return {
        "study": measured.directory.title(),
        "sets": list(dict.fromkeys(sets.values())),
        "engine": ENGINE,
        "source": measured.directory.versions()["sources"],
        "commit": measured.directory.commit(),
        "models": {spec.model: spec.model_identity for spec in specs},
        "seed": specs[0].seed,
        "seeds": specs[0].repeats,
        "levels": max(group["levels"] for group in played.values()),
        "complete": measured.missing() == 0,
        "solved": {name: [group["successes"], group["episodes"]] for name, group in played.items()},
    }


def note(measured: Measured, file: Path) -> dict[str, Any] | None:
    """List a run if it played a test set, and keep the list beside it.

    Args:
        measured: The run, complete or not.
        file: The list.

    Returns:
        The new entry, if there is one.
    """
    new = entry(measured)
    if new is not None:
        write(measured.directory.path / COPY, add(file, new))
    return new


def read(file: Path) -> list[dict[str, Any]]:
    """The entries, the oldest first: one a line, so that lines that a merge has put together need no commas."""
    lines = (line.strip().rstrip(",") for line in read_text(file).splitlines()) if file.exists() else ()
    return [parse_json(line, str(file)) for line in lines if line.startswith("{")]


def digest(held: Any) -> str:
    """A digest of a value that JSON takes, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()[:16]


def write(file: Path, entries: list[dict[str, Any]]) -> None:
    """Write the list, an entry a line."""
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, "[\n" + ",\n".join(" " + json.dumps(held) for held in entries) + "\n]\n")


def add(file: Path, new: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Put an entry in the list; it takes the place of an incomplete one of the same run, and of an equal one.

    An entry that is anchored is never changed: then a completed one is added, and an equal one is not listed twice.

    Returns:
        All entries.
    """
    known = ("study", "sets", "engine", "source", "models", "seed", "seeds")
    entries = read(file)
    same = [
        i
        for i, held in enumerate(entries)
        if all(held.get(key) == new.get(key) for key in known)
        and (not held["complete"] or held["solved"] == new["solved"])
    ]
    chain = file.with_name(ANCHORS)
    anchors = read_json(chain, list[dict[str, Any]]) if chain.exists() else []
    anchored = {run for anchor in anchors for run in anchor["runs"]}
    free = [i for i in same if digest(entries[i]) not in anchored]
    if free:
        entries[free[0]] = dict(new)
    elif not any(entries[i]["complete"] for i in same):
        entries.append(dict(new))
    write(file, entries)
    return entries


def table(entries: list[dict[str, Any]]) -> Table:
    """All runs, with the share of what TAPE+ solved by level set and model."""
    rows = []
    for held in entries:
        shares = []
        for name, (wins, n) in held["solved"].items():
            setting, model, method = split(name)
            if method in OURS and n:
                where = f"{setting}, " if len(held["sets"]) > 1 or setting not in held["sets"] else ""
                shares.append(f"{where}`{model}` {wins / n:.2f} ({n})")
        commit = (held["commit"] or "unknown")[:10]
        extent = f"{held['levels']} levels x {held['seeds']}" + ("" if held["complete"] else ", incomplete")
        sets = ", ".join(f"`{name}`" for name in held["sets"])
        sources = f"`{held['source'][:8]}`"
        shown = "; ".join(shares) or ", ".join(f"`{short(model)}`" for model in held["models"])
        rows.append((held["engine"], held["study"], sets, sources, f"`{commit}`", extent, shown))
    head = ("engine", "study", "level sets", "source", "commit", "played", f"{TAPE.label} (n)")
    return Table(head, tuple(rows), "Every run on a test set, the oldest first.")
