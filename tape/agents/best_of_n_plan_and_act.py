"""Best-of-N of Plan-and-Act (TAPE appendix G.2)."""

from __future__ import annotations

from typing import ClassVar

from tape.agents.best_of_n import BestOfN
from tape.agents.plan_and_act import PlanAndActAgent


class BestOfNPlanAndActAgent(BestOfN, PlanAndActAgent):
    """Plan-and-Act with one plan and ``num_plans`` actions sampled at every step, the plan in context."""

    name: ClassVar[str] = "best_of_n_plan_and_act"
