"""TAPE: a language model proposes plans, a solver picks the walk that keeps every budget.

Importing this package loads nothing heavy; names are resolved when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tape.agents.best_of_n import BestOfNPlanAndActAgent, BestOfNReactAgent
    from tape.agents.open_loop import OpenLoopAgent
    from tape.agents.plan_and_act import PlanAndActAgent
    from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
    from tape.agents.react import ReactAgent
    from tape.agents.tape import TapeAgent, TapeAllStepAgent
    from tape.budget import Budget, Ledger, Resources
    from tape.engine.graph import PlanGraph
    from tape.engine.settings import TapeConfig
    from tape.lm.registry import open_model
    from tape.trace import read_trace

__version__ = "0.1.0"

_WHERE = {
    "TapeConfig": "tape.engine.settings",
    "BestOfNPlanAndActAgent": "tape.agents.best_of_n",
    "BestOfNReactAgent": "tape.agents.best_of_n",
    "Budget": "tape.budget",
    "Ledger": "tape.budget",
    "OpenLoopAgent": "tape.agents.open_loop",
    "PlanAndActAgent": "tape.agents.plan_and_act",
    "PlanAndActReplanAgent": "tape.agents.plan_and_act_replan",
    "PlanGraph": "tape.engine.graph",
    "ReactAgent": "tape.agents.react",
    "Resources": "tape.budget",
    "TapeAgent": "tape.agents.tape",
    "TapeAllStepAgent": "tape.agents.tape",
    "open_model": "tape.lm.registry",
    "read_trace": "tape.trace",
}

__all__ = [
    "TapeConfig",
    "BestOfNPlanAndActAgent",
    "BestOfNReactAgent",
    "Budget",
    "Ledger",
    "OpenLoopAgent",
    "PlanAndActAgent",
    "PlanAndActReplanAgent",
    "PlanGraph",
    "ReactAgent",
    "Resources",
    "TapeAgent",
    "TapeAllStepAgent",
    "open_model",
    "read_trace",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'tape' has no attribute {name!r}")
