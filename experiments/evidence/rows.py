"""The agents of the tables by their rows' names."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from experiments.comparators.validated import ValidatedPlanAgent
from experiments.harness.greedy import GreedyOpenLoopAgent, GreedyReactAgent
from experiments.own_tools.rivals import pydantic_ai_agent, react_by_hand
from experiments.own_tools.without import PARTS, WITHOUT
from tape import (
    BestOfNReactAgent,
    OpenLoopAgent,
    PlanAndActAgent,
    PlanAndActReplanAgent,
    ReactAgent,
    ReflexionAgent,
    TapeAgent,
)
from tape.agents.base import Agent
from tape.engine.ablations import PAPER

OURS = "TAPE+"
ROWS: Mapping[str, Callable[..., Agent]] = {
    OURS: TapeAgent,
    "ReAct": ReactAgent,
    "first sample": lambda model: TapeAgent(model, num_plans=1),
    "greedy with a reserve": GreedyOpenLoopAgent,
    "ReAct, greedy with a reserve": GreedyReactAgent,
    "TAPE (paper)": lambda model: TapeAgent(model, ablations=PAPER),
    "Plan-and-Act": PlanAndActAgent,
    "Plan-and-Act, replanning": PlanAndActReplanAgent,
    "best of 4 ReAct": BestOfNReactAgent,
    "Reflexion": ReflexionAgent,
    "plan, told by a validator what is wrong": ValidatedPlanAgent,
    "open loop": OpenLoopAgent,
}
"""All are given the same environment, caps, model and samples."""
RIVALS: Mapping[str, Callable[..., Coroutine[Any, Any, dict[str, Any]]]] = {
    "ReAct by hand": react_by_hand,
    "pydantic-ai": pydantic_ai_agent,
}
"""Agents of others, for questions over tools of one's own."""
ALL_ROWS = (*ROWS, *RIVALS, *(WITHOUT + part for part in PARTS))
