"""Two tools, a model that looks and then sends a mail, and an account of what was made."""

from __future__ import annotations

from typing import Any

from tape import TapeAgent
from tape.lm.scripted import ScriptedLM
from tape.tools import ToolEnvironment, tool

LOOK, SEND = 'seen = look("home")', 'sent = send("ann")'
PLAN = f"{LOOK}\n{SEND}\nanswer(sent if seen else None)"
made: list[str] = []


@tool(usd="0.02", pure=True)
def look(place: str) -> str:
    """Look at a place."""
    made.append(f"look {place}")
    return f"{place} is fine"


@tool(usd="0.01", destructive=True)
def send(to: str) -> str:
    """Send a mail."""
    made.append(f"send {to}")
    if made.count("stop") and made.remove("stop") is None:
        raise KeyboardInterrupt
    return f"sent to {to}"


TOOLS = [look, send]


def agent(**settings: Any) -> TapeAgent:
    return TapeAgent(
        ScriptedLM([PLAN] * 60), **{"ablations": {"extend": 0}, "scorer": "declared", "num_plans": 2} | settings
    )


def env(budget: str = "$0.10, 9 steps") -> ToolEnvironment:
    return ToolEnvironment("Tell ann.", TOOLS, budget=budget)
