"""TAPE: a language model proposes plans, a solver picks the walk that keeps every budget.

Importing this package loads nothing heavy; names are resolved when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tape.agents.open_loop import OpenLoopAgent
    from tape.agents.tape_agent import TapeAgent
    from tape.budget import Budget, Ledger, Resources
    from tape.config import AgentConfig
    from tape.graph import PlanGraph
    from tape.lm.registry import open_model
    from tape.trace import read_trace

__version__ = "0.1.0"

_WHERE = {
    "AgentConfig": "tape.config",
    "Budget": "tape.budget",
    "Ledger": "tape.budget",
    "OpenLoopAgent": "tape.agents.open_loop",
    "PlanGraph": "tape.graph",
    "Resources": "tape.budget",
    "TapeAgent": "tape.agents.tape_agent",
    "open_model": "tape.lm.registry",
    "read_trace": "tape.trace",
}

__all__ = [
    "AgentConfig",
    "Budget",
    "Ledger",
    "OpenLoopAgent",
    "PlanGraph",
    "Resources",
    "TapeAgent",
    "open_model",
    "read_trace",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'tape' has no attribute {name!r}")
