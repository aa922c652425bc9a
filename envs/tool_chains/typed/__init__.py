"""Typed tools: tools that declare what types of data they take and give, so that chains of them are found exactly.

A composite tool does what several do, at its own price. :func:`cheapest_chains` finds the cheapest chains within
limits, exactly and without a model; :class:`TypedEnvironment` plays them as any other environment, replanned where a
call is refused, a price changes, a tool comes or goes, or the wish changes.
"""

from envs.tool_chains.typed.environment import Change, TypedEnvironment
from envs.tool_chains.typed.loader import load_tools
from envs.tool_chains.typed.planner import Chain, Chains, PlanningError, cheapest_chains

__all__ = [
    "Chain",
    "Chains",
    "Change",
    "PlanningError",
    "TypedEnvironment",
    "cheapest_chains",
    "load_tools",
]
