"""Play the scenarios; the results go into one JSON file and a table."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from experiments.benches.budget_scenarios.judge import Judge
from experiments.benches.budget_scenarios.scenarios import SCENARIOS, Scenario
from experiments.benches.budget_scenarios.side import RESULT, Job, openai_entry
from experiments.benches.budget_scenarios.table import tables

SIDES: Mapping[str, str] = {
    "langchain": "langchain",
    "pydantic_ai": "pydantic-ai-slim",
    "openai_agents": "openai-agents",
    "inspect_ai": "inspect-ai",
    "smolagents": "smolagents",
    "dspy": "dspy",
}
"""The files of ``sides``, and the packages whose versions are named."""

LIMITS = ("none", "own", "guard")
MOST_SECONDS = 120.0
"""Of one process; one that takes longer is killed, and said to hang."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benches.budget_scenarios", description=__doc__)
    parser.add_argument("--frameworks", nargs="+", choices=SIDES, default=list(SIDES), help="all by default")
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS), help="all by default")
    parser.add_argument("--limits", nargs="+", choices=LIMITS, default=list(LIMITS), help="all by default")
    parser.add_argument("--out", type=Path, help="a JSON file that takes the results; rows of other runs in it stay")
    options = parser.parse_args(arguments)
    judge = Judge()
    rows: dict[str, dict[str, Any]] = {}
    if options.out is not None and options.out.exists():
        rows = {_key(row): row for row in json.loads(options.out.read_text(encoding="utf-8"))["rows"]}
    with judge.listening() as urls:
        for framework in options.frameworks:
            for name in options.scenarios:
                for limit in options.limits:
                    row = played(judge, urls, framework, name, limit)
                    rows[_key(row)] = row
                    print(f"{framework:14} {name:16} {limit:6} {_brief(row)}", flush=True)
                    if options.out is not None:
                        _write(options.out, judge, rows)
    print("\n" + tables(list(rows.values())))
    return 0


def played(judge: Judge, urls: tuple[str, str], framework: str, name: str, limit: str) -> dict[str, Any]:
    """Play one scenario by one framework under one limit.

    Returns:
        What was spent, what of it was too much, and how each process ended.
    """
    scenario = SCENARIOS[name]
    side = importlib.import_module(f"experiments.benches.budget_scenarios.sides.{framework}")
    entry = getattr(side, "entry", openai_entry)
    said = [entry(turn) for turn in scenario.turns]
    script = [one for entries in said for one in (entries if isinstance(entries, list) else [entries])]
    judge.begin(scenario, script * scenario.processes)
    with tempfile.TemporaryDirectory() as folder:
        journal = str(Path(folder, "guard.jsonl")) if scenario.crash_at or scenario.processes > 1 else ""
        job = Job(name, limit, *urls, journal)
        ended = _processes(framework, job, scenario.processes)
        if scenario.crash_at:
            ended += _processes(framework, job, 1)
    spent = judge.spent()
    own = getattr(side, "LIMITS", {})
    return {
        "framework": framework,
        "scenario": name,
        "limit": limit,
        "own_limit": {kind: own[kind] for kind in scenario.caps if kind in own} if limit == "own" else {},
        "caps": dict(scenario.caps),
        "spent": spent,
        "over": {kind: round(spent[kind] - cap, 6) for kind, cap in scenario.caps.items() if spent[kind] > cap},
        "ended": ended,
    }


def _processes(framework: str, job: Job, count: int) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", f"experiments.benches.budget_scenarios.sides.{framework}"]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    ended = []
    for process in running:
        assert process.stdin is not None
        process.stdin.write(json.dumps(asdict(job)))
        process.stdin.close()
        process.stdin = None  # communicate would write to it
    for process in running:
        try:
            out, err = process.communicate(timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            ended.append({"ended": "hangs", "said": f"killed after {MOST_SECONDS:.0f} s"})
            continue
        last = [line.removeprefix(RESULT) for line in out.splitlines() if line.startswith(RESULT)]
        if process.returncode == 9:
            ended.append({"ended": "killed", "said": "by the scenario"})
        elif process.returncode or not last:
            ended.append({"ended": "error", "said": err.strip()[-300:]})
        else:
            ended.append(json.loads(last[0]))
    return ended


def _key(row: Mapping[str, Any]) -> str:
    return f"{row['framework']} / {row['scenario']} / {row['limit']}"


def _brief(row: Mapping[str, Any]) -> str:
    spent = ", ".join(f"{row['spent'][kind]:g} of {cap:g} {kind}" for kind, cap in row["caps"].items())
    ended = (f"{one['ended']} ({one['said']})" if one["ended"] == "error" else one["ended"] for one in row["ended"])
    return f"{spent}{'  OVER' if row['over'] else ''}  {'; '.join(ended)}"


def _write(out: Path, judge: Judge, rows: Mapping[str, Mapping[str, Any]]) -> None:
    versions = {}
    for framework, package in SIDES.items():
        try:
            versions[framework] = f"{package} {version(package)}"
        except PackageNotFoundError:
            versions[framework] = f"{package}, not installed"
    record = {
        "command": "python -m experiments.benches.budget_scenarios",
        "judge": f"agent-budget-semantics {judge.version} (mock model; scripted) and a counting tool of this bench",
        "versions": versions,
        "scenarios": {name: _about(one) for name, one in SCENARIOS.items()},
        "rows": [rows[key] for key in sorted(rows)],
    }
    out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _about(scenario: Scenario) -> dict[str, Any]:
    return {"about": scenario.about, "caps": dict(scenario.caps)}


if __name__ == "__main__":
    sys.exit(main())
