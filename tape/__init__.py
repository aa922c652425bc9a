"""TAPE: an LLM proposes plans; an exact solver picks the best one that fits the budget.

Importing this package loads nothing heavy; names are resolved when they are first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all the rest

if TYPE_CHECKING:
    from typing import Any

    from solvers import PathProblem as PathProblem
    from solvers import PathSolution as PathSolution
    from solvers import Status as Status
    from solvers import explain as explain
    from solvers import k_best as k_best
    from solvers import solve as solve
    from tape.agents.best_of_n import BestOfNPlanAndActAgent as BestOfNPlanAndActAgent
    from tape.agents.best_of_n import BestOfNReactAgent as BestOfNReactAgent
    from tape.agents.open_loop import OpenLoopAgent as OpenLoopAgent
    from tape.agents.plan_and_act import PlanAndActAgent as PlanAndActAgent
    from tape.agents.plan_and_act_replan import PlanAndActReplanAgent as PlanAndActReplanAgent
    from tape.agents.planned import Planned as Planned
    from tape.agents.react import ReactAgent as ReactAgent
    from tape.agents.reflexion import ReflexionAgent as ReflexionAgent
    from tape.agents.tape import TapeAgent as TapeAgent
    from tape.agents.tape import TapeAllStepAgent as TapeAllStepAgent
    from tape.approval import Approval as Approval
    from tape.approval import ApprovalRequest as ApprovalRequest
    from tape.budget import Budget as Budget
    from tape.budget import Ledger as Ledger
    from tape.budget import Resources as Resources
    from tape.choice import Choice as Choice
    from tape.choice import schedule as schedule
    from tape.choice import select as select
    from tape.choice import select_in as select_in
    from tape.choice.graph import PlanGraph as PlanGraph
    from tape.engine.ablations import Ablations as Ablations
    from tape.engine.settings import TapeConfig as TapeConfig
    from tape.errors import BudgetExceededError as BudgetExceededError
    from tape.errors import ConfigError as ConfigError
    from tape.errors import TapeError as TapeError
    from tape.guard.guard import Guard as Guard
    from tape.lm.fallback import FallbackModel as FallbackModel
    from tape.lm.fanout import FanOut as FanOut
    from tape.lm.fanout import plan_fanout as plan_fanout
    from tape.lm.registry import open_model as open_model
    from tape.methods.aec.settings import AecSettings as AecSettings
    from tape.methods.cgdp.agents.cgdp import CgdpAgent as CgdpAgent
    from tape.methods.cgdp.agents.ircot import IrcotAgent as IrcotAgent
    from tape.methods.cgdp.agents.iter_retgen import IterRetgenAgent as IterRetgenAgent
    from tape.methods.cgdp.agents.memgpt import MemgptAgent as MemgptAgent
    from tape.methods.cgdp.agents.react_search import ReactSearchAgent as ReactSearchAgent
    from tape.methods.cgdp.settings import CgdpSettings as CgdpSettings
    from tape.methods.sdp.agent import SdpAgent as SdpAgent
    from tape.methods.sdp.settings import SdpSettings as SdpSettings
    from tape.protocols.result import EpisodeResult as EpisodeResult
    from tape.tools import Tool as Tool
    from tape.tools import ToolEnvironment as ToolEnvironment
    from tape.tools import mcp_tools as mcp_tools
    from tape.tools import tool as tool
    from tape.trace import TraceWriter as TraceWriter
    from tape.trace import read_trace as read_trace
    from tape.world import World as World

__version__ = "0.1.0"

_WHERE = {
    "AecSettings": "tape.methods.aec.settings",
    "Approval": "tape.approval",
    "ApprovalRequest": "tape.approval",
    "BestOfNPlanAndActAgent": "tape.agents.best_of_n",
    "BestOfNReactAgent": "tape.agents.best_of_n",
    "Budget": "tape.budget",
    "BudgetExceededError": "tape.errors",
    "CgdpAgent": "tape.methods.cgdp.agents.cgdp",
    "CgdpSettings": "tape.methods.cgdp.settings",
    "Choice": "tape.choice",
    "ConfigError": "tape.errors",
    "EpisodeResult": "tape.protocols.result",
    "FallbackModel": "tape.lm.fallback",
    "FanOut": "tape.lm.fanout",
    "Guard": "tape.guard.guard",
    "IrcotAgent": "tape.methods.cgdp.agents.ircot",
    "IterRetgenAgent": "tape.methods.cgdp.agents.iter_retgen",
    "Ledger": "tape.budget",
    "MemgptAgent": "tape.methods.cgdp.agents.memgpt",
    "OpenLoopAgent": "tape.agents.open_loop",
    "PathProblem": "solvers",
    "PathSolution": "solvers",
    "PlanAndActAgent": "tape.agents.plan_and_act",
    "PlanAndActReplanAgent": "tape.agents.plan_and_act_replan",
    "PlanGraph": "tape.choice.graph",
    "Planned": "tape.agents.planned",
    "ReactAgent": "tape.agents.react",
    "ReactSearchAgent": "tape.methods.cgdp.agents.react_search",
    "ReflexionAgent": "tape.agents.reflexion",
    "Resources": "tape.budget",
    "SdpAgent": "tape.methods.sdp.agent",
    "SdpSettings": "tape.methods.sdp.settings",
    "Status": "solvers",
    "TapeAgent": "tape.agents.tape",
    "TapeAllStepAgent": "tape.agents.tape",
    "Ablations": "tape.engine.ablations",
    "TapeConfig": "tape.engine.settings",
    "TapeError": "tape.errors",
    "Tool": "tape.tools",
    "ToolEnvironment": "tape.tools",
    "TraceWriter": "tape.trace",
    "World": "tape.world",
    "explain": "solvers",
    "k_best": "solvers",
    "mcp_tools": "tape.tools",
    "open_model": "tape.lm.registry",
    "plan_fanout": "tape.lm.fanout",
    "read_trace": "tape.trace",
    "schedule": "tape.choice",
    "select": "tape.choice",
    "select_in": "tape.choice",
    "solve": "solvers",
    "tool": "tape.tools",
}
"""The public names and the modules that they come from."""


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        import importlib

        from tape.plugins import check_not_shadowed

        check_not_shadowed("solvers")
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'tape' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
