"""The results as tables of Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.benches.budget_scenarios.scenarios import SCENARIOS

LIMITS = ("none", "own", "guard")
FAILED = ("error", "hangs")


def tables(rows: Sequence[Mapping[str, Any]]) -> str:
    """What was spent in each scenario, framework by framework: without a limit, under its own, under the guard.

    Of several caps the first is shown. What is above the cap is bold; ``!`` marks runs of which a framework itself made
    an error.
    """
    by_key = {(row["scenario"], row["framework"], row["limit"]): row for row in rows}
    frameworks = list(dict.fromkeys(row["framework"] for row in rows))
    lines = [
        f"| scenario | cap | {' | '.join(frameworks)} |",
        f"|---|---|{'---|' * len(frameworks)}",
    ]
    for name, scenario in SCENARIOS.items():
        kind, cap = next(iter(scenario.caps.items()))
        cells = [_cell([by_key.get((name, framework, limit)) for limit in LIMITS], kind) for framework in frameworks]
        lines.append(f"| {name} | {cap:g} {kind} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", summary(rows)])


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """In how many scenarios each kind of limit was overspent."""
    lines = [
        "| framework | scenarios | over without a limit | over under its own | over under the guard |",
        "|---|---|---|---|---|",
    ]
    for framework in dict.fromkeys(row["framework"] for row in rows):
        mine = [row for row in rows if row["framework"] == framework]
        over = Counter(row["limit"] for row in mine if row["over"])
        count = sum(row["limit"] == "guard" for row in mine)
        lines.append(f"| {framework} | {count} | {over['none']} | {over['own']} | {over['guard']} |")
    return "\n".join(lines)


def _cell(found: Sequence[Mapping[str, Any] | None], kind: str) -> str:
    return ", ".join("" if row is None else _spent(row, kind) for row in found)


def _spent(row: Mapping[str, Any], kind: str) -> str:
    said = f"{round(row['spent'][kind], 3):g}"
    said += "!" if any(one["ended"] in FAILED for one in row["ended"]) else ""
    return f"**{said}**" if row["over"] else said
