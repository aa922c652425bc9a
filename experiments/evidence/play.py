"""Plays a ground with the real model: ``python -m experiments.evidence.play desk --server URL --out FOLDER``.

A line of JSON is written for each episode, and each reply of the model is kept, so that a run goes on where it was
stopped. Nothing may run beside the model on the same cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from envs.pddl.domain import PddlDomain
from experiments.evidence.grounds import GROUNDS, Ground, Trial
from experiments.evidence.legal import legal
from experiments.evidence.replies import Replies, SameSamples, StaleError
from experiments.evidence.rows import ALL_ROWS, OURS, RIVALS, ROWS
from experiments.evidence.tables import outcomes, share, shown
from experiments.own_tools.sets import judge
from experiments.own_tools.without import WITHOUT, without
from tape.budget import Budget
from tape.errors import ModelError
from tape.statistics import paired


class Played(NamedTuple):
    """What identifies an episode of a ground: the agent's row, the task, the caps and the seed of the draws."""

    row: str
    task: str
    caps: str
    draw: int


def play(played: Played, where: Ground, trial: Trial, replies: Replies, trace: Path) -> dict[str, Any]:
    """An episode, as a line of the results.

    Raises:
        StaleError: There is no server, and a prompt has no reply that is kept.
        ModelError: The server has not answered: that is no outcome of the agent.
    """
    replies.stale = False
    row = _played(played, where, trial, replies, trace)
    if replies.stale:
        raise StaleError(
            f"{where.name} {trial.id}, {played.row}: no reply to a prompt is kept, since it has changed; name a server"
        )
    if row["end"] == "model_error":
        raise ModelError(f"{where.name} {trial.id}, {played.row}: the server has not answered; see {trace}")
    return row


def _played(played: Played, where: Ground, trial: Trial, replies: Replies, trace: Path) -> dict[str, Any]:
    trace.parent.mkdir(parents=True, exist_ok=True)
    trace.unlink(missing_ok=True)  # of an episode that was stopped
    if played.row in RIVALS:
        return {**played._asdict(), **_by_rival(played.row, trial, replies, trace)}
    limits = Budget({**trial.caps[played.caps], "tokens": where.tokens})
    part = played.row.removeprefix(WITHOUT) if played.row.startswith(WITHOUT) else ""
    settings = where.tape if played.row == OURS or part else {}
    agent = ROWS[OURS if part else played.row](SameSamples(replies.model), **settings)
    environment, judged = trial.make()
    with without(part):
        result = agent.run(environment, budget=limits, seed=played.draw, trace=trace)
    return {
        **played._asdict(), "right": result.success, "end": result.end_state, "tokens": result.lm_tokens,
        "requests": sum(result.lm_calls.values()), "usd": result.used.get("usd", 0),
        "over": result.budget_violations, **said(trace), **judged(result),
        **(legal(trace, environment.domain) if isinstance(environment.domain, PddlDomain) else {}),
    }  # fmt: skip


def _by_rival(row: str, trial: Trial, replies: Replies, trace: Path) -> dict[str, Any]:
    """An episode of an agent of others, which keeps no budget of ours."""
    assert trial.own is not None, "it plays questions over tools of one's own"
    question, world = trial.own()

    async def played() -> dict[str, Any]:
        async with replies.client() as client:
            return await RIVALS[row](question, world, client, trace)

    result = asyncio.run(played())
    verdict = judge(question, result.pop("answer"), world.sent)
    return {"right": verdict.right, "unasked": verdict.unasked, "usd": 0, "over": [], **result}


def said(trace: Path) -> dict[str, Any]:
    """What the first choice of a plan said before anything was spent: success, costs, or that nothing fits."""
    with trace.open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event["type"] == "walk_selected" and event["selector"] != "look" and not event["partial"]:
                said = {"fits": bool(event["actions"]), "cost": event["consumption"].get("usd", 0)}
                if event["actions"] and event["problem"].get("objective") == "expect":  # else it is no probability
                    said["worth"] = round(min(1.0, math.exp(event["objective"])), 4)
                return said
    return {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what is missing, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.evidence.play", description=__doc__)
    parser.add_argument("ground", choices=tuple(GROUNDS))
    parser.add_argument("--tasks", required=True, help="the first and the last task, for instance 1-20")
    parser.add_argument("--caps", help="the name of the caps (default: the ground's first)")
    parser.add_argument("--rows", nargs="*", default=[OURS], choices=ALL_ROWS)
    parser.add_argument("--draws", type=int, default=1, help="seeds of the environment's draws (default: 1)")
    parser.add_argument("--server", help="an OpenAI-compatible server (default: only kept replies are said)")
    parser.add_argument("--out", type=Path, required=True, help="a folder for results, traces and replies")
    given = parser.parse_args(arguments)
    where = GROUNDS[given.ground]
    caps = given.caps or where.caps[0]
    if caps not in where.caps:
        parser.error(f"{where.name} has no caps {caps!r}; it has: {', '.join(where.caps)}")
    if not re.fullmatch(r"[1-9]\d*-[1-9]\d*", given.tasks):
        parser.error(f"--tasks is like 1-20, got {given.tasks!r}")
    first, last = map(int, given.tasks.split("-"))
    chosen = where.trials()[first - 1 : last]
    if not chosen:
        parser.error(f"{where.name} has {len(where.trials())} tasks, none of them in {given.tasks}")
    if any(name in RIVALS for name in given.rows) and chosen[0].own is None:
        parser.error(f"{', '.join(RIVALS)} play own_tools alone")
    folder = given.out / where.name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "results.jsonl"
    replies = Replies(folder / "replies.sqlite", given.server)
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    known = {Played(row["row"], row["task"], row["caps"], row["draw"]) for row in rows}
    for name in given.rows:
        for draw in range(given.draws):
            for trial in chosen:
                played = Played(name, trial.id, caps, draw)
                if played in known:
                    continue
                trace = folder / "traces" / caps / name / f"{trial.id}-{draw}.jsonl"
                try:
                    rows.append(play(played, where, trial, replies, trace))
                except ModelError as error:
                    print(error, file=sys.stderr)
                    return 1
                with file.open("a") as out:
                    out.write(json.dumps(rows[-1]) + "\n")
                print(f"{name} {trial.id}: {_short(rows[-1])}", flush=True)
        print(line(name, caps, rows), flush=True)
    return 0


def _short(row: Mapping[str, Any]) -> str:
    return f"{'right' if row['right'] else 'WRONG'} {row['end']} {row['tokens']} tokens in {row['requests']} requests"


def line(name: str, caps: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """A row of the table; TAPE+ is compared with it by task."""
    own, tape = ([row for row in rows if row["row"] == each and row["caps"] == caps] for each in (name, OURS))
    right, low, high = share(own)
    tokens = statistics.mean(row["tokens"] for row in own)
    count = f"{sum(row['right'] for row in own)} of {len(own)} right"
    text = f"{name}: {count}, {right:.0%} ({low:.0%} to {high:.0%}), {tokens:.0f} tokens"
    if name != OURS and tape:
        text += f"; TAPE+ is above it by {shown(paired(outcomes(tape), outcomes(own)))}"
    over = sum(bool(row["over"]) for row in own)
    return text + (f"; {over} over a cap" if over else "")


if __name__ == "__main__":
    raise SystemExit(main())
