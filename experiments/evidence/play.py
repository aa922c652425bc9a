"""Plays a ground with the real model: ``python -m experiments.evidence.play desk --server URL --out FOLDER``.

A line of JSON is written for each episode, and each reply of the model is kept, so that a run goes on where it was
stopped. Nothing may run beside the model on the same cores.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.evidence.grounds import GROUNDS, Ground, Trial, ground
from experiments.evidence.replies import SameSamples, kept
from experiments.evidence.rows import ROWS
from experiments.own_tools.without import PARTS, without
from tape.budget import Budget
from tape.lm.base import LanguageModel
from tape.statistics import paired, wilson

IDENTITY = "qwen2.5-coder-1.5b-instruct-q4_k_m"
WITHOUT = "TAPE+ without "


def play(
    row: str, where: Ground, trial: Trial, caps: str, draw: int, model: LanguageModel, trace: Path
) -> dict[str, Any]:
    """An episode, as a line of the results."""
    limits = Budget({**trial.caps[caps], "tokens": where.tokens})
    part = row.removeprefix(WITHOUT) if row.startswith(WITHOUT) else ""
    settings = where.tape if row == "TAPE+" or part else {}
    agent = ROWS["TAPE+" if part else row](SameSamples(model), **settings)
    trace.parent.mkdir(parents=True, exist_ok=True)
    trace.unlink(missing_ok=True)  # of an episode that was stopped
    environment, judged = trial.make()
    with without(part):
        result = agent.run(environment, budget=limits, seed=draw, trace=trace)
    return {
        "row": row, "task": trial.id, "caps": caps, "draw": draw, "right": result.success, "end": result.end_state,
        "tokens": result.lm_tokens, "requests": sum(result.lm_calls.values()), "usd": result.used.get("usd", 0),
        "over": result.budget_violations, **said(trace), **judged(result),
    }  # fmt: skip


def said(trace: Path) -> dict[str, Any]:
    """What the first choice of a plan said before anything was spent: success, costs, or that nothing fits."""
    with trace.open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event["type"] == "walk_selected" and event["selector"] != "look" and not event["partial"]:
                value = event["objective"]
                worth = None if value is None else round(min(1.0, math.exp(value)), 4)
                return {"fits": bool(event["actions"]), "worth": worth, "cost": event["consumption"].get("usd", 0)}
    return {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what is missing, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.evidence.play", description=__doc__)
    parser.add_argument("ground", choices=tuple(GROUNDS))
    parser.add_argument("--tasks", required=True, help="the first and the last task, for instance 1-20")
    parser.add_argument("--caps", help="the name of the caps (default: the ground's first)")
    parser.add_argument("--rows", nargs="*", default=["TAPE+"], choices=(*ROWS, *(WITHOUT + part for part in PARTS)))
    parser.add_argument("--draws", type=int, default=1, help="seeds of the environment's draws (default: 1)")
    parser.add_argument("--server", help="an OpenAI-compatible server (default: only kept replies are said)")
    parser.add_argument("--out", type=Path, required=True, help="a folder for results, traces and replies")
    given = parser.parse_args(arguments)
    where = ground(given.ground)
    caps = given.caps or where.caps[0]
    first, last = map(int, given.tasks.split("-"))
    folder = given.out / where.name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "results.jsonl"
    model = kept(folder / "replies.sqlite", given.server, IDENTITY)
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    known = {(row["row"], row["task"], row["caps"], row["draw"]) for row in rows}
    for name in given.rows:
        for draw in range(given.draws):
            for trial in where.trials()[first - 1 : last]:
                if (name, trial.id, caps, draw) in known:
                    continue
                trace = folder / "traces" / caps / name / f"{trial.id}-{draw}.jsonl"
                rows.append(play(name, where, trial, caps, draw, model, trace))
                with file.open("a") as out:
                    out.write(json.dumps(rows[-1]) + "\n")
                print(f"{name} {trial.id}: {_short(rows[-1])}", flush=True)
        print(line(name, caps, rows), flush=True)
    return 0


def _short(row: Mapping[str, Any]) -> str:
    return f"{'right' if row['right'] else 'WRONG'} {row['end']} {row['tokens']} tokens in {row['requests']} requests"


def line(name: str, caps: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """A row of the table; TAPE+ is compared with it by task."""
    own = {(row["task"], row["draw"]): row for row in rows if row["row"] == name and row["caps"] == caps}
    tape = {(row["task"], row["draw"]): row for row in rows if row["row"] == "TAPE+" and row["caps"] == caps}
    count, right = len(own), sum(row["right"] for row in own.values())
    tasks = len({task for task, _ in own})
    low, high = wilson(right / count * tasks, tasks)
    tokens = statistics.mean(row["tokens"] for row in own.values())
    text = f"{name}: {right} of {count} right, {right / count:.0%} ({low:.0%} to {high:.0%}), {tokens:.0f} tokens"
    if name != "TAPE+" and tape:
        result = paired(*({key: float(row["right"]) for key, row in side.items()} for side in (tape, own)))
        text += f"; TAPE+ is above it by {result.difference:+.0%} ({result.low:+.0%} to {result.high:+.0%})"
    over = sum(bool(row["over"]) for row in own.values())
    return text + (f"; {over} over a cap" if over else "")


if __name__ == "__main__":
    raise SystemExit(main())
