"""The results as tables of Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


def tables(rows: Sequence[Mapping[str, Any]]) -> str:
    """One row a scenario and framework: asked for, and spent under either limit."""
    by_key = {(row["scenario"], row["framework"], row["limit"]): row for row in rows}
    lines = [
        "| scenario | cap | framework | asked | own limit | spent | guard: spent | how the guard's run ended |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for scenario, framework in sorted({key[:2] for key in by_key}, key=_order(rows)):
        found = {limit: by_key.get((scenario, framework, limit)) for limit in ("none", "own", "guard")}
        any_row = next(row for row in found.values() if row is not None)
        cells = [scenario, _caps(any_row), framework, _spent(found["none"]), _own(found["own"]), _spent(found["own"])]
        guard = found["guard"]
        ended = "; ".join(one["ended"] for one in guard["ended"]) if guard else ""
        lines.append("| " + " | ".join([*cells, _spent(guard), ended]) + " |")
    return "\n".join([*lines, "", summary(rows)])


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many runs of each kind of limit have overspent."""
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


def _order(rows: Sequence[Mapping[str, Any]]) -> Any:
    from experiments.benches.budget_scenarios.scenarios import SCENARIOS

    frameworks = list(dict.fromkeys(row["framework"] for row in rows))
    return lambda key: (list(SCENARIOS).index(key[0]), frameworks.index(key[1]))


def _caps(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{cap:g} {kind}" for kind, cap in row["caps"].items())


def _spent(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    said = ", ".join(f"{row['spent'][kind]:g}" for kind in row["caps"])
    return f"**{said}**" if row["over"] else said


def _own(row: Mapping[str, Any] | None) -> str:
    return "; ".join(row["own_limit"].values()) or "none for this" if row is not None else ""
