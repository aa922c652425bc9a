"""The list of all runs on the test set: one entry per version of the engine, none is ever taken out."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from experiments.harness.matrix import short, split
from experiments.harness.measured import Measured
from experiments.harness.methods import TAPE
from experiments.harness.places import RESULTS
from tape.files import replace_file
from tape.reading import read_json
from tape.show.document import Table

FILE = RESULTS / "test_set_runs.json"
TEST_SET = "hard-test"
ENGINE = "2"
"""Label of the engine; raise it with every change that may change an episode. Entries tell sources apart anyway."""


def entry(measured: Measured, engine: str, settings: Collection[str] | None = None) -> dict[str, Any] | None:
    """What a run adds to the list; None if it played nothing of the test set.

    Args:
        measured: The run.
        engine: The engine's label.
        settings: Settings that are played on a test set; :data:`TEST_SET` by default.
    """
    played = {name: group for name, group in measured.groups.items() if split(name)[0] in (settings or (TEST_SET,))}
    if not played:
        return None
    specs = [measured.specs[name] for name in played]
    return {
        "engine": engine,
        "source": measured.directory.versions()["sources"],
        "commit": measured.directory.commit(),
        "models": {spec.model: spec.model_identity for spec in specs},
        "seed": specs[0].seed,
        "seeds": specs[0].repeats,
        "levels": max(group["levels"] for group in played.values()),
        "complete": measured.missing() == 0,
        "solved": {name: [group["successes"], group["episodes"]] for name, group in played.items()},
    }


def read(file: Path) -> list[dict[str, Any]]:
    """The entries, the oldest first."""
    return read_json(file, list[dict[str, Any]]) if file.exists() else []


def add(file: Path, new: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Put an entry in the list; it takes the place of an incomplete one of the same run, and of an equal one.

    Returns:
        All entries.
    """
    known = ("engine", "source", "models", "seed", "seeds", "levels")
    entries = read(file)
    same = [
        i
        for i, held in enumerate(entries)
        if all(held[key] == new[key] for key in known) and (not held["complete"] or held["solved"] == new["solved"])
    ]
    if same:
        entries[same[0]] = dict(new)
    else:
        entries.append(dict(new))
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, "[\n" + ",\n".join(" " + json.dumps(held) for held in entries) + "\n]\n")
    return entries


def table(entries: list[dict[str, Any]]) -> Table:
    """All runs, with TAPE's success by model."""
    models = list(dict.fromkeys(short(model) for held in entries for model in held["models"]))
    rows = []
    for held in entries:
        solved = {split(name)[1:]: counts for name, counts in held["solved"].items()}
        shares = []
        for model in models:
            wins, n = solved.get((model, TAPE.label), (0, 0))
            shares.append(f"{wins / n:.2f} ({n})" if n else "-")
        commit = (held["commit"] or "unknown")[:10]
        extent = f"{held['levels']} levels x {held['seeds']}" + ("" if held["complete"] else ", incomplete")
        rows.append((held["engine"], f"`{held['source'][:8]}`", f"`{commit}`", extent, *shares))
    head = ("engine", "source", "commit", "played", *(f"TAPE, `{model}` (n)" for model in models))
    return Table(head, tuple(rows), "Every run on the test set, the oldest first.")
