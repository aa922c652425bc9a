"""Everything derived from ``episodes.jsonl``: ``summary.json`` and ``summary.md``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tape.runner.directory import RunDirectory
from tape.runner.spec import RunSpec
from tape.runner.stats import wilson

SCHEMA = 1


HEAD = (
    "levels",
    "agent",
    "model",
    "n",
    "success",
    "95 % interval",
    "steps",
    "replans",
    "LM calls",
    "LM tokens",
    "solver ms",
    "over budget",
)


def summarise(spec: RunSpec, episodes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One group per level set of a run (a run has one agent, model, solver and configuration)."""
    groups = []
    for level_set in dict.fromkeys(str(e["level_set"]) for e in episodes):
        results = [e["result"] for e in episodes if e["level_set"] == level_set]
        n, successes = len(results), sum(r["success"] for r in results)
        groups.append(
            {
                "environment": spec.environment,
                "level_set": level_set,
                "agent": spec.label(),
                "model": spec.model,
                "solver": spec.config.solver,
                "configuration": spec.config.model_dump(mode="json"),
                "episodes": n,
                "successes": successes,
                "success_rate": successes / n,
                "ci95": list(wilson(successes, n)),
                "end_states": dict(sorted(Counter(r["end_state"] for r in results).items())),
                "mean_steps": sum(r["steps"] for r in results) / n,
                "replans": sum(r["replans"] for r in results),
                "mismatches": sum(r["mismatches"] for r in results),
                "malformed": sum(r["malformed"] for r in results),
                "partial_walks": sum(r["partial_walk"] for r in results),
                "lm_calls": sum(sum(r["lm_calls"].values()) for r in results),
                "lm_tokens": sum(tokens(r) for r in results),
                "solver_seconds": sum(r["solver_seconds"] for r in results),
                "budget_violations": sum(bool(r["budget_violations"]) for r in results),
            }
        )
    return groups


def tokens(result: Mapping[str, Any]) -> int:
    """Prompt and completion tokens of an episode's result."""
    return sum(map(int, result["prompt_tokens"].values())) + sum(map(int, result["completion_tokens"].values()))


def table(groups: Sequence[Mapping[str, Any]]) -> str:
    """The groups as a markdown table."""
    rows: list[tuple[str, ...]] = [HEAD, ("---",) * len(HEAD)]
    for g in groups:
        n = g["episodes"]
        low, high = g["ci95"]
        rows.append(
            (
                str(g["level_set"]),
                str(g["agent"]),
                str(g["model"]),
                str(n),
                f"{g['success_rate']:.2f}",
                f"{low:.2f} to {high:.2f}",
                f"{g['mean_steps']:.1f}",
                f"{g['replans'] / n:.2f}",
                f"{g['lm_calls'] / n:.1f}",
                f"{g['lm_tokens'] / n:.0f}",
                f"{1000 * g['solver_seconds'] / n:.2f}",
                str(g["budget_violations"]),
            )
        )
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    note = "Steps, replans, calls, tokens and solver time are means per episode; the interval is Wilson's."
    return "\n".join([*lines, "", note, ""])


def write_summary(directory: RunDirectory, spec: RunSpec) -> list[dict[str, Any]]:
    """Rebuild ``summary.json`` and ``summary.md`` from the committed episodes."""
    groups = summarise(spec, directory.episodes())
    _replace(directory.path / "summary.json", json.dumps({"schema": SCHEMA, "groups": groups}, indent=1) + "\n")
    _replace(directory.path / "summary.md", table(groups))
    return groups


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
