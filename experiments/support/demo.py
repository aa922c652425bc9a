"""A support agent under three dollar caps: ``python -m experiments.support.demo``, part of ``make demo``.

Real: the MCP server on stdio and what it deletes, the prices' ledger, the solver, the approval. Scripted: the language
model (:mod:`experiments.support.model`), which writes the same plans under every cap. Declared: the prices below.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from experiments.support.model import CUSTOMER, support_model
from tape.agents.base import Agent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.approval import Approval, ApprovalRequest
from tape.budget import Budget, in_units
from tape.budget.prices import Amount
from tape.cli.view import main as view
from tape.errors import TapeError
from tape.plugins import require_extra
from tape.protocols.result import EpisodeResult
from tape.tools import ToolEnvironment, mcp_tools

SERVER = [sys.executable, "-m", "experiments.support.server"]
CAPS = ("0.05", "0.02", "0.006")
TASK = f"Delete the account that customer {CUSTOMER} has twice by mistake, and tell them when the refund comes."

PRICES: Mapping[str, Mapping[str, Amount]] = {
    "find_duplicate": {"usd": "0.001"},
    "search_keywords": {"usd": "0.002"},
    "search_meaning": {"usd": "0.012"},
    "ask_colleague": {"usd": "0.04"},
    "delete_account": {"usd": "0.004"},
}
KINDS = {
    "search_keywords": "search.keywords",
    "search_meaning": "search.meaning",
    "ask_colleague": "search.colleague",
}
QUALITY = {"search_keywords": 0.6, "search_meaning": 0.9, "ask_colleague": 0.99}
"""Made up, like the prices."""


def right(answer: Any) -> bool:
    """Whether an answer names what was deleted and when the money comes."""
    return "A-18 is deleted" in str(answer) and "5 working days" in str(answer)


async def play(agent: Agent, cap: str, trace: Path, console: Console) -> EpisodeResult:
    """One episode with a server of its own.

    Args:
        agent: The agent.
        cap: Dollars.
        trace: Where its event log goes.
        console: Where approvals are shown.
    """

    def approve(request: ApprovalRequest) -> Approval:
        first, *more = str(request).splitlines()
        console.print(f"  ? may I? {first}", *more, sep="\n           ", markup=False, highlight=False)
        console.print("    the demo says yes")
        return Approval.ALLOW

    async with mcp_tools(SERVER, costs=PRICES, variants=KINDS, quality=QUALITY) as tools:
        env = ToolEnvironment(TASK, tools, judge=right)
        return await agent.arun(env, budget=Budget.of(usd=cap), trace=trace, approve=approve)


def agents() -> dict[str, Agent]:
    """TAPE and ReAct, with the same scripted model."""
    return {"TAPE": TapeAgent(support_model(), num_plans=4), "ReAct": ReactAgent(support_model(), horizon=10)}


def summary(console: Console, name: str, cap: str, result: EpisodeResult) -> None:
    """Print what an episode came to."""
    console.print(f"  [bold]{name}[/] under ${cap}: {result.end_state}, {_dollars(result)} spent")
    for number, action in enumerate(result.actions, 1):
        console.print(f"    {number}. {action}", markup=False, highlight=False)
    if result.detail:
        console.print(f"    {result.detail}", markup=False, highlight=False)
    if result.answer is not None:
        console.print(f"    answer: {result.answer}", markup=False, highlight=False)


def _dollars(result: EpisodeResult) -> str:
    return in_units("usd", result.used.get("usd") or 0)


def run(out: Path, console: Console) -> list[Path]:
    """Play both agents under every cap; returns the traces.

    Raises:
        MissingExtraError: The package ``mcp`` is not installed.
    """
    require_extra("mcp", "mcp", what="the support agent's demo")
    console.print("A support agent with priced tools over MCP, a scripted model, three caps", style="bold")
    console.print(f"Task: {TASK}", highlight=False)
    traces: list[Path] = []
    rows: list[tuple[Any, ...]] = []
    for cap in CAPS:
        for name, agent in agents().items():
            trace = out / f"{name.lower()}-{cap}.jsonl"
            trace.unlink(missing_ok=True)  # of an earlier demo
            result = asyncio.run(play(agent, cap, trace, console))
            summary(console, name, cap, result)
            traces.append(trace)
            rows.append((f"${cap}", name, result.end_state, _dollars(result)))
    table = Table(title="The same scripted model, tools and caps for both", title_style="bold")
    for column in ("cap", "agent", "ended", "spent"):
        table.add_column(column)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    return traces


def show(out: Path, console: Console) -> Path:
    """Play, and write one page of all six episodes; returns the page.

    Raises:
        MissingExtraError: The package ``mcp`` is not installed.
    """
    traces = run(out, console)
    page = out / "support.html"
    view([*map(str, traces), "--out", str(page)])
    return page


def main() -> int:
    """Run the support agent's part of the demo alone; returns the exit code."""
    console = Console()
    try:
        console.print(f"open in a browser: {show(Path('demo-run') / 'support', console)}")
    except TapeError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
