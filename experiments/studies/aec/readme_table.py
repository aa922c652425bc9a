"""The tables on ALFWorld in docs/results.md, from the committed figures of their runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.harness.measured import Measured
from experiments.harness.methods import TAPE_PLUS
from experiments.harness.places import RESULTS
from experiments.studies.aec.methods import NAMED_WORDINGS, NAMES
from tape.reading import read_json
from tape.show.document import Table

FOLDER = RESULTS
AGENTS, CHECKS = "alfworld.json", "aec.json"
"""Figures of ``experiments.studies.aec.alfworld`` and ``experiments.studies.aec.aec``."""

KEPT = ("episodes", "levels", "success_rate", "ci95", "mean_steps", "budget_violations", "replans", "lm_tokens")
COUNTED = ("queries", "commitments", "infeasible_commitments")


def figures(measured: Measured) -> str:
    """A run's figures, as JSON."""
    rows = []
    for setting in measured.settings():
        for model in measured.models():
            for method in measured.methods():
                group = measured.group(setting, model, method)
                if group is not None:
                    facts = {name: group[name] for name in KEPT} | {name: group.get(name, 0) for name in COUNTED}
                    rows.append({"setting": setting, "model": model, "method": method, **facts})
    return json.dumps(rows, indent=1) + "\n"


def read(file: Path) -> list[dict[str, Any]]:
    """The figures, one row a configuration."""
    return [row for row in read_json(file, list[dict[str, Any]]) if row.get("model") == "household"]


def agents_table(file: Path) -> Table:
    """Success of every agent by games and budget."""
    rows = read(file)
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    body = [(method, *(_success(rows, method, setting) for setting in settings)) for method in methods]
    sizes = {row["setting"]: row["episodes"] for row in rows}
    note = (
        "Games won with as many commands as the fewest possible and 2 (tight) or 10 more (loose), 95 % intervals; n: "
        f"{', '.join(f'{name} {n}' for name, n in sizes.items())}. What is in every receptacle is told at the start, "
        f"which commands the engine admits is not. {TAPE_PLUS} `bundled:household`, M = 4. Episodes over budget: "
        f"{sum(row['budget_violations'] for row in rows)}. Made by `python -m experiments.studies.aec.alfworld --data "
        "DIR`."
    )
    return Table(("", *settings), tuple(body), note)


def checks_table(file: Path) -> Table:
    """What agents that check differently achieve and spend."""
    rows = read(file)
    body = []
    for row in rows:
        n = row["episodes"]
        low, high = row["ci95"]
        committed = f"{row['infeasible_commitments']} of {row['commitments']}" if row["commitments"] else "-"
        success = f"{row['success_rate']:.2f} ({low:.2f} to {high:.2f})"
        spent = [f"{row['mean_steps']:.1f}", f"{row['replans'] / n:.2f}", f"{row['queries'] / n:.2f}"]
        body.append((row["setting"], row["method"], str(n), success, *spent, committed, f"{row['lm_tokens'] / n:.0f}"))
    head = ("games", "agent", "n", "success", "steps", "replans", "queries", "infeasible commitments", "LM tokens")
    note = (
        "Only what the agent has seen is known; at most 50 commands; 95 % intervals; steps, replans, queries and "
        f"tokens are means per episode. Which commands the engine admits is told to no agent. {NAMES} {NAMED_WORDINGS} "
        "Made by `python -m "
        "experiments.studies.aec.aec --data DIR`."
    )
    return Table(head, tuple(body), note)


def _success(rows: list[dict[str, Any]], method: str, setting: str) -> str:
    found = next((row for row in rows if (row["method"], row["setting"]) == (method, setting)), None)
    if found is None:
        return "-"
    low, high = found["ci95"]
    return f"{found['success_rate']:.2f} ({low:.2f} to {high:.2f})"


def household_text(folder: Path = FOLDER) -> str:
    """Both tables as Markdown."""
    return "\n".join(_markdown(table) for table in (agents_table(folder / AGENTS), checks_table(folder / CHECKS)))


def _markdown(table: Table) -> str:
    lines = ["| " + " | ".join(table.head) + " |", "|---" * len(table.head) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in table.rows]
    return "\n".join([*lines, "", table.note, ""])
