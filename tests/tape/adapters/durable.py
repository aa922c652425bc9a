"""Agents as workflows, also in a process that is killed: ``python -m tests.tape.adapters.durable URL FILE``."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID
from dbos._sys_db import SystemDatabase

from tape import TapeAgent, tool
from tape.adapters.dbos import DurableAgent, question
from tape.budget import LedgerStore, open_store
from tape.lm.base import Request
from tape.lm.price import TokenPrice
from tape.lm.scripted import ScriptedLM
from tape.tools import Happened, Tool, ToolContext

PRICE = TokenPrice(Decimal("1e-5"), Decimal("1e-5"))
SCOPE = "org/team"
PLAN = 'r = rate("eur")\np = pay("ann", r)\nanswer(p)'
CUT = ("model", "pure", "idempotent", "outcome", "plain")
"""Workflows that are killed amid a call: of the model, of a pure tool, and of one that pays."""
ASKING = ("yes", "no")
"""Workflows that are killed while they ask a person."""


class Bank:
    """Makes payments, each a line of a file; it can stop amid a call."""

    def __init__(self, file: Path) -> None:
        self.file, self.stops = file, False
        self.asked = 0
        """Calls of models here."""
        self.stopped = threading.Semaphore(0)
        self.change: Callable[[str], str] = lambda plan: plan
        self.fails = 0
        """How many payments raise from now on."""

    def stop(self) -> None:
        """Never return, where it stops amid calls."""
        if self.stops:
            self.stopped.release()
            threading.Event().wait()

    def write(self, line: str) -> None:
        with self.file.open("a", encoding="ascii") as file:
            file.write(line + "\n")

    def lines(self, run: str) -> list[str]:
        """What was done for a run."""
        lines = self.file.read_text(encoding="ascii").splitlines() if self.file.exists() else []
        return [line.removeprefix(f"{run} ") for line in lines if line.startswith(f"{run} ")]


def tools(bank: Bank, kind: str) -> list[Tool]:
    @tool(pure=True, usd="0.01")
    def rate(ctx: ToolContext, currency: str) -> float:
        "The rate of a currency."
        bank.write(f"{ctx.run} rate")
        if kind == "pure":
            bank.stop()
        return 2.0

    def was_paid(ctx: ToolContext) -> Happened | bool:
        return Happened("it was paid") if f"{ctx.key} 1" in bank.lines(ctx.run) else False

    more: dict[str, Any] = {"idempotent": {"idempotent": True}, "outcome": {"outcome": was_paid}}

    @tool(usd="0.10", key=("to",), destructive=kind in ASKING, **more.get(kind, {}))
    def pay(ctx: ToolContext, to: str, rate: float) -> str:
        "Pay somebody."
        if bank.fails:
            bank.fails -= 1
            raise OSError("the bank is closed")
        bank.write(f"{ctx.run} {ctx.key} {ctx.attempt}")
        if kind not in ("model", "pure"):
            bank.stop()
        return f"paid {to}"

    return [rate, pay]


def durable(bank: Bank, store: LedgerStore, kind: str, name: str = "") -> DurableAgent:
    """An agent of a kind, whose workflow has this name, or that of the kind."""

    def say(request: Request, sample: int) -> str:
        bank.asked += sample == 0
        if kind == "model":
            bank.stop()
        return bank.change(PLAN)

    agent = TapeAgent(ScriptedLM(say, price=PRICE), tools=tools(bank, kind), num_plans=1)
    return DurableAgent(agent, store, SCOPE, name=name or kind, approvals=kind in ASKING, lease=1)


def launched(url: str, executor: str) -> None:
    """Launch DBOS."""
    config = DBOSConfig(
        name="tape", system_database_url=url, log_level="ERROR", executor_id=executor, application_version="1",
        scheduler_polling_interval_sec=1.0,
    )  # fmt: skip
    SystemDatabase._notification_fallback_polling_interval = 0.5  # what waits for a message ends so soon after DBOS
    logging.getLogger("dbos").handlers.clear()  # those of a launch in another test
    DBOS(config=config)
    DBOS.launch()


def run_until_killed(url: str, file: str) -> None:
    """Begin a workflow of each kind, and end this process by SIGKILL where all are amid a call or a question."""
    bank, store = Bank(Path(file)), open_store(url)
    bank.stops = True
    agents = {kind: durable(bank, store, kind) for kind in (*CUT, *ASKING)}
    launched(url, "killed")
    for kind, agent in agents.items():
        with SetWorkflowID(f"cut-{kind}"):
            DBOS.start_workflow(agent.workflow, "Pay Ann.", "$3, 20 steps")
    for _ in CUT:
        bank.stopped.acquire()
    for kind in ASKING:
        assert question(f"cut-{kind}", 20) is not None
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    run_until_killed(*sys.argv[1:])
