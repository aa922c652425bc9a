"""Typed tools: tools that declare what types of data they take and give, so that chains of them are found exactly.

A composite tool does what several do, at its own price. :func:`cheapest_chains` finds the cheapest chains within
limits, exactly and without a model; :class:`TypedEnvironment` plays them as any other environment, replanned where a
call is refused, a price changes, a tool comes or goes, or the wish changes. :func:`run_together` makes calls that do
not wait for each other at once.
"""

from tape.tools.typed.environment import Change, TypedEnvironment
from tape.tools.typed.loader import load_tools
from tape.tools.typed.planner import Chain, Chains, PlanningError, cheapest_chains
from tape.tools.typed.running import RanTogether, arun_together, run_together
from tape.tools.typed.together import CallPlan, call_plan

__all__ = [
    "CallPlan",
    "Chain",
    "Chains",
    "Change",
    "PlanningError",
    "RanTogether",
    "TypedEnvironment",
    "arun_together",
    "call_plan",
    "cheapest_chains",
    "load_tools",
    "run_together",
]
