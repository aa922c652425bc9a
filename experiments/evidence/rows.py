"""The agents of the tables by their rows' names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from experiments.harness.greedy import GreedyOpenLoopAgent, GreedyReactAgent
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

ROWS: Mapping[str, Callable[..., Agent]] = {
    "TAPE+": TapeAgent,
    "ReAct": ReactAgent,
    "first sample": lambda model: TapeAgent(model, num_plans=1),
    "greedy with a reserve": GreedyOpenLoopAgent,
    "ReAct, greedy with a reserve": GreedyReactAgent,
    "TAPE (paper)": lambda model: TapeAgent(model, ablations=PAPER),
    "Plan-and-Act": PlanAndActAgent,
    "Plan-and-Act, replanning": PlanAndActReplanAgent,
    "best of 4 ReAct": BestOfNReactAgent,
    "Reflexion": ReflexionAgent,
    "open loop": OpenLoopAgent,
}
"""All are given the same environment, caps, model and samples."""
