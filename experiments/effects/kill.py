"""Workers that are killed amid a run, and others that go on: ``python -m experiments.effects kill --kills 1000``.

Each run makes six effects by a :class:`TapeAgent` with a scripted model. A receiver in this process makes the effects
and counts them. Workers are real processes, which get SIGKILL at a random moment; the store is a file, or a database
that ``--store postgresql://...`` names. Where a run is parked, this program decides as a person would: it asks the
receiver.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.effects.campaign import AT_ONCE, DONE, PARKED, Campaign, Job, tell
from tape import TapeAgent, tool
from tape.budget import Cap, Resources, StorePayer, open_store
from tape.errors import UnfinishedCallError
from tape.lm.scripted import ScriptedLM
from tape.tools import Happened, Tool, ToolContext, ToolFailedError

LEASE = 1
PRICE = 10_000
"""Of an effect, in micro-dollars."""


def ask(url: str, **body: Any) -> Any:
    """Ask the receiver."""
    request = urllib.request.Request(url, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def tools(url: str) -> list[Tool]:
    """The tools of a run: one for each kind of receiver."""

    def send(ctx: ToolContext, kind: str, to: str, text: str) -> str:
        told = ask(f"{url}/make", run=ctx.run, kind=kind, to=to, key=ctx.key, attempt=ctx.attempt)
        if told["refused"]:
            raise ToolFailedError("a later attempt was begun", used=Resources())
        return f"{text}: sent to {to}"

    def was_sent(ctx: ToolContext, to: str) -> Happened | bool:
        told = ask(f"{url}/made", run=ctx.run, kind="outcome", to=to, attempt=ctx.attempt)
        return Happened(f"sent to {to}") if told["made"] else False

    @tool(key=("to",), usd="0.01")
    def plain(ctx: ToolContext, to: str, text: str) -> str:
        """Send to a receiver that knows no keys."""
        return send(ctx, "plain", to, text)

    @tool(key=("to",), usd="0.01", idempotent=True)
    def idempotent(ctx: ToolContext, to: str, text: str) -> str:
        """Send to a receiver that does what has a known key once."""
        return send(ctx, "idempotent", to, text)

    @tool(key=("to",), usd="0.01", outcome=was_sent)
    def outcome(ctx: ToolContext, to: str, text: str) -> str:
        """Send to a receiver that can be asked whether it was done."""
        return send(ctx, "outcome", to, text)

    return [plain, idempotent, outcome]


def work(job: Job) -> int:
    """Play a run in a process of its own, anew or from its trace; the exit status."""
    logging.disable(logging.CRITICAL)
    rng = random.Random(job.seed)
    plan = list(job.plan)
    if not job.trace:  # a model that words texts anew, and plans in another order
        rng.shuffle(plan)
    text = "Dear Ann" if job.trace else rng.choice(("Dear Ann", "Hello Ann"))
    lines = [f'r{n} = {kind}(to="{to}", text="{text}")' for n, (kind, to) in enumerate(plan)]
    agent = TapeAgent(ScriptedLM(["\n".join([*lines, "answer(r0)"])]), tools=tools(job.receiver))
    payer = StorePayer(open_store(job.store), f"org/{job.run}", lease=LEASE)
    try:
        if job.trace and Path(job.trace).exists() and Path(job.trace).stat().st_size:
            result = agent.resume(job.trace, payer=payer)
        else:
            result = agent.run("Send all.", budget="$1, 20 steps", payer=payer, run=job.run, trace=job.trace or None)
    except UnfinishedCallError:
        return PARKED
    payer.close()
    return DONE if result.success else 1


class TapeCampaign(Campaign):
    """Kills workers of this engine."""

    system, packages = "TAPE", ("psycopg",)
    player = staticmethod(work)
    preloaded = (
        "tape.agents.programs", "tape.agents.tasks", "tape.budget.stores.file", "tape.budget.stores.postgres",
        "tape.plan.agreement", "tape.show.result", "solvers.labelling", "encodings.idna",
    )  # fmt: skip

    def __init__(self, store: str, kills: int, seed: int, folder: Path, at_once: int = AT_ONCE) -> None:
        super().__init__(store, kills, seed, folder, at_once)
        self.ledger = open_store(store)

    def begin(self, run: str, plan: Sequence[tuple[str, str]]) -> None:
        """Give a run what its effects cost, and no more."""
        self.ledger.set_cap(Cap(f"org/{run}", "usd", PRICE * len(plan)), "kill", "")

    def decide(self, run: str) -> None:
        """Say what became of the unknown effects of a run."""
        for claim in self.ledger.claims(f"org/{run}"):
            if claim.state == "unknown":
                made = self.receiver.made_by_key(claim.key)
                self.ledger.decide(claim.key, "kill", "asked the receiver", done=made)

    def figures(self) -> dict[str, Any]:
        """What the store says in the end."""
        balances = self.ledger.balances()
        booked, spent = sum(balance.spent + balance.held for balance in balances), self.receiver.count() * PRICE
        return {
            "booked": booked,
            "spent": spent,
            "unspent": f"{1 - spent / booked:.1%}",
            "over their cap": sum(balance.spent + balance.held > balance.amount for balance in balances),
            "wrong sums": len(self.ledger.check()),
        }


def main(argv: Sequence[str] | None = None) -> int:
    """Kill, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.effects kill", description=__doc__)
    parser.add_argument("--store", default="file", help="file (default), or postgresql://user@host/database")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a JSON file")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        store = f"file://{folder}/budget.ledger" if args.store == "file" else args.store
        kind = "file" if args.store == "file" else "PostgreSQL"
        totals = TapeCampaign(store, args.kills, args.seed, Path(folder)).run()
    tell({"store": kind, **totals}, args.out)
    return int(bool(totals["made twice"] or totals["lost"]))
