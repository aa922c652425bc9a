"""The table of tool environments in docs/results.md, from the committed figures of the runs on their test sets."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.harness import register
from experiments.harness.measured import Measured
from experiments.harness.methods import TAPE_PLUS
from experiments.harness.places import RESULTS
from tape.reading import read_json
from tape.show.document import Table

FILE = RESULTS / "tools.json"
RUNS = "tool_test_set_runs.json"
"""The list of all runs on the test sets."""

NAMES = {"gsm_hard": "own problems, as GSM-Hard", "musique": "own questions, as MuSiQue"}
"""What is played is the project's own; the public sets are read with ``--data``."""

OF = {"gsm_hard": "generated word problems", "musique": "questions on passages about invented people and places"}
"""What the tasks are, for the note."""

KEPT = ("episodes", "levels", "success_rate", "ci95", "budget_violations", "measures", "mean_used")


def publish(environment: str, chosen: Mapping[str, Any], args: argparse.Namespace, measured: Measured) -> None:
    """List a run on the test set where it is published."""
    new = register.entry(measured, register.ENGINE, measured.settings())
    if _tested(chosen) and new is not None:
        register.add(args.publish / RUNS, {"environment": environment, "options": dict(chosen), **new})


def _tested(options: Mapping[str, Any]) -> bool:
    return not options.get("data") and "test" in (options.get("problems"), options.get("questions"))


def keeps(environment: str, measured: Measured, folder: Path) -> dict[str, str]:
    """The figures for the table in docs/results.md, in the place of those of an earlier run on the same environment.

    Only of the project's own test set: a run on other tasks keeps none.

    Args:
        environment: Of the run.
        measured: The run.
        folder: The folder of results.
    """
    if not all(_tested(spec.options) for spec in measured.specs.values()):
        return {}
    file = folder / FILE.name
    held = read_json(file, dict[str, Any]) if file.exists() else {}
    rows: list[dict[str, Any]] = []
    for setting in measured.settings():
        for model in measured.models():
            for method in measured.methods():
                group = measured.group(setting, model, method)
                if group is not None:
                    facts = {name: group[name] for name in KEPT}
                    rows.append({"budget": setting, "model": model, "method": method, **facts})
    held[environment] = rows
    return {FILE.name: json.dumps(dict(sorted(held.items())), indent=1) + "\n"}


def table(file: Path = FILE) -> Table:
    """Success by method, environment and budget."""
    held = read_json(file, dict[str, list[dict[str, Any]]])
    columns = [(env, budget) for env in held for budget in dict.fromkeys(row["budget"] for row in held[env])]
    methods = list(dict.fromkeys(row["method"] for rows in held.values() for row in rows))
    rows = [(method, *(_shown(held[env], method, budget) for env, budget in columns)) for method in methods]
    sizes = [f"{found[0]['levels']} {OF[env]} ({NAMES[env]})" for env, found in held.items()]
    over = sum(row["budget_violations"] for found in held.values() for row in found)
    note = (
        f"Right answers within the budget, 95 % intervals over tasks. The tasks are the project's own, not the public "
        f"benchmarks': {' and '.join(sizes)}, an episode each. {TAPE_PLUS} "
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
