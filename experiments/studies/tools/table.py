"""The table of tool environments in docs/results.md, from the committed figures of the runs on their test sets."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.harness import register
from experiments.harness.measured import Measured
from experiments.harness.places import RESULTS
from tape.files import replace_file
from tape.reading import read_json
from tape.show.document import Table

FILE = RESULTS / "tools.json"
RUNS = "tool_test_set_runs.json"
"""The list of all runs on the test sets."""

NAMES = {"gsm_hard": "GSM-Hard", "musique": "MuSiQue"}
KEPT = ("episodes", "levels", "success_rate", "ci95", "budget_violations", "measures", "mean_used")


def publish(environment: str, chosen: Mapping[str, Any], args: argparse.Namespace, measured: Measured) -> None:
    """List a run on the test set where it is published, and keep its figures for the table in docs/results.md."""
    tested = not chosen.get("data") and "test" in (chosen.get("problems"), chosen.get("questions"))
    new = register.entry(measured, register.ENGINE, measured.settings())
    if not tested or new is None:
        return
    register.add(args.publish / RUNS, {"environment": environment, "options": dict(chosen), **new})
    keep(args.publish / FILE.name, environment, measured)


def keep(file: Path, environment: str, measured: Measured) -> None:
    """Put a run's figures in the file, in the place of those of an earlier one on the same environment."""
    held = read_json(file, dict[str, Any]) if file.exists() else {}
    rows = []
    for setting in measured.settings():
        for model in measured.models():
            for method in measured.methods():
                group = measured.group(setting, model, method)
                if group is not None:
                    facts = {name: group[name] for name in KEPT}
                    rows.append({"budget": setting, "model": model, "method": method, **facts})
    held[environment] = rows
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, json.dumps(dict(sorted(held.items())), indent=1) + "\n")


def table(file: Path = FILE) -> Table:
    """Success by method, environment and budget."""
    held = read_json(file, dict[str, list[dict[str, Any]]])
    columns = [(env, budget) for env in held for budget in dict.fromkeys(row["budget"] for row in held[env])]
    methods = list(dict.fromkeys(row["method"] for rows in held.values() for row in rows))
    rows = [(method, *(_shown(held[env], method, budget) for env, budget in columns)) for method in methods]
    sizes = [f"{NAMES[env]} {found[0]['episodes']} ({found[0]['levels']} tasks)" for env, found in held.items()]
    over = sum(row["budget_violations"] for found in held.values() for row in found)
    note = (
        f"Right answers within the budget, 95 % intervals over tasks; episodes per configuration: {', '.join(sizes)}. "
        "`bundled:tools`, M = 4, temperature 0.3; the same tasks, budgets, model and seeds for all. Episodes over "
        f"budget: {over}. Made by `python -m experiments.studies.tools.gsm_hard` and "
        "`python -m experiments.studies.tools.musique`."
    )
    return Table(("", *(f"{NAMES[env]}, {budget}" for env, budget in columns)), tuple(rows), note)


def _shown(rows: list[dict[str, Any]], method: str, budget: str) -> str:
    found = next((row for row in rows if (row["method"], row["budget"]) == (method, budget)), None)
    if found is None:
        return "-"
    low, high = found["ci95"]
    return f"{found['success_rate']:.2f} ({low:.2f} to {high:.2f})"


def tool_text(file: Path = FILE) -> str:
    """The table as Markdown."""
    found = table(file)
    lines = ["| " + " | ".join(found.head) + " |", "|---" * len(found.head) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in found.rows]
    return "\n".join([*lines, "", found.note, ""])
