"""TAPE: a language model proposes plans, a solver picks the walk that keeps every budget.

Importing this package loads nothing heavy; names are resolved when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tape.agents.best_of_n_plan_and_act import BestOfNPlanAndActAgent
    from tape.agents.best_of_n_react import BestOfNReactAgent
    from tape.agents.open_loop import OpenLoopAgent
    from tape.agents.plan_and_act import PlanAndActAgent
    from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
    from tape.agents.react import ReactAgent
    from tape.agents.tape_agent import TapeAgent
    from tape.agents.tape_all_step import TapeAllStepAgent
    from tape.budget import Budget, Ledger, Resources
    from tape.config import AgentConfig
    from tape.graph import PlanGraph
    from tape.lm.registry import open_model
    from tape.trace import read_trace

__version__ = "0.1.0"

_WHERE = {
    "AgentConfig": "tape.config",
    "BestOfNPlanAndActAgent": "tape.agents.best_of_n_plan_and_act",
    "BestOfNReactAgent": "tape.agents.best_of_n_react",
    "Budget": "tape.budget",
    "Ledger": "tape.budget",
    "OpenLoopAgent": "tape.agents.open_loop",
    "PlanAndActAgent": "tape.agents.plan_and_act",
    "PlanAndActReplanAgent": "tape.agents.plan_and_act_replan",
    "PlanGraph": "tape.graph",
    "ReactAgent": "tape.agents.react",
    "Resources": "tape.budget",
    "TapeAgent": "tape.agents.tape_agent",
    "TapeAllStepAgent": "tape.agents.tape_all_step",
    "open_model": "tape.lm.registry",
    "read_trace": "tape.trace",
}

__all__ = [
    "AgentConfig",
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
